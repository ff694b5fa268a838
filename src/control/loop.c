/* SPDX-License-Identifier: Apache-2.0 */
#include "control/loop.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/crash.h"
#include "base/log.h"
#include "base/sign.h"
#include "control/journal.h"
#include "control/load.h"
#include "control/loop_private.h"

/* A tick waits for queued jobs, but not longer than this. */
#define TICK_PATIENCE_MS 5
#define WAIT_MAX_MS 1000

struct loop_waiter {
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool done;
};

int64_t
loop_wall_ms(const struct loop *loop)
{
    return loop->options.wall_ms != NULL ? loop->options.wall_ms()
                                         : clock_wall_ms();
}

int64_t
loop_mono_ms(const struct loop *loop)
{
    return loop->options.mono_ms != NULL ? loop->options.mono_ms()
                                         : clock_mono_ms();
}

/* --- ends of jobs --- */

static void
count_out(struct loop *loop)
{
    (void)pthread_mutex_lock(&loop->lock);
    if (--loop->in_flight == 0)
        (void)pthread_cond_broadcast(&loop->idle);
    (void)pthread_mutex_unlock(&loop->lock);
}

static void
wake_waiter(struct loop_waiter *waiter)
{
    (void)pthread_mutex_lock(&waiter->lock);
    waiter->done = true;
    (void)pthread_cond_signal(&waiter->ended);
    (void)pthread_mutex_unlock(&waiter->lock);
}

static void
finish(struct loop *loop, struct job *job)
{
    struct loop_waiter *waiter = job->waiter;

    job->in_flight = false;
    job->next = NULL;
    CRASH_POINT("bulkheadd.answering");
    if (waiter == NULL)
        job->done(job); /* may free it */
    CRASH_POINT("bulkheadd.answered");
    count_out(loop);
    if (waiter != NULL)
        wake_waiter(waiter);
}

static void
finish_failed(struct loop *loop, struct job *job, enum error_code code,
              const char *text)
{
    job->failed = true;
    (void)error_set(&job->error, code, "%s", text);
    finish(loop, job);
}

void
loop_finish(struct loop *loop, struct job *job, const struct error *err)
{
    if (err != NULL) {
        job->failed = true;
        job->error = *err;
    }
    finish(loop, job);
}

/* What the job saw and changed is durable: on to its next station. */
static void
forward(struct loop *loop, struct job *job)
{
    if (job->to_work) {
        job->to_work = false;
        if (!crew_push(loop->workers, job))
            finish_failed(loop, job, ERROR_BUSY,
                          "too many requests wait for a worker");
        return;
    }
    if (job->read == NULL)
        finish(loop, job);
    else if (!crew_push(loop->readers, job))
        finish_failed(loop, job, ERROR_BUSY, "shutting down");
}

static void
set_failed(struct loop *loop, const struct error *err)
{
    bool first;

    (void)pthread_mutex_lock(&loop->lock);
    first = !loop->failed;
    loop->failed = true;
    (void)pthread_cond_broadcast(&loop->wake);
    (void)pthread_cond_broadcast(&loop->idle);
    (void)pthread_mutex_unlock(&loop->lock);
    if (first)
        log_error("commit failed, leaving: %s", err->text);
}

/* On the committer thread. */
static void
finish_batches(void *data, struct batch *batches, const struct error *err)
{
    struct loop *loop = data;

    if (err != NULL)
        set_failed(loop, err);
    while (batches != NULL) {
        struct batch *batch = batches;

        batches = batch->next;
        for (size_t i = 0; err == NULL && batch->note_count > 0 &&
                           i < loop->hook_count;
             i++)
            loop->hooks[i].hook(loop->hooks[i].data, batch->notes,
                                batch->note_count);
        if (batch->job != NULL && err != NULL)
            finish_failed(loop, batch->job, ERROR_UNKNOWN,
                          "the change may or may not be stored: repeat with "
                          "the same Idempotency-Key");
        else if (batch->job != NULL)
            forward(loop, batch->job);
        batch_free(batch);
    }
}

/* --- the world thread --- */

static void
read_clock(struct loop *loop)
{
    bool jumped = wallclock_read(&loop->clock, loop_wall_ms(loop),
                                 loop_mono_ms(loop));

    atomic_store(&loop->now_ms, loop->clock.now_ms);
    atomic_store(&loop->held_ms, loop->clock.held_ms);
    loop->jumped |= jumped;
    if (jumped)
        log_warn("the clock jumped ahead by %lld ms; time goes on without "
                 "the jump until it is confirmed",
                 (long long)loop->clock.held_ms);
}

void
loop_begin(struct loop *loop)
{
    read_clock(loop);
    loop->batch = batch_new();
}

static void
hurry_followers(struct loop *loop)
{
    for (size_t i = 0; i < loop->timer_count; i++)
        if (loop->timers[i].after_change)
            loop->timers[i].due_ms = loop_mono_ms(loop);
}

static bool
has_queued(struct loop *loop)
{
    bool has;

    (void)pthread_mutex_lock(&loop->lock);
    has = loop->queued > 0;
    (void)pthread_mutex_unlock(&loop->lock);
    return has;
}

void
loop_end(struct loop *loop, struct job *job)
{
    struct batch *batch = loop->batch;
    char mark[96];

    loop->batch = NULL;
    batch->job = job;
    if (batch->note_count > 0)
        hurry_followers(loop);
    if (batch->row_count == 0 && batch->counter_count == 0 &&
        (job == NULL ||
         (batch->note_count == 0 && committer_is_idle(loop->committer)))) {
        batch_free(batch);
        if (job != NULL) /* what it saw is durable already */
            forward(loop, job);
        return;
    }
    if (batch->row_count > 0) {
        int size = snprintf(mark, sizeof(mark), "%s %lld", clock_boot_id(),
                            (long long)loop->clock.mono_ms);

        batch_counter(batch, "clock", loop->clock.now_ms, mark, (size_t)size);
    }
    committer_push(loop->committer, batch, has_queued(loop));
}

static void
note_time(struct loop *loop, int64_t start_us)
{
    int64_t us = clock_mono_us() - start_us;

    (void)pthread_mutex_lock(&loop->lock);
    loop->jobs++;
    if (us > loop->run_us_max)
        loop->run_us_max = us;
    (void)pthread_mutex_unlock(&loop->lock);
}

static void
run_job(struct loop *loop, struct job *job)
{
    int64_t start_us = clock_mono_us();

    loop_begin(loop);
    if (job->run != NULL)
        job->run(loop, job);
    note_time(loop, start_us);
    loop_end(loop, job);
}

static void
run_tick(struct loop *loop, struct loop_timer *timer)
{
    int64_t start_us = clock_mono_us();

    timer->due_ms = loop_mono_ms(loop) + timer->period_ms;
    loop_begin(loop);
    timer->tick(loop, timer->data);
    note_time(loop, start_us);
    loop_end(loop, NULL);
}

/* The timer that is due first; NULL when there is none at all. */
static struct loop_timer *
next_timer(struct loop *loop)
{
    struct loop_timer *next = NULL;

    for (size_t i = 0; i < loop->timer_count; i++)
        if (next == NULL || loop->timers[i].due_ms < next->due_ms)
            next = &loop->timers[i];
    return next;
}

static struct job *
pop(struct loop *loop)
{
    struct job *job = loop->first;

    if (job == NULL)
        return NULL;
    loop->first = job->next;
    if (loop->first == NULL)
        loop->last = NULL;
    loop->queued--;
    job->next = NULL;
    return job;
}

static void
wait_for_work(struct loop *loop, int64_t ms)
{
    struct timespec until;

    if (ms > WAIT_MAX_MS)
        ms = WAIT_MAX_MS;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += (long)(ms % 1000) * 1000000;
    until.tv_sec += (time_t)(ms / 1000) + until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    (void)pthread_cond_timedwait(&loop->wake, &loop->lock, &until);
}

/* Drops what was posted when nothing can run any more. */
static void
refuse_queued(struct loop *loop)
{
    struct job *job;

    for (;;) {
        (void)pthread_mutex_lock(&loop->lock);
        job = pop(loop);
        (void)pthread_mutex_unlock(&loop->lock);
        if (job == NULL)
            return;
        finish_failed(loop, job, ERROR_BUSY,
                      "the control plane restarts: try again");
    }
}

/* One job or tick; false when the loop is to end. */
static bool
step(struct loop *loop)
{
    struct loop_timer *timer = next_timer(loop);
    int64_t wait_ms = timer != NULL ? timer->due_ms - loop_mono_ms(loop)
                                    : WAIT_MAX_MS;
    struct job *job = NULL;
    bool ends, failed;

    (void)pthread_mutex_lock(&loop->lock);
    failed = loop->failed;
    ends = failed || (loop->stopping && loop->in_flight == 0);
    if (!ends && loop->first == NULL && wait_ms > 0)
        wait_for_work(loop, wait_ms);
    else if (!ends && (wait_ms > 0 || (loop->first != NULL &&
                                       wait_ms > -TICK_PATIENCE_MS)))
        job = pop(loop);
    (void)pthread_mutex_unlock(&loop->lock);
    if (failed)
        refuse_queued(loop);
    if (ends)
        return false;
    if (job != NULL)
        run_job(loop, job);
    else if (wait_ms <= 0)
        run_tick(loop, timer);
    return true;
}

static void *
world_thread(void *argument)
{
    struct loop *loop = argument;

    while (step(loop))
        ;
    return NULL;
}

/* --- queues --- */

static int
refuse(struct loop *loop, struct error *err)
{
    loop->busy++;
    if (loop->failed || loop->stopping)
        return error_set(err, ERROR_BUSY, "the control plane restarts: try "
                                          "again");
    return error_set(err, ERROR_BUSY, "too many requests at once: try again");
}

/* Under the lock. */
static int
count_in(struct loop *loop, struct job *job, struct error *err)
{
    if (loop->failed)
        return refuse(loop, err);
    if (job->in_flight)
        return 0;
    if (loop->stopping || loop->in_flight >= loop->options.jobs_max)
        return refuse(loop, err);
    job->in_flight = true;
    loop->in_flight++;
    return 0;
}

int
loop_post(struct loop *loop, struct job *job, struct error *err)
{
    int rc;

    (void)pthread_mutex_lock(&loop->lock);
    rc = count_in(loop, job, err);
    if (rc == 0) {
        job->next = NULL;
        if (loop->last != NULL)
            loop->last->next = job;
        else
            loop->first = job;
        loop->last = job;
        loop->queued++;
        (void)pthread_cond_signal(&loop->wake);
    }
    (void)pthread_mutex_unlock(&loop->lock);
    return rc;
}

int
loop_work(struct loop *loop, struct job *job, struct error *err)
{
    bool was_in = job->in_flight;
    int rc;

    (void)pthread_mutex_lock(&loop->lock);
    rc = count_in(loop, job, err);
    (void)pthread_mutex_unlock(&loop->lock);
    if (rc != 0 || crew_push(loop->workers, job))
        return rc;
    if (!was_in) {
        job->in_flight = false;
        count_out(loop);
    }
    return error_set(err, ERROR_BUSY, "too many requests wait for a worker");
}

/* Before loop_start the caller is the only one who could touch the world. */
static int
queue_or_run(struct loop *loop, struct job *job, struct error *err)
{
    int rc;

    if (loop->threaded)
        return loop_post(loop, job, err);
    (void)pthread_mutex_lock(&loop->lock);
    rc = count_in(loop, job, err);
    (void)pthread_mutex_unlock(&loop->lock);
    if (rc == 0)
        run_job(loop, job);
    return rc;
}

int
loop_call(struct loop *loop, struct job *job, struct error *err)
{
    struct loop_waiter waiter = { PTHREAD_MUTEX_INITIALIZER,
                                  PTHREAD_COND_INITIALIZER, false };

    job->waiter = &waiter;
    if (queue_or_run(loop, job, err) != 0)
        return -1;
    (void)pthread_mutex_lock(&waiter.lock);
    while (!waiter.done)
        (void)pthread_cond_wait(&waiter.ended, &waiter.lock);
    (void)pthread_mutex_unlock(&waiter.lock);
    (void)pthread_cond_destroy(&waiter.ended);
    (void)pthread_mutex_destroy(&waiter.lock);
    if (!job->failed)
        return 0;
    *err = job->error;
    return -1;
}

/* --- the crews --- */

static void *
open_reader(void *data)
{
    struct loop *loop = data;
    struct store_reader *reader = NULL;
    struct error err;

    if (loop_reader(loop, &reader, &err) != 0)
        log_error("%s", err.text);
    return reader;
}

static void
close_reader(void *context)
{
    store_reader_close(context);
}

static void
read_history(void *data, void *context, struct job *job)
{
    struct loop *loop = data;

    if (context == NULL) {
        finish_failed(loop, job, ERROR_BUSY, "history cannot be read now");
        return;
    }
    job->read(job, context);
    finish(loop, job);
}

static void
do_work(void *data, void *context, struct job *job)
{
    (void)context;
    job->work(data, job);
}

/* --- opening and closing --- */

static void
set_defaults(struct loop_options *options)
{
    if (options->jobs_max == 0)
        options->jobs_max = 4096;
    if (options->work_max == 0)
        options->work_max = 64;
    if (options->readers == 0)
        options->readers = 2;
    if (options->workers == 0)
        options->workers = 2;
    if (options->jump_ms == 0)
        options->jump_ms = 60000;
}

static struct loop *
loop_new(const struct loop_options *options)
{
    struct loop *loop = memory_new(1, sizeof(*loop));
    pthread_condattr_t attributes;

    loop->options = *options;
    set_defaults(&loop->options);
    loop->where = memory_strdup(options->where);
    (void)pthread_mutex_init(&loop->lock, NULL);
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&loop->wake, &attributes);
    (void)pthread_cond_init(&loop->idle, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    loop->feed = feed_new((struct feed_bounds){
        LOOP_NOTES_TENANT, LOOP_NOTES_PLATFORM, LOOP_NOTES_MS });
    if (options->ids_fixed)
        loop->ids.key = (struct hash_key){ options->seed, ~options->seed };
    else
        random_bytes(&loop->ids.key, sizeof(loop->ids.key));
    return loop;
}

static void
start_clock(struct loop *loop, const struct load *load)
{
    wallclock_start(&loop->clock, loop->options.jump_ms, load->clock_ms,
                    load->clock_mono_ms, loop_wall_ms(loop),
                    loop_mono_ms(loop));
    atomic_store(&loop->now_ms, loop->clock.now_ms);
    atomic_store(&loop->held_ms, loop->clock.held_ms);
}

static void
start_feed(struct loop *loop)
{
    struct ref platform = world_platform_ref(loop->world);

    feed_start(loop->feed, platform, world_revision(loop->world, platform));
    world_each(loop->world, KIND_TENANT, tenant)
        feed_start(loop->feed, tenant, world_revision(loop->world, tenant));
}

static int
load_all(struct loop *loop, struct error *err)
{
    struct store_reader *reader;
    struct load load = { .now_ms = loop_wall_ms(loop) };
    struct hash_key key;
    int rc;

    random_bytes(&key, sizeof(key));
    loop->world = world_new(&key);
    loop->journal = journal_new();
    load.world = loop->world;
    load.journal = loop->journal;
    if (loop_reader(loop, &reader, err) != 0)
        return -1;
    rc = load_world(&load, reader, err);
    store_reader_close(reader);
    if (rc != 0)
        return error_prefix(err, "load");
    loop->restored = load.restored;
    memcpy(loop->source, load.source, sizeof(loop->source));
    start_clock(loop, &load);
    memcpy(loop->deleted, load.deleted, sizeof(loop->deleted));
    start_feed(loop);
    return 0;
}

static void
start_threads(struct loop *loop, const struct store_position *position)
{
    struct committer_options committer = { .store = loop->store,
                                           .position = *position,
                                           .finish = finish_batches,
                                           .data = loop };
    struct crew_options readers = { .threads = loop->options.readers,
                                    .open = open_reader,
                                    .close = close_reader,
                                    .work = read_history,
                                    .data = loop };
    struct crew_options workers = { .threads = loop->options.workers,
                                    .jobs_max = loop->options.work_max,
                                    .work = do_work,
                                    .data = loop };

    loop->epoch = position->epoch;
    loop->committer = committer_new(&committer);
    loop->readers = crew_new(&readers);
    loop->workers = crew_new(&workers);
}

int
loop_open(const struct loop_options *options, struct loop **loop_out,
          struct error *err)
{
    struct loop *loop = loop_new(options);
    struct store_position position = { 0 };

    if (store_open(options->ops, options->where, &loop->store, err) != 0 ||
        store_position(loop->store, &position, err) != 0 ||
        load_all(loop, err) != 0) {
        loop_close(loop);
        return -1;
    }
    start_threads(loop, &position);
    *loop_out = loop;
    return 0;
}

int
loop_start(struct loop *loop, struct error *err)
{
    int rc;

    /* The servers ask already whether it is there. */
    (void)pthread_mutex_lock(&loop->lock);
    rc = pthread_create(&loop->thread, NULL, world_thread, loop);
    loop->threaded = rc == 0;
    (void)pthread_mutex_unlock(&loop->lock);
    if (rc != 0)
        return error_set(err, ERROR_INTERNAL, "thread: errno %d", rc);
    return 0;
}

void
loop_stop(struct loop *loop)
{
    (void)pthread_mutex_lock(&loop->lock);
    loop->stopping = true;
    (void)pthread_cond_broadcast(&loop->wake);
    while (loop->in_flight > 0 && !loop->failed && loop->threaded)
        (void)pthread_cond_wait(&loop->idle, &loop->lock);
    (void)pthread_cond_broadcast(&loop->wake);
    (void)pthread_mutex_unlock(&loop->lock);
    if (loop->threaded)
        (void)pthread_join(loop->thread, NULL);
    (void)pthread_mutex_lock(&loop->lock);
    loop->threaded = false;
    (void)pthread_mutex_unlock(&loop->lock);
    refuse_queued(loop);
    /* The committer hands jobs to the crews: it ends before them. */
    committer_free(loop->committer);
    crew_free(loop->workers);
    crew_free(loop->readers);
    loop->committer = NULL;
    loop->workers = loop->readers = NULL;
}

void
loop_close(struct loop *loop)
{
    if (loop == NULL)
        return;
    loop_stop(loop);
    store_close(loop->store);
    journal_free(loop->journal);
    feed_free(loop->feed);
    world_free(loop->world);
    (void)pthread_cond_destroy(&loop->wake);
    (void)pthread_cond_destroy(&loop->idle);
    (void)pthread_mutex_destroy(&loop->lock);
    free(loop->uses.list);
    free(loop->where);
    free(loop);
}

bool
loop_restored(const struct loop *loop, const char **source_out)
{
    *source_out = loop->source[0] != '\0' ? loop->source : NULL;
    return loop->restored;
}

int
loop_reader(const struct loop *loop, struct store_reader **reader_out,
            struct error *err)
{
    return store_reader_open(loop->options.ops, loop->where, reader_out, err);
}
