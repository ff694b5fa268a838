/* SPDX-License-Identifier: Apache-2.0 */
#include "core/reclaim_order.h"

#include <string.h>

#include "core/gate.h"

struct reclaim_rank {
    uint32_t shelf;
    const uint32_t *runs; /* the best last */
    size_t left;
    struct ref ancestor;
    enum reclaim_rule rule;
    struct claim claim; /* of the beneficiary */
    bool spares;        /* those that were preempted a short time ago */
    /* of the best */
    int64_t kind, over, priority, lost;
    uint64_t seq;
    struct claim above; /* the node that is over */
    unsigned round;     /* in which over was looked up */
};

struct reclaim_front {
    const struct reclaim_heap *heap;
    size_t at;
    /* as good as the best of the shelf at least */
    int64_t kind, over, priority, lost;
    uint64_t seq;
};

/* --- rights --- */

/* The right of the beneficiary's guarantees across an ancestor. */
static const struct reclaim_right *
right_across(struct reclaim_order *order, struct ref ancestor)
{
    struct reclaim_right *right = order->rights;

    for (size_t i = 0; i < order->right_count; i++, right++)
        if (ref_equal(right->ancestor, ancestor))
            return right;
    if (order->right_count < RECLAIM_RIGHTS_MAX)
        order->right_count++;
    else
        right--;
    right->ancestor = ancestor;
    right->may = !ref_equal(ancestor, order->demand->project) &&
                 quota_may_reclaim(order->estate->world, order->demand,
                                   &order->estate->promised, ancestor,
                                   &right->claim);
    return right;
}

/* Is the pool dedicated to the tenant? */
static bool
owns(const struct world *world, struct ref ref, struct ref tenant)
{
    const struct pool *pool = world_pool(world, ref);

    return pool != NULL && pool->kind == POOL_DEDICATED &&
           gate_lists(world, pool->tenants, tenant);
}

/* The rule by which a tenant's work of this priority may be named; false when
 * there is none.  Whether guarantees hold after the release is tested when it
 * comes up. */
static bool
find_rule(struct reclaim_order *order, struct ref tenant, int64_t priority,
          struct reclaim_rank *rank)
{
    const struct reclaim_right *right = right_across(order, rank->ancestor);

    if (!ref_equal(tenant, order->workload->object.scope) &&
        order->owner != owns(order->estate->world, order->pool, tenant)) {
        rank->rule = RECLAIM_OWNER;
        return order->owner;
    }
    rank->spares = !right->may;
    if (right->may) {
        rank->claim = right->claim;
        rank->rule = RECLAIM_GUARANTEE;
        return true;
    }
    if (priority >= order->priority)
        return false;
    rank->rule = rank->ancestor.kind != KIND_PLATFORM ? RECLAIM_PRIORITY
                                                      : RECLAIM_ACROSS;
    return rank->rule == RECLAIM_PRIORITY || order->across;
}

/* --- the heap of ranks --- */

static bool
is_better(const struct reclaim_rank *a, const struct reclaim_rank *b)
{
    if (a->kind != b->kind)
        return a->kind < b->kind;
    if (a->over != b->over)
        return a->over > b->over;
    if (a->priority != b->priority)
        return a->priority < b->priority;
    if (a->lost != b->lost)
        return a->lost < b->lost;
    return a->seq > b->seq;
}

static void
sift_down(struct reclaim_order *order, size_t at)
{
    struct reclaim_rank rank = order->ranks[at];

    for (;;) {
        size_t child = 2 * at + 1;

        if (child >= order->count)
            break;
        if (child + 1 < order->count &&
            is_better(&order->ranks[child + 1], &order->ranks[child]))
            child++;
        if (!is_better(&order->ranks[child], &rank))
            break;
        order->ranks[at] = order->ranks[child];
        at = child;
    }
    order->ranks[at] = rank;
}

static void *
room_for(struct reclaim_order *order, void *list, size_t *room, size_t count,
         size_t size)
{
    size_t larger = *room > 0 ? *room * 2 : 16;
    void *copy;

    if (count < *room)
        return list;
    copy = arena_alloc(order->arena, larger * size);
    if (*room > 0)
        memcpy(copy, list, *room * size);
    *room = larger;
    return copy;
}

static void
push(struct reclaim_order *order, const struct reclaim_rank *rank)
{
    size_t at = order->count;

    order->ranks = room_for(order, order->ranks, &order->room, order->count,
                            sizeof(*order->ranks));
    order->count++;
    for (; at > 0 && is_better(rank, &order->ranks[(at - 1) / 2]);
         at = (at - 1) / 2)
        order->ranks[at] = order->ranks[(at - 1) / 2];
    order->ranks[at] = *rank;
}

static void
pop(struct reclaim_order *order)
{
    order->ranks[0] = order->ranks[--order->count];
    if (order->count > 0)
        sift_down(order, 0);
}

/* --- ranks --- */

static bool
is_spared(const struct reclaim_order *order, const struct run *run)
{
    return run->young_ms > 0 &&
           order->estate->now_ms < run->young_ms + order->min_run_ms;
}

/* Not this one: it is spared, or was named as the first. */
static bool
is_passed(const struct reclaim_order *order, const struct reclaim_rank *rank,
          uint32_t run)
{
    return (run == order->first && order->round > 0) ||
           (rank->spares && is_spared(order, &order->estate->runs[run]));
}

/* Looks up the best one; false when none is left. */
static bool
find_best(const struct reclaim_order *order, struct reclaim_rank *rank)
{
    const struct estate *estate = order->estate;
    const struct run *run;

    while (rank->left > 0 &&
           is_passed(order, rank, rank->runs[rank->left - 1]))
        rank->left--;
    if (rank->left == 0)
        return false;
    run = &estate->runs[rank->runs[rank->left - 1]];
    rank->priority = run->priority;
    rank->lost = reclaim_index_lost(estate, rank->runs[rank->left - 1]);
    rank->seq = run->seq;
    return true;
}

static const struct demand *
demand_of(const struct reclaim_order *order, const struct reclaim_rank *rank)
{
    return &order->estate->runs[rank->runs[0]].demand;
}

/* True when they use less above their guarantee than when it was asked last. */
static bool
look_over(const struct reclaim_order *order, struct reclaim_rank *rank)
{
    int64_t before = rank->over;

    rank->above = (struct claim){ 0 };
    rank->over = quota_over(order->estate->world, demand_of(order, rank),
                            rank->ancestor, &order->estate->leaving,
                            &rank->above);
    rank->round = order->round;
    return rank->over < before;
}

static void
add_rank(struct reclaim_order *order, struct reclaim_rank *rank)
{
    if (!find_best(order, rank))
        return;
    rank->kind = order->estate->runs[rank->runs[0]].kind;
    (void)look_over(order, rank);
    push(order, rank);
}

static int
seq_order(const struct estate *estate, uint32_t a, uint32_t b)
{
    return estate->runs[a].seq < estate->runs[b].seq ? -1 : 1;
}

/* Those that lose nothing are ordered by seq alone; a few, mostly. */
static const uint32_t *
sort_fresh(const struct reclaim_order *order, const uint32_t *runs,
           size_t count, size_t fresh)
{
    uint32_t *copy = arena_alloc(order->arena, count * sizeof(*copy));

    memcpy(copy, runs, count * sizeof(*copy));
    for (size_t gap = (count - fresh) / 2; gap > 0; gap /= 2)
        for (size_t i = fresh + gap; i < count; i++) {
            uint32_t run = copy[i];
            size_t at = i;

            for (; at >= fresh + gap &&
                   seq_order(order->estate, run, copy[at - gap]) < 0;
                 at -= gap)
                copy[at] = copy[at - gap];
            copy[at] = run;
        }
    return copy;
}

static void
fill_runs(const struct reclaim_order *order, struct reclaim_rank *rank,
          const uint32_t *runs, size_t count)
{
    const struct estate *estate = order->estate;
    size_t low = 0, high = count;

    while (low < high) { /* the first that loses nothing */
        size_t middle = low + (high - low) / 2;

        if (estate->runs[runs[middle]].since_ms < estate->now_ms)
            low = middle + 1;
        else
            high = middle;
    }
    rank->left = count;
    rank->runs = low < count && estate->runs[runs[low]].since_ms !=
                                    estate->runs[runs[count - 1]].since_ms
                     ? sort_fresh(order, runs, count, low)
                     : runs;
}

static void
add_shelf(struct reclaim_order *order, uint32_t number)
{
    const struct estate *estate = order->estate;
    const struct reclaim_shelf *shelf = reclaim_index_shelf(estate, number);
    struct reclaim_rank rank = { .shelf = number };

    rank.ancestor = quota_ancestor(estate->world, order->demand->project,
                                   shelf->project);
    if (!find_rule(order, shelf->tenant, shelf->priority, &rank))
        return;
    fill_runs(order, &rank, shelf->runs, shelf->count);
    add_rank(order, &rank);
}

/* --- shelves of the pool, as they come up --- */

#define COMPARE_BY(member, sign)                                              \
    if (a->member != b->member)                                               \
    return a->member < b->member ? -(sign) : (sign)

static int
front_order(const struct reclaim_front *a, const struct reclaim_front *b)
{
    COMPARE_BY(kind, 1);
    COMPARE_BY(over, -1);
    COMPARE_BY(priority, 1);
    COMPARE_BY(lost, 1);
    COMPARE_BY(seq, -1);
    return 0;
}

static bool
comes_first(const struct reclaim_front *a, const struct reclaim_front *b)
{
    return front_order(a, b) < 0;
}

static void
push_front(struct reclaim_order *order, const struct reclaim_heap *heap,
           size_t at)
{
    const struct estate *estate = order->estate;
    struct reclaim_front front = { .heap = heap, .at = at };
    size_t to = order->front_count;
    const struct reclaim_shelf *shelf;
    uint32_t best;

    if (at >= heap->count)
        return;
    shelf = reclaim_index_shelf(estate, heap->shelves[at]);
    if (shelf->over <= 0 && !order->owner) /* their guarantees let nobody go */
        return;
    best = shelf->runs[shelf->count - 1];
    front.kind = shelf->kind;
    front.over = shelf->over;
    front.priority = shelf->priority;
    front.lost = reclaim_index_lost(estate, best);
    /* Of those that lose nothing another may be newer. */
    front.seq = front.lost > 0 ? estate->runs[best].seq : UINT64_MAX;
    order->fronts = room_for(order, order->fronts, &order->front_room,
                             order->front_count, sizeof(*order->fronts));
    order->front_count++;
    for (; to > 0 && comes_first(&front, &order->fronts[(to - 1) / 2]);
         to = (to - 1) / 2)
        order->fronts[to] = order->fronts[(to - 1) / 2];
    order->fronts[to] = front;
}

static struct reclaim_front
pop_front(struct reclaim_order *order)
{
    struct reclaim_front first = order->fronts[0];
    struct reclaim_front last = order->fronts[--order->front_count];
    size_t at = 0;

    for (;;) {
        size_t child = 2 * at + 1;

        if (child >= order->front_count)
            break;
        if (child + 1 < order->front_count &&
            comes_first(&order->fronts[child + 1], &order->fronts[child]))
            child++;
        if (!comes_first(&order->fronts[child], &last))
            break;
        order->fronts[at] = order->fronts[child];
        at = child;
    }
    order->fronts[at] = last;
    return first;
}

/* Could a shelf that did not come up yet have a better one? */
static bool
has_before(const struct reclaim_order *order)
{
    const struct reclaim_rank *rank = order->ranks;
    struct reclaim_front best;

    if (order->front_count == 0 || order->count == 0)
        return order->front_count > 0;
    best = (struct reclaim_front){ .kind = rank->kind,
                                   .over = rank->over,
                                   .priority = rank->priority,
                                   .lost = rank->lost,
                                   .seq = rank->seq };
    return comes_first(&order->fronts[0], &best);
}

static void
come_up(struct reclaim_order *order)
{
    while (has_before(order)) {
        struct reclaim_front front = pop_front(order);
        uint32_t shelf = front.heap->shelves[front.at];

        push_front(order, front.heap, 2 * front.at + 1);
        push_front(order, front.heap, 2 * front.at + 2);
        if (!ref_equal(reclaim_index_shelf(order->estate, shelf)->tenant,
                       order->workload->object.scope))
            add_shelf(order, shelf);
    }
}

/* --- the order --- */

void
reclaim_order_init(struct reclaim_order *order, struct estate *estate,
                   const struct workload *workload,
                   const struct demand *demand, struct ref pool,
                   struct arena *arena)
{
    const struct world *world = estate->world;
    const struct priority *priority =
        world_priority(world, workload->priority);
    const struct platform *platform =
        world_platform(world, world_platform_ref(world));

    *order = (struct reclaim_order){ .estate = estate,
                                     .workload = workload,
                                     .demand = demand,
                                     .pool = pool,
                                     .arena = arena,
                                     .first = ESTATE_NONE };
    order->priority = priority != NULL ? priority->value : 0;
    order->across = priority != NULL && priority->preempt_across;
    order->min_run_ms = platform != NULL ? platform->min_run_ms : 0;
    order->owner = owns(world, pool, workload->object.scope);
    order->abroad = order->across || order->owner ||
                    right_across(order, world_platform_ref(world))->may;
    (void)reclaim_index_settle(estate);
}

void
reclaim_order_begin(struct reclaim_order *order)
{
    const struct estate *estate = order->estate;
    const struct reclaim_heap *heaps;
    size_t count;

    for (uint32_t at =
             reclaim_index_first(estate, order->workload->object.scope);
         at != ESTATE_NONE; at = reclaim_index_shelf(estate, at)->next)
        add_shelf(order, at);
    heaps = reclaim_index_heaps(estate, order->pool, &count);
    for (size_t i = 0; order->abroad && i < count; i++)
        push_front(order, &heaps[i], 0);
}

void
reclaim_order_loans(struct reclaim_order *order, const uint32_t *runs,
                    size_t count)
{
    const struct estate *estate = order->estate;

    for (size_t i = 0; i < count; i++) {
        const struct run *run = &estate->runs[runs[i]];
        struct reclaim_rank rank = { .shelf = run->shelf,
                                     .runs = &runs[i],
                                     .left = 1,
                                     .rule = RECLAIM_LOAN };

        if (run->shelf == ESTATE_NONE)
            continue;
        rank.ancestor =
            quota_ancestor(estate->world, order->demand->project,
                           run->demand.project);
        add_rank(order, &rank);
    }
}

/* Do their nodes keep their guarantees when one more is released? */
static bool
may_release(const struct reclaim_order *order,
            const struct reclaim_rank *rank)
{
    return rank->rule == RECLAIM_OWNER ||
           quota_release_allowed(order->estate->world,
                                 demand_of(order, rank), rank->ancestor,
                                 &order->estate->leaving);
}

static bool
is_named(const struct reclaim_order *order, uint32_t surplus)
{
    for (size_t i = 0; i < order->surplus_count; i++)
        if (order->surplus[i] == surplus)
            return true;
    return false;
}

/* Has the gang surplus that could be named, but for the guarantees?  It goes
 * before the gang: what was not named by now never is. */
static bool
has_surplus(const struct reclaim_order *order, const struct reclaim_rank *rank)
{
    const struct run *runs = order->estate->runs;
    const struct run *gang = &runs[rank->runs[rank->left - 1]];

    if (gang->surplus)
        return false;
    for (uint32_t at = gang->next_surplus; at != ESTATE_NONE;
         at = runs[at].next_surplus)
        if (runs[at].shelf != ESTATE_NONE && !is_named(order, at))
            return true;
    return false;
}

static void
go_on(struct reclaim_order *order)
{
    order->ranks[0].left--;
    if (find_best(order, &order->ranks[0]))
        sift_down(order, 0);
    else
        pop(order);
}

/* Remembers the best one of a shelf that was passed. */
static void
bar(struct reclaim_order *order, const struct reclaim_rank *rank)
{
    if (order->round > 0 && order->barred_count < RECLAIM_BARRED_MAX)
        order->barred[order->barred_count++] = rank->runs[rank->left - 1];
}

static void
fill(struct reclaim_order *order, const struct reclaim_rank *rank,
     struct reclaim_victim *victim)
{
    *victim = (struct reclaim_victim){ .run = rank->runs[rank->left - 1],
                                       .rule = rank->rule,
                                       .over = rank->above,
                                       .claim = rank->claim,
                                       .lost_work = rank->lost };
    if (order->estate->runs[victim->run].surplus) {
        order->surplus =
            room_for(order, order->surplus, &order->surplus_room,
                     order->surplus_count, sizeof(*order->surplus));
        order->surplus[order->surplus_count++] = victim->run;
    }
    order->round++;
}

static void
name(struct reclaim_order *order, struct reclaim_victim *victim)
{
    fill(order, &order->ranks[0], victim);
    go_on(order);
}

void
reclaim_order_first(struct reclaim_order *order, uint32_t run)
{
    order->first = run;
}

/* By itself, whatever is better; the ranks come up without it. */
static bool
name_first(struct reclaim_order *order, struct reclaim_victim *victim)
{
    const struct estate *estate = order->estate;
    struct reclaim_rank rank = { .shelf = estate->runs[order->first].shelf,
                                 .runs = &order->first,
                                 .left = 1 };

    if (rank.shelf == ESTATE_NONE)
        return false;
    rank.ancestor =
        quota_ancestor(estate->world, order->demand->project,
                       estate->runs[order->first].demand.project);
    if (!find_rule(order, estate->runs[order->first].tenant,
                   estate->runs[order->first].priority, &rank) ||
        !find_best(order, &rank))
        return false;
    (void)look_over(order, &rank);
    if (!may_release(order, &rank) || has_surplus(order, &rank))
        return false;
    fill(order, &rank, victim);
    return true;
}

/* What was named makes nodes less over their guarantee, never more: whoever is
 * first by what was known before and still is by what is now, is first. */
bool
reclaim_order_next(struct reclaim_order *order,
                   struct reclaim_victim *victim_out)
{
    if (order->round == 0 && order->first != ESTATE_NONE)
        return name_first(order, victim_out);
    for (;;) {
        come_up(order);
        if (order->count == 0)
            return false;
        if (is_passed(order, &order->ranks[0],
                      order->ranks[0].runs[order->ranks[0].left - 1])) {
            go_on(order);
            continue;
        }
        if (order->ranks[0].round != order->round &&
            look_over(order, &order->ranks[0])) {
            sift_down(order, 0);
        } else if (!may_release(order, &order->ranks[0])) {
            bar(order, &order->ranks[0]);
            pop(order); /* nor later */
        } else if (has_surplus(order, &order->ranks[0])) {
            go_on(order);
        } else {
            name(order, victim_out);
            return true;
        }
    }
}

int64_t
reclaim_order_spared_ms(struct reclaim_order *order)
{
    const struct estate *estate = order->estate;
    const uint32_t *runs;
    size_t count, at = reclaim_index_young(
                      estate, estate->now_ms - order->min_run_ms, &runs,
                      &count);

    for (; at < count; at++) {
        const struct run *run = &estate->runs[runs[at]];

        if (run->priority < order->priority &&
            (order->across ||
             ref_equal(run->tenant, order->workload->object.scope)))
            return run->young_ms + order->min_run_ms;
    }
    return 0;
}
