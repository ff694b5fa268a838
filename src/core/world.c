/* SPDX-License-Identifier: Apache-2.0 */
#include "core/world.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/world_private.h"

/* Keys of the tables; zeroed before filling, so that padding is equal. */
struct name_key {
    uint32_t kind;
    struct ref parent;
    char name[NAME_MAX_SIZE];
};
struct digest_key {
    uint32_t kind;
    uint8_t digest[32];
};

#define KEY(type, variable)                                                    \
    struct type variable;                                                      \
    memset(&(variable), 0, sizeof(variable))

struct world *
world_new(const struct hash_key *key)
{
    struct world *world = memory_new(1, sizeof(*world));

    world->key = *key;
    for (unsigned kind = KIND_NONE + 1; kind < KIND_COUNT; kind++) {
        const struct schema *schema = schema_get((enum kind)kind);

        world->shelves[kind].size = (schema->size + 15) / 16 * 16;
        world->shelves[kind].used = 1;
    }
    return world;
}

static void
each_doc(const struct schema *schema, void *object, bool hold)
{
    for (size_t i = 0; i < schema->field_count; i++) {
        struct blob **blob;

        if (schema->fields[i].type != FIELD_DOC)
            continue;
        blob = field_of(&schema->fields[i], object);
        if (hold)
            (void)blob_hold(*blob);
        else
            blob_drop(*blob);
    }
}

void
world_free(struct world *world)
{
    if (world == NULL)
        return;
    for (unsigned kind = KIND_NONE + 1; kind < KIND_COUNT; kind++) {
        struct shelf *shelf = &world->shelves[kind];

        world_each(world, (enum kind)kind, ref) each_doc(
            schema_get((enum kind)kind), world_slot(world, ref), false);
        for (size_t i = 0; i < shelf->chunk_count; i++)
            free(shelf->chunks[i]);
        free(shelf->chunks);
        free(shelf->free);
    }
    table_release(&world->ids);
    table_release(&world->names);
    table_release(&world->digests);
    heads_release(&world->heads);
    holdings_release(&world->holdings);
    table_release(&world->meter_index);
    free(world->meters);
    free(world->trail.steps);
    table_release(&world->pledge_index);
    free(world->pledges);
    table_release(&world->recent_index);
    free(world->recents);
    table_release(&world->shares);
    node_type_release(&world->node_types);
    free(world);
}

static void
shelf_copy(struct shelf *copy, const struct shelf *shelf)
{
    *copy = *shelf;
    copy->chunks = memory_new(shelf->chunk_count, sizeof(char *));
    for (size_t i = 0; i < shelf->chunk_count; i++) {
        copy->chunks[i] = memory_new(CHUNK_OBJECTS, shelf->size);
        memcpy(copy->chunks[i], shelf->chunks[i], CHUNK_OBJECTS * shelf->size);
    }
    copy->free = memory_new(shelf->free_room, sizeof(uint32_t));
    if (shelf->free_count > 0)
        memcpy(copy->free, shelf->free, shelf->free_count * sizeof(uint32_t));
}

static void *
array_copy(const void *array, size_t count, size_t size)
{
    void *copy = memory_new(count, size);

    if (count > 0)
        memcpy(copy, array, count * size);
    return copy;
}

static struct world *
clone(const struct world *world, bool whole)
{
    struct world *copy = memory_new(1, sizeof(*copy));

    *copy = *world;
    for (unsigned kind = KIND_NONE + 1; kind < KIND_COUNT; kind++) {
        if (kind == KIND_RECEIPT && !whole) {
            copy->shelves[kind] =
                (struct shelf){ .size = world->shelves[kind].size, .used = 1 };
            continue;
        }
        shelf_copy(&copy->shelves[kind], &world->shelves[kind]);
        world_each(copy, (enum kind)kind, ref)
            each_doc(schema_get((enum kind)kind), world_slot(copy, ref), true);
    }
    trail_cut(copy);
    table_copy(&copy->ids, &world->ids);
    table_copy(&copy->names, &world->names);
    table_copy(&copy->digests, &world->digests);
    heads_copy(&copy->heads, &world->heads);
    holdings_copy(&copy->holdings, &world->holdings);
    table_copy(&copy->meter_index, &world->meter_index);
    copy->meters =
        array_copy(world->meters, world->meter_count, sizeof(*copy->meters));
    table_copy(&copy->pledge_index, &world->pledge_index);
    copy->pledges =
        array_copy(world->pledges, world->pledge_count, sizeof(*copy->pledges));
    table_copy(&copy->recent_index, &world->recent_index);
    copy->recents =
        array_copy(world->recents, world->recent_count, sizeof(*copy->recents));
    table_copy(&copy->shares, &world->shares);
    node_type_copy(&copy->node_types, &world->node_types);
    return copy;
}

struct world *
world_clone(const struct world *world)
{
    return clone(world, true);
}

struct world *
world_clone_to_plan(const struct world *world)
{
    return clone(world, false);
}

void
world_grow(struct world *world, enum kind kind, uint32_t index)
{
    struct shelf *shelf = &world->shelves[kind];
    size_t need = index / CHUNK_OBJECTS + 1;

    if (need > shelf->chunk_count) {
        shelf->chunks = memory_grow(shelf->chunks, need, sizeof(char *));
        while (shelf->chunk_count < need)
            shelf->chunks[shelf->chunk_count++] =
                memory_new(CHUNK_OBJECTS, shelf->size);
    }
    if (index >= shelf->used)
        shelf->used = index + 1;
}

void *
world_slot(const struct world *world, struct ref ref)
{
    const struct shelf *shelf = &world->shelves[ref.kind];

    assert(ref.kind > KIND_NONE && ref.kind < KIND_COUNT &&
           ref.index < shelf->used);
    return shelf->chunks[ref.index / CHUNK_OBJECTS] +
           ref.index % CHUNK_OBJECTS * shelf->size;
}

const void *
world_get(const struct world *world, struct ref ref)
{
    const struct object *object;

    if (ref.index == 0 || ref.kind >= KIND_COUNT ||
        ref.index >= world->shelves[ref.kind].used)
        return NULL;
    object = world_slot(world, ref);
    return object->self.index != 0 ? object : NULL;
}

const void *
world_get_kind(const struct world *world, enum kind kind, struct ref ref)
{
    return ref.kind == kind ? world_get(world, ref) : NULL;
}

struct ref
world_platform_ref(const struct world *world)
{
    return world->platform;
}

/* --- lookups --- */

struct ref
world_find(const struct world *world, enum kind kind, struct id id)
{
    const struct table_entry *entry =
        table_find_hash(&world->ids, table_id_hash(&world->key, id, kind));

    return entry != NULL && entry->ref.kind == kind ? entry->ref
                                                    : (struct ref){ 0 };
}

static void
fill_name_key(struct name_key *key, enum kind kind, struct ref parent,
              const char *name)
{
    memset(key, 0, sizeof(*key));
    key->kind = kind;
    key->parent = parent;
    memcpy(key->name, name, strnlen(name, NAME_MAX_SIZE - 1));
}

struct ref
world_find_name(const struct world *world, enum kind kind, struct ref parent,
                const char *name)
{
    const struct table_entry *entry;
    struct name_key key;

    if (name[0] == '\0' || strlen(name) >= NAME_MAX_SIZE)
        return (struct ref){ 0 };
    fill_name_key(&key, kind, parent, name);
    entry = table_find(&world->names, &world->key, &key, sizeof(key));
    return entry != NULL ? entry->ref : (struct ref){ 0 };
}

struct ref
world_find_digest(const struct world *world, enum kind kind,
                  const uint8_t digest[32])
{
    const struct table_entry *entry;
    KEY(digest_key, key);

    key.kind = kind;
    memcpy(key.digest, digest, sizeof(key.digest));
    entry = table_find(&world->digests, &world->key, &key, sizeof(key));
    return entry != NULL ? entry->ref : (struct ref){ 0 };
}

/* --- lists --- */

static struct ref
ref_of(enum kind kind, uint32_t index)
{
    return index == 0 ? (struct ref){ 0 } : (struct ref){ kind, index };
}

struct ref
world_first(const struct world *world, enum kind kind)
{
    return ref_of(kind, world->shelves[kind].all.first);
}

struct ref
world_next(const struct world *world, struct ref ref)
{
    const struct object *object = world_slot(world, ref);

    return ref_of((enum kind)ref.kind, object->all.next);
}

static struct ref
first_of(const struct world *world, enum kind kind, unsigned place,
         struct ref target)
{
    return ref_of(kind, heads_find(&world->heads, kind, place, target).first);
}

struct ref
world_first_child(const struct world *world, enum kind kind, struct ref parent)
{
    return first_of(world, kind, 0, parent);
}

struct ref
world_last_child(const struct world *world, enum kind kind, struct ref parent)
{
    return ref_of(kind, heads_find(&world->heads, kind, 0, parent).last);
}

struct ref
world_next_child(const struct world *world, struct ref ref)
{
    const struct object *object = world_slot(world, ref);

    return ref_of((enum kind)ref.kind, object->siblings.next);
}

struct ref
world_first_index(const struct world *world, enum kind kind, unsigned slot,
                  struct ref target)
{
    return first_of(world, kind, slot + 1, target);
}

struct ref
world_next_index(const struct world *world, unsigned slot, struct ref ref)
{
    const struct object *object = world_slot(world, ref);

    assert(slot < WORLD_INDEXES);
    return ref_of((enum kind)ref.kind, object->index[slot].next);
}

size_t
world_count(const struct world *world, enum kind kind)
{
    return world->shelves[kind].count;
}

/* --- the tree --- */

struct ref
world_parent(const struct world *world, struct ref ref)
{
    const struct object *object = world_get(world, ref);

    return object != NULL ? object->parent : (struct ref){ 0 };
}

struct ref
world_ancestor(const struct world *world, enum kind kind, struct ref ref)
{
    while (!ref_is_none(ref) && ref.kind != kind)
        ref = world_parent(world, ref);
    return ref;
}

struct ref
world_scope(const struct world *world, struct ref ref)
{
    struct ref tenant = world_ancestor(world, KIND_TENANT, ref);

    return ref_is_none(tenant) ? world->platform : tenant;
}

bool
world_is_below(const struct world *world, struct ref ref, struct ref node)
{
    while (!ref_is_none(ref)) {
        if (ref_equal(ref, node))
            return true;
        ref = world_parent(world, ref);
    }
    return false;
}

/* --- counters --- */

uint64_t
world_seq(const struct world *world)
{
    return world->seq;
}

uint64_t
world_generation(const struct world *world)
{
    return world->generation;
}

uint64_t
world_revision(const struct world *world, struct ref scope)
{
    const struct tenant *tenant = world_tenant(world, scope);
    const struct platform *platform = world_platform(world, scope);

    if (tenant != NULL)
        return tenant->scope_revision;
    return platform != NULL ? platform->scope_revision : 0;
}

/* --- linking --- */

static struct link *
link_at(const struct world *world, struct ref ref, size_t link_offset)
{
    return (struct link *)(void *)((char *)world_slot(world, ref) +
                                   link_offset);
}

/* Inserts by seq, looked for from the end: new objects go there at once. */
static void
list_insert(struct world *world, struct head *list, struct ref ref,
            size_t link_offset)
{
    enum kind kind = (enum kind)ref.kind;
    uint64_t seq = ((const struct object *)world_slot(world, ref))->seq;
    struct link *link = link_at(world, ref, link_offset);
    struct ref before = ref_of(kind, list->last), after = { 0 };

    while (!ref_is_none(before) &&
           ((const struct object *)world_slot(world, before))->seq > seq) {
        after = before;
        before = ref_of(kind, link_at(world, before, link_offset)->previous);
    }
    link->previous = before.index;
    link->next = after.index;
    if (ref_is_none(before))
        list->first = ref.index;
    else
        link_at(world, before, link_offset)->next = ref.index;
    if (ref_is_none(after))
        list->last = ref.index;
    else
        link_at(world, after, link_offset)->previous = ref.index;
}

static void
list_take(struct world *world, struct head *list, struct ref ref,
          size_t link_offset)
{
    enum kind kind = (enum kind)ref.kind;
    const struct link *link = link_at(world, ref, link_offset);
    struct ref before = ref_of(kind, link->previous);
    struct ref after = ref_of(kind, link->next);

    if (ref_is_none(before))
        list->first = after.index;
    else
        link_at(world, before, link_offset)->next = after.index;
    if (ref_is_none(after))
        list->last = before.index;
    else
        link_at(world, after, link_offset)->previous = before.index;
}

/* Puts an object into a list of its target's, or takes it out. */
static void
list_move(struct world *world, struct ref ref, unsigned place,
          struct ref target, size_t link_offset, bool in)
{
    struct head *head;

    if (ref_is_none(target))
        return;
    head = heads_put(&world->heads, (enum kind)ref.kind, place, target);
    if (in)
        list_insert(world, head, ref, link_offset);
    else
        list_take(world, head, ref, link_offset);
}

/* All lists that an object is in. */
static void
move_lists(struct world *world, struct ref ref, bool in)
{
    const struct object *object = world_slot(world, ref);
    const struct schema *schema = schema_get((enum kind)ref.kind);
    unsigned slot = 0;

    list_move(world, ref, 0, object->parent, offsetof(struct object, siblings),
              in);
    for (size_t i = 0; i < schema->field_count; i++) {
        if ((schema->fields[i].flags & FIELD_INDEX) == 0)
            continue;
        assert(slot < WORLD_INDEXES);
        list_move(world, ref, slot + 1,
                  *(const struct ref *)field_at(&schema->fields[i], object),
                  offsetof(struct object, index) + slot * sizeof(struct link),
                  in);
        slot++;
    }
}

/* Name and unique digest: the tables that are not lists. */
static void
each_key(struct world *world, struct ref ref, bool put)
{
    const struct object *object = world_slot(world, ref);
    const struct schema *schema = schema_get((enum kind)ref.kind);
    const uint8_t nothing[32] = { 0 };
    struct name_key name;
    struct table_entry *entry;

    if (object->name[0] != '\0') {
        fill_name_key(&name, (enum kind)ref.kind, object->parent, object->name);
        if (put)
            table_put(&world->names, &world->key, &name, sizeof(name))->ref =
                ref;
        else if ((entry = table_find(&world->names, &world->key, &name,
                                     sizeof(name))) != NULL &&
                 ref_equal(entry->ref, ref))
            table_remove(&world->names, entry);
    }
    for (size_t i = 0; i < schema->field_count; i++) {
        KEY(digest_key, key);

        if ((schema->fields[i].flags & FIELD_UNIQUE) == 0)
            continue;
        key.kind = ref.kind;
        memcpy(key.digest, field_at(&schema->fields[i], object),
               sizeof(key.digest));
        if (memcmp(key.digest, nothing, sizeof(nothing)) == 0)
            continue;
        if (put)
            table_put(&world->digests, &world->key, &key, sizeof(key))->ref =
                ref;
        else if ((entry = table_find(&world->digests, &world->key, &key,
                                     sizeof(key))) != NULL &&
                 ref_equal(entry->ref, ref))
            table_remove(&world->digests, entry);
    }
}

static void
put_id(struct world *world, struct ref ref, struct id id)
{
    table_put_hash(&world->ids, table_id_hash(&world->key, id, ref.kind))->ref =
        ref;
}

void
world_link(struct world *world, struct ref ref)
{
    struct shelf *shelf = &world->shelves[ref.kind];
    struct object *object = world_slot(world, ref);

    list_insert(world, &shelf->all, ref, offsetof(struct object, all));
    shelf->count++;
    put_id(world, ref, object->id);
    move_lists(world, ref, true);
    each_key(world, ref, true);
    if (ref.kind == KIND_GRANT)
        world_keep_holding(world, ref, true);
    if (ref.kind == KIND_PLATFORM)
        world->platform = ref;
}

void
world_unlink(struct world *world, struct ref ref)
{
    struct shelf *shelf = &world->shelves[ref.kind];
    struct object *object = world_slot(world, ref);

    if (ref.kind == KIND_GRANT)
        world_keep_holding(world, ref, false);
    each_key(world, ref, false);
    move_lists(world, ref, false);
    table_remove(
        &world->ids,
        table_find_hash(&world->ids,
                        table_id_hash(&world->key, object->id, ref.kind)));
    list_take(world, &shelf->all, ref, offsetof(struct object, all));
    shelf->count--;
}

/* --- soft state --- */

void
world_touch_node(struct world *world, struct ref node, int64_t now_ms)
{
    if (world_node(world, node) != NULL)
        ((struct node *)world_slot(world, node))->seen_ms = now_ms;
}

void
world_touch_card(struct world *world, struct ref card,
                 const struct card_readings *readings)
{
    if (world_card(world, card) != NULL)
        ((struct card *)world_slot(world, card))->read = *readings;
}

/* The soft members of a key or session, NULL for other kinds. */
static struct seen *
seen_of(struct world *world, struct ref ref)
{
    if (world_apikey(world, ref) != NULL)
        return &((struct apikey *)world_slot(world, ref))->seen;
    if (world_session(world, ref) != NULL)
        return &((struct session *)world_slot(world, ref))->seen;
    return NULL;
}

static bool
is_stale(const struct world *world, struct ref ref, const char *from,
         int64_t before_ms)
{
    const struct apikey *key = world_apikey(world, ref);
    const struct session *session = world_session(world, ref);
    const char *stored = "";
    int64_t used_ms = 0;

    if (key != NULL) {
        stored = key->used_from;
        used_ms = key->used_ms;
    } else if (session != NULL) {
        stored = session->used_from;
        used_ms = session->used_ms;
    }
    return used_ms < before_ms ||
           strncmp(stored, from, sizeof(key->used_from) - 1) != 0;
}

bool
world_touch_credential(struct world *world, struct ref ref, const char *from,
                       int64_t now_ms, int64_t stale_ms, bool note)
{
    struct seen *seen = seen_of(world, ref);

    if (seen == NULL)
        return false;
    seen->ms = now_ms;
    (void)snprintf(seen->from, sizeof(seen->from), "%s", from);
    if (seen->noted || !note || !is_stale(world, ref, from, now_ms - stale_ms))
        return false;
    seen->noted = true;
    return true;
}

void
world_stored_credential(struct world *world, struct ref ref)
{
    struct seen *seen = seen_of(world, ref);

    if (seen != NULL)
        seen->noted = false;
}

/* --- loading --- */

struct ref
world_reserve(struct world *world, enum kind kind, struct id id)
{
    struct ref ref = { kind, world->shelves[kind].used };
    struct object *object;

    world_grow(world, kind, ref.index);
    object = world_slot(world, ref);
    object->id = id;
    put_id(world, ref, id);
    return ref;
}

/* A loaded image's documents belong to the loader's arena. */
static void
own_docs(const struct schema *schema, void *object)
{
    for (size_t i = 0; i < schema->field_count; i++) {
        struct blob **blob;

        if (schema->fields[i].type != FIELD_DOC)
            continue;
        blob = field_of(&schema->fields[i], object);
        if (*blob != NULL)
            *blob = blob_new((*blob)->bytes, (*blob)->size);
    }
}

void
world_load(struct world *world, const void *image)
{
    const struct object *head = image;
    enum kind kind = (enum kind)head->self.kind;
    const struct schema *schema = schema_get(kind);
    struct object *object = world_slot(world, head->self);

    assert(object->self.index == 0);
    memcpy(object, image, schema->size);
    own_docs(schema, object);
    object->scope = kind == KIND_PLATFORM || kind == KIND_TENANT
                        ? object->self
                        : world_scope(world, object->parent);
    world_link(world, object->self);
    tally_object(world, kind, object, 1);
    node_type_renew(world, kind == KIND_CARD ? object->parent : object->self);
    if (kind == KIND_QUOTA) {
        tally_quota(world, (struct quota *)object);
        tally_pledges(world, (const struct quota *)object);
    }
    if (object->seq > world->seq)
        world->seq = object->seq;
}

void
world_load_counters(struct world *world, uint64_t seq)
{
    if (seq > world->seq)
        world->seq = seq;
}

void
world_load_revision(struct world *world, struct ref scope, uint64_t revision)
{
    if (world_tenant(world, scope) != NULL)
        ((struct tenant *)world_slot(world, scope))->scope_revision = revision;
    else if (world_platform(world, scope) != NULL)
        ((struct platform *)world_slot(world, scope))->scope_revision =
            revision;
}

void
world_load_usage(struct world *world, const struct world_usage *of,
                 int64_t month_ms, int64_t quantity)
{
    tally_usage(world, of, month_ms, quantity);
}
