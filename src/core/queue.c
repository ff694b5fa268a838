/* SPDX-License-Identifier: Apache-2.0 */
#include "core/queue.h"

#include <assert.h>

#include "core/gate.h"

bool
queue_before(const struct queue_entry *a, const struct queue_entry *b)
{
    if (a->right != b->right)
        return a->right < b->right;
    if (a->priority != b->priority)
        return a->priority > b->priority;
    if (a->submitted_ms != b->submitted_ms)
        return a->submitted_ms < b->submitted_ms;
    return a->seq < b->seq;
}

/* The best right in any pool; the memory of cards does not matter much here
 * and is left out. */
int64_t
queue_right(const struct estate *estate, const struct workload *workload)
{
    const struct world *world = estate->world;
    enum quota_right best = RIGHT_BURST;
    struct ref pools[GATE_POOLS_MAX];
    size_t count;

    if (world_class(world, workload->class) == NULL)
        return RIGHT_BURST;
    count = gate_pools(world, workload, pools, GATE_POOLS_MAX);
    for (size_t i = 0; i < count && best != RIGHT_FULL; i++) {
        struct demand demand;
        enum quota_right right;

        quota_demand(world, workload, pools[i], 0, &demand);
        demand.now_ms = estate->now_ms;
        right = quota_right(world, &demand, &estate->promised);
        if (right < best)
            best = right;
    }
    return (int64_t)best;
}

struct queue_entry
queue_entry(struct estate *estate, struct ref ref)
{
    const struct workload *workload = world_workload(estate->world, ref);
    const struct priority *priority =
        world_priority(estate->world, workload->priority);
    struct queue_entry entry = {
        .workload = ref,
        .priority = priority != NULL ? priority->value : 0,
        .submitted_ms = workload->submitted_ms,
        .seq = workload->object.seq,
    };

    /* What is promised to itself does not stand in its way. */
    estate_own(estate, ref, true);
    entry.right = queue_right(estate, workload);
    estate_own(estate, ref, false);
    return entry;
}

static void
swap(struct queue *queue, size_t a, size_t b)
{
    struct queue_entry entry = queue->heap[a];

    queue->heap[a] = queue->heap[b];
    queue->heap[b] = entry;
}

static void
sift_up(struct queue *queue, size_t at)
{
    while (at > 0 &&
           queue_before(&queue->heap[at], &queue->heap[(at - 1) / 2])) {
        swap(queue, at, (at - 1) / 2);
        at = (at - 1) / 2;
    }
}

static void
sift_down(struct queue *queue, size_t at)
{
    for (;;) {
        size_t first = at, left = 2 * at + 1;

        for (size_t child = left; child < left + 2 && child < queue->count;
             child++)
            if (queue_before(&queue->heap[child], &queue->heap[first]))
                first = child;
        if (first == at)
            return;
        swap(queue, at, first);
        at = first;
    }
}

void
queue_init(struct queue *queue, struct estate *estate, struct arena *arena)
{
    const struct world *world = estate->world;

    queue->count = 0;
    queue->room = 0;
    world_each(world, KIND_WORKLOAD, ref) {
        int state = world_workload(world, ref)->state;

        queue->room += state == WORKLOAD_GATED || state == WORKLOAD_QUEUED;
    }
    queue->heap =
        arena_alloc(arena, queue->room * sizeof(*queue->heap));
    world_each(world, KIND_WORKLOAD, ref) {
        int state = world_workload(world, ref)->state;

        if (state == WORKLOAD_GATED || state == WORKLOAD_QUEUED)
            queue->heap[queue->count++] = queue_entry(estate, ref);
    }
    for (size_t i = queue->count / 2; i > 0; i--)
        sift_down(queue, i - 1);
}

struct ref
queue_take(struct queue *queue, struct estate *estate)
{
    while (queue->count > 0) {
        struct queue_entry *head = &queue->heap[0];
        struct queue_entry now = queue_entry(estate, head->workload);
        struct ref workload = head->workload;

        if (now.right > head->right) {
            head->right = now.right;
            sift_down(queue, 0);
            continue;
        }
        queue->heap[0] = queue->heap[--queue->count];
        sift_down(queue, 0);
        return workload;
    }
    return (struct ref){ 0 };
}

void
queue_return(struct queue *queue, struct estate *estate, struct ref workload)
{
    assert(queue->count < queue->room);
    queue->heap[queue->count] = queue_entry(estate, workload);
    sift_up(queue, queue->count++);
}
