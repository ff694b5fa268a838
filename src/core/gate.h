/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_GATE_H
#define CORE_GATE_H

#include "core/place.h"

/*
 * May this workload compete for cards at all, in this pool?
 *
 * In this order, stopping at the first that fails: everything above it is
 * active; the shape is possible at all (health aside); policy allows class,
 * priority and pool; hard limits on every node up the tree; the guarantee,
 * for work that is not preemptible; usage quotas.  A verdict with state
 * WORKLOAD_REJECTED is "never", with WORKLOAD_GATED "not now".
 */

struct gate {
    const struct world *world;
    const struct ledger *promised; /* may be NULL */
    int64_t now_ms;
    struct arena *arena;
    struct shape *shapes; /* answers so far */
    struct gate_images *images;
};

void gate_init(struct gate *gate, const struct world *world,
               const struct ledger *promised, int64_t now_ms,
               struct arena *arena);

/* The pools where the workload may run, best first: dedicated ones of its
 * tenant, shared ones, then lent or overflow ones.  At most max. */
#define GATE_POOLS_MAX 64
size_t gate_pools(const struct world *world, const struct workload *workload,
                  struct ref *pools_out, size_t max);

/* Why there is none of them, and which one would do. */
void gate_say_no_pool(const struct world *world,
                      const struct workload *workload,
                      struct verdict *verdict_out);

/* Checks that do not depend on the pool. */
bool gate_check_policy(const struct gate *gate,
                       const struct workload *workload,
                       struct verdict *verdict_out);
/* The rest, for one pool; demand_out is filled whenever the class exists. */
bool gate_check_pool(struct gate *gate, const struct workload *workload,
                     struct ref pool, struct demand *demand_out,
                     struct verdict *verdict_out);
/* Is it closer to a start?  Not now is closer than never, a limit closer than a
 * shape. */
bool gate_is_nearer(const struct verdict *a, const struct verdict *b);
/* Both, over all its classes and pools: true when it passes with one at least.
 * Else the verdict of the pool that comes closest, of each class. */
bool gate_check(struct gate *gate, const struct workload *workload,
                struct verdict *verdict_out);

/* What placement needs to know about a workload in a pool. */
void gate_request(const struct gate *gate, const struct workload *workload,
                  const struct demand *demand,
                  struct place_request *request_out);

/* May work of the tenant have this priority (none: always)? */
bool gate_allows_priority(const struct world *world,
                          const struct tenant *tenant, struct ref ref);

/* Is the object's id in this JSON list of ids? */
bool gate_lists(const struct world *world, const struct blob *list,
                struct ref ref);

#endif
