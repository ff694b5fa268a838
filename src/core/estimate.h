/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_ESTIMATE_H
#define CORE_ESTIMATE_H

#include "base/json.h"
#include "core/world.h"

/*
 * When does the work start that waits now, and where can nobody say?
 *
 * A copy of the world is moved forward by the scheduler itself (forecast.h),
 * a step at a time; what started on the way has an estimate, what did not has
 * the reason why there is none.  It holds for work that is known at the copy.
 */

#define ESTIMATE_HORIZON_MS (INT64_C(7) * 24 * 3600000)
/* As many as a platform looks at. */
#define ESTIMATE_DECISIONS_MAX 20000

enum estimate_none {
    ESTIMATE_GIVEN,
    ESTIMATE_PENDING, /* not computed yet */
    ESTIMATE_HELD,    /* only a person ends that */
    ESTIMATE_ENDLESS, /* what it waits for is held by work without an end */
    ESTIMATE_BLOCKED, /* nothing that is known ends its waiting */
    ESTIMATE_BEYOND,  /* not before the horizon */
    ESTIMATE_DEPTH,   /* too much is decided before it */
};
/* "pending", "held", ...; NULL for ESTIMATE_GIVEN. */
const char *estimate_none_text(enum estimate_none none);

struct estimates;

/* Takes the copy over.  decisions: of the scheduler in all. */
struct estimates *estimate_new(struct world *copy, int64_t now_ms,
                               int64_t decisions);
/* One step, on any thread: a few hundred decisions, or an hour of the copy's
 * time.  False when all is known; then the copy is freed. */
bool estimate_step(struct estimates *estimates);
void estimate_free(struct estimates *estimates);

/* Of a waiting workload: {at: time | null, none: text | null, text, as_of:
 * time | null}; NULL (no JSON) of one that does not wait.  Without estimates
 * (NULL), or when it came later, it is pending.  A new reference. */
json_t *estimate_json(const struct estimates *estimates,
                      const struct workload *workload);
/* The same of one that waits, as canonical JSON behind what out holds. */
void estimate_write(const struct estimates *estimates,
                    const struct workload *workload, struct buffer *out);
/* A list of sentences; a new reference. */
json_t *estimate_assumptions(void);

#endif
