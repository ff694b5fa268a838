/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_FEED_H
#define CONTROL_FEED_H

#include "control/loop.h"

/*
 * What changed in a scope since a revision?  Each tenant has a chain of notes
 * of its own, the platform one for each kind, so that how far back somebody
 * may go on follows from what he watches alone: his tenant's newest changes,
 * or those of that kind of the platform's objects, and their age.  Nobody
 * else's doings push out a note, and a watch costs what it gets.
 */

struct feed;

struct feed_bounds {
    size_t tenant;   /* notes of a tenant at most: the newest */
    size_t platform; /* of the platform's, of one kind */
    int64_t keep_ms; /* older ones are gone */
};

/* Whose changes, and since when. */
struct feed_place {
    struct ref scope; /* a tenant, or the platform */
    enum kind kind;   /* of the platform's: of this kind alone */
    uint64_t since;   /* changes with a greater revision */
    uint64_t now;     /* the scope's present revision */
    int64_t now_ms;
};

struct feed *feed_new(struct feed_bounds bounds);
void feed_free(struct feed *feed);
/* Nothing before this revision of the scope is known: after loading. */
void feed_start(struct feed *feed, struct ref scope, uint64_t revision);
void feed_add(struct feed *feed, const struct note *note, int64_t now_ms);
/* The notes there, oldest first, while take returns true; in a tenant those of
 * all kinds.  ERROR_GONE when some of them are no longer kept, or when since is
 * ahead of now. */
int feed_read(const struct feed *feed, const struct feed_place *place,
              bool (*take)(void *data, const struct note *note), void *data,
              struct error *err);

/* The least since that feed_read takes there. */
uint64_t feed_floor(const struct feed *feed, const struct feed_place *place);

#endif
