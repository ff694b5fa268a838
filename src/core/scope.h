/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SCOPE_H
#define CORE_SCOPE_H

#include "core/world.h"

/*
 * Which use does a quota count?
 *
 * A quota counts one dimension at its node and below, narrowed by pool,
 * class, vendor, model and, in a project, by the subject that submitted the
 * work; what it does not name it counts whole.  One rule for live use, for
 * requests and for the recount of `bulkhead check`.
 */

/* One use of cards or of anything else.  vendor and model: of the true card,
 * "" for what is not a card's. */
struct scope_use {
    struct ref pool, class, user;
    const char *vendor, *model;
};
bool scope_counts(const struct quota *quota, const struct scope_use *use);

/* Does the quota count cards of some vendor or model alone? */
bool scope_is_typed(const struct quota *quota);
/* Are cards of this class counted by the quota's vendor and model?  MAYBE:
 * the class takes cards of both kinds, so it is known when one is chosen. */
enum scope_fit { SCOPE_NO, SCOPE_MAYBE, SCOPE_YES };
enum scope_fit scope_fit(const struct quota *quota,
                         const struct class *class);

/* Do two quotas count the same at their nodes? */
bool scope_equal(const struct quota *a, const struct quota *b);
/* " in pool a for class h100.1 of nvidia H100 by user ada": what the quota
 * names, or "". */
#define SCOPE_TEXT_MAX (7 * NAME_MAX_SIZE)
const char *scope_text(char text[SCOPE_TEXT_MAX], const struct world *world,
                       const struct quota *quota);

#endif
