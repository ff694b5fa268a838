/* SPDX-License-Identifier: Apache-2.0 */
#include "core/evaluate_private.h"

/* The nomination of work of a lower priority in its own tenant. */

/* Does this nomination have to give way to the workload: one of its own
 * tenant with a lower priority? */
static bool
gives_way(const struct look *look, struct ref nominee)
{
    const struct world *world = look->estate->world;
    const struct workload *other = world_workload(world, nominee);
    const struct priority *theirs = world_priority(world, other->priority);
    const struct priority *own =
        world_priority(world, look->workload->priority);

    return !ref_equal(nominee, look->workload->object.self) &&
           ref_equal(other->object.scope, look->workload->object.scope) &&
           own != NULL && (theirs == NULL || theirs->value < own->value);
}

/* What the workload gets when a nominee's parts count as its own: its right is
 * another then, and with it what is booked before it. */
static bool
try_from(struct look *look, struct ref nominee,
         struct evaluation *evaluation)
{
    struct placement placement;
    struct option *option;
    bool found = false;

    booking_bar(look->estate, &look->bars, -1);
    estate_own(look->estate, nominee, true);
    evaluate_all(look);
    if (evaluate_now(look, evaluation)) {
        found = true;
    } else if ((option = evaluate_nominee(look, &placement)) != NULL) {
        evaluation->act = ACT_NOMINATE;
        evaluation->demand = option->demand;
        evaluation->request = option->request;
        evaluation->plan = (struct reclaim_plan){ .placement = placement };
        found = true;
    }
    if (found) {
        evaluation->from = nominee;
        evaluation->right = look->right;
    }
    booking_bar(look->estate, &look->bars, -1);
    estate_own(look->estate, nominee, false);
    evaluate_all(look);
    return found;
}

/* The first nomination after this one, by its holds, that has to give way. */
static struct ref
next_nominee(const struct look *look, uint64_t after)
{
    const struct estate *estate = look->estate;
    struct ref tenant = look->workload->object.scope, next = { 0 };
    uint64_t best = UINT64_MAX;

    for (uint32_t at = estate_first_held(estate, tenant); at != ESTATE_NONE;
         at = estate->runs[at].next_held) {
        const struct run *run = &estate->runs[at];
        uint64_t seq = world_object(estate->world, run->first_hold)->seq;

        if (seq <= after || seq >= best || !gives_way(look, run->workload))
            continue;
        best = seq;
        next = run->workload;
    }
    return next;
}

bool
evaluate_transfer(struct look *look, struct evaluation *evaluation)
{
    const struct world *world = look->estate->world;
    struct ref nominee = { 0 };
    uint64_t after = 0;

    /* Its own failed nomination ends first. */
    if (look->nominated)
        return false;
    while (!ref_is_none(nominee = next_nominee(look, after))) {
        if (try_from(look, nominee, evaluation))
            return true;
        after = world_object(world, world_first_child(world, KIND_HOLD,
                                                      nominee))
                    ->seq;
    }
    return false;
}
