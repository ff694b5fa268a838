/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_FOLD_H
#define CONTROL_FOLD_H

#include "control/journal.h"

/*
 * Which refusals are written one by one?  Up to FOLD_SINGLE of a subject in a
 * second; more are counted and written as one.  Refusals of nobody known are
 * always counted.  Bounded: what has no place of its own is counted together.
 */

#define FOLD_SINGLE 20
#define FOLD_WINDOW_MS 1000
#define FOLD_NOBODY_MS 60000 /* those of nobody known: one record a minute */
#define FOLD_SUBJECTS 1024

struct fold;

struct fold *fold_new(void);
void fold_free(struct fold *fold);
bool fold_admit(struct fold *fold, const struct refusal *refusal,
                int64_t now_ms);
/* Gives the counts of the windows that are over at now_ms and forgets them.
 * Returns whether those of nobody known were among them. */
bool fold_flush(struct fold *fold, int64_t now_ms,
                void (*take)(void *context, const struct refusal *refusal,
                             uint32_t counted),
                void *context);

#endif
