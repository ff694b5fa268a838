/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_LOOP_PRIVATE_H
#define CONTROL_LOOP_PRIVATE_H

#include <stdatomic.h>

#include "control/commit.h"
#include "control/crew.h"
#include "control/feed.h"
#include "control/loop.h"
#include "control/wallclock.h"

/* The inside of the loop, for loop.c, apply.c, timer.c and execute.c only. */

#define LOOP_TIMERS 24
#define LOOP_HOOKS 8
#define LOOP_REASONS 8
/* For watches that go on (feed.h): of a tenant, of a kind of the platform's
 * objects, and for how long. */
#define LOOP_NOTES_TENANT 4096
#define LOOP_NOTES_PLATFORM 65536
#define LOOP_NOTES_MS (60 * 60 * INT64_C(1000))

struct loop_timer {
    void (*tick)(struct loop *loop, void *data);
    void *data;
    int64_t period_ms;
    int64_t due_ms; /* monotonic */
    bool after_change;
};

struct loop_hook {
    void (*hook)(void *data, const struct note *notes, size_t count);
    void *data;
};

struct loop_reason {
    char part[32];
    char text[LOOP_REASON_MAX];
};

/* Keys and sessions whose use is to be stored (uses.c). */
struct loop_uses {
    struct ref *list;
    size_t count, room;
};

struct loop {
    struct loop_options options;
    char *where;
    struct store *store;
    struct committer *committer;
    struct crew *readers, *workers;
    pthread_t thread;
    bool threaded; /* the world thread runs */

    /* the world thread's own after loop_start */
    struct world *world;
    struct journal *journal;
    struct feed *feed;
    struct id_source ids;
    struct wallclock clock;
    struct loop_uses uses;
    bool jumped; /* since somebody asked */
    struct batch *batch; /* of the job that runs */
    int64_t epoch;
    int64_t fact_sequence;
    uint64_t deleted[KIND_COUNT]; /* loop_deleted */
    bool restored; /* from a copy that nobody declared yet */
    char source[DIGEST_TEXT_MAX];
    struct loop_timer timers[LOOP_TIMERS];
    size_t timer_count;
    struct loop_hook hooks[LOOP_HOOKS];
    size_t hook_count;

    pthread_mutex_t lock; /* for what follows */
    pthread_cond_t wake;  /* a job came, or the loop stops */
    pthread_cond_t idle;  /* nothing is in flight, or the loop failed */
    struct job *first, *last;
    size_t queued, in_flight;
    bool stopping, failed;
    struct loop_reason reasons[LOOP_REASONS];
    char full[LOOP_REASON_MAX]; /* why nothing is changed; "": no reason */
    uint64_t full_refused;
    uint64_t jobs, busy;
    int64_t run_us_max;

    _Atomic int64_t now_ms, held_ms;
};

/* Around everything that runs on the world thread. */
void loop_begin(struct loop *loop);
void loop_end(struct loop *loop, struct job *job);

int64_t loop_wall_ms(const struct loop *loop);

#endif
