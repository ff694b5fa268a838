/* SPDX-License-Identifier: Apache-2.0 */
#include "control/wallclock.h"

/* A clock that is set back by less stands still meanwhile; set back by more
 * it would stand too long, so time goes on at the monotonic pace. */
#define STAND_MS 1000

bool
wallclock_read(struct wallclock *clock, int64_t wall_ms, int64_t mono_ms)
{
    int64_t elapsed = mono_ms > clock->mono_ms ? mono_ms - clock->mono_ms : 0;
    int64_t expected = clock->now_ms + elapsed;
    bool held_before = clock->held_ms > 0;

    clock->mono_ms = mono_ms;
    clock->held_ms = 0;
    if (wall_ms > expected + clock->jump_ms) {
        clock->held_ms = wall_ms - expected;
        clock->now_ms = expected;
        return !held_before;
    }
    if (wall_ms >= clock->now_ms)
        clock->now_ms = wall_ms;
    else if (clock->now_ms - wall_ms > STAND_MS)
        clock->now_ms = expected;
    return false;
}

void
wallclock_start(struct wallclock *clock, int64_t jump_ms, int64_t latched_ms,
                int64_t latched_mono_ms, int64_t wall_ms, int64_t mono_ms)
{
    bool same_boot = latched_ms > 0 && latched_mono_ms >= 0 &&
                     latched_mono_ms <= mono_ms;

    clock->jump_ms = jump_ms;
    clock->held_ms = 0;
    clock->mono_ms = same_boot ? latched_mono_ms : mono_ms;
    /* Over a reboot nothing tells how long it was: the wall clock counts. */
    clock->now_ms = same_boot || latched_ms > wall_ms ? latched_ms : wall_ms;
    (void)wallclock_read(clock, wall_ms, mono_ms);
}

void
wallclock_confirm(struct wallclock *clock, int64_t wall_ms)
{
    if (wall_ms > clock->now_ms)
        clock->now_ms = wall_ms;
    clock->held_ms = 0;
}
