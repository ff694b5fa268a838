/* SPDX-License-Identifier: Apache-2.0 */
#include "control/feed.h"

#include <assert.h>
#include <string.h>

struct entry {
    struct note note;
    uint64_t previous; /* number of the scope's note before it; 0: none */
};

struct chain {
    uint64_t newest; /* number of its newest note; 0: none */
    uint64_t floor;  /* notes up to this revision are gone */
};

struct feed {
    struct entry *ring;
    size_t room;
    uint64_t count; /* notes so far; numbers are 1, 2, ... */
    struct chain platform;
    struct chain *tenants; /* by slot */
    size_t tenant_room;
};

struct feed *
feed_new(size_t room)
{
    struct feed *feed = memory_new(1, sizeof(*feed));

    assert(room > 0);
    feed->ring = memory_new(room, sizeof(*feed->ring));
    /* Written to once, so that all of it is there from the start: what the
     * ring takes is no growth, and is not missing later. */
    memset(feed->ring, 0, room * sizeof(*feed->ring));
    feed->room = room;
    return feed;
}

void
feed_free(struct feed *feed)
{
    if (feed == NULL)
        return;
    for (size_t i = 0; i < feed->room; i++)
        blob_drop(feed->ring[i].note.audience.tenants);
    free(feed->tenants);
    free(feed->ring);
    free(feed);
}

static struct chain *
chain_of(struct feed *feed, struct ref scope)
{
    size_t room = feed->tenant_room;

    if (scope.kind != KIND_TENANT)
        return &feed->platform;
    if (scope.index >= room) {
        feed->tenant_room = (size_t)scope.index * 2 + 16;
        feed->tenants = memory_grow(feed->tenants, feed->tenant_room,
                                    sizeof(*feed->tenants));
        memset(&feed->tenants[room], 0,
               (feed->tenant_room - room) * sizeof(*feed->tenants));
    }
    return &feed->tenants[scope.index];
}

static struct entry *
entry_at(const struct feed *feed, uint64_t number)
{
    return &feed->ring[(number - 1) % feed->room];
}

/* Is the note of that number still in the ring? */
static bool
is_kept(const struct feed *feed, uint64_t number)
{
    return number != 0 && number + feed->room > feed->count;
}

void
feed_start(struct feed *feed, struct ref scope, uint64_t revision)
{
    struct chain *chain = chain_of(feed, scope);

    chain->newest = 0;
    chain->floor = revision;
}

static void
forget(struct feed *feed, const struct note *note)
{
    struct chain *chain = chain_of(feed, note->scope);

    if (note->revision > chain->floor)
        chain->floor = note->revision;
}

void
feed_add(struct feed *feed, const struct note *note)
{
    struct entry *entry = entry_at(feed, feed->count + 1);
    struct chain *chain;

    if (feed->count >= feed->room)
        forget(feed, &entry->note);
    /* A slot that is used again is another tenant. */
    if (note->created && note->kind == KIND_TENANT)
        feed_start(feed, note->scope, note->revision - 1);
    chain = chain_of(feed, note->scope);
    blob_drop(entry->note.audience.tenants);
    entry->note = *note;
    (void)blob_hold(note->audience.tenants);
    entry->previous = chain->newest;
    chain->newest = ++feed->count;
}

static const struct chain nothing;

static const struct chain *
known_chain(const struct feed *feed, struct ref scope)
{
    if (scope.kind != KIND_TENANT)
        return &feed->platform;
    return scope.index < feed->tenant_room ? &feed->tenants[scope.index]
                                           : &nothing;
}

uint64_t
feed_floor(const struct feed *feed, struct ref scope)
{
    return known_chain(feed, scope)->floor;
}

int
feed_read(const struct feed *feed, struct ref scope, uint64_t since,
          uint64_t now, bool (*take)(void *data, const struct note *note),
          void *data, struct error *err)
{
    const struct chain *chain = known_chain(feed, scope);
    uint64_t number, *path = NULL;
    size_t count = 0, room = 0;

    if (since < chain->floor || since > now)
        return error_set(err, ERROR_GONE,
                         "changes since revision %llu are no longer kept: "
                         "list again",
                         (unsigned long long)since);
    for (number = chain->newest; is_kept(feed, number) &&
                                 entry_at(feed, number)->note.revision > since;
         number = entry_at(feed, number)->previous) {
        if (count == room) {
            room = room * 2 + 16;
            path = memory_grow(path, room, sizeof(*path));
        }
        path[count++] = number;
    }
    while (count > 0 && take(data, &entry_at(feed, path[count - 1])->note))
        count--;
    free(path);
    return 0;
}
