/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_QUEUE_PRIVATE_H
#define CORE_QUEUE_PRIVATE_H

#include "core/queue.h"
#include "core/table.h"
#include "core/walk.h"

/* The inside of the queue, for queue*.c. */

#define POOL_BITS 64
#define MEMBER_PIECE 128

/* What is known of a workload, by the index of its ref. */
struct member {
    uint64_t seq; /* 0: nothing */
    uint32_t group; /* QUEUE_NONE: it does not wait for its turn */
    uint32_t at;    /* in the group's heap */
    int64_t submitted_ms;
    uint64_t told;  /* the group's verdict that it was told */
    int64_t due_ms; /* the next reminder; 0: none */
    int64_t book_ms; /* when its booking was considered; 0: not yet */
};

/* A set of indexes as a list. */
struct bag {
    uint32_t *list;
    size_t count, room;
    size_t done; /* of the list, when it is taken from its begin */
    uint8_t *flags;
    size_t flag_room;
};

/* Groups that look at a site, and where each of their watches says so. */
struct watchers {
    struct watcher {
        uint32_t group, watch;
    } *list;
    size_t count, room;
};

struct queue {
    struct arena *arena;
    const struct world *world;
    int64_t now_ms;
    struct member **members; /* pieces, by index of the workload; NULL: none of
                                it was filed.  Growing moves none */
    size_t member_room; /* pieces */
    struct group **groups;
    size_t group_count, group_room; /* places */
    size_t live_count, waiting;
    struct bag free_groups;
    struct table index; /* key -> place + 1 */
    struct queue_tenant {
        uint32_t first; /* group; QUEUE_NONE */
        uint64_t set;   /* how often something was set anew in it */
        uint64_t metered; /* how often its recent use changed */
        struct estate_pulse seen; /* of its runs, when it last looked */
        struct errand {
            bool anew;    /* something was set anew in it */
            bool runs;    /* its runs changed */
            bool metered; /* its bindings changed */
            bool earlier; /* a share may be: other than by a start alone */
            bool started, nominated; /* work of it was, */
            int64_t priority;        /* of this priority at least */
        } errand; /* what its groups have to be asked */
    } *of_tenant; /* by index of the tenant */
    size_t tenant_room;
    struct bag errands; /* tenants with an errand */
    bool anew;          /* one of them has something that was set anew */
    struct round {      /* the groups of a tenant that are being asked */
        uint32_t next;  /* QUEUE_NONE: none */
        struct errand errand;
        struct estate_pulse old, new;
    } round;
    struct sweep { /* over all groups */
        size_t next, left;
        bool all, any, more; /* runs changed, or use more */
        uint64_t better, changed; /* pools */
        uint64_t unbooked;
    } sweep;
    uint32_t *ready; /* a heap by entry */
    size_t ready_count, ready_room;
    struct walk load;   /* the first one, over all workloads */
    struct bag marked;  /* workloads to be filed anew */
    struct bag unsaid;  /* groups with another verdict */
    struct bag rouse;   /* groups to be made ready, or whose first is another */
    struct bag late;    /* workloads that joined a judged group */
    struct due due;     /* workloads; groups as refs of no kind */
    struct due overdue; /* workloads, by seq in place of a time */
    struct due_entry last_overdue; /* that was given */
    /* what was there when it last looked */
    bool all_better;
    uint64_t rest; /* of the platform (expect.h) */
    uint64_t all; /* how often something for all changed */
    uint64_t bits_changed[POOL_BITS], bits_better[POOL_BITS];
    struct estate_pulse runs; /* of all */
    struct watchers *watchers; /* by site */
    size_t watcher_room;
    uint64_t touched; /* of the estate's log */
    uint64_t unbooked; /* whose bookings ended or count less (booking_bit) */
    uint64_t bits_booked[POOL_BITS]; /* how often something was booked there */
    struct booker {        /* who has bookings, and its right */
        struct ref owner;
        uint64_t counter; /* of all that the right depends on; 0: not asked */
        int64_t asked_ms, right;
    } *bookers;
    size_t booker_count, booker_room;
    bool rebooked; /* the list is old */
    uint64_t sets;
    size_t abroad, rivals, eager; /* groups with such an outlook */
    uint32_t *front; /* those that are passable, a heap by arrival */
    size_t front_count, front_room;
    struct share_basis basis; /* of all shares */
    uint64_t shares; /* how often more than one tenant's changed */
    uint32_t faded; /* where the search for faded groups goes on */
    uint64_t faded_at; /* counters when it began */
};


/* A larger copy of a table in the arena; what is new is zero. */
void *queue_grow(struct queue *queue, void *table, size_t *room, size_t need,
                 size_t size);
void queue_bag_add(struct queue *queue, struct bag *bag, uint32_t index);
uint32_t queue_bag_take(struct bag *bag);
/* The first member of a group and its right, as they are now. */
void queue_refresh(struct queue *queue, struct estate *estate,
                   struct group *group);
/* Without shares, which are others with each ms. */
bool queue_arrived_before(const struct queue_entry *a,
                          const struct queue_entry *b);
/* Puts a judged group among those that can be passed over; takes it out. */
void queue_front_add(struct queue *queue, uint32_t number);
void queue_front_take(struct queue *queue, struct group *group);
struct queue_tenant *queue_tenant(struct queue *queue, struct ref tenant);
struct member *queue_member(struct queue *queue, uint32_t index);
/* One that was filed. */
static inline struct member *
queue_member_at(const struct queue *queue, uint32_t index)
{
    return &queue->members[index / MEMBER_PIECE][index % MEMBER_PIECE];
}

/* Makes a group ready, in its place by what is true now. */
void queue_wake(struct queue *queue, struct estate *estate, uint32_t number);
void queue_unready(struct queue *queue, struct group *group);
/* It has to be told what its group was told. */
void queue_tell(struct queue *queue, uint32_t index);
/* Puts one workload where it belongs now. */
void queue_file(struct queue *queue, uint32_t index);
void queue_add_overdue(struct queue *queue, struct ref ref);
/* Wakes the group when its places change. */
void queue_watch(struct queue *queue, uint32_t number,
                 const struct outlook *outlook);
void queue_unwatch(struct queue *queue, struct group *group);
bool queue_wake_by_sites(struct queue *queue, struct estate *estate);
/* Notes the bookings whose owners have another right by now. */
void queue_ask_bookers(struct queue *queue, const struct estate *estate);

#endif
