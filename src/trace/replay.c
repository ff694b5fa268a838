/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/replay.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "core/lifecycle.h"
#include "core/object.h"
#include "core/quota.h"
#include "core/submit.h"

#define YEAR_MS (INT64_C(365) * 24 * 3600000)
#define VIOLATIONS_TOLD 20
/* Quotas are recounted after this many sets. */
#define RECOUNT_SETS 256
#define CARD_HOUR INT64_C(3600000)

struct waits {
    int64_t *list;
    size_t count, room;
};

struct account {
    struct ref tenant;
    int64_t submitted, refused, finished, preempted;
    int64_t card_time; /* milli-card-ms */
    struct waits waits;
};

struct replay {
    struct forecast *forecast;
    struct actor actor;
    struct account *accounts;
    size_t count;
    int64_t usage[USAGE_UNKNOWN + 1]; /* by enum usage_class */
    int64_t *card_used; /* metered of each card, by index of its ref */
    size_t card_room;
    uint64_t sets;
    json_t *violations;
    int64_t violation_count;
    struct digest digest;
    int64_t decisions;
};

/* --- accounts --- */

static struct account *
account_of(struct replay *replay, struct ref tenant)
{
    for (size_t i = 0; i < replay->count; i++)
        if (ref_equal(replay->accounts[i].tenant, tenant))
            return &replay->accounts[i];
    return NULL;
}

static void
add_wait(struct waits *waits, int64_t ms)
{
    if (waits->count == waits->room) {
        waits->room = 2 * waits->room + 64;
        waits->list =
            memory_grow(waits->list, waits->room, sizeof(*waits->list));
    }
    waits->list[waits->count++] = ms;
}

static void
take_event(void *context, const struct world *world,
           const struct forecast_event *event)
{
    struct replay *replay = context;
    const struct workload *workload = world_workload(world, event->workload);
    struct account *account = account_of(replay, workload->object.scope);
    char line[NAME_MAX_SIZE + 80];

    (void)snprintf(line, sizeof(line), "%d %" PRId64 " %s %d %" PRId64,
                   (int)event->what, event->at_ms, workload->object.name,
                   event->state, workload->attempt);
    digest_of_two(replay->digest.bytes, DIGEST_SIZE, line, strlen(line),
                  &replay->digest);
    if (account == NULL)
        return;
    if (event->what == FORECAST_START && workload->attempt <= 1)
        add_wait(&account->waits, event->at_ms - workload->submitted_ms);
    account->preempted += event->what == FORECAST_PREEMPT;
    account->finished += event->what == FORECAST_END;
}

/* --- what must never happen --- */

static void
violate(struct replay *replay, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void
violate(struct replay *replay, const char *fmt, ...)
{
    char text[TEXT_MAX_SIZE];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    if (replay->violation_count++ < VIOLATIONS_TOLD)
        json_array_append_new(replay->violations, json_string(text));
}

/* Each card's time is metered once, without a gap. */
static void
take_fact(struct replay *replay, const struct fact *fact)
{
    struct account *account = account_of(replay, fact->tenant);
    size_t index = fact->card.index;

    if (fact->meter != METER_CARD_HOUR)
        return;
    if (index >= replay->card_room) {
        size_t room = 2 * index + 64;

        replay->card_used =
            memory_grow(replay->card_used, room, sizeof(int64_t));
        memset(replay->card_used + replay->card_room, 0,
               (room - replay->card_room) * sizeof(int64_t));
        replay->card_room = room;
    }
    replay->card_used[index] += fact->quantity;
    replay->usage[fact->usage] += fact->quantity;
    if (account != NULL && fact->usage == USAGE_BOUND)
        account->card_time += fact->quantity;
}

static void
look_at_card(struct replay *replay, const struct world *world,
             struct ref ref)
{
    const struct card *card = world_card(world, ref);
    int64_t milli = 0, memory = 0;
    struct ref tenant = { 0 };

    if (card == NULL)
        return;
    world_each_index(world, KIND_BINDING, 0, ref, at) {
        const struct binding *binding = world_binding(world, at);
        const struct class *class = world_class(world, binding->class);

        if (binding->to_ms != 0)
            continue;
        milli += binding->milli;
        memory += binding->memory_mib;
        if (class != NULL && class->form == FORM_SOFT) {
            if (!ref_is_none(tenant) &&
                !ref_equal(tenant, binding->object.scope))
                violate(replay, "card %u has soft shares of two tenants",
                        ref.index);
            tenant = binding->object.scope;
        }
    }
    if (milli > 1000 || memory > card->memory_mib ||
        milli != card->used_milli)
        violate(replay,
                "card %u: %" PRId64 " milli-cards and %" PRId64
                " MiB are bound, its counter says %" PRId64,
                ref.index, milli, memory, card->used_milli);
}

static void
look_at_quotas(struct replay *replay, const struct world *world)
{
    world_each(world, KIND_QUOTA, ref) {
        const struct quota *quota = world_quota(world, ref);
        int64_t limit = quota_limit(world, quota);

        if (quota->dimension < DIMENSION_CARD_TIME && quota->used < 0)
            violate(replay, "quota %u has a use of %" PRId64, ref.index,
                    quota->used);
        if (quota->dimension < DIMENSION_CARD_TIME && limit != AMOUNT_NONE &&
            quota->used > limit)
            violate(replay,
                    "quota %u: %" PRId64 " used of a limit of %" PRId64,
                    ref.index, quota->used, limit);
    }
}

static void
take_set(void *context, const struct world *world,
         const struct changes *changes)
{
    struct replay *replay = context;

    for (size_t i = 0; i < changes->count; i++) {
        const struct object *object = changes->list[i].image;

        if (object == NULL)
            continue;
        if (object->self.kind == KIND_FACT)
            take_fact(replay, (const struct fact *)object);
        if (object->self.kind == KIND_BINDING)
            look_at_card(replay, world,
                         ((const struct binding *)object)->card);
    }
    if (replay->sets++ % RECOUNT_SETS == 0)
        look_at_quotas(replay, world);
}

/* Metered up to its last cut, every card adds up to wall time. */
static void
look_at_ledger(struct replay *replay, const struct world *world)
{
    world_each(world, KIND_CARD, ref) {
        const struct card *card = world_card(world, ref);
        int64_t wall = (card->cut_ms - SCENARIO_START_MS) * 1000;
        int64_t metered =
            ref.index < replay->card_room ? replay->card_used[ref.index] : 0;

        if (card->used_milli == 0 && metered != wall)
            violate(replay,
                    "card %u: %" PRId64 " milli-card-ms metered of %" PRId64,
                    ref.index, metered, wall);
    }
}

/* --- submissions --- */

static void
put_text(json_t *body, const char *key, const char *text)
{
    if (text[0] != '\0')
        (void)json_object_set_new(body, key, json_string(text));
}

static void
put_number(json_t *body, const char *key, int64_t number)
{
    if (number > 0)
        (void)json_object_set_new(body, key, json_integer(number));
}

static json_t *
make_body(const struct arrival *arrival, int64_t number)
{
    char name[NAME_MAX_SIZE];
    json_t *body = json_pack("{s:s, s:s, s:I, s:{s:[s]}}", "class",
                             arrival->class, "image", "simulated",
                             "instances", (json_int_t)arrival->instances,
                             "spec", "command", "simulated");

    if (arrival->name[0] != '\0' && arrival->count == 1)
        (void)snprintf(name, sizeof(name), "%.63s", arrival->name);
    else
        (void)snprintf(name, sizeof(name), "%.30s-%zu-%" PRId64,
                       arrival->name[0] != '\0' ? arrival->name : "line",
                       arrival->line, number);
    put_text(body, "name", name);
    put_text(body, "priority", arrival->priority);
    put_text(body, "kind", arrival->kind);
    put_number(body, "max_run_ms", arrival->max_run_ms);
    put_number(body, "cpu_milli", arrival->cpu_milli);
    put_number(body, "memory_mib", arrival->memory_mib);
    if (arrival->preemptible >= 0)
        (void)json_object_set_new(body, "preemptible",
                                  json_boolean(arrival->preemptible));
    return body;
}

/* A refusal by quota or shape is an outcome; anything else is a mistake in
 * the file. */
static int
submit_one(struct replay *replay, struct account *account,
           const struct granted *granted, const struct arrival *arrival,
           int64_t number, struct error *err)
{
    struct changes *changes = forecast_begin(replay->forecast);
    scoped_json body = make_body(arrival, number);
    struct ref ref;

    account->submitted++;
    if (submit_workload(granted, changes, granted_object(granted), body, &ref,
                        err) != 0) {
        forecast_drop(replay->forecast, changes);
        if (err->code != ERROR_QUOTA && err->code != ERROR_DENIED)
            return -1;
        account->refused++;
        return 0;
    }
    forecast_apply(replay->forecast, changes);
    forecast_duration(replay->forecast, ref, arrival->run_ms,
                      arrival->checkpoint_ms);
    return 0;
}

static int
submit(struct replay *replay, const struct arrival *arrival,
       struct error *err)
{
    const struct world *world = forecast_world(replay->forecast);
    struct ref platform = world_platform_ref(world);
    struct ref tenant =
        world_find_name(world, KIND_TENANT, platform, arrival->tenant);
    struct ref project =
        world_find_name(world, KIND_PROJECT, tenant, arrival->project);
    struct account *account = account_of(replay, tenant);
    struct granted granted;

    if (account == NULL || ref_is_none(project))
        return error_set(err, ERROR_INVALID,
                         "line %zu: there is no project \"%.60s/%.60s\"",
                         arrival->line, arrival->tenant, arrival->project);
    for (int64_t i = 0; i < arrival->count; i++)
        if (access_decide(world, &replay->actor, VERB_WORKLOAD_CREATE,
                          project, forecast_now_ms(replay->forecast),
                          &granted, err) != 0 ||
            submit_one(replay, account, &granted, arrival, i, err) != 0)
            return error_prefix(err, "line %zu", arrival->line);
    return 0;
}

/* --- the run --- */

static int
run(struct replay *replay, const struct arrivals *arrivals,
    const struct replay_options *options, enum forecast_end *end_out,
    struct error *err)
{
    int64_t until_ms = SCENARIO_START_MS +
                       (options->until_ms > 0 ? options->until_ms : YEAR_MS);

    *end_out = FORECAST_REACHED;
    for (size_t i = 0; i < arrivals->count; i++) {
        const struct arrival *arrival = &arrivals->list[i];
        int64_t at_ms = SCENARIO_START_MS + arrival->at_ms;

        if (at_ms > until_ms)
            break;
        if (at_ms > forecast_now_ms(replay->forecast) &&
            forecast_run(replay->forecast, at_ms, options->decisions) ==
                FORECAST_BUDGET) {
            *end_out = FORECAST_BUDGET;
            return 0;
        }
        if (submit(replay, arrival, err) != 0)
            return -1;
    }
    *end_out =
        forecast_run(replay->forecast, until_ms, options->decisions);
    return 0;
}

/* --- the report --- */

static int
order(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

    return a < b ? -1 : a > b;
}

/* The sorted list's value at so many permille: the nearest rank. */
static int64_t
rank(const struct waits *waits, int64_t permille)
{
    size_t at;

    if (waits->count == 0)
        return 0;
    at = (waits->count * (size_t)permille + 999) / 1000;
    return waits->list[at > 0 ? at - 1 : 0];
}

static json_t *
waits_json(struct replay *replay)
{
    struct waits all = { 0 };
    json_t *json;

    for (size_t i = 0; i < replay->count; i++)
        for (size_t k = 0; k < replay->accounts[i].waits.count; k++)
            add_wait(&all, replay->accounts[i].waits.list[k]);
    if (all.count > 1)
        qsort(all.list, all.count, sizeof(*all.list), order);
    json = json_pack("{s:I, s:I, s:I, s:I}", "p50",
                     (json_int_t)rank(&all, 500), "p95",
                     (json_int_t)rank(&all, 950), "p99",
                     (json_int_t)rank(&all, 990), "max",
                     (json_int_t)rank(&all, 1000));
    free(all.list);
    return json;
}

static int64_t
guaranteed_of(const struct world *world, struct ref tenant)
{
    int64_t sum = 0;

    world_each_child(world, KIND_QUOTA, tenant, ref) {
        const struct quota *quota = world_quota(world, ref);

        if (quota->dimension == DIMENSION_CARDS &&
            ref_is_none(quota->pool) && ref_is_none(quota->class))
            sum += quota->guaranteed;
    }
    return sum;
}

static int64_t
waiting_of(const struct world *world, struct ref tenant)
{
    int64_t count = 0;

    world_each(world, KIND_WORKLOAD, ref) {
        const struct workload *workload = world_workload(world, ref);

        count += lifecycle_is_waiting(workload->state) &&
                 (ref_is_none(tenant) ||
                  ref_equal(workload->object.scope, tenant));
    }
    return count;
}

static json_t *
tenant_json(const struct world *world, struct account *account)
{
    if (account->waits.count > 1)
        qsort(account->waits.list, account->waits.count, sizeof(int64_t),
              order);
    return json_pack(
        "{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "tenant",
        world_tenant(world, account->tenant)->object.name, "submitted",
        (json_int_t)account->submitted, "refused",
        (json_int_t)account->refused, "finished",
        (json_int_t)account->finished, "waiting",
        (json_int_t)waiting_of(world, account->tenant), "preempted",
        (json_int_t)account->preempted, "wait_p50_ms",
        (json_int_t)rank(&account->waits, 500), "wait_p95_ms",
        (json_int_t)rank(&account->waits, 950), "card_hours_milli",
        (json_int_t)(account->card_time / CARD_HOUR), "guaranteed",
        (json_int_t)guaranteed_of(world, account->tenant));
}

/* Jain's index of card time among tenants that used any, by guarantee where
 * all of them have one: 1000 is perfectly even. */
static int64_t
fairness(const struct replay *replay, const struct world *world)
{
    double sum = 0, squares = 0;
    size_t count = 0;
    bool weighted = true;

    for (size_t i = 0; i < replay->count; i++)
        if (replay->accounts[i].card_time > 0 &&
            guaranteed_of(world, replay->accounts[i].tenant) == 0)
            weighted = false;
    for (size_t i = 0; i < replay->count; i++) {
        double share = (double)replay->accounts[i].card_time;

        if (share <= 0)
            continue;
        if (weighted)
            share /= (double)guaranteed_of(world, replay->accounts[i].tenant);
        sum += share;
        squares += share * share;
        count++;
    }
    return count == 0 ? 1000
                      : (int64_t)(1000 * sum * sum /
                                      ((double)count * squares) +
                                  0.5);
}

static json_t *
cards_json(const struct replay *replay, const struct world *world)
{
    int64_t all = 0, used = replay->usage[USAGE_BOUND];
    int64_t idle =
        replay->usage[USAGE_IDLE] + replay->usage[USAGE_RESERVED];

    for (int i = 0; i <= USAGE_UNKNOWN; i++)
        all += replay->usage[i];
    if (all == 0)
        all = 1;
    return json_pack("{s:I, s:I, s:I, s:I}", "total",
                     (json_int_t)world_count(world, KIND_CARD),
                     "used_permille",
                     (json_int_t)((double)used * 1000 / (double)all + 0.5),
                     "idle_permille",
                     (json_int_t)((double)idle * 1000 / (double)all + 0.5),
                     "other_permille",
                     (json_int_t)((double)(all - used - idle) * 1000 /
                                      (double)all +
                                  0.5));
}

static json_t *
report(struct replay *replay, enum forecast_end end)
{
    static const char *const ends[] = { "reached", "quiet", "budget" };
    const struct world *world = forecast_world(replay->forecast);
    int64_t submitted = 0, refused = 0, finished = 0, preempted = 0;
    char digest[DIGEST_TEXT_MAX];
    json_t *tenants = json_array(), *waits = waits_json(replay);

    for (size_t i = 0; i < replay->count; i++) {
        submitted += replay->accounts[i].submitted;
        refused += replay->accounts[i].refused;
        finished += replay->accounts[i].finished;
        preempted += replay->accounts[i].preempted;
        json_array_append_new(tenants,
                              tenant_json(world, &replay->accounts[i]));
    }
    digest_format(&replay->digest, digest);
    return json_pack(
        "{s:s, s:I, s:{s:I, s:I, s:I, s:I, s:I}, s:o, s:o, s:I, s:o, s:O, "
        "s:I, s:s}",
        "end", ends[end], "simulated_ms",
        (json_int_t)(forecast_now_ms(replay->forecast) - SCENARIO_START_MS),
        "work", "submitted", (json_int_t)submitted, "refused",
        (json_int_t)refused, "finished", (json_int_t)finished, "waiting",
        (json_int_t)waiting_of(world, (struct ref){ 0 }), "preemptions",
        (json_int_t)preempted, "cards", cards_json(replay, world), "wait_ms",
        waits, "fairness_permille", (json_int_t)fairness(replay, world),
        "tenants", tenants, "violations", replay->violations,
        "violation_count", (json_int_t)replay->violation_count, "digest",
        digest);
}

int
replay_run(struct scenario *scenario, const struct arrivals *arrivals,
           const struct replay_options *options, json_t **report_out,
           struct error *err)
{
    struct replay replay = { .actor = scenario->operator_,
                             .violations = json_array() };
    enum forecast_end end;
    int result;

    replay.accounts = memory_new(
        world_count(scenario->world, KIND_TENANT) + 1, sizeof(struct account));
    world_each(scenario->world, KIND_TENANT, ref)
        replay.accounts[replay.count++].tenant = ref;
    replay.forecast =
        forecast_new(scenario->world, SCENARIO_START_MS, &options->nodes);
    scenario->world = NULL;
    forecast_listen(replay.forecast, take_event, &replay);
    forecast_inspect(replay.forecast, take_set, &replay);
    result = run(&replay, arrivals, options, &end, err);
    if (result == 0) {
        look_at_quotas(&replay, forecast_world(replay.forecast));
        look_at_ledger(&replay, forecast_world(replay.forecast));
        *report_out = report(&replay, end);
    }
    for (size_t i = 0; i < replay.count; i++)
        free(replay.accounts[i].waits.list);
    free(replay.accounts);
    free(replay.card_used);
    json_decref(replay.violations);
    forecast_free(replay.forecast);
    return result;
}
