/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_ESTATE_H
#define CORE_ESTATE_H

#include "core/budget.h"
#include "core/due.h"
#include "core/ledger.h"
#include "core/numbers.h"
#include "core/place_group.h"
#include "core/quota.h"
#include "core/trail.h"

/*
 * What is free where, what is being given back, and who has what?  A flat
 * picture of nodes and cards, of the work on them, and of what is promised to
 * nominated work.
 *
 * It is a cache of the world and knows one way to become right: a site (a
 * node with its cards) or a run (a workload) is derived anew from the world
 * as a whole.  The first load derives all, a step of the world's trail marks
 * what it may have changed, and estate_settle derives what is marked.  The
 * scheduler's own decisions come the same way, after they were applied.
 */

/* How a card is cut; the layouts are shares of it as the milli-cards below. */
struct cut {
    const struct geometry_card *card; /* NULL: it cannot be cut */
    bool on; /* it is, or will be when its scrub is done */
    struct layout used; /* bound slices, and dirty ones */
    struct layout held, leaving;
    struct layout gain, own; /* trials */
    int64_t held_whole; /* holds of the card, or of a share of it: not slices */
    int64_t own_whole;  /* trial: of these */
};

/* One card. */
struct part {
    struct ref card;    /* none: the place is not in use */
    int64_t memory_mib; /* of the whole card */
    uint32_t site;
    uint32_t groups[PLACE_GROUPS]; /* cards of a site with the same number */
    int health, handover;   /* as the card says; HEALTH_HEALTHY also when it
                               takes work all the same */
    bool missing, foreign, stale, links_bad;
    uint32_t type;  /* of estate.types; ESTATE_NONE: its card tells it */
    uint64_t model; /* digest of vendor and model */
    uint64_t traits; /* and of what else can be required of it */
    struct ref last_tenant;
    struct ref tenant;      /* of the live bindings, or none */
    struct ref hold_tenant; /* of the holds, or none */
    int64_t used_milli, used_memory_mib;
    int64_t held_milli, held_memory_mib;
    int64_t leaving_milli, leaving_memory_mib; /* of used: being stopped */
    /* trials, zero outside of one */
    int64_t gain_milli, gain_memory_mib; /* of used: if victims were stopped */
    int64_t own_milli, own_memory_mib; /* of held: by who is looked at */
    struct cut cut;
};

/* One node; its parts lie side by side.  Sites are in the order of the nodes'
 * seq and never move; a node that is gone leaves an empty site (node none). */
struct site {
    struct ref node, pool;
    size_t first, count, room;
    int state;  /* enum node_state */
    bool fresh; /* its lease is not over */
    int64_t cpu_milli, memory_mib; /* of the node */
    uint64_t leaf; /* a digest of its name; 0: none */
    uint64_t facts; /* and of what its agent says of it */
    /* Planned maintenance: when the next window begins that lends nothing,
     * and that lends (maintenance.h). */
    int64_t stops_ms[2];
    int64_t used_cpu, used_memory;
    int64_t held_cpu, held_memory; /* that nominated work will need */
    int64_t leaving_cpu, leaving_memory;
    /* Who has instances there: the tenant, whether there are others too; the
     * first whose isolation is not namespace, whether there are more. */
    struct ref tenant, secluded;
    bool shared, secluded_more;
    /* trials, zero outside of one */
    int64_t gain_cpu, gain_memory;
    int64_t own_cpu, own_memory;
};

/* What one live workload has: a victim perhaps. */
struct use {
    uint32_t site;
    uint32_t part; /* ESTATE_NONE: CPU and memory of the site */
    int64_t milli, memory_mib, cpu_milli;
    const struct geometry_profile *profile; /* of a hard slice, or NULL */
    int start;
};
struct run {
    struct ref workload, tenant;
    struct demand demand; /* what it is charged with */
    int64_t priority;
    struct use *uses;
    size_t count; /* of uses; 0: nothing that could be given back */
    /* Of an elastic gang each surplus instance is a run of its own: */
    bool surplus;
    struct ref instance;  /* which it is */
    uint32_t next_surplus; /* the next one of the gang; ESTATE_NONE: the last.
                              The gang's own run leads on to the first */
    size_t surplus_count;  /* of the gang's own */
    bool live;    /* it has started and is not over */
    bool leaving; /* it is being stopped already */
    bool fixed;   /* not preemptible, or lost: no victim */
    /* what it adds to the ledgers */
    bool promised, gives_back;
    uint32_t stays; /* live instances and bindings, leaving ones too */
    /* what victims are ordered by */
    int64_t since_ms; /* of work that would be lost; INT64_MAX: none yet */
    int64_t young_ms; /* its start, when it was preempted before; or 0 */
    int64_t kind;     /* surplus, batch, interactive, service */
    uint64_t seq;
    int64_t started_ms; /* 0: not, or surplus */
    int64_t end_ms;     /* by booking_end_ms, of one that has */
    uint32_t shelf; /* of reclaim_index.h; ESTATE_NONE */
    struct ref first_hold; /* of its nomination, or none */
    uint64_t charged; /* a digest of that */
    uint32_t next, previous; /* of the tenant; ESTATE_NONE at the ends */
    uint32_t next_held, previous_held; /* of its nominated work */
    struct share *shares;
    size_t share_count, share_room, use_room;
};

/* A make of cards. */
struct part_type {
    char vendor[sizeof(((struct card *)0)->vendor)];
    char model[sizeof(((struct card *)0)->model)];
};
struct part_make {
    const char *vendor, *model;
};

/* How often something changed since the estate was made: whoever remembers the
 * number knows whether there is anything new. */
struct estate_pulse {
    uint64_t changed;
    /* so that work which did not fit may fit now; the rest only takes.  Of a
     * pool: places for work that nothing there is kept for.  Of runs: quota
     * was given back. */
    uint64_t better;
    /* Of runs. */
    uint64_t leaving; /* other things are sure to be given back, or were */
    uint64_t more;    /* somebody uses more than before, or may be stopped */
};

/* What the last estate_settle has found, or those that took several slices. */
struct estate_news {
    uint32_t *tenants; /* indexes of those whose runs changed */
    size_t tenant_count;
    struct estate_start { /* a tenant of which work started, was nominated,
                             or is preemptible again */
        uint32_t tenant;
        int64_t priority;        /* the least of it */
        bool started, nominated; /* nominated: some was only that */
    } *starts;
    size_t start_count, start_room;
};

struct ends;
struct expect;
struct place_index;
struct reclaim_index;

struct estate {
    struct arena *arena;
    const struct world *world;
    struct budget *budget; /* of the slice; NULL: all is done at once */
    int64_t now_ms;
    struct part *parts;
    size_t part_count; /* places, also those not in use */
    struct part_type *types; /* those that were met, in no order */
    size_t type_count;
    struct site *sites;
    size_t site_count; /* gone ones included */
    struct run *runs;
    size_t run_count; /* places, also those not in use (workload none) */
    struct ledger promised; /* to nominated work */
    struct ledger leaving;  /* by work that is being stopped */
    struct ledger balance;  /* the sum of both */
    struct numbers numbers;
    /*
     * The sites that were derived anew and came out different, in order: an
     * index that was made at touched_count = n is brought up to date by
     * looking at the sites touched[i % ESTATE_TOUCHED] for i from n on.  When
     * touched_count - n > ESTATE_TOUCHED some are forgotten: make it anew.
     * New sites are in it too.  Trials (gain, own) are not.
     *
     * touched_parts: which parts of the site, as bits (estate_part_bit); for
     * whoever has something there, ESTATE_ITSELF: the node, other than that
     * somebody takes or gets CPU and memory of it.
     */
    uint32_t *touched;
    uint64_t *touched_parts;
    uint64_t touched_count;
    struct expect *expect; /* work that is expected; NULL: nothing yet */
    int64_t expect_upto;   /* the platform's, when it was read */
    struct estate_pulse *pools; /* by index of the ref; see estate_pool */
    size_t pool_room;
    struct estate_pulse *tenants; /* of their runs; see estate_tenant */
    size_t tenant_room;
    struct estate_pulse runs_pulse; /* of all runs */
    uint64_t shapes; /* how often what nodes could hold at all changed */
    struct estate_news news;
    struct estate_trials { /* sites where a trial may be on */
        uint32_t *sites;
        size_t count, room;
        uint8_t *flags; /* by site */
        size_t flag_room;
    } *trials;
    struct place_index *places; /* place_index.h; NULL: there is none */
    struct reclaim_index *reclaims; /* reclaim_index.h */
    struct ends *ends;              /* ends.h */
    struct estate_inside *inside; /* of estate.c and estate_run.c */
};

#define ESTATE_NONE UINT32_MAX
#define ESTATE_TOUCHED 65536
#define ESTATE_ITSELF (UINT64_C(1) << 63)

/* Everything lives in the arena, which grows no further than the world does. */
struct estate *estate_new(struct arena *arena, const struct world *world,
                          int64_t now_ms);
/* The same, to be settled in slices. */
struct estate *estate_begin(struct arena *arena, const struct world *world,
                            int64_t now_ms, struct budget *budget);

/* Lists the sites, before any step is noted; false when the slice ended before
 * that. */
bool estate_list(struct estate *estate);
/* Did nodes come or go since the position of the trail where it began, while
 * it lists them?  Then it has to begin anew. */
bool estate_is_passed(const struct estate *estate, uint64_t position);
/* Marks what a step of the trail may have changed. */
void estate_note(struct estate *estate, const struct trail_step *step);
/* What noting the step costs, in units of the budget. */
int64_t estate_note_cost(const struct estate *estate,
                         const struct trail_step *step);
/* Brings the estate up to the world as it is at now_ms, after all steps are
 * noted; false when the slice ended before that.  No trial may be on. */
bool estate_settle(struct estate *estate, int64_t now_ms);
/* Is it what a new one would be?  On false where_out says what differs: for
 * tests and `bulkhead check`. */
bool estate_is_true(const struct estate *estate, const char **where_out);

/* Vendor and model of a part's card. */
struct part_make estate_make(const struct estate *estate,
                             const struct part *part);
/* Index of a card's part, of a node's site, of a workload's run; ESTATE_NONE
 * when there is none. */
uint32_t estate_part(const struct estate *estate, struct ref card);
uint32_t estate_site(const struct estate *estate, struct ref node);
uint32_t estate_run(const struct estate *estate, struct ref workload);
/* The bit of a site's part among those that were touched; with very many parts
 * several have the same. */
uint64_t estate_part_bit(const struct estate *estate, uint32_t part);
/* The run that has this part of a card for the workload: the gang's own, or
 * that of a surplus instance; ESTATE_NONE when it is being given back. */
uint32_t estate_run_on(const struct estate *estate, struct ref workload,
                       uint32_t part);
/* The first run of a tenant; run.next leads on, in no order. */
uint32_t estate_first_run(const struct estate *estate, struct ref tenant);
/* The same of its nominated work, by next_held. */
uint32_t estate_first_held(const struct estate *estate, struct ref tenant);
/* The counters of a pool's places, of a tenant's runs. */
struct estate_pulse estate_pool(const struct estate *estate, struct ref pool);
struct estate_pulse estate_tenant(const struct estate *estate,
                                  struct ref tenant);

/* Counts the holds of a workload as its own (on), or as anybody's again: a
 * trial. */
void estate_own(struct estate *estate, struct ref ref, bool on);
/* What is promised to others before this workload was nominated (to all, when
 * it is not): later nominations do not undo earlier ones. */
void estate_earlier(const struct estate *estate, struct ref workload,
                    struct arena *arena, struct ledger *ledger_out);
/* Counts a run as stopped (sign 1) or not (-1): a trial. */
void estate_gain(struct estate *estate, const struct run *run, int sign);
/* For whoever changes gain or own of a site or of its parts; the sites where a
 * trial is on. */
void estate_trial(struct estate *estate, uint32_t site);
const uint32_t *estate_tried(const struct estate *estate, size_t *count_out);

#endif
