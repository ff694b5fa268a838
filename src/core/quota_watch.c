/* SPDX-License-Identifier: Apache-2.0 */
#include "core/quota_watch.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "core/alarm.h"
#include "core/lifecycle.h"
#include "core/quota_private.h"

/* What is stopped as one and what it has: a live workload, or one surplus
 * instance of an elastic gang, which goes on without it. */
struct live {
    struct ref workload;
    struct ref surplus; /* none: all of the workload but its surplus */
    struct demand demand;
    int kind;
    int64_t priority;
    int64_t lost; /* milli-card-ms since the last checkpoint */
    uint64_t seq;
    bool fixed, leaving, taken;
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

/* Nothing yet. */
static struct live
live_of(const struct watch *watch, const struct workload *workload)
{
    const struct priority *priority =
        world_priority(watch->world, workload->priority);

    return (struct live){
        .workload = workload->object.self,
        .demand = { .project = workload->object.parent,
                    .class = workload->class,
                    .asked_pool = workload->pool,
                    .user = workload->user,
                    .now_ms = watch->now_ms },
        .kind = workload->kind,
        .priority = priority != NULL ? priority->value : 0,
        .seq = workload->object.seq,
        .fixed = !workload->preemptible,
        .leaving = lifecycle_is_stopping(workload->state)
    };
}

static void
add_instance(const struct watch *watch, struct live *live,
             const struct instance *instance)
{
    const struct workload *workload =
        world_workload(watch->world, live->workload);
    int64_t before = live->demand.of[DIMENSION_CARDS], since_ms;

    quota_demand_instance(watch->world, instance, &live->demand);
    world_each_child(watch->world, KIND_BINDING, instance->object.self, at)
        if (world_binding(watch->world, at)->to_ms == 0)
            quota_demand_binding(world_binding(watch->world, at),
                                 &live->demand);
    since_ms = workload->checkpoint_ms > instance->started_ms
                   ? workload->checkpoint_ms
                   : instance->started_ms;
    if (instance->started_ms > 0 && watch->now_ms > since_ms)
        live->lost += (live->demand.of[DIMENSION_CARDS] - before) *
                      (watch->now_ms - since_ms);
}

/* Is it, or was it, surplus that leaves alone? */
static bool
stands_alone(const struct workload *workload, const struct instance *instance)
{
    return lifecycle_has_left(instance) ||
           lifecycle_can_shrink(workload, instance);
}

/* The order of giving back.  What keeps those below the quota at their
 * guarantees goes before what would not. */
static bool
goes_before(const struct live *a, bool a_spares, const struct live *b,
            bool b_spares)
{
    if (ref_is_none(a->surplus) != ref_is_none(b->surplus))
        return !ref_is_none(a->surplus);
    if (a_spares != b_spares)
        return a_spares;
    if (a->kind != b->kind)
        return a->kind == WORKLOAD_BATCH ||
               (a->kind == WORKLOAD_INTERACTIVE &&
                b->kind == WORKLOAD_SERVICE);
    if (a->priority != b->priority)
        return a->priority < b->priority;
    if (a->lost != b->lost)
        return a->lost < b->lost;
    return a->seq > b->seq;
}

static void
put_live(struct watch *watch, const struct live *live)
{
    watch->lives[watch->count++] = *live;
    if (live->leaving)
        quota_charge(watch->world, &live->demand, &watch->leaving, -1);
    else if (live->fixed)
        quota_charge(watch->world, &live->demand, &watch->fixed, 1);
}

static void
gather_one(struct watch *watch, const struct workload *workload)
{
    struct live whole = live_of(watch, workload);

    whole.demand.of[DIMENSION_WORKLOADS] = 1;
    whole.demand.of[DIMENSION_TOKENS] = workload->kind == WORKLOAD_SERVICE;
    world_each_child(watch->world, KIND_INSTANCE, workload->object.self, ref) {
        const struct instance *instance = world_instance(watch->world, ref);
        struct live surplus = live_of(watch, workload);

        if (instance->state == INSTANCE_RELEASED)
            continue;
        if (whole.leaving || !stands_alone(workload, instance)) {
            add_instance(watch, &whole, instance);
            continue;
        }
        surplus.surplus = ref;
        surplus.seq = instance->object.seq;
        surplus.fixed = false;
        surplus.leaving = lifecycle_has_left(instance);
        add_instance(watch, &surplus, instance);
        put_live(watch, &surplus);
    }
    put_live(watch, &whole);
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
    world_each(watch->world, KIND_INSTANCE, ref)
        room += world_instance(watch->world, ref)->state != INSTANCE_RELEASED;
    watch->lives = arena_alloc(watch->changes->arena,
                               (room + 1) * sizeof(*watch->lives));
    world_each(watch->world, KIND_WORKLOAD, ref) {
        const struct workload *workload = world_workload(watch->world, ref);

        if (lifecycle_is_live(workload->state))
            gather_one(watch, workload);
    }
}

static int64_t
need_of(const struct watch *watch, const struct quota *quota,
        const struct live *live)
{
    return world_is_below(watch->world, live->demand.project,
                          quota->object.parent)
               ? quota_need(watch->world, quota, &live->demand)
               : 0;
}

/* Would everybody between it and the quota's node keep their guarantee? */
static bool
spares(const struct watch *watch, const struct quota *quota,
       const struct live *live)
{
    for (struct ref node = live->demand.project;
         !ref_is_none(node) && !ref_equal(node, quota->object.parent);
         node = world_parent(watch->world, node))
        world_each_child(watch->world, KIND_QUOTA, node, ref) {
            const struct quota *own = world_quota(watch->world, ref);
            int64_t need = need_of(watch, own, live);

            if (own->dimension == quota->dimension && need > 0 &&
                own->used + ledger_get(&watch->leaving, ref) - need <
                    quota_guaranteed(watch->world, own, watch->now_ms))
                return false;
        }
    return true;
}

/* The next in the order of giving back that the quota counts. */
static struct live *
next_of(const struct watch *watch, const struct quota *quota)
{
    struct live *best = NULL;
    bool best_spares = false;

    for (size_t i = 0; i < watch->count; i++) {
        struct live *live = &watch->lives[i];
        bool own;

        if (live->leaving || live->taken || live->fixed ||
            need_of(watch, quota, live) == 0)
            continue;
        own = spares(watch, quota, live);
        if (best == NULL || goes_before(live, own, best, best_spares)) {
            best = live;
            best_spares = own;
        }
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
    if (!ref_is_none(live->surplus))
        lifecycle_shrink(watch->changes, live->surplus, buffer_text(&text));
    else
        lifecycle_stop(watch->changes, live->workload, WORKLOAD_PREEMPTING,
                       LIFECYCLE_QUOTA, buffer_text(&text));
}

static void
take(struct watch *watch, struct live *live, bool taken)
{
    live->taken = taken;
    quota_charge(watch->world, &live->demand, &watch->leaving,
                 taken ? -1 : 1);
}

/* It was told to; a gang takes its surplus along. */
static void
leaves(struct watch *watch, struct live *live)
{
    live->taken = false;
    live->leaving = true;
    for (size_t i = 0; i < watch->count; i++) {
        struct live *other = &watch->lives[i];

        if (!ref_is_none(live->surplus) || ref_is_none(other->surplus) ||
            !ref_equal(other->workload, live->workload) || other->leaving)
            continue;
        if (!other->taken)
            take(watch, other, true);
        other->taken = false;
        other->leaving = true;
    }
}

static int64_t
above(const struct watch *watch, const struct quota *quota, int64_t limit)
{
    return quota->used + ledger_get(&watch->leaving, quota->object.self) -
           limit;
}

/* A gang's members cannot stay without the surplus that was taken for them. */
static bool
may_stay(const struct watch *watch, const struct live *live)
{
    for (size_t i = 0; i < watch->count; i++) {
        const struct live *other = &watch->lives[i];

        if (!ref_is_none(live->surplus) && ref_is_none(other->surplus) &&
            other->taken && ref_equal(other->workload, live->workload))
            return false;
    }
    return true;
}

/* Preemptible work above a capacity limit, the least that brings it below:
 * what came first in the order and is not needed after all stays. */
static void
take_back(struct watch *watch, const struct quota *quota, int64_t limit)
{
    struct live **list, *live;
    size_t count = 0;

    gather(watch);
    list = arena_alloc(watch->changes->arena,
                       (watch->count + 1) * sizeof(struct live *));
    while (above(watch, quota, limit) > 0 &&
           (live = next_of(watch, quota)) != NULL) {
        take(watch, live, true);
        list[count++] = live;
    }
    for (size_t i = count; i > 0; i--)
        if (above(watch, quota, limit) +
                    need_of(watch, quota, list[i - 1]) <= 0 &&
            may_stay(watch, list[i - 1]))
            take(watch, list[i - 1], false);
    for (size_t i = 0; i < count; i++)
        if (list[i]->taken) {
            stop(watch, quota, list[i], "quota-reclaim", limit);
            leaves(watch, list[i]);
        }
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
        /* The surplus goes with its gang. */
        if (!ref_is_none(live->surplus) || live->leaving ||
            need_of(watch, &cards, live) == 0)
            continue;
        stop(watch, quota, live, "quota-used-up", limit);
        take(watch, live, true);
        leaves(watch, live);
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

static bool
is_later(const struct live *a, const struct live *b)
{
    return a->priority != b->priority ? a->priority < b->priority
                                      : a->seq > b->seq;
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
                need_of(watch, quota, at) > 0 &&
                (live == NULL || is_later(at, live)))
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
    quota_claims_watch(changes);
}
