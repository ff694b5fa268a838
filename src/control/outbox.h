/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_OUTBOX_H
#define CONTROL_OUTBOX_H

#include "control/loop.h"

/*
 * How do committed audit records get to where anybody can verify them?
 *
 * A thread reads the records that became durable, lays them down as tiles
 * (identity/audit_dir.h), has the signer process vouch for the new heads, and
 * keeps the signed checkpoints beside the tiles.  It may stop at any point
 * and goes on from what is laid down.  Only committed records are ever shown
 * to the signer.  When laying down or signing fails for OUTBOX_PATIENCE
 * passes, readiness says so.
 */

#define OUTBOX_PATIENCE 5

struct outbox;
struct space;

struct outbox_options {
    const char *directory;     /* of the logs */
    const char *signer_socket; /* NULL: nothing is signed */
    int64_t period_ms;         /* 0: a second */
    int64_t look_ms;           /* between looks for what is no longer kept;
                                  0: an hour */
    struct space *space;       /* looked at in each pass; NULL: none */
};

int outbox_start(struct loop *loop, const struct outbox_options *options,
                 struct outbox **outbox_out, struct error *err);
/* Lays down what is committed until now, then ends: after loop_stop, before
 * loop_close.  NULL is nothing. */
void outbox_stop(struct outbox *outbox);


#endif
