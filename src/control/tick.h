/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_TICK_H
#define CONTROL_TICK_H

#include "control/loop.h"

/*
 * What does the platform do by itself?
 *
 *   schedule  after every change and each half second: one decision of the
 *             scheduler after the other, at most 2 ms at a time
 *   usage     cuts the cards' time lines, so that facts are never old
 *   audit     each second: folded refusals and the heads of the tenants' logs
 *             go to the platform's log; a heartbeat each minute
 *   uses      each minute: when keys and sessions were last used
 *   sweep     forgets expired sessions, receipts, invitations, join tokens
 */

struct tick;

struct tick_options {
    int64_t usage_ms; /* cards are cut at its multiples; 0: five minutes */
    int64_t sweep_ms; /* 0: a minute */
};

/* Before loop_start; freed after loop_stop. */
struct tick *tick_start(struct loop *loop, const struct tick_options *options);
void tick_free(struct tick *tick); /* NULL is nothing */

/* The record of a start; once, when the loop runs and the platform is
 * there. */
int tick_record_start(struct loop *loop, struct error *err);

#endif
