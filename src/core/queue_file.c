/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <string.h>

#include "core/lifecycle.h"
#include "core/manifest.h"
#include "core/queue_private.h"

/* Which group a waiting workload belongs to, and when time ends something. */

/* Finished work stays in memory that long; then it is history. */
#define KEEP_MS (24 * INT64_C(3600000))

static const struct hash_key any_key = { 0, 0 }; /* no order depends on it */

/* --- members of a group --- */

static bool
member_before(const struct queue *queue, uint32_t a, uint32_t b)
{
    const struct member *left = queue_member_at(queue, a);
    const struct member *right = queue_member_at(queue, b);

    return left->submitted_ms != right->submitted_ms
               ? left->submitted_ms < right->submitted_ms
               : left->seq < right->seq;
}

static void
member_put(struct queue *queue, struct group *group, size_t at, uint32_t index)
{
    struct member *member = queue_member_at(queue, index);
    bool exact = member->at < QUEUE_EXACT;

    group->members[at] = index;
    member->at = (uint32_t)at;
    if (at < QUEUE_EXACT && !exact && group->judged)
        queue_tell(queue, index);
}

static void
member_sift(struct queue *queue, struct group *group, size_t at,
            uint32_t index)
{
    while (at > 0 &&
           member_before(queue, index, group->members[(at - 1) / 2])) {
        member_put(queue, group, at, group->members[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    for (;;) {
        size_t child = 2 * at + 1;

        if (child >= group->count)
            break;
        if (child + 1 < group->count &&
            member_before(queue, group->members[child + 1],
                          group->members[child]))
            child++;
        if (!member_before(queue, group->members[child], index))
            break;
        member_put(queue, group, at, group->members[child]);
        at = child;
    }
    member_put(queue, group, at, index);
}

/* --- groups --- */

static void
key_of(const struct world *world, const struct workload *workload,
       struct group_key *key)
{
    struct ref self = workload->object.self, volume;
    struct spread spread;

    memset(key, 0, sizeof(*key));
    key->project = workload->object.parent;
    key->user = workload->user;
    (void)alternative_list(world, workload, key->classes);
    key->pool = workload->pool;
    key->priority = workload->priority;
    key->instances = workload->instances;
    key->cpu_milli = workload->cpu_milli;
    key->memory_mib = workload->memory_mib;
    key->max_run_ms = workload->max_run_ms;
    key->preemptible = workload->preemptible;
    key->kind = workload->kind;
    key->grace_ms = workload->grace_ms;
    key->level = manifest_topology(workload->spec);
    spread = manifest_spread(workload->spec);
    key->spread = ((int64_t)spread.level * 2 + spread.required) * 65536 +
                  spread.most;
    key->needs = require_digest(world, workload);
    if (manifest_volumes(world, workload->spec, &volume, 1) > 0 ||
        workload->recoveries > 0 ||
        workload->replacing_ms != 0 ||
        !ref_is_none(world_first_child(world, KIND_HOLD, self)) ||
        booking_has(world, self))
        key->alone = self;
}

static void
tenant_link(struct queue *queue, struct group *group, uint32_t number)
{
    uint32_t *first = &queue_tenant(queue, group->tenant)->first;

    group->next = *first;
    group->previous = QUEUE_NONE;
    if (*first != QUEUE_NONE)
        queue->groups[*first]->previous = number;
    *first = number;
}

static void
tenant_unlink(struct queue *queue, const struct group *group, uint32_t number)
{
    if (group->previous != QUEUE_NONE)
        queue->groups[group->previous]->next = group->next;
    else
        queue->of_tenant[group->tenant.index].first = group->next;
    if (queue->round.next == number)
        queue->round.next = group->next;
    if (group->next != QUEUE_NONE)
        queue->groups[group->next]->previous = group->previous;
}

static uint32_t
group_begin(struct queue *queue, const struct group_key *key,
            struct ref tenant)
{
    struct group *group;
    uint32_t number;

    if (queue->free_groups.count > 0) {
        number = queue_bag_take(&queue->free_groups);
    } else {
        number = (uint32_t)queue->group_count++;
        queue->groups = queue_grow(queue, queue->groups, &queue->group_room,
                             queue->group_count, sizeof(*queue->groups));
        queue->groups[number] =
            arena_alloc(queue->arena, sizeof(**queue->groups));
    }
    group = queue->groups[number];
    *group = (struct group){ .key = *key,
                             .tenant = tenant,
                             .members = group->members,
                             .room = group->room,
                             .watches = group->watches,
                             .watch_room = group->watch_room,
                             .told = 1,
                             .front = QUEUE_NONE,
                             .ready = QUEUE_NONE };
    tenant_link(queue, group, number);
    queue->live_count++;
    table_put(&queue->index, &any_key, key, sizeof(*key))->number =
        (size_t)number + 1;
    return number;
}

static void
group_end(struct queue *queue, uint32_t number)
{
    struct group *group = queue->groups[number];

    queue_unready(queue, group);
    queue_unwatch(queue, group);
    queue_front_take(queue, group);
    tenant_unlink(queue, group, number);
    table_remove(&queue->index, table_find(&queue->index, &any_key,
                                           &group->key, sizeof(group->key)));
    queue->abroad -= group->outlook.abroad;
    queue->rivals -= group->outlook.rivals;
    queue->eager -= group->outlook.change;
    group->outlook = (struct outlook){ 0 };
    queue->live_count--;
    queue_bag_add(queue, &queue->free_groups, number);
}

static void
leave(struct queue *queue, struct member *member)
{
    struct group *group = queue->groups[member->group];
    size_t at = member->at;
    uint32_t last = group->members[--group->count];

    if (at < group->count)
        member_sift(queue, group, at, last);
    if (group->count == 0)
        group_end(queue, member->group);
    else if (group->ready != QUEUE_NONE || at == 0)
        queue_bag_add(queue, &queue->rouse, member->group);
    member->group = QUEUE_NONE;
    member->book_ms = 0;
    queue->waiting--;
}

static void
join(struct queue *queue, struct member *member, uint32_t index,
     const struct group_key *key, struct ref tenant)
{
    const struct table_entry *entry =
        table_find(&queue->index, &any_key, key, sizeof(*key));
    uint32_t number = entry != NULL ? (uint32_t)entry->number - 1
                                    : group_begin(queue, key, tenant);
    struct group *group = queue->groups[number];

    member->group = number;
    member->told = 0;
    group->members = queue_grow(queue, group->members, &group->room,
                          group->count + 1, sizeof(*group->members));
    member_sift(queue, group, group->count++, index);
    queue->waiting++;
    if (group->judged)
        queue_bag_add(queue, &queue->late, index);
    else
        queue_bag_add(queue, &queue->rouse, number);
}

/* --- deadlines --- */

bool
queue_is_history(const struct world *world, const struct workload *workload)
{
    if (!lifecycle_is_over(workload->state))
        return false;
    world_each_child(world, KIND_INSTANCE, workload->object.self, ref)
        if (world_instance(world, ref)->state != INSTANCE_RELEASED)
            return false;
    return true;
}

int64_t
queue_deadline(const struct world *world, const struct workload *workload)
{
    const struct hold *hold = world_hold(
        world,
        world_first_child(world, KIND_HOLD, workload->object.self));

    if (hold != NULL)
        return hold->expires_ms;
    if ((workload->state == WORKLOAD_RUNNING ||
         workload->state == WORKLOAD_STARTING) &&
        workload->max_run_ms > 0 && workload->started_ms > 0)
        return workload->started_ms + workload->max_run_ms;
    if (queue_is_history(world, workload))
        return workload->ended_ms + KEEP_MS;
    return 0;
}

/* Is a card held that nobody has any more, in the other mode? */
static bool
wants_cut(const struct world *world, struct ref workload)
{
    world_each_child(world, KIND_HOLD, workload, ref) {
        const struct hold *hold = world_hold(world, ref);
        const struct card *card = world_card(world, hold->card);

        if (card != NULL && card->used_milli == 0 &&
            card->handover != HANDOVER_FAILED &&
            card->sliced != (hold->slice[0] != '\0'))
            return true;
    }
    return false;
}

bool
queue_is_overdue(const struct world *world, const struct workload *workload,
                 int64_t now_ms)
{
    int64_t deadline_ms =
        workload != NULL ? queue_deadline(world, workload) : 0;

    return deadline_ms != 0 &&
           (deadline_ms <= now_ms || wants_cut(world, workload->object.self));
}

static void
remind(struct queue *queue, struct member *member, struct ref ref,
       int64_t due_ms)
{
    /* What is over already is looked at as soon as it was filed. */
    if (due_ms <= queue->now_ms ||
        (member->due_ms != 0 && member->due_ms <= due_ms))
        return;
    member->due_ms = due_ms;
    due_add(&queue->due, due_ms, ref);
}

void
queue_add_overdue(struct queue *queue, struct ref ref)
{
    due_add(&queue->overdue, (int64_t)world_object(queue->world, ref)->seq,
            ref);
}

/* --- filing --- */

/* A start is booked for the first of its group when it is time.  Once it was
 * considered, the outlook says when it is again. */
static void
check_booking(struct queue *queue, struct member *member,
              const struct workload *workload)
{
    struct ref self = workload->object.self;
    int64_t book_ms = booking_has(queue->world, self)
                          ? booking_recall_ms(queue->world, self)
                          : booking_due_ms(queue->world, workload);

    if (book_ms > queue->now_ms) {
        member->book_ms = 0;
        if (book_ms < INT64_MAX)
            remind(queue, member, self, book_ms);
        return;
    }
    if (member->at != 0 || member->book_ms == book_ms + 1)
        return;
    member->book_ms = book_ms + 1;
    queue_bag_add(queue, &queue->rouse, member->group);
}

/* Others say why it waits too: at its next turn it is told again.  What
 * nominated work waits for was said when it was nominated. */
static void
check_told(struct queue *queue, struct member *member,
           const struct workload *workload)
{
    const struct group *group = queue->groups[member->group];

    if (!group->judged ||
        !(member->at < QUEUE_EXACT
              ? reason_differs(workload, &group->verdict)
              : reason_is_other(workload, &group->verdict)))
        return;
    if (group->outlook.held)
        queue_bag_add(queue, &queue->rouse, member->group);
    else
        queue_tell(queue, workload->object.self.index);
}

void
queue_file(struct queue *queue, uint32_t index)
{
    struct ref ref = { KIND_WORKLOAD, index };
    const struct workload *workload = world_workload(queue->world, ref);
    struct member *member = queue_member(queue, index);
    struct group_key key;
    bool waits;

    if (member->seq != 0 &&
        (workload == NULL || workload->object.seq != member->seq)) {
        if (member->group != QUEUE_NONE)
            leave(queue, member);
        *member = (struct member){ .group = QUEUE_NONE };
    }
    if (workload == NULL)
        return;
    member->seq = workload->object.seq;
    waits = workload->state == WORKLOAD_GATED ||
            workload->state == WORKLOAD_QUEUED;
    if (waits && workload->next_try_ms > queue->now_ms) {
        remind(queue, member, ref, workload->next_try_ms);
        waits = false;
    }
    remind(queue, member, ref, queue_deadline(queue->world, workload));
    if (waits)
        key_of(queue->world, workload, &key);
    if (member->group != QUEUE_NONE &&
        (!waits ||
         memcmp(&key, &queue->groups[member->group]->key, sizeof(key)) != 0 ||
         member->submitted_ms != workload->submitted_ms))
        leave(queue, member);
    member->submitted_ms = workload->submitted_ms;
    if (waits && member->group != QUEUE_NONE)
        check_told(queue, member, workload);
    if (waits && member->group == QUEUE_NONE)
        join(queue, member, index, &key, workload->object.scope);
    if (waits)
        check_booking(queue, member, workload);
}

