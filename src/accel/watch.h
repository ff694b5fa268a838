/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ACCEL_WATCH_H
#define ACCEL_WATCH_H

#include "accel/news.h"

/*
 * What happens to the cards while nobody asks?
 *
 * Two threads of their own listen: one asks the backend for events, one reads
 * the kernel's log.  Whatever hangs there hangs alone: looks only read what
 * was heard so far.  Clean looks are counted here, at most one in a
 * WATCH_LOOK_MS; something weighty that was heard, or a look that was not
 * clean, begins the count anew, and so does a new process.
 */

#define WATCH_LOOK_MS 300

struct watch;

/* What there is to tell of one card. */
struct watch_view {
    int64_t clean; /* looks, at most CARD_HEALTH_CLEAN_MAX */
    size_t count;
    struct card_event events[NEWS_ITEMS]; /* newest last */
};

/* kernel_log: /dev/kmsg, or a file that grows by lines; NULL: none.  The
 * accel must live longer than the watch. */
struct watch *watch_new(struct accel *accel, const char *kernel_log);
void watch_free(struct watch *watch); /* NULL is nothing */

/* The card is there: events and lines may be about it from now on. */
void watch_know(struct watch *watch, const char *uuid, const char *pci);
/* Somebody looked at it and found it well, or not. */
void watch_look(struct watch *watch, const char *uuid, bool well,
                struct watch_view *view_out);

#endif
