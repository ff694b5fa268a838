/* SPDX-License-Identifier: Apache-2.0 */
#include "core/observe.h"

#include <stdio.h>
#include <string.h>

#include "core/alarm.h"
#include "core/classify.h"
#include "core/lifecycle.h"
#include "core/usage.h"

_Static_assert((int)REPORT_UNKNOWN == (int)HEALTH_UNKNOWN &&
                   (int)REPORT_HEALTHY == (int)HEALTH_HEALTHY &&
                   (int)REPORT_SUSPECT == (int)HEALTH_SUSPECT &&
                   (int)REPORT_DEGRADED == (int)HEALTH_DEGRADED &&
                   (int)REPORT_FAILED == (int)HEALTH_FAILED,
               "the report's words of health are the card's");

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

static const struct card *
get_card(const struct changes *changes, struct ref ref)
{
    return change_get(changes, ref);
}

static bool
replace_text(char *member, size_t room, const char *text)
{
    if (strncmp(member, text, room) == 0)
        return false;
    (void)snprintf(member, room, "%s", text);
    return true;
}

/* --- cards --- */

/* The node's card with that UUID, also one that this set creates. */
static struct ref
find_card(const struct changes *changes, struct ref node, const char *uuid)
{
    for (size_t i = 0; i < changes->count; i++) {
        const struct card *card = changes->list[i].image;

        if (changes->list[i].ref.kind == KIND_CARD && card != NULL &&
            ref_equal(card->object.parent, node) &&
            strcmp(card->uuid, uuid) == 0)
            return changes->list[i].ref;
    }
    world_each_child(changes->world, KIND_CARD, node, ref)
        if (strcmp(world_card(changes->world, ref)->uuid, uuid) == 0)
            return ref;
    return (struct ref){ 0 };
}

static bool
is_elsewhere(const struct world *world, struct ref node, const char *uuid)
{
    world_each(world, KIND_CARD, ref)
        if (strcmp(world_card(world, ref)->uuid, uuid) == 0 &&
            !ref_equal(world_parent(world, ref), node))
            return true;
    return false;
}

/* "cardN" with the first free N; cards of this set are not in the world. */
static void
free_name(const struct changes *changes, struct ref node,
          char name[NAME_MAX_SIZE])
{
    for (unsigned number = 0;; number++) {
        bool taken;

        (void)snprintf(name, NAME_MAX_SIZE, "card%u", number);
        taken = !ref_is_none(
            world_find_name(changes->world, KIND_CARD, node, name));
        for (size_t i = 0; !taken && i < changes->count; i++) {
            const struct object *object = changes->list[i].image;

            taken = changes->list[i].ref.kind == KIND_CARD &&
                    object != NULL && ref_equal(object->parent, node) &&
                    strcmp(object->name, name) == 0;
        }
        if (!taken)
            return;
    }
}

/* What was on a new card before is not known: it is scrubbed first. */
static void
create_card(struct changes *changes, struct ref node,
            const struct report_card *fact, bool simulated)
{
    char name[NAME_MAX_SIZE];
    struct card *card;

    free_name(changes, node, name);
    card = change_create(changes, KIND_CARD, node, name);
    (void)replace_text(card->uuid, sizeof(card->uuid), fact->uuid);
    (void)replace_text(card->vendor, sizeof(card->vendor), fact->vendor);
    (void)replace_text(card->model, sizeof(card->model), fact->model);
    card->memory_mib = fact->memory_mib;
    card->compute_units = fact->compute_units;
    card->simulated = simulated;
    card->handover = HANDOVER_PENDING;
    card->health = HEALTH_UNKNOWN;
    usage_start(changes, card);
}

static void
alarm_health(struct changes *changes, struct ref ref,
             const struct report_card *fact)
{
    static const char *const words[] = { "unknown", "healthy", "suspect",
                                         "degraded", "failed" };

    alarm_clear(changes, ref, "card.health");
    if (fact->health != REPORT_HEALTHY)
        alarm_raise(changes, ref, "card.health", "the card is %s: %s",
                    words[fact->health],
                    fact->health_reason[0] != '\0' ? fact->health_reason
                                                   : "no reason given");
}

static void
alarm_foreign(struct changes *changes, struct ref ref,
              const struct report_card *fact)
{
    if (fact->foreign == 0)
        alarm_clear(changes, ref, "card.foreign");
    else
        alarm_raise(changes, ref, "card.foreign",
                    "%lld processes that the platform did not start are on "
                    "the card, the first is \"%s\"",
                    (long long)fact->foreign, fact->foreign_name);
}

/* Members that metering and placement look at. */
static bool
is_same_state(const struct card *card, const struct report_card *fact)
{
    return card->health == (int)fact->health &&
           card->foreign == (fact->foreign > 0) && !card->missing &&
           strcmp(card->health_reason, fact->health_reason) == 0;
}

static void
update_state(struct changes *changes, struct ref ref,
             const struct report_card *fact)
{
    struct card *card;

    if (is_same_state(get_card(changes, ref), fact))
        return;
    usage_cut(changes, ref);
    card = change_update(changes, ref);
    card->health = (int)fact->health;
    (void)replace_text(card->health_reason, sizeof(card->health_reason),
                       fact->health_reason);
    card->foreign = fact->foreign > 0;
    card->missing = false;
    alarm_health(changes, ref, fact);
    alarm_foreign(changes, ref, fact);
    alarm_clear(changes, ref, "card.missing");
}

/* Members that only describe. */
static void
update_place(struct changes *changes, struct ref ref,
             const struct report_card *fact)
{
    const struct card *present = get_card(changes, ref);
    struct card *card;

    if (strcmp(present->pci, fact->pci) == 0 &&
        strcmp(present->driver, fact->driver) == 0 &&
        strcmp(present->island, fact->island) == 0 &&
        present->numa == fact->numa)
        return;
    card = change_update(changes, ref);
    (void)replace_text(card->pci, sizeof(card->pci), fact->pci);
    (void)replace_text(card->driver, sizeof(card->driver), fact->driver);
    (void)replace_text(card->island, sizeof(card->island), fact->island);
    card->numa = fact->numa;
}

/* A UUID stands for one make: a card that turns into another is not
 * believed. */
static bool
is_same_make(const struct card *card, const struct report_card *fact)
{
    return strcmp(card->vendor, fact->vendor) == 0 &&
           strcmp(card->model, fact->model) == 0 &&
           card->memory_mib == fact->memory_mib;
}

static size_t
observe_card(struct changes *changes, struct ref node,
             const struct report_card *fact, bool simulated)
{
    struct ref ref = find_card(changes, node, fact->uuid);

    if (ref_is_none(ref)) {
        if (is_elsewhere(changes->world, node, fact->uuid)) {
            alarm_raise(changes, node, "report.card",
                        "card %s is known on another node", fact->uuid);
            return 1;
        }
        create_card(changes, node, fact, simulated);
        ref = find_card(changes, node, fact->uuid);
    }
    if (!is_same_make(get_card(changes, ref), fact)) {
        alarm_raise(changes, node, "report.card",
                    "card %s is said to be of another make", fact->uuid);
        return 1;
    }
    update_state(changes, ref, fact);
    update_place(changes, ref, fact);
    return 0;
}

static void
mark_missing(struct changes *changes, struct ref node,
             const struct report_inventory *inventory)
{
    world_each_child(changes->world, KIND_CARD, node, ref) {
        const struct card *card = get_card(changes, ref);
        bool listed = card->missing;

        for (size_t i = 0; i < inventory->card_count && !listed; i++)
            listed = strcmp(card->uuid, inventory->cards[i].uuid) == 0;
        if (listed)
            continue;
        usage_cut(changes, ref);
        ((struct card *)change_update(changes, ref))->missing = true;
        alarm_raise(changes, ref, "card.missing",
                    "the node does not list the card any more");
    }
}

static void
observe_node(struct changes *changes, struct ref ref,
             const struct report_inventory *inventory)
{
    const struct node *present = get_node(changes, ref);
    struct node *node;

    if (present->cpu_milli == inventory->cpu_milli &&
        present->memory_mib == inventory->memory_mib &&
        present->simulated == inventory->simulated &&
        present->facts != NULL &&
        strcmp(present->facts->bytes, inventory->facts) == 0)
        return;
    node = change_update(changes, ref);
    node->cpu_milli = inventory->cpu_milli;
    node->memory_mib = inventory->memory_mib;
    node->simulated = inventory->simulated;
    change_doc(changes, &node->facts, inventory->facts);
}

static void
add_classes(struct changes *changes, const struct report_inventory *inventory)
{
    for (size_t i = 0; i < inventory->card_count; i++) {
        const struct report_card *card = &inventory->cards[i];
        int64_t count = 0;

        for (size_t j = 0; j < inventory->card_count; j++)
            count += strcmp(card->model, inventory->cards[j].model) == 0;
        classify_model(changes, card->vendor, card->model, card->memory_mib,
                       count);
    }
}

static size_t
observe_inventory(struct changes *changes, struct ref node,
                  const struct report_inventory *inventory)
{
    size_t refused = 0;

    observe_node(changes, node, inventory);
    for (size_t i = 0; i < inventory->card_count; i++)
        refused += observe_card(changes, node, &inventory->cards[i],
                                inventory->simulated);
    mark_missing(changes, node, inventory);
    add_classes(changes, inventory);
    return refused;
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
    if (!has_run(get_instance(changes, ref)))
        lifecycle_started(changes, ref);
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
        break;
    case REPORT_START_FAILED:
        lifecycle_start_failed(changes, ref, fact->failure);
        break;
    case REPORT_GONE:
        take_gone(changes, node, ref, fact->instance);
        break;
    }
}

static size_t
observe_instance(struct changes *changes, struct ref node,
                 const struct report_instance *fact)
{
    bool late;
    struct ref ref = find_instance(changes, node, fact->instance,
                                   fact->incarnation, &late);
    size_t refused;

    if (ref_is_none(ref))
        return 1;
    if (late)
        return 0;
    refused = check_cpu(changes, node, get_instance(changes, ref), fact);
    take_checkpoint(changes, ref, fact);
    take_state(changes, node, ref, fact);
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
    if (report->instances_known)
        find_vanished(changes, node, report);
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

        if (binding == NULL || binding->to_ms != 0)
            continue;
        card = get_card(changes, binding->card);
        if (card == NULL || !names_card(fact, card->uuid))
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
    struct ref ref = find_instance(changes, node, fact->instance,
                                   fact->incarnation, &late);
    const struct instance *instance;

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
    return 0;
}

/* --- scrubs --- */

static size_t
observe_scrub(struct changes *changes, struct ref node,
              const struct report_scrub *fact)
{
    struct ref ref = find_card(changes, node, fact->uuid);
    const struct card *present = ref_is_none(ref) ? NULL
                                                  : get_card(changes, ref);
    struct card *card;

    if (present == NULL) {
        alarm_raise(changes, node, "report.card",
                    "the node scrubbed card %s, which is not its own",
                    fact->uuid);
        return 1;
    }
    /* A scrub counts only while nobody can have written behind it. */
    if (present->handover != HANDOVER_PENDING || present->used_milli != 0)
        return 0;
    usage_cut(changes, ref);
    card = change_update(changes, ref);
    card->handover = fact->verified ? HANDOVER_CLEAN : HANDOVER_FAILED;
    if (fact->verified)
        alarm_clear(changes, ref, "card.quarantined");
    else
        alarm_raise(changes, ref, "card.quarantined",
                    "the card's memory could not be cleaned: %s", fact->text);
    return 0;
}

/* --- volumes --- */

static void
set_volume(struct changes *changes, struct ref ref, int state,
           const char *failure)
{
    struct volume *volume = change_update(changes, ref);

    volume->state = state;
    (void)replace_text(volume->failure, sizeof(volume->failure), failure);
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

    observe_seen(changes, node);
    if (report->inventory != NULL)
        refused += observe_inventory(changes, node, report->inventory);
    refused += observe_instances(changes, node, report);
    for (size_t i = 0; i < report->release_count; i++)
        refused += observe_release(changes, node, &report->releases[i]);
    for (size_t i = 0; i < report->scrub_count; i++)
        refused += observe_scrub(changes, node, &report->scrubs[i]);
    for (size_t i = 0; i < report->volume_count; i++)
        refused += observe_volume(changes, node, &report->volumes[i]);
    return refused;
}

void
observe_seen(struct changes *changes, struct ref ref)
{
    const struct node *present = get_node(changes, ref);
    struct node *node;

    if (present->state != NODE_LOST)
        return;
    usage_cut_node(changes, ref);
    node = change_update(changes, ref);
    node->state = node->resume;
    alarm_clear(changes, ref, "node.lost");
}

void
observe_lost(struct changes *changes, struct ref ref)
{
    const struct node *present = get_node(changes, ref);
    struct node *node;

    if (present->state == NODE_LOST)
        return;
    usage_cut_node(changes, ref);
    node = change_update(changes, ref);
    node->resume = node->state;
    node->state = NODE_LOST;
    alarm_raise(changes, ref, "node.lost",
                "the node has been silent for longer than its lease");
    lifecycle_lost(changes, ref);
}
