/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_HANDOVER_H
#define RUNNER_HANDOVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct node;

/*
 * How does a card get from one tenant to the next?
 *
 *   wait    until no process is on it, a bounded time
 *   whole   a card that is cut is made whole, to reach all of its memory
 *   idle    used memory falls to the base line, in what is left of that time
 *   reset   only when it does not, or when the card is not well: it is reset,
 *           and its base line is measured anew
 *   settle  accounting, clocks, power limit, compute mode: the defaults
 *   scrub   its memory is overwritten and read back, or the card is reset
 *   probe   it answers, is not failed, and nobody and nothing is on it
 *   cut     a card that is wanted for slices is cut again
 *
 * Of a slice: wait, scrub, and then it is destroyed (cut).
 *
 * Each step is recorded with its time and result.  The first that fails is
 * the last: then the card is not clean, whatever the reason is.  The whole
 * may be repeated, also after a kill at any moment.
 */

#define HANDOVER_STEPS 8

struct handover_step {
    const char *name;
    int64_t from_ms, to_ms;
    bool good;
    char text[128];
};

struct handover {
    bool verified;
    char text[128]; /* how it was cleaned, or why it was not */
    int64_t bytes;  /* overwritten */
    size_t count;
    struct handover_step steps[HANDOVER_STEPS];
};

void handover_run(struct node *node, const char *part, struct handover *out);

#endif
