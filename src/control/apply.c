/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <string.h>

#include "control/journal.h"
#include "control/loop_private.h"
#include "store/row.h"

/* How a change set becomes rows and notes; see loop.h. */

const struct world *
loop_world(const struct loop *loop)
{
    return loop->world;
}

void
loop_touch(struct loop *loop, struct ref ref)
{
    int64_t now_ms = loop->clock.now_ms;

    if (ref.kind == KIND_NODE)
        world_touch_node(loop->world, ref, now_ms);
}

void
loop_touch_card(struct loop *loop, struct ref card,
                const struct card_readings *readings)
{
    world_touch_card(loop->world, card, readings);
}

struct journal *
loop_journal(struct loop *loop)
{
    return loop->journal;
}

struct context
loop_context(struct loop *loop)
{
    struct context context = { loop->clock.now_ms, &loop->ids };

    return context;
}

struct changes *
loop_changes(struct loop *loop, struct arena *arena)
{
    return change_begin(arena, loop->world, loop_context(loop));
}

void
loop_counter(struct loop *loop, const char *name, int64_t value,
             const void *bytes, size_t size)
{
    batch_counter(loop->batch, name, value, bytes, size);
}

/* What is known of a change before it is applied. */
struct before {
    struct ref parent;
    struct id parent_id;
    const struct value *values; /* when they must be taken now */
    struct access_audience audience; /* of what is removed; blobs held */
    bool skip;                  /* deleted in the same set: no row */
};

static bool
is_history(const struct change *change)
{
    return change->ref.index == 0;
}

static enum kind
kind_of(const struct change *change)
{
    return (enum kind)change->ref.kind;
}

/* A put whose object leaves the world in the same set: afterwards neither it
 * nor its documents are there. */
static void
prepare_removed(struct loop *loop, const struct changes *changes,
                struct before *before, size_t removal)
{
    const struct change *gone = &changes->list[removal];

    for (size_t i = 0; i < removal; i++) {
        const struct change *change = &changes->list[i];

        if (change->op != CHANGE_PUT || !ref_equal(change->ref, gone->ref) ||
            is_history(change))
            continue;
        if (gone->op == CHANGE_DELETE)
            before[i].skip = true;
        else
            before[i].values = object_values(loop->world, kind_of(change),
                                             change->image,
                                             loop->batch->arena);
    }
}

/* Facts of bindings are numbered here: dense within this process's epoch. */
static void
number_fact(struct loop *loop, struct fact *fact)
{
    if (fact->epoch != 0) /* a producer's own number */
        return;
    fact->epoch = loop->epoch;
    fact->sequence = ++loop->fact_sequence;
}

static void
note_parent(const struct world *world, const struct changes *changes,
            const struct object *object, struct before *before)
{
    const struct object *parent = NULL;

    before->parent = object->parent;
    if (!ref_is_none(object->parent))
        parent = change_get(changes, object->parent);
    if (parent == NULL)
        parent = world_object(world, object->parent);
    if (parent != NULL)
        before->parent_id = parent->id;
}

static struct before *
prepare(struct loop *loop, const struct changes *changes)
{
    struct before *before = arena_alloc(
        changes->arena, (changes->count + 1) * sizeof(*before));

    for (size_t i = 0; i < changes->count; i++) {
        const struct change *change = &changes->list[i];
        const struct object *object =
            change->image != NULL ? change->image
                                  : change_get(changes, change->ref);

        /* After the last change of an object change_get says what is then:
         * nothing for one that is removed. */
        if (object == NULL)
            object = world_object(loop->world, change->ref);
        if (object != NULL)
            note_parent(loop->world, changes, object, &before[i]);
        if (change->op != CHANGE_PUT) {
            prepare_removed(loop, changes, before, i);
            before[i].audience = access_audience(loop->world, change->ref);
            (void)blob_hold(before[i].audience.tenants);
        }
        if (!is_history(change))
            continue;
        assert(change->image != NULL);
        if (change->ref.kind == KIND_FACT)
            number_fact(loop, change->image);
        before[i].values = object_values(loop->world, kind_of(change),
                                         change->image, loop->batch->arena);
    }
    return before;
}

/* The head's members that world_apply has set meanwhile. */
static const struct value *
settle_values(const struct change *change, const struct value *values)
{
    const struct object *object = change->image;
    union {
        const struct value *in;
        struct value *out;
    } list = { values };

    list.out[2].integer = (int64_t)object->version;
    list.out[3].integer = (int64_t)object->revision;
    list.out[5].integer = object->updated_ms;
    return values;
}

static const char *
id_text(struct loop *loop, const struct change *change)
{
    char text[ID_TEXT_MAX];

    id_format(schema_get(kind_of(change))->prefix, change->id, text);
    return arena_strdup(loop->batch->arena, text);
}

static void
queue_row(struct loop *loop, const struct change *change,
          const struct before *before)
{
    struct store_row row = { .kind = kind_of(change) };
    struct touch touch = { .scope = change->scope, .kind = row.kind };

    if (change->op != CHANGE_PUT) {
        row.op = change->op == CHANGE_DELETE ? STORE_DELETE : STORE_EVICT;
        row.id = touch.id = id_text(loop, change);
    } else {
        row.op = STORE_PUT;
        if (before->values == NULL)
            row.values = object_values(loop->world, row.kind, change->image,
                                       loop->batch->arena);
        else
            row.values = is_history(change)
                             ? before->values
                             : settle_values(change, before->values);
        touch.id = row.values[0].text;
        touch.version = row.values[2].integer;
        touch.values = row.values;
    }
    batch_row(loop->batch, &row);
    if (!is_history(change) && !change->unsaid)
        batch_touch(loop->batch, &touch);
}

/* For watches that come after a restart, or after the feed forgot it. */
static void
keep_deletion(struct loop *loop, const struct note *note)
{
    const char *kind = schema_get((enum kind)note->kind)->name;
    char name[64];

    if (!note->deleted || note->scope.kind == KIND_TENANT ||
        !note->audience.known || !note->audience.all)
        return;
    loop->deleted[note->kind] = note->revision;
    (void)snprintf(name, sizeof(name), "deleted:%s", kind);
    batch_counter(loop->batch, name, (int64_t)note->revision, NULL, 0);
}

static void
queue_note(struct loop *loop, const struct change *change,
           const struct before *before)
{
    struct note note = { .revision = change->revision,
                         .scope = change->scope,
                         .ref = change->ref,
                         .parent = before->parent,
                         .parent_id = before->parent_id,
                         .id = change->id,
                         .kind = change->ref.kind,
                         .deleted = change->op != CHANGE_PUT,
                         .created = change->op == CHANGE_PUT &&
                                    change->created,
                         .audience = before->audience };

    feed_add(loop->feed, &note, loop->clock.now_ms);
    keep_deletion(loop, &note);
    note.audience.tenants = NULL; /* the batch goes to another thread */
    batch_note(loop->batch, &note);
}

uint64_t
loop_deleted(const struct loop *loop, enum kind kind)
{
    return loop->deleted[kind];
}

static void
queue_revision(struct loop *loop, struct ref scope)
{
    char id[ID_TEXT_MAX], name[ID_TEXT_MAX + 16];

    object_id_text(loop->world, scope, id);
    if (id[0] == '\0')
        return;
    (void)snprintf(name, sizeof(name), "revision:%s", id);
    batch_counter(loop->batch, name,
                  (int64_t)world_revision(loop->world, scope), NULL, 0);
}

static void
queue_counters(struct loop *loop, const struct changes *changes)
{
    struct ref last = { 0 };

    batch_counter(loop->batch, "seq", (int64_t)world_seq(loop->world), NULL,
                  0);
    for (size_t i = 0; i < changes->count; i++) {
        const struct change *change = &changes->list[i];

        if (is_history(change) || ref_equal(change->scope, last))
            continue;
        last = change->scope;
        queue_revision(loop, last);
    }
}

void
loop_apply(struct loop *loop, struct changes *changes)
{
    struct before *before;

    assert(loop->batch != NULL);
    if (change_is_empty(changes))
        return;
    before = prepare(loop, changes);
    world_apply(loop->world, changes);
    for (size_t i = 0; i < changes->count; i++) {
        const struct change *change = &changes->list[i];

        if (before[i].skip)
            continue;
        queue_row(loop, change, &before[i]);
        if (!is_history(change) && !change->unsaid)
            queue_note(loop, change, &before[i]);
    }
    for (size_t i = 0; i < changes->count; i++)
        blob_drop(before[i].audience.tenants);
    queue_counters(loop, changes);
}

uint64_t
loop_notes_from(const struct loop *loop, struct ref scope, enum kind kind)
{
    const struct feed_place place = { .scope = scope,
                                      .kind = kind,
                                      .now_ms = loop->clock.now_ms };

    return feed_floor(loop->feed, &place);
}

int
loop_notes(struct loop *loop, struct ref scope, enum kind kind, uint64_t since,
           bool (*take)(void *data, const struct note *note), void *data,
           struct error *err)
{
    const struct feed_place place = { .scope = scope,
                                      .kind = kind,
                                      .since = since,
                                      .now = world_revision(loop->world,
                                                            scope),
                                      .now_ms = loop->clock.now_ms };

    return feed_read(loop->feed, &place, take, data, err);
}

void
loop_erase_person(struct loop *loop, const char *log, int64_t position)
{
    struct value *values = arena_alloc(loop->batch->arena,
                                       2 * sizeof(*values));
    const struct store_row row = { .kind = KIND_EVENT,
                                   .op = STORE_ERASE,
                                   .values = values };

    values[0] = (struct value){ .type = VALUE_TEXT, .text = log };
    values[1] = (struct value){ .type = VALUE_INT, .integer = position };
    batch_row(loop->batch, &row);
}

void
loop_prune_records(struct loop *loop, const char *log, int64_t from,
                   int64_t to)
{
    struct value *values = arena_alloc(loop->batch->arena,
                                       3 * sizeof(*values));
    const struct store_row row = { .kind = KIND_EVENT,
                                   .op = STORE_PRUNE,
                                   .values = values };

    values[0] = (struct value){ .type = VALUE_TEXT, .text = log };
    values[1] = (struct value){ .type = VALUE_INT, .integer = from };
    values[2] = (struct value){ .type = VALUE_INT, .integer = to };
    batch_row(loop->batch, &row);
}
