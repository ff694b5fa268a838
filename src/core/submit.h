/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SUBMIT_H
#define CORE_SUBMIT_H

#include "core/access.h"
#include "core/change.h"
#include "core/manifest.h"

/*
 * What becomes of a request for work?  A workload that could never start is
 * refused at once with the numbers and leaves no object; any other is stored
 * as queued or gated with its reason and waits for the scheduler.
 */

/* Creates a workload below project from a client's body (fields of the
 * schema, spec as in manifest.h).  Defaults come from the platform. */
int submit_workload(const struct granted *granted, struct changes *changes,
                    struct ref project, const json_t *body,
                    struct ref *workload_out, struct error *err);
/* Waiting work ends at once; running work gets notice and grace first.
 * Repeating it is no error; finished work is a conflict. */
int submit_cancel(const struct granted *granted, struct changes *changes,
                  struct ref ref, struct error *err);
/* The user's own hold on waiting work, and its end. */
int submit_hold(const struct granted *granted, struct changes *changes,
                struct ref ref, struct error *err);
int submit_release(const struct granted *granted, struct changes *changes,
                   struct ref ref, struct error *err);
/* An operator takes running work off its cards: notice and grace, then the
 * gate again.  The cards go through their handover as after any end.  reason:
 * 1 to 200 characters, for the workload's owner. */
int submit_take_off(const struct granted *granted, struct changes *changes,
                    struct ref ref, const char *reason, struct error *err);
/* Only finished work can be deleted; its bindings stay in the store. */
int submit_delete(const struct granted *granted, struct changes *changes,
                  struct ref ref, struct error *err);

#endif
