/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_RECLAIM_INDEX_H
#define CORE_RECLAIM_INDEX_H

#include "core/estate.h"

/*
 * Which live work could be stopped, in the order in which it is, without
 * looking at all that runs?
 *
 * Work that is the same to all quotas, of one kind and priority, lies on one
 * shelf, the best victim last.  The shelves of a pool are ordered by what
 * their nodes use over their guarantee below the platform, and then by their
 * best victims, those of a tenant are a list.  The estate puts a run onto its shelf whenever it derives it,
 * and tells which tenants' use or guarantees are others since.
 *
 * Work that is not preemptible, lost, or being stopped lies on no shelf.
 */

struct reclaim_shelf {
    struct ref tenant, pool, project;
    int64_t kind; /* surplus of gangs, batch, interactive, service */
    int64_t priority;
    uint32_t *runs; /* by when they would lose work from, then seq: the last
                       loses least */
    size_t count, room;
    int64_t cards; /* milli-cards of each run */
    int64_t over;  /* cards over guarantee, leaving ones taken off */
    uint32_t next; /* of the tenant; ESTATE_NONE */
    /* inside */
    uint32_t previous, same, heap, at;
    uint64_t hash;
    int64_t last_ms; /* of the last run: when it would lose work from, seq */
    uint64_t last_seq;
};

/* Of one pool, kind and number of cards: a heap, the shelf with the best victim
 * first: most over its guarantee, lowest priority, latest, highest seq. */
struct reclaim_heap {
    int64_t kind, cards;
    uint32_t *shelves;
    size_t count, room;
};

struct reclaim_index;

/* The estate keeps one from now on. */
void reclaim_index_on(struct estate *estate);
/* Fills what the run is ordered by: a workload, or a surplus instance of it
 * (NULL: none). */
void reclaim_index_rank(struct run *run, const struct workload *workload,
                        const struct instance *instance);
/* After a run was derived, and before it is derived anew. */
void reclaim_index_add(struct estate *estate, uint32_t number);
void reclaim_index_remove(struct estate *estate, uint32_t number);
/* The tenant's use, what of it is leaving, or a guarantee is another; none:
 * of all. */
void reclaim_index_stale(struct estate *estate, struct ref tenant);
/* Brings the order of shelves up to the estate, before somebody asks; false
 * when the slice ended before that. */
bool reclaim_index_settle(struct estate *estate);

const struct reclaim_shelf *reclaim_index_shelf(const struct estate *estate,
                                                uint32_t shelf);
/* The shelf on which the run lies, the first one of a tenant; ESTATE_NONE. */
uint32_t reclaim_index_of(const struct estate *estate, uint32_t run);
uint32_t reclaim_index_first(const struct estate *estate, struct ref tenant);
const struct reclaim_heap *reclaim_index_heaps(const struct estate *estate,
                                               struct ref pool,
                                               size_t *count_out);
/* Runs that were preempted before, by when they started: those that did after
 * from_ms begin at the place that is returned. */
size_t reclaim_index_young(const struct estate *estate, int64_t from_ms,
                           const uint32_t **runs_out, size_t *count_out);

/* Milli-card-ms since the last checkpoint that the platform saw. */
int64_t reclaim_index_lost(const struct estate *estate, uint32_t number);

/* Is it what one made anew would be?  For tests, after settling. */
bool reclaim_index_is_true(const struct estate *estate);

#endif
