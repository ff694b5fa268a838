/* SPDX-License-Identifier: Apache-2.0 */
#include "core/orphan.h"

#include <stdlib.h>
#include <string.h>

#include "core/alarm.h"
#include "core/object.h"
#include "core/usage.h"

static const char *
text_of(const json_t *item, const char *key)
{
    return json_string_value(json_object_get(item, key));
}

static int64_t
incarnation_of(const json_t *item)
{
    return json_integer_value(json_object_get(item, "incarnation"));
}

bool
orphan_expected(const struct world *world)
{
    const struct platform *platform =
        world_platform(world, world_platform_ref(world));

    return platform != NULL && platform->restored_ms != 0;
}

bool
orphan_is(const struct world *world, struct ref node, const char *text,
          int64_t incarnation)
{
    const struct instance *instance;
    struct ref ref = { 0 };
    struct id id;

    if (id_parse(schema_get(KIND_INSTANCE)->prefix, text, &id) == 0)
        ref = world_find(world, KIND_INSTANCE, id);
    instance = world_instance(world, ref);
    if (instance == NULL)
        return true;
    return ref_equal(instance->node, node) &&
           incarnation > instance->incarnation;
}

json_t *
orphan_list(const struct node *node)
{
    struct error ignored;
    json_t *list = NULL;

    if (node->orphans != NULL)
        list = json_read(node->orphans->bytes, node->orphans->size, &ignored);
    if (json_is_array(list))
        return list;
    json_decref(list);
    return json_array();
}

static json_t *
find(const json_t *list, const char *instance, int64_t incarnation)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *item = json_array_get(list, i);

        if (incarnation_of(item) == incarnation &&
            strcmp(text_of(item, "instance"), instance) == 0)
            return item;
    }
    return NULL;
}

/* --- what there is now --- */

static bool
is_released(const struct report *report, const struct report_instance *fact)
{
    for (size_t i = 0; i < report->release_count; i++)
        if (report->releases[i].incarnation == fact->incarnation &&
            strcmp(report->releases[i].instance, fact->instance) == 0)
            return true;
    return false;
}

static const char *
state_text(enum report_state state)
{
    switch (state) {
    case REPORT_PREPARING:
    case REPORT_STARTING:
        return "starting";
    case REPORT_RUNNING:
        return "running";
    case REPORT_EXITED:
    case REPORT_START_FAILED:
    case REPORT_GONE:
        break;
    }
    return "exited";
}

/* Cards that were named once stay named: what held them may not say so at its
 * end. */
static json_t *
describe(const struct report_instance *fact, const json_t *before)
{
    json_t *cards = json_array();

    for (size_t i = 0; i < fact->card_count; i++)
        (void)json_array_append_new(cards, json_string(fact->cards[i]));
    if (fact->card_count == 0 && before != NULL)
        (void)json_array_extend(cards, json_object_get(before, "cards"));
    return json_pack("{s:s, s:I, s:s, s:o, s:b}", "instance", fact->instance,
                     "incarnation", (json_int_t)fact->incarnation, "state",
                     state_text(fact->state), "cards", cards, "stop",
                     json_is_true(json_object_get(before, "stop")));
}

static int
compare(const void *a, const void *b)
{
    const struct report_instance *const *one = a, *const *two = b;
    int order = strcmp((*one)->instance, (*two)->instance);

    if (order != 0)
        return order;
    return (*one)->incarnation < (*two)->incarnation ? -1 : 1;
}

static json_t *
collect(const struct changes *changes, struct ref node,
        const struct report *report, const json_t *before)
{
    const struct report_instance **facts =
        arena_alloc(changes->arena,
                    (report->instance_count + 1) * sizeof(*facts));
    json_t *list = json_array();
    size_t count = 0;

    for (size_t i = 0; i < report->instance_count; i++) {
        const struct report_instance *fact = &report->instances[i];

        if (fact->state != REPORT_GONE && !is_released(report, fact) &&
            orphan_is(changes->world, node, fact->instance,
                      fact->incarnation))
            facts[count++] = fact;
    }
    if (count > 0)
        qsort((void *)facts, count, sizeof(facts[0]), compare);
    for (size_t i = 0; i < count && i < ORPHANS_MAX; i++)
        (void)json_array_append_new(
            list, describe(facts[i], find(before, facts[i]->instance,
                                          facts[i]->incarnation)));
    return list;
}

/* --- their cards --- */

static bool
holds(const json_t *list, const char *uuid)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *cards =
            json_object_get(json_array_get(list, i), "cards");

        for (size_t j = 0; j < json_array_size(cards); j++)
            if (strcmp(json_string_value(json_array_get(cards, j)), uuid) ==
                0)
                return true;
    }
    return false;
}

static void
set_handover(struct changes *changes, struct ref ref, int handover)
{
    struct card *card;

    usage_cut(changes, ref);
    card = change_update(changes, ref);
    card->handover = handover;
}

static void
settle_cards(struct changes *changes, struct ref node, const json_t *before,
             const json_t *now)
{
    world_each_child(changes->world, KIND_CARD, node, ref) {
        const struct card *card = change_get(changes, ref);

        if (card == NULL)
            continue;
        if (holds(now, card->uuid)) {
            if (card->handover == HANDOVER_FAILED)
                continue;
            set_handover(changes, ref, HANDOVER_FAILED);
            alarm_raise(changes, ref, "card.quarantined",
                        "a container that the restored platform does not "
                        "know holds the card");
        } else if (holds(before, card->uuid)) {
            set_handover(changes, ref, HANDOVER_PENDING);
            alarm_clear(changes, ref, "card.quarantined");
        }
    }
}

static void
tell(struct changes *changes, struct ref node, const json_t *now)
{
    scoped_buffer names = { 0 };
    size_t count = json_array_size(now);

    alarm_clear(changes, node, "node.orphans");
    if (count == 0)
        return;
    for (size_t i = 0; i < count && names.size < 120; i++)
        buffer_printf(&names, "%s%s", i > 0 ? ", " : "",
                      text_of(json_array_get(now, i), "instance"));
    alarm_raise(changes, node, "node.orphans",
                "%zu containers run here that the restored platform does "
                "not know: %s%s",
                count, buffer_text(&names),
                names.size >= 120 && count > 1 ? ", ..." : "");
}

void
orphan_observe(struct changes *changes, struct ref node,
               const struct report *report)
{
    const struct node *present = change_get(changes, node);
    scoped_json before = orphan_list(present);
    scoped_json now = collect(changes, node, report, before);
    scoped_buffer text = { 0 };
    struct node *image;

    /* A card may have come into the inventory behind its holder. */
    settle_cards(changes, node, before, now);
    if (json_equal(before, now))
        return;
    json_write(&text, now);
    image = change_update(changes, node);
    change_doc(changes, &image->orphans,
               json_array_size(now) > 0 ? buffer_text(&text) : NULL);
    tell(changes, node, now);
}

/* --- the decision --- */

int
orphan_stop(struct changes *changes, struct ref node, const char *instance,
            struct error *err)
{
    const struct world *world = changes->world;
    const struct platform *platform =
        world_platform(world, world_platform_ref(world));
    scoped_json list = orphan_list(change_get(changes, node));
    scoped_buffer text = { 0 };
    struct node *image;
    bool found = false;

    if (platform->observing) {
        (void)error_set(err, ERROR_CONFLICT,
                        "the restored platform only looks on: nothing is "
                        "stopped before somebody confirms");
        return error_help(err, "`bulkhead restore confirm`");
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *item = json_array_get(list, i);

        if (strcmp(text_of(item, "instance"), instance) != 0)
            continue;
        (void)json_object_set_new(item, "stop", json_true());
        found = true;
    }
    if (!found)
        return error_set(err, ERROR_NOT_FOUND,
                         "the node has no unknown container of instance %s",
                         instance);
    json_write(&text, list);
    image = change_update(changes, node);
    change_doc(changes, &image->orphans, buffer_text(&text));
    return 0;
}
