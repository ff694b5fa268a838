/* SPDX-License-Identifier: Apache-2.0 */
#include "core/drain.h"

#include "core/lifecycle.h"
#include "core/submit.h"
#include "core/usage.h"

static bool
is_leaving(const struct workload *workload)
{
    return workload->state == WORKLOAD_CANCELLING ||
           workload->state == WORKLOAD_PREEMPTING;
}

/* Is there something to be done about it? */
static bool
is_meant(const struct workload *workload, enum drain how)
{
    if (lifecycle_is_over(workload->state) ||
        workload->state == WORKLOAD_CANCELLING)
        return false;
    if (how == DRAIN_END)
        return true;
    return lifecycle_is_live(workload->state) && !is_leaving(workload);
}

static int
drain_project(const struct granted *granted, struct changes *changes,
              struct ref project, enum drain how, const char *reason,
              size_t most,
              struct drained *out, struct error *err)
{
    world_each_child(changes->world, KIND_WORKLOAD, project, ref) {
        const struct workload *workload = world_workload(changes->world, ref);
        int result;

        if (is_leaving(workload))
            out->leaving++;
        if (!is_meant(workload, how))
            continue;
        if (out->stopped == most) {
            out->left++;
            continue;
        }
        result = how == DRAIN_END
                     ? submit_cancel(granted, changes, ref, err)
                     : submit_take_off(granted, changes, ref, reason, err);
        if (result != 0)
            return -1;
        out->leaving +=
            lifecycle_is_live(workload->state) && !is_leaving(workload);
        out->stopped++;
    }
    return 0;
}

int
drain_node(const struct granted *granted, struct changes *changes,
           struct ref node, enum drain how, const char *reason, size_t most,
           struct drained *out, struct error *err)
{
    *out = (struct drained){ 0 };
    if (schema_check_text("/reason", reason, 201, err) < 0)
        return -1;
    world_each(changes->world, KIND_PROJECT, project)
        if (world_is_below(changes->world, project, node) &&
            drain_project(granted, changes, project, how, reason, most, out,
                          err) != 0)
            return -1;
    return 0;
}

/* --- of a node --- */

static int
check_machine(const struct node *node, struct error *err)
{
    if (node->state == NODE_LOST) {
        (void)error_set(err, ERROR_CONFLICT,
                        "node %s is lost: nothing on it can be told to go",
                        node->object.name);
        return error_help(err, "wait for its agent, or `bulkhead fence node "
                               "%s` when it is off",
                          node->object.name);
    }
    if (node->state == NODE_MAINTENANCE) {
        (void)error_set(err, ERROR_CONFLICT,
                        "node %s is in its maintenance: it takes no work",
                        node->object.name);
        return error_help(err, "`bulkhead release workload` takes what is "
                               "left off its cards");
    }
    return 0;
}

/* Work with several instances there is told once. */
static bool
is_to_leave(const struct changes *changes, struct ref ref,
            enum drain_policy policy)
{
    const struct instance *instance = change_get(changes, ref);
    const struct workload *workload;

    if (instance == NULL || instance->state == INSTANCE_RELEASED)
        return false;
    workload = change_get(changes, instance->object.parent);
    return workload != NULL && lifecycle_is_current(workload, instance) &&
           is_meant(workload, DRAIN_WAIT) &&
           (policy == DRAIN_MOVE || workload->preemptible);
}

int
drain_machine(const struct granted *granted, struct changes *changes,
              struct ref ref, enum drain_policy policy, const char *reason,
              struct error *err)
{
    const struct node *present = world_node(changes->world, ref);

    if (schema_check_text("/reason", reason, 201, err) < 0 ||
        check_machine(present, err) != 0)
        return -1;
    if (present->state != NODE_DRAINING) {
        usage_cut_node(changes, ref);
        ((struct node *)change_update(changes, ref))->state = NODE_DRAINING;
    }
    if (policy == DRAIN_FINISH)
        return 0;
    world_each_index(changes->world, KIND_INSTANCE, 0, ref, at)
        if (is_to_leave(changes, at, policy) &&
            submit_take_off(granted, changes,
                            world_parent(changes->world, at), reason, err) !=
                0)
            return -1;
    return 0;
}
