/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_RECOVERY_H
#define CORE_RECOVERY_H

#include "core/world.h"

/*
 * May work whose node was lost begin again elsewhere, and where?
 *
 * The workload says how far (never, same-pool, any) and how often; tenant and
 * platform each set a ceiling to both, and what counts is the narrowest at the
 * time of the loss.  The first recovery comes at once, each later one waits
 * twice as long as the one before.  Nothing recovers to a node where it was
 * lost.  Work that may not recover waits for its node, or until the node is
 * fenced (core/fence.h).
 */

#define RECOVERY_LIMIT 3 /* of a workload that does not say */

/* What is in force for the workload. */
enum recovery recovery_policy(const struct world *world,
                              const struct workload *workload);
int64_t recovery_limit(const struct world *world,
                       const struct workload *workload);
/* Does it begin elsewhere when it is lost now? */
bool recovery_may(const struct world *world, const struct workload *workload);
/* Before it is tried again, when it recovers for the count-th time (1..). */
int64_t recovery_wait_ms(int64_t count);

/* The pool that it recovers in; none: any that is allowed. */
struct ref recovery_pool(const struct world *world,
                         const struct workload *workload);
/* Was it lost on the node before?  false for work that has not recovered. */
bool recovery_was_lost(const struct world *world, struct ref workload,
                       struct ref node);

/* Why it does not recover, as the end of a sentence. */
const char *recovery_why_not(const struct world *world,
                             const struct workload *workload);
/* Does it ask for no more than tenant and platform allow? */
int recovery_check(const struct world *world, const struct workload *workload,
                   struct error *err);

#endif
