/* SPDX-License-Identifier: Apache-2.0 */
#include "core/observe_cards.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "core/alarm.h"
#include "core/classify.h"
#include "core/cut.h"
#include "core/fence.h"
#include "core/lifecycle.h"
#include "core/observe_health.h"
#include "core/usage.h"

_Static_assert((int)REPORT_UNKNOWN == (int)HEALTH_UNKNOWN &&
                   (int)REPORT_HEALTHY == (int)HEALTH_HEALTHY &&
                   (int)REPORT_SUSPECT == (int)HEALTH_SUSPECT &&
                   (int)REPORT_DEGRADED == (int)HEALTH_DEGRADED &&
                   (int)REPORT_FAILED == (int)HEALTH_FAILED,
               "the report's words of health are the card's");

static const struct card *
get_card(const struct changes *changes, struct ref ref)
{
    return change_get(changes, ref);
}

static void
replace_text(char *member, size_t room, const char *text)
{
    (void)snprintf(member, room, "%s", text);
}

/* What a report leaves out is not said. */
static const char *
said(const char *text)
{
    return text != NULL ? text : "";
}

struct ref
observe_cards_find(const struct changes *changes, struct ref node,
                   const char *uuid)
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

/* --- how much one node may bring --- */

/* Cards stay known when they are missing, and the classes of their models are
 * there for all: what a node makes up must come to an end. */
#define NODE_CARDS_MAX REPORT_CARDS_MAX
#define NODE_MODELS_MAX 8

struct census {
    size_t cards;
    const char *models[NODE_MODELS_MAX];
    size_t model_count;
};

static bool
has_model(const struct census *census, const char *model)
{
    for (size_t i = 0; i < census->model_count; i++)
        if (strcmp(census->models[i], model) == 0)
            return true;
    return false;
}

static void
count_card(struct census *census, const struct card *card)
{
    census->cards++;
    if (census->model_count < NODE_MODELS_MAX &&
        !has_model(census, card->model))
        census->models[census->model_count++] = card->model;
}

/* Of the node's cards, also those that this set creates. */
static bool
has_room(const struct changes *changes, struct ref node,
         const struct report_card *fact)
{
    struct census census = { 0 };

    world_each_child(changes->world, KIND_CARD, node, ref)
        count_card(&census, world_card(changes->world, ref));
    for (size_t i = 0; i < changes->count; i++) {
        const struct card *card = changes->list[i].image;

        if (changes->list[i].ref.kind == KIND_CARD && card != NULL &&
            changes->list[i].created && ref_equal(card->object.parent, node))
            count_card(&census, card);
    }
    return census.cards < NODE_CARDS_MAX &&
           (census.model_count < NODE_MODELS_MAX ||
            has_model(&census, fact->model));
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
    replace_text(card->uuid, sizeof(card->uuid), fact->uuid);
    replace_text(card->vendor, sizeof(card->vendor), fact->vendor);
    replace_text(card->model, sizeof(card->model), fact->model);
    card->memory_mib = fact->memory_mib;
    card->compute_units = fact->compute_units;
    card->simulated = simulated;
    card->handover = HANDOVER_PENDING;
    card->health = HEALTH_UNKNOWN;
    usage_start(changes, card);
}

/* For the platform's people alone: the alarm is below the card. */
static void
alarm_foreign(struct changes *changes, struct ref ref,
              const struct report_card *fact)
{
    char owner[32] = "an unknown user";

    if (fact->foreign == 0) {
        alarm_clear(changes, ref, "card.foreign");
        return;
    }
    if (fact->foreign_uid >= 0)
        (void)snprintf(owner, sizeof(owner), "uid %lld",
                       (long long)fact->foreign_uid);
    alarm_tell(changes, ref, "card.foreign",
               "%lld processes that the platform did not start are on the "
               "card, the first is pid %lld \"%.63s\" of %s",
               (long long)fact->foreign, (long long)fact->foreign_pid,
               fact->foreign_name, owner);
}

/* What others cut is seen, and nobody is given it or what is beside it. */
static void
alarm_slices(struct changes *changes, struct ref ref,
             const struct report_card *fact)
{
    if (fact->foreign_slices[0] == '\0')
        alarm_clear(changes, ref, "card.slices");
    else
        alarm_tell(changes, ref, "card.slices",
                    "slices that the platform did not make are on the card: "
                    "%s",
                    fact->foreign_slices);
    if (fact->change[0] == '\0' || fact->change_failure[0] == '\0')
        alarm_clear(changes, ref, "card.layout");
    else
        alarm_tell(changes, ref, "card.layout",
                    "a change of the card's layout is not over: %s",
                    fact->change_failure);
}

static bool
is_foreign(const struct report_card *fact)
{
    return fact->foreign > 0 || fact->foreign_slices[0] != '\0';
}

/* A card that is free and in the other mode than it was left in (its node was
 * started anew, say) is scrubbed once more. */
static bool
is_as_wanted(const struct card *card, const struct report_card *fact)
{
    return card->sliced == fact->sliced || card->used_milli != 0 ||
           card->handover != HANDOVER_CLEAN;
}

/* Members that metering and placement look at. */
static bool
is_same_state(const struct card *card, const struct report_card *fact)
{
    return card->foreign == is_foreign(fact) && !card->missing &&
           is_as_wanted(card, fact);
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
    card->foreign = is_foreign(fact);
    card->missing = false;
    if (!is_as_wanted(card, fact))
        card->handover = HANDOVER_PENDING;
    alarm_clear(changes, ref, "card.missing");
}

static void
update_layout(struct changes *changes, struct ref ref,
              const struct report_card *fact)
{
    const struct card *present = get_card(changes, ref);
    struct card *card;

    if (strcmp(present->layout, fact->layout) == 0 &&
        strcmp(present->foreign_slices, fact->foreign_slices) == 0 &&
        strcmp(present->layout_change, fact->change) == 0 &&
        strcmp(present->layout_failure, fact->change_failure) == 0)
        return;
    card = change_update(changes, ref);
    replace_text(card->layout, sizeof(card->layout), fact->layout);
    replace_text(card->foreign_slices, sizeof(card->foreign_slices),
                 fact->foreign_slices);
    replace_text(card->layout_change, sizeof(card->layout_change),
                 fact->change);
    replace_text(card->layout_failure, sizeof(card->layout_failure),
                 fact->change_failure);
    card->clear_foreign =
        card->clear_foreign && card->foreign_slices[0] != '\0';
    alarm_slices(changes, ref, fact);
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
        strcmp(present->firmware, fact->firmware) == 0 &&
        strcmp(present->arch, fact->arch) == 0 &&
        strcmp(present->serial, fact->serial) == 0 &&
        strcmp(present->domain, fact->domain) == 0 &&
        strcmp(present->runtime, said(fact->runtime)) == 0 &&
        strcmp(present->features, said(fact->features)) == 0 &&
        strcmp(present->bus, said(fact->bus)) == 0 &&
        present->numa == fact->numa)
        return;
    card = change_update(changes, ref);
    replace_text(card->pci, sizeof(card->pci), fact->pci);
    replace_text(card->driver, sizeof(card->driver), fact->driver);
    replace_text(card->island, sizeof(card->island), fact->island);
    replace_text(card->firmware, sizeof(card->firmware), fact->firmware);
    replace_text(card->arch, sizeof(card->arch), fact->arch);
    replace_text(card->serial, sizeof(card->serial), fact->serial);
    replace_text(card->domain, sizeof(card->domain), fact->domain);
    replace_text(card->runtime, sizeof(card->runtime), said(fact->runtime));
    replace_text(card->features, sizeof(card->features),
                 said(fact->features));
    replace_text(card->bus, sizeof(card->bus), said(fact->bus));
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
             const struct report_card *fact, bool simulated, bool blind)
{
    struct ref ref = observe_cards_find(changes, node, fact->uuid);

    if (ref_is_none(ref)) {
        if (is_elsewhere(changes->world, node, fact->uuid)) {
            alarm_raise(changes, node, "report.card",
                        "card %s is known on another node", fact->uuid);
            return 1;
        }
        if (!has_room(changes, node, fact)) {
            alarm_raise(changes, node, "report.card",
                        "the node has brought more than %d cards or %d "
                        "models in all: card %s is not taken",
                        NODE_CARDS_MAX, NODE_MODELS_MAX, fact->uuid);
            return 1;
        }
        create_card(changes, node, fact, simulated);
        ref = observe_cards_find(changes, node, fact->uuid);
    }
    if (!is_same_make(get_card(changes, ref), fact)) {
        alarm_raise(changes, node, "report.card",
                    "card %s is said to be of another make", fact->uuid);
        return 1;
    }
    update_state(changes, ref, fact);
    alarm_foreign(changes, ref, fact);
    if (!blind)
        observe_health_said(changes, ref, (int)fact->health,
                            fact->health_reason);
    update_layout(changes, ref, fact);
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
        lifecycle_card_failed(changes, ref);
        alarm_raise(changes, ref, "card.missing",
                    "the node does not list the card any more");
    }
}

static const char *
text_of(const struct blob *document)
{
    return document != NULL ? document->bytes : "";
}

static void
observe_node(struct changes *changes, struct ref ref,
             const struct report_inventory *inventory)
{
    const struct node *present = change_get(changes, ref);
    struct node *node;

    if (present->cpu_milli == inventory->cpu_milli &&
        present->memory_mib == inventory->memory_mib &&
        present->simulated == inventory->simulated &&
        present->facts != NULL &&
        strcmp(present->facts->bytes, inventory->facts) == 0 &&
        strcmp(text_of(present->topology), said(inventory->topology)) == 0)
        return;
    node = change_update(changes, ref);
    node->cpu_milli = inventory->cpu_milli;
    node->memory_mib = inventory->memory_mib;
    node->simulated = inventory->simulated;
    change_doc(changes, &node->facts, inventory->facts);
    change_doc(changes, &node->topology,
               said(inventory->topology)[0] != '\0' ? inventory->topology
                                                    : NULL);
}

/* Those of the model: all, and the most that are linked to each other. */
static void
count_model(const struct report_inventory *inventory, const char *model,
            int64_t *count_out, int64_t *linked_out)
{
    *count_out = *linked_out = 0;
    for (size_t i = 0; i < inventory->card_count; i++) {
        const struct report_card *card = &inventory->cards[i];
        int64_t linked = 0;

        if (strcmp(card->model, model) != 0)
            continue;
        ++*count_out;
        for (size_t j = 0; card->island[0] != '\0' &&
                           j < inventory->card_count; j++)
            linked += strcmp(inventory->cards[j].model, model) == 0 &&
                      strcmp(inventory->cards[j].island, card->island) == 0;
        if (linked > *linked_out)
            *linked_out = linked;
    }
}

static bool
is_first_of_model(const struct report_inventory *inventory, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (strcmp(inventory->cards[i].model, inventory->cards[at].model) ==
            0)
            return false;
    return true;
}

static void
add_classes(struct changes *changes, struct ref node,
            const struct report_inventory *inventory)
{
    for (size_t i = 0; i < inventory->card_count; i++) {
        const struct report_card *card = &inventory->cards[i];
        struct ref ref = observe_cards_find(changes, node, card->uuid);
        struct classify found = { .vendor = card->vendor,
                                  .model = card->model,
                                  .memory_mib = card->memory_mib };

        if (!is_first_of_model(inventory, i) || ref_is_none(ref))
            continue; /* it was refused */
        found.uncut = cut_table(get_card(changes, ref)) == NULL;
        count_model(inventory, card->model, &found.count, &found.linked);
        classify_model(changes, &found);
    }
}

/* None of several cards can tell how it is. */
static bool
is_blind(struct changes *changes, struct ref node,
         const struct report_inventory *inventory)
{
    size_t unseen = 0;
    const char *reason = "";

    for (size_t i = 0; i < inventory->card_count; i++)
        if (inventory->cards[i].health == REPORT_UNKNOWN) {
            reason = inventory->cards[i].health_reason;
            unseen++;
        }
    return inventory->card_count > 0 &&
           observe_health_blind(changes, node, inventory->card_count, unseen,
                                reason);
}

/* A node that lists none of several cards does not see them: they are not
 * gone all at once, and work on them goes on. */
static bool
has_lost_all(struct changes *changes, struct ref node,
             const struct report_inventory *inventory)
{
    size_t known = 0;

    if (inventory->card_count > 0)
        return false;
    world_each_child(changes->world, KIND_CARD, node, ref)
        known += !get_card(changes, ref)->missing;
    if (!observe_health_blind(changes, node, known, known,
                              "its list of cards is empty"))
        return false;
    world_each_child(changes->world, KIND_CARD, node, card)
        if (!get_card(changes, card)->missing)
            observe_health_stale(changes, card);
    return true;
}

size_t
observe_cards_inventory(struct changes *changes, struct ref node,
                        const struct report_inventory *inventory)
{
    size_t refused = 0;
    bool blind = is_blind(changes, node, inventory);

    observe_node(changes, node, inventory);
    for (size_t i = 0; i < inventory->card_count; i++)
        refused += observe_card(changes, node, &inventory->cards[i],
                                inventory->simulated, blind);
    if (!has_lost_all(changes, node, inventory))
        mark_missing(changes, node, inventory);
    add_classes(changes, node, inventory);
    return refused;
}

/* --- scrubs --- */

/* A tenant's record names neither the card nor what else was on it. */
static json_t *
step_row(const struct report_step *step, bool platform)
{
    json_t *row = json_pack("{s:s, s:I, s:I, s:b}", "step", step->step,
                            "from_ms", (json_int_t)step->from_ms, "to_ms",
                            (json_int_t)step->to_ms, "good", step->good);

    if (platform || (step->good && strcmp(step->step, "scrub") == 0))
        (void)json_object_set_new(row, "text", json_string(step->text));
    return row;
}

static json_t *
steps_of(const struct report_scrub *fact, bool platform)
{
    json_t *rows = json_array();

    for (size_t i = 0; i < fact->step_count; i++)
        (void)json_array_append_new(rows, step_row(&fact->steps[i], platform));
    return rows;
}

static void
set_cleaning(struct changes *changes, struct blob **member,
             const struct report_scrub *fact, json_t *steps, bool platform)
{
    scoped_buffer text = { 0 };
    scoped_json doc = json_pack("{s:b, s:I, s:o}", "verified", fact->verified,
                                "at_ms", (json_int_t)changes->context.now_ms,
                                "steps", steps);

    if (platform)
        (void)json_object_set_new(doc, "text", json_string(fact->text));
    json_write(&text, doc);
    change_doc(changes, member, buffer_text(&text));
}

/* The confirmed release is where a tenant's handover begins. */
static void
record_binding(struct changes *changes, struct ref ref,
               const struct report_scrub *fact)
{
    struct binding *binding = change_update(changes, ref);
    const struct instance *instance =
        change_get(changes, binding->object.parent);
    int64_t from_ms = instance != NULL && instance->ended_ms > 0
                          ? instance->ended_ms
                          : binding->to_ms;
    json_t *steps = steps_of(fact, false);

    (void)json_array_insert_new(
        steps, 0,
        json_pack("{s:s, s:I, s:I, s:b}", "step", "release", "from_ms",
                  (json_int_t)from_ms, "to_ms", (json_int_t)binding->to_ms,
                  "good", 1));
    set_cleaning(changes, &binding->cleaning, fact, steps, false);
}

/* On the card, and on every binding since the handover before. */
static void
record(struct changes *changes, struct ref card, const char *slice,
       const struct report_scrub *fact)
{
    struct card *image = change_update(changes, card);

    set_cleaning(changes, &image->cleaning, fact, steps_of(fact, true), true);
    world_each_index(changes->world, KIND_BINDING, 0, card, ref) {
        const struct binding *binding = change_get(changes, ref);

        if (binding != NULL && binding->to_ms != 0 &&
            binding->cleaning == NULL && strcmp(binding->slice, slice) == 0)
            record_binding(changes, ref, fact);
    }
}

static bool
is_bound_slice(const struct changes *changes, struct ref card,
               const char *slice)
{
    world_each_index(changes->world, KIND_BINDING, 0, card, ref) {
        const struct binding *binding = change_get(changes, ref);

        if (binding != NULL && binding->to_ms == 0 &&
            strcmp(binding->slice, slice) == 0)
            return true;
    }
    return false;
}

/* Takes one name out of the list of dirty slices; false: it is not there. */
static bool
take_dirty(char *dirty, const char *slice)
{
    size_t size = strlen(slice);

    for (char *at = dirty; *at != '\0';) {
        size_t here = strcspn(at, " ");
        size_t step = here + (at[here] == ' ');

        if (here != size || strncmp(at, slice, size) != 0) {
            at += step;
            continue;
        }
        memmove(at, at + step, strlen(at + step) + 1);
        size = strlen(dirty);
        if (size > 0 && dirty[size - 1] == ' ')
            dirty[size - 1] = '\0';
        return true;
    }
    return false;
}

static void
quarantine(struct changes *changes, struct ref ref,
           const struct report_scrub *fact)
{
    ((struct card *)change_update(changes, ref))->handover = HANDOVER_FAILED;
    alarm_raise(changes, ref, "card.quarantined",
                "the card could not be handed over: %s", fact->text);
}

/* One slice is clean and gone; a failure takes the whole card out, what runs
 * on it goes on. */
static void
observe_slice(struct changes *changes, struct ref ref, const char *slice,
              const struct report_scrub *fact)
{
    char dirty[sizeof(((struct card *)0)->dirty)];

    (void)snprintf(dirty, sizeof(dirty), "%s", get_card(changes, ref)->dirty);
    if (!take_dirty(dirty, slice) || is_bound_slice(changes, ref, slice))
        return;
    usage_cut(changes, ref);
    record(changes, ref, slice, fact);
    if (!fact->verified) {
        quarantine(changes, ref, fact);
        return;
    }
    memcpy(((struct card *)change_update(changes, ref))->dirty, dirty,
           sizeof(dirty));
}

/* "UUID", "UUID/sliced" when the card was left cut, or one slice of it. */
static void
split_part(const char *part, char uuid[NAME_MAX_SIZE],
           const char **slice_out)
{
    size_t size = strcspn(part, "/");

    (void)snprintf(uuid, NAME_MAX_SIZE, "%.*s", (int)size, part);
    *slice_out = part[size] == '/' ? part + size + 1 : "";
}

/* All slices are gone, and the card was left whole; one that is wanted cut is
 * cut by the scrub after it. */
static void
observe_cleared(struct changes *changes, struct ref ref,
                const struct report_scrub *fact)
{
    const struct card *present = get_card(changes, ref);
    struct card *card;

    if (!present->clear_foreign || present->used_milli != 0 ||
        present->handover != HANDOVER_PENDING)
        return;
    usage_cut(changes, ref);
    card = change_update(changes, ref);
    card->clear_foreign = false;
    card->dirty[0] = '\0';
    if (!fact->verified)
        quarantine(changes, ref, fact);
    else if (!card->sliced)
        card->handover = HANDOVER_CLEAN;
}

size_t
observe_cards_scrub(struct changes *changes, struct ref node,
                    const struct report_scrub *fact)
{
    char uuid[NAME_MAX_SIZE];
    const char *slice;
    struct ref ref;
    const struct card *present;

    split_part(fact->uuid, uuid, &slice);
    ref = observe_cards_find(changes, node, uuid);
    present = ref_is_none(ref) ? NULL : get_card(changes, ref);
    if (present == NULL) {
        alarm_raise(changes, node, "report.card",
                    "the node scrubbed card %s, which is not its own",
                    fact->uuid);
        return 1;
    }
    if (fence_holds(change_get(changes, node), uuid))
        return 0;
    if (strcmp(slice, CUT_CLEARED) == 0) {
        observe_cleared(changes, ref, fact);
        return 0;
    }
    if (slice[0] != '\0' && strcmp(slice, CUT_SLICED) != 0) {
        observe_slice(changes, ref, slice, fact);
        return 0;
    }
    /* A scrub counts only while nobody can have written behind it, and when
     * it left the card as it is wanted now. */
    if (present->handover != HANDOVER_PENDING || present->used_milli != 0 ||
        present->sliced != (slice[0] != '\0'))
        return 0;
    usage_cut(changes, ref);
    record(changes, ref, "", fact);
    if (!fact->verified) {
        quarantine(changes, ref, fact);
        return 0;
    }
    ((struct card *)change_update(changes, ref))->handover = HANDOVER_CLEAN;
    alarm_clear(changes, ref, "card.quarantined");
    observe_health_reset(changes, ref);
    return 0;
}
