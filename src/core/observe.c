/* SPDX-License-Identifier: Apache-2.0 */
#include "core/observe.h"

#include <stdio.h>
#include <string.h>

#include "core/alarm.h"
#include "core/cut.h"
#include "core/fence.h"
#include "core/interference.h"
#include "core/lifecycle.h"
#include "core/observe_cards.h"
#include "core/observe_health.h"
#include "core/orphan.h"
#include "core/refusal.h"
#include "core/usage.h"

/* A node's clock and the platform's differ by no more than this. */
#define CLOCK_SLACK_MS 60000
#define EXIT_UNKNOWN 137

static const struct node *
get_node(const struct changes *changes, struct ref ref)
{
    return change_get(changes, ref);
}

static const struct instance *
get_instance(const struct changes *changes, struct ref ref)
{
    return change_get(changes, ref);
}

/* --- instances --- */

/* The node's own instance in that incarnation.  *late_out: it was, or is over
 * already, and nothing is wrong with hearing of it. */
static struct ref
find_instance(struct changes *changes, struct ref node, const char *text,
              int64_t incarnation, bool *late_out)
{
    const struct schema *schema = schema_get(KIND_INSTANCE);
    struct ref ref = { 0 };
    const struct instance *instance;
    struct id id;

    *late_out = false;
    if (id_parse(schema->prefix, text, &id) == 0)
        ref = world_find(changes->world, KIND_INSTANCE, id);
    instance = ref_is_none(ref) ? NULL : get_instance(changes, ref);
    if (instance == NULL || !ref_equal(instance->node, node)) {
        alarm_raise(changes, node, "report.instance",
                    "the node reports instance %s, which is not assigned to "
                    "it",
                    text);
        return (struct ref){ 0 };
    }
    if (incarnation > instance->incarnation) {
        alarm_raise(changes, node, "report.incarnation",
                    "the node reports incarnation %lld of instance %s; only "
                    "%lld was ordered",
                    (long long)incarnation, text,
                    (long long)instance->incarnation);
        return (struct ref){ 0 };
    }
    *late_out = incarnation < instance->incarnation ||
                instance->state == INSTANCE_RELEASED;
    return ref;
}

/* CPU time above what all of the node's CPUs had since the assignment is a
 * lie or a fault. */
static size_t
check_cpu(struct changes *changes, struct ref node,
          const struct instance *instance, const struct report_instance *fact)
{
    int64_t wall_ms = changes->context.now_ms - instance->assigned_ms;
    int64_t cpus = get_node(changes, node)->cpu_milli / 1000 + 1;

    wall_ms = (wall_ms > 0 ? wall_ms : 0) + CLOCK_SLACK_MS;
    if (fact->cpu_us / 1000 / cpus <= wall_ms)
        return 0;
    alarm_raise(changes, node, "report.inflated",
                "the node reports %lld us of CPU time of instance %s, more "
                "than it can have had",
                (long long)fact->cpu_us, fact->instance);
    return 1;
}

static void
take_checkpoint(struct changes *changes, struct ref ref,
                const struct report_instance *fact)
{
    const struct instance *instance = get_instance(changes, ref);
    const struct workload *workload =
        change_get(changes, instance->object.parent);
    int64_t time_ms = fact->checkpoint_ms;

    if (fact->checkpoint_step < 0 || workload == NULL)
        return;
    /* It cannot have been seen before the start nor later than now. */
    if (time_ms > changes->context.now_ms)
        time_ms = changes->context.now_ms;
    if (time_ms < instance->assigned_ms)
        time_ms = instance->assigned_ms;
    if (fact->checkpoint_step == workload->checkpoint_step &&
        time_ms <= workload->checkpoint_ms)
        return;
    lifecycle_checkpoint(changes, ref, fact->checkpoint_step, time_ms);
}

static bool
has_run(const struct instance *instance)
{
    return instance->started_ms != 0;
}

static bool
is_over(const struct instance *instance)
{
    return instance->state == INSTANCE_EXITED ||
           instance->state == INSTANCE_RELEASED;
}

static void
take_running(struct changes *changes, struct ref ref)
{
    if (get_instance(changes, ref)->state == INSTANCE_LOST)
        lifecycle_back(changes, ref);
    if (!has_run(get_instance(changes, ref))) {
        refusal_forget(changes, get_instance(changes, ref)->node);
        lifecycle_started(changes, ref);
    }
}

/* The end says also that it ran, when nobody saw that in between. */
static void
take_exit(struct changes *changes, struct ref ref, int64_t exit_code,
          bool oom)
{
    if (!has_run(get_instance(changes, ref)))
        lifecycle_started(changes, ref);
    lifecycle_exited(changes, ref, exit_code, oom);
}

static void
take_gone(struct changes *changes, struct ref node, struct ref ref,
          const char *text)
{
    if (is_over(get_instance(changes, ref)))
        return;
    alarm_raise(changes, node, "instance.vanished",
                "the node does not have instance %s any more", text);
    if (has_run(get_instance(changes, ref)))
        lifecycle_exited(changes, ref, EXIT_UNKNOWN, false);
    else
        lifecycle_start_failed(changes, ref,
                               "the node removed it before it ran");
}

/* The node stopped it, and says why. */
static void
take_reason(struct changes *changes, struct ref ref,
            const struct report_instance *fact)
{
    const struct instance *present = get_instance(changes, ref);
    struct instance *instance;

    if (present->state != INSTANCE_EXITED || present->failure[0] != '\0' ||
        fact->failure[0] == '\0' || fact->exit_code == 0)
        return;
    instance = change_update(changes, ref);
    (void)snprintf(instance->failure, sizeof(instance->failure), "%s",
                   fact->failure);
}

static void
take_state(struct changes *changes, struct ref node, struct ref ref,
           const struct report_instance *fact)
{
    if (is_over(get_instance(changes, ref)))
        return;
    switch (fact->state) {
    case REPORT_PREPARING:
    case REPORT_STARTING:
        if (get_instance(changes, ref)->state == INSTANCE_ASSIGNED)
            lifecycle_starting(changes, ref);
        break;
    case REPORT_RUNNING:
        take_running(changes, ref);
        break;
    case REPORT_EXITED:
        take_exit(changes, ref, fact->exit_code, fact->oom);
        take_reason(changes, ref, fact);
        break;
    case REPORT_START_FAILED:
        refusal_count(changes, ref);
        lifecycle_start_failed(changes, ref, fact->failure);
        break;
    case REPORT_GONE:
        take_gone(changes, node, ref, fact->instance);
        break;
    }
}

/* What is somebody else's is no orphan: then the node lies. */
static bool
is_orphan(const struct changes *changes, struct ref node, const char *text,
          int64_t incarnation)
{
    return orphan_expected(changes->world) &&
           orphan_is(changes->world, node, text, incarnation);
}

static const char *
said(const char *text)
{
    return text != NULL ? text : "";
}

/* Which of the machine's CPUs and memory it has. */
static void
take_place(struct changes *changes, struct ref ref,
           const struct report_instance *fact)
{
    const struct instance *present = get_instance(changes, ref);
    struct instance *instance;

    if (is_over(present) ||
        (strcmp(present->cpus, said(fact->cpus)) == 0 &&
         strcmp(present->mems, said(fact->mems)) == 0 &&
         strcmp(present->nics, said(fact->nics)) == 0 &&
         present->pinned == fact->pinned))
        return;
    instance = change_update(changes, ref);
    (void)snprintf(instance->cpus, sizeof(instance->cpus), "%s",
                   said(fact->cpus));
    (void)snprintf(instance->mems, sizeof(instance->mems), "%s",
                   said(fact->mems));
    (void)snprintf(instance->nics, sizeof(instance->nics), "%s",
                   said(fact->nics));
    instance->pinned = fact->pinned;
}

static size_t
observe_instance(struct changes *changes, struct ref node,
                 const struct report_instance *fact)
{
    bool late;
    struct ref ref;
    size_t refused;

    if (is_orphan(changes, node, fact->instance, fact->incarnation))
        return 0;
    ref = find_instance(changes, node, fact->instance, fact->incarnation,
                        &late);
    if (ref_is_none(ref))
        return 1;
    if (late)
        return 0;
    refused = check_cpu(changes, node, get_instance(changes, ref), fact);
    take_checkpoint(changes, ref, fact);
    take_state(changes, node, ref, fact);
    take_place(changes, ref, fact);
    return refused;
}

static bool
is_listed(const struct report *report, const char *text)
{
    for (size_t i = 0; i < report->instance_count; i++)
        if (strcmp(report->instances[i].instance, text) == 0)
            return true;
    for (size_t i = 0; i < report->release_count; i++)
        if (strcmp(report->releases[i].instance, text) == 0)
            return true;
    return false;
}

/* What ran and is in no list has vanished; what was only ordered may not have
 * reached the node yet. */
static void
find_vanished(struct changes *changes, struct ref node,
              const struct report *report)
{
    world_each_index(changes->world, KIND_INSTANCE, 0, node, ref) {
        const struct instance *instance = get_instance(changes, ref);
        char text[ID_TEXT_MAX];

        if (instance == NULL || is_over(instance) || !has_run(instance))
            continue;
        id_format(schema_get(KIND_INSTANCE)->prefix, instance->object.id,
                  text);
        if (!is_listed(report, text))
            take_gone(changes, node, ref, text);
    }
}

static size_t
observe_instances(struct changes *changes, struct ref node,
                  const struct report *report)
{
    size_t refused = 0;

    for (size_t i = 0; i < report->instance_count; i++)
        refused += observe_instance(changes, node, &report->instances[i]);
    if (report->instances_known) {
        find_vanished(changes, node, report);
        if (orphan_expected(changes->world))
            orphan_observe(changes, node, report);
    }
    if (report->instances_known && refused == 0) {
        alarm_clear(changes, node, "report.instance");
        alarm_clear(changes, node, "report.incarnation");
    }
    return refused;
}

/* --- releases --- */

static bool
names_card(const struct report_release *fact, const char *uuid)
{
    for (size_t i = 0; i < fact->card_count; i++)
        if (strcmp(fact->cards[i], uuid) == 0)
            return true;
    return false;
}

/* Are the cards that were looked at exactly those that it holds? */
static bool
are_its_cards(const struct changes *changes, struct ref ref,
              const struct report_release *fact)
{
    size_t held = 0;

    world_each_child(changes->world, KIND_BINDING, ref, binding_ref) {
        const struct binding *binding = change_get(changes, binding_ref);
        const struct card *card;
        char part[CUT_PART_MAX];

        if (binding == NULL || binding->to_ms != 0)
            continue;
        card = change_get(changes, binding->card);
        if (card == NULL ||
            !names_card(fact, cut_part(part, card->uuid, binding->slice)))
            return false;
        held++;
    }
    return held == fact->card_count;
}

static size_t
observe_release(struct changes *changes, struct ref node,
                const struct report_release *fact)
{
    bool late;
    const struct instance *instance;
    struct ref ref;

    if (is_orphan(changes, node, fact->instance, fact->incarnation))
        return 0;
    ref = find_instance(changes, node, fact->instance, fact->incarnation,
                        &late);
    if (ref_is_none(ref))
        return 1;
    if (late)
        return 0;
    instance = get_instance(changes, ref);
    if ((instance->state != INSTANCE_EXITED &&
         instance->want != WANT_STOP) ||
        !are_its_cards(changes, ref, fact)) {
        alarm_raise(changes, node, "report.release",
                    "the node confirms a release of instance %s that is not "
                    "due",
                    fact->instance);
        return 1;
    }
    lifecycle_released(changes, ref);
    observe_health_left(changes, instance->object.parent);
    return 0;
}

/* --- volumes --- */

static void
set_volume(struct changes *changes, struct ref ref, int state,
           const char *failure)
{
    struct volume *volume = change_update(changes, ref);

    volume->state = state;
    (void)snprintf(volume->failure, sizeof(volume->failure), "%s", failure);
}

static size_t
observe_volume(struct changes *changes, struct ref node,
               const struct report_volume *fact)
{
    const struct schema *schema = schema_get(KIND_VOLUME);
    struct ref ref = { 0 };
    const struct volume *volume;
    struct id id;

    if (id_parse(schema->prefix, fact->volume, &id) == 0)
        ref = world_find(changes->world, KIND_VOLUME, id);
    volume = ref_is_none(ref) ? NULL : change_get(changes, ref);
    if (volume == NULL)
        return 0; /* its removal was confirmed before */
    if (!ref_equal(volume->node, node)) {
        alarm_raise(changes, node, "report.volume",
                    "the node reports volume %s, which is not on it",
                    fact->volume);
        return 1;
    }
    if (fact->state == REPORT_VOLUME_READY && volume->state == VOLUME_NEW)
        set_volume(changes, ref, VOLUME_READY, "");
    else if (fact->state == REPORT_VOLUME_FAILED &&
             volume->state == VOLUME_NEW)
        set_volume(changes, ref, VOLUME_FAILED, fact->failure);
    else if (fact->state == REPORT_VOLUME_REMOVED &&
             volume->state == VOLUME_DELETING)
        change_delete(changes, ref);
    return 0;
}

/* --- all of it --- */

size_t
observe_report(struct changes *changes, struct ref node,
               const struct report *report)
{
    size_t refused = 0;

    if (report->inventory != NULL)
        refused += observe_cards_inventory(changes, node,
                                           report->inventory);
    refused += observe_health_looks(changes, node, report);
    refused += observe_instances(changes, node, report);
    interference_observe(changes, node, report);
    for (size_t i = 0; i < report->release_count; i++)
        refused += observe_release(changes, node, &report->releases[i]);
    for (size_t i = 0; i < report->scrub_count; i++)
        refused += observe_cards_scrub(changes, node, &report->scrubs[i]);
    for (size_t i = 0; i < report->volume_count; i++)
        refused += observe_volume(changes, node, &report->volumes[i]);
    fence_observe(changes, node, report);
    if (report->ready && report->instances_known &&
        !fence_holds(get_node(changes, node), NULL))
        observe_seen(changes, node);
    return refused;
}

void
observe_seen(struct changes *changes, struct ref node)
{
    const struct node *present = get_node(changes, node);
    struct node *image;

    if (present->state != NODE_LOST)
        return;
    usage_cut_node(changes, node);
    image = change_update(changes, node);
    image->state = image->resume;
    image->fenced_ms = 0;
    image->fence_reason[0] = '\0';
    alarm_clear(changes, node, "node.lost");
    alarm_clear(changes, node, "node.fenced");
}

void
observe_lost(struct changes *changes, struct ref node)
{
    const struct node *present = get_node(changes, node);
    struct node *image;

    if (present->state == NODE_LOST)
        return;
    usage_cut_node(changes, node);
    image = change_update(changes, node);
    image->resume = image->state;
    image->state = NODE_LOST;
    alarm_raise(changes, node, "node.lost",
                "the node has been silent for longer than its lease");
    lifecycle_lost(changes, node);
}
