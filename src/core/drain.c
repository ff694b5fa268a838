/* SPDX-License-Identifier: Apache-2.0 */
#include "core/drain.h"

#include "core/lifecycle.h"
#include "core/submit.h"

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
