/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_LOAD_H
#define CONTROL_LOAD_H

#include "base/digest.h"
#include "core/world.h"
#include "store/store.h"

/*
 * What was true when the last process ended?  Fills an empty world and an
 * empty journal from one state of the store: all ids first, so that every
 * reference finds its target, then the objects by kind and seq, then
 * revisions, the logs' heads, and the card time of the month.
 */

struct journal;

struct load {
    struct world *world;
    struct journal *journal;
    int64_t now_ms; /* says which month it is */
    /* out */
    int64_t clock_ms;      /* the platform's time at the last commit, 0 */
    int64_t clock_mono_ms; /* the monotonic clock then; -1: another boot */
    uint64_t deleted[KIND_COUNT]; /* loop_deleted */
    bool restored;         /* a copy that was put back: not yet declared */
    char source[DIGEST_TEXT_MAX]; /* digest of the backup, "": unknown */
};

int load_world(struct load *load, struct store_reader *reader,
               struct error *err);

#endif
