/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_RESTORE_H
#define CONTROL_RESTORE_H

#include "control/loop.h"
#include "core/access.h"

/*
 * What follows when a store was put back from a backup?
 *
 * The world is as it was then; the nodes are not.  So, in one transaction
 * before anything else:
 *
 *   - each audit log begins an epoch, with a record that names the head that
 *     it was restored with: nothing forks without saying so;
 *   - API keys and sessions are held: some may have been revoked since;
 *   - the platform observes: nodes report what really runs and are told
 *     nothing, and nothing is scheduled, until an operator confirms.
 *
 * Containers that it does not know are orphans (core/orphan.h).
 */

/* Before loop_start, on a store that loop_restored tells of: nothing
 * otherwise. */
int restore_declare(struct loop *loop, struct error *err);

/* Ends the observation; ERROR_CONFLICT when there is none. */
int restore_confirm(struct changes *changes, struct error *err);

/* Lets held credentials of a kind (KIND_APIKEY, KIND_SESSION) be used again,
 * or revokes them.  id: of one, or NULL: all.  Returns how many, or -1. */
int64_t restore_review(struct changes *changes, enum kind kind,
                       const char *id, bool revoke, struct error *err);

#endif
