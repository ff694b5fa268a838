/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <string.h>

#include "core/world_private.h"

/* The only mutator of the world; see change.h. */

/* Takes the slots that change_create has promised. */
static void
take_slots(struct world *world, const struct changes *changes)
{
    for (unsigned kind = KIND_NONE + 1; kind < KIND_COUNT; kind++) {
        struct shelf *shelf = &world->shelves[kind];
        uint32_t wanted = changes->reserved[kind];
        uint32_t reused =
            wanted < shelf->free_count ? wanted : shelf->free_count;

        shelf->free_count -= reused;
        if (wanted > reused)
            world_grow(world, (enum kind)kind,
                       shelf->used + (wanted - reused) - 1);
    }
}

static void
give_slot(struct world *world, struct ref ref)
{
    struct shelf *shelf = &world->shelves[ref.kind];

    memset(world_slot(world, ref), 0, shelf->size);
    if (shelf->free_count == shelf->free_room) {
        shelf->free_room = shelf->free_room > 0 ? shelf->free_room * 2 : 64;
        shelf->free = memory_grow(shelf->free, shelf->free_room,
                                  sizeof(*shelf->free));
    }
    shelf->free[shelf->free_count++] = ref.index;
}

/* Documents: an unchanged pointer is kept, a new one copied and counted. */
static void
settle_docs(const struct schema *schema, void *slot, const void *image)
{
    for (size_t i = 0; i < schema->field_count; i++) {
        struct blob *const *from;
        struct blob **to;

        if (schema->fields[i].type != FIELD_DOC)
            continue;
        from = field_at(&schema->fields[i], image);
        to = field_of(&schema->fields[i], slot);
        if (*from == *to)
            continue;
        blob_drop(*to);
        *to = *from != NULL ? blob_new((*from)->bytes, (*from)->size) : NULL;
    }
}

static void
drop_docs(const struct schema *schema, void *slot)
{
    for (size_t i = 0; i < schema->field_count; i++)
        if (schema->fields[i].type == FIELD_DOC)
            blob_drop(*(struct blob **)field_of(&schema->fields[i], slot));
}

/* Copies all stored fields but the documents; derived members stay. */
static void
copy_stored(enum kind kind, void *slot, const void *image)
{
    const struct schema *schema = schema_get(kind);

    for (size_t i = 0; i < schema->field_count; i++)
        if (schema->fields[i].type != FIELD_DOC)
            memcpy(field_of(&schema->fields[i], slot),
                   field_at(&schema->fields[i], image),
                   schema->fields[i].size);
}

/* The node that is an object, or that a card is on, may be of another type. */
static void
renew_type(struct world *world, struct ref self, struct ref parent)
{
    if (self.kind == KIND_NODE)
        node_type_renew(world, self);
    else if (self.kind == KIND_CARD)
        node_type_renew(world, parent);
}

static void
put_new(struct world *world, const struct change *change)
{
    enum kind kind = (enum kind)change->ref.kind;
    struct object *slot = world_slot(world, change->ref);

    memset(slot, 0, world->shelves[kind].size);
    memcpy(slot, change->image, sizeof(*slot));
    copy_stored(kind, slot, change->image);
    settle_docs(schema_get(kind), slot, change->image);
    world_link(world, change->ref);
    tally_object(world, kind, slot, 1);
    renew_type(world, slot->self, slot->parent);
    if (kind == KIND_QUOTA) {
        tally_quota(world, (struct quota *)slot);
        tally_pledges(world, (const struct quota *)slot);
    }
}

/* Does the change move the object to other lists, or give it another digest? */
static bool
moves(enum kind kind, const void *slot, const void *image)
{
    const struct schema *schema = schema_get(kind);

    for (size_t i = 0; i < schema->field_count; i++)
        if ((schema->fields[i].flags & (FIELD_INDEX | FIELD_UNIQUE)) != 0 &&
            memcmp(field_at(&schema->fields[i], slot),
                   field_at(&schema->fields[i], image),
                   schema->fields[i].size) != 0)
            return true;
    return false;
}

static bool
fades_anew(const void *slot, const void *image)
{
    const struct platform *old = slot, *new = image;

    return old->share_half_life_ms != new->share_half_life_ms;
}

static void
put_changed(struct world *world, const struct change *change, int64_t now_ms)
{
    enum kind kind = (enum kind)change->ref.kind;
    struct object *slot = world_slot(world, change->ref);
    bool moved = moves(kind, slot, change->image);
    bool fades = kind == KIND_PLATFORM && fades_anew(slot, change->image);
    bool other = node_type_differs(kind, slot, change->image);

    tally_object(world, kind, slot, -1);
    if (moved)
        world_unlink(world, change->ref);
    copy_stored(kind, slot, change->image);
    if (moved)
        world_link(world, change->ref);
    settle_docs(schema_get(kind), slot, change->image);
    if (kind == KIND_GRANT)
        holdings_renew(&world->holdings, (const struct grant *)slot);
    if (!change->unsaid) {
        slot->version++;
        slot->updated_ms = now_ms;
    }
    tally_object(world, kind, slot, 1);
    if (other)
        renew_type(world, slot->self, slot->parent);
    if (fades)
        recent_rebuild(world);
}

static void
remove_object(struct world *world, struct ref ref)
{
    enum kind kind = (enum kind)ref.kind;
    void *slot = world_slot(world, ref);
    struct ref parent = ((struct object *)slot)->parent;

    tally_object(world, kind, slot, -1);
    if (kind == KIND_CLASS || kind == KIND_POOL)
        tally_forget(world, ref);
    world_unlink(world, ref);
    drop_docs(schema_get(kind), slot);
    give_slot(world, ref);
    renew_type(world, ref, parent);
}

/* Each scope that the set touches goes one revision up, once. */
static uint64_t
raise_revision(struct world *world, struct ref scope, bool first)
{
    uint64_t *revision;

    if (scope.kind == KIND_TENANT)
        revision = &((struct tenant *)world_slot(world, scope))->scope_revision;
    else
        revision =
            &((struct platform *)world_slot(world, scope))->scope_revision;
    if (first)
        ++*revision;
    return *revision;
}

static bool
scope_seen(const struct changes *changes, size_t before, struct ref scope)
{
    for (size_t i = 0; i < before; i++)
        if (ref_equal(changes->list[i].scope, scope))
            return true;
    return false;
}

/* A stranger who types passwords makes users change: that may wake nobody. */
static bool
is_quiet(const struct world *world, const struct change *change)
{
    const struct user *image = change->image;

    return change->op == CHANGE_PUT && !change->created &&
           change->ref.kind == KIND_USER &&
           image->state == world_user(world, change->ref)->state;
}

static void
apply_one(struct world *world, struct changes *changes, size_t number)
{
    struct change *change = &changes->list[number];
    const bool quiet = is_quiet(world, change);
    struct object *slot;

    if (ref_is_none(change->ref)) { /* history: never in the world */
        if (((struct object *)change->image)->self.kind == KIND_FACT)
            tally_fact(world, change->image);
        return;
    }
    if (change->op == CHANGE_PUT && change->created)
        put_new(world, change);
    else if (change->op == CHANGE_PUT)
        put_changed(world, change, changes->context.now_ms);
    slot = world_slot(world, change->ref);
    change->revision = slot->revision;
    if (!change->unsaid)
        change->scope = slot->scope;
    if (!ref_is_none(change->scope))
        change->revision =
            raise_revision(world, slot->scope,
                           !scope_seen(changes, number, slot->scope));
    if (change->op != CHANGE_PUT) {
        trail_add(world, slot, TRAIL_GONE, false);
        remove_object(world, change->ref);
        return;
    }
    trail_add(world, slot, change->created ? TRAIL_CREATED : TRAIL_CHANGED,
              quiet);
    slot->revision = change->revision;
    memcpy(change->image, slot, schema_get((enum kind)change->ref.kind)->size);
}

void
world_apply(struct world *world, struct changes *changes)
{
    assert(changes->world == world &&
           changes->generation == world->generation);
    take_slots(world, changes);
    for (size_t i = 0; i < changes->count; i++)
        apply_one(world, changes, i);
    world->seq = changes->seq;
    world->generation++;
    changes->generation = world->generation;
}
