/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_AUDIT_GAPS_H
#define CLI_AUDIT_GAPS_H

#include "cli/audit_walk.h"

/*
 * May a bundle of entries be missing?  Only below an index that a record of
 * the log (of the platform's, when the tenant is gone) says was pruned, as a
 * policy that the log says allowed it, and no newer than that policy allows:
 * the first entry behind what was pruned is there still and tells its time.
 *
 * A part of audit_walk.  Functions that return a text: why it is a lie, or
 * NULL.
 */

struct audit_gaps {
    int64_t *first_ms; /* of each bundle: time of its first entry */
    size_t count, room;
    uint64_t begin, end;            /* from the first gap to behind the last */
    uint64_t records;               /* in gaps */
    struct retention_policy policy; /* the log's own, as said last */
    bool policy_known;
    struct audit_prune prune; /* the furthest that was said; below 0: none */
    bool elsewhere;           /* and the platform's log says it */
};
#define AUDIT_GAP INT64_MIN /* in first_ms: the bundle is missing */

void audit_gaps_release(struct audit_gaps *gaps);
/* The next bundle in order: missing, or there. */
void audit_gaps_add(struct audit_gaps *gaps, uint64_t bundle);
void audit_gaps_begin(struct audit_gaps *gaps, uint64_t bundle,
                      int64_t wall_ms);

/* Records of the log that is walked. */
const char *audit_gaps_policy(struct audit_gaps *gaps,
                              const struct record *record);
const char *audit_gaps_pruning(struct audit_gaps *gaps,
                               const struct audit_walk *walk,
                               const struct record *record);

/* At the end: what the platform's log said. */
const char *audit_gaps_platform(struct audit_gaps *gaps,
                                const struct audit_walk *walk);
/* The first run of missing entries that nothing explains. */
bool audit_gaps_unsaid(const struct audit_gaps *gaps, uint64_t *from_out,
                       uint64_t *to_out);
void audit_gaps_report(const struct audit_gaps *gaps, const char *origin,
                       struct audit_count *count);

#endif
