/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_HUB_H
#define API_HUB_H

#include "api/exchange.h"

/*
 * Whose turn is it to be told something?  All streams are counted here, and
 * those that watch are fed: in short slices on the world thread, so that one
 * who asks never waits for all who listen.  A change makes only the watchers
 * of its scope due; about every 5 s all are, since rights may end by time.
 * What a slice made is sent once it is durable.
 */

#define HUB_SLICE_US 200
#define HUB_SLICE_MAX 32

struct hub;

struct watcher {
    /* set by whoever adds it */
    struct ref scope; /* whose changes make it due */
    /* World thread: puts into pending what is new.  again: rights are asked
     * too when nothing is.  NULL: the stream is fed by others. */
    void (*feed)(struct watcher *watcher, struct loop *loop, bool again);
    struct buffer pending;
    bool last; /* the stream ends behind pending */
    /* the hub's */
    struct watcher *next, **link; /* in its chain */
    struct stream *stream;
    struct id owner; /* the subject */
    int64_t sent_ms; /* monotonic */
    bool taken;      /* by the slice that runs */
};

struct hub *hub_new(struct api *api);
/* Ends all streams; no more can be added. */
void hub_end(struct hub *hub);
void hub_free(struct hub *hub);

/* Makes the exchange's answer a stream.  The hub owns the watcher (one block
 * of memory_new) from then on, unless it fails: ERROR_BUSY when there are too
 * many streams, ERROR_RATE too many of the subject.  World thread. */
int hub_add(struct hub *hub, struct watcher *watcher,
            struct exchange *exchange, struct error *err);
/* The same for a stream that others feed (logs). */
int hub_open(struct hub *hub, struct exchange *exchange, struct error *err);
/* The watcher's scope has news for it. */
void hub_wake(struct hub *hub, const struct watcher *watcher);
size_t hub_count(struct hub *hub);

#endif
