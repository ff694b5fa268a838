/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SCHEDULE_H
#define CORE_SCHEDULE_H

#include "core/reason.h"

/*
 * Who starts next, where, and who has to make room?
 *
 * A step follows what has changed, looks at groups of equal waiting work that
 * this could concern, in the order of the queue, and makes one decision at
 * most.  The caller applies the set before the next step.  The scheduler holds
 * caches only: a new one decides the same.
 */

struct scheduler;

struct scheduler *scheduler_new(void);
void scheduler_free(struct scheduler *scheduler);

/* Puts the next decision into the (empty) set and returns true, or returns
 * false when it has found none.  A set that is dropped instead of applied only
 * makes the next step start over. */
bool schedule_step(struct scheduler *scheduler, struct changes *changes);
/* How much is done in one step, in units of budget.h (0: as shipped, about a
 * millisecond).  It says when decisions come and not which: for tests. */
void schedule_set_slice(struct scheduler *scheduler, int64_t units);
/* Did the last step stop before it had looked at all?  A step is short; the
 * caller goes on when it has time. */
bool schedule_has_more(const struct scheduler *scheduler);

enum schedule_what {
    SCHEDULE_NOTHING,
    SCHEDULE_REASON,   /* waiting workloads: gated, queued, numbers changed */
    SCHEDULE_ASSIGN,   /* a workload got cards */
    SCHEDULE_NOMINATE, /* victims got notice, parts are held for it */
    SCHEDULE_EXPIRE,   /* a nomination ran out */
    SCHEDULE_STOP,     /* longest run time is over */
    SCHEDULE_BOOK,     /* a start that no later work may delay */
    SCHEDULE_CUT,      /* cards held for it are cut, or made whole */
    SCHEDULE_RESERVE,  /* cards for a window were chosen, it opened, closed */
    SCHEDULE_MAINTAIN, /* a planned maintenance: notice, its begin, its end */
    SCHEDULE_RETIRE,   /* finished history left the memory */
    SCHEDULE_LEARN,    /* what work is expected was counted anew */
    SCHEDULE_GROW,     /* an elastic gang got one more instance */
};
/* What the last step decided, and about whom (none: several). */
struct schedule_decision {
    enum schedule_what what;
    struct ref workload;
    size_t victims;
};
struct schedule_decision schedule_last(const struct scheduler *scheduler);
/* Stable text: "assign", "nominate", ... */
const char *schedule_what_text(enum schedule_what what);

/* False when the last decisions chased each other and were cut off until time
 * or an event brings something new: a fault of the scheduler. */
bool schedule_is_settled(const struct scheduler *scheduler);

/* Is what it keeps of the world what a new one would find, and was nobody
 * forgotten?  On false where_out says what differs: for tests, after a step
 * that decided nothing. */
bool schedule_is_true(struct scheduler *scheduler, const struct world *world,
                      int64_t now_ms, const char **where_out);

/* How often it looked at waiting work since it was made. */
uint64_t schedule_looks(const struct scheduler *scheduler);

/* When the next step could find something without another change; the
 * caller need not call before, and may always. */
int64_t schedule_due_ms(const struct scheduler *scheduler);

#endif
