/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_ESTATE_H
#define CORE_ESTATE_H

#include "core/ledger.h"
#include "core/quota.h"
#include "core/world.h"

/*
 * What is free where, what is being given back, and who has what?  A flat
 * picture of nodes and cards for one pass of the scheduler, made from the
 * world alone and kept up to date by the pass's own decisions.
 */

/* One card. */
struct part {
    struct ref card;
    int64_t memory_mib; /* of the whole card */
    uint32_t site;
    uint32_t island;        /* cards of a site with the same number */
    struct ref tenant;      /* of the live bindings, or none */
    struct ref hold_tenant; /* of the holds, or none */
    int64_t used_milli, used_memory_mib;
    int64_t held_milli, held_memory_mib;
    int64_t leaving_milli, leaving_memory_mib; /* of used: being stopped */
    int64_t gain_milli, gain_memory_mib; /* of used: if victims were stopped */
    int64_t own_milli, own_memory_mib; /* of held: by who is looked at */
};

/* One node; its parts lie side by side. */
struct site {
    struct ref node, pool;
    size_t first, count;
    bool fresh; /* its lease is not over */
    int64_t used_cpu, used_memory;
    int64_t held_cpu, held_memory; /* that nominated work will need */
    int64_t leaving_cpu, leaving_memory;
    int64_t gain_cpu, gain_memory;
    int64_t own_cpu, own_memory;
};

/* What one live workload has: a victim perhaps. */
struct use {
    uint32_t site;
    uint32_t part; /* UINT32_MAX: CPU and memory of the site */
    int64_t milli, memory_mib, cpu_milli;
};
struct run {
    struct ref workload;
    struct demand demand; /* what it is charged with */
    int64_t priority;
    size_t first, count; /* uses */
    bool leaving;        /* it is being stopped already */
};

struct estate {
    struct arena *arena;
    const struct world *world;
    int64_t now_ms;
    struct part *parts;
    size_t part_count;
    struct site *sites;
    size_t site_count;
    struct run *runs;
    size_t run_count, run_room;
    struct use *uses;
    size_t use_count, use_room;
    uint32_t *part_of; /* by index of the card's ref */
    size_t part_of_count;
    uint32_t *site_of; /* by index of the node's ref */
    size_t site_of_count;
    struct ledger promised; /* to nominated work */
    struct ledger leaving;  /* by work that is being stopped */
    struct numbers *numbers;
};

#define ESTATE_NONE UINT32_MAX

/* Everything lives in the arena; the world must not change but by what the
 * caller then tells the estate. */
struct estate *estate_new(struct arena *arena, const struct world *world,
                          int64_t now_ms);
/* Index of a card's part, of a node's site; ESTATE_NONE when unknown. */
uint32_t estate_part(const struct estate *estate, struct ref card);
uint32_t estate_site(const struct estate *estate, struct ref node);

/* Counts the holds of a workload as its own (on), or as anybody's again. */
void estate_own(struct estate *estate, struct ref workload, bool on);
/* What is promised to others before this workload was nominated (to all, when
 * it is not): later nominations do not undo earlier ones. */
void estate_earlier(const struct estate *estate, struct ref workload,
                    struct ledger *ledger_out);
/* Counts a run as stopped (sign 1) or not (-1): a trial. */
void estate_gain(struct estate *estate, const struct run *run, int sign);
/* The run is being stopped from now on. */
void estate_leave(struct estate *estate, struct run *run);

/* The pass's own decisions. */
void estate_take(struct estate *estate, struct ref card, struct ref tenant,
                 int64_t milli, int64_t memory_mib);
void estate_take_node(struct estate *estate, uint32_t site, int64_t cpu_milli,
                      int64_t memory_mib);
void estate_hold(struct estate *estate, struct ref card, struct ref tenant,
                 int64_t milli, int64_t memory_mib);
void estate_hold_node(struct estate *estate, uint32_t site, int64_t cpu_milli,
                      int64_t memory_mib);
/* Takes a workload's holds out of the picture, and its promise. */
void estate_drop_holds(struct estate *estate, struct ref workload);

/* Are there uids and addresses for that many more instances? */
bool estate_has_numbers(struct estate *estate, struct ref tenant,
                        int64_t instances);
/* The smallest free numbers, taken by the call; -1 when there are none. */
int64_t estate_next_uid(struct estate *estate);
int64_t estate_next_address(struct estate *estate, struct ref tenant);

#endif
