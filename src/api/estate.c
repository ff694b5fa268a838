/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "api/handlers.h"
#include "api/objects.h"
#include "api/watch.h"
#include "core/card_health.h"
#include "core/cut.h"
#include "core/object.h"

#define CARD_MILLI 1000

static int64_t
card_free(const struct card *card)
{
    int64_t free_milli = CARD_MILLI - card->used_milli - card->held_milli;
    return free_milli < 0 ? 0 : free_milli;
}

static bool
card_takes_work(const struct world *world, struct ref ref)
{
    const struct card *card = world_card(world, ref);
    const struct node *node = world_node(world, card->object.parent);
    return node->state == NODE_SCHEDULABLE &&
           card_health_is_fit(card) && !card->missing &&
           !card->foreign && card->handover == HANDOVER_CLEAN;
}

/* --- cards with their holders --- */

static void
set_id(json_t *item, const char *name, const struct world *world,
       struct ref ref)
{
    char text[ID_TEXT_MAX];
    if (world_object(world, ref) == NULL)
        return;
    object_id_text(world, ref, text);
    json_object_set_new(item, name, json_string(text));
}

static json_t *
list_holders(const struct granted *granted, struct ref card)
{
    const struct world *world = granted_world(granted);
    json_t *list = json_array();
    world_each_index(world, KIND_BINDING, 0, card, ref) {
        const struct binding *binding = world_binding(world, ref);
        if (binding->to_ms != 0 || !access_visible(granted, ref))
            continue;
        json_t *item =
            json_pack("{s:I, s:I}", "milli", (json_int_t)binding->milli,
                      "memory_mib", (json_int_t)binding->memory_mib);
        set_id(item, "binding", world, ref);
        set_id(item, "instance", world, binding->object.parent);
        set_id(item, "workload", world, binding->workload);
        set_id(item, "project", world, binding->project);
        set_id(item, "tenant", world, world_scope(world, binding->project));
        json_array_append_new(list, item);
    }
    return list;
}

static void
add_slice(struct buffer *list, const char *slice, const char *state)
{
    buffer_printf(list, "%s%s%s", list->size > 0 ? " " : "", slice, state);
}

/* "3g.20gb@4 1g.5gb@0(held) 1g.5gb@1(dirty)" */
static json_t *
list_slices(const struct world *world, struct ref card)
{
    const char *dirty = world_card(world, card)->dirty;
    scoped_buffer list = {0};
    world_each_index(world, KIND_BINDING, 0, card, ref) {
        const struct binding *binding = world_binding(world, ref);
        if (binding->to_ms == 0 && binding->slice[0] != '\0')
            add_slice(&list, binding->slice, "");
    }
    world_each_index(world, KIND_HOLD, 0, card, ref)
        if (world_hold(world, ref)->slice[0] != '\0')
            add_slice(&list, world_hold(world, ref)->slice, "(held)");
    while (*dirty != '\0') {
        char name[GEOMETRY_NAME_MAX];
        size_t size = strcspn(dirty, " ");
        (void)snprintf(name, sizeof(name), "%.*s", (int)size, dirty);
        add_slice(&list, name, "(dirty)");
        dirty += size + (dirty[size] == ' ');
    }
    return json_string(buffer_text(&list));
}

static json_t *
describe_card(const struct granted *granted, struct ref ref)
{
    const struct world *world = granted_world(granted);
    const struct card *card = world_card(world, ref);
    json_t *item = objects_json(granted, ref, NULL);
    bool takes = card_takes_work(world, ref);
    json_object_set_new(item, "used_milli",
                        json_integer((json_int_t)card->used_milli));
    json_object_set_new(item, "held_milli",
                        json_integer((json_int_t)card->held_milli));
    json_object_set_new(
        item, "free_milli",
        json_integer(takes ? (json_int_t)card_free(card) : 0));
    json_object_set_new(item, "takes_work", json_boolean(takes));
    if (granted_is_platform(granted))
        json_object_set_new(item, "slices", list_slices(world, ref));
    set_id(item, "node", world, card->object.parent);
    set_id(item, "pool", world, world_parent(world, card->object.parent));
    if (granted_is_platform(granted))
        json_object_set_new(item, "holders", list_holders(granted, ref));
    return item;
}

int
estate_cards(const struct granted *granted, struct exchange *exchange,
             struct error *err)
{
    const struct world *world = granted_world(granted);
    struct page page;
    if (watch_wanted(exchange))
        return watch_start(granted, exchange, KIND_CARD, (struct ref){0},
                           err);
    if (page_begin(&page, granted, exchange, err) != 0)
        return -1;
    for (struct ref ref = page_first(&page, KIND_CARD, (struct ref){0});
         !ref_is_none(ref); ref = world_next(world, ref)) {
        if (page_takes(&page, ref))
            page_put(&page, ref, describe_card(granted, ref));
        if (page.more)
            break;
    }
    page_end(&page, (struct ref){0});
    return 0;
}

/* --- capacity: the shared signal --- */

static bool
class_fits(const struct class *class, const struct card *card)
{
    return (class->vendor[0] == '\0' ||
            strcmp(class->vendor, card->vendor) == 0) &&
           (class->model[0] == '\0' ||
            strcmp(class->model, card->model) == 0) &&
           card->memory_mib >= class->min_memory_mib &&
           (class->form != FORM_HARD || cut_empty_room(class, card) > 0);
}

struct room {
    int64_t total_milli;
    int64_t free_milli;
};

static struct room
measure(const struct world *world, struct ref pool, const struct class *class)
{
    struct room room = {0};
    world_each_child(world, KIND_NODE, pool, node) {
        world_each_child(world, KIND_CARD, node, ref) {
            const struct card *card = world_card(world, ref);
            if (!class_fits(class, card))
                continue;
            room.total_milli += CARD_MILLI;
            if (card_takes_work(world, ref))
                room.free_milli += card_free(card);
        }
    }
    return room;
}

/* Free capacity is told in whole cards: what a share leaves over would show
 * the sizes of other tenants' work. */
static json_t *
describe_room(const struct world *world, struct ref pool, struct ref ref)
{
    const struct class *class = world_class(world, ref);
    const struct object *head = world_object(world, pool);
    struct room room = measure(world, pool, class);
    json_t *item = json_pack(
        "{s:s, s:s, s:I, s:I}", "pool", head->name, "class",
        class->object.name, "total_cards",
        (json_int_t)(room.total_milli / CARD_MILLI), "free_cards",
        (json_int_t)(room.free_milli / CARD_MILLI));
    return item;
}

int
estate_capacity(const struct granted *granted, struct exchange *exchange,
                struct error *err)
{
    const struct world *world = granted_world(granted);
    json_t *items = json_array();
    (void)err;
    world_each(world, KIND_POOL, pool) {
        if (!access_visible(granted, pool))
            continue;
        world_each(world, KIND_CLASS, class) {
            if (access_visible(granted, class))
                json_array_append_new(items,
                                      describe_room(world, pool, class));
        }
    }
    answer_json(&exchange->answer, 200, json_pack("{s:o}", "items", items));
    return 0;
}
