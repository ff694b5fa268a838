/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_RECEIPT_H
#define API_RECEIPT_H

#include "api/exchange.h"

/*
 * Was this command given before?  An Idempotency-Key belongs to one subject
 * and one route.  Its answer is kept with the change, for 24 h (EXECUTE_RECEIPTS
 * says how many); a repetition
 * gets it again and changes nothing.  A repetition that comes while the first
 * waits for the disk waits for the same commit, since the receipt is in the
 * world already.  Secrets are not kept: a repetition shows none.
 */

/* 1: given before, the answer is filled from the receipt.  0: new.  -1: the
 * key belongs to another request (ERROR_REUSED_KEY). */
int receipt_find(const struct world *world, struct exchange *exchange,
                 struct error *err);
/* Keeps the exchange's answer; world thread, after the change. */
void receipt_keep(struct loop *loop, struct exchange *exchange);

#endif
