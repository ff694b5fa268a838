/* SPDX-License-Identifier: Apache-2.0 */
#include "core/booking.h"
#include "core/queue_private.h"

/* Whom a booking keeps away depends on its owner's right.  Bookings are few,
 * so their owners' rights are looked up when something of their tenants
 * changed, and with the time; whoever is near is woken by another right
 * alone.  The rest is a booking's own change (queue_note). */

/* Of what a right depends on: grows when any of it changes.  Quotas of the
 * platform are not in it: with those, everybody depends on everybody. */
static uint64_t
counter_of(struct queue *queue, const struct estate *estate,
           const struct workload *owner)
{
    struct ref tenant = owner->object.scope;

    return queue->all + estate_tenant(estate, tenant).changed +
           queue_tenant(queue, tenant)->set + 1;
}

static bool
wants_look(const struct queue *queue, const struct booker *booker,
           uint64_t counter)
{
    return booker->counter != counter ||
           queue->now_ms - booker->asked_ms >= EVALUATE_LOOK_MS;
}

static void
ask(struct queue *queue, const struct estate *estate, struct booker *booker)
{
    const struct workload *owner =
        world_workload(queue->world, booker->owner);
    const struct booking *booking = world_booking(
        queue->world,
        world_first_child(queue->world, KIND_BOOKING, booker->owner));
    uint64_t counter;
    int64_t right;

    if (owner == NULL || booking == NULL)
        return; /* its end has woken all whom it concerned */
    counter = counter_of(queue, estate, owner);
    if (!wants_look(queue, booker, counter))
        return;
    right = booking_right(estate, owner, booking);
    if (booker->counter != 0 && right != booker->right)
        queue->unbooked |= booking_bit(booker->owner);
    booker->counter = counter;
    booker->asked_ms = queue->now_ms;
    booker->right = right;
}

static void
add(struct queue *queue, struct ref owner)
{
    struct booker *booker;

    queue->bookers = queue_grow(queue, queue->bookers, &queue->booker_room,
                                queue->booker_count + 1,
                                sizeof(*queue->bookers));
    booker = &queue->bookers[queue->booker_count++];
    *booker = (struct booker){ .owner = owner };
}

static void
list(struct queue *queue)
{
    const struct world *world = queue->world;

    queue->booker_count = 0;
    world_each(world, KIND_BOOKING, ref) {
        struct ref owner = world_parent(world, ref);

        if (world_workload(world, owner) != NULL &&
            ref_equal(ref, world_first_child(world, KIND_BOOKING, owner)))
            add(queue, owner);
    }
}

void
queue_ask_bookers(struct queue *queue, const struct estate *estate)
{
    for (size_t i = 0; i < queue->booker_count; i++)
        ask(queue, estate, &queue->bookers[i]);
    if (!queue->rebooked)
        return;
    queue->rebooked = false;
    list(queue);
    for (size_t i = 0; i < queue->booker_count; i++)
        ask(queue, estate, &queue->bookers[i]);
}
