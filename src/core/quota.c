/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "core/month.h"
#include "core/price.h"
#include "core/quota_private.h"
#include "core/reservation.h"

/* --- arithmetic that saturates instead of wrapping --- */

/* More than the largest limit that can be set, so that it fits none. */
#define ABOVE_ALL (USAGE_MAX + 1)

static int64_t
times(int64_t a, int64_t b)
{
    int64_t product;

    if (__builtin_mul_overflow(a, b, &product) || product > USAGE_MAX)
        return ABOVE_ALL;
    return product;
}

int64_t
quota_plus(int64_t a, int64_t b)
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
                             .asked_pool = workload->pool,
                             .user = workload->user,
                             .run_ms = run };

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
    /* Known when it serves: it is admitted while any are left. */
    demand.of[DIMENSION_TOKENS] = workload->kind == WORKLOAD_SERVICE;
    *demand_out = demand;
}

void
quota_demand_instance(const struct world *world,
                      const struct instance *instance, struct demand *demand)
{
    const struct workload *workload =
        world_workload(world, instance->object.parent);

    demand->project = instance->project;
    demand->pool = instance->pool;
    demand->class = instance->class;
    if (workload != NULL)
        demand->user = workload->user;
    demand->of[DIMENSION_CPU] += instance->cpu_milli;
    demand->of[DIMENSION_MEMORY] += instance->memory_mib;
    demand->of[DIMENSION_INSTANCES] += 1;
}

void
quota_demand_binding(const struct binding *binding, struct demand *demand)
{
    struct demand_part *part = demand->parts;
    struct demand_part *end = demand->parts + demand->part_count;

    demand->of[DIMENSION_CARDS] += binding->milli;
    demand->of[DIMENSION_ACCEL_MEMORY] += binding->memory_mib;
    while (part < end && (strcmp(part->vendor, binding->vendor) != 0 ||
                          strcmp(part->model, binding->model) != 0))
        part++;
    if (part == demand->parts + DEMAND_PARTS)
        return;
    if (part == end) {
        demand->part_count++;
        *part = (struct demand_part){ binding->vendor, binding->model, 0, 0 };
    }
    part->milli += binding->milli;
    part->memory_mib += binding->memory_mib;
}

/* What is bound counts by the true cards; what is asked by its class. */
static int64_t
typed_need(const struct world *world, const struct quota *quota,
           const struct demand *demand)
{
    const struct class *class = world_class(world, demand->class);
    int64_t need = 0;

    if (demand->part_count == 0)
        return class != NULL && scope_fit(quota, class) == SCOPE_YES
                   ? demand->of[quota->dimension]
                   : 0;
    for (unsigned i = 0; i < demand->part_count; i++) {
        const struct demand_part *part = &demand->parts[i];
        const struct scope_use use = { quota->pool, quota->class, quota->user,
                                       part->vendor, part->model };

        if (!scope_counts(quota, &use))
            continue;
        if (quota->dimension == DIMENSION_CARDS)
            need += part->milli;
        else if (quota->dimension == DIMENSION_ACCEL_MEMORY)
            need += part->memory_mib;
    }
    return need;
}

/* Does the quota count the demand, apart from the type of card?  The same
 * rule as the world's tallies: a workload counts as one in the pool that it
 * asked for, all else in the pool where it runs. */
static bool
counts(const struct quota *quota, const struct demand *demand)
{
    const struct scope_use use = { quota->dimension == DIMENSION_WORKLOADS
                                       ? demand->asked_pool
                                       : demand->pool,
                                   demand->class, demand->user, quota->vendor,
                                   quota->model };

    return scope_counts(quota, &use);
}

/* What a card-hour of the class costs at most, nano. */
static int64_t
price_of(const struct world *world, const struct demand *demand,
         int64_t now_ms)
{
    const struct class *class = world_class(world, demand->class);

    return price_most(world, METER_CARD_HOUR,
                      class != NULL ? class->model : "",
                      world_scope(world, demand->project), now_ms);
}

static int64_t
cost_of(const struct world *world, const struct demand *demand,
        int64_t card_time, int64_t now_ms)
{
    int64_t cost = ABOVE_ALL;

    (void)price_of_card_time(price_of(world, demand, now_ms), card_time,
                             &cost);
    return cost < ABOVE_ALL ? cost : ABOVE_ALL;
}

int64_t
quota_need(const struct world *world, const struct quota *quota,
           const struct demand *demand)
{
    if (!counts(quota, demand))
        return 0;
    if (scope_is_typed(quota))
        return typed_need(world, quota, demand);
    return demand->of[quota->dimension];
}

/* The whole run, or the part of it in one month: that of now, or the next. */
enum span { SPAN_ALL, SPAN_MONTH, SPAN_NEXT };

static int64_t
span_ms(const struct demand *demand, enum span span, int64_t now_ms)
{
    int64_t run = demand->run_ms, left = month_next(now_ms) - now_ms;
    int64_t next = month_next(month_next(now_ms)) - month_next(now_ms);

    if (span == SPAN_NEXT) {
        run = run > left ? run - left : 0;
        return run < next ? run : next;
    }
    if (run == 0)
        return HOUR_MS;
    if (span == SPAN_MONTH)
        return run < left ? run : left;
    return run;
}

static int64_t
need_in(const struct world *world, const struct quota *quota,
        const struct demand *demand, enum span span, int64_t now_ms)
{
    int64_t milli = demand->of[DIMENSION_CARDS], card_time;

    if (quota->dimension != DIMENSION_CARD_TIME &&
        quota->dimension != DIMENSION_COST)
        return span == SPAN_NEXT ? 0 : quota_need(world, quota, demand);
    if (!counts(quota, demand) ||
        (scope_is_typed(quota) && demand->part_count == 0 &&
         scope_fit(quota, world_class(world, demand->class)) != SCOPE_YES))
        return 0;
    card_time = times(milli, span_ms(demand, span, now_ms));
    return quota->dimension == DIMENSION_COST
               ? cost_of(world, demand, card_time, now_ms)
               : card_time;
}

/* --- limits --- */

/* Milli-cards of a pool, or of all. */
static int64_t
capacity(const struct world *world, struct ref pool)
{
    const struct pool *one = world_pool(world, pool);

    return times(one != NULL ? one->cards
                             : (int64_t)world_count(world, KIND_CARD),
                 1000);
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

bool
quota_is_raised(const struct quota *quota, int64_t now_ms)
{
    return now_ms < quota->raised_until_ms;
}

int64_t
quota_limit_at(const struct world *world, const struct quota *quota,
               int64_t now_ms)
{
    int64_t limit = quota_limit(world, quota);

    if (limit == AMOUNT_NONE)
        return limit;
    limit = quota_plus(limit, reservation_extra(world, quota));
    return quota_is_raised(quota, now_ms) && quota->raised_limit > limit
               ? quota->raised_limit
               : limit;
}

int64_t
quota_guaranteed(const struct world *world, const struct quota *quota,
                 int64_t now_ms)
{
    (void)now_ms;
    return quota_plus(quota->guaranteed, reservation_extra(world, quota));
}

int64_t
quota_claimable(const struct world *world, const struct quota *quota,
                int64_t now_ms)
{
    return quota_guaranteed(world, quota, now_ms) - quota->unmet;
}

int64_t
quota_kept(const struct world *world, const struct quota *quota,
           int64_t now_ms)
{
    return quota_guaranteed(world, quota, now_ms) - quota->unkept;
}

int64_t
quota_used(const struct world *world, const struct quota *quota,
           int64_t now_ms)
{
    return quota->dimension >= DIMENSION_CARD_TIME
               ? world_committed(world, quota, now_ms)
               : quota->used;
}

static int64_t
quota_use(const struct world *world, const struct quota *quota,
          const struct ledger *ledger, int64_t now_ms)
{
    return quota_plus(quota_used(world, quota, now_ms),
                      ledger_get(ledger, quota->object.self));
}

const char *
quota_where(char text[QUOTA_WHERE_MAX], const struct world *world,
            const struct quota *quota)
{
    char node[NAME_MAX_SIZE + 16], scope[SCOPE_TEXT_MAX];

    (void)snprintf(text, QUOTA_WHERE_MAX, "%s%s",
                   reason_node(node, world, quota->object.parent),
                   scope_text(scope, world, quota));
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
    char where[QUOTA_WHERE_MAX], asked[REASON_AMOUNT_MAX],
        most[REASON_AMOUNT_MAX];

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

/* The reason of a full quota: the month's have one of their own. */
static enum reason
reason_of(const struct quota *quota)
{
    return quota->dimension >= DIMENSION_CARD_TIME ? REASON_CARD_TIME
                                                   : REASON_LIMIT;
}

static void
say_full(struct verdict *verdict, const struct world *world,
         const struct quota *quota, int64_t need, int64_t use, int64_t limit,
         const char *when)
{
    char where[QUOTA_WHERE_MAX], asked[REASON_AMOUNT_MAX],
        used[REASON_AMOUNT_MAX], most[REASON_AMOUNT_MAX],
        raise[REASON_AMOUNT_MAX];
    int dimension = quota->dimension;
    bool month = dimension >= DIMENSION_CARD_TIME;

    reason_amount(asked, dimension, need);
    quota_where(where, world, quota);
    if (is_everybodys(quota)) {
        verdict_set(verdict, WORKLOAD_GATED, reason_of(quota),
                    "%s needed, the limit of the platform on %s is reached; "
                    "it starts when enough is given back",
                    asked, reason_dimension(dimension));
        verdict_numbers(verdict, need, 0, AMOUNT_NONE);
    } else {
        verdict_set(verdict, WORKLOAD_GATED, reason_of(quota),
                    "%s needed, %s uses %s of its limit of %s%s; it starts "
                    "when enough is given back%s or the limit is raised to %s",
                    asked, where, reason_amount(used, dimension, use),
                    reason_amount(most, dimension, limit), when,
                    month ? ", the next month begins" : "",
                    reason_amount(raise, dimension, quota_plus(use, need)));
        verdict_numbers(verdict, need, use, limit);
    }
    verdict->quota = quota->object.self;
}

/* A tenant whose cards no quota counts has the platform's free limit. */
static bool
free_limit_fits(const struct world *world, const struct demand *demand,
                const struct ledger *promised, struct ref tenant,
                struct verdict *verdict)
{
    int64_t need = demand->of[DIMENSION_CARDS];
    int64_t used = quota_plus(world_tenant(world, tenant)->used_milli,
                              ledger_get(promised, tenant));
    int64_t limit = platform_of(world)->free_limit_milli;
    char asked[REASON_AMOUNT_MAX], most[REASON_AMOUNT_MAX],
        node[NAME_MAX_SIZE + 16];

    if (quota_plus(used, need) <= limit)
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

/* Against one quota; never: as if it were empty. */
static bool
limit_holds(const struct world *world, const struct quota *quota,
            const struct demand *demand, const struct ledger *promised,
            int64_t now_ms, bool never, struct verdict *verdict)
{
    int64_t limit = quota_limit_at(world, quota, now_ms);
    int64_t need = need_in(world, quota, demand,
                           never ? SPAN_ALL : SPAN_MONTH, now_ms);
    int64_t later, use;

    if (limit == AMOUNT_NONE || need == 0)
        return true;
    if (never) {
        if (need > limit)
            say_never(verdict, world, quota, need, limit);
        return need <= limit;
    }
    use = quota_use(world, quota, promised, now_ms);
    if (quota_plus(use, need) > limit) {
        say_full(verdict, world, quota, need, use, limit,
                 quota->dimension >= DIMENSION_CARD_TIME ? " this month" : "");
        return false;
    }
    later = need_in(world, quota, demand, SPAN_NEXT, now_ms);
    if (later == 0)
        return true;
    use = quota_use(world, quota, promised, month_next(now_ms));
    if (quota_plus(use, later) > limit)
        say_full(verdict, world, quota, later, use, limit, " next month");
    return quota_plus(use, later) <= limit;
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

            cards |= quota->dimension == DIMENSION_CARDS &&
                     quota_need(world, quota, demand) > 0;
            if (!limit_holds(world, quota, demand, promised, now_ms, never,
                             verdict))
                return false;
        }
        if (node.kind == KIND_TENANT && !cards && !never &&
            demand->of[DIMENSION_CARDS] > 0 &&
            !free_limit_fits(world, demand, promised, node, verdict))
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
            int64_t use, limit, most;

            if (quota->dimension != (int)dimension ||
                quota_need(world, quota, demand) == 0)
                continue;
            use = quota_use(world, quota, promised, demand->now_ms);
            limit = quota_limit_at(world, quota, demand->now_ms);
            most = quota_claimable(world, quota, demand->now_ms);
            if (limit != AMOUNT_NONE && limit - use < room)
                room = limit - use;
            if (within_guarantee && most - use < room &&
                quota_guaranteed(world, quota, demand->now_ms) > 0)
                room = most - use;
        }
    return room > 0 ? room : 0;
}

/* Would the whole demand, on cards that the quota counts, be too much? */
static bool
is_barred(const struct world *world, const struct quota *quota,
          const struct demand *demand, const struct ledger *promised,
          bool fixed)
{
    int64_t now_ms = demand->now_ms;
    int64_t limit = quota_limit_at(world, quota, now_ms);
    int64_t guaranteed = quota_guaranteed(world, quota, now_ms);
    int64_t need = quota->dimension == DIMENSION_CARD_TIME
                       ? times(demand->of[DIMENSION_CARDS],
                               span_ms(demand, SPAN_MONTH, now_ms))
                       : demand->of[quota->dimension];
    int64_t use = quota_plus(quota_use(world, quota, promised, now_ms), need);

    if (!counts(quota, demand) || !scope_is_typed(quota) ||
        scope_fit(quota, world_class(world, demand->class)) != SCOPE_MAYBE)
        return false;
    return (limit != AMOUNT_NONE && use > limit) ||
           (fixed && guaranteed > 0 &&
            use > quota_claimable(world, quota, now_ms));
}

size_t
quota_bars(const struct world *world, const struct demand *demand,
           const struct ledger *promised, bool fixed,
           struct quota_bar bars_out[QUOTA_BARS_MAX])
{
    size_t count = 0;

    for (struct ref node = demand->project; !ref_is_none(node);
         node = world_parent(world, node))
        world_each_child(world, KIND_QUOTA, node, ref) {
            const struct quota *quota = world_quota(world, ref);

            if (!is_barred(world, quota, demand, promised, fixed))
                continue;
            if (count == QUOTA_BARS_MAX) { /* so many bar all cards */
                bars_out[0] = (struct quota_bar){ "", "" };
                return 1;
            }
            bars_out[count++] =
                (struct quota_bar){ quota->vendor, quota->model };
        }
    return count;
}

void
quota_charge(const struct world *world, const struct demand *demand,
             struct ledger *ledger, int sign)
{
    for (struct ref node = demand->project; !ref_is_none(node);
         node = world_parent(world, node)) {
        world_each_child(world, KIND_QUOTA, node, ref) {
            int64_t need = quota_need(world, world_quota(world, ref), demand);

            if (need != 0)
                ledger_add(ledger, ref, sign * need);
        }
        if (node.kind == KIND_TENANT && demand->of[DIMENSION_CARDS] != 0)
            ledger_add(ledger, node, sign * demand->of[DIMENSION_CARDS]);
    }
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
