/* SPDX-License-Identifier: Apache-2.0 */
#include "core/estimate.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "core/forecast.h"
#include "core/gate.h"
#include "core/lifecycle.h"

#define STEP_MS INT64_C(3600000)
#define STEP_DECISIONS 200

static const struct forecast_options at_once = { 0, 0, -1 };

/* Of one workload, by index of its ref. */
struct entry {
    uint64_t seq; /* of the object; 0: it did not wait */
    int64_t at_ms;
    enum estimate_none none;
    const char *text; /* ESTIMATE_BLOCKED: what is in its way in the end */
};

struct estimates {
    struct forecast *forecast; /* NULL when all is known */
    struct arena *arena;
    struct entry *entries;
    size_t count;
    size_t open; /* entries that wait for their start */
    int64_t made_ms, until_ms;
    int64_t decisions, left;
};

static void
take_event(void *context, const struct world *world,
           const struct forecast_event *event)
{
    struct estimates *estimates = context;
    struct entry *entry;

    if (event->what != FORECAST_START ||
        event->workload.index >= estimates->count)
        return;
    entry = &estimates->entries[event->workload.index];
    if (entry->none != ESTIMATE_PENDING ||
        entry->seq != world_object(world, event->workload)->seq)
        return;
    entry->none = ESTIMATE_GIVEN;
    entry->at_ms = event->at_ms;
    estimates->open--;
}

static void
list_waiting(struct estimates *estimates, const struct world *world)
{
    world_each(world, KIND_WORKLOAD, ref)
        if (ref.index >= estimates->count)
            estimates->count = ref.index + 1;
    estimates->entries = arena_alloc(
        estimates->arena, (estimates->count + 1) * sizeof(struct entry));
    memset(estimates->entries, 0, estimates->count * sizeof(struct entry));
    world_each(world, KIND_WORKLOAD, ref) {
        const struct workload *workload = world_workload(world, ref);
        bool held = workload->state == WORKLOAD_HELD;

        if (!lifecycle_is_waiting(workload->state))
            continue;
        estimates->entries[ref.index] =
            (struct entry){ .seq = workload->object.seq,
                            .none = held ? ESTIMATE_HELD : ESTIMATE_PENDING };
        estimates->open += !held;
    }
}

struct estimates *
estimate_new(struct world *copy, int64_t now_ms, int64_t decisions)
{
    struct estimates *estimates = memory_new(1, sizeof(*estimates));

    estimates->arena = arena_new();
    estimates->made_ms = now_ms;
    estimates->until_ms = now_ms + ESTIMATE_HORIZON_MS;
    estimates->decisions = estimates->left = decisions;
    list_waiting(estimates, copy);
    estimates->forecast = forecast_new(copy, now_ms, &at_once);
    forecast_listen(estimates->forecast, take_event, estimates);
    return estimates;
}

void
estimate_free(struct estimates *estimates)
{
    if (estimates == NULL)
        return;
    forecast_free(estimates->forecast);
    arena_free(estimates->arena);
    free(estimates);
}

/* --- why there is none --- */

/* Work that ends, or never does, where it could stand in the way. */
struct others {
    bool endless, ending;
};

static bool
is_in(struct ref pool, const struct ref *pools, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (ref_equal(pools[i], pool))
            return true;
    return false;
}

/* Live work of its tenant when a limit is in its way, else of its pools. */
static struct others
look_at_others(const struct world *world, const struct workload *workload)
{
    struct others others = { false, false };
    struct ref pools[GATE_POOLS_MAX];
    size_t count = gate_pools(world, workload, pools, GATE_POOLS_MAX);

    world_each(world, KIND_INSTANCE, ref) {
        const struct instance *instance = world_instance(world, ref);
        const struct workload *other =
            world_workload(world, instance->object.parent);

        if (instance->state == INSTANCE_RELEASED || other == NULL ||
            (workload->reason == REASON_LIMIT
                 ? !ref_equal(other->object.scope, workload->object.scope)
                 : !is_in(instance->pool, pools, count)))
            continue;
        if (other->max_run_ms > 0)
            others.ending = true;
        else
            others.endless = true;
    }
    return others;
}

/* Does it wait for what other work has? */
static bool
waits_for_work(const struct workload *workload)
{
    switch ((enum reason)workload->reason) {
    case REASON_LIMIT:
    case REASON_PRIORITY:
    case REASON_CAPACITY:
    case REASON_FRAGMENTED:
    case REASON_GEOMETRY:
    case REASON_SPREAD:
    case REASON_NODE:
    case REASON_HANDOVER:
    case REASON_RECLAIMING:
    case REASON_AT_RISK:
        return true;
    case REASON_NONE:
    case REASON_NOT_EVALUATED:
    case REASON_HELD_BY_USER:
    case REASON_SHAPE:
    case REASON_POLICY:
    case REASON_LIMIT_NEVER:
    case REASON_CARD_TIME:
    case REASON_HEALTH:
    case REASON_BACKOFF:
    case REASON_SUSPENDED:
    case REASON_APPROVAL:
    case REASON_GOVERNANCE:
    case REASON_COMPATIBILITY:
    case REASON_MAINTENANCE:
    case REASON_IMAGE:
        break;
    }
    return false;
}

static enum estimate_none
why_none(const struct world *world, const struct workload *workload)
{
    struct others others;

    if (!waits_for_work(workload))
        return ESTIMATE_BLOCKED;
    others = look_at_others(world, workload);
    return others.endless  ? ESTIMATE_ENDLESS
           : others.ending ? ESTIMATE_BEYOND
                           : ESTIMATE_BLOCKED;
}

/* Many are told the same, and one after the other. */
static const char *
keep_text(struct estimates *estimates, const char *text, const char **last)
{
    if (*last == NULL || strcmp(*last, text) != 0)
        *last = arena_strdup(estimates->arena, text);
    return *last;
}

static void
end(struct estimates *estimates, bool all_decided)
{
    const struct world *world = forecast_world(estimates->forecast);
    const struct workload *before = NULL;
    enum estimate_none why = ESTIMATE_BLOCKED;
    const char *last = NULL;

    for (size_t i = 0; i < estimates->count; i++) {
        struct entry *entry = &estimates->entries[i];
        const struct workload *workload = world_workload(
            world, (struct ref){ KIND_WORKLOAD, (uint32_t)i });

        if (entry->seq == 0 || entry->none != ESTIMATE_PENDING)
            continue;
        entry->none = ESTIMATE_DEPTH;
        if (!all_decided || workload == NULL ||
            workload->object.seq != entry->seq)
            continue;
        if (before == NULL || before->reason != workload->reason ||
            !ref_equal(before->pool, workload->pool) ||
            !ref_equal(before->class, workload->class) ||
            !ref_equal(before->object.parent, workload->object.parent))
            why = why_none(world, workload);
        before = workload;
        entry->none = why;
        if (why == ESTIMATE_BLOCKED)
            entry->text = keep_text(estimates, workload->reason_text, &last);
    }
    forecast_free(estimates->forecast);
    estimates->forecast = NULL;
}

bool
estimate_step(struct estimates *estimates)
{
    struct forecast *forecast = estimates->forecast;
    int64_t step = STEP_DECISIONS < estimates->left ? STEP_DECISIONS
                                                    : estimates->left;
    enum forecast_end how;
    int64_t to_ms;

    if (forecast == NULL)
        return false;
    to_ms = forecast_now_ms(forecast) + STEP_MS;
    if (to_ms > estimates->until_ms)
        to_ms = estimates->until_ms;
    how = estimates->open > 0 ? forecast_run(forecast, to_ms, step)
                              : FORECAST_QUIET;
    if (how == FORECAST_BUDGET)
        estimates->left -= step;
    if (how != FORECAST_QUIET && estimates->left > 0 &&
        (how == FORECAST_BUDGET || to_ms < estimates->until_ms))
        return true;
    end(estimates, how != FORECAST_BUDGET);
    return false;
}

/* --- the answer --- */

const char *
estimate_none_text(enum estimate_none none)
{
    static const char *const names[] = { NULL,      "pending", "held",
                                         "endless", "blocked", "beyond",
                                         "depth" };

    return names[none];
}

static void
say(struct buffer *text, const struct entry *entry, int64_t decisions)
{
    switch (entry->none) {
    case ESTIMATE_GIVEN:
        buffer_add_text(text, "if what runs takes its longest run time and "
                              "nothing else is submitted, changed or broken");
        return;
    case ESTIMATE_PENDING:
        buffer_add_text(text, "it is being computed: ask again in a moment");
        return;
    case ESTIMATE_HELD:
        buffer_add_text(text, "it is held: nothing but a person ends that");
        return;
    case ESTIMATE_ENDLESS:
        buffer_add_text(text, "work without a longest run time holds what it "
                              "waits for: no end is known");
        return;
    case ESTIMATE_BLOCKED:
        buffer_printf(text, "nothing that is known ends its waiting: %s",
                      entry->text);
        return;
    case ESTIMATE_BEYOND:
        buffer_add_text(text, "not within the 7 days that are looked ahead");
        return;
    case ESTIMATE_DEPTH:
        buffer_printf(text, "so much waits before it that it was not reached "
                            "in %" PRId64 " decisions",
                      decisions);
        return;
    }
}

static const struct entry *
find_entry(const struct estimates *estimates, const struct workload *workload,
           bool *known)
{
    static const struct entry pending = { .none = ESTIMATE_PENDING };
    static const struct entry held = { .none = ESTIMATE_HELD };
    size_t index = workload->object.self.index;

    *known = estimates != NULL && estimates->forecast == NULL &&
             index < estimates->count &&
             estimates->entries[index].seq == workload->object.seq &&
             workload->waiting_ms <= estimates->made_ms;
    /* What was held or released since is known without a forecast. */
    if (workload->state == WORKLOAD_HELD)
        return &held;
    return *known && estimates->entries[index].none != ESTIMATE_HELD
               ? &estimates->entries[index]
               : &pending;
}

static void
write_time(struct buffer *out, const char *member, int64_t wall_ms)
{
    char text[CLOCK_TEXT_MAX];

    buffer_add_text(out, member);
    if (wall_ms == 0) {
        buffer_add_text(out, "null");
        return;
    }
    clock_format(wall_ms, text);
    json_quote(out, text);
}

/* By hand: a list writes one for each that waits. */
void
estimate_write(const struct estimates *estimates,
               const struct workload *workload, struct buffer *out)
{
    scoped_buffer text = { 0 };
    bool known;
    const struct entry *entry = find_entry(estimates, workload, &known);
    const char *none = estimate_none_text(entry->none);

    say(&text, entry, known ? estimates->decisions : 0);
    write_time(out, "{\"as_of\":", known ? estimates->made_ms : 0);
    write_time(out, ",\"at\":",
               entry->none == ESTIMATE_GIVEN ? entry->at_ms : 0);
    buffer_add_text(out, ",\"none\":");
    if (none != NULL)
        json_quote(out, none);
    else
        buffer_add_text(out, "null");
    buffer_add_text(out, ",\"text\":");
    json_quote(out, buffer_text(&text));
    buffer_add_byte(out, '}');
}

json_t *
estimate_json(const struct estimates *estimates,
              const struct workload *workload)
{
    scoped_buffer text = { 0 };
    struct error err;

    if (!lifecycle_is_waiting(workload->state))
        return NULL;
    estimate_write(estimates, workload, &text);
    return json_read(text.bytes, text.size, &err);
}

json_t *
estimate_assumptions(void)
{
    return forecast_assumptions(
        "work takes its longest run time; without one it runs for ever");
}
