/* SPDX-License-Identifier: Apache-2.0 */
#include "core/reclaim_order.h"

#include <string.h>

const char *
reclaim_rule_text(enum reclaim_rule rule)
{
    static const char *const names[] = { "guarantee", "priority", "across",
                                         "loan", "owner" };

    return names[rule];
}

bool
reclaim_is_claimant(const struct estate *estate, const struct demand *demand)
{
    struct claim claim;

    for (struct ref node = demand->project; !ref_is_none(node);
         node = world_parent(estate->world, node))
        if (quota_may_reclaim(estate->world, demand, &estate->promised,
                              world_parent(estate->world, node), &claim))
            return true;
    return false;
}

/* What one search looks at. */
struct search {
    struct estate *estate;
    const struct workload *workload;
    const struct demand *demand;
    const struct place_request *request;
    struct arena *arena;
    struct reclaim_order order;
    /* Releases under way, the victims', what is promised to others: the
     * estate's own, or a copy with what is booked. */
    struct ledger *balance, booked;
    struct reclaim_victim *victims; /* in their order */
    size_t count, room;
    size_t stopped; /* the first of them are counted as stopped */
};

/* --- the set --- */

/* Counts a victim as stopped (sign 1), or as running again. */
static void
count_victim(struct search *search, const struct reclaim_victim *victim,
             int sign)
{
    struct run *run = &search->estate->runs[victim->run];
    const struct world *world = search->estate->world;

    run->demand.now_ms = search->estate->now_ms;
    estate_gain(search->estate, run, sign);
    quota_charge(world, &run->demand, &search->estate->leaving, -sign);
    quota_charge(world, &run->demand, search->balance, -sign);
}

/* Counts the first victims as stopped and no others. */
static void
stop_first(struct search *search, size_t count)
{
    while (search->stopped < count)
        count_victim(search, &search->victims[search->stopped++], 1);
    while (search->stopped > count)
        count_victim(search, &search->victims[--search->stopped], -1);
}

/* Limits, guarantee and cards, with all that is counted as stopped. */
static bool
fits(const struct search *search, struct placement *placement)
{
    const struct estate *estate = search->estate;
    struct verdict ignored;

    return quota_fits(estate->world, search->demand, search->balance,
                      estate->now_ms, &ignored) &&
           (search->workload->preemptible ||
            quota_fits_guarantee(estate->world, search->demand,
                                 search->balance, &ignored)) &&
           place_find(estate, search->request, PLACE_FUTURE, search->arena,
                      placement, NULL);
}

/* Names victims in their order until there are so many, and counts them as
 * stopped; false when there are no more. */
static bool
name_until(struct search *search, size_t count)
{
    while (search->count < count) {
        if (search->count == search->room) {
            size_t room = search->room > 0 ? search->room * 2 : 16;
            struct reclaim_victim *list =
                arena_alloc(search->arena, room * sizeof(*list));

            if (search->count > 0)
                memcpy(list, search->victims, search->count * sizeof(*list));
            search->victims = list;
            search->room = room;
        }
        if (!reclaim_order_next(&search->order,
                                &search->victims[search->count]))
            return false;
        stop_first(search, ++search->count);
    }
    return true;
}

/* The fewest of them in their order with which it fits: fewer do not, more do.
 */
static void
narrow(struct search *search, size_t fewer, struct placement *placement)
{
    struct placement other;

    while (search->count - fewer > 1) {
        size_t middle = fewer + (search->count - fewer) / 2;

        stop_first(search, middle);
        if (fits(search, &other)) {
            *placement = other;
            search->count = middle;
        } else {
            fewer = middle;
        }
    }
    stop_first(search, search->count);
}

/* Names victims in their order until the request fits; false when it never
 * does.  Whoever is stopped takes no place away, so it is not asked after each
 * of many. */
static bool
name_victims(struct search *search, struct placement *placement)
{
    for (size_t count = 1;; count *= 2) {
        size_t before = search->count;
        bool more = name_until(search, count);

        if (search->count == before ||
            budget_is_late(search->estate->budget))
            return false;
        if (fits(search, placement)) {
            narrow(search, before, placement);
            return true;
        }
        if (!more)
            return false;
    }
}

/* --- it is minimal --- */

/* Counts the victims from first to below end as running, or as stopped. */
static void
count_some(struct search *search, size_t first, size_t end, int sign)
{
    for (size_t i = first; i < end; i++)
        count_victim(search, &search->victims[i], sign);
}

/* Does it go with its gang, which is among those that are needed? */
static bool
goes_anyhow(const struct search *search, size_t at, size_t needed)
{
    const struct run *runs = search->estate->runs;
    const struct run *run = &runs[search->victims[at].run];

    if (!run->surplus)
        return false;
    for (size_t i = needed; i < search->count; i++) {
        const struct run *other = &runs[search->victims[i].run];

        if (!other->surplus && ref_equal(other->workload, run->workload))
            return true;
    }
    return false;
}

/* As far down as next, those that go anyhow aside. */
static size_t
reach(const struct search *search, size_t next, size_t out, size_t needed)
{
    while (out > next && !goes_anyhow(search, out - 1, needed))
        out--;
    return out;
}

/* The first of those below end that can be left out together: each one from
 * there on is then not needed.  They are counted as running. */
static size_t
leave_last(struct search *search, size_t end, struct placement *placement)
{
    size_t out = end, step = 1; /* from out on they are left out */
    struct placement other;

    while (step > 0 && out > 0) {
        size_t next =
            reach(search, out > step ? out - step : 0, out, end);

        if (next == out)
            break;
        count_some(search, next, out, -1);
        if (fits(search, &other)) {
            *placement = other;
            out = next;
            step *= 2;
        } else {
            count_some(search, next, out, 1);
            step = (out - next) / 2;
        }
    }
    return out;
}

/* Leaves out every victim without which the request fits too, the last named
 * (the least fit as a victim) first.  Without the very last it does not. */
static void
leave_out(struct search *search, struct placement *placement)
{
    size_t end = search->count - 1; /* those from here on are needed */

    while (end > 0 && !budget_is_late(search->estate->budget)) {
        size_t first = leave_last(search, end, placement);

        memmove(&search->victims[first], &search->victims[end],
                (search->count - end) * sizeof(*search->victims));
        search->count -= end - first;
        end = first > 0 ? first - 1 : 0;
    }
    search->stopped = search->count;
}

/* --- questions --- */

/* Is the order of victims known?  If not, it is asked again. */
static bool
is_ready(struct estate *estate)
{
    if (reclaim_index_settle(estate))
        return true;
    budget_set_late(estate->budget);
    return false;
}

static void
search_init(struct search *search, struct estate *estate,
            const struct workload *workload, const struct demand *demand,
            const struct place_request *request,
            const struct booking_bars *bars, struct arena *arena)
{
    *search = (struct search){ .estate = estate,
                               .workload = workload,
                               .demand = demand,
                               .request = request,
                               .arena = arena,
                               .balance = &estate->balance };
    if (bars->count > 0) {
        ledger_copy(&search->booked, &estate->balance, arena);
        booking_charge(estate, bars, UINT64_MAX, &search->booked);
        search->balance = &search->booked;
    }
    reclaim_order_init(&search->order, estate, workload, demand,
                       request->pool, arena);
}

/* A minimal set of victims, in their order, and the place. */
static bool
choose_set(struct search *search, struct reclaim_plan *plan_out)
{
    struct placement placement;
    bool found = name_victims(search, &placement);

    if (found)
        leave_out(search, &placement);
    stop_first(search, 0);
    if (!found)
        return false;
    *plan_out = (struct reclaim_plan){ .victims = search->victims,
                                       .count = search->count,
                                       .placement = placement };
    return true;
}

/* Those that come first may be of no use and yet bring a node down to its
 * guarantee, so that another of it has to stay whose place would do: once more,
 * with that one before all others. */
static bool
choose_other(struct search *search, struct reclaim_plan *plan_out)
{
    struct reclaim_order seen = search->order;

    for (size_t i = 0; i < seen.barred_count &&
                       !budget_is_late(search->estate->budget);
         i++) {
        search->count = 0;
        reclaim_order_init(&search->order, search->estate, search->workload,
                           search->demand, search->request->pool,
                           search->arena);
        reclaim_order_begin(&search->order);
        reclaim_order_first(&search->order, seen.barred[i]);
        if (choose_set(search, plan_out))
            return true;
    }
    return false;
}

/* Victims, when there are any that help.  Where one was barred by what others
 * leave of a guarantee, it may be another matter when one of those is gone. */
static bool
choose(struct search *search, struct reclaim_plan *plan_out,
       struct outlook *outlook)
{
    if (choose_set(search, plan_out))
        return true;
    outlook->kin |= search->order.barred_count > 0;
    outlook->abroad |= search->order.barred_count > 0 && search->order.abroad;
    return choose_other(search, plan_out);
}

bool
reclaim_find(struct estate *estate, const struct workload *workload,
             const struct demand *demand,
             const struct place_request *request,
             const struct booking_bars *bars, struct arena *arena,
             struct reclaim_plan *plan_out, struct outlook *outlook)
{
    struct placement placement;
    struct search search;
    int64_t spared_ms;

    if (!is_ready(estate))
        return false;
    search_init(&search, estate, workload, demand, request, bars, arena);
    reclaim_order_begin(&search.order);
    outlook->rivals |= search.order.abroad;
    /* More use around a candidate may let its nodes spare it. */
    outlook->claims |= search.order.count > 0 || search.order.abroad ||
                       reclaim_is_claimant(estate, demand);
    if (search.order.count + search.order.front_count > 0 &&
        !fits(&search, &placement) && choose(&search, plan_out, outlook))
        return true;
    spared_ms = reclaim_order_spared_ms(&search.order);
    if (spared_ms > 0 &&
        (outlook->due_ms == 0 || spared_ms < outlook->due_ms))
        outlook->due_ms = spared_ms;
    return false;
}

bool
reclaim_loans(struct estate *estate, const struct workload *workload,
              const struct demand *demand,
              const struct place_request *request,
              const struct booking_bars *bars, const uint32_t *runs,
              size_t count, struct arena *arena,
              struct reclaim_plan *plan_out)
{
    struct placement placement;
    struct search search;

    if (!is_ready(estate))
        return false;
    search_init(&search, estate, workload, demand, request, bars, arena);
    reclaim_order_loans(&search.order, runs, count);
    return search.order.count > 0 && !fits(&search, &placement) &&
           choose_set(&search, plan_out);
}
