/* SPDX-License-Identifier: Apache-2.0 */
#include "core/timeline.h"

#include <string.h>

#define MINUTE_MS INT64_C(60000)

void
timeline_init(struct timeline *timeline, struct arena *arena)
{
    *timeline = (struct timeline){ .arena = arena };
}

static void
put(struct timeline *timeline, int64_t at_ms, int64_t change)
{
    if (timeline->count == timeline->room) {
        size_t room = timeline->room > 0 ? timeline->room * 2 : 16;
        struct timeline_step *steps =
            arena_alloc(timeline->arena, room * sizeof(*steps));

        if (timeline->count > 0)
            memcpy(steps, timeline->steps, timeline->count * sizeof(*steps));
        timeline->steps = steps;
        timeline->room = room;
    }
    timeline->steps[timeline->count++] =
        (struct timeline_step){ at_ms, change };
}

void
timeline_add(struct timeline *timeline, int64_t from_ms, int64_t to_ms,
             int64_t amount)
{
    if (from_ms >= to_ms || amount == 0)
        return;
    put(timeline, from_ms, amount);
    if (to_ms != TIMELINE_OPEN)
        put(timeline, to_ms, -amount);
}

static int
step_order(const void *left, const void *right)
{
    const struct timeline_step *a = left, *b = right;

    return (a->at_ms > b->at_ms) - (a->at_ms < b->at_ms);
}

void
timeline_seal(struct timeline *timeline)
{
    size_t count = 0;
    int64_t level = 0;

    if (timeline->count > 1)
        qsort(timeline->steps, timeline->count, sizeof(*timeline->steps),
              step_order);
    for (size_t i = 0; i < timeline->count; i++) {
        struct timeline_step step = timeline->steps[i];

        level += step.level;
        if (count == 0 || timeline->steps[count - 1].at_ms != step.at_ms)
            count++;
        timeline->steps[count - 1] =
            (struct timeline_step){ step.at_ms, level };
    }
    timeline->count = count;
}

/* The number of steps at or before an instant. */
static size_t
find(const struct timeline *timeline, int64_t at_ms)
{
    size_t low = 0, high = timeline->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (timeline->steps[middle].at_ms <= at_ms)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int64_t
level_after(const struct timeline *timeline, size_t steps)
{
    return steps > 0 ? timeline->steps[steps - 1].level : 0;
}

int64_t
timeline_level(const struct timeline *timeline, int64_t at_ms)
{
    return level_after(timeline, find(timeline, at_ms));
}

int64_t
timeline_peak(const struct timeline *timeline, int64_t from_ms, int64_t to_ms,
              int64_t *at_out)
{
    size_t next = find(timeline, from_ms);
    int64_t peak = level_after(timeline, next), at_ms = from_ms;

    for (; next < timeline->count && timeline->steps[next].at_ms < to_ms;
         next++)
        if (timeline->steps[next].level > peak) {
            peak = timeline->steps[next].level;
            at_ms = timeline->steps[next].at_ms;
        }
    if (at_out != NULL)
        *at_out = at_ms;
    return peak;
}

int64_t
timeline_earliest(const struct timeline *timeline, int64_t from_ms,
                  int64_t duration_ms, int64_t most)
{
    size_t next = find(timeline, from_ms);
    bool low = level_after(timeline, next) <= most;
    int64_t start = from_ms;

    for (; next < timeline->count; next++) {
        struct timeline_step step = timeline->steps[next];

        if (low && step.at_ms >= timeline_after(start, duration_ms))
            return start;
        if (!low || step.level > most)
            start = step.at_ms;
        low = step.level <= most;
    }
    return low ? start : TIMELINE_NEVER;
}

int64_t
timeline_after(int64_t at_ms, int64_t duration_ms)
{
    int64_t sum;

    return __builtin_add_overflow(at_ms, duration_ms, &sum) ? TIMELINE_OPEN
                                                            : sum;
}

int64_t
timeline_round_up(int64_t at_ms)
{
    int64_t over = at_ms % MINUTE_MS;

    return over == 0 ? at_ms : timeline_after(at_ms, MINUTE_MS - over);
}
