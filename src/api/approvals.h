/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_APPROVALS_H
#define API_APPROVALS_H

#include "api/exchange.h"

/*
 * How does somebody ask other people for a guarded operation, and carry it
 * out?  The very same request does both: with the header Ask-Approval: REASON
 * nothing is changed but an approval made and answered with 202; with
 * Approval: ID it is carried out.  So what is approved is what is done.
 */

/* Fills what the decision has to know of the operation, when one of the
 * headers is there.  ERROR_NOT_FOUND for an approval that is not there. */
int approvals_present(const struct world *world, struct exchange *exchange,
                      struct error *err);
/* Tries the request, and asks for what only an approval is missing.  try runs
 * it without applying anything. */
int approvals_ask(struct loop *loop, struct exchange *exchange,
                  int (*try)(struct loop *loop, struct exchange *exchange,
                             struct error *err),
                  struct error *err);

#endif
