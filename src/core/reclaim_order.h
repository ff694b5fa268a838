/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_RECLAIM_ORDER_H
#define CORE_RECLAIM_ORDER_H

#include "core/reclaim.h"
#include "core/reclaim_index.h"

/*
 * Who is the next one to make room for this workload?
 *
 * Surplus of gangs, then batch before interactive before service, most over
 * guarantee at the node below the common ancestor, lowest priority, least lost work, newest; of
 * those whom a rule allows to be named and whose nodes keep their guarantees
 * without them.  The order is that after all that was named before.
 *
 * Only shelves that come up are looked at: those of the own tenant, and of the
 * pool those that could have a better victim than the one that is chosen.
 */

/* What of one shelf may be named. */
struct reclaim_rank;
/* A shelf that comes up next, with all that are below it in its heap. */
struct reclaim_front;

/* Ancestors between which a beneficiary can have rights: platform, tenant,
 * units, project. */
#define RECLAIM_RIGHTS_MAX 8
#define RECLAIM_BARRED_MAX 8

struct reclaim_order {
    struct estate *estate;
    const struct workload *workload;
    const struct demand *demand;
    struct ref pool;
    struct arena *arena;
    int64_t priority;
    bool across;        /* its priority class may preempt across tenants */
    int64_t min_run_ms; /* before a second preemption */
    bool abroad;        /* may it name anybody of another tenant? */
    bool owner;         /* the pool is dedicated to its tenant */
    struct reclaim_right {
        struct ref ancestor;
        bool may;
        struct claim claim;
    } rights[RECLAIM_RIGHTS_MAX]; /* of the beneficiary, by ancestor */
    size_t right_count;
    struct reclaim_rank *ranks; /* a heap, the best victim first */
    size_t count, room;
    struct reclaim_front *fronts; /* a heap, the best first */
    size_t front_count, front_room;
    unsigned round; /* victims that were named */
    uint32_t *surplus; /* those of them that are an instance of a gang */
    size_t surplus_count, surplus_room;
    /* Whom the guarantees kept after others were named: the best of each of
     * the first shelves.  Without those it might have gone. */
    uint32_t barred[RECLAIM_BARRED_MAX];
    size_t barred_count;
    uint32_t first; /* is named before all others; ESTATE_NONE */
};

void reclaim_order_init(struct reclaim_order *order, struct estate *estate,
                        const struct workload *workload,
                        const struct demand *demand, struct ref pool,
                        struct arena *arena);
/* All whom a rule may name. */
void reclaim_order_begin(struct reclaim_order *order);
/* These runs alone, by their loan; after init in the place of begin. */
void reclaim_order_loans(struct reclaim_order *order, const uint32_t *runs,
                         size_t count);
/* This run, a barred one of an order before, is named first; after begin. */
void reclaim_order_first(struct reclaim_order *order, uint32_t run);
/* False when there is none.  The caller counts it as leaving in the estate's
 * ledger before it asks for the next. */
bool reclaim_order_next(struct reclaim_order *order,
                        struct reclaim_victim *victim_out);
/* When the first of those ends to be spared that were preempted a short time
 * ago and could be named else; 0: none is. */
int64_t reclaim_order_spared_ms(struct reclaim_order *order);

#endif
