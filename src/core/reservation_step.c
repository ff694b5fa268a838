/* SPDX-License-Identifier: Apache-2.0 */
#include "core/reservation.h"

#include "base/json.h"
#include "core/booking.h"
#include "core/card_health.h"
#include "core/lifecycle.h"
#include "core/maintenance.h"
#include "core/usage.h"

/* What time brings to a reservation: see reservation.h. */

/* --- which cards --- */

/* One card that could be taken, the best first. */
enum pick_rank {
    PICK_OWN,    /* its node's work has it, beyond what is guaranteed */
    PICK_FREE,
    PICK_ENDING, /* free by itself before the window */
    PICK_VICTIM, /* burst work has to go */
};
struct pick {
    uint32_t part;
    enum pick_rank rank;
    uint32_t run;      /* PICK_VICTIM */
    int64_t kind, priority; /* of the victim: the least first */
    uint64_t seq;
};

struct choice {
    const struct estate *estate;
    const struct reservation *reservation;
    const struct class *class;
    int64_t from_ms; /* of the window */
    int64_t own;     /* cards of its own work that may be counted */
    struct arena *arena;
    struct ledger leaving;
    struct pick *picks;
    size_t count;
};

static bool
is_booked_for_another(const struct world *world, struct ref card,
                      struct ref self)
{
    world_each_index(world, KIND_BOOKING, 0, card, ref) {
        struct ref owner = world_parent(world, ref);

        if (owner.kind == KIND_RESERVATION || ref_equal(owner, self))
            return true;
    }
    return false;
}

static bool
part_fits(const struct choice *choice, const struct part *part)
{
    const struct world *world = choice->estate->world;
    const struct card *card = world_card(world, part->card);
    const struct class *class = choice->class;
    const struct node *node;

    if (card == NULL)
        return false;
    node = world_node(world, card->object.parent);
    return ref_equal(node->object.parent, choice->reservation->pool) &&
           node->state == NODE_SCHEDULABLE &&
           !maintenance_meets(world, node->object.self,
                              choice->reservation->opens_ms,
                              choice->reservation->closes_ms) &&
           choice->estate->sites[part->site].fresh &&
           card_health_is_fit(card) && !card->missing &&
           !card->foreign && card->handover != HANDOVER_FAILED &&
           part->held_milli == 0 &&
           (class == NULL ||
            ((class->vendor[0] == '\0' ||
              strcmp(class->vendor, card->vendor) == 0) &&
             (class->model[0] == '\0' ||
              strcmp(class->model, card->model) == 0) &&
             card->memory_mib >= class->min_memory_mib)) &&
           !is_booked_for_another(world, part->card,
                                  choice->reservation->object.self);
}

/* The one workload on a card; none: no, or several. */
static const struct workload *
sole_user(const struct world *world, struct ref card)
{
    const struct workload *user = NULL;

    world_each_index(world, KIND_BINDING, 0, card, ref) {
        const struct binding *binding = world_binding(world, ref);

        if (binding->to_ms != 0)
            continue;
        if (user != NULL)
            return NULL;
        user = world_workload(world, binding->workload);
    }
    return user;
}

static int64_t
kind_order(int kind)
{
    return kind == WORKLOAD_BATCH ? 0 : kind == WORKLOAD_INTERACTIVE ? 1 : 2;
}

static bool
rank_used(const struct choice *choice, const struct part *part,
          struct pick *pick)
{
    const struct world *world = choice->estate->world;
    const struct workload *user = sole_user(world, part->card);
    uint32_t run;

    if (user == NULL)
        return false;
    if (reservation_is_for(world, choice->reservation, user)) {
        pick->rank = PICK_OWN;
        return true;
    }
    pick->rank = PICK_ENDING;
    if (booking_run_end_ms(world, user, choice->estate->now_ms) <=
        choice->from_ms)
        return true;
    run = estate_run(choice->estate, user->object.self);
    if (run != ESTATE_NONE && !choice->estate->runs[run].leaving) {
        run = estate_run_on(choice->estate, user->object.self, pick->part);
        if (run == ESTATE_NONE) /* its instance alone is going */
            return true;
    }
    if (run == ESTATE_NONE || choice->estate->runs[run].fixed)
        return false;
    if (choice->estate->runs[run].leaving)
        return true;
    pick->rank = PICK_VICTIM;
    pick->run = run;
    pick->kind =
        choice->estate->runs[run].surplus ? -1 : kind_order(user->kind);
    pick->priority = choice->estate->runs[run].priority;
    pick->seq = user->object.seq;
    return true;
}

static int
pick_order(const void *left, const void *right)
{
    const struct pick *a = left, *b = right;

    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->priority != b->priority)
        return a->priority < b->priority ? -1 : 1;
    if (a->seq != b->seq)
        return a->seq > b->seq ? -1 : 1; /* the newest first */
    return (a->part > b->part) - (a->part < b->part);
}

static void
list_picks(struct choice *choice)
{
    const struct estate *estate = choice->estate;

    choice->picks =
        arena_alloc(choice->arena, (estate->part_count + 1) *
                                       sizeof(*choice->picks));
    for (size_t i = 0; i < estate->part_count; i++) {
        const struct part *part = &estate->parts[i];
        struct pick pick = { .part = (uint32_t)i, .rank = PICK_FREE };

        if (ref_is_none(part->card) || !part_fits(choice, part) ||
            (part->used_milli > 0 && !rank_used(choice, part, &pick)))
            continue;
        choice->picks[choice->count++] = pick;
    }
    if (choice->count > 1)
        qsort(choice->picks, choice->count, sizeof(*choice->picks),
              pick_order);
}

/* Did a card before this one stop it? */
static bool
is_stopped(const struct changes *changes, const struct run *run)
{
    const struct workload *workload = change_get(changes, run->workload);
    const struct instance *instance =
        run->surplus ? change_get(changes, run->instance) : NULL;

    return (workload != NULL && workload->state == WORKLOAD_PREEMPTING) ||
           (instance != NULL && instance->want != WANT_RUN);
}

/* Nobody is pushed below a guarantee.  A gang that stops takes its surplus
 * with it. */
static bool
may_stop(struct choice *choice, struct changes *changes, uint32_t number)
{
    const struct estate *estate = choice->estate;
    struct ledger trial;
    uint32_t next;

    if (is_stopped(changes, &estate->runs[number]))
        return true;
    ledger_copy(&trial, &choice->leaving, choice->arena);
    for (uint32_t at = number; at != ESTATE_NONE; at = next) {
        const struct run *run = &estate->runs[at];

        next = estate->runs[number].surplus ? ESTATE_NONE : run->next_surplus;
        if (at != number && is_stopped(changes, run))
            continue;
        if (!quota_release_allowed(estate->world, &run->demand,
                                   world_platform_ref(estate->world),
                                   &trial))
            return false;
        quota_charge(estate->world, &run->demand, &trial, -1);
    }
    choice->leaving = trial;
    return true;
}

static void
stop(const struct choice *choice, struct changes *changes, uint32_t number,
     size_t *victims)
{
    const struct run *run = &choice->estate->runs[number];
    const struct workload *seen = change_get(changes, run->workload);
    scoped_buffer text = { 0 };
    scoped_json proof = NULL;

    if (seen == NULL || is_stopped(changes, run))
        return;
    proof = json_pack("{s:s, s:I, s:I}", "rule", "reservation",
                      "released_milli",
                      (json_int_t)run->demand.of[DIMENSION_CARDS], "time_ms",
                      (json_int_t)changes->context.now_ms);
    json_write(&text, proof);
    if (run->surplus)
        lifecycle_shrink(changes, run->instance, buffer_text(&text));
    else
        lifecycle_stop(changes, run->workload, WORKLOAD_PREEMPTING,
                       "preempted", buffer_text(&text));
    ++*victims;
}

static void
book(const struct choice *choice, struct changes *changes, uint32_t number)
{
    const struct part *part = &choice->estate->parts[number];
    struct booking *booking;

    usage_cut(changes, part->card);
    booking = change_create(changes, KIND_BOOKING,
                            choice->reservation->object.self, "");
    booking->card = part->card;
    booking->pool = choice->reservation->pool;
    booking->milli = 1000;
    booking->memory_mib = part->memory_mib;
    booking->from_ms = choice->from_ms;
}

/* Cards of its node's work beyond what the node is guaranteed anyway. */
static int64_t
own_cards(const struct world *world, const struct reservation *reservation)
{
    int64_t used = 0, guaranteed = 0;

    world_each(world, KIND_BINDING, ref) {
        const struct binding *binding = world_binding(world, ref);
        const struct workload *workload =
            world_workload(world, binding->workload);

        if (binding->to_ms == 0 && workload != NULL &&
            ref_equal(binding->pool, reservation->pool) &&
            reservation_is_for(world, reservation, workload))
            used += binding->milli;
    }
    world_each_child(world, KIND_QUOTA, reservation->object.parent, ref) {
        const struct quota *quota = world_quota(world, ref);

        if (quota->dimension == DIMENSION_CARDS &&
            (ref_is_none(quota->pool) ||
             ref_equal(quota->pool, reservation->pool)) &&
            quota->guaranteed > guaranteed)
            guaranteed = quota->guaranteed;
    }
    return used > guaranteed ? (used - guaranteed) / 1000 : 0;
}

static int64_t
booked_cards(const struct world *world, struct ref ref)
{
    int64_t count = 0;

    world_each_child(world, KIND_BOOKING, ref, at)
        count++;
    return count;
}

/* Books what is missing; how many cards it got. */
static int64_t
fill(const struct estate *estate, struct changes *changes,
     const struct reservation *reservation, size_t *victims)
{
    scoped_arena arena = arena_new();
    int64_t missing = reservation->cards -
                      booked_cards(estate->world, reservation->object.self);
    int64_t got = 0;
    struct choice choice = {
        .estate = estate,
        .reservation = reservation,
        .class = world_class(estate->world, reservation->class),
        .from_ms = reservation->opens_ms,
        .own = own_cards(estate->world, reservation),
        .arena = arena
    };

    if (missing <= 0)
        return 0;
    ledger_copy(&choice.leaving, &estate->leaving, arena);
    list_picks(&choice);
    for (size_t i = 0; i < choice.count && got < missing; i++) {
        const struct pick *pick = &choice.picks[i];

        if (pick->rank == PICK_OWN && choice.own-- <= 0)
            continue;
        if (pick->rank == PICK_VICTIM) {
            if (!may_stop(&choice, changes, pick->run))
                continue;
            stop(&choice, changes, pick->run, victims);
        }
        book(&choice, changes, pick->part);
        got++;
    }
    return got;
}

/* --- states --- */

static void
drop_cards(struct changes *changes, struct ref ref)
{
    world_each_child(changes->world, KIND_BOOKING, ref, at) {
        usage_cut(changes, world_booking(changes->world, at)->card);
        change_delete(changes, at);
    }
}

/* Parts that cannot be had any more make room for others. */
static bool
drop_broken(const struct estate *estate, struct changes *changes,
            struct ref ref)
{
    bool any = false;

    world_each_child(changes->world, KIND_BOOKING, ref, at) {
        const struct booking *booking = world_booking(changes->world, at);

        if (booking_part_stands(estate, booking->card))
            continue;
        usage_cut(changes, booking->card);
        change_delete(changes, at);
        any = true;
    }
    return any;
}

/* The window that opens next; one that was missed is gone. */
static bool
next_window(const struct estate *estate,
            const struct reservation *reservation, int64_t *from_out,
            int64_t *to_out)
{
    int64_t at_ms = reservation->closes_ms;

    return reservation_window(reservation,
                              at_ms > estate->now_ms ? at_ms : estate->now_ms,
                              from_out, to_out);
}

int64_t
reservation_due_ms(const struct estate *estate,
                   const struct reservation *reservation)
{
    int64_t from_ms, to_ms;

    switch ((enum reservation_state)reservation->state) {
    case RESERVATION_SCHEDULED:
        if (!next_window(estate, reservation, &from_ms, &to_ms))
            return 0;
        return from_ms - reservation_lead_ms(estate->world);
    case RESERVATION_OPENING:
    case RESERVATION_OPEN:
        if (!booking_stands(estate, reservation->object.self) ||
            booked_cards(estate->world, reservation->object.self) <
                reservation->cards)
            return 0;
        return reservation->state == RESERVATION_OPENING
                   ? reservation->opens_ms
                   : reservation->closes_ms;
    case RESERVATION_OVER:
        break;
    }
    return TIMELINE_NEVER;
}

static struct reservation *
enter(struct changes *changes, struct ref ref, enum reservation_state state)
{
    struct reservation *reservation = change_update(changes, ref);

    reservation->state = (int)state;
    return reservation;
}

static bool
prepare(const struct estate *estate, struct changes *changes, struct ref ref,
        size_t *victims)
{
    const struct reservation *present = world_reservation(estate->world, ref);
    struct reservation *image;
    int64_t from_ms, to_ms;

    if (!next_window(estate, present, &from_ms, &to_ms)) {
        (void)enter(changes, ref, RESERVATION_OVER);
        return true;
    }
    if (from_ms - reservation_lead_ms(estate->world) > estate->now_ms)
        return false;
    image = enter(changes, ref, RESERVATION_OPENING);
    image->opens_ms = from_ms;
    image->closes_ms = to_ms;
    (void)fill(estate, changes, image, victims);
    return true;
}

static void
close_window(struct changes *changes, struct ref ref)
{
    struct reservation *image = enter(changes, ref, RESERVATION_SCHEDULED);
    int64_t from_ms, to_ms;

    drop_cards(changes, ref);
    if (!reservation_window(image, image->closes_ms, &from_ms, &to_ms))
        image->state = RESERVATION_OVER;
}

bool
reservation_step(const struct estate *estate, struct changes *changes,
                 struct ref ref, size_t *victims_out)
{
    const struct reservation *present = world_reservation(estate->world, ref);
    int64_t now_ms = estate->now_ms;

    *victims_out = 0;
    switch ((enum reservation_state)present->state) {
    case RESERVATION_SCHEDULED:
        return prepare(estate, changes, ref, victims_out);
    case RESERVATION_OPENING:
        if (now_ms >= present->opens_ms) {
            world_each_child(estate->world, KIND_BOOKING, ref, at)
                usage_cut(changes, world_booking(estate->world, at)->card);
            (void)enter(changes, ref, RESERVATION_OPEN);
            return true;
        }
        break;
    case RESERVATION_OPEN:
        if (now_ms >= present->closes_ms) {
            close_window(changes, ref);
            return true;
        }
        break;
    case RESERVATION_OVER:
        return false;
    }
    return drop_broken(estate, changes, ref) ||
           fill(estate, changes, present, victims_out) > 0;
}
