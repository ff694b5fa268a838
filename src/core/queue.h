/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_QUEUE_H
#define CORE_QUEUE_H

#include "core/estate.h"

/*
 * Who is looked at next?  Order: within guarantee before burst, priority,
 * time of submission, sequence number.  While a pass runs, use only grows, so
 * a right can only get worse: it is looked up again when a workload comes up,
 * and it goes back into the queue when others are before it by then.
 */

struct queue_entry {
    struct ref workload;
    int64_t right; /* enum quota_right, larger is later */
    int64_t priority;
    int64_t submitted_ms;
    uint64_t seq;
};

struct queue {
    struct queue_entry *heap;
    size_t count, room;
};

/* All workloads that wait to start, nominated ones included; held ones are
 * not in it. */
void queue_init(struct queue *queue, struct estate *estate,
                struct arena *arena);
/* The next one; none when the queue is empty. */
struct ref queue_take(struct queue *queue, struct estate *estate);
/* Puts one back that was taken but not decided. */
void queue_return(struct queue *queue, struct estate *estate,
                  struct ref workload);
/* The right of a waiting workload in its best pool (enum quota_right). */
int64_t queue_right(const struct estate *estate,
                    const struct workload *workload);
/* Does a go before b? */
bool queue_before(const struct queue_entry *a, const struct queue_entry *b);
/* The entry of a waiting workload, for rank and explanation. */
struct queue_entry queue_entry(struct estate *estate, struct ref ref);

#endif
