/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_WORKORDER_H
#define CORE_WORKORDER_H

#include "base/json.h"
#include "core/access.h"
#include "core/change.h"

/*
 * What may a vendor's person do here, and until when?  Nothing but what one
 * work order says: the order makes the vendor's user below itself, with a
 * grant for its verbs on its devices within its window.  Creating one takes a
 * second person (workorder.create).
 *
 *   scheduled -> draining -> open -> closed (by somebody) | over (by time)
 *   scheduled, draining -> dropped (by somebody): it never opens again
 *
 * Only while it is open the user may log in, and sees the order, its texts
 * for vendors and its devices; to it nothing else exists.  When the order ends
 * the user is deleted with its sessions, keys and grant.  Tenants that hold a
 * card of the devices are told by a visit of their own.
 */

#define WORKORDER_MS (4 * 3600 * INT64_C(1000))
#define WORKORDER_DEVICES_MAX 64
#define WORKORDER_FIRMWARE_MAX 16384

/* Is the subject a vendor's user? */
bool workorder_has(const struct world *world, struct ref subject);
bool workorder_is_open(const struct world *world, struct ref order,
                       int64_t now_ms);
/* Anybody but the user of an order that is not open. */
bool workorder_admits(const struct world *world, struct ref subject,
                      int64_t now_ms);

/* Checks and completes a new order and makes its user and grant.  devices: a
 * list of ids by now. */
int workorder_make(const struct actor *actor, struct changes *changes,
                   struct workorder *order, struct error *err);
/* granted: workorder.close on it. */
int workorder_close(const struct granted *granted, struct changes *changes,
                    struct error *err);
/* granted: workorder.report on it.  after: else before the work.  values: a
 * JSON object of texts. */
int workorder_report(const struct granted *granted, struct changes *changes,
                     bool after, json_t *values, struct error *err);

/* The actor changed something: when it is a vendor it is listed in the order
 * and in the visits of those who held the device. */
void workorder_note(struct changes *changes, const struct actor *actor,
                    enum verb verb, struct ref object);
/* What time brings: opens, ends, and tells tenants. */
void workorder_step(struct changes *changes);

/* The order of a vendor's user, none for others: for records. */
struct ref workorder_of(const struct world *world, struct ref subject);

#endif
