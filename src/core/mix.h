/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_MIX_H
#define CORE_MIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What is asked for, and how often?  Counts arrivals by shape, placed or not.
 * The counts are plain data: kept and put back, they go on where they were.
 */

/* What one instance needs. */
struct shape {
    int64_t cpu_milli, memory_mib;
    int64_t cards; /* 0: none */
    int64_t milli; /* of each card; below 1000 only with one card */
    uint64_t kinds; /* bit k: a card of kind k will do */
};

bool shape_equal(const struct shape *a, const struct shape *b);
/* Milli-cards. */
int64_t shape_demand(const struct shape *shape);
bool shape_is_share(const struct shape *shape);

/* Shapes told apart; the rarest make room for new ones. */
#define MIX_MAX 1024
/* Counts are halved when they add up to this, so that old work fades. */
#define MIX_WINDOW 65536
/* Before this many arrivals a mix says nothing. */
#define MIX_FIRST 32

struct mix_entry {
    struct shape shape;
    int64_t count;
};
struct mix {
    struct mix_entry *entries; /* in the order of their first arrival */
    size_t count, room;
    int64_t total;      /* of the counts */
    int64_t refresh_at; /* total at which prices are made anew; 0: at
                           MIX_FIRST */
};

void mix_release(struct mix *mix);
/* Counts arrivals of a shape; times >= 1. */
void mix_count(struct mix *mix, const struct shape *shape, int64_t times);
/* Is it time to make prices anew?  Then moves the time: after 32, 64, 128, ...
 * arrivals, and each time the counts are halved. */
bool mix_due(struct mix *mix);

#endif
