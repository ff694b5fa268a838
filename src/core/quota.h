/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_QUOTA_H
#define CORE_QUOTA_H

#include "core/access.h"
#include "core/change.h"
#include "core/ledger.h"
#include "core/reason.h"

/*
 * May this amount be used here, and by whose right?
 *
 * Quotas sit on platform > tenant > unit* > project > one subject's work in
 * the project.  A quota counts one dimension, of one pool or all, of one
 * class, vendor or model or all (scope.h); several on one node all hold.
 * `guaranteed` is always available to the node, use above it is burst,
 * `limit` caps both.  Counters are those of the world: sums over live
 * bindings, instances, workloads, volumes and facts, never kept here.
 */

/* Cards of one type that a demand holds. */
#define DEMAND_PARTS 4
struct demand_part {
    const char *vendor, *model; /* a binding's: valid while it is live */
    int64_t milli, memory_mib;
};

/* What a workload takes when it is assigned in one pool, or what a live one
 * holds.  A typed request counts in the quotas of its type and in those of
 * any card. */
struct demand {
    struct ref project;
    struct ref pool;
    struct ref class;
    struct ref asked_pool; /* the workload's own pool: it counts as one there */
    struct ref user;       /* who submitted it */
    int64_t now_ms;        /* limits and guarantees in force then */
    int64_t run_ms;        /* longest run time; 0: none */
    int64_t of[DIMENSION_COUNT]; /* above USAGE_MAX: cannot be counted.  Cost
                                    is reckoned when it is asked: 0 */
    struct demand_part parts[DEMAND_PARTS]; /* none: known by its class */
    unsigned part_count;
};

/* The demand of a workload in a pool.  card_memory_mib: memory of a whole
 * card of that class there (the least one before a card is chosen). */
void quota_demand(const struct world *world, const struct workload *workload,
                  struct ref pool, int64_t card_memory_mib,
                  struct demand *demand_out);
/* Adds what a live instance, and what a live binding holds. */
void quota_demand_instance(const struct world *world,
                           const struct instance *instance,
                           struct demand *demand);
void quota_demand_binding(const struct binding *binding,
                          struct demand *demand);
/* How much of the demand this quota counts; 0: nothing. */
int64_t quota_need(const struct world *world, const struct quota *quota,
                   const struct demand *demand);

/* The lasting limit: the quota's own, else for the cards of a tenant the
 * platform's default (factor x guaranteed, or the free limit without a
 * guarantee); AMOUNT_NONE when nothing caps it. */
int64_t quota_limit(const struct world *world, const struct quota *quota);
/* Limit and guarantee in force at a time: with what was raised for a while,
 * and what is reserved. */
int64_t quota_limit_at(const struct world *world, const struct quota *quota,
                       int64_t now_ms);
int64_t quota_guaranteed(const struct world *world, const struct quota *quota,
                         int64_t now_ms);
/* Of the guarantee in force, while too few cards are healthy for those of all
 * tenants: what may be claimed, and what keeps work from being stopped. */
int64_t quota_claimable(const struct world *world, const struct quota *quota,
                        int64_t now_ms);
int64_t quota_kept(const struct world *world, const struct quota *quota,
                   int64_t now_ms);
bool quota_is_raised(const struct quota *quota, int64_t now_ms);
/* Live use; for what is counted by the month, metered and promised. */
int64_t quota_used(const struct world *world, const struct quota *quota,
                   int64_t now_ms);

/*
 * Does the demand fit every limit from project to platform, on top of live
 * use and of what the ledger (may be NULL) promises to others?  Of card time
 * and cost the part in this month and the part in the next are looked at.  On
 * failure verdict_out says which does not: REASON_LIMIT_NEVER when an empty
 * quota would be too small (state rejected), else REASON_LIMIT or
 * REASON_CARD_TIME (state gated).
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
/* Cards that a request of a class that takes several types must not be given,
 * since a quota of that type is full; fixed: it must keep to guarantees. */
#define QUOTA_BARS_MAX 8
struct quota_bar {
    const char *vendor, *model; /* "": any */
};
size_t quota_bars(const struct world *world, const struct demand *demand,
                  const struct ledger *promised, bool fixed,
                  struct quota_bar bars_out[QUOTA_BARS_MAX]);
/* Adds sign x demand to the ledger's lines of all quotas that count it, and to
 * that of its tenant. */
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
/* Does it lack cards within a guarantee of its tenant's that too few healthy
 * ones are left for?  Then the verdict says so instead. */
bool quota_say_unmet(const struct world *world, const struct demand *demand,
                     const struct ledger *promised,
                     struct verdict *verdict);
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
 * counts cards, leaving ones taken off; claim_out (may be NULL) gets it.  1
 * for what has none. */
int64_t quota_over(const struct world *world, const struct demand *demand,
                   struct ref ancestor, const struct ledger *leaving,
                   struct claim *claim_out);

/*
 * Are the numbers of a new or changed quota consistent with the tree:
 * guaranteed <= limit, children's guaranteed sum <= the parent's, no child
 * limit above the parent's, within the ceilings on its way up, at most one
 * quota for one node and scope, tenants' card guarantees within healthy
 * capacity, a tenant's limit within the platform's share of the pool?
 * ERROR_QUOTA or ERROR_INVALID with the numbers; who holds what is told as
 * far as the viewer (may be NULL) sees it.
 */
int quota_check(const struct granted *viewer, const struct changes *changes,
                const struct quota *quota, struct error *err);

/* What a new tenant was given gives way to what somebody sets: the newest
 * first, until all guarantees and reservations fit what is healthy.  quota,
 * reservation: the new image, or NULL; it has passed its check.  False when
 * they do not fit even then. */
bool quota_yield(struct changes *changes, const struct quota *quota,
                 const struct reservation *reservation);
/* Milli-cards that are guaranteed to nobody, given ones counted. */
int64_t quota_given_room(const struct changes *changes);

/* A hero right: the limit of the quota that granted is about is raised for a
 * time, 0 to 7 days from now, whatever the levels say; 0 ends it.  granted:
 * quota.raise. */
#define QUOTA_RAISE_MS_MAX (INT64_C(7) * 24 * 3600000)
int quota_raise(const struct granted *granted, struct changes *changes,
                int64_t limit, int64_t for_ms, const char *reason,
                struct error *err);

#endif
