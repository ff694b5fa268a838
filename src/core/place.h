/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_PLACE_H
#define CORE_PLACE_H

#include "core/estate.h"
#include "core/manifest.h"
#include "core/place_group.h"
#include "core/require.h"

/*
 * On which cards could these instances start, all together?
 *
 * A chain of filters takes out nodes and cards, each with a count; what is
 * left is scored and the best place taken: a node that just failed it last,
 * one island first, a gang over several nodes behind one leaf switch (the
 * fullest that takes it), then where least is lost for the work that is expected
 * (place_worth.h).  While nothing is expected yet, and for slices, best fit
 * and fewest handovers decide instead.  All instances or none.  Placement
 * looks at one pool.
 */

struct place_request {
    struct ref tenant;
    struct ref pool;
    const struct class *class;
    int64_t instances;
    int64_t cpu_milli, memory_mib; /* of an instance */
    int64_t card_memory_max;       /* what a memory quota leaves per card */
    struct ref node;    /* only there (its volumes lie there), or none */
    uint64_t leaf;      /* only behind this leaf switch (its gang is there); 0:
                           any */
    int64_t per_node;   /* at most so many instances on one; 0: any number */
    int64_t per_leaf;   /* the same behind one leaf switch */
    bool apart_if;      /* that far apart only as far as there is room */
    bool one_node;      /* all instances on one node */
    bool one_leaf;      /* all instances behind one leaf switch */
    /* Which cards count as close to each other, and whether all have to be;
     * one_node is set too then. */
    enum place_group group;
    bool grouped;
    bool exclusive;     /* no other tenant on the node */
    struct ref workload; /* whose failed places are avoided, or none */
    struct quota_bar bars[QUOTA_BARS_MAX]; /* types whose quota is full */
    size_t bar_count;
    const struct need *needs; /* what node and card must say (require.h) */
    size_t need_count;
    uint64_t needs_digest; /* 0: nothing */
    /* By enum place_when: the end of a start now or later, and what a start
     * takes that may be told to go; rounded (maintenance.h), 0: no matter. */
    int64_t ends_ms[2], loans_ms[2];
};

enum place_when {
    PLACE_NOW,
    PLACE_FUTURE, /* when all that is being stopped has given back, and what
                     estate_gain counts too */
};

/* Why a node or card is out, in the order of the filters. */
enum place_filter {
    FILTER_NODE_STATE, /* cordoned, draining, maintenance, lost */
    FILTER_LEASE,      /* nothing heard from its agent */
    FILTER_PINNED,     /* the workload's volumes lie elsewhere */
    FILTER_LOST,       /* it was lost on the node before */
    FILTER_NEIGHBOUR,  /* another tenant on the node */
    FILTER_MAINTENANCE, /* it would run into a planned one */
    FILTER_CLASS,      /* vendor, model or memory does not match */
    FILTER_COMPATIBLE, /* node or card is not what is required */
    FILTER_IMAGE,      /* the node does not have the image */
    FILTER_QUOTA,      /* more memory than the quota leaves */
    FILTER_HEALTH,     /* not healthy, or missing */
    FILTER_FOREIGN,    /* a process that the platform did not start */
    FILTER_HANDOVER,   /* not clean after another tenant, or quarantined */
    FILTER_CUT,        /* whole where slices are asked for, or sliced */
    FILTER_HELD,       /* kept for nominated work */
    FILTER_USED,       /* in use */
    FILTER_GEOMETRY,   /* units enough for the slice, but no start for it */
    FILTER_CPU,        /* the node's CPU */
    FILTER_MEMORY,     /* the node's memory */
    FILTER_SPREAD,     /* as many instances as may be there */
    FILTER_COUNT
};
const char *place_filter_text(enum place_filter filter);

struct place_tally {
    int64_t nodes, cards;              /* in the pool */
    int64_t out_nodes[FILTER_COUNT];   /* filtered, of the nodes */
    int64_t out_cards[FILTER_COUNT];   /* filtered, of the cards */
    int64_t free;    /* instances' worth of cards free: whole cards, or
                        shares that fit */
    int64_t largest; /* most free cards (shares) on one node, island or
                        leaf, whichever is asked for */
    int64_t fit;     /* instances that would fit now */
    int64_t close;   /* more that would, were they not to be kept apart */
    const struct geometry_profile *slice; /* of the cards without a start, the
                                             largest that fits; or NULL */
};

/* Where one instance goes; parts are indexes into the estate. */
struct seat {
    uint32_t site;
    const uint32_t *parts;
    size_t part_count;
    int64_t milli; /* of each part */
    const struct geometry_profile *profile; /* of a hard slice, or NULL */
    int start;
};
struct placement {
    struct seat *seats; /* one per instance, in the arena */
    size_t count;
};

/* True and a placement, or false; tally_out (may be NULL) is always filled.
 * False means nothing when the estate's budget is late (budget.h). */
bool place_find(const struct estate *estate,
                const struct place_request *request, enum place_when when,
                struct arena *arena, struct placement *placement_out,
                struct place_tally *tally_out);

/* Accelerator memory that an instance binds on this part. */
int64_t place_memory(const struct class *class, const struct part *part);

/* Is the card of the vendor, model and memory that the class asks for? */
bool place_matches(const struct class *class, const struct card *card);
/* The same for a card in the estate. */
bool place_suits(const struct estate *estate, const struct class *class,
                 const struct part *part);

/* Could the pool's nodes hold all instances when they are empty and healthy,
 * as close together as the level says, on nodes and cards that are what is
 * needed?
 * capacity_out: instances that fit at most; least_memory_out: memory of the
 * smallest card that matches (0: none does). */
struct place_amount {
    int64_t instances, cpu_milli, memory_mib; /* the last two of each */
    const struct need *needs;
    size_t need_count;
};
bool place_shape(const struct world *world, struct ref pool,
                 const struct class *class, enum topology level,
                 const struct place_amount *amount, int64_t *capacity_out,
                 int64_t *least_memory_out);
/* The same when at most so many instances may be behind one leaf switch; a
 * node behind none stands for itself. */
int64_t place_shape_apart(const struct world *world, struct ref pool,
                          const struct class *class,
                          const struct place_amount *amount);

#endif
