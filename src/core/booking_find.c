/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/booking.h"
#include "core/ends.h"
#include "core/lifecycle.h"
#include "core/maintenance.h"
#include "core/timeline.h"
#include "core/usage.h"

/* Where and when?  See booking.h. */

struct search {
    struct estate *estate;
    const struct booking_ask *ask;
    struct arena *arena;
    struct ledger balance; /* promised, releases under way, those that ended */
    /* Live work in the order in which it is expected to end, as far as it was
     * asked for. */
    struct ending *endings;
    size_t sorted, room;
    size_t ended; /* the first of them are counted as over */
    size_t count; /* of all that may end */
    /* Where the next ones are: a heap of those that had to be asked for, and
     * places in the heap of the estate, itself a heap. */
    struct ending *asked;
    size_t asked_count, asked_room;
    size_t *fronts;
    size_t front_count, front_room;
    int64_t given_back_ms; /* releases under way are over by then */
};

static void *
room_for(const struct search *search, void *list, size_t *room, size_t count,
         size_t size)
{
    size_t larger = *room > 0 ? *room * 2 : 16;
    void *copy;

    if (count < *room)
        return list;
    copy = arena_alloc(search->arena, larger * size);
    if (*room > 0)
        memcpy(copy, list, *room * size);
    *room = larger;
    return copy;
}

static void
push_asked(struct search *search, const struct ending *ending)
{
    size_t at = search->asked_count;

    search->asked = room_for(search, search->asked, &search->asked_room, at,
                             sizeof(*search->asked));
    search->asked_count++;
    for (; at > 0 && ends_before(ending, &search->asked[(at - 1) / 2]);
         at = (at - 1) / 2)
        search->asked[at] = search->asked[(at - 1) / 2];
    search->asked[at] = *ending;
}

static struct ending
pop_asked(struct search *search)
{
    struct ending first = search->asked[0];
    struct ending last = search->asked[--search->asked_count];
    size_t at = 0;

    for (;;) {
        size_t child = 2 * at + 1;

        if (child >= search->asked_count)
            break;
        if (child + 1 < search->asked_count &&
            ends_before(&search->asked[child + 1], &search->asked[child]))
            child++;
        if (!ends_before(&search->asked[child], &last))
            break;
        search->asked[at] = search->asked[child];
        at = child;
    }
    search->asked[at] = last;
    return first;
}

static const struct ending *
heap_at(const struct search *search, size_t at)
{
    size_t count;

    return &ends_heap(search->estate, &count)[at];
}

static void
push_front(struct search *search, size_t place)
{
    size_t at = search->front_count, count;

    (void)ends_heap(search->estate, &count);
    if (place >= count)
        return;
    search->fronts = room_for(search, search->fronts, &search->front_room, at,
                              sizeof(*search->fronts));
    search->front_count++;
    for (; at > 0 && ends_before(heap_at(search, place),
                                 heap_at(search,
                                         search->fronts[(at - 1) / 2]));
         at = (at - 1) / 2)
        search->fronts[at] = search->fronts[(at - 1) / 2];
    search->fronts[at] = place;
}

static size_t
pop_front(struct search *search)
{
    size_t first = search->fronts[0];
    size_t last = search->fronts[--search->front_count], at = 0;

#define GOES_BEFORE(a, b) ends_before(heap_at(search, a), heap_at(search, b))
    for (;;) {
        size_t child = 2 * at + 1;

        if (child >= search->front_count)
            break;
        if (child + 1 < search->front_count &&
            GOES_BEFORE(search->fronts[child + 1], search->fronts[child]))
            child++;
        if (!GOES_BEFORE(search->fronts[child], last))
            break;
        search->fronts[at] = search->fronts[child];
        at = child;
    }
#undef GOES_BEFORE
    search->fronts[at] = last;
    return first;
}

/* True for a workload that is giving back already. */
static bool
note_leaving(struct search *search, const struct workload *workload)
{
    int64_t last_ms = 0;

    if (workload->state != WORKLOAD_PREEMPTING &&
        workload->state != WORKLOAD_CANCELLING)
        return false;
    last_ms = timeline_round_up(
        workload->state_ms +
        lifecycle_grace(search->estate->world, workload) + BOOKING_SLACK_MS);
    if (last_ms > search->given_back_ms)
        search->given_back_ms = last_ms;
    return true;
}

/* Of a run that has not started, is leaving, or is surplus. */
static void
ask_run(struct search *search, uint32_t number)
{
    const struct estate *estate = search->estate;
    const struct run *run = &estate->runs[number];
    const struct workload *workload =
        world_workload(estate->world, run->workload);
    struct ending ending = { .run = number };

    if (workload == NULL || note_leaving(search, workload) || run->leaving ||
        run->count == 0)
        return;
    ending.end_ms =
        booking_run_end_ms(estate->world, workload, estate->now_ms);
    ending.started_ms = workload->started_ms;
    ending.seq = workload->object.seq;
    ending.part = run->surplus ? run->seq : 0;
    push_asked(search, &ending);
}

/* What is over its time is expected to end next, with others that do. */
static void
ask_overdue(struct search *search)
{
    int64_t next_ms = timeline_round_up(search->estate->now_ms + 1);

    push_front(search, 0);
    while (search->front_count > 0 &&
           heap_at(search, search->fronts[0])->end_ms <= next_ms) {
        size_t place = pop_front(search);
        struct ending ending = *heap_at(search, place);

        if (ending.end_ms <= search->estate->now_ms)
            ending.end_ms = next_ms;
        push_asked(search, &ending);
        push_front(search, 2 * place + 1);
        push_front(search, 2 * place + 2);
    }
}

static void
list_endings(struct search *search)
{
    size_t others, overdue;
    const uint32_t *list = ends_others(search->estate, &others);

    for (size_t i = 0; i < others; i++)
        ask_run(search, list[i]);
    others = search->asked_count;
    ask_overdue(search);
    (void)ends_heap(search->estate, &overdue);
    search->count = others + overdue;
}

static struct ending
next_ending(struct search *search)
{
    size_t place;

    if (search->front_count == 0 ||
        (search->asked_count > 0 &&
         ends_before(&search->asked[0],
                     heap_at(search, search->fronts[0]))))
        return pop_asked(search);
    place = pop_front(search);
    push_front(search, 2 * place + 1);
    push_front(search, 2 * place + 2);
    return *heap_at(search, place);
}

/* Puts the first `count` in order: mostly a few of very many. */
static void
sort_first(struct search *search, size_t count)
{
    while (search->sorted < count) {
        search->endings =
            room_for(search, search->endings, &search->room, search->sorted,
                     sizeof(*search->endings));
        search->endings[search->sorted++] = next_ending(search);
    }
}

static bool
quota_has_room(const struct search *search, const struct ledger *ledger)
{
    const struct booking_ask *ask = search->ask;
    const struct world *world = search->estate->world;
    struct verdict ignored;

    return quota_fits(world, ask->demand, ledger, search->estate->now_ms,
                      &ignored) &&
           (ask->workload->preemptible ||
            quota_fits_guarantee(world, ask->demand, ledger, &ignored));
}

static void
end_one(struct search *search, size_t at, int sign)
{
    const struct estate *estate = search->estate;
    const struct run *run = &estate->runs[search->endings[at].run];

    estate_gain(search->estate, run, sign);
    quota_charge(estate->world, &run->demand, &search->balance, -sign);
}

/* Counts the first `count` as over and no others. */
static void
end_first(struct search *search, size_t count)
{
    sort_first(search, count);
    while (search->ended < count)
        end_one(search, search->ended++, 1);
    while (search->ended > count)
        end_one(search, --search->ended, -1);
}

/* Does it fit once the first `count` have ended?  placement NULL: by quota
 * alone. */
static bool
fits_after(struct search *search, size_t count, struct placement *placement)
{
    end_first(search, count);
    return quota_has_room(search, &search->balance) &&
           (placement == NULL ||
            place_find(search->estate, search->ask->request, PLACE_FUTURE,
                       search->arena, placement, NULL));
}

/* The fewest ends that it takes; SIZE_MAX when all are not enough.  What is
 * free only grows with them. */
static size_t
fewest_ends(struct search *search, struct placement *placement)
{
    size_t low = 0, high = 0;

    while (!fits_after(search, high, placement)) {
        if (high == search->count ||
            budget_is_late(search->estate->budget))
            return SIZE_MAX;
        low = high + 1;
        high = 2 * high + 1 < search->count ? 2 * high + 1 : search->count;
    }
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (fits_after(search, middle, placement))
            high = middle;
        else
            low = middle + 1;
    }
    return fits_after(search, low, placement) ? low : SIZE_MAX;
}

static int64_t
time_of(const struct search *search, size_t ends)
{
    int64_t end_ms =
        ends > 0 ? search->endings[ends - 1].end_ms : search->estate->now_ms;

    if (end_ms == TIMELINE_OPEN)
        return 0;
    return end_ms > search->given_back_ms ? end_ms : search->given_back_ms;
}

/* Does work of that span that starts there run into a planned maintenance? */
static bool
meets_maintenance(const struct search *search,
                  const struct booking_plan *plan, int64_t end_ms)
{
    for (size_t i = 0; i < plan->placement.count; i++) {
        const struct site *site =
            &search->estate->sites[plan->placement.seats[i].site];

        if (end_ms > site->stops_ms[0] || end_ms > site->stops_ms[1])
            return true;
    }
    return false;
}

static bool
find_once(struct search *search, struct booking_plan *plan)
{
    struct placement placement = { 0 };
    size_t ends = fewest_ends(search, &placement);

    *plan = (struct booking_plan){ .pool = search->ask->demand->pool };
    if (ends != SIZE_MAX) {
        plan->from_ms = time_of(search, ends);
        plan->placement = placement;
    }
    /* What its own limits hold back keeps no cards from others. */
    if (!search->ask->open && plan->from_ms == 0) {
        plan->placement = (struct placement){ 0 };
        return fits_after(search, search->count, NULL);
    }
    return ends != SIZE_MAX;
}

/* The later it starts, the more nodes have a maintenance in its way: those are
 * left out and it is looked again. */
#define TRIES_MAX 4

static bool
find(struct search *search, struct place_request *request,
     struct booking_plan *plan_out)
{
    const struct world *world = search->estate->world;
    int64_t span_ms = maintenance_span_ms(world, search->ask->workload);

    for (int i = 0; i < TRIES_MAX; i++) {
        int64_t end_ms;

        if (!find_once(search, plan_out))
            return false;
        end_ms = timeline_after(plan_out->from_ms, span_ms);
        if (plan_out->from_ms == 0 ||
            !meets_maintenance(search, plan_out, end_ms))
            return true;
        request->ends_ms[PLACE_FUTURE] = request->loans_ms[PLACE_FUTURE] =
            maintenance_round(world, end_ms);
    }
    return false;
}

bool
booking_find(struct estate *estate, const struct booking_ask *ask,
             struct arena *arena, struct booking_plan *plan_out)
{
    struct place_request request = *ask->request;
    struct booking_ask own = *ask;
    struct search search = { .estate = estate, .ask = &own, .arena = arena };
    bool found;

    if (!ends_settle(estate)) {
        budget_set_late(estate->budget);
        return false;
    }
    own.request = &request;
    ledger_copy(&search.balance, ask->promised, arena);
    ledger_merge(&search.balance, &estate->leaving);
    list_endings(&search);
    found = find(&search, &request, plan_out);
    end_first(&search, 0);
    return found;
}

/* --- room, and the objects --- */

bool
booking_has_room(const struct world *world, const struct workload *workload,
                 struct ref pool)
{
    size_t there = 0, own = 0;

    world_each(world, KIND_BOOKING, ref) {
        struct ref owner = world_parent(world, ref);

        if (owner.kind != KIND_WORKLOAD ||
            !ref_equal(ref, world_first_child(world, KIND_BOOKING, owner)) ||
            ref_equal(owner, workload->object.self))
            continue;
        there += ref_equal(world_booking(world, ref)->pool, pool);
        own += ref_equal(world_object(world, ref)->scope,
                         workload->object.scope);
    }
    return there < BOOKING_POOL_MAX && own < BOOKING_TENANT_MAX;
}

static struct booking *
add(struct changes *changes, const struct workload *workload,
    const struct booking_plan *plan)
{
    struct booking *booking = change_create(changes, KIND_BOOKING,
                                            workload->object.self, "");

    booking->pool = plan->pool;
    booking->from_ms = plan->from_ms;
    return booking;
}

void
booking_put(const struct estate *estate, struct changes *changes,
            const struct workload *workload, const struct class *class,
            const struct booking_plan *plan)
{
    const struct placement *placement = &plan->placement;
    struct workload *booked;

    lifecycle_drop_holds(changes, workload->object.self);
    booked = change_update(changes, workload->object.self);
    booked->booked_ms = plan->from_ms;
    booked->class = class->object.self;
    if (placement->count == 0)
        (void)add(changes, workload, plan);
    for (size_t i = 0; i < placement->count; i++)
        for (size_t k = 0; k < placement->seats[i].part_count; k++) {
            const struct seat *seat = &placement->seats[i];
            const struct part *part = &estate->parts[seat->parts[k]];
            struct booking *booking;

            usage_cut(changes, part->card);
            booking = add(changes, workload, plan);
            booking->card = part->card;
            booking->milli = seat->milli;
            booking->memory_mib = place_memory(class, part);
        }
}
