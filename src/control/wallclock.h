/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_WALLCLOCK_H
#define CONTROL_WALLCLOCK_H

#include <stdbool.h>
#include <stdint.h>

/*
 * What time is it for the platform?  The wall clock, made safe for expiry:
 * it never runs back, and a forward jump of more than jump_ms against the
 * monotonic clock is held (time goes on at the monotonic pace) until somebody
 * confirms it.  Pure; ms.
 */

struct wallclock {
    int64_t now_ms;  /* the platform's time at the last reading */
    int64_t mono_ms; /* the monotonic clock then */
    int64_t jump_ms;
    int64_t held_ms; /* how far the wall clock is ahead; 0: nothing held */
};

/* latched_ms: the platform's time as stored, latched_mono_ms the monotonic
 * clock then when it was in this boot, else -1. */
void wallclock_start(struct wallclock *clock, int64_t jump_ms,
                     int64_t latched_ms, int64_t latched_mono_ms,
                     int64_t wall_ms, int64_t mono_ms);
/* Returns true when a jump was noticed that was not held before. */
bool wallclock_read(struct wallclock *clock, int64_t wall_ms,
                    int64_t mono_ms);
/* Takes over the wall clock's time. */
void wallclock_confirm(struct wallclock *clock, int64_t wall_ms);

#endif
