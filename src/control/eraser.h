/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_ERASER_H
#define CONTROL_ERASER_H

#include "control/loop.h"
#include "identity/audit_dir.h"

/*
 * Which personal parts are still to be destroyed?  An order is a counter
 * "erase:LOG:SUBJECT", written with the record of who gave it: the personal
 * parts of all records below its value in which the subject acted or was
 * acted upon.  It is carried out in the background, some at a time, in the
 * files and then in the store; the counter becomes 0 when none is left, so
 * that a stop at any point loses nothing.
 */

#define ERASER_PREFIX "erase:"

/* World thread: gives the order for the records that the log has now. */
void eraser_order(struct loop *loop, const char *log, const char *subject,
                  int64_t below);

struct eraser;
struct eraser *eraser_new(struct loop *loop);
/* A job under way keeps it until that ends. */
void eraser_free(struct eraser *eraser);
/* Notes a counter that is an order; others are passed over. */
void eraser_note(struct eraser *eraser, const struct store_counter *counter);
/* Carries out a part of what is ordered for this log.  One thread. */
int eraser_step(struct eraser *eraser, struct store_reader *reader,
                const char *log, struct audit_dir *files, struct error *err);

#endif
