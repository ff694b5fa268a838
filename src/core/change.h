/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CHANGE_H
#define CORE_CHANGE_H

#include "core/world.h"

/*
 * What would this command change?  A decision fills a change set with whole
 * images of the objects that it creates or changes, without touching the
 * world; world_apply puts all of them in at once and cannot fail.  A change
 * set that is dropped has had no effect: that is what dry_run does.
 * A set is applied before the next one is begun, or dropped.
 *
 *     decide(const struct world *, command, context) -> change set | error
 */

/* What the outside world tells a decision: time and fresh ids. */
struct context {
    int64_t now_ms;
    struct id_source *ids; /* advances; not part of the world */
};

enum change_op { CHANGE_PUT, CHANGE_DELETE, CHANGE_EVICT };

struct change {
    enum change_op op;
    bool created;
    struct ref ref;
    void *image; /* PUT: the whole new struct; else NULL */
    struct id id;
    bool unsaid; /* see change_unsaid */
    /* set by world_apply, for watches */
    struct ref scope;
    uint64_t revision;
};

struct changes {
    struct arena *arena; /* owns the images */
    const struct world *world;
    struct context context;
    struct change *list; /* in the order of the first touch */
    size_t count;
    size_t room;
    uint32_t reserved[KIND_COUNT];
    uint64_t seq;
    uint64_t generation; /* of the world when the set was begun */
};

/* Starts an empty set; everything in it lives as long as the arena. */
struct changes *change_begin(struct arena *arena, const struct world *world,
                             struct context context);

/* A zeroed image of a new object with id, self, seq, created_ms, parent,
 * scope and name set (name may be "").  LIFE_HISTORY kinds never enter the
 * world (self stays none). */
void *change_create(struct changes *changes, enum kind kind,
                    struct ref parent, const char *name)
    __attribute__((returns_nonnull));
/* The image to change: the pending one, else a copy of the current one. */
void *change_update(struct changes *changes, struct ref ref)
    __attribute__((returns_nonnull));
/* The image to change of what others' doings count in an object: other
 * tenants', of which its own is not told, or attempts to be somebody.  Its
 * version, revision and updated_ms stay, no record and no watch tells of it.
 * Only for members with FIELD_UNSAID, in the first case FIELD_PLATFORM too; with change_update in the same set it is an ordinary change. */
void *change_unsaid(struct changes *changes, struct ref ref)
    __attribute__((returns_nonnull));
/* Deletes from world and store.  The caller has dealt with children. */
void change_delete(struct changes *changes, struct ref ref);
/* Takes out of the world only: finished history that stays in the store. */
void change_evict(struct changes *changes, struct ref ref);
/* The pending image when there is one, else the current object; NULL when
 * deleted in this set or gone. */
const void *change_get(const struct changes *changes, struct ref ref);
/* Counts what a new quota starts from, as world_apply will: for those who read
 * the image before. */
void change_count(const struct changes *changes, struct quota *quota);
/* Replaces a FIELD_DOC member of an image by text (NULL: null). */
void change_doc(struct changes *changes, struct blob **member,
                const char *text);

static inline bool
change_is_empty(const struct changes *changes)
{
    return changes->count == 0;
}

/* The only mutator.  Sets version, revision, updated_ms; keeps all indexes
 * and derived members; takes over the documents.  After it, each PUT's image
 * pointer holds the object as stored (for encoding rows). */
void world_apply(struct world *world, struct changes *changes);

#endif
