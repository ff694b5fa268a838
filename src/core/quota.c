/* SPDX-License-Identifier: Apache-2.0 */
#include "core/quota.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "core/month.h"

/* --- arithmetic that saturates instead of wrapping --- */

/* More than the largest limit that can be set, so that it fits none. */
#define ABOVE_ALL (AMOUNT_MAX + 1)

static int64_t
times(int64_t a, int64_t b)
{
    int64_t product;

    if (__builtin_mul_overflow(a, b, &product) || product > AMOUNT_MAX)
        return ABOVE_ALL;
    return product;
}

static int64_t
plus(int64_t a, int64_t b)
{
    int64_t sum;

    if (__builtin_add_overflow(a, b, &sum))
        return a > 0 ? INT64_MAX : INT64_MIN;
    return sum;
}

/* --- demand --- */

void
quota_demand(const struct world *world, const struct workload *workload,
             struct ref pool, int64_t card_memory_mib,
             struct demand *demand_out)
{
    const struct class *class = world_class(world, workload->class);
    int64_t milli, memory, run = workload->max_run_ms;
    struct demand demand = { .project = workload->object.parent,
                             .pool = pool,
                             .class = workload->class,
                             .asked_pool = workload->pool };

    assert(class != NULL);
    if (class->form == FORM_WHOLE) {
        milli = times(class->count, 1000);
        memory = times(class->count, card_memory_mib);
    } else {
        milli = class->milli;
        memory = class->memory_mib > 0 ? class->memory_mib
                                       : times(card_memory_mib, milli) / 1000;
    }
    demand.of[DIMENSION_CARDS] = times(milli, workload->instances);
    demand.of[DIMENSION_ACCEL_MEMORY] = times(memory, workload->instances);
    demand.of[DIMENSION_CPU] = times(workload->cpu_milli, workload->instances);
    demand.of[DIMENSION_MEMORY] =
        times(workload->memory_mib, workload->instances);
    demand.of[DIMENSION_WORKLOADS] = 1;
    demand.of[DIMENSION_INSTANCES] = workload->instances;
    demand.of[DIMENSION_CARD_TIME] =
        times(demand.of[DIMENSION_CARDS], run > 0 ? run : HOUR_MS);
    *demand_out = demand;
}

/* Does the quota count this demand?  The same rule as the world's tallies:
 * a workload counts as one in the pool that it asked for, all else in the
 * pool where it runs. */
static bool
counts(const struct quota *quota, const struct demand *demand)
{
    struct ref pool = quota->dimension == DIMENSION_WORKLOADS
                          ? demand->asked_pool
                          : demand->pool;

    return demand->of[quota->dimension] > 0 &&
           (ref_is_none(quota->pool) || ref_equal(quota->pool, pool)) &&
           (ref_is_none(quota->class) ||
            ref_equal(quota->class, demand->class));
}

/* --- limits --- */

/* Milli-cards of a pool, or of all. */
static int64_t
capacity(const struct world *world, struct ref pool)
{
    int64_t cards = 0;

    if (ref_is_none(pool))
        return times((int64_t)world_count(world, KIND_CARD), 1000);
    world_each_child(world, KIND_NODE, pool, node)
        world_each_child(world, KIND_CARD, node, card)
            cards++;
    return cards * 1000;
}

static const struct platform *
platform_of(const struct world *world)
{
    return world_platform(world, world_platform_ref(world));
}

int64_t
quota_limit(const struct world *world, const struct quota *quota)
{
    const struct platform *platform = platform_of(world);
    int64_t limit, most;

    if (quota->limit != AMOUNT_NONE || platform == NULL ||
        quota->dimension != DIMENSION_CARDS ||
        quota->object.parent.kind != KIND_TENANT)
        return quota->limit;
    if (quota->guaranteed == 0)
        return platform->free_limit_milli;
    limit = times(quota->guaranteed, platform->burst_factor_permille) / 1000;
    most = times(capacity(world, quota->pool),
                 platform->tenant_limit_permille) / 1000;
    if (limit > most)
        limit = most;
    return limit > quota->guaranteed ? limit : quota->guaranteed;
}

/* What a live binding has promised to use of the month from now on. */
static int64_t
binding_committed(const struct world *world, const struct binding *binding,
                  int64_t now_ms)
{
    const struct workload *workload = world_workload(world, binding->workload);
    int64_t from = binding->cut_ms > binding->from_ms ? binding->cut_ms
                                                      : binding->from_ms;
    int64_t to = now_ms;

    if (from < month_start(now_ms))
        from = month_start(now_ms);
    if (workload != NULL && workload->max_run_ms > 0) {
        int64_t start = workload->started_ms > 0 ? workload->started_ms
                                                 : now_ms;

        if (plus(start, workload->max_run_ms) > to)
            to = plus(start, workload->max_run_ms);
    }
    return to > from ? times(binding->milli, to - from) : 0;
}

int64_t
quota_committed(const struct world *world, const struct quota *quota,
                int64_t now_ms)
{
    int64_t sum =
        quota->used_month_ms == month_start(now_ms) ? quota->used : 0;

    world_each(world, KIND_BINDING, ref) {
        const struct binding *binding = world_binding(world, ref);

        if (binding->to_ms == 0 &&
            (ref_is_none(quota->pool) ||
             ref_equal(quota->pool, binding->pool)) &&
            (ref_is_none(quota->class) ||
             ref_equal(quota->class, binding->class)) &&
            world_is_below(world, binding->project, quota->object.parent))
            sum = plus(sum, binding_committed(world, binding, now_ms));
    }
    return sum;
}

static int64_t
quota_use(const struct world *world, const struct quota *quota,
          const struct ledger *ledger, int64_t now_ms)
{
    int64_t used = quota->dimension == DIMENSION_CARD_TIME
                       ? quota_committed(world, quota, now_ms)
                       : quota->used;

    return plus(used, ledger_get(ledger, quota->object.self));
}

/* "project p1", with the pool or class that the quota is about. */
#define WHERE_MAX (3 * NAME_MAX_SIZE + 32)
static const char *
quota_where(char text[WHERE_MAX], const struct world *world,
            const struct quota *quota)
{
    char node[NAME_MAX_SIZE + 16];
    const struct pool *pool = world_pool(world, quota->pool);
    const struct class *class = world_class(world, quota->class);

    (void)snprintf(text, WHERE_MAX, "%s%s%s%s%s",
                   reason_node(node, world, quota->object.parent),
                   pool != NULL ? " in pool " : "",
                   pool != NULL ? pool->object.name : "",
                   class != NULL ? " for class " : "",
                   class != NULL ? class->object.name : "");
    return text;
}

/* The platform's own use is the use of everybody: no number of it is told. */
static bool
is_everybodys(const struct quota *quota)
{
    return quota->object.parent.kind == KIND_PLATFORM;
}

static void
say_never(struct verdict *verdict, const struct world *world,
          const struct quota *quota, int64_t need, int64_t limit)
{
    char where[WHERE_MAX], asked[REASON_AMOUNT_MAX], most[REASON_AMOUNT_MAX];

    verdict_set(verdict, WORKLOAD_REJECTED, REASON_LIMIT_NEVER,
                "%s needed, the limit of %s is %s in all: it can never fit "
                "unless that limit is raised",
                reason_amount(asked, quota->dimension, need),
                quota_where(where, world, quota),
                reason_amount(most, quota->dimension, limit));
    verdict->quota = quota->object.self;
    verdict_numbers(verdict, need, is_everybodys(quota) ? 0 : quota->used,
                    limit);
}

static void
say_full(struct verdict *verdict, const struct world *world,
         const struct quota *quota, int64_t need, int64_t use, int64_t limit)
{
    char where[WHERE_MAX], asked[REASON_AMOUNT_MAX], used[REASON_AMOUNT_MAX],
        most[REASON_AMOUNT_MAX], raise[REASON_AMOUNT_MAX];
    int dimension = quota->dimension;
    bool time = dimension == DIMENSION_CARD_TIME;
    enum reason reason = time ? REASON_CARD_TIME : REASON_LIMIT;

    reason_amount(asked, dimension, need);
    quota_where(where, world, quota);
    if (is_everybodys(quota)) {
        verdict_set(verdict, WORKLOAD_GATED, reason,
                    "%s needed, the limit of the platform on %s is reached; "
                    "it starts when enough is given back",
                    asked, reason_dimension(dimension));
        verdict_numbers(verdict, need, 0, AMOUNT_NONE);
    } else {
        verdict_set(verdict, WORKLOAD_GATED, reason,
                    "%s needed, %s uses %s of its limit of %s%s; it starts "
                    "when enough is given back or the limit is raised to %s",
                    asked, where, reason_amount(used, dimension, use),
                    reason_amount(most, dimension, limit),
                    time ? " this month" : "",
                    reason_amount(raise, dimension, plus(use, need)));
        verdict_numbers(verdict, need, use, limit);
    }
    verdict->quota = quota->object.self;
}

/* A tenant whose cards no quota counts has the platform's free limit. */
static bool
free_limit_fits(const struct world *world, const struct demand *demand,
                struct ref tenant, struct verdict *verdict)
{
    const struct platform *platform = platform_of(world);
    int64_t need = demand->of[DIMENSION_CARDS], used = 0, limit;
    char asked[REASON_AMOUNT_MAX], most[REASON_AMOUNT_MAX],
        node[NAME_MAX_SIZE + 16];

    limit = platform->free_limit_milli;
    if (need <= limit)
        world_each(world, KIND_BINDING, ref) {
            const struct binding *binding = world_binding(world, ref);

            if (binding->to_ms == 0 &&
                ref_equal(binding->object.scope, tenant))
                used = plus(used, binding->milli);
        }
    if (plus(used, need) <= limit)
        return true;
    verdict_set(verdict, need > limit ? WORKLOAD_REJECTED : WORKLOAD_GATED,
                need > limit ? REASON_LIMIT_NEVER : REASON_LIMIT,
                "%s needed, %s has no quota for cards and may use %s; a "
                "quota of cards for the tenant would let it start",
                reason_amount(asked, DIMENSION_CARDS, need),
                reason_node(node, world, tenant),
                reason_amount(most, DIMENSION_CARDS, limit));
    verdict_numbers(verdict, need, used, limit);
    return false;
}

/* One walk up the tree; never: against empty quotas. */
static bool
limits_hold(const struct world *world, const struct demand *demand,
            const struct ledger *promised, int64_t now_ms, bool never,
            struct verdict *verdict)
{
    for (struct ref node = demand->project; !ref_is_none(node);
         node = world_parent(world, node)) {
        bool cards = false;

        world_each_child(world, KIND_QUOTA, node, ref) {
            const struct quota *quota = world_quota(world, ref);
            int64_t need = demand->of[quota->dimension];
            int64_t limit, use;

            if (!counts(quota, demand))
                continue;
            cards |= quota->dimension == DIMENSION_CARDS;
            limit = quota_limit(world, quota);
            if (limit == AMOUNT_NONE)
                continue;
            if (need > limit) {
                say_never(verdict, world, quota, need, limit);
                return false;
            }
            if (never)
                continue;
            use = quota_use(world, quota, promised, now_ms);
            if (plus(use, need) > limit) {
                say_full(verdict, world, quota, need, use, limit);
                return false;
            }
        }
        if (node.kind == KIND_TENANT && !cards && !never &&
            demand->of[DIMENSION_CARDS] > 0 &&
            !free_limit_fits(world, demand, node, verdict))
            return false;
    }
    return true;
}

bool
quota_fits(const struct world *world, const struct demand *demand,
           const struct ledger *promised, int64_t now_ms,
           struct verdict *verdict_out)
{
    return limits_hold(world, demand, promised, now_ms, true, verdict_out) &&
           limits_hold(world, demand, promised, now_ms, false, verdict_out);
}

int64_t
quota_room(const struct world *world, const struct demand *demand,
           enum dimension dimension, const struct ledger *promised,
           bool within_guarantee)
{
    int64_t room = AMOUNT_MAX;

    for (struct ref node = demand->project; !ref_is_none(node);
         node = world_parent(world, node))
        world_each_child(world, KIND_QUOTA, node, ref) {
            const struct quota *quota = world_quota(world, ref);
            int64_t use, limit;

            if (quota->dimension != (int)dimension || !counts(quota, demand))
                continue;
            use = quota_use(world, quota, promised, 0);
            limit = quota_limit(world, quota);
            if (limit != AMOUNT_NONE && limit - use < room)
                room = limit - use;
            if (within_guarantee && quota->guaranteed > 0 &&
                quota->guaranteed - use < room)
                room = quota->guaranteed - use;
        }
    return room > 0 ? room : 0;
}

void
quota_charge(const struct world *world, const struct demand *demand,
             struct ledger *ledger, int sign)
{
    for (struct ref node = demand->project; !ref_is_none(node);
         node = world_parent(world, node))
        world_each_child(world, KIND_QUOTA, node, ref) {
            const struct quota *quota = world_quota(world, ref);

            if (counts(quota, demand))
                ledger_add(ledger, ref, sign * demand->of[quota->dimension]);
        }
}

/* --- guarantees --- */

enum standing { STANDING_NONE, STANDING_WITHIN, STANDING_BEYOND };

/* Where would the demand put this node?  A node has a guarantee when it has
 * one for cards (of any dimension, when no cards are asked for); then all its
 * guarantees count.  worst_out: the quota that is exceeded, or that of the
 * cards. */
static enum standing
standing_of(const struct world *world, const struct demand *demand,
            struct ref node, const struct ledger *ledger,
            const struct quota **worst_out)
{
    bool any = false, cards = false, beyond = false;
    bool asks_cards = demand->of[DIMENSION_CARDS] > 0;

    world_each_child(world, KIND_QUOTA, node, ref) {
        const struct quota *quota = world_quota(world, ref);
        int64_t use;

        if (quota->guaranteed == 0 || !counts(quota, demand))
            continue;
        any = true;
        cards |= quota->dimension == DIMENSION_CARDS;
        use = plus(quota->used, ledger_get(ledger, ref));
        if (plus(use, demand->of[quota->dimension]) > quota->guaranteed &&
            !beyond) {
            beyond = true;
            *worst_out = quota;
        } else if (!beyond && (quota->dimension == DIMENSION_CARDS ||
                               *worst_out == NULL)) {
            *worst_out = quota;
        }
    }
    if (!any || (asks_cards && !cards))
        return STANDING_NONE;
    return beyond ? STANDING_BEYOND : STANDING_WITHIN;
}

/* What of a guarantee is for nodes below that the demand does not come from:
 * all of it, and what they do not use yet. */
struct reserve {
    int64_t all, idle;
};

static bool
same_scope(const struct quota *a, const struct quota *b)
{
    return a->dimension == b->dimension && ref_equal(a->pool, b->pool) &&
           ref_equal(a->class, b->class);
}

/* Does the quota lean right on the one of a node above, none in between? */
static bool
leans_on(const struct world *world, const struct quota *quota,
         struct ref above)
{
    struct ref node = world_parent(world, quota->object.parent);

    for (; !ref_is_none(node) && !ref_equal(node, above);
         node = world_parent(world, node))
        world_each_child(world, KIND_QUOTA, node, ref)
            if (world_quota(world, ref)->guaranteed > 0 &&
                same_scope(world_quota(world, ref), quota))
                return false;
    return !ref_is_none(node);
}

static struct reserve
reserved_below(const struct world *world, const struct quota *quota,
               const struct demand *demand, const struct ledger *promised)
{
    struct reserve reserve = { 0 };

    world_each(world, KIND_QUOTA, ref) {
        const struct quota *other = world_quota(world, ref);
        int64_t use;

        if (other->guaranteed == 0 || !same_scope(other, quota) ||
            world_is_below(world, demand->project, other->object.parent) ||
            !leans_on(world, other, quota->object.parent))
            continue;
        use = plus(other->used, ledger_get(promised, ref));
        reserve.all = plus(reserve.all, other->guaranteed);
        if (use < other->guaranteed)
            reserve.idle = plus(reserve.idle, other->guaranteed - use);
    }
    return reserve;
}

static void
say_guarantee_full(struct verdict *verdict, const struct world *world,
                   const struct quota *quota, int64_t need, int64_t use,
                   int64_t most)
{
    char where[WHERE_MAX], asked[REASON_AMOUNT_MAX], all[REASON_AMOUNT_MAX],
        used[REASON_AMOUNT_MAX];
    bool never = need > most;

    verdict_set(verdict, never ? WORKLOAD_REJECTED : WORKLOAD_GATED,
                never ? REASON_LIMIT_NEVER : REASON_LIMIT,
                "%s needed by work that is not preemptible, %s has %s in use "
                "or promised below it of its guarantee of %s; it starts when "
                "enough of the guarantee is free",
                reason_amount(asked, quota->dimension, need),
                quota_where(where, world, quota),
                reason_amount(used, quota->dimension, use),
                reason_amount(all, quota->dimension, quota->guaranteed));
    verdict_numbers(verdict, need, use, quota->guaranteed);
    verdict->quota = quota->object.self;
}

/* At one node; lowest: the guarantee that the work itself would use, and not
 * that of a sibling.  Higher up the one below it has settled that. */
static bool
fits_guarantee_at(const struct world *world, const struct demand *demand,
                  struct ref node, const struct ledger *promised, bool lowest,
                  struct verdict *verdict)
{
    world_each_child(world, KIND_QUOTA, node, ref) {
        const struct quota *quota = world_quota(world, ref);
        int64_t need = demand->of[quota->dimension];
        struct reserve reserve = { 0 };
        int64_t use;

        if (quota->guaranteed == 0 || !counts(quota, demand))
            continue;
        if (lowest)
            reserve = reserved_below(world, quota, demand, promised);
        use = plus(plus(quota->used, ledger_get(promised, ref)),
                   reserve.idle);
        if (plus(use, need) <= quota->guaranteed)
            continue;
        say_guarantee_full(verdict, world, quota, need, use,
                           quota->guaranteed - reserve.all);
        return false;
    }
    return true;
}

bool
quota_fits_guarantee(const struct world *world, const struct demand *demand,
                     const struct ledger *promised,
                     struct verdict *verdict_out)
{
    char asked[REASON_AMOUNT_MAX];
    bool some = false;

    for (struct ref node = demand->project; node.kind != KIND_PLATFORM &&
                                            !ref_is_none(node);
         node = world_parent(world, node)) {
        const struct quota *quota = NULL;

        if (standing_of(world, demand, node, promised, &quota) ==
            STANDING_NONE)
            continue;
        if (!fits_guarantee_at(world, demand, node, promised, !some,
                               verdict_out))
            return false;
        some = true;
    }
    if (some)
        return true;
    verdict_set(verdict_out, WORKLOAD_REJECTED, REASON_LIMIT_NEVER,
                "%s needed by work that is not preemptible, and no quota "
                "above it guarantees any: make it preemptible or get a "
                "guarantee",
                reason_amount(asked, DIMENSION_CARDS,
                              demand->of[DIMENSION_CARDS]));
    verdict_numbers(verdict_out, demand->of[DIMENSION_CARDS], 0, 0);
    return false;
}

enum quota_right
quota_right(const struct world *world, const struct demand *demand,
            const struct ledger *promised)
{
    bool within = false, beyond = false;

    for (struct ref node = demand->project;
         !ref_is_none(node) && node.kind != KIND_PLATFORM;
         node = world_parent(world, node)) {
        const struct quota *quota = NULL;
        enum standing standing =
            standing_of(world, demand, node, promised, &quota);

        within |= standing == STANDING_WITHIN;
        beyond |= standing == STANDING_BEYOND;
    }
    if (!within)
        return RIGHT_BURST;
    return beyond ? RIGHT_PART : RIGHT_FULL;
}

bool
quota_may_reclaim(const struct world *world, const struct demand *demand,
                  const struct ledger *promised, struct ref ancestor,
                  struct claim *claim_out)
{
    enum standing highest = STANDING_NONE;

    for (struct ref node = demand->project;
         !ref_is_none(node) && !ref_equal(node, ancestor);
         node = world_parent(world, node)) {
        const struct quota *quota = NULL;
        enum standing standing =
            standing_of(world, demand, node, promised, &quota);

        if (standing == STANDING_NONE)
            continue;
        highest = standing;
        claim_out->node = node;
        claim_out->used = quota->used;
        claim_out->guaranteed = quota->guaranteed;
    }
    return highest == STANDING_WITHIN;
}

struct ref
quota_ancestor(const struct world *world, struct ref a, struct ref b)
{
    for (struct ref node = a; !ref_is_none(node);
         node = world_parent(world, node))
        if (world_is_below(world, b, node))
            return node;
    return (struct ref){ 0 };
}

bool
quota_release_allowed(const struct world *world, const struct demand *release,
                      struct ref ancestor, const struct ledger *leaving)
{
    for (struct ref node = release->project;
         !ref_is_none(node) && !ref_equal(node, ancestor);
         node = world_parent(world, node))
        world_each_child(world, KIND_QUOTA, node, ref) {
            const struct quota *quota = world_quota(world, ref);
            int64_t left;

            if (quota->guaranteed == 0 ||
                quota->dimension == DIMENSION_CARD_TIME ||
                !counts(quota, release))
                continue;
            left = quota->used + ledger_get(leaving, ref) -
                   release->of[quota->dimension];
            if (left < quota->guaranteed)
                return false;
        }
    return true;
}

int64_t
quota_over(const struct world *world, const struct demand *demand,
           struct ref ancestor, const struct ledger *leaving,
           struct claim *claim_out)
{
    int64_t over = demand->of[DIMENSION_CARDS];
    bool guarantee = false;

    for (struct ref node = demand->project;
         !ref_is_none(node) && !ref_equal(node, ancestor);
         node = world_parent(world, node))
        world_each_child(world, KIND_QUOTA, node, ref) {
            const struct quota *quota = world_quota(world, ref);

            if (quota->dimension != DIMENSION_CARDS ||
                !counts(quota, demand) ||
                (guarantee && quota->guaranteed == 0))
                continue;
            guarantee |= quota->guaranteed > 0;
            over = quota->used + ledger_get(leaving, ref) - quota->guaranteed;
            if (claim_out != NULL)
                *claim_out = (struct claim){ node, quota->used,
                                             quota->guaranteed };
        }
    return over;
}
