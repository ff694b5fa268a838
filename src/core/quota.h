/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_QUOTA_H
#define CORE_QUOTA_H

#include "core/ledger.h"
#include "core/reason.h"

/*
 * May this amount be used here, and by whose right?
 *
 * Quotas sit on platform > tenant > unit* > project.  A quota counts one
 * dimension, of one pool or all, of one class or all; several on one node
 * all hold.  `guaranteed` is always available to the node, use above it is
 * burst, `limit` caps both.  Counters are those of the world: sums over live
 * bindings, instances, workloads and volumes, never kept here.
 */

/* What a workload takes when it is assigned in one pool. */
struct demand {
    struct ref project;
    struct ref pool;
    struct ref class;
    struct ref asked_pool; /* the workload's own pool: it counts as one there */
    int64_t of[DIMENSION_COUNT]; /* AMOUNT_MAX: more than can be counted */
};

/* The demand of a workload in a pool.  card_memory_mib: memory of a whole
 * card of that class there (the least one before a card is chosen). */
void quota_demand(const struct world *world, const struct workload *workload,
                  struct ref pool, int64_t card_memory_mib,
                  struct demand *demand_out);

/* The limit in force: the quota's own, else for the cards of a tenant the
 * platform's default (factor x guaranteed, or the free limit without a
 * guarantee); AMOUNT_NONE when nothing caps it. */
int64_t quota_limit(const struct world *world, const struct quota *quota);
/* Card time that is used or promised in the month of now: metered, running
 * on, and reserved by max run times. */
int64_t quota_committed(const struct world *world, const struct quota *quota,
                        int64_t now_ms);

/*
 * Does the demand fit every limit from project to platform, on top of live
 * use and of what the ledger (may be NULL) promises to others?  On failure
 * verdict_out says which does not: REASON_LIMIT_NEVER when an empty quota
 * would be too small (state rejected), else REASON_LIMIT or REASON_CARD_TIME
 * (state gated).
 */
bool quota_fits(const struct world *world, const struct demand *demand,
                const struct ledger *promised, int64_t now_ms,
                struct verdict *verdict_out);
/* Work that is not preemptible must be within the guarantee of every node
 * that has one, and at least one must have one. */
bool quota_fits_guarantee(const struct world *world,
                          const struct demand *demand,
                          const struct ledger *promised,
                          struct verdict *verdict_out);
/* Room below all limits (and guarantees) for one dimension, AMOUNT_MAX
 * without any. */
int64_t quota_room(const struct world *world, const struct demand *demand,
                   enum dimension dimension, const struct ledger *promised,
                   bool within_guarantee);
/* Adds sign x demand to the ledger's lines of all quotas that count it. */
void quota_charge(const struct world *world, const struct demand *demand,
                  struct ledger *ledger, int sign);

/* Order of the queue: whose right is it? */
enum quota_right {
    RIGHT_FULL,  /* within every guarantee on the way up */
    RIGHT_PART,  /* within that of some node */
    RIGHT_BURST, /* within none */
};
enum quota_right quota_right(const struct world *world,
                             const struct demand *demand,
                             const struct ledger *promised);

/*
 * May work of demand reclaim burst use across this common ancestor: does the
 * highest node below it that has a guarantee stay within it?  Fills the
 * numbers of that node (cards) for the proof.
 */
struct claim {
    struct ref node;
    int64_t used, guaranteed; /* cards: before, without the demand */
};
bool quota_may_reclaim(const struct world *world, const struct demand *demand,
                       const struct ledger *promised, struct ref ancestor,
                       struct claim *claim_out);
/* The node where a and b part: their nearest common ancestor. */
struct ref quota_ancestor(const struct world *world, struct ref a,
                          struct ref b);

/*
 * Would every node from the victim's project up to below the ancestor keep
 * its guarantee after this release, when what the ledger takes off is gone
 * too?  The caller then charges the release to the ledger.
 */
bool quota_release_allowed(const struct world *world,
                           const struct demand *release, struct ref ancestor,
                           const struct ledger *leaving);
/* Cards used over guarantee at the highest node below the ancestor that
 * counts cards, leaving ones taken off; node_out (may be NULL) gets it. */
int64_t quota_over(const struct world *world, const struct demand *demand,
                   struct ref ancestor, const struct ledger *leaving,
                   struct claim *claim_out);

/*
 * Are the numbers of a new or changed quota consistent with the tree: pool
 * and class exist, guaranteed <= limit, children's guaranteed sum <= the
 * parent's, no child limit above the parent's, at most one quota for one
 * node, dimension, pool and class, tenants' card guarantees within healthy
 * capacity, a tenant's limit within the platform's share of the pool?
 * ERROR_QUOTA or ERROR_INVALID with the numbers.
 */
int quota_check(const struct changes *changes, const struct quota *quota,
                struct error *err);

#endif
