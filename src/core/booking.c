/* SPDX-License-Identifier: Apache-2.0 */
#include "core/booking.h"

#include "core/alternative.h"
#include "core/card_health.h"
#include "core/lifecycle.h"
#include "core/reservation.h"
#include "core/timeline.h"

/* Ends are rounded up to whole minutes. */
#define ROUND_MS INT64_C(60000)

/* The first booking of an owner tells the time of all. */
static const struct booking *
first_of(const struct world *world, struct ref owner)
{
    return world_booking(world,
                         world_first_child(world, KIND_BOOKING, owner));
}

bool
booking_has(const struct world *world, struct ref owner)
{
    return first_of(world, owner) != NULL;
}

bool
booking_has_place(const struct world *world, struct ref owner)
{
    const struct booking *first = first_of(world, owner);

    return first != NULL && !ref_is_none(first->card);
}

/* --- times --- */

int64_t
booking_end_ms(const struct world *world, const struct workload *workload,
               int64_t start_ms)
{
    int64_t end_ms;

    if (workload->max_run_ms == 0)
        return TIMELINE_OPEN;
    end_ms = timeline_after(start_ms, workload->max_run_ms);
    end_ms = timeline_after(end_ms, lifecycle_grace(world, workload));
    return timeline_round_up(timeline_after(end_ms, BOOKING_SLACK_MS));
}

int64_t
booking_run_end_ms(const struct world *world, const struct workload *workload,
                   int64_t now_ms)
{
    int64_t end_ms = booking_end_ms(
        world, workload,
        workload->started_ms > 0 ? workload->started_ms : now_ms);

    return end_ms > now_ms ? end_ms : timeline_round_up(now_ms + 1);
}

static const struct platform *
platform_of(const struct world *world)
{
    return world_platform(world, world_platform_ref(world));
}

int64_t
booking_due_ms(const struct world *world, const struct workload *workload)
{
    const struct platform *platform = platform_of(world);

    if (platform->bypass_max > 0 &&
        workload->bypassed >= platform->bypass_max)
        return 0;
    return platform->bypass_ms > 0
               ? timeline_after(workload->waiting_ms, platform->bypass_ms)
               : TIMELINE_NEVER;
}

/* --- who is in whose way --- */

/* Whoever wants to start, and what counts for all bookings alike. */
struct asker {
    const struct world *world;
    const struct workload *workload;
    int64_t now_ms;
    int64_t right, priority;
    bool across;
    bool borrows;       /* what a reservation that is open lends */
    int64_t end_ms;     /* if it started then */
    int64_t lend_to_ms; /* nothing that begins before lends to it */
    uint64_t booked;    /* seq of its own booking, 0: none */
    uint64_t nominated; /* and of its first hold */
};

static void
rank_of(const struct world *world, const struct workload *workload,
        int64_t *value_out, bool *across_out)
{
    const struct priority *priority =
        world_priority(world, workload->priority);

    *value_out = priority != NULL ? priority->value : 0;
    *across_out = priority != NULL && priority->preempt_across;
}

static struct asker
asker_of(const struct estate *estate, const struct workload *workload,
         int64_t right, enum booking_when when)
{
    const struct world *world = estate->world;
    const struct booking *own = first_of(world, workload->object.self);
    const struct object *hold = world_object(
        world, world_first_child(world, KIND_HOLD, workload->object.self));
    struct asker asker = { .world = world,
                           .workload = workload,
                           .now_ms = estate->now_ms,
                           .right = right,
                           .borrows = when != BOOKING_SOON &&
                                      workload->preemptible &&
                                      right == RIGHT_BURST,
                           .end_ms = TIMELINE_OPEN,
                           .lend_to_ms = TIMELINE_NEVER };
    int64_t least = platform_of(world)->min_run_ms;

    rank_of(world, workload, &asker.priority, &asker.across);
    asker.booked = own != NULL ? own->object.seq : 0;
    asker.nominated = hold != NULL ? hold->seq : 0;
    if (when == BOOKING_LATER)
        return asker;
    asker.end_ms = booking_end_ms(
        world, workload,
        estate->now_ms +
            (when == BOOKING_SOON ? reservation_lead_ms(world) : 0));
    if (when == BOOKING_SOON)
        return asker;
    if (least < BOOKING_SLACK_MS)
        least = BOOKING_SLACK_MS;
    if (workload->preemptible && right == RIGHT_BURST)
        asker.lend_to_ms = estate->now_ms + least + BOOKING_SLACK_MS +
                           lifecycle_grace(world, workload);
    return asker;
}

/* Would the booked start move, did the asker run on these parts? */
static bool
delays(const struct asker *asker, const struct booking *booking)
{
    if (ref_is_none(booking->card)) /* quota is not lent */
        return true;
    if (booking->from_ms == 0)
        return asker->lend_to_ms == TIMELINE_NEVER;
    return booking->from_ms < asker->end_ms &&
           booking->from_ms < asker->lend_to_ms;
}

/* When time alone makes the asker's run delay the booked start, at the
 * earliest: its end is rounded up to a minute. */
static int64_t
delays_from(const struct asker *asker, int64_t from_ms)
{
    int64_t at_ms = asker->now_ms, by_ms;

    if (from_ms >= asker->end_ms) {
        by_ms = asker->now_ms + from_ms - asker->end_ms - ROUND_MS;
        at_ms = by_ms > at_ms ? by_ms : at_ms;
    }
    if (from_ms >= asker->lend_to_ms) {
        by_ms = asker->now_ms + from_ms - asker->lend_to_ms + 1;
        at_ms = by_ms > at_ms ? by_ms : at_ms;
    }
    return at_ms;
}

int64_t
booking_right(const struct estate *estate, const struct workload *workload,
         const struct booking *booking)
{
    struct demand demand;

    if (world_class(estate->world, workload->class) == NULL)
        return RIGHT_BURST;
    quota_demand(estate->world, workload, booking->pool, 0, &demand);
    return quota_right(estate->world, &demand, &estate->promised);
}

/* Does the asker go first, whatever is booked? */
static bool
goes_first(const struct estate *estate, const struct asker *asker,
           const struct workload *owner, const struct booking *booking)
{
    int64_t priority;
    bool across;

    rank_of(asker->world, owner, &priority, &across);
    if (asker->priority > priority &&
        (asker->across || ref_equal(owner->object.scope,
                                    asker->workload->object.scope)))
        return true;
    return asker->right < RIGHT_BURST &&
           asker->right < booking_right(estate, owner, booking);
}

static bool
is_first(const struct world *world, struct ref ref, struct ref owner)
{
    return ref_equal(ref, world_first_child(world, KIND_BOOKING, owner));
}

/* With any of its classes: its owner decides what its cards are used for. */
static bool
is_for_asker(const struct asker *asker, const struct reservation *reservation)
{
    struct ref classes[ALTERNATIVE_MAX];
    size_t count =
        alternative_list(asker->world, asker->workload, classes);
    struct workload copy = *asker->workload;

    for (size_t i = 0; i < count; i++) {
        copy.class = classes[i];
        if (reservation_is_for(asker->world, reservation, &copy))
            return true;
    }
    return false;
}

/* A reservation keeps its cards from all work that is not for it: in its
 * window, and before that from work that would run into it.  One that lends
 * gives idle cards to burst work, which a guarantee can always take back. */
static bool
reservation_bars(const struct asker *asker,
                 const struct reservation *reservation)
{
    bool lends = reservation->lend && asker->borrows;

    if (is_for_asker(asker, reservation))
        return false;
    if (asker->end_ms <= reservation->opens_ms)
        return false;
    return reservation->state != RESERVATION_OPEN || !lends;
}

/* What time alone could make of a booking that does not bar yet. */
static void
look_ahead(const struct asker *asker, int64_t from_ms,
           struct booking_bars *bars)
{
    int64_t at_ms = delays_from(asker, from_ms);

    if (at_ms < bars->next_ms)
        bars->next_ms = at_ms;
}

static bool
is_barred(const struct estate *estate, const struct asker *asker,
          struct ref owner, const struct booking *booking,
          struct booking_bars *bars)
{
    const struct workload *other = world_workload(estate->world, owner);
    const struct reservation *reservation =
        world_reservation(estate->world, owner);

    if (reservation != NULL) {
        if (reservation_bars(asker, reservation)) {
            bars->near[bars->near_count++] = owner;
            return true;
        }
        if (asker->end_ms <= reservation->opens_ms)
            look_ahead(asker, reservation->opens_ms, bars);
        return false;
    }
    if (other == NULL || ref_equal(owner, asker->workload->object.self))
        return false;
    /* What was booked after its nomination does not undo it. */
    if (asker->nominated != 0 && booking->object.seq > asker->nominated)
        return false;
    if (!delays(asker, booking)) {
        if (booking->from_ms != 0)
            look_ahead(asker, booking->from_ms, bars);
        return false;
    }
    bars->rights |= asker->right < RIGHT_BURST;
    bars->near[bars->near_count++] = owner;
    return !goes_first(estate, asker, other, booking);
}

void
booking_bars(const struct estate *estate, const struct workload *workload,
             int64_t right, enum booking_when when, struct arena *arena,
             struct booking_bars *bars_out)
{
    const struct world *world = estate->world;
    size_t room = world_count(world, KIND_BOOKING);
    struct asker asker;

    *bars_out = (struct booking_bars){ .next_ms = TIMELINE_NEVER };
    if (room == 0)
        return;
    asker = asker_of(estate, workload, right, when);
    bars_out->booked = asker.booked;
    bars_out->owners = arena_alloc(arena, room * sizeof(struct ref));
    bars_out->near = arena_alloc(arena, room * sizeof(struct ref));
    world_each(world, KIND_BOOKING, ref) {
        struct ref owner = world_parent(world, ref);

        if (is_first(world, ref, owner) &&
            is_barred(estate, &asker, owner, world_booking(world, ref),
                      bars_out))
            bars_out->owners[bars_out->count++] = owner;
    }
}

/* Cards of one instance of a workload. */
static int64_t
cards_of(const struct world *world, const struct workload *workload)
{
    const struct class *class =
        workload != NULL ? world_class(world, workload->class) : NULL;

    return class != NULL && class->form == FORM_WHOLE && class->count > 0
               ? class->count
               : 1;
}

/* What an owner has of a card, and how many instances on its node. */
struct beside {
    int64_t milli, memory_mib, instances;
};

static void
add_beside(const struct estate *estate, struct ref card, struct ref other,
           int64_t milli, int64_t memory_mib, bool first,
           struct beside *beside)
{
    uint32_t a = estate_part(estate, card), b = estate_part(estate, other);

    if (ref_equal(card, other)) {
        beside->milli += milli;
        beside->memory_mib += memory_mib;
    }
    beside->instances += first && a != ESTATE_NONE && b != ESTATE_NONE &&
                         estate->parts[a].site == estate->parts[b].site;
}

/* What its bookings before this one took, and what is held for it: when it is
 * nominated, what is held is out of the estate already. */
static void
look_beside(const struct estate *estate, struct ref owner,
            const struct booking *booking, int64_t count,
            struct beside *booked, struct beside *held)
{
    const struct world *world = estate->world;
    int64_t number = 0;

    world_each_child(world, KIND_BOOKING, owner, ref) {
        const struct booking *other = world_booking(world, ref);

        if (other == booking)
            break;
        add_beside(estate, booking->card, other->card, other->milli,
                   other->memory_mib, number++ % count == 0, booked);
    }
    number = 0;
    world_each_child(world, KIND_HOLD, owner, ref) {
        const struct hold *hold = world_hold(world, ref);

        add_beside(estate, booking->card, hold->card, hold->milli,
                   hold->memory_mib, number++ % count == 0, held);
    }
}

/* How much of what is booked is not held. */
static int64_t
not_held(int64_t amount, int64_t before, int64_t held)
{
    int64_t left = before > held ? amount : amount + before - held;

    return left > 0 ? left : 0;
}

/* A booked part is as if it were held by nobody: less of what is held counts
 * as the asker's own. */
static void
bar_part(struct estate *estate, struct ref owner_ref,
         const struct booking *booking, bool first, int64_t count, int sign)
{
    const struct workload *owner = world_workload(estate->world, owner_ref);
    uint32_t number = estate_part(estate, booking->card);
    struct beside booked = { 0 }, held = { 0 };
    struct part *part;
    int64_t instances;

    if (ref_is_none(booking->card) || number == ESTATE_NONE)
        return;
    if (!ref_is_none(world_first_child(estate->world, KIND_HOLD, owner_ref)))
        look_beside(estate, owner_ref, booking, count, &booked, &held);
    part = &estate->parts[number];
    estate_trial(estate, part->site);
    part->own_milli -=
        sign * not_held(booking->milli, booked.milli, held.milli);
    part->own_memory_mib -=
        sign * not_held(booking->memory_mib, booked.memory_mib,
                        held.memory_mib);
    if (!first || owner == NULL)
        return;
    instances = not_held(1, booked.instances, held.instances);
    estate->sites[part->site].own_cpu -= sign * instances * owner->cpu_milli;
    estate->sites[part->site].own_memory -=
        sign * instances * owner->memory_mib;
}

void
booking_bar(struct estate *estate, const struct booking_bars *bars, int sign)
{
    for (size_t i = 0; i < bars->count; i++) {
        const struct workload *owner =
            world_workload(estate->world, bars->owners[i]);
        int64_t count = cards_of(estate->world, owner), number = 0;

        world_each_child(estate->world, KIND_BOOKING, bars->owners[i], ref)
            bar_part(estate, bars->owners[i],
                     world_booking(estate->world, ref),
                     number++ % count == 0, count, sign);
    }
}

/* Was it nominated by then? */
static bool
is_promised(const struct world *world, struct ref owner, uint64_t promised)
{
    const struct object *hold =
        world_object(world, world_first_child(world, KIND_HOLD, owner));

    return hold != NULL && hold->seq <= promised;
}

void
booking_charge(const struct estate *estate, const struct booking_bars *bars,
               uint64_t promised, struct ledger *ledger)
{
    for (size_t i = 0; i < bars->count; i++) {
        const struct world *world = estate->world;
        const struct workload *owner = world_workload(world, bars->owners[i]);
        const struct booking *booking = first_of(world, bars->owners[i]);
        uint32_t part = estate_part(estate, booking->card);
        struct demand demand;

        /* Booked parts never meet; of two that need one quota the first
         * goes first. */
        if (owner == NULL || world_class(world, owner->class) == NULL ||
            booking->object.seq > promised ||
            (bars->booked != 0 && bars->booked < booking->object.seq) ||
            is_promised(world, bars->owners[i], promised))
            continue;
        quota_demand(world, owner, booking->pool,
                     !ref_is_none(booking->card) && part != ESTATE_NONE
                         ? estate->parts[part].memory_mib
                         : 0,
                     &demand);
        quota_charge(world, &demand, ledger, 1);
    }
}

static bool
is_listed(const struct ref *list, size_t count, struct ref ref)
{
    for (size_t i = 0; i < count; i++)
        if (ref_equal(list[i], ref))
            return true;
    return false;
}

static size_t
displaced_on(const struct estate *estate, const struct asker *asker,
             struct ref card, struct ref *owners, size_t count, size_t max)
{
    world_each_index(estate->world, KIND_BOOKING, 0, card, ref) {
        struct ref owner = world_parent(estate->world, ref);

        if (count < max && owner.kind == KIND_WORKLOAD &&
            !is_listed(owners, count, owner) &&
            !ref_equal(owner, asker->workload->object.self) &&
            delays(asker, world_booking(estate->world, ref)))
            owners[count++] = owner;
    }
    return count;
}

size_t
booking_displaced(const struct estate *estate,
                  const struct workload *workload, int64_t right,
                  const struct placement *placement, struct ref *owners_out,
                  size_t max)
{
    struct asker asker;
    size_t count = 0;

    if (world_count(estate->world, KIND_BOOKING) == 0)
        return 0;
    asker = asker_of(estate, workload, right, BOOKING_NOW);
    for (size_t i = 0; i < placement->count; i++)
        for (size_t k = 0; k < placement->seats[i].part_count; k++)
            count = displaced_on(
                estate, &asker,
                estate->parts[placement->seats[i].parts[k]].card, owners_out,
                count, max);
    return count;
}

/* --- what has become of a booking --- */

bool
booking_part_stands(const struct estate *estate, struct ref ref)
{
    const struct card *card = world_card(estate->world, ref);
    uint32_t part = estate_part(estate, ref);
    const struct site *site;

    if (card == NULL || part == ESTATE_NONE)
        return false;
    site = &estate->sites[estate->parts[part].site];
    return site->fresh && card_health_is_fit(card) && !card->missing &&
           !card->foreign && card->handover != HANDOVER_FAILED &&
           world_node(estate->world, site->node)->state == NODE_SCHEDULABLE;
}

bool
booking_stands(const struct estate *estate, struct ref owner)
{
    world_each_child(estate->world, KIND_BOOKING, owner, ref) {
        const struct booking *booking = world_booking(estate->world, ref);

        if (!ref_is_none(booking->card) &&
            !booking_part_stands(estate, booking->card))
            return false;
    }
    return true;
}

/* --- loans --- */

/* Is the binding a loan on this booking: made after it, by work that does not
 * end before it by itself? */
static bool
is_loan(const struct world *world, const struct booking *booking,
        const struct binding *binding, int64_t now_ms)
{
    const struct workload *workload = world_workload(world, binding->workload);

    if (binding->to_ms != 0 ||
        binding->object.seq < booking->object.seq || workload == NULL ||
        !workload->preemptible || workload->state == WORKLOAD_PREEMPTING ||
        workload->state == WORKLOAD_CANCELLING)
        return false;
    return booking->from_ms == 0 ||
           booking_run_end_ms(world, workload, now_ms) > booking->from_ms;
}

static int64_t
recall_of(const struct world *world, const struct booking *booking,
          const struct binding *binding)
{
    return booking->from_ms - BOOKING_SLACK_MS -
           lifecycle_grace(world, world_workload(world, binding->workload));
}

int64_t
booking_recall_ms(const struct world *world, struct ref owner)
{
    int64_t recall_ms = TIMELINE_NEVER;

    world_each_child(world, KIND_BOOKING, owner, ref) {
        const struct booking *booking = world_booking(world, ref);

        if (booking->from_ms == 0 || ref_is_none(booking->card))
            continue;
        world_each_index(world, KIND_BINDING, 0, booking->card, at) {
            const struct binding *binding = world_binding(world, at);

            if (is_loan(world, booking, binding, binding->from_ms) &&
                recall_of(world, booking, binding) < recall_ms)
                recall_ms = recall_of(world, booking, binding);
        }
    }
    return recall_ms;
}

/* Milli-cards of a part that will be free when its loans are called in. */
static int64_t
free_without_loans(const struct estate *estate, const struct booking *booking)
{
    const struct part *part =
        &estate->parts[estate_part(estate, booking->card)];
    int64_t free_milli = 1000 - part->used_milli + part->leaving_milli;

    world_each_index(estate->world, KIND_BINDING, 0, booking->card, at) {
        const struct binding *binding = world_binding(estate->world, at);

        if (is_loan(estate->world, booking, binding, estate->now_ms))
            free_milli += binding->milli;
    }
    return free_milli;
}

/* Has everything else left the parts? */
static bool
only_loans_are_left(const struct estate *estate, struct ref owner)
{
    world_each_child(estate->world, KIND_BOOKING, owner, ref) {
        const struct booking *booking = world_booking(estate->world, ref);

        if (!ref_is_none(booking->card) &&
            (estate_part(estate, booking->card) == ESTATE_NONE ||
             free_without_loans(estate, booking) < booking->milli))
            return false;
    }
    return true;
}

/* A binding of the workload, none when it has no live one. */
static const struct binding *
binding_of(const struct world *world, struct ref workload)
{
    world_each_child(world, KIND_INSTANCE, workload, instance)
        world_each_child(world, KIND_BINDING, instance, ref)
            if (world_binding(world, ref)->to_ms == 0)
                return world_binding(world, ref);
    return NULL;
}

static bool
is_on_parts(const struct world *world, struct ref owner, struct ref card)
{
    world_each_index(world, KIND_BOOKING, 0, card, ref)
        if (ref_equal(world_parent(world, ref), owner))
            return true;
    return false;
}

/* Is the run on loan: on the booked parts, or anywhere below the same tenant,
 * whose quota the booked work needs?  Began after the booking, both. */
static const struct binding *
loan_of(const struct estate *estate, const struct run *run, struct ref owner,
        const struct booking *first)
{
    const struct world *world = estate->world;
    const struct workload *workload = world_workload(world, run->workload);
    const struct binding *binding;

    if (run->count == 0 || run->leaving || workload == NULL)
        return NULL;
    binding = binding_of(world, run->workload);
    if (binding == NULL || !is_loan(world, first, binding, estate->now_ms))
        return NULL;
    if (ref_equal(workload->object.scope, first->object.scope))
        return binding;
    world_each_child(world, KIND_INSTANCE, run->workload, instance)
        world_each_child(world, KIND_BINDING, instance, ref)
            if (is_on_parts(world, owner, world_binding(world, ref)->card))
                return binding;
    return NULL;
}

static int
run_order(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

    return a < b ? -1 : a > b;
}

/* The runs that could be on loan: what is on the booked parts, and what its
 * tenant has.  In order, each once. */
static size_t
list_borrowers(const struct estate *estate, struct ref owner,
               struct arena *arena, uint32_t **runs_out)
{
    const struct world *world = estate->world;
    struct ref tenant = world_object(world, owner)->scope;
    size_t count = 0, kept = 0, room = 0;
    uint32_t *runs;

    for (uint32_t i = estate_first_run(estate, tenant); i != ESTATE_NONE;
         i = estate->runs[i].next)
        room++;
    world_each_child(world, KIND_BOOKING, owner, ref)
        world_each_index(world, KIND_BINDING, 0,
                         world_booking(world, ref)->card, at)
            room += world_binding(world, at)->to_ms == 0;
    runs = *runs_out = arena_alloc(arena, (room + 1) * sizeof(*runs));
    for (uint32_t i = estate_first_run(estate, tenant); i != ESTATE_NONE;
         i = estate->runs[i].next)
        runs[count++] = i;
    world_each_child(world, KIND_BOOKING, owner, ref)
        world_each_index(world, KIND_BINDING, 0,
                         world_booking(world, ref)->card, at)
            if (world_binding(world, at)->to_ms == 0)
                runs[count++] =
                    estate_run(estate, world_binding(world, at)->workload);
    if (count > 1)
        qsort(runs, count, sizeof(*runs), run_order);
    for (size_t i = 0; i < count; i++)
        if (runs[i] != ESTATE_NONE && (i == 0 || runs[i] != runs[i - 1]))
            runs[kept++] = runs[i];
    return kept;
}

size_t
booking_recalled(const struct estate *estate, struct ref owner,
                 struct arena *arena, uint32_t **runs_out)
{
    const struct booking *first = first_of(estate->world, owner);
    bool due = false;
    size_t count = 0, borrowers;

    if (!booking_has_place(estate->world, owner))
        return 0;
    borrowers = list_borrowers(estate, owner, arena, runs_out);
    for (size_t i = 0; i < borrowers; i++) {
        uint32_t run = (*runs_out)[i];
        const struct binding *binding =
            loan_of(estate, &estate->runs[run], owner, first);

        if (binding == NULL)
            continue;
        due |= first->from_ms != 0 &&
               recall_of(estate->world, first, binding) <= estate->now_ms;
        (*runs_out)[count++] = run;
    }
    if (first->from_ms == 0)
        due = count > 0 && only_loans_are_left(estate, owner);
    return due ? count : 0;
}
