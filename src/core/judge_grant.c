/* SPDX-License-Identifier: Apache-2.0 */
#include "core/judge.h"

#include "core/network.h"
#include "core/workorder.h"

/* A grant's own conditions. */

/* Is the object one of the grant's devices, or below one, or the work order
 * itself with what it is to show? */
static bool
is_on_device(const struct question *question, const struct grant *grant)
{
    const struct opdocument *text =
        world_opdocument(question->world, question->object);

    if (text != NULL && text->audience != AUDIENCE_VENDOR)
        return false;
    for (unsigned i = 0; i < question->depth; i++) {
        struct ref at = question->path[i];
        const struct object *object = world_object(question->world, at);

        if (!ref_is_none(grant->workorder) &&
            ref_equal(at, grant->workorder))
            return true;
        if ((at.kind == KIND_NODE || at.kind == KIND_CARD) &&
            schema_lists_id(grant->devices, (enum kind)at.kind, object->id))
            return true;
    }
    return false;
}

const char *
judge_conditions(const struct question *question, const struct grant *grant)
{
    if (question->now_ms < grant->from_ms)
        return "not valid yet";
    if (grant->to_ms != 0 && question->now_ms >= grant->to_ms)
        return "expired";
    if (!question->actor->supposed &&
        !network_match(grant->sources, question->actor->source))
        return "not from this network";
    if (!ref_is_none(grant->workorder) &&
        !workorder_is_open(question->world, grant->workorder,
                           question->now_ms))
        return "the work order is not open";
    if (grant->devices != NULL && !is_on_device(question, grant))
        return "not one of the devices";
    if (grant->factor && question->key != NULL)
        return "a key shows no second factor";
    return "";
}

bool
judge_bounds(const struct world *world, const struct grant *grant)
{
    struct ref home = world_object(world, grant->subject)->scope;

    return home.kind == KIND_PLATFORM ||
           ref_equal(home, grant->object.scope);
}
