/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_WORLD_PRIVATE_H
#define CORE_WORLD_PRIVATE_H

#include "core/change.h"
#include "core/heads.h"
#include "core/holdings.h"
#include "core/node_type.h"
#include "core/table.h"
#include "core/trail.h"

/* The inside of the world, for world.c, tally.c, trail.c and apply.c only. */

#define CHUNK_OBJECTS 128

struct shelf {
    size_t size;        /* of one object */
    char **chunks;
    size_t chunk_count;
    uint32_t used;      /* slots ever used are 1 .. used - 1 */
    uint32_t *free;     /* stack */
    uint32_t free_count;
    uint32_t free_room;
    struct head all; /* list of the kind */
    size_t count;
};

/* What one payer has used of one thing at one price in its newest month. */
struct meter {
    struct world_usage of;
    int64_t month_ms;
    int64_t quantity;
};

/* An extension that gcc and clang share: weights times epochs. */
__extension__ typedef __int128 pledge_sum;

/* What live bindings will still use, for one quota and month (pledge.c). */
struct pledge {
    pledge_sum booked; /* up to the ends of longest run times */
    pledge_sum rate;   /* a ms, by those that are open */
    pledge_sum since;  /* rate x the time that it is metered up to */
};

/* Recent use of one node, or user of a project (recent.c). */
#define RECENT_AMOUNTS 2
#define RECENT_EPOCHS 24 /* 2^-24 of something is nothing */
struct recent_sum {
    int64_t newest; /* epoch */
    pledge_sum past[RECENT_AMOUNTS][RECENT_EPOCHS]; /* by epoch, a ring */
    pledge_sum folded[RECENT_AMOUNTS]; /* of all of them, in the newest */
    int64_t rate[RECENT_AMOUNTS]; /* live bindings: milli, MiB */
    int64_t held[RECENT_AMOUNTS]; /* holds */
};

/* Types of nodes (node_type.c). */
struct node_type_key {
    struct ref pool;
    int64_t cpu_milli, memory_mib;
    uint64_t cards[2]; /* a digest of them all */
};
struct node_place {
    bool known;
    uint32_t type, leaf;
    uint32_t next, previous; /* of the type, by index of the node; 0: none */
    struct node_type_key key;
};
struct node_types_free {
    uint32_t *list;
    size_t count, room;
};
struct node_types {
    struct node_type *types;
    struct node_leaf *leaves;
    struct node_leaf_part *parts;
    size_t type_count, leaf_count, part_count;
    struct node_types_free free_types, free_leaves, free_parts;
    struct table type_index, leaf_index;
    struct node_place *places; /* by index of the node */
    size_t room;
};

/* Positions count from when the world was made; those below first were never
 * here. */
struct trail {
    struct trail_step *steps; /* a ring by position */
    size_t room;
    uint64_t first, end;
};

struct world {
    struct hash_key key;
    struct shelf shelves[KIND_COUNT];
    struct table ids;
    struct table names;
    struct table digests;
    struct heads heads; /* of the lists by parent and by index */
    struct holdings holdings;
    struct table meter_index; /* (project, pool, class) -> number in meters */
    struct meter *meters;
    size_t meter_count;
    struct trail trail;
    struct table pledge_index; /* (quota, month) -> number in pledges */
    struct pledge *pledges;
    size_t pledge_count;
    struct table recent_index; /* (node, user) -> number in recents */
    struct recent_sum *recents;
    size_t recent_count;
    int64_t capacity[RECENT_AMOUNTS]; /* all cards: milli, MiB */
    struct table shares; /* (priority, pool) -> milli-cards in use */
    struct node_types node_types;
    struct ref platform;
    uint64_t seq;
    uint64_t generation;
};

/* The slot, live or only reserved. */
void *world_slot(const struct world *world, struct ref ref);
/* Makes slots up to index exist. */
void world_grow(struct world *world, enum kind kind, uint32_t index);
/* Puts a filled slot into all indexes; its lists are kept in seq order. */
void world_link(struct world *world, struct ref ref);
void world_unlink(struct world *world, struct ref ref);
/* Puts a grant among its subject's, or takes it out. */
void world_keep_holding(struct world *world, struct ref ref, bool in);
/* Remembers a change of an object that is in its slot still. */
void trail_add(struct world *world, const struct object *object,
               enum trail_op op, bool quiet);
/* The trail begins anew; its steps belong to somebody else. */
void trail_cut(struct world *world);
/* Adds (sign 1) or takes away (-1) what an object uses of cards, nodes and
 * quotas.  A new quota is counted from what is live. */
void tally_object(struct world *world, enum kind kind, const void *object,
                  int sign);
void tally_fact(struct world *world, const struct fact *fact);
/* Card time of a pool or class that goes stays with its project alone, as a
 * restart would have it; its slot starts anew. */
void tally_forget(struct world *world, struct ref gone);
void tally_quota(const struct world *world, struct quota *quota);
/* What live bindings will still use, for a quota that the world now has. */
void tally_pledges(struct world *world, const struct quota *quota);
void tally_usage(struct world *world, const struct world_usage *of,
                 int64_t month_ms, int64_t quantity);
/* What a live binding will still use of card time or cost, for a quota or a
 * priority class. */
void pledge_add(struct world *world, const struct object *owner, bool cost,
                const struct binding *binding, int sign);
/* booked: with what longest run times have reserved; else what open work has
 * used since it was metered. */
int64_t pledge_of(const struct world *world, const struct object *owner,
                  bool cost, bool booked, int64_t now_ms);
/* Adds what rows, live bindings and holds are for fair share. */
void recent_tally(struct world *world, enum kind kind, const void *object,
                  int sign);
/* Finds the type of a node anew, that came, changed or is gone. */
void node_type_renew(struct world *world, struct ref ref);
/* Does a change of the node or card make it another type? */
bool node_type_differs(enum kind kind, const void *old, const void *new);
void node_type_copy(struct node_types *copy, const struct node_types *types);
void node_type_release(struct node_types *types);
/* All anew, when the half-life is another. */
void recent_rebuild(struct world *world);

#endif
