/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_REQUEST_H
#define CORE_REQUEST_H

#include "base/json.h"
#include "core/access.h"
#include "core/change.h"

/*
 * "We need more": what becomes of a wish for quota, a class, a priority or a
 * reservation?  It is made below the node that needs it; somebody above the
 * node, and never who asked, grants or denies it.  Granting makes the change
 * itself, by the decider's own rights and with all its checks; when those
 * refuse it, the request stays open.
 */

/* granted: request.decide on the request.  note: 0 to 255 characters for the
 * requester, needed to deny. */
int request_decide(const struct granted *granted, struct changes *changes,
                   struct ref ref, bool grant, const char *note,
                   struct error *err);
/* granted: request.withdraw on the request. */
int request_withdraw(const struct granted *granted, struct changes *changes,
                     struct ref ref, struct error *err);

/* A priority that needs an approval: the request goes with the workload. */
void request_approval(struct changes *changes,
                      const struct workload *workload);
/* The workload waits for nothing any more: its open request is withdrawn. */
void request_drop(struct changes *changes, struct ref workload);

/* The question of core/whatif.h that the request stands for; NULL when its
 * answer would be that of the world as it is.  A new reference. */
json_t *request_question(const struct world *world, struct ref ref,
                         int64_t now_ms);

#endif
