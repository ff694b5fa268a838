/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_STRANGERS_H
#define CONTROL_STRANGERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/*
 * Who failed to prove who he is?  A stream of its own for failures of nobody
 * known, bounded in all ways: equal ones of a minute are one line with a
 * count, a minute has at most STRANGERS_NEW lines and the stream the newest
 * STRANGERS_MAX; what has no place is counted as dropped.  So no flood pushes
 * history out, of the log or of this.  World thread only.
 */

#define STRANGERS_MAX 256U
#define STRANGERS_NEW 64U
#define STRANGERS_WINDOW_MS INT64_C(60000)
/* Counter: dropped so far, and the lines (strangers_save). */
#define STRANGERS_COUNTER "strangers"

struct stranger {
    int64_t first_ms, last_ms;
    uint64_t count;
    char ip[48]; /* of the socket; "": none */
    char verb[64];
    char reason[64];
};

struct strangers {
    struct stranger lines[STRANGERS_MAX]; /* a ring, the oldest replaced */
    uint64_t end;                         /* lines so far */
    uint64_t dropped;
    int64_t window_ms; /* beginning of the minute that is counted */
    unsigned fresh;    /* new lines in it */
    bool changed;      /* since it was saved */
};

void strangers_add(struct strangers *strangers, const char *ip,
                   const char *verb, const char *reason, int64_t now_ms);
/* The line that is `back` behind the newest, NULL when there is none. */
const struct stranger *strangers_at(const struct strangers *strangers,
                                    size_t back);

/* As bytes of the counter; load: ERROR_INTERNAL when they are none. */
size_t strangers_size(const struct strangers *strangers);
void strangers_save(struct strangers *strangers, void *bytes);
int strangers_load(struct strangers *strangers, int64_t dropped,
                   const void *bytes, size_t size, struct error *err);

#endif
