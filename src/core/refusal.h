/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_REFUSAL_H
#define CORE_REFUSAL_H

#include "core/change.h"

/*
 * Does a node start nothing any more?
 *
 * A node on which one start after the other fails is the freest of all, so
 * everything would go there and fail.  A tenant can fail its own starts (no
 * such image, no such command), so only a row in which more than one tenant
 * failed, and no start succeeded in between, is the node's: it is cordoned.
 * A long row of a single tenant's is told, and no more.
 */

#define REFUSAL_ROW_MAX 5
#define REFUSAL_ROW_OF_ONE 20

/* A start of that instance has failed on its node. */
void refusal_count(struct changes *changes, struct ref instance);
/* One has succeeded. */
void refusal_forget(struct changes *changes, struct ref ref);

#endif
