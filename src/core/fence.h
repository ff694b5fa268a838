/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_FENCE_H
#define CORE_FENCE_H

#include "base/json.h"
#include "core/change.h"
#include "core/report.h"

/*
 * What is given up with a lost node, and when is it given back?
 *
 * A lost node may still run what was started on it, so its instances keep
 * their cards and their quota until its agent confirms that they are gone.
 * When the node is known to be off or cut off from everything, an operator
 * says so: it is fenced.  Its instances have then given back what they had,
 * and their work fails or begins elsewhere as its recovery policy says.
 *
 * The word may have been wrong.  Until the node itself has said that each of
 * them is gone they are listed with it, {"instance", "incarnation",
 * "cards": [uuid...]}, in the order of the instances: they are ordered to be
 * killed, their cards are not cleaned and so go to nobody, and the node stays
 * lost.  Afterwards it is cordoned: somebody looks at it first.
 */

/* ERROR_CONFLICT: the node is not lost, was fenced before, or the platform
 * only looks on after a restore.  reason: 1 to 200 characters. */
int fence_node(struct changes *changes, struct ref ref, const char *reason,
               struct error *err);
/* Is there something that the node has not said to be gone?  uuid NULL: at
 * all, else on that card. */
bool fence_holds(const struct node *node, const char *uuid);
/* The list; a new reference, never NULL. */
json_t *fence_list(const struct node *node);
/* Takes off what a node that knows all of its instances does not have. */
void fence_observe(struct changes *changes, struct ref ref,
                   const struct report *report);

#endif
