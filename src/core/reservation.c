/* SPDX-License-Identifier: Apache-2.0 */
#include "core/reservation.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "core/booking.h"
#include "core/card_health.h"
#include "core/maintenance.h"

/* --- windows --- */

static int64_t
period_of(const struct reservation *reservation)
{
    return reservation->every == RESERVATION_WEEK ? 7 * RESERVATION_DAY_MS
                                                  : RESERVATION_DAY_MS;
}

bool
reservation_window(const struct reservation *reservation, int64_t at_ms,
                   int64_t *from_out, int64_t *to_out)
{
    int64_t from_ms = reservation->from_ms, to_ms = reservation->to_ms;

    if (at_ms >= to_ms && reservation->every != RESERVATION_ONCE) {
        int64_t period = period_of(reservation);
        int64_t steps = (at_ms - to_ms) / period + 1;

        from_ms += steps * period;
        to_ms += steps * period;
    }
    if (at_ms >= to_ms || (reservation->every != RESERVATION_ONCE &&
                           from_ms >= reservation->until_ms))
        return false;
    *from_out = from_ms;
    *to_out = to_ms;
    return true;
}

void
reservation_add(const struct reservation *reservation, int64_t from_ms,
                struct timeline *timeline)
{
    int64_t begin_ms, end_ms, at_ms = from_ms;

    for (int i = 0; i < RESERVATION_WINDOWS_MAX &&
                    reservation_window(reservation, at_ms, &begin_ms, &end_ms);
         i++) {
        timeline_add(timeline, begin_ms, end_ms, reservation->cards * 1000);
        at_ms = end_ms;
    }
}

int64_t
reservation_lead_ms(const struct world *world)
{
    const struct platform *platform =
        world_platform(world, world_platform_ref(world));

    return platform->grace_max_ms + 2 * BOOKING_SLACK_MS;
}

/* --- what is promised already --- */

/* Can a card of the inner class be none of the outer one (none: any)? */
static bool
class_within(const struct world *world, struct ref inner, struct ref outer)
{
    const struct class *a = world_class(world, inner);
    const struct class *b = world_class(world, outer);

    if (b == NULL || ref_equal(inner, outer))
        return true;
    return a != NULL &&
           (b->vendor[0] == '\0' || strcmp(a->vendor, b->vendor) == 0) &&
           (b->model[0] == '\0' || strcmp(a->model, b->model) == 0) &&
           a->min_memory_mib >= b->min_memory_mib;
}

int64_t
reservation_peak(const struct changes *changes, struct ref pool,
                 struct ref class, const struct reservation *self,
                 int64_t now_ms, int64_t *at_out)
{
    scoped_arena arena = arena_new();
    struct timeline others;
    int64_t begin_ms, end_ms, at_ms = now_ms, peak = 0;

    timeline_init(&others, arena);
    world_each(changes->world, KIND_RESERVATION, ref) {
        const struct reservation *other = change_get(changes, ref);

        if (other != NULL && other != self &&
            (self == NULL || !ref_equal(ref, self->object.self)) &&
            (ref_is_none(pool) || ref_equal(other->pool, pool)) &&
            class_within(changes->world, other->class, class))
            reservation_add(other, now_ms, &others);
    }
    timeline_seal(&others);
    if (self == NULL)
        return timeline_peak(&others, now_ms, TIMELINE_OPEN, at_out);
    while (reservation_window(self, at_ms, &begin_ms, &end_ms)) {
        int64_t when_ms, level = timeline_peak(&others, begin_ms, end_ms,
                                               &when_ms);

        if (level > peak || at_ms == now_ms) {
            peak = level;
            *at_out = when_ms;
        }
        at_ms = end_ms;
    }
    return peak;
}

/* The most that one tenant is guaranteed of these cards: quotas of one scope
 * count the same use, those of two pools do not. */
static int64_t
largest_guarantee(const struct changes *changes, struct ref tenant,
                  struct ref pool, struct ref class)
{
    int64_t largest = 0;

    world_each_child(changes->world, KIND_QUOTA, tenant, ref) {
        const struct quota *quota = change_get(changes, ref);

        if (quota != NULL && quota->dimension == DIMENSION_CARDS &&
            ref_equal(quota->pool, pool) &&
            class_within(changes->world, quota->class, class) &&
            !quota->given && quota->guaranteed > largest)
            largest = quota->guaranteed;
    }
    return largest;
}

/* Of all tenants; pool none: of all pools. */
static int64_t
guaranteed_of(const struct changes *changes, struct ref pool,
              struct ref class)
{
    const struct ref none = { 0 };
    int64_t sum = 0;

    world_each(changes->world, KIND_TENANT, tenant) {
        int64_t own = largest_guarantee(changes, tenant, pool, class);
        int64_t pools = 0;

        if (ref_is_none(pool))
            world_each(changes->world, KIND_POOL, at)
                pools += largest_guarantee(changes, tenant, at, none);
        sum += own > pools ? own : pools;
    }
    return sum;
}

static bool
card_is_of(const struct class *class, const struct card *card)
{
    return class == NULL ||
           ((class->vendor[0] == '\0' ||
             strcmp(class->vendor, card->vendor) == 0) &&
            (class->model[0] == '\0' ||
             strcmp(class->model, card->model) == 0) &&
            card->memory_mib >= class->min_memory_mib);
}

static int64_t
healthy_of(const struct changes *changes, struct ref pool, struct ref class)
{
    const struct world *world = changes->world;
    int64_t cards = 0;

    world_each(world, KIND_CARD, ref) {
        const struct card *card = change_get(changes, ref);

        cards += card != NULL && !card->missing &&
                 card_health_is_fit(card) &&
                 (ref_is_none(pool) ||
                  ref_equal(world_ancestor(world, KIND_POOL, ref), pool)) &&
                 card_is_of(world_class(world, class), card);
    }
    return cards * 1000;
}

/* --- may it be made? --- */

int
reservation_check_times(const struct reservation *reservation, int64_t now_ms,
                        struct error *err)
{
    int64_t length = reservation->to_ms - reservation->from_ms;
    bool once = reservation->every == RESERVATION_ONCE;

    if (length <= 0 || (once && reservation->to_ms <= now_ms))
        return error_field(err, "/to_ms",
                           "a window ends after it begins, and later than "
                           "now");
    if (once && reservation->until_ms != 0)
        return error_field(err, "/until_ms",
                           "until is for windows that come again: say every "
                           "day or week");
    if (once)
        return 0;
    if (reservation->until_ms <= reservation->from_ms)
        return error_field(err, "/until_ms",
                           "windows that come again need a time after the "
                           "first one from when none begins");
    if (length > period_of(reservation))
        return error_field(err, "/to_ms",
                           "a window of %" PRId64 " min does not end before "
                           "the next one begins",
                           length / 60000);
    if ((reservation->until_ms - reservation->from_ms) /
            period_of(reservation) >=
        RESERVATION_WINDOWS_MAX)
        return error_field(err, "/until_ms",
                           "at most %d windows can be reserved at once",
                           RESERVATION_WINDOWS_MAX);
    return 0;
}

static int
check_class(const struct changes *changes,
            const struct reservation *reservation, struct error *err)
{
    const struct class *class =
        world_class(changes->world, reservation->class);

    if (class == NULL || class->form == FORM_WHOLE)
        return 0;
    return error_field(err, "/class",
                       "whole cards are reserved, class %s is a part of one",
                       class->object.name);
}

/* Is the node in a planned maintenance in any of its windows? */
static bool
is_maintained(const struct world *world, struct ref node,
              const struct reservation *reservation, int64_t now_ms)
{
    int64_t begin_ms, end_ms, at_ms = now_ms;

    if (ref_is_none(world_first_child(world, KIND_MAINTENANCE, node)) &&
        ref_is_none(world_first_child(world, KIND_MAINTENANCE,
                                      world_parent(world, node))))
        return false;
    while (reservation_window(reservation, at_ms, &begin_ms, &end_ms)) {
        if (maintenance_meets(world, node, begin_ms, end_ms))
            return true;
        at_ms = end_ms;
    }
    return false;
}

/* Milli-cards of the pool that planned maintenances take from it. */
static int64_t
maintained_of(const struct changes *changes,
              const struct reservation *reservation, struct ref class,
              int64_t now_ms)
{
    const struct world *world = changes->world;
    int64_t cards = 0;

    if (world_count(world, KIND_MAINTENANCE) == 0)
        return 0;
    world_each_child(world, KIND_NODE, reservation->pool, node) {
        if (!is_maintained(world, node, reservation, now_ms))
            continue;
        world_each_child(world, KIND_CARD, node, ref) {
            const struct card *card = world_card(world, ref);

            cards += !card->missing && card_health_is_fit(card) &&
                     card_is_of(world_class(world, class), card);
        }
    }
    return cards * 1000;
}

static int
check_scope(const struct changes *changes,
            const struct reservation *reservation, struct ref pool,
            struct ref class, int64_t now_ms, struct error *err)
{
    int64_t at_ms = now_ms;
    int64_t healthy = healthy_of(changes, pool, class) / 1000;
    int64_t guaranteed = (guaranteed_of(changes, pool, class) + 999) / 1000;
    int64_t reserved = reservation_peak(changes, pool, class, reservation,
                                        now_ms, &at_ms) /
                       1000;
    int64_t maintained =
        maintained_of(changes, reservation, class, now_ms) / 1000;
    int64_t left = healthy - maintained - guaranteed - reserved;
    char when[CLOCK_TEXT_MAX], less[64] = "";

    if (reservation->cards <= left)
        return 0;
    clock_format(at_ms, when);
    if (maintained > 0)
        (void)snprintf(less, sizeof(less),
                       ", %" PRId64 " of them in planned maintenance",
                       maintained);
    return error_set(err, ERROR_QUOTA,
                     "%" PRId64 " cards do not fit at %s: %" PRId64
                     " are healthy%s%s, %" PRId64 " are guaranteed to tenants "
                     "and %" PRId64 " reserved then; %" PRId64
                     " can be reserved",
                     reservation->cards, when, healthy,
                     ref_is_none(pool) ? " in all pools" : "", less,
                     guaranteed,
                     reserved, left > 0 ? left : 0);
}

/* Is all that is live on the card over by then? */
static bool
is_free_by(const struct world *world, struct ref card, int64_t at_ms,
           int64_t now_ms)
{
    world_each_index(world, KIND_BINDING, 0, card, ref) {
        const struct binding *binding = world_binding(world, ref);
        const struct workload *workload =
            world_workload(world, binding->workload);

        if (binding->to_ms == 0 &&
            (workload == NULL ||
             booking_run_end_ms(world, workload, now_ms) > at_ms))
            return false;
    }
    return true;
}

/* A window that begins before work can be stopped needs cards that are free
 * by themselves. */
static int
check_start(const struct changes *changes,
            const struct reservation *reservation, int64_t now_ms,
            struct error *err)
{
    const struct world *world = changes->world;
    int64_t earliest_ms =
        timeline_round_up(now_ms + reservation_lead_ms(world));
    int64_t count = 0;
    char when[CLOCK_TEXT_MAX];

    if (reservation->from_ms >= now_ms + reservation_lead_ms(world) ||
        reservation->state != RESERVATION_SCHEDULED)
        return 0;
    world_each_child(world, KIND_NODE, reservation->pool, node)
        world_each_child(world, KIND_CARD, node, ref) {
            const struct card *card = world_card(world, ref);

            count += card_health_is_fit(card) && !card->missing &&
                     !card->foreign &&
                     card_is_of(world_class(world, reservation->class),
                                card) &&
                     is_free_by(world, ref, reservation->from_ms, now_ms);
        }
    if (count >= reservation->cards)
        return 0;
    clock_format(earliest_ms, when);
    return error_set(err, ERROR_CONFLICT,
                     "%" PRId64 " of the cards are free at that time, %" PRId64
                     " are asked for; work on the others can be stopped for "
                     "a window that begins at %s or later",
                     count, reservation->cards, when);
}

int
reservation_check(const struct changes *changes,
                  const struct reservation *reservation, int64_t now_ms,
                  struct error *err)
{
    const struct ref none = { 0 };

    if (reservation_check_times(reservation, now_ms, err) != 0 ||
        check_class(changes, reservation, err) != 0)
        return -1;
    if (!ref_is_none(reservation->class) &&
        check_scope(changes, reservation, reservation->pool,
                    reservation->class, now_ms, err) != 0)
        return -1;
    if (check_scope(changes, reservation, reservation->pool, none, now_ms,
                    err) != 0 ||
        check_scope(changes, reservation, none, none, now_ms, err) != 0)
        return -1;
    return check_start(changes, reservation, now_ms, err);
}

bool
reservation_is_for(const struct world *world,
                   const struct reservation *reservation,
                   const struct workload *workload)
{
    return world_is_below(world, workload->object.parent,
                          reservation->object.parent) &&
           (ref_is_none(reservation->class) ||
            class_within(world, workload->class, reservation->class));
}

int64_t
reservation_extra(const struct world *world, const struct quota *quota)
{
    int64_t sum = 0;

    if (quota->dimension != DIMENSION_CARDS ||
        quota->object.parent.kind == KIND_PLATFORM)
        return 0;
    world_each(world, KIND_RESERVATION, ref) {
        const struct reservation *reservation = world_reservation(world, ref);

        if (reservation->state == RESERVATION_OPEN &&
            world_is_below(world, reservation->object.parent,
                           quota->object.parent) &&
            (ref_is_none(quota->pool) ||
             ref_equal(quota->pool, reservation->pool)) &&
            (ref_is_none(quota->class) ||
             class_within(world, reservation->class, quota->class)))
            sum += reservation->cards * 1000;
    }
    return sum;
}
