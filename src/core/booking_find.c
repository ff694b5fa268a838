/* SPDX-License-Identifier: Apache-2.0 */
#include "core/booking.h"
#include "core/lifecycle.h"
#include "core/maintenance.h"
#include "core/timeline.h"
#include "core/usage.h"

/* Where and when?  See booking.h. */

/* Live work in the order in which it is expected to end. */
struct ending {
    int64_t end_ms; /* TIMELINE_OPEN: unknown */
    int64_t started_ms;
    uint64_t seq;
    uint32_t run;
};

struct search {
    struct estate *estate;
    const struct booking_ask *ask;
    struct arena *arena;
    struct ledger balance; /* promised, and releases under way */
    /* The first `sorted` in order; the rest is a heap, the next one on top. */
    struct ending *endings;
    size_t count, sorted;
    int64_t given_back_ms; /* releases under way are over by then */
};

/* Of two without an end the one that has run longer is expected first. */
static bool
ends_before(const struct ending *a, const struct ending *b)
{
    if (a->end_ms != b->end_ms)
        return a->end_ms < b->end_ms;
    if (a->started_ms != b->started_ms)
        return a->started_ms < b->started_ms;
    return a->seq < b->seq;
}

/* The rest lies at the end of the array, backwards: its n-th entry, 0 the
 * top. */
static struct ending *
rest_at(const struct search *search, size_t n)
{
    return &search->endings[search->count - 1 - n];
}

static void
sift_down(const struct search *search, size_t at, size_t size,
          struct ending ending)
{
    for (;;) {
        size_t child = 2 * at + 1;

        if (child >= size)
            break;
        if (child + 1 < size &&
            ends_before(rest_at(search, child + 1), rest_at(search, child)))
            child++;
        if (!ends_before(rest_at(search, child), &ending))
            break;
        *rest_at(search, at) = *rest_at(search, child);
        at = child;
    }
    *rest_at(search, at) = ending;
}

/* Puts the first `count` in order: mostly a few of very many. */
static void
sort_first(struct search *search, size_t count)
{
    while (search->sorted < count) {
        size_t size = search->count - search->sorted;
        struct ending top = *rest_at(search, 0);
        struct ending last = *rest_at(search, size - 1);

        if (size > 1)
            sift_down(search, 0, size - 1, last);
        search->endings[search->sorted++] = top;
    }
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

/* Most of very many is known to its run. */
static bool
is_known(const struct run *run)
{
    return run->started_ms > 0 && !run->leaving && !run->surplus;
}

/* When a run is expected to end; false when it is no ending. */
static bool
ending_of(struct search *search, const struct run *run, struct ending *ending)
{
    const struct estate *estate = search->estate;
    const struct workload *workload;

    if (is_known(run)) {
        if (run->count == 0)
            return false;
        ending->end_ms = run->end_ms > estate->now_ms
                             ? run->end_ms
                             : timeline_round_up(estate->now_ms + 1);
        ending->started_ms = run->started_ms;
        ending->seq = run->seq;
        return true;
    }
    workload = world_workload(estate->world, run->workload);
    if (workload == NULL || note_leaving(search, workload) || run->leaving ||
        run->count == 0)
        return false;
    ending->end_ms =
        booking_run_end_ms(estate->world, workload, estate->now_ms);
    ending->started_ms = workload->started_ms;
    ending->seq = workload->object.seq;
    return true;
}

static void
list_endings(struct search *search)
{
    const struct estate *estate = search->estate;

    search->endings = arena_alloc(search->arena, (estate->run_count + 1) *
                                                     sizeof(struct ending));
    for (size_t i = 0; i < estate->run_count; i++) {
        struct ending ending = { .run = (uint32_t)i };

        if (ending_of(search, &estate->runs[i], &ending))
            search->endings[search->count++] = ending;
    }
    for (size_t i = search->count / 2; i > 0; i--)
        sift_down(search, i - 1, search->count, *rest_at(search, i - 1));
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
end_first(struct search *search, size_t count, int sign,
          struct ledger *ledger)
{
    for (size_t i = 0; i < count; i++) {
        const struct run *run =
            &search->estate->runs[search->endings[i].run];

        estate_gain(search->estate, run, sign);
        if (ledger != NULL)
            quota_charge(search->estate->world, &run->demand, ledger, -sign);
    }
}

/* Does it fit once the first `count` have ended?  placement NULL: by quota
 * alone. */
static bool
fits_after(struct search *search, size_t count, struct placement *placement)
{
    struct ledger ledger;
    bool fits;

    sort_first(search, count);
    ledger_copy(&ledger, &search->balance, search->arena);
    end_first(search, count, 1, &ledger);
    fits = quota_has_room(search, &ledger) &&
           (placement == NULL ||
            place_find(search->estate, search->ask->request, PLACE_FUTURE,
                       search->arena, placement, NULL));
    end_first(search, count, -1, NULL);
    return fits;
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

bool
booking_find(struct estate *estate, const struct booking_ask *ask,
             struct arena *arena, struct booking_plan *plan_out)
{
    const struct world *world = estate->world;
    struct place_request request = *ask->request;
    struct booking_ask own = *ask;
    struct search search = { .estate = estate, .ask = &own, .arena = arena };
    int64_t span_ms = maintenance_span_ms(world, ask->workload);

    own.request = &request;
    ledger_copy(&search.balance, ask->promised, arena);
    ledger_merge(&search.balance, &estate->leaving);
    list_endings(&search);
    for (int i = 0; i < TRIES_MAX; i++) {
        int64_t end_ms;

        if (!find_once(&search, plan_out))
            return false;
        end_ms = timeline_after(plan_out->from_ms, span_ms);
        if (plan_out->from_ms == 0 ||
            !meets_maintenance(&search, plan_out, end_ms))
            return true;
        request.ends_ms[PLACE_FUTURE] = request.loans_ms[PLACE_FUTURE] =
            maintenance_round(world, end_ms);
    }
    return false;
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
