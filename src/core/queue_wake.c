/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/queue_private.h"

/* Whom does an event concern? */

static void
mark(struct queue *queue, struct ref workload)
{
    if (workload.kind == KIND_WORKLOAD && workload.index != 0)
        queue_bag_add(queue, &queue->marked, workload.index);
}

/* Those for whom a card is kept may have it cut, once nobody is on it. */
static void
mark_holders(struct queue *queue, struct ref card)
{
    world_each_index(queue->world, KIND_HOLD, 0, card, ref)
        mark(queue, world_parent(queue->world, ref));
}

static void
mark_all(struct queue *queue)
{
    queue->all++;
    queue->all_better = true;
}

/* Something was set anew in a tenant, or in the platform for all. */
static void
mark_scope(struct queue *queue, struct ref scope)
{
    if (scope.kind == KIND_TENANT)
        queue_bag_add(queue, &queue->tenants, scope.index);
    else
        mark_all(queue);
}

/* A booking that is gone still tells its card. */
static void
mark_booking(struct queue *queue, const struct trail_step *step)
{
    const struct world *world = queue->world;
    const struct booking *booking = world_booking(world, step->ref);
    struct booking gone = { .card = step->target };
    uint64_t pools =
        booking_pools(world, booking != NULL ? booking : &gone);

    mark(queue, step->parent);
    if (pools == 0 || booking_concerns_all(world)) {
        mark_all(queue);
        return;
    }
    queue->booked_pools |= pools;
    if (step->scope.kind == KIND_TENANT)
        queue_bag_add(queue, &queue->tenants, step->scope.index);
}

void
queue_note(struct queue *queue, const struct trail_step *step)
{
    switch (step->ref.kind) {
    case KIND_WORKLOAD:
        mark(queue, step->ref);
        break;
    case KIND_INSTANCE:
    case KIND_HOLD:
        mark(queue, step->parent);
        break;
    case KIND_BINDING:
        mark_holders(queue, step->target);
        queue_bag_add(queue, &queue->metered, step->scope.index);
        break;
    case KIND_CARD:
        mark_holders(queue, step->ref);
        if (step->op != TRAIL_CHANGED)
            mark_all(queue);
        break;
    case KIND_NODE:
        if (step->op != TRAIL_CHANGED)
            mark_all(queue);
        break;
    case KIND_RESERVATION:
        mark_all(queue);
        break;
    case KIND_BOOKING:
        mark_booking(queue, step);
        break;
    case KIND_PLATFORM:
    case KIND_POOL:
    case KIND_CLASS:
    case KIND_PRIORITY:
        mark_all(queue);
        break;
    case KIND_TENANT:
    case KIND_UNIT:
    case KIND_PROJECT:
    case KIND_USER:
    case KIND_SERVICEACCOUNT:
    case KIND_QUOTA:
    case KIND_VOLUME:
        mark_scope(queue, step->scope);
        break;
    default:
        break;
    }
}

/* --- waking --- */

static void
wake_all(struct queue *queue, struct estate *estate)
{
    for (size_t i = 0; i < queue->group_count; i++)
        queue_wake(queue, estate, (uint32_t)i);
    queue->all_better = false;
}

/* The pools as bits: where something changed, where it got better. */
static void
look_at_pools(struct queue *queue, const struct estate *estate,
              uint64_t *changed_out, uint64_t *better_out)
{
    uint64_t changed[POOL_BITS] = { 0 }, better[POOL_BITS] = { 0 };

    for (size_t i = 0; i < estate->pool_room; i++) {
        changed[i % POOL_BITS] += estate->pools[i].changed;
        better[i % POOL_BITS] += estate->pools[i].better;
    }
    *changed_out = *better_out = 0;
    for (unsigned i = 0; i < POOL_BITS; i++) {
        if (changed[i] != queue->bits_changed[i])
            *changed_out |= UINT64_C(1) << i;
        if (better[i] != queue->bits_better[i])
            *better_out |= UINT64_C(1) << i;
    }
    memcpy(queue->bits_changed, changed, sizeof(changed));
    memcpy(queue->bits_better, better, sizeof(better));
}

static void
wake_by_place(struct queue *queue, struct estate *estate)
{
    uint64_t changed, better;
    bool runs = estate->runs_pulse.changed != queue->runs_changed ||
                queue->tenants.count > 0;

    queue->runs_changed = estate->runs_pulse.changed;
    look_at_pools(queue, estate, &changed, &better);
    better |= queue->booked_pools;
    queue->booked_pools = 0;
    if (better == 0 && (!runs || queue->abroad == 0) &&
        (changed == 0 || queue->eager == 0))
        return;
    for (size_t i = 0; i < queue->group_count; i++) {
        const struct outlook *outlook = &queue->groups[i]->outlook;

        if ((outlook->pools & better) != 0 ||
            (outlook->change && (outlook->pools & changed) != 0) ||
            (runs && outlook->abroad))
            queue_wake(queue, estate, (uint32_t)i);
    }
}

/* changed: of those that look at all that changes only. */
static void
wake_tenant(struct queue *queue, struct estate *estate, uint32_t tenant,
            bool better)
{
    struct ref ref = { KIND_TENANT, tenant };

    for (uint32_t i = queue_tenant(queue, ref)->first; i != QUEUE_NONE;
         i = queue->groups[i]->next)
        if (better || queue->groups[i]->outlook.change)
            queue_wake(queue, estate, i);
}

static void
wake_by_start(struct queue *queue, struct estate *estate,
              const struct estate_start *start)
{
    struct ref ref = { KIND_TENANT, start->tenant };

    for (uint32_t i = queue_tenant(queue, ref)->first; i != QUEUE_NONE;
         i = queue->groups[i]->next) {
        const struct group *group = queue->groups[i];

        if (group->outlook.claims || group->entry.priority > start->priority)
            queue_wake(queue, estate, i);
    }
}

static void
wake_by_time(struct queue *queue)
{
    struct due_entry entry;

    while (due_take(&queue->due, queue->now_ms, &entry)) {
        struct member *member;

        if (entry.ref.kind == KIND_NONE) {
            struct group *group = queue->groups[entry.ref.index - 1];

            if (group->due_ms == entry.ms) {
                group->due_ms = 0;
                queue_bag_add(queue, &queue->rouse, entry.ref.index - 1);
            }
            continue;
        }
        member = queue_member(queue, entry.ref.index);
        if (member->seq == 0 || member->due_ms != entry.ms)
            continue;
        member->due_ms = 0;
        mark(queue, entry.ref);
    }
}

/* The tenants whose runs changed, or where something was set anew. */
static void
wake_by_tenants(struct queue *queue, struct estate *estate)
{
    const struct estate_news *news = &estate->news;

    for (size_t i = 0; i < news->tenant_count; i++) {
        struct ref ref = { KIND_TENANT, news->tenants[i] };
        struct queue_tenant *tenant = queue_tenant(queue, ref);
        uint64_t better = estate_tenant(estate, ref).better;

        wake_tenant(queue, estate, ref.index, better != tenant->better);
        tenant->better = better;
    }
    for (size_t i = 0; i < news->start_count; i++)
        wake_by_start(queue, estate, &news->starts[i]);
    while (queue->tenants.count > 0) {
        struct ref ref = { KIND_TENANT, queue_bag_take(&queue->tenants) };

        queue_tenant(queue, ref)->set++;
        queue->sets++;
        wake_tenant(queue, estate, ref.index, true);
    }
}

/* What was metered counts in the months of its tenant. */
static void
wake_by_meters(struct queue *queue, struct estate *estate)
{
    while (queue->metered.count > 0) {
        struct ref ref = { KIND_TENANT, queue_bag_take(&queue->metered) };

        for (uint32_t i = queue_tenant(queue, ref)->first; i != QUEUE_NONE;
             i = queue->groups[i]->next)
            if (queue->groups[i]->outlook.timed)
                queue_wake(queue, estate, i);
    }
}

void
queue_settle(struct queue *queue, struct estate *estate)
{
    queue->now_ms = estate->now_ms;
    wake_by_time(queue);
    for (size_t i = 0; i < queue->marked.count; i++) {
        uint32_t index = queue->marked.list[i];
        struct ref ref = { KIND_WORKLOAD, index };

        queue->marked.flags[index] = 0;
        queue_file(queue, index);
        if (queue_is_overdue(queue->world, world_workload(queue->world, ref),
                             queue->now_ms))
            queue_add_overdue(queue, ref);
    }
    queue->marked.count = 0;
    while (queue->rouse.count > 0)
        queue_wake(queue, estate, queue_bag_take(&queue->rouse));
    if (queue->all_better)
        wake_all(queue, estate);
    wake_by_place(queue, estate);
    wake_by_tenants(queue, estate);
    wake_by_meters(queue, estate);
}
