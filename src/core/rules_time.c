/* SPDX-License-Identifier: Apache-2.0 */
#include "core/rules.h"

#include "core/gate.h"
#include "core/quota.h"
#include "core/reservation.h"
#include "core/usage.h"

/* Reservations: capacity promised for a time. */

/* A pool where work of the node can run at all. */
static int
check_pool(const struct edit *edit, const struct reservation *reservation,
           struct error *err)
{
    const struct world *world = edit->world;
    const struct pool *pool = world_pool(world, reservation->pool);
    struct ref ref = world_scope(world, reservation->object.parent);
    const struct tenant *tenant = world_tenant(world, ref);

    if (pool->kind == POOL_DEDICATED
            ? gate_lists(world, pool->tenants, ref)
            : tenant->isolation == ISOLATION_NAMESPACE &&
                  (tenant->pools == NULL ||
                   gate_lists(world, tenant->pools, reservation->pool)))
        return 0;
    return error_field(err, "/pool",
                       "pool %s is not among those that tenant %s may use: "
                       "allow it first",
                       pool->object.name, tenant->object.name);
}

/* What new tenants were given gives way to it. */
static int
check_reservation(const struct edit *edit,
                  const struct reservation *reservation, struct error *err)
{
    if (reservation_check(edit->changes, reservation, edit->now_ms, err) != 0)
        return -1;
    if (quota_yield(edit->changes, NULL, reservation))
        return 0;
    (void)error_set(err, ERROR_QUOTA,
                    "the cards are there but for guarantees that new tenants "
                    "were given and that their projects lean on");
    return error_help(err, "lower those guarantees first: `bulkhead get "
                           "quotas -t TENANT`");
}

int
rules_create_reservation(const struct edit *edit, void *image,
                         struct error *err)
{
    struct reservation *reservation = image;

    if (reservation->from_ms == 0)
        reservation->from_ms = edit->now_ms;
    if (reservation->from_ms < edit->now_ms)
        return error_field(err, "/from_ms",
                           "a reservation begins now or later");
    if (check_pool(edit, reservation, err) != 0)
        return -1;
    return check_reservation(edit, reservation, err);
}

int
rules_update_reservation(const struct edit *edit, const void *before,
                         void *image, struct error *err)
{
    const struct reservation *old = before;
    struct reservation *reservation = image;

    if (old->state == RESERVATION_OVER)
        return error_set(err, ERROR_CONFLICT,
                         "the reservation is over: make a new one");
    if (old->state != RESERVATION_SCHEDULED &&
        (reservation->cards != old->cards ||
         reservation->to_ms != old->to_ms))
        return error_set(err, ERROR_CONFLICT,
                         "its window is opening or open: its cards and times "
                         "stay as they are; delete it to end it");
    return check_reservation(edit, reservation, err);
}

void
rules_drop_reservation(struct changes *changes, struct ref ref)
{
    world_each_child(changes->world, KIND_BOOKING, ref, at) {
        const struct booking *booking = change_get(changes, at);

        if (booking == NULL)
            continue;
        usage_cut(changes, booking->card);
        change_delete(changes, at);
    }
    rules_drop(changes, ref);
}

int
rules_delete_reservation(const struct edit *edit, struct ref ref,
                         struct error *err)
{
    (void)err;
    rules_drop_reservation(edit->changes, ref);
    return 0;
}
