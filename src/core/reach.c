/* SPDX-License-Identifier: Apache-2.0 */
#include "core/reach.h"

struct ref
reach_group(const struct reach *reach)
{
    return world_parent(reach->world, reach->member);
}

static bool
is_over(const struct reach *reach)
{
    const struct membership *member =
        world_membership(reach->world, reach->member);

    return member->to_ms != 0 && member->to_ms <= reach->now_ms;
}

/* The line that it stands at; on to the first of a further group, when this
 * list is at its end. */
static void
settle(struct reach *reach)
{
    const struct holding *line;

    while (reach->list == NULL || reach->at == reach->list->count) {
        reach->member =
            ref_is_none(reach->member)
                ? world_first_index(reach->world, KIND_MEMBER, 0,
                                    reach->subject)
                : world_next_index(reach->world, 0, reach->member);
        reach->grant = (struct ref){ 0 };
        if (ref_is_none(reach->member))
            return;
        reach->at = 0;
        reach->list = NULL;
        if (is_over(reach))
            continue;
        reach->holder = reach_group(reach);
        reach->list = world_holdings(reach->world, reach->holder);
    }
    line = &reach->list->lines[reach->at];
    reach->grant = (struct ref){ KIND_GRANT, line->grant };
    reach->node = (struct ref){ line->node_kind, line->node };
    reach->role = (struct ref){ KIND_ROLE, line->role };
    reach->whole = line->whole;
}

struct reach
reach_first(const struct world *world, struct ref subject, int64_t now_ms)
{
    struct reach reach = { .world = world, .subject = subject,
                           .now_ms = now_ms, .holder = subject };

    reach.list = world_holdings(world, subject);
    settle(&reach);
    return reach;
}

void
reach_next(struct reach *reach)
{
    reach->at++;
    settle(reach);
}

int64_t
reach_end(const struct reach *reach)
{
    const struct membership *member =
        world_membership(reach->world, reach->member);
    int64_t end_ms = world_grant(reach->world, reach->grant)->to_ms;

    if (member != NULL && member->to_ms != 0 &&
        (end_ms == 0 || member->to_ms < end_ms))
        return member->to_ms;
    return end_ms;
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
