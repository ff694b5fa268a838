/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_GOVERNANCE_H
#define CORE_GOVERNANCE_H

#include "core/access.h"
#include "core/quota.h"

/*
 * Who may use a priority class, and how much of it?
 *
 * A class names roles, classes of project and kinds of work that may use it,
 * whether each use is approved, the share of a pool's cards that its work may
 * hold at a time and the card time of a UTC month.  Each use is noted on the
 * workload with the rule that allowed it.
 */

/* May the actor use the class for this work?  What the rule says goes to
 * rule_out (TEXT_MAX_SIZE bytes).  ERROR_DENIED names the rule that forbids
 * it and what would help. */
int governance_check(const struct world *world, const struct actor *actor,
                     const struct workload *workload, int64_t now_ms,
                     char rule_out[TEXT_MAX_SIZE], struct error *err);
/* The class of work that names none: the one of its project's class, else the
 * highest below it that the actor may use; none: it may use none. */
struct ref governance_default(const struct world *world,
                              const struct actor *actor,
                              const struct workload *workload,
                              int64_t now_ms);
/* Is each use of the class approved by somebody? */
bool governance_needs_approval(const struct world *world,
                               struct ref priority);

/* Is the demand within the share and the month of its class?  The use of
 * others is not told. */
bool governance_fits(const struct world *world,
                     const struct workload *workload,
                     const struct demand *demand, int64_t now_ms,
                     struct verdict *verdict_out);

/* A rule as a client gives it: a list of known words; null: none.  names: a
 * NULL-terminated list, or NULL: names of roles below the platform. */
int governance_check_list(const struct world *world, const struct blob *list,
                          const char *pointer, const char *const *names,
                          struct error *err);

#endif
