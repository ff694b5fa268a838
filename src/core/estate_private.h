/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_ESTATE_PRIVATE_H
#define CORE_ESTATE_PRIVATE_H

#include "core/estate.h"
#include "core/walk.h"

/* The inside of the estate, for estate*.c. */

/* A live instance, by the index of its ref: where it is, and what of it has
 * to be undone when it is gone. */
struct stay {
    uint64_t seq; /* 0: none */
    uint32_t site;
    uint32_t next, previous; /* of the site, by index; 0: none */
    struct ref tenant, workload;
    int64_t uid_base, address;
    int64_t due_ms; /* when it stops to count as leaving; 0: never */
};

/* What a run adds to one quota's line. */
struct share {
    uint32_t quota; /* or tenant: ledger_key */
    bool leaving; /* else promised */
    int64_t amount;
};

/* A list of numbers without doubles, each marked in a set of flags. */
struct marks {
    uint32_t *list;
    size_t count, room;
    size_t done; /* of the list, by whoever works on it in slices */
    uint8_t *flags; /* by number */
    size_t flag_room;
};

/* What the card of a part told when it was read last.  Nothing of it has to be
 * read again while its version is the same. */
struct face {
    uint64_t seq, version;
    bool dirty; /* slices of it are */
    char island[sizeof(((struct card *)0)->island)];
    char bus[sizeof(((struct card *)0)->bus)];
    int64_t numa;
};

struct site_extra {
    uint64_t seq, version; /* of the node, when it was read last */
    uint32_t stays; /* first, by index of the instance; 0: none */
    bool forced;    /* touched even if it comes out the same */
    int64_t due_ms; /* when its lease is over, unless it is heard of */
};

struct estate_inside {
    struct walk load; /* the first one; of no kind when it is over */
    bool settling; /* the last slice ended before it was settled */
    int64_t lease_ms, patience_ms;
    uint64_t rest; /* of the platform (expect.h) */
    struct stay *stays;
    size_t stay_room;
    struct site_extra *extras; /* by site */
    struct face *faces;        /* by part */
    size_t face_room, type_room;
    struct marks keepers;      /* workloads that keep what they gave back */
    uint32_t *part_of;         /* by index of the card's ref */
    size_t part_of_room;
    uint32_t *site_of; /* by index of the node's ref */
    size_t site_of_room;
    uint32_t *run_of; /* by index of the workload's ref */
    size_t run_of_room;
    size_t part_room, site_room, run_room;
    uint32_t *first_runs; /* by index of the tenant */
    size_t first_run_room;
    uint32_t *first_held;
    size_t first_held_room;
    uint32_t *free_runs;
    size_t free_run_count, free_run_room;
    struct marks sites; /* to be derived */
    struct marks runs;  /* workloads, by index of the ref */
    struct marks stale; /* sites whose lease is over */
    struct marks tenants; /* whose runs changed since the last settle */
    uint32_t *start_of; /* by index of the tenant: place in news.starts, where
                           another may be */
    size_t start_of_room;
    struct due due;
    struct ledger one; /* of the run that is being derived */
    struct share *promise; /* what was promised to it before */
    size_t promise_count, promise_room;
};

/* A larger copy of a table in the arena; what is new is zero. */
void *estate_grow(struct estate *estate, void *table, size_t *room,
                  size_t need, size_t size);
/* The place of an index in a map whose new places say "none". */
uint32_t *estate_place(struct estate *estate, uint32_t **map, size_t *room,
                       uint32_t index);
void estate_mark_run(struct estate *estate, struct ref workload);
void estate_mark(struct estate *estate, struct marks *marks, uint32_t number);
/* Is this instance giving its cards back?  One whose time is long over is not
 * counted on: its node may never answer.  due_out: when that is. */
bool estate_is_leaving(const struct estate *estate,
                       const struct instance *instance, int64_t *due_out);

/* How the card is cut.  like: a part that may be of the same make, or NULL. */
void estate_cut_derive(const struct estate *estate, struct part *part,
                       const struct part *like);
/* Its dirty slices. */
void estate_cut_dirty(const struct estate *estate, struct part *part);
/* The profile that the text names, NULL when it is no slice of the part. */
const struct geometry_profile *
estate_cut_slice(const struct part *part, const char *text, int *start_out);
/* Puts the slice into a layout of the part, or takes it out (sign -1). */
void estate_cut_add(const struct part *part, struct layout *layout,
                    const char *text, int sign);

/* Derives a site and tells when it came out different. */
void estate_site_derive(struct estate *estate, uint32_t number,
                        struct arena *scratch);
void estate_mark_site(struct estate *estate, struct ref node);

/* What a workload under which a card failed gave back and keeps while it ends
 * (estate_kept.c): does it, of a part, of its quotas; a change of it. */
bool estate_keeps(const struct workload *workload);
void estate_kept_derive(const struct estate *estate, struct part *part);
bool estate_kept_demand(const struct estate *estate,
                        const struct workload *workload,
                        struct demand *demand_out);
void estate_kept_note(struct estate *estate, struct ref ref);
/* Notes whether the workload keeps anything, whose sites are marked anyhow. */
void estate_kept_load(struct estate *estate, struct ref ref);

/* Derives the run of the workload in this slot. */
void estate_run_derive(struct estate *estate, uint32_t index);
/* Steps that change what runs add to ledgers, or their priority. */
void estate_run_note(struct estate *estate, const struct trail_step *step);

/* Cards of one group (place_group.h) get the number of the first. */
void estate_group_derive(const struct estate *estate, size_t first,
                         struct part *parts, size_t count);

#endif
