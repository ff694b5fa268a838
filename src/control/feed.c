/* SPDX-License-Identifier: Apache-2.0 */
#include "control/feed.h"

#include <assert.h>
#include <string.h>

#define ROOM_LEAST 16

struct entry {
    struct note note;
    int64_t at_ms;
};

/* The newest notes, oldest first, in a ring that grows with them. */
struct chain {
    struct entry *ring;
    size_t room, first, count;
    uint64_t floor; /* notes up to this revision are gone */
};

struct feed {
    struct feed_bounds bounds;
    struct chain platform[KIND_COUNT];
    struct chain *tenants; /* by slot */
    size_t tenant_room;
    size_t swept; /* the chain that was looked at last, see sweep */
};

struct feed *
feed_new(struct feed_bounds bounds)
{
    struct feed *feed = memory_new(1, sizeof(*feed));

    assert(bounds.tenant > 0 && bounds.platform > 0 && bounds.keep_ms > 0);
    feed->bounds = bounds;
    return feed;
}

static struct entry *
entry_at(const struct chain *chain, size_t number)
{
    assert(chain->room > 0);
    return &chain->ring[(chain->first + number) % chain->room];
}

static void
drop_first(struct chain *chain)
{
    struct entry *entry = entry_at(chain, 0);

    if (entry->note.revision > chain->floor)
        chain->floor = entry->note.revision;
    blob_drop(entry->note.audience.tenants);
    chain->first = (chain->first + 1) % chain->room;
    chain->count--;
}

static void
resize(struct chain *chain, size_t room)
{
    struct entry *ring = room == 0 ? NULL : memory_new(room, sizeof(*ring));

    assert(room >= chain->count);
    for (size_t i = 0; ring != NULL && i < chain->count; i++)
        ring[i] = *entry_at(chain, i);
    free(chain->ring);
    chain->ring = ring;
    chain->room = room;
    chain->first = 0;
}

static void
empty(struct chain *chain)
{
    while (chain->count > 0)
        drop_first(chain);
    resize(chain, 0);
}

void
feed_free(struct feed *feed)
{
    if (feed == NULL)
        return;
    for (size_t i = 0; i < KIND_COUNT; i++)
        empty(&feed->platform[i]);
    for (size_t i = 0; i < feed->tenant_room; i++)
        empty(&feed->tenants[i]);
    free(feed->tenants);
    free(feed);
}

static struct chain *
chain_of(struct feed *feed, struct ref scope, enum kind kind)
{
    size_t room = feed->tenant_room;

    if (scope.kind != KIND_TENANT)
        return &feed->platform[kind];
    if (scope.index >= room) {
        feed->tenant_room = (size_t)scope.index * 2 + 16;
        feed->tenants = memory_grow(feed->tenants, feed->tenant_room,
                                    sizeof(*feed->tenants));
        memset(&feed->tenants[room], 0,
               (feed->tenant_room - room) * sizeof(*feed->tenants));
    }
    return &feed->tenants[scope.index];
}

static void
restart(struct chain *chain, uint64_t revision)
{
    empty(chain);
    chain->floor = revision;
}

void
feed_start(struct feed *feed, struct ref scope, uint64_t revision)
{
    if (scope.kind == KIND_TENANT) {
        restart(chain_of(feed, scope, KIND_TENANT), revision);
        return;
    }
    for (size_t i = 0; i < KIND_COUNT; i++)
        restart(&feed->platform[i], revision);
}

/* --- what is too old --- */

static bool
is_old(const struct feed *feed, const struct entry *entry, int64_t now_ms)
{
    return now_ms - entry->at_ms >= feed->bounds.keep_ms;
}

static void
forget_old(const struct feed *feed, struct chain *chain, int64_t now_ms)
{
    while (chain->count > 0 && is_old(feed, entry_at(chain, 0), now_ms))
        drop_first(chain);
    if (chain->room > ROOM_LEAST && chain->count < chain->room / 4)
        resize(chain, chain->room / 2);
}

/* Frees what nobody may read any more, one chain a note: a tenant's chain is
 * not looked at otherwise while it is idle.  Who reads does not count what is
 * too old, freed or not. */
static void
sweep(struct feed *feed, int64_t now_ms)
{
    size_t all = KIND_COUNT + feed->tenant_room;

    feed->swept = (feed->swept + 1) % all;
    forget_old(feed,
               feed->swept < KIND_COUNT
                   ? &feed->platform[feed->swept]
                   : &feed->tenants[feed->swept - KIND_COUNT],
               now_ms);
}

void
feed_add(struct feed *feed, const struct note *note, int64_t now_ms)
{
    struct chain *chain;
    struct entry *entry;

    /* A slot that is used again is another tenant. */
    if (note->created && note->kind == KIND_TENANT)
        feed_start(feed, note->scope, note->revision - 1);
    chain = chain_of(feed, note->scope, (enum kind)note->kind);
    if (chain->count == (note->scope.kind == KIND_TENANT
                             ? feed->bounds.tenant
                             : feed->bounds.platform))
        drop_first(chain);
    if (chain->count == chain->room)
        resize(chain, chain->room == 0 ? ROOM_LEAST : chain->room * 2);
    entry = entry_at(chain, chain->count++);
    *entry = (struct entry){ *note, now_ms };
    (void)blob_hold(note->audience.tenants);
    sweep(feed, now_ms);
}

/* --- reading --- */

static const struct chain nothing;

static const struct chain *
known_chain(const struct feed *feed, const struct feed_place *place)
{
    if (place->scope.kind != KIND_TENANT)
        return &feed->platform[place->kind];
    return place->scope.index < feed->tenant_room
               ? &feed->tenants[place->scope.index]
               : &nothing;
}

/* The number of the first note that is young enough. */
static size_t
first_kept(const struct feed *feed, const struct chain *chain, int64_t now_ms)
{
    size_t number = 0;

    while (number < chain->count &&
           is_old(feed, entry_at(chain, number), now_ms))
        number++;
    return number;
}

static uint64_t
floor_of(const struct chain *chain, size_t first)
{
    return first == 0 ? chain->floor
                      : entry_at(chain, first - 1)->note.revision;
}

uint64_t
feed_floor(const struct feed *feed, const struct feed_place *place)
{
    const struct chain *chain = known_chain(feed, place);

    return floor_of(chain, first_kept(feed, chain, place->now_ms));
}

int
feed_read(const struct feed *feed, const struct feed_place *place,
          bool (*take)(void *data, const struct note *note), void *data,
          struct error *err)
{
    const struct chain *chain = known_chain(feed, place);
    size_t number = first_kept(feed, chain, place->now_ms);
    size_t at = chain->count;

    if (place->since < floor_of(chain, number) || place->since > place->now)
        return error_set(err, ERROR_GONE,
                         "changes since revision %llu are no longer kept: "
                         "list again",
                         (unsigned long long)place->since);
    while (at > number && entry_at(chain, at - 1)->note.revision > place->since)
        at--;
    while (at < chain->count && take(data, &entry_at(chain, at)->note))
        at++;
    return 0;
}
