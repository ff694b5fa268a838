/* SPDX-License-Identifier: Apache-2.0 */
#include "core/refusal.h"

#include "core/alarm.h"
#include "core/usage.h"

static void
cordon(struct changes *changes, struct ref ref)
{
    struct node *node;

    usage_cut_node(changes, ref);
    node = change_update(changes, ref);
    alarm_raise(changes, ref, "node.refuses",
                "%lld starts of several tenants failed on the node one after "
                "the other; it takes no work until somebody says so",
                (long long)node->refusals);
    node->state = NODE_CORDONED;
    /* Whoever opens it again gives it a new row. */
    node->refusals = 0;
}

void
refusal_count(struct changes *changes, struct ref instance_ref)
{
    const struct instance *instance = change_get(changes, instance_ref);
    const struct object *project = change_get(changes, instance->project);
    const struct tenant *tenant =
        project == NULL ? NULL : change_get(changes, project->scope);
    struct node *node;

    if (tenant == NULL || change_get(changes, instance->node) == NULL)
        return;
    node = change_update(changes, instance->node);
    if (node->refusals == 0) {
        node->refused_tenant = tenant->number;
        node->refused_several = false;
    } else if (node->refused_tenant != tenant->number) {
        node->refused_several = true;
    }
    node->refusals++;
    if (node->refused_several && node->refusals >= REFUSAL_ROW_MAX &&
        node->state == NODE_SCHEDULABLE)
        cordon(changes, instance->node);
    else if (node->refusals == REFUSAL_ROW_OF_ONE)
        alarm_raise(changes, instance->node, "node.refuses",
                    "%d starts of one tenant failed on the node one after "
                    "the other",
                    REFUSAL_ROW_OF_ONE);
}

void
refusal_forget(struct changes *changes, struct ref ref)
{
    const struct node *present = change_get(changes, ref);

    if (present == NULL)
        return;
    alarm_clear(changes, ref, "node.refuses");
    if (present->refusals == 0)
        return;
    ((struct node *)change_update(changes, ref))->refusals = 0;
}
