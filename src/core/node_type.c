/* SPDX-License-Identifier: Apache-2.0 */
#include "core/node_type.h"

#include <stdlib.h>
#include <string.h>

#include "core/place_group.h"
#include "core/world_private.h"

/* Numbers in tables are one more than the place, so that 0 is none. */
struct leaf_key {
    struct ref pool;
    uint64_t leaf;
};

/* --- places --- */

/* A free place of an array, or a new one. */
static uint32_t
take(struct node_types_free *free_places, size_t *count)
{
    if (free_places->count > 0)
        return free_places->list[--free_places->count];
    return (uint32_t)(*count)++;
}

static void *
array_copy(const void *array, size_t count, size_t size)
{
    void *copy = memory_new(count, size);

    if (count > 0)
        memcpy(copy, array, count * size);
    return copy;
}

static void
free_copy(struct node_types_free *copy, const struct node_types_free *from)
{
    *copy = *from;
    copy->list = array_copy(from->list, from->room, sizeof(*from->list));
}

static void
give(struct node_types_free *free_places, uint32_t place)
{
    if (free_places->count == free_places->room) {
        free_places->room = 2 * free_places->room + 16;
        free_places->list = memory_grow(free_places->list, free_places->room,
                                        sizeof(*free_places->list));
    }
    free_places->list[free_places->count++] = place;
}

/* --- what a node is --- */

/* Islands and switches by the first card of each: their names mean nothing
 * elsewhere.  A card that has none is alone. */
static uint64_t
group_of(const struct world *world, struct ref node, const struct card *card,
         enum place_group group)
{
    uint64_t number = 0;

    world_each_child(world, KIND_CARD, node, ref) {
        if (place_group_is_same(group, world_card(world, ref), card))
            break;
        number++;
    }
    return number;
}

static void
add_card(const struct world *world, struct ref node, const struct card *card,
         struct node_type_key *key)
{
    struct {
        uint64_t before[2], groups[PLACE_GROUPS];
        int64_t memory_mib;
        char vendor[sizeof(card->vendor)], model[sizeof(card->model)];
        char driver[sizeof(card->driver)], arch[sizeof(card->arch)];
        char runtime[sizeof(card->runtime)];
        char features[sizeof(card->features)];
    } of;

    memset(&of, 0, sizeof(of));
    memcpy(of.before, key->cards, sizeof(of.before));
    for (int i = 0; i < PLACE_GROUPS; i++)
        of.groups[i] = group_of(world, node, card, (enum place_group)i);
    of.memory_mib = card->memory_mib;
    memcpy(of.vendor, card->vendor, strlen(card->vendor));
    memcpy(of.model, card->model, strlen(card->model));
    memcpy(of.driver, card->driver, strlen(card->driver));
    memcpy(of.arch, card->arch, strlen(card->arch));
    memcpy(of.runtime, card->runtime, strlen(card->runtime));
    memcpy(of.features, card->features, strlen(card->features));
    hash_wide(&world->key, &of, sizeof(of), &key->cards[0], &key->cards[1]);
}

static void
keys_of(const struct world *world, const struct node *node,
        struct node_type_key *type, struct leaf_key *leaf)
{
    memset(type, 0, sizeof(*type));
    type->pool = leaf->pool = node->object.parent;
    type->cpu_milli = node->cpu_milli;
    type->memory_mib = node->memory_mib;
    if (node->facts != NULL)
        hash_wide(&world->key, node->facts->bytes, node->facts->size,
                  &type->cards[0], &type->cards[1]);
    world_each_child(world, KIND_CARD, node->object.self, ref)
        add_card(world, node->object.self, world_card(world, ref), type);
    leaf->leaf = node->leaf[0] != '\0'
                     ? hash_bytes(&world->key, node->leaf,
                                  strlen(node->leaf)) | 1
                     : 0;
}

/* --- types --- */

static void
enter_type(struct world *world, struct node_place *place, uint32_t index)
{
    struct node_types *types = &world->node_types;
    const struct node_type_key *key = &place->key;
    struct table_entry *entry =
        table_put(&types->type_index, &world->key, key, sizeof(*key));
    struct node_type *type;

    if (entry->number == 0) {
        uint32_t number = take(&types->free_types, &types->type_count);

        types->types = memory_grow(types->types, types->type_count,
                                   sizeof(*types->types));
        types->types[number] = (struct node_type){ .pool = key->pool };
        entry->number = (size_t)number + 1;
    }
    place->type = (uint32_t)entry->number - 1;
    type = &types->types[place->type];
    place->next = type->first.index;
    place->previous = 0;
    if (place->next != 0)
        types->places[place->next].previous = index;
    type->first = (struct ref){ KIND_NODE, index };
    type->count++;
}

static void
leave_type(struct world *world, const struct node_place *place)
{
    struct node_types *types = &world->node_types;
    struct node_type *type = &types->types[place->type];

    if (place->next != 0)
        types->places[place->next].previous = place->previous;
    if (place->previous != 0)
        types->places[place->previous].next = place->next;
    else
        type->first = place->next != 0
                          ? (struct ref){ KIND_NODE, place->next }
                          : (struct ref){ 0 };
    if (--type->count > 0)
        return;
    table_remove(&types->type_index,
                 table_find(&types->type_index, &world->key, &place->key,
                            sizeof(place->key)));
    give(&types->free_types, place->type);
}

/* --- leaves --- */

static struct node_leaf *
leaf_put(struct world *world, const struct leaf_key *key, uint32_t *number_out)
{
    struct node_types *types = &world->node_types;
    struct table_entry *entry =
        table_put(&types->leaf_index, &world->key, key, sizeof(*key));

    if (entry->number == 0) {
        uint32_t number = take(&types->free_leaves, &types->leaf_count);

        types->leaves = memory_grow(types->leaves, types->leaf_count,
                                    sizeof(*types->leaves));
        types->leaves[number] =
            (struct node_leaf){ key->pool, key->leaf, NODE_TYPE_NONE };
        entry->number = (size_t)number + 1;
    }
    *number_out = (uint32_t)entry->number - 1;
    return &types->leaves[*number_out];
}

static void
enter_leaf(struct world *world, struct node_place *place,
           const struct leaf_key *key)
{
    struct node_types *types = &world->node_types;
    struct node_leaf *leaf = leaf_put(world, key, &place->leaf);
    uint32_t part = leaf->part;

    while (part != NODE_TYPE_NONE && types->parts[part].type != place->type)
        part = types->parts[part].next;
    if (part == NODE_TYPE_NONE) {
        part = take(&types->free_parts, &types->part_count);
        types->parts = memory_grow(types->parts, types->part_count,
                                   sizeof(*types->parts));
        types->parts[part] =
            (struct node_leaf_part){ place->type, leaf->part, 0 };
        leaf->part = part;
    }
    types->parts[part].count++;
}

static void
leave_leaf(struct world *world, const struct node_place *place)
{
    struct node_types *types = &world->node_types;
    struct node_leaf *leaf = &types->leaves[place->leaf];
    uint32_t *at = &leaf->part, part;
    struct leaf_key key = { leaf->pool, leaf->leaf };

    while (types->parts[*at].type != place->type)
        at = &types->parts[*at].next;
    part = *at;
    if (--types->parts[part].count > 0)
        return;
    *at = types->parts[part].next;
    give(&types->free_parts, part);
    if (leaf->part != NODE_TYPE_NONE)
        return;
    table_remove(&types->leaf_index,
                 table_find(&types->leaf_index, &world->key, &key,
                            sizeof(key)));
    give(&types->free_leaves, place->leaf);
}

/* --- what the world calls --- */

static struct node_place *
place_of(struct world *world, uint32_t index)
{
    struct node_types *types = &world->node_types;

    if (index >= types->room) {
        size_t room = 2 * (size_t)index + 64;

        types->places =
            memory_grow(types->places, room, sizeof(*types->places));
        memset(&types->places[types->room], 0,
               (room - types->room) * sizeof(*types->places));
        types->room = room;
    }
    return &types->places[index];
}

static void
leave(struct world *world, struct node_place *place)
{
    if (!place->known)
        return;
    leave_leaf(world, place);
    leave_type(world, place);
    *place = (struct node_place){ 0 };
}

void
node_type_renew(struct world *world, struct ref ref)
{
    const struct node *node = world_node(world, ref);
    struct node_place *place;
    struct node_type_key type;
    struct leaf_key leaf;

    if (ref.kind != KIND_NODE)
        return;
    place = place_of(world, ref.index);
    leave(world, place);
    if (node == NULL)
        return;
    keys_of(world, node, &type, &leaf);
    place->known = true;
    place->key = type;
    enter_type(world, place, ref.index);
    enter_leaf(world, place, &leaf);
}

static bool
same_facts(const struct blob *a, const struct blob *b)
{
    return a == b || (a != NULL && b != NULL && a->size == b->size &&
                      memcmp(a->bytes, b->bytes, a->size) == 0);
}

bool
node_type_differs(enum kind kind, const void *old, const void *new)
{
    const struct node *node = old, *other_node = new;
    const struct card *card = old, *other_card = new;

    if (kind == KIND_NODE)
        return node->cpu_milli != other_node->cpu_milli ||
               node->memory_mib != other_node->memory_mib ||
               !same_facts(node->facts, other_node->facts) ||
               strcmp(node->leaf, other_node->leaf) != 0;
    return kind == KIND_CARD &&
           (card->memory_mib != other_card->memory_mib ||
            strcmp(card->vendor, other_card->vendor) != 0 ||
            strcmp(card->model, other_card->model) != 0 ||
            strcmp(card->driver, other_card->driver) != 0 ||
            strcmp(card->arch, other_card->arch) != 0 ||
            strcmp(card->runtime, other_card->runtime) != 0 ||
            strcmp(card->features, other_card->features) != 0 ||
            place_group_differs(card, other_card));
}

void
node_type_copy(struct node_types *copy, const struct node_types *types)
{
    *copy = *types;
    table_copy(&copy->type_index, &types->type_index);
    table_copy(&copy->leaf_index, &types->leaf_index);
    copy->types = array_copy(types->types, types->type_count,
                             sizeof(*types->types));
    copy->leaves = array_copy(types->leaves, types->leaf_count,
                              sizeof(*types->leaves));
    copy->parts = array_copy(types->parts, types->part_count,
                             sizeof(*types->parts));
    copy->places = array_copy(types->places, types->room,
                              sizeof(*types->places));
    free_copy(&copy->free_types, &types->free_types);
    free_copy(&copy->free_leaves, &types->free_leaves);
    free_copy(&copy->free_parts, &types->free_parts);
}

void
node_type_release(struct node_types *types)
{
    table_release(&types->type_index);
    table_release(&types->leaf_index);
    free(types->types);
    free(types->leaves);
    free(types->parts);
    free(types->places);
    free(types->free_types.list);
    free(types->free_leaves.list);
    free(types->free_parts.list);
}

/* --- what is asked --- */

const struct node_type *
node_type_list(const struct world *world, size_t *count_out)
{
    *count_out = world->node_types.type_count;
    return world->node_types.types;
}

const struct node_leaf *
node_type_leaves(const struct world *world, size_t *count_out)
{
    *count_out = world->node_types.leaf_count;
    return world->node_types.leaves;
}

const struct node_leaf_part *
node_type_part(const struct world *world, uint32_t part)
{
    return &world->node_types.parts[part];
}
