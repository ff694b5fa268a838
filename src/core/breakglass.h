/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_BREAKGLASS_H
#define CORE_BREAKGLASS_H

#include "core/access.h"
#include "core/change.h"

/*
 * Nobody is there to approve and there is no time: what then?  Who has a role
 * that the platform's policy names breaks the glass: for a while their guarded
 * verbs need no second person.  It gives no right, it is loud (an alarm, and a
 * notice to each tenant that is concerned), everything changed meanwhile is
 * listed, and somebody independent has to review it; until then the alarm
 * stands, and after BREAKGLASS_REVIEW_MS a second one nags.
 */

#define BREAKGLASS_MS (3600 * INT64_C(1000))
#define BREAKGLASS_REVIEW_MS (24 * 3600 * INT64_C(1000))

/* The one that is in force for a person now, or none. */
struct ref breakglass_active(const struct world *world, struct ref person,
                             int64_t now_ms);
/* Checks and completes a new one. */
int breakglass_open(const struct actor *actor, struct changes *changes,
                    struct breakglass *image, struct error *err);
/* granted: breakglass.end on it; it is over at once. */
int breakglass_end(const struct granted *granted, struct changes *changes,
                   struct error *err);
/* granted: breakglass.review on it.  note: what they found. */
int breakglass_review(const struct granted *granted, struct changes *changes,
                      const char *note, struct error *err);
/* The actor changed something: it is listed when the glass is broken, and
 * second: a second person was left out, so the object's tenant is told. */
void breakglass_note(struct changes *changes, const struct actor *actor,
                     enum verb verb, struct ref object, bool second);
/* Nags about what nobody has reviewed. */
void breakglass_sweep(struct changes *changes);

#endif
