/* SPDX-License-Identifier: Apache-2.0 */
#include "core/fence.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "core/alarm.h"
#include "core/lifecycle.h"
#include "core/object.h"
#include "core/usage.h"

static const char *
text_of(const json_t *item, const char *key)
{
    return json_string_value(json_object_get(item, key));
}

json_t *
fence_list(const struct node *node)
{
    struct error ignored;
    json_t *list = NULL;

    if (node->fenced != NULL)
        list = json_read(node->fenced->bytes, node->fenced->size, &ignored);
    if (json_is_array(list))
        return list;
    json_decref(list);
    return json_array();
}

static bool
has_card(const json_t *item, const char *uuid)
{
    const json_t *cards = json_object_get(item, "cards");

    for (size_t i = 0; i < json_array_size(cards); i++)
        if (strcmp(json_string_value(json_array_get(cards, i)), uuid) == 0)
            return true;
    return false;
}

bool
fence_holds(const struct node *node, const char *uuid)
{
    scoped_json list = NULL;

    if (node->fenced == NULL)
        return false;
    list = fence_list(node);
    if (uuid == NULL)
        return json_array_size(list) > 0;
    for (size_t i = 0; i < json_array_size(list); i++)
        if (has_card(json_array_get(list, i), uuid))
            return true;
    return false;
}

/* --- fencing --- */

static int
check(const struct changes *changes, const struct node *node,
      const char *reason, struct error *err)
{
    const struct world *world = changes->world;
    const struct platform *platform =
        world_platform(world, world_platform_ref(world));
    char when[CLOCK_TEXT_MAX];

    if (reason[0] == '\0')
        return error_field(err, "/reason",
                           "/reason is empty: say how it is known that "
                           "nothing runs there");
    if (schema_check_text("/reason", reason, 201, err) < 0)
        return -1;
    if (platform->observing) {
        (void)error_set(err, ERROR_CONFLICT,
                        "the restored platform only looks on: nothing is "
                        "given up before somebody confirms");
        return error_help(err, "`bulkhead restore confirm`");
    }
    if (node->state != NODE_LOST) {
        (void)error_set(err, ERROR_CONFLICT,
                        "node %s is not lost: its agent is heard, and what "
                        "runs there goes on",
                        node->object.name);
        return error_help(err, "`bulkhead drain node %s` takes work off it; "
                               "it can be fenced when its lease is over",
                          node->object.name);
    }
    if (node->fenced_ms == 0)
        return 0;
    clock_format(node->fenced_ms, when);
    (void)error_set(err, ERROR_CONFLICT, "node %s was fenced at %s already",
                    node->object.name, when);
    return error_help(err, "it is in use again when its agent is heard; "
                           "`bulkhead delete node %s` when it is gone for "
                           "good",
                      node->object.name);
}

static json_t *
cards_of(const struct changes *changes, struct ref instance)
{
    json_t *cards = json_array();

    world_each_child(changes->world, KIND_BINDING, instance, ref) {
        const struct binding *binding = change_get(changes, ref);
        const struct card *card =
            binding != NULL && binding->to_ms == 0
                ? change_get(changes, binding->card)
                : NULL;

        if (card != NULL)
            (void)json_array_append_new(cards, json_string(card->uuid));
    }
    return cards;
}

/* What may still be there, before it is given up. */
static json_t *
list_left(const struct changes *changes, struct ref node)
{
    json_t *list = json_array();

    world_each_index(changes->world, KIND_INSTANCE, 0, node, ref) {
        const struct instance *instance = change_get(changes, ref);
        char id[ID_TEXT_MAX];

        if (instance == NULL || instance->state == INSTANCE_RELEASED)
            continue;
        id_format(schema_get(KIND_INSTANCE)->prefix, instance->object.id, id);
        (void)json_array_append_new(
            list, json_pack("{s:s, s:I, s:o}", "instance", id, "incarnation",
                            (json_int_t)instance->incarnation, "cards",
                            cards_of(changes, ref)));
    }
    return list;
}

static void
store_list(struct changes *changes, struct node *node, const json_t *list)
{
    scoped_buffer text = { 0 };

    json_write(&text, list);
    change_doc(changes, &node->fenced,
               json_array_size(list) > 0 ? buffer_text(&text) : NULL);
}

/* Somebody looks at it before it takes work again. */
static void
come_back_cordoned(struct node *node)
{
    if (node->resume == NODE_MAINTENANCE)
        node->maintenance_resume = NODE_CORDONED;
    else
        node->resume = NODE_CORDONED;
}

int
fence_node(struct changes *changes, struct ref ref, const char *reason,
           struct error *err)
{
    const struct node *present = change_get(changes, ref);
    scoped_json list = NULL;
    struct node *node;

    if (check(changes, present, reason, err) != 0)
        return -1;
    list = list_left(changes, ref);
    usage_cut_node(changes, ref);
    lifecycle_fenced(changes, ref);
    node = change_update(changes, ref);
    node->fenced_ms = changes->context.now_ms;
    (void)snprintf(node->fence_reason, sizeof(node->fence_reason), "%s",
                   reason);
    store_list(changes, node, list);
    come_back_cordoned(node);
    alarm_raise(changes, ref, "node.fenced",
                "the node was given up with %zu instances: %.120s",
                json_array_size(list), reason);
    return 0;
}

/* --- its return --- */

static bool
is_released(const json_t *item, const struct report *report)
{
    for (size_t i = 0; i < report->release_count; i++)
        if (report->releases[i].incarnation ==
                json_integer_value(json_object_get(item, "incarnation")) &&
            strcmp(report->releases[i].instance, text_of(item, "instance")) ==
                0)
            return true;
    return false;
}

static bool
is_there(const json_t *item, const struct report *report)
{
    const char *instance = text_of(item, "instance");

    if (is_released(item, report))
        return false;
    for (size_t i = 0; i < report->instance_count; i++)
        if (report->instances[i].state != REPORT_GONE &&
            strcmp(report->instances[i].instance, instance) == 0)
            return true;
    return false;
}

void
fence_observe(struct changes *changes, struct ref ref,
              const struct report *report)
{
    const struct node *present = change_get(changes, ref);
    scoped_json before = NULL;
    scoped_json left = NULL;

    if (present->fenced == NULL || !report->instances_known)
        return;
    before = fence_list(present);
    left = json_array();
    for (size_t i = 0; i < json_array_size(before); i++)
        if (is_there(json_array_get(before, i), report))
            (void)json_array_append(left, json_array_get(before, i));
    if (json_array_size(left) < json_array_size(before))
        store_list(changes, change_update(changes, ref), left);
}
