/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_ENDS_H
#define CORE_ENDS_H

#include "core/estate.h"

/*
 * Which live work ends next?
 *
 * Runs whose end is known lie in a heap by their end, then by when they started,
 * then by seq; bookings read a few of its first and leave it as it is.  Runs of
 * which more has to be asked (not started yet, leaving, surplus) are a list.
 * Whoever changes a run marks it; it is put into its place when somebody asks.
 */

struct ending {
    int64_t end_ms; /* TIMELINE_OPEN: unknown */
    int64_t started_ms;
    uint64_t seq;  /* of the workload */
    uint64_t part; /* of a surplus instance its seq; else 0 */
    uint32_t run;
};

struct ends;

/* The estate keeps them from now on. */
void ends_on(struct estate *estate);
/* The run in this place is another, or gone. */
void ends_mark(struct estate *estate, uint32_t run);
/* Brings them up to the estate; false when the slice ended before that. */
bool ends_settle(struct estate *estate);

/* Of two without an end the one that has run longer is expected first. */
bool ends_before(const struct ending *a, const struct ending *b);
/* The heap, the first on top: n has 2n + 1 and 2n + 2. */
const struct ending *ends_heap(const struct estate *estate, size_t *count_out);
/* Runs that are not in it but may end, in no order. */
const uint32_t *ends_others(const struct estate *estate, size_t *count_out);

/* Is it what one made anew would be?  For tests, after settling. */
bool ends_is_true(const struct estate *estate);

#endif
