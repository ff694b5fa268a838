/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_QUEUE_H
#define CORE_QUEUE_H

#include "core/alternative.h"
#include "core/evaluate.h"
#include "core/share.h"

/*
 * Who is looked at next, and whom does an event concern?
 *
 * Waiting work lies in groups of equal requests: what one of them is told is
 * true for all.  Order of groups, by their first member: within guarantee
 * before burst, what a card failed under, priority, fair share (share.h), time
 * of submission, sequence number; the same order within a group.  A share is looked up when its group
 * comes up: use makes it later, and what makes it earlier wakes its tenant.
 *
 * A group is ready when nobody has looked at it since something changed that
 * could let it start.  Else it has a verdict, which stands until its outlook
 * comes true (evaluate.h).  The queue follows the world like the estate does.
 */

struct queue_entry {
    struct ref workload;
    int64_t right; /* enum quota_right, larger is later */
    bool replacing; /* a card failed under it */
    int64_t priority;
    struct share_path share; /* of its tenant, ... project and user */
    int64_t submitted_ms;
    uint64_t seq;
};

/* Requests that are equal get equal answers. */
struct group_key {
    struct ref project, user, pool, priority;
    struct ref classes[ALTERNATIVE_MAX];
    int64_t instances, cpu_milli, memory_mib, max_run_ms;
    int64_t preemptible, kind, grace_ms, level, spread;
    uint64_t needs; /* what its image and manifest require */
    struct ref alone; /* a workload whose answer depends on more */
};

#define QUEUE_NONE UINT32_MAX

struct group {
    struct group_key key;
    struct ref tenant;
    uint32_t *members; /* indexes of workloads, a heap: the first goes first */
    size_t count, room;
    struct queue_entry entry; /* of the first */
    bool judged;
    struct verdict verdict; /* once judged */
    struct outlook outlook;
    uint64_t told;     /* how often it became another verdict */
    uint64_t seen;     /* of all that it could depend on */
    uint64_t right_at; /* counters when the right was looked up */
    uint64_t share_at; /* the same of the share; 0: it was not */
    int64_t share_ms;
    uint32_t next, previous; /* of the tenant; QUEUE_NONE at the ends */
    uint32_t ready;          /* place among the ready ones; QUEUE_NONE */
    int64_t due_ms;          /* the reminder that is set; 0: none */
    struct watch {
        uint32_t site, at; /* in the site's list of watchers */
        uint64_t parts;
    } *watches;
    size_t watch_count, watch_room;
    size_t said;             /* members before it know the verdict */
    bool again;              /* some before it may not, after all */
    uint32_t front; /* place among those that others can take from before
                       they start; QUEUE_NONE */
};

struct queue;

struct queue *queue_new(struct arena *arena, const struct world *world);
/* What does not lie in the arena; NULL is nothing. */
void queue_free(struct queue *queue);
/* Marks what a step of the trail may have changed. */
void queue_note(struct queue *queue, const struct trail_step *step);
/* Brings the queue up to the world, after the estate was settled; false when
 * the slice ended before that. */
bool queue_settle(struct queue *queue, struct estate *estate);

/* The first ready group and its first member; NULL when none is ready. */
struct group *queue_first(struct queue *queue, struct estate *estate);
/* The group waits: it is not ready any more. */
void queue_judge(struct queue *queue, const struct estate *estate,
                 struct group *group, const struct evaluation *evaluation);
/* Who has to see this group start before it: the first members of the first
 * judged groups in the order that wait for what others can take. */
#define QUEUE_PASSED_MAX 4
size_t queue_passed(struct queue *queue, struct estate *estate,
                    const struct group *group,
                    struct ref list[QUEUE_PASSED_MAX]);
/* A judged group with something changed around it since, whose numbers may be
 * others now though it cannot start; NULL when there is none, or more_out is
 * set: when none was found before the slice ended. */
struct group *queue_faded(struct queue *queue, const struct estate *estate,
                          bool *more_out);
/*
 * The next waiting workload that has not been told its group's verdict; none
 * when all know.  group_out: its group.  When only numbers of the verdict
 * changed, these members of a group are told; to the rest, what was said
 * before is true but for the numbers.  looks: how many may be looked at, goes
 * down; when none is left there may be more.
 */
#define QUEUE_EXACT 16
struct ref queue_unsaid(struct queue *queue, const struct group **group_out,
                        int *looks);

/* Expired holds, run times that are over, old history, cards to be cut for who
 * holds them, in the order of seq.  None when there is nothing; each is given once. */
struct ref queue_overdue(struct queue *queue);
/* The last one that was given comes again. */
void queue_return(struct queue *queue);
/* The earliest time that brings something; INT64_MAX when none does. */
int64_t queue_due_ms(const struct queue *queue);
/* Does anybody wait who may run in the pool, or wait for a limit in this
 * tenant? */
bool queue_wants(const struct queue *queue, struct ref pool,
                 struct ref tenant);
/* The group in which a workload waits for its turn, or NULL. */
const struct group *queue_group(struct queue *queue, struct ref workload);
/* Is it one of those that know the numbers too? */
bool queue_is_exact(struct queue *queue, struct ref workload);
size_t queue_count(const struct queue *queue);
size_t queue_group_count(const struct queue *queue);

/* The right of a waiting workload in its best pool (enum quota_right), with
 * what is promised to others. */
int64_t queue_right(const struct estate *estate,
                    const struct workload *workload,
                    const struct ledger *promised);
/* Does a go before b? */
bool queue_before(const struct queue_entry *a, const struct queue_entry *b);
/* The entry of a waiting workload, for rank and explanation. */
struct queue_entry queue_entry(struct estate *estate, struct ref ref);
/* When time alone ends something of it: a hold, its run, its stay in memory;
 * 0: never. */
int64_t queue_deadline(const struct world *world,
                       const struct workload *workload);
/* Is there something to be done about it now, besides its turn? */
bool queue_is_overdue(const struct world *world,
                      const struct workload *workload, int64_t now_ms);
/* Is all of it given back, so that it may leave the memory? */
bool queue_is_history(const struct world *world,
                      const struct workload *workload);

#endif
