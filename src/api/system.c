/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "api/handlers.h"
#include "api/health.h"
#include "api/hub.h"
#include "api/state.h"
#include "control/check.h"

int
system_health(struct exchange *exchange, struct error *err)
{
    (void)err;
    answer_text(&exchange->answer, 200, "text/plain; charset=utf-8", "ok\n");
    return 0;
}

int
system_ready(struct exchange *exchange, struct error *err)
{
    char reason[LOOP_REASON_MAX] = "";
    (void)err;
    bool ready = loop_ready(exchange->api->loop, reason);
    json_t *body = json_pack("{s:b, s:o}", "ready", ready, "reason",
                             ready ? json_null() : json_string(reason));
    answer_json(&exchange->answer, ready ? 200 : 503, body);
    return 0;
}

int
system_version(struct exchange *exchange, struct error *err)
{
    (void)err;
    answer_json(&exchange->answer, 200,
                json_pack("{s:s, s:s}", "version",
                          exchange->api->options.version, "api", "v1"));
    return 0;
}

/* --- metrics --- */

static void
metric(struct buffer *out, const char *name, const char *kind,
       const char *help, uint64_t value)
{
    buffer_printf(out, "# HELP bulkhead_%s %s\n# TYPE bulkhead_%s %s\n", name,
                  help, name, kind);
    buffer_printf(out, "bulkhead_%s %llu\n", name, (unsigned long long)value);
}

static void
add_requests(struct buffer *out, struct api *api)
{
    unsigned flight;
    struct state_metrics metrics = state_metrics(api, &flight);
    buffer_add_text(out, "# HELP bulkhead_requests_total answered requests\n"
                         "# TYPE bulkhead_requests_total counter\n");
    for (unsigned class = 1; class < 6; class++)
        buffer_printf(out, "bulkhead_requests_total{status=\"%uxx\"} %llu\n",
                      class, (unsigned long long)metrics.requests[class]);
    metric(out, "request_microseconds_total", "counter",
           "sum of the times of requests", metrics.micros);
    metric(out, "requests_slow_total", "counter",
           "requests that took over 100 ms", metrics.slow);
    metric(out, "requests_in_flight", "gauge", "requests now", flight);
    metric(out, "streams", "gauge", "watches and followed logs now",
           hub_count(api->hub));
}

static void
add_loop(struct buffer *out, const struct loop *loop)
{
    struct loop_stats stats;
    loop_stats(loop, &stats);
    metric(out, "jobs_total", "counter", "jobs on the world thread",
           stats.jobs);
    metric(out, "commits_total", "counter", "store transactions",
           stats.commits);
    metric(out, "rows_total", "counter", "rows written", stats.rows);
    metric(out, "jobs_queued", "gauge", "jobs that wait", stats.queued);
    metric(out, "commit_microseconds_max", "gauge", "slowest commit",
           (uint64_t)stats.commit_us_max);
    metric(out, "job_microseconds_max", "gauge", "slowest job",
           (uint64_t)stats.run_us_max);
}

static void
add_interference(struct buffer *out, const struct world *world)
{
    size_t capped = 0;
    size_t slowed = 0;

    world_each(world, KIND_INSTANCE, ref)
        capped += world_instance(world, ref)->cap_until_ms != 0;
    world_each(world, KIND_ALARM, ref) {
        const struct alarm *alarm = world_alarm(world, ref);

        slowed +=
            alarm->cleared_ms == 0 && strcmp(alarm->code, "contention") == 0;
    }
    buffer_printf(out,
                  "# HELP bulkhead_interference_slowed workloads that "
                  "neighbours slow\n"
                  "# TYPE bulkhead_interference_slowed gauge\n"
                  "bulkhead_interference_slowed %zu\n"
                  "# HELP bulkhead_interference_capped instances held to a "
                  "fair share\n"
                  "# TYPE bulkhead_interference_capped gauge\n"
                  "bulkhead_interference_capped %zu\n",
                  slowed, capped);
}

/* How cards are cut. */
static void
add_cards(struct buffer *out, const struct world *world)
{
    uint64_t sliced = 0, foreign = 0, open = 0, failed = 0;

    world_each(world, KIND_CARD, ref) {
        const struct card *card = world_card(world, ref);

        sliced += card->layout[0] != '\0';
        foreign += card->foreign_slices[0] != '\0';
        open += card->layout_change[0] != '\0';
        failed += card->layout_failure[0] != '\0';
    }
    metric(out, "cards_sliced", "gauge", "cards that have slices", sliced);
    metric(out, "cards_foreign_slices", "gauge",
           "cards with slices that the platform did not make", foreign);
    metric(out, "cards_layout_changes", "gauge",
           "cards with a change of their layout that is not over", open);
    metric(out, "cards_layout_failures", "gauge",
           "cards where the last change of the layout failed", failed);
}

int
system_metrics(const struct granted *granted, struct exchange *exchange,
               struct error *err)
{
    scoped_buffer out = {0};
    const struct world *world = granted_world(granted);
    (void)err;
    add_requests(&out, exchange->api);
    add_loop(&out, exchange->api->loop);
    add_cards(&out, world);
    buffer_add_text(&out, "# HELP bulkhead_objects objects in the world\n"
                          "# TYPE bulkhead_objects gauge\n");
    for (unsigned kind = KIND_PLATFORM; kind < KIND_COUNT; kind++)
        if (schema_get((enum kind)kind)->life == LIFE_OBJECT)
            buffer_printf(&out, "bulkhead_objects{kind=\"%s\"} %zu\n",
                          schema_get((enum kind)kind)->name,
                          world_count(world, (enum kind)kind));
    add_interference(&out, world);
    health_metrics(&out, world);
    answer_text(&exchange->answer, 200, "text/plain; version=0.0.4",
                buffer_text(&out));
    return 0;
}

/* --- the self-check --- */

int
system_check(const struct granted *granted, struct exchange *exchange,
             struct error *err)
{
    struct check *check = arena_alloc(exchange->arena, sizeof *check);
    int64_t from_ms;
    if (exchange_time(exchange, "from", 0, &from_ms, err) != 0)
        return -1;
    check_begin(check, exchange->arena, from_ms);
    check_world(check, granted_world(granted));
    exchange->data = check;
    return 0;
}

int
system_check_history(struct exchange *exchange, struct store_reader *reader,
                     struct error *err)
{
    struct check *check = exchange->data;
    if (check_history(check, reader, err) != 0)
        return -1;
    answer_json(&exchange->answer, 200, check_json(check));
    return 0;
}

/* --- the clock --- */

/* Time is no object: the confirmation is in the record alone. */
int
system_clock(const struct granted *granted, struct changes *changes,
             struct exchange *exchange, struct error *err)
{
    (void)granted;
    (void)changes;
    if (loop_clock_held(exchange->api->loop) == 0)
        return error_set(err, ERROR_CONFLICT,
                         "the clock did not jump: nothing is held");
    return 0;
}

void
system_clock_confirm(const struct granted *granted,
                     const struct changes *changes,
                     struct exchange *exchange)
{
    int64_t held_ms = loop_clock_held(exchange->api->loop);
    json_t *json = json_object();
    (void)granted;
    (void)changes;
    (void)json_object_set_new(json, "confirmed_ms", json_integer(held_ms));
    if (!exchange->dry_run)
        loop_clock_confirm(exchange->api->loop);
    answer_json(&exchange->answer, 200, json);
}
