/* SPDX-License-Identifier: Apache-2.0 */
#include "core/estate_private.h"
#include "core/lifecycle.h"

/*
 * A card failed under a workload: it ends, one instance after the other, and is
 * to start again as a whole.  Until the last one is gone, what the others gave
 * back stays its own: parts and quota.  Then it waits, and goes first.
 */

bool
estate_keeps(const struct workload *workload)
{
    return workload != NULL && workload->replacing_ms != 0 &&
           (workload->state == WORKLOAD_ASSIGNED ||
            workload->state == WORKLOAD_STARTING ||
            workload->state == WORKLOAD_RUNNING);
}

/* Given back in the attempt that is ending. */
static bool
is_kept(const struct world *world, const struct binding *binding)
{
    const struct workload *workload = world_workload(world, binding->workload);
    const struct instance *instance =
        world_instance(world, binding->object.parent);

    return binding->to_ms != 0 && binding->slice[0] == '\0' &&
           estate_keeps(workload) && instance != NULL &&
           instance->attempt == workload->attempt &&
           !lifecycle_has_left(instance);
}

void
estate_kept_derive(const struct estate *estate, struct part *part)
{
    /* A card has all bindings of a day: they are read for somebody alone. */
    if (estate->inside->keepers.count == 0)
        return;
    world_each_index(estate->world, KIND_BINDING, 0, part->card, ref) {
        const struct binding *binding = world_binding(estate->world, ref);

        if (!is_kept(estate->world, binding) ||
            part->used_milli + part->held_milli + binding->milli > 1000)
            continue;
        part->held_milli += binding->milli;
        part->held_memory_mib += binding->memory_mib;
        part->hold_tenant = binding->object.scope;
    }
}

bool
estate_kept_demand(const struct estate *estate,
                   const struct workload *workload, struct demand *demand_out)
{
    const struct world *world = estate->world;
    bool any = false;

    *demand_out = (struct demand){ .project = workload->object.parent,
                                   .class = workload->class,
                                   .asked_pool = workload->pool,
                                   .user = workload->user };
    if (!estate_keeps(workload))
        return false;
    world_each_child(world, KIND_INSTANCE, workload->object.self, ref) {
        const struct instance *instance = world_instance(world, ref);

        if (instance->attempt != workload->attempt ||
            instance->state != INSTANCE_RELEASED ||
            lifecycle_has_left(instance))
            continue;
        any = true;
        quota_demand_instance(world, instance, demand_out);
        world_each_child(world, KIND_BINDING, ref, at)
            quota_demand_binding(world_binding(world, at), demand_out);
    }
    return any;
}

/* Few do at a time. */
static void
take_out(struct marks *keepers, uint32_t index)
{
    size_t at = 0;

    if (index >= keepers->flag_room || keepers->flags[index] == 0)
        return;
    while (keepers->list[at] != index)
        at++;
    keepers->list[at] = keepers->list[--keepers->count];
    keepers->flags[index] = 0;
}

void
estate_kept_load(struct estate *estate, struct ref ref)
{
    struct marks *keepers = &estate->inside->keepers;

    if (estate_keeps(world_workload(estate->world, ref)))
        estate_mark(estate, keepers, ref.index);
    else
        take_out(keepers, ref.index);
}

void
estate_kept_note(struct estate *estate, struct ref ref)
{
    const struct workload *workload = world_workload(estate->world, ref);

    estate_kept_load(estate, ref);
    if (workload == NULL || workload->replacing_ms == 0)
        return;
    world_each_child(estate->world, KIND_INSTANCE, ref, child) {
        const struct instance *instance =
            world_instance(estate->world, child);

        if (instance->attempt == workload->attempt)
            estate_mark_site(estate, instance->node);
    }
}
