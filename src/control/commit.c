/* SPDX-License-Identifier: Apache-2.0 */
#include "control/commit.h"

#include <assert.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/crash.h"

/* The longest that a batch waits for others, us. */
#define HOLD_US 2000

struct committer {
    struct committer_options options;
    pthread_t thread;
    pthread_mutex_t lock; /* for what follows up to stats */
    pthread_cond_t wake;
    struct batch *first, *last;
    int64_t first_us; /* when `first` came */
    bool more;        /* others are about to come */
    bool writing;     /* taken, and not finished yet */
    bool stopping;
    struct commit_stats stats;
    /* the thread's own */
    bool failed;
    struct error error;
    struct store_row *rows;
    size_t row_room;
    struct store_counter *counters;
    size_t counter_room;
};

struct batch *
batch_new(void)
{
    struct batch *batch = memory_new(1, sizeof(*batch));

    batch->arena = arena_new();
    return batch;
}

void
batch_free(struct batch *batch)
{
    if (batch == NULL)
        return;
    arena_free(batch->arena);
    free(batch);
}

/* A list in the batch's arena with room for one more element. */
static void *
more(struct batch *batch, void *list, size_t count, size_t *room, size_t size)
{
    void *grown;

    if (count < *room)
        return list;
    *room = *room * 2 + 8;
    grown = arena_alloc(batch->arena, *room * size);
    if (count > 0)
        memcpy(grown, list, count * size);
    return grown;
}

void
batch_row(struct batch *batch, const struct store_row *row)
{
    batch->rows = more(batch, batch->rows, batch->row_count,
                       &batch->row_room, sizeof(*batch->rows));
    batch->rows[batch->row_count++] = *row;
}

void
batch_note(struct batch *batch, const struct note *note)
{
    batch->notes = more(batch, batch->notes, batch->note_count,
                        &batch->note_room, sizeof(*batch->notes));
    batch->notes[batch->note_count++] = *note;
}

void
batch_touch(struct batch *batch, const struct touch *touch)
{
    batch->touches = more(batch, batch->touches, batch->touch_count,
                          &batch->touch_room, sizeof(*batch->touches));
    batch->touches[batch->touch_count++] = *touch;
}

void
batch_counter(struct batch *batch, const char *name, int64_t value,
              const void *bytes, size_t size)
{
    struct store_counter *counter;
    void *copy = NULL;

    if (bytes != NULL) {
        copy = arena_alloc(batch->arena, size + 1);
        memcpy(copy, bytes, size);
    }
    batch->counters = more(batch, batch->counters, batch->counter_count,
                           &batch->counter_room, sizeof(*batch->counters));
    counter = &batch->counters[batch->counter_count++];
    counter->name = arena_strdup(batch->arena, name);
    counter->value = value;
    counter->bytes = copy;
    counter->size = size;
}

static size_t
gather_rows(struct committer *committer, const struct batch *batches)
{
    size_t count = 0;

    for (const struct batch *at = batches; at != NULL; at = at->next) {
        if (at->row_count == 0)
            continue;
        if (count + at->row_count > committer->row_room) {
            committer->row_room = (count + at->row_count) * 2;
            committer->rows =
                memory_grow(committer->rows, committer->row_room,
                            sizeof(*committer->rows));
        }
        memcpy(&committer->rows[count], at->rows,
               at->row_count * sizeof(*at->rows));
        count += at->row_count;
    }
    return count;
}

struct ranked {
    struct store_counter counter;
    size_t rank;
};

static int
compare_ranked(const void *a, const void *b)
{
    const struct ranked *one = a, *two = b;
    int order = strcmp(one->counter.name, two->counter.name);

    if (order != 0)
        return order;
    return one->rank < two->rank ? -1 : 1;
}

/* Of each name the last value alone: many jobs raise the same counters. */
static size_t
keep_last(struct committer *committer, struct ranked *list, size_t count)
{
    size_t kept = 0;

    qsort(list, count, sizeof(*list), compare_ranked);
    for (size_t i = 0; i < count; i++)
        if (i + 1 == count ||
            strcmp(list[i].counter.name, list[i + 1].counter.name) != 0)
            committer->counters[kept++] = list[i].counter;
    return kept;
}

static size_t
gather_counters(struct committer *committer, const struct batch *batches)
{
    size_t count = 0, at = 0, kept;
    struct ranked *list;

    for (const struct batch *batch = batches; batch; batch = batch->next)
        count += batch->counter_count;
    if (count == 0)
        return 0;
    if (count > committer->counter_room) {
        committer->counter_room = count * 2;
        committer->counters =
            memory_grow(committer->counters, committer->counter_room,
                        sizeof(*committer->counters));
    }
    list = memory_new(count, sizeof(*list));
    for (const struct batch *batch = batches; batch; batch = batch->next)
        for (size_t i = 0; i < batch->counter_count; i++, at++) {
            list[at].counter = batch->counters[i];
            list[at].rank = at;
        }
    kept = keep_last(committer, list, count);
    free(list);
    return kept;
}

static void
count_commit(struct committer *committer, size_t rows, int64_t us)
{
    (void)pthread_mutex_lock(&committer->lock);
    committer->stats.commits++;
    committer->stats.rows += rows;
    committer->stats.us_last = us;
    if (us > committer->stats.us_max)
        committer->stats.us_max = us;
    (void)pthread_mutex_unlock(&committer->lock);
}

static void
write_batches(struct committer *committer, const struct batch *batches)
{
    struct store_position *position = &committer->options.position;
    size_t rows = gather_rows(committer, batches);
    size_t counters = gather_counters(committer, batches);
    int64_t start_us = clock_mono_us();

    if (rows == 0 && counters == 0)
        return;
    CRASH_POINT("bulkheadd.committing");
    if (store_commit(committer->options.store, position->epoch,
                     position->revision, committer->rows, rows,
                     committer->counters, counters, &committer->error) != 0) {
        committer->failed = true;
        return;
    }
    CRASH_POINT("bulkheadd.committed");
    position->revision++;
    count_commit(committer, rows, clock_mono_us() - start_us);
}

/* How long the first batch may still wait for others, us. */
static int64_t
hold_left(const struct committer *committer)
{
    int64_t hold_us = committer->options.hold_us;

    if (!committer->more || committer->stopping)
        return 0;
    if (committer->stats.commits > 0 && committer->stats.us_last / 2 < hold_us)
        hold_us = committer->stats.us_last / 2;
    return committer->first_us + hold_us - clock_mono_us();
}

static void
wait_us(struct committer *committer, int64_t us)
{
    struct timespec until;

    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += (long)(us % 1000000) * 1000;
    until.tv_sec += (time_t)(us / 1000000) + until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    (void)pthread_cond_timedwait(&committer->wake, &committer->lock, &until);
}

/* All that waits; NULL when the committer ends. */
static struct batch *
take_all(struct committer *committer)
{
    struct batch *batches;
    int64_t us;

    (void)pthread_mutex_lock(&committer->lock);
    committer->writing = false;
    while (committer->first == NULL && !committer->stopping)
        (void)pthread_cond_wait(&committer->wake, &committer->lock);
    while (committer->first != NULL && (us = hold_left(committer)) > 0)
        wait_us(committer, us);
    batches = committer->first;
    committer->first = committer->last = NULL;
    committer->writing = batches != NULL;
    (void)pthread_mutex_unlock(&committer->lock);
    return batches;
}

static void *
commit_loop(void *argument)
{
    struct committer *committer = argument;
    struct batch *batches;

    while ((batches = take_all(committer)) != NULL) {
        if (!committer->failed)
            write_batches(committer, batches);
        committer->options.finish(committer->options.data, batches,
                                  committer->failed ? &committer->error
                                                    : NULL);
    }
    return NULL;
}

struct committer *
committer_new(const struct committer_options *options)
{
    struct committer *committer = memory_new(1, sizeof(*committer));
    pthread_condattr_t attributes;
    int rc;

    committer->options = *options;
    if (committer->options.hold_us == 0)
        committer->options.hold_us = HOLD_US;
    (void)pthread_mutex_init(&committer->lock, NULL);
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&committer->wake, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    rc = pthread_create(&committer->thread, NULL, commit_loop, committer);
    assert(rc == 0);
    return committer;
}

void
committer_free(struct committer *committer)
{
    if (committer == NULL)
        return;
    (void)pthread_mutex_lock(&committer->lock);
    committer->stopping = true;
    (void)pthread_cond_signal(&committer->wake);
    (void)pthread_mutex_unlock(&committer->lock);
    (void)pthread_join(committer->thread, NULL);
    (void)pthread_cond_destroy(&committer->wake);
    (void)pthread_mutex_destroy(&committer->lock);
    free(committer->rows);
    free(committer->counters);
    free(committer);
}

void
committer_push(struct committer *committer, struct batch *batch, bool follows)
{
    bool was_empty;

    batch->next = NULL;
    (void)pthread_mutex_lock(&committer->lock);
    was_empty = committer->last == NULL;
    if (was_empty) {
        committer->first = batch;
        committer->first_us = clock_mono_us();
    } else {
        committer->last->next = batch;
    }
    committer->last = batch;
    committer->more = follows;
    if (was_empty || !follows)
        (void)pthread_cond_signal(&committer->wake);
    (void)pthread_mutex_unlock(&committer->lock);
}

bool
committer_is_idle(struct committer *committer)
{
    bool idle;

    (void)pthread_mutex_lock(&committer->lock);
    idle = committer->first == NULL && !committer->writing &&
           !committer->failed;
    (void)pthread_mutex_unlock(&committer->lock);
    return idle;
}

void
committer_stats(struct committer *committer, struct commit_stats *out)
{
    (void)pthread_mutex_lock(&committer->lock);
    *out = committer->stats;
    (void)pthread_mutex_unlock(&committer->lock);
}
