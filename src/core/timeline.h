/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_TIMELINE_H
#define CORE_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

/*
 * How much is taken at each instant?
 *
 * A step function of time, made from spans [from, to) with an amount each: a
 * span that ends where another begins does not meet it.  Spans are put in
 * first, in any order; timeline_seal makes the steps, and then it can be
 * asked.  Amounts may be negative, sums are exact.
 */

#define TIMELINE_OPEN INT64_MAX /* a span without an end */
#define TIMELINE_NEVER INT64_MAX

struct timeline_step {
    int64_t at_ms; /* from here to the next step */
    int64_t level;
};

struct timeline {
    struct arena *arena;
    struct timeline_step *steps; /* until sealed: what changes when */
    size_t count, room;
};

void timeline_init(struct timeline *timeline, struct arena *arena);
/* A span that is empty, or ends before it begins, counts for nothing. */
void timeline_add(struct timeline *timeline, int64_t from_ms, int64_t to_ms,
                  int64_t amount);
void timeline_seal(struct timeline *timeline);

int64_t timeline_level(const struct timeline *timeline, int64_t at_ms);
/* The highest level in [from, to), and (at_out, may be NULL) when it is first
 * reached there.  An empty interval has the level of its beginning. */
int64_t timeline_peak(const struct timeline *timeline, int64_t from_ms,
                      int64_t to_ms, int64_t *at_out);
/* The earliest start at or after from_ms so that the level stays at or below
 * `most` for the whole of [start, start + duration); duration TIMELINE_OPEN:
 * for ever.  TIMELINE_NEVER when there is none. */
int64_t timeline_earliest(const struct timeline *timeline, int64_t from_ms,
                          int64_t duration_ms, int64_t most);

/* at + duration, at most TIMELINE_OPEN. */
int64_t timeline_after(int64_t at_ms, int64_t duration_ms);
/* Up to the next whole minute: what is known about an end is no better. */
int64_t timeline_round_up(int64_t at_ms);

#endif
