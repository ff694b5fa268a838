/* SPDX-License-Identifier: Apache-2.0 */
#include "core/guard.h"

static const struct guard *
guard_on(const struct world *world, enum verb verb)
{
    if (world_count(world, KIND_GUARD) == 0)
        return NULL;
    return world_guard(world, world_find_name(world, KIND_GUARD,
                                              world_platform_ref(world),
                                              verb_name(verb)));
}

int64_t
guard_people(const struct world *world, enum verb verb)
{
    const struct guard *guard = guard_on(world, verb);
    enum verb_guard shipped = verb_guard(verb);
    int64_t people =
        shipped == VERB_GUARD_SECOND || shipped == VERB_GUARD_BOTH ? 1 : 0;

    return guard != NULL && guard->approvers > people ? guard->approvers
                                                      : people;
}

bool
guard_step_up(const struct world *world, enum verb verb)
{
    const struct guard *guard = guard_on(world, verb);
    enum verb_guard shipped = verb_guard(verb);

    return shipped == VERB_GUARD_STEP_UP || shipped == VERB_GUARD_BOTH ||
           (guard != NULL && guard->step_up);
}

bool
guard_fits(enum verb verb)
{
    enum kind kind = verb_kind(verb);

    return verb_writes(verb) && !verb_is(verb, VERB_AGENT) &&
           kind != KIND_APPROVAL && kind != KIND_BREAKGLASS &&
           kind != KIND_SESSION && verb != VERB_WORKORDER_CLOSE;
}
