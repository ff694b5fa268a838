/* SPDX-License-Identifier: Apache-2.0 */
#include "core/queue_private.h"

/*
 * Who is passed over?  The judged groups that wait for what others can take
 * lie in a heap by arrival.  A right that got worse is found when its group is
 * on top; what makes it better wakes the group, which takes it out.
 */

bool
queue_arrived_before(const struct queue_entry *a, const struct queue_entry *b)
{
    struct queue_entry left = *a, right = *b;

    left.share = right.share = (struct share_path){ { 0 } };
    return queue_before(&left, &right);
}

static bool
front_before(const struct queue *queue, uint32_t a, uint32_t b)
{
    return queue_arrived_before(&queue->groups[a]->entry,
                                &queue->groups[b]->entry);
}

static void
front_put(struct queue *queue, size_t at, uint32_t group)
{
    queue->front[at] = group;
    queue->groups[group]->front = (uint32_t)at;
}

static void
front_sift(struct queue *queue, size_t at, uint32_t group)
{
    while (at > 0 && front_before(queue, group, queue->front[(at - 1) / 2])) {
        front_put(queue, at, queue->front[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    for (;;) {
        size_t child = 2 * at + 1;

        if (child >= queue->front_count)
            break;
        if (child + 1 < queue->front_count &&
            front_before(queue, queue->front[child + 1], queue->front[child]))
            child++;
        if (!front_before(queue, queue->front[child], group))
            break;
        front_put(queue, at, queue->front[child]);
        at = child;
    }
    front_put(queue, at, group);
}

void
queue_front_add(struct queue *queue, uint32_t number)
{
    queue->front = queue_grow(queue, queue->front, &queue->front_room,
                              queue->front_count + 1, sizeof(*queue->front));
    front_sift(queue, queue->front_count++, number);
}

void
queue_front_take(struct queue *queue, struct group *group)
{
    size_t at = group->front;
    uint32_t last;

    if (group->front == QUEUE_NONE)
        return;
    group->front = QUEUE_NONE;
    last = queue->front[--queue->front_count];
    if (at < queue->front_count)
        front_sift(queue, at, last);
}

/* The first one as things are now, taken out; QUEUE_NONE when there is none. */
static uint32_t
front_pop(struct queue *queue, struct estate *estate)
{
    while (queue->front_count > 0) {
        uint32_t number = queue->front[0];
        struct group *group = queue->groups[number];
        struct queue_entry before = group->entry;

        queue_refresh(queue, estate, group);
        if (!queue_arrived_before(&before, &group->entry)) {
            queue_front_take(queue, group);
            return number;
        }
        front_sift(queue, 0, number);
    }
    return QUEUE_NONE;
}

size_t
queue_passed(struct queue *queue, struct estate *estate,
             const struct group *group, struct ref list[QUEUE_PASSED_MAX])
{
    uint32_t first[QUEUE_PASSED_MAX];
    size_t found = 0, count = 0;

    while (found < QUEUE_PASSED_MAX &&
           (first[found] = front_pop(queue, estate)) != QUEUE_NONE)
        found++;
    for (size_t i = 0; i < found; i++) {
        const struct group *at = queue->groups[first[i]];

        if (queue_before(&at->entry, &group->entry))
            list[count++] = at->entry.workload;
        queue_front_add(queue, first[i]);
    }
    return count;
}
