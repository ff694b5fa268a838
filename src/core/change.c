/* SPDX-License-Identifier: Apache-2.0 */
#include "core/change.h"

#include <assert.h>
#include <string.h>

#include "core/world_private.h"

struct changes *
change_begin(struct arena *arena, const struct world *world,
             struct context context)
{
    struct changes *changes = arena_alloc(arena, sizeof(*changes));

    changes->arena = arena;
    changes->world = world;
    changes->context = context;
    changes->seq = world_seq(world);
    changes->generation = world_generation(world);
    return changes;
}

static struct change *
change_add(struct changes *changes)
{
    if (changes->count == changes->room) {
        size_t room = changes->room > 0 ? changes->room * 2 : 8;
        struct change *list =
            arena_alloc(changes->arena, room * sizeof(*list));

        if (changes->count > 0)
            memcpy(list, changes->list, changes->count * sizeof(*list));
        changes->list = list;
        changes->room = room;
    }
    return &changes->list[changes->count++];
}

/* The newest entry about ref. */
static struct change *
change_find(const struct changes *changes, struct ref ref)
{
    for (size_t i = changes->count; i > 0; i--)
        if (ref_equal(changes->list[i - 1].ref, ref) && !ref_is_none(ref))
            return &changes->list[i - 1];
    return NULL;
}

/* The index that the next new object of the kind will get. */
static uint32_t
reserve(struct changes *changes, enum kind kind)
{
    const struct shelf *shelf = &changes->world->shelves[kind];
    uint32_t number = changes->reserved[kind]++;

    if (number < shelf->free_count)
        return shelf->free[shelf->free_count - 1 - number];
    return shelf->used + (number - shelf->free_count);
}

static struct ref
scope_of(const struct changes *changes, struct ref self, struct ref parent)
{
    const struct object *object;

    if (self.kind == KIND_PLATFORM || self.kind == KIND_TENANT)
        return self;
    if (parent.kind == KIND_PLATFORM || parent.kind == KIND_TENANT)
        return parent;
    object = change_get(changes, parent);
    return object != NULL ? object->scope
                          : world_platform_ref(changes->world);
}

void *
change_create(struct changes *changes, enum kind kind, struct ref parent,
              const char *name)
{
    const struct schema *schema = schema_get(kind);
    struct object *object = arena_alloc(changes->arena, schema->size);
    struct change *change;

    assert(strlen(name) < sizeof(object->name));
    object->id = id_next(changes->context.ids);
    object->seq = ++changes->seq;
    object->version = 1;
    object->created_ms = changes->context.now_ms;
    object->updated_ms = changes->context.now_ms;
    object->parent = parent;
    (void)memcpy(object->name, name, strlen(name) + 1);
    object->self.kind = kind;
    if (schema->life == LIFE_OBJECT)
        object->self.index = reserve(changes, kind);
    object->scope = scope_of(changes, object->self, parent);
    change = change_add(changes);
    *change = (struct change){ .op = CHANGE_PUT,
                               .created = true,
                               .ref = object->self,
                               .image = object,
                               .id = object->id };
    return object;
}

static void *
put(struct changes *changes, struct ref ref, bool unsaid)
{
    struct change *change = change_find(changes, ref);
    const struct object *object;
    void *image;

    if (change != NULL) {
        assert(change->op == CHANGE_PUT);
        change->unsaid = change->unsaid && unsaid;
        return change->image;
    }
    object = world_get(changes->world, ref);
    assert(object != NULL);
    image = arena_alloc(changes->arena, schema_get((enum kind)ref.kind)->size);
    memcpy(image, object, schema_get((enum kind)ref.kind)->size);
    change = change_add(changes);
    *change = (struct change){ .op = CHANGE_PUT,
                               .ref = ref,
                               .image = image,
                               .id = object->id,
                               .unsaid = unsaid };
    return image;
}

void *
change_update(struct changes *changes, struct ref ref)
{
    return put(changes, ref, false);
}

void *
change_unsaid(struct changes *changes, struct ref ref)
{
    return put(changes, ref, true);
}

/* An object that the set has put before is stored first, then taken out. */
static void
change_remove(struct changes *changes, struct ref ref, enum change_op op)
{
    const struct object *object = change_get(changes, ref);
    struct change *change;

    assert(object != NULL);
    change = change_add(changes);
    *change = (struct change){ .op = op, .ref = ref, .id = object->id };
}

void
change_delete(struct changes *changes, struct ref ref)
{
    change_remove(changes, ref, CHANGE_DELETE);
}

void
change_evict(struct changes *changes, struct ref ref)
{
    change_remove(changes, ref, CHANGE_EVICT);
}

const void *
change_get(const struct changes *changes, struct ref ref)
{
    const struct change *change = change_find(changes, ref);

    if (change != NULL)
        return change->op == CHANGE_PUT ? change->image : NULL;
    return world_get(changes->world, ref);
}

void
change_count(const struct changes *changes, struct quota *quota)
{
    tally_quota(changes->world, quota);
}

void
change_doc(struct changes *changes, struct blob **member, const char *text)
{
    size_t size;
    struct blob *blob;

    if (text == NULL) {
        *member = NULL;
        return;
    }
    size = strlen(text);
    assert(size < UINT32_MAX);
    /* Lives in the arena; world_apply makes a counted copy. */
    blob = arena_alloc(changes->arena, sizeof(*blob) + size + 1);
    blob->size = (uint32_t)size;
    memcpy(blob->bytes, text, size + 1);
    *member = blob;
}
