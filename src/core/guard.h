/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_GUARD_H
#define CORE_GUARD_H

#include "core/verb.h"
#include "core/world.h"

/*
 * What does a verb need besides a grant?  What it needs as shipped (verb.def),
 * and what an object of kind guard adds: it can ask for more and never for
 * less.
 */

/* Other people who have to approve, 0 to APPROVAL_PEOPLE_MAX. */
int64_t guard_people(const struct world *world, enum verb verb);
bool guard_step_up(const struct world *world, enum verb verb);
/* May a guard be put on it?  Not on what guards are lifted with. */
bool guard_fits(enum verb verb);

#endif
