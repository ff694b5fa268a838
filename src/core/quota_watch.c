/* SPDX-License-Identifier: Apache-2.0 */
#include "core/quota_watch.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "core/alarm.h"
#include "core/lifecycle.h"
#include "core/quota_private.h"

/* A live workload and what it has. */
struct live {
    struct ref workload;
    struct demand demand;
    int64_t priority;
    uint64_t seq;
    bool fixed, leaving;
};

struct watch {
    struct changes *changes;
    const struct world *world;
    int64_t now_ms;
    struct live *lives; /* NULL before they are needed */
    size_t count;
    struct ledger leaving; /* below zero: what is being stopped */
    struct ledger fixed;   /* held by work that cannot be stopped */
};

/* --- live work --- */

static struct demand
demand_of(const struct watch *watch, const struct workload *workload)
{
    struct demand demand = { .project = workload->object.parent,
                             .class = workload->class,
                             .asked_pool = workload->pool,
                             .user = workload->user,
                             .now_ms = watch->now_ms };

    demand.of[DIMENSION_WORKLOADS] = 1;
    demand.of[DIMENSION_TOKENS] = workload->kind == WORKLOAD_SERVICE;
    world_each_child(watch->world, KIND_INSTANCE, workload->object.self, ref) {
        const struct instance *instance = world_instance(watch->world, ref);

        if (instance->state == INSTANCE_RELEASED)
            continue;
        quota_demand_instance(watch->world, instance, &demand);
        world_each_child(watch->world, KIND_BINDING, ref, at)
            if (world_binding(watch->world, at)->to_ms == 0)
                quota_demand_binding(world_binding(watch->world, at),
                                     &demand);
    }
    return demand;
}

/* Lowest priority first, then the newest: the order of giving back. */
static bool
goes_before(const struct live *a, const struct live *b)
{
    if (a->priority != b->priority)
        return a->priority < b->priority;
    return a->seq > b->seq;
}

/* All live work, and what of it leaves or cannot be stopped; once. */
static void
gather(struct watch *watch)
{
    size_t room = 0;

    if (watch->lives != NULL)
        return;
    world_each(watch->world, KIND_WORKLOAD, ref)
        room += lifecycle_is_live(world_workload(watch->world, ref)->state);
    watch->lives = arena_alloc(watch->changes->arena,
                               (room + 1) * sizeof(*watch->lives));
    world_each(watch->world, KIND_WORKLOAD, ref) {
        const struct workload *workload = world_workload(watch->world, ref);
        const struct priority *priority =
            world_priority(watch->world, workload->priority);
        struct live *live = &watch->lives[watch->count];

        if (!lifecycle_is_live(workload->state))
            continue;
        *live = (struct live){ ref,
                               demand_of(watch, workload),
                               priority != NULL ? priority->value : 0,
                               workload->object.seq,
                               !workload->preemptible,
                               workload->state == WORKLOAD_PREEMPTING ||
                                   workload->state == WORKLOAD_CANCELLING };
        watch->count++;
        if (live->leaving)
            quota_charge(watch->world, &live->demand, &watch->leaving, -1);
        else if (live->fixed)
            quota_charge(watch->world, &live->demand, &watch->fixed, 1);
    }
}

/* The next in the order of giving back that the quota counts; taken ones are
 * leaving.  fixed: of those that cannot be stopped. */
static struct live *
next_of(const struct watch *watch, const struct quota *quota, bool fixed)
{
    struct live *best = NULL;

    for (size_t i = 0; i < watch->count; i++) {
        struct live *live = &watch->lives[i];

        if (!live->leaving && live->fixed == fixed &&
            world_is_below(watch->world, live->demand.project,
                           quota->object.parent) &&
            quota_need(watch->world, quota, &live->demand) > 0 &&
            (best == NULL || goes_before(live, best)))
            best = live;
    }
    return best;
}

/* --- stopping --- */

static void
stop(struct watch *watch, const struct quota *quota, struct live *live,
     const char *rule, int64_t limit)
{
    char where[QUOTA_WHERE_MAX];
    scoped_buffer text = { 0 };
    scoped_json proof = json_pack(
        "{s:s, s:s, s:s, s:I, s:I}", "rule", rule, "node",
        quota_where(where, watch->world, quota), "dimension",
        reason_dimension(quota->dimension), "limit", (json_int_t)limit,
        "time_ms", (json_int_t)watch->now_ms);

    json_write(&text, proof);
    lifecycle_stop(watch->changes, live->workload, WORKLOAD_PREEMPTING,
                   LIFECYCLE_QUOTA, buffer_text(&text));
    live->leaving = true;
    quota_charge(watch->world, &live->demand, &watch->leaving, -1);
}

/* Preemptible work above a capacity limit, the least that brings it below. */
static void
take_back(struct watch *watch, const struct quota *quota, int64_t limit)
{
    struct live *live;

    gather(watch);
    while (quota->used + ledger_get(&watch->leaving, quota->object.self) >
               limit &&
           (live = next_of(watch, quota, false)) != NULL)
        stop(watch, quota, live, "quota-reclaim", limit);
}

/* What uses up more of a month that is used up. */
static void
stop_all(struct watch *watch, const struct quota *quota, int64_t limit)
{
    gather(watch);
    for (size_t i = 0; i < watch->count; i++) {
        struct live *live = &watch->lives[i];
        struct quota cards = *quota;

        if (quota->dimension != DIMENSION_TOKENS)
            cards.dimension = DIMENSION_CARDS;
        if (!live->leaving &&
            world_is_below(watch->world, live->demand.project,
                           quota->object.parent) &&
            quota_need(watch->world, &cards, &live->demand) > 0)
            stop(watch, quota, live, "quota-used-up", limit);
    }
}

/* --- telling --- */

/* One alarm of the node for each quota and code. */
static const char *
code_of(char code[64], const char *word, const struct quota *quota)
{
    char id[ID_TEXT_MAX];

    id_format("qu", quota->object.id, id);
    (void)snprintf(code, 64, "quota.%s.%s", word, id + strlen(id) - 8);
    return code;
}

static void
tell(struct watch *watch, const struct quota *quota, const char *word,
     bool stands, int64_t used, int64_t mark)
{
    char code[64], where[QUOTA_WHERE_MAX], a[REASON_AMOUNT_MAX],
        b[REASON_AMOUNT_MAX];

    code_of(code, word, quota);
    if (!stands)
        alarm_clear(watch->changes, quota->object.parent, code);
    else
        alarm_raise(watch->changes, quota->object.parent, code,
                    "%s of %s: %s used or promised, %s is the mark",
                    reason_dimension(quota->dimension),
                    quota_where(where, watch->world, quota),
                    reason_amount(a, quota->dimension, used),
                    reason_amount(b, quota->dimension, mark));
}

static void
look_at_use(struct watch *watch, const struct quota *quota)
{
    int64_t limit = quota_limit_at(watch->world, quota, watch->now_ms);
    int64_t used = quota_used(watch->world, quota, watch->now_ms);
    bool month = quota->dimension >= DIMENSION_CARD_TIME;
    int64_t spent = month ? world_spent(watch->world, quota, watch->now_ms)
                          : used;

    tell(watch, quota, "soft", quota->soft > 0 && used >= quota->soft, used,
         quota->soft);
    if (limit == AMOUNT_NONE)
        return;
    if (month)
        tell(watch, quota, "used-up", spent >= limit, spent, limit);
    if (month && quota->action == QUOTA_STOP && spent >= limit)
        stop_all(watch, quota, limit);
    if (quota->reclaim && used > limit)
        take_back(watch, quota, limit);
}

/* --- above a guarantee that was lowered --- */

#define BEYOND "quota.beyond-guarantee"

static void
flag(struct watch *watch, const struct quota *quota, const struct live *live,
     int64_t fixed)
{
    char where[QUOTA_WHERE_MAX], a[REASON_AMOUNT_MAX], b[REASON_AMOUNT_MAX];

    alarm_raise(watch->changes, live->workload, BEYOND,
                "it cannot be stopped and runs on above the guarantee of %s: "
                "%s by such work, %s guaranteed",
                quota_where(where, watch->world, quota),
                reason_amount(a, quota->dimension, fixed),
                reason_amount(b, quota->dimension, quota->guaranteed));
}

/* The newest of the work that cannot be stopped, down to the guarantee. */
static void
look_at_fixed(struct watch *watch, const struct quota *quota, bool *flagged)
{
    int64_t fixed = ledger_get(&watch->fixed, quota->object.self);
    int64_t over =
        fixed - quota_guaranteed(watch->world, quota, watch->now_ms);

    if (quota->guaranteed == 0)
        return;
    for (size_t i = 0; over > 0 && i < watch->count; i++) {
        const struct live *live = NULL;

        for (size_t k = 0; k < watch->count; k++) {
            const struct live *at = &watch->lives[k];

            if (at->fixed && !at->leaving && !flagged[k] &&
                world_is_below(watch->world, at->demand.project,
                               quota->object.parent) &&
                quota_need(watch->world, quota, &at->demand) > 0 &&
                (live == NULL || goes_before(at, live)))
                live = at;
        }
        if (live == NULL)
            break;
        flagged[live - watch->lives] = true;
        over -= quota_need(watch->world, quota, &live->demand);
        flag(watch, quota, live, fixed);
    }
}

static bool
any_fixed(const struct world *world)
{
    world_each(world, KIND_WORKLOAD, ref) {
        const struct workload *workload = world_workload(world, ref);

        if (!workload->preemptible && lifecycle_is_live(workload->state))
            return true;
    }
    return false;
}

static void
look_at_guarantees(struct watch *watch)
{
    bool *flagged;

    if (!any_fixed(watch->world))
        return;
    gather(watch);
    flagged = arena_alloc(watch->changes->arena, watch->count + 1);
    world_each(watch->world, KIND_QUOTA, ref)
        look_at_fixed(watch, world_quota(watch->world, ref), flagged);
    for (size_t i = 0; i < watch->count; i++)
        if (watch->lives[i].fixed && !flagged[i])
            alarm_clear(watch->changes, watch->lives[i].workload, BEYOND);
}

void
quota_watch(struct changes *changes)
{
    struct watch watch = { .changes = changes,
                           .world = changes->world,
                           .now_ms = changes->context.now_ms };

    ledger_init(&watch.leaving, changes->arena);
    ledger_init(&watch.fixed, changes->arena);
    world_each(changes->world, KIND_QUOTA, ref)
        look_at_use(&watch, world_quota(changes->world, ref));
    look_at_guarantees(&watch);
}
