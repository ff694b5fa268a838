/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_LOOP_H
#define CONTROL_LOOP_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "core/access.h"
#include "core/change.h"
#include "store/store.h"

/*
 * What happens in which order?  One thread owns the world and runs jobs one
 * after the other.  What a job changed is written by the committer thread,
 * many jobs in one transaction; a job is done when everything that it saw and
 * changed is durable.  Nothing leaves before.
 *
 *   any thread   loop_post -> bounded queue
 *   world thread run(): decide, apply; rows are queued
 *   committer    one transaction for all queued jobs
 *   reader pool  read(): history, when the job has one
 *   then         done(): answer
 *
 * A job without changes waits as well for what it saw; when all of that is
 * durable already, it is done at once, on the world thread.  When a commit fails,
 * every job that waits is done with failed set (ERROR_UNKNOWN), nothing runs
 * any more, and loop_failed() tells main to leave: the next start loads what
 * is really there.
 */

struct loop;
struct journal;

struct job {
    /* World thread; NULL: none.  Fast: a slow job holds up everybody. */
    void (*run)(struct loop *loop, struct job *job);
    /* Reader thread, after durability; NULL: none.  It may be set by run. */
    void (*read)(struct job *job, struct store_reader *reader);
    /* Worker thread, by loop_work: slow arithmetic.  It ends with loop_post
     * or loop_finish of the same job (when loop_post fails: loop_finish);
     * afterwards the job is not its own. */
    void (*work)(struct loop *loop, struct job *job);
    /* Last, on a thread of the loop, exactly once after the first loop_post
     * or loop_work that returned 0.  Short; it may free the job. */
    void (*done)(struct job *job);
    struct arena *arena; /* the caller's; lives until done */
    void *data;          /* the caller's */
    bool failed;         /* not durable, or not run: error says which */
    struct error error;

    bool to_work;        /* set by run: the worker is next */

    /* the loop's own */
    struct job *next;
    bool in_flight;
    struct loop_waiter *waiter;
};

struct loop_options {
    const struct store_ops *ops;
    const char *where;      /* of the store */
    size_t jobs_max;        /* posted and not done; 0: 4096 */
    size_t work_max;        /* waiting for a worker; 0: 64 */
    unsigned readers;       /* 0: 2 */
    unsigned workers;       /* 0: 2 */
    int64_t jump_ms;        /* forward jumps over this are held; 0: 60000 */
    bool ids_fixed;         /* tests: ids from seed, not from the system */
    uint64_t seed;
    int64_t (*wall_ms)(void); /* NULL: clock_wall_ms */
    int64_t (*mono_ms)(void); /* NULL: clock_mono_ms */
};

/* Opens the store, loads the world (load.h) and starts the threads.  Timers
 * and posted jobs wait until loop_start. */
int loop_open(const struct loop_options *options, struct loop **loop_out,
              struct error *err);
int loop_start(struct loop *loop, struct error *err);
/* Refuses new jobs, waits until all posted ones are done, stops. */
void loop_stop(struct loop *loop);
void loop_close(struct loop *loop); /* NULL is nothing */

/* Queues a job.  ERROR_BUSY when the queue is full or the loop stops or has
 * failed; then done is not called. */
int loop_post(struct loop *loop, struct job *job, struct error *err);
/* Queues job->work for the worker pool; ERROR_BUSY as above.  From run: set
 * job->to_work instead, and the job goes to the worker once what it saw is
 * durable. */
int loop_work(struct loop *loop, struct job *job, struct error *err);
/* Ends a job from its work function; err may be NULL. */
void loop_finish(struct loop *loop, struct job *job, const struct error *err);
/* Posts and waits until it is done; returns -1 with the job's error when it
 * failed.  Never from a thread of the loop.  job->done is taken.  Before
 * loop_start it runs on the calling thread, ahead of everything posted. */
int loop_call(struct loop *loop, struct job *job, struct error *err);

/* --- on the world thread only --- */

const struct world *loop_world(const struct loop *loop);
/* Time of this job (never runs back, jumps held) and fresh ids. */
struct context loop_context(struct loop *loop);
/* What timers run by. */
int64_t loop_mono_ms(const struct loop *loop);
struct changes *loop_changes(struct loop *loop, struct arena *arena);
/* Applies and queues the rows.  Without an audit record: use execute.h. */
void loop_apply(struct loop *loop, struct changes *changes);
/* Adds a counter to the job's transaction; bytes are copied. */
void loop_counter(struct loop *loop, const char *name, int64_t value,
                  const void *bytes, size_t size);
/* Destroys the personal part of a record in the store (control/eraser.h); log
 * lives until the job is done.  The order has a record, this has none. */
void loop_erase_person(struct loop *loop, const char *log, int64_t position);
/* Removes the records [from, to) of a log from the store
 * (control/pruner.h); log lives until the job is done. */
void loop_prune_records(struct loop *loop, const char *log, int64_t from,
                        int64_t to);
struct journal *loop_journal(struct loop *loop);
/* Notes that a node was heard just now: soft state, which is not stored and
 * needs no record. */
void loop_touch(struct loop *loop, struct ref ref);
/* The same for what was measured of a card. */
void loop_touch_card(struct loop *loop, struct ref card,
                     const struct card_readings *readings);

/* --- timers --- */

/* Calls tick on the world thread about each period_ms (of the monotonic
 * clock), as a job of its own. Before loop_start. */
void loop_every(struct loop *loop, int64_t period_ms,
                void (*tick)(struct loop *loop, void *data), void *data);
/* Runs tick (of an earlier loop_every) as soon as possible; world thread. */
void loop_hurry(struct loop *loop,
                void (*tick)(struct loop *loop, void *data));

/* Runs tick (of an earlier loop_every) soon after each job or tick that
 * changed objects. Before loop_start. */
void loop_after_change(struct loop *loop,
                       void (*tick)(struct loop *loop, void *data));

/* --- what became durable --- */

/* One object that changed, for watches and for agents' long polls. */
struct note {
    uint64_t revision; /* of the scope */
    struct ref scope;
    struct ref ref;
    struct ref parent;
    struct id parent_id; /* slots are used again, ids are not */
    struct id id;
    uint32_t kind;
    bool deleted; /* deleted or evicted */
    bool created;
    /* Of a deletion, world thread only: who may have seen the object. */
    struct access_audience audience;
};

/* Called on the committer thread, in order, after notes became durable;
 * short. Before loop_start. */
void loop_on_durable(struct loop *loop,
                     void (*hook)(void *data, const struct note *notes,
                                  size_t count),
                     void *data);
/* World thread: the notes of a scope with revision > since, oldest first,
 * while take returns true: in a tenant those of all kinds, else of this one.
 * ERROR_GONE when they are no longer kept.  A job that calls this is done when
 * they are durable, like every job. */
int loop_notes(struct loop *loop, struct ref scope, enum kind kind,
               uint64_t since,
               bool (*take)(void *data, const struct note *note), void *data,
               struct error *err);

/* World thread: these notes are kept from this revision on. */
uint64_t loop_notes_from(const struct loop *loop, struct ref scope,
                         enum kind kind);
/* World thread: the revision of the newest deletion of an object of the kind
 * that lay in the platform's scope and was published to all; 0: none. */
uint64_t loop_deleted(const struct loop *loop, enum kind kind);

/* --- clock --- */

/* Any thread.  How far the wall clock ran ahead of what is used, ms; 0 when
 * no jump is held. */
int64_t loop_clock_held(const struct loop *loop);
/* World thread: was a jump noticed since the last call?  For the record. */
bool loop_clock_jumped(struct loop *loop);
/* World thread: takes over the held time. */
void loop_clock_confirm(struct loop *loop);
/* Any thread: the platform's time as of the last job, for display. */
int64_t loop_now(const struct loop *loop);

/* --- health; any thread --- */

#define LOOP_REASON_MAX 256
/* False with a sentence when requests should not be sent here. */
bool loop_ready(const struct loop *loop, char reason[LOOP_REASON_MAX]);
/* Another part's reason for not being ready ("" or NULL: none any more). */
void loop_set_reason(struct loop *loop, const char *part, const char *reason);
/* While there is a reason, commands that change something are refused with it
 * (execute.h); NULL ends that.  Returns how many were refused since.  Any
 * thread. */
uint64_t loop_set_full(struct loop *loop, const char *reason);
/* World thread: is there such a reason?  Counts the refusal. */
bool loop_is_full(struct loop *loop, char reason[LOOP_REASON_MAX]);
/* True after a commit failed: the process is to leave with LOOP_EXIT. */
bool loop_failed(const struct loop *loop);
#define LOOP_EXIT 70

struct loop_stats {
    uint64_t jobs, commits, rows, busy; /* since start */
    uint64_t queued;                    /* now */
    int64_t commit_us_last, commit_us_max, run_us_max;
};
void loop_stats(const struct loop *loop, struct loop_stats *out);

/* Was the store, as it was opened, a copy that was put back?  *source_out: hex
 * digest of the backup, NULL: not known. */
bool loop_restored(const struct loop *loop, const char **source_out);

/* A read-only session of the same store, for a thread of one's own. */
int loop_reader(const struct loop *loop, struct store_reader **reader_out,
                struct error *err);

#endif
