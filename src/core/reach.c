/* SPDX-License-Identifier: Apache-2.0 */
#include "core/reach.h"

struct ref
reach_group(const struct reach *reach)
{
    return world_parent(reach->world, reach->member);
}

/* On to the first grant of a further group, when this list is at its end. */
static void
settle(struct reach *reach)
{
    while (ref_is_none(reach->grant)) {
        reach->member =
            ref_is_none(reach->member)
                ? world_first_index(reach->world, KIND_MEMBER, 0,
                                    reach->subject)
                : world_next_index(reach->world, 0, reach->member);
        if (ref_is_none(reach->member))
            return;
        reach->grant = world_first_index(reach->world, KIND_GRANT, 0,
                                         reach_group(reach));
    }
}

struct reach
reach_first(const struct world *world, struct ref subject)
{
    struct reach reach = { .world = world, .subject = subject };

    reach.grant = world_first_index(world, KIND_GRANT, 0, subject);
    settle(&reach);
    return reach;
}

void
reach_next(struct reach *reach)
{
    reach->grant = world_next_index(reach->world, 0, reach->grant);
    settle(reach);
}

bool
reach_is_in(const struct world *world, struct ref subject, struct ref group)
{
    if (ref_equal(subject, group))
        return true;
    world_each_index(world, KIND_MEMBER, 0, subject, ref)
        if (ref_equal(world_parent(world, ref), group))
            return true;
    return false;
}
