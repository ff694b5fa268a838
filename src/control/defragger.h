/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_DEFRAGGER_H
#define CONTROL_DEFRAGGER_H

#include "control/loop.h"

/*
 * Who looks after pools whose free cards lie too far apart?
 *
 * Each minute the pools whose policy is `advise` or `auto` are looked at, one
 * after the other: where the largest class fits on no node though enough cards
 * are free, the alarm pool.fragmented stands.  For `auto` a plan (core/defrag.h)
 * is made on a copy by a worker and carried out within the policy's limits;
 * where none was found nothing is tried for ten minutes.
 */

struct defragger;

/* Before loop_start; freed after loop_stop. */
struct defragger *defragger_start(struct loop *loop);
void defragger_free(struct defragger *defragger); /* NULL is nothing */
/* Looks now; world thread: for tests. */
void defragger_tick(struct loop *loop, void *data);

#endif
