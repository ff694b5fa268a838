/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/booking.h"

/* Whom does a booking concern, and whom its end?  See booking.h. */

uint64_t
booking_pools(const struct world *world, const struct booking *booking)
{
    struct ref pool = world_ancestor(world, KIND_POOL, booking->card);
    uint64_t pools = 0;

    if (!ref_is_none(pool))
        pools |= UINT64_C(1) << (pool.index % 64);
    if (!ref_is_none(booking->pool))
        pools |= UINT64_C(1) << (booking->pool.index % 64);
    return pools;
}

bool
booking_concerns_all(const struct world *world)
{
    return !ref_is_none(world_first_child(world, KIND_QUOTA,
                                          world_platform_ref(world)));
}

/* Could an instance of the class be on the card? */
static bool
takes(const struct class *class, const struct card *card)
{
    return (class->vendor[0] == '\0' ||
            strcmp(class->vendor, card->vendor) == 0) &&
           (class->model[0] == '\0' ||
            strcmp(class->model, card->model) == 0);
}

/* Is there a card of the class on the node, or does it need none?  What is
 * booked there keeps CPU and memory too. */
static bool
may_be_on(const struct world *world, const struct workload *workload,
          struct ref node)
{
    const struct class *class = world_class(world, workload->class);

    if (class == NULL)
        return false;
    if (class->form == FORM_WHOLE && class->count == 0)
        return true;
    world_each_child(world, KIND_CARD, node, ref)
        if (takes(class, world_card(world, ref)))
            return true;
    return false;
}

/* Is something kept that the work could use: a part of a node, or quota? */
static bool
is_in_reach(const struct world *world, const struct workload *copies,
            size_t count, uint64_t pools, struct ref owner)
{
    if (booking_concerns_all(world) ||
        ref_equal(world_scope(world, owner), copies->object.scope))
        return true;
    world_each_child(world, KIND_BOOKING, owner, ref) {
        const struct booking *booking = world_booking(world, ref);

        if ((booking_pools(world, booking) & pools) == 0)
            continue;
        for (size_t i = 0; i < count; i++)
            if (may_be_on(world, &copies[i],
                          world_parent(world, booking->card)))
                return true;
    }
    return false;
}

uint64_t
booking_bit(struct ref owner)
{
    return UINT64_C(1) << (owner.index % 64);
}

uint64_t
booking_near(const struct world *world, const struct workload *copies,
             size_t count, uint64_t pools, const struct booking_bars *bars)
{
    uint64_t bits = 0;

    for (size_t i = 0; i < bars->near_count; i++)
        if ((bits & booking_bit(bars->near[i])) == 0 &&
            is_in_reach(world, copies, count, pools, bars->near[i]))
            bits |= booking_bit(bars->near[i]);
    return bits;
}
