/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_COMMIT_H
#define CONTROL_COMMIT_H

#include "control/loop.h"

/*
 * When is a job's change durable?  The committer thread takes all batches
 * that wait, writes them in one transaction, and hands them back in order.
 * While more are about to come it waits for them, for half as long as the
 * last transaction took: many clients share one disk write, and a single one
 * never waits.
 * After the first failure it writes nothing any more and hands every batch
 * back as failed.
 */

/* Something that a batch changed: for digests in the audit record. */
struct touch {
    struct ref scope;
    enum kind kind;
    const char *id;
    int64_t version;
    const struct value *values; /* as stored; NULL: deleted or evicted */
};

/* What one job wants written. */
struct batch {
    struct batch *next;
    struct arena *arena; /* owns all that follows */
    struct store_row *rows;
    size_t row_count, row_room;
    struct store_counter *counters;
    size_t counter_count, counter_room;
    struct note *notes;
    size_t note_count, note_room;
    struct touch *touches;
    size_t touch_count, touch_room;
    struct job *job; /* NULL: nobody waits */
};

struct batch *batch_new(void);
void batch_free(struct batch *batch);
void batch_row(struct batch *batch, const struct store_row *row);
void batch_note(struct batch *batch, const struct note *note);
void batch_touch(struct batch *batch, const struct touch *touch);
/* Copies name and bytes. */
void batch_counter(struct batch *batch, const char *name, int64_t value,
                   const void *bytes, size_t size);

struct committer;

struct committer_options {
    struct store *store; /* its thread's from now on */
    struct store_position position;
    /* On the committer thread; takes over the batches. err is NULL when they
     * are durable. */
    void (*finish)(void *data, struct batch *batches,
                   const struct error *err);
    void *data;
    int64_t hold_us; /* the longest wait for more; 0: 2000 */
};

struct commit_stats {
    uint64_t commits, rows;
    int64_t us_last, us_max;
};

struct committer *committer_new(const struct committer_options *options);
/* Finishes what was pushed, ends the thread. NULL is nothing. */
void committer_free(struct committer *committer);
/* follows: another batch is about to be pushed. */
void committer_push(struct committer *committer, struct batch *batch,
                    bool follows);
/* Is all durable that was ever pushed? */
bool committer_is_idle(struct committer *committer);
void committer_stats(struct committer *committer, struct commit_stats *out);

#endif
