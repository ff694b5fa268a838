/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_ORPHAN_H
#define CORE_ORPHAN_H

#include "base/json.h"
#include "core/change.h"
#include "core/report.h"

/*
 * What runs on a node that a restored platform does not know?
 *
 * After a restore a node may have containers that were started behind the
 * backup: instances that are not there, or incarnations that were not ordered
 * yet.  They cannot be adopted: whose they are, and for what they are charged,
 * was lost.  So they are kept apart: nobody kills them, the cards that they
 * hold are quarantined (handover failed), an alarm about the node names them,
 * and an operator decides about each.  When one is gone its cards are
 * scrubbed before anybody gets them.
 *
 * They are a document of the node (node.orphans), a list of
 *   {"instance", "incarnation", "state", "cards": [uuid...], "stop": bool}
 * in the order of instance and incarnation.  Only of a platform that was put
 * back (platform.restored_ms): else a node that speaks of what is not its own
 * lies (core/observe.h).
 */

#define ORPHANS_MAX 256 /* of a node; what is above waits for its turn */

/* Does the platform take what it does not know for orphans? */
bool orphan_expected(const struct world *world);
/* Is that fact about something that the platform does not know? */
bool orphan_is(const struct world *world, struct ref node, const char *text,
               int64_t incarnation);
/* Takes all that a node has; report->instances_known must be set. */
void orphan_observe(struct changes *changes, struct ref node,
                    const struct report *report);
/* Orders that one be stopped.  ERROR_NOT_FOUND, ERROR_CONFLICT while the
 * platform only observes. */
int orphan_stop(struct changes *changes, struct ref node,
                const char *instance, struct error *err);
/* The node's list; a new reference, never NULL. */
json_t *orphan_list(const struct node *node);

#endif
