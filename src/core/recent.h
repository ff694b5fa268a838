/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_RECENT_H
#define CORE_RECENT_H

#include "core/share.h"
#include "core/world_private.h"

/* The sums of recent use, for share.c; recent.c has their form. */

/* A time, in half-lives. */
struct recent_clock {
    int64_t half_life_ms;
    int64_t epoch;  /* whole half-lives */
    uint64_t power; /* 2^(the rest) x 2^63 */
};

/* False when fair share is off. */
bool recent_clock_set(const struct world *world, int64_t now_ms,
                      struct recent_clock *clock);
/* What somebody had, faded, times 2 to the part of the clock; with what runs
 * counted ahead or without. */
void recent_read(const struct world *world, struct ref node, struct ref user,
                 const struct recent_clock *clock, bool ahead,
                 share_sum sums[SHARE_AMOUNTS]);

#endif
