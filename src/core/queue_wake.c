/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/expect.h"
#include "core/lifecycle.h"
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

/* Makes something of a tenant's to be asked of its groups. */
static struct errand *
errand_of(struct queue *queue, uint32_t tenant)
{
    queue_bag_add(queue, &queue->errands, tenant);
    return &queue_tenant(queue, (struct ref){ KIND_TENANT, tenant })->errand;
}

static void
set_anew(struct queue *queue, struct ref tenant)
{
    errand_of(queue, tenant.index)->anew = true;
    queue->anew = true;
}

/* Who was alike may need different things now. */
static void
mark_waiting(struct queue *queue)
{
    world_each(queue->world, KIND_WORKLOAD, ref)
        if (lifecycle_is_waiting(world_workload(queue->world, ref)->state))
            mark(queue, ref);
}

/* Something was set anew in a tenant, or in the platform for all. */
static void
mark_scope(struct queue *queue, struct ref scope)
{
    if (scope.kind == KIND_TENANT)
        set_anew(queue, scope);
    else
        mark_all(queue);
}

/* What was learnt says which place is best, not whether there is one. */
static void
mark_platform(struct queue *queue)
{
    uint64_t rest = expect_rest(queue->world);

    if (rest != queue->rest)
        mark_all(queue);
    queue->rest = rest;
}

/* The end of a booking wakes those whom it keeps from something, and those who
 * want one themselves; a new one changes what others are told, and may leave
 * the latter nothing but quota to book. */
static void
mark_booking(struct queue *queue, const struct trail_step *step)
{
    const struct world *world = queue->world;
    const struct booking *booking = world_booking(world, step->ref);
    uint64_t pools = booking != NULL ? booking_pools(world, booking) : 0;

    mark(queue, step->parent);
    queue->rebooked = true;
    queue->unbooked |= booking_bit(step->parent);
    if (booking == NULL)
        return;
    for (uint64_t left = pools; left != 0; left &= left - 1)
        queue->bits_booked[__builtin_ctzll(left)]++;
    if (booking_concerns_all(world))
        queue->all++;
    if (step->scope.kind == KIND_TENANT) {
        queue_tenant(queue, step->scope)->set++;
        queue->sets++;
    }
}

/* Whose share may be another?  Use is its tenant's; ids and weights are few, and
 * users may be of elsewhere. */
static void
note_share(struct queue *queue, const struct trail_step *step)
{
    switch (step->ref.kind) {
    case KIND_BINDING:
    case KIND_HOLD:
    case KIND_RECENT:
        if (step->scope.kind == KIND_TENANT)
            queue_tenant(queue, step->scope)->metered++;
        else
            queue->shares++;
        break;
    case KIND_TENANT:
    case KIND_UNIT:
    case KIND_PROJECT:
    case KIND_USER:
    case KIND_SERVICEACCOUNT:
        queue->shares++;
        break;
    default:
        break;
    }
}

/* Does use fade so fast that a start may count less than what is rounded? */
#define ROUNDED_MS 10000
static bool
is_rounded(const struct queue *queue)
{
    return queue->basis.half_life_ms < ROUNDED_MS;
}

void
queue_note(struct queue *queue, const struct trail_step *step)
{
    note_share(queue, step);
    switch (step->ref.kind) {
    case KIND_WORKLOAD:
        mark(queue, step->ref);
        break;
    case KIND_INSTANCE:
        mark(queue, step->parent);
        break;
    case KIND_HOLD:
        mark(queue, step->parent);
        if (step->op != TRAIL_CREATED && step->scope.kind == KIND_TENANT)
            errand_of(queue, step->scope.index)->earlier = true;
        break;
    case KIND_BINDING:
        mark_holders(queue, step->target);
        errand_of(queue, step->scope.index)->metered = true;
        if (step->op != TRAIL_CREATED || is_rounded(queue))
            errand_of(queue, step->scope.index)->earlier = true;
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
    case KIND_REQUIREMENT:
        mark_waiting(queue);
        mark_all(queue);
        break;
    case KIND_RESERVATION:
    case KIND_MAINTENANCE:
        mark_all(queue);
        break;
    case KIND_BOOKING:
        mark_booking(queue, step);
        break;
    case KIND_PLATFORM:
        mark_platform(queue);
        break;
    case KIND_POOL:
    case KIND_CLASS:
    case KIND_PRIORITY:
        mark_all(queue);
        break;
    case KIND_TENANT:
    case KIND_UNIT:
    case KIND_PROJECT:
    case KIND_SERVICEACCOUNT:
    case KIND_QUOTA:
    case KIND_VOLUME:
        mark_scope(queue, step->scope);
        break;
    case KIND_USER:
        if (!step->quiet)
            mark_scope(queue, step->scope);
        break;
    default:
        break;
    }
}

/* --- waking --- */

/* The pools as bits: where something changed, where it got better. */
static void
look_at_pools(struct queue *queue, const struct estate *estate,
              uint64_t *changed_out, uint64_t *better_out)
{
    uint64_t changed[POOL_BITS] = { 0 }, better[POOL_BITS] = { 0 };
    size_t bits =
        estate->pool_room < POOL_BITS ? estate->pool_room : POOL_BITS;

    for (size_t i = 0; i < estate->pool_room; i++) {
        changed[i % POOL_BITS] += estate->pools[i].changed;
        better[i % POOL_BITS] += estate->pools[i].better;
    }
    *changed_out = *better_out = 0;
    for (size_t i = 0; i < bits; i++) {
        if (changed[i] != queue->bits_changed[i])
            *changed_out |= UINT64_C(1) << i;
        if (better[i] != queue->bits_better[i])
            *better_out |= UINT64_C(1) << i;
    }
    memcpy(queue->bits_changed, changed, bits * sizeof(*changed));
    memcpy(queue->bits_better, better, bits * sizeof(*better));
}

/* All groups are to be asked, from where the sweep is: all, or those that wait
 * for one of the pools. */
static struct sweep *
sweep_begin(struct queue *queue)
{
    queue->sweep.left = queue->group_count;
    return &queue->sweep;
}

static void
sweep_by_place(struct queue *queue, struct estate *estate)
{
    const struct estate_pulse *runs = &estate->runs_pulse;
    uint64_t changed, better, unbooked;
    bool any = queue->anew || runs->changed != queue->runs.changed;
    bool more = queue->anew || runs->more != queue->runs.more;
    struct sweep *sweep;

    queue->anew = false;
    queue->runs = *runs;
    look_at_pools(queue, estate, &changed, &better);
    unbooked = queue->unbooked;
    queue->unbooked = 0;
    if (better == 0 && unbooked == 0 && (!any || queue->abroad == 0) &&
        (!more || queue->rivals == 0) && (changed == 0 || queue->eager == 0))
        return;
    sweep = sweep_begin(queue);
    sweep->better |= better;
    sweep->changed |= changed;
    sweep->unbooked |= unbooked;
    sweep->any |= any;
    sweep->more |= more;
}

/* What units of the budget the pieces cost. */
#define COST_ASK 1
#define COST_LOAD 2
#define COST_FILE 30
#define COST_WAKE 12

/* What happens to places wakes who waits; it changes neither right nor share,
 * so whoever is ready already has its place. */
static bool
is_swept(const struct sweep *sweep, const struct group *group)
{
    const struct outlook *outlook = &group->outlook;

    return sweep->all ||
           (group->ready == QUEUE_NONE &&
            ((outlook->pools & sweep->better) != 0 ||
             (outlook->barred & sweep->unbooked) != 0 ||
             (outlook->change && (outlook->pools & sweep->changed) != 0))) ||
           (sweep->any && outlook->abroad) ||
           (sweep->more && outlook->rivals);
}

static bool
sweep(struct queue *queue, struct estate *estate)
{
    struct sweep *sweep = &queue->sweep;

    for (; sweep->left > 0; sweep->left--, sweep->next++) {
        bool wake;

        if (sweep->next >= queue->group_count)
            sweep->next = 0;
        wake = is_swept(sweep, queue->groups[sweep->next]);
        if (!budget_take(estate->budget, wake ? COST_WAKE : COST_ASK))
            return false;
        if (wake)
            queue_wake(queue, estate, (uint32_t)sweep->next);
    }
    *sweep = (struct sweep){ 0 };
    return true;
}

/* Does it concern a group what changed about the work of its tenant?  What is
 * given back makes the right of others better: they are ready, so they are put
 * into their place.  To who is nominated it matters when a limit is in its way;
 * that it is sure to be given back mostly told so before, but not of what was
 * stuck. */
static bool
is_concerned(const struct group *group, const struct estate_pulse *old,
             const struct estate_pulse *new)
{
    const struct outlook *outlook = &group->outlook;
    bool better = new->better != old->better;

    if (outlook->kin && new->changed != old->changed)
        return true;
    return (better && (!outlook->held || outlook->limits ||
                       group->ready != QUEUE_NONE)) ||
           (new->leaving != old->leaving && outlook->limits);
}

/* What is metered, or no longer held, is rounded and may make a share earlier
 * by a step: who is ready is put into its place.  A start alone makes it later,
 * which is found when its turn comes. */
static bool
is_asked(const struct round *round, const struct group *group)
{
    const struct errand *errand = &round->errand;

    return errand->anew ||
           (errand->runs && is_concerned(group, &round->old, &round->new)) ||
           (errand->started && group->outlook.claims) ||
           ((errand->started || errand->nominated) &&
            group->entry.priority > errand->priority) ||
           (errand->metered && group->outlook.timed) ||
           (errand->earlier && group->ready != QUEUE_NONE);
}

static bool
go_round(struct queue *queue, struct estate *estate)
{
    struct round *round = &queue->round;

    while (round->next != QUEUE_NONE) {
        uint32_t number = round->next;
        bool wake = is_asked(round, queue->groups[number]);

        if (!budget_take(estate->budget, wake ? COST_WAKE : COST_ASK))
            return false;
        round->next = queue->groups[number]->next;
        if (wake)
            queue_wake(queue, estate, number);
    }
    return true;
}

/* The tenants whose runs or bindings changed, or where something was set
 * anew. */
static bool
run_errands(struct queue *queue, struct estate *estate)
{
    while (go_round(queue, estate)) {
        struct queue_tenant *tenant;
        struct ref ref = { KIND_TENANT, 0 };
        struct estate_pulse now;

        if (queue->errands.count == 0)
            return true;
        ref.index = queue_bag_take(&queue->errands);
        tenant = queue_tenant(queue, ref);
        now = estate_tenant(estate, ref);
        queue->round = (struct round){ tenant->first, tenant->errand,
                                       tenant->seen, now };
        if (tenant->errand.runs)
            tenant->seen = now;
        if (tenant->errand.anew) {
            tenant->set++;
            queue->sets++;
        }
        tenant->errand = (struct errand){ 0 };
    }
    return false;
}

/* What the estate has found becomes errands. */
static void
take_news(struct queue *queue, const struct estate *estate)
{
    const struct estate_news *news = &estate->news;

    for (size_t i = 0; i < news->tenant_count; i++)
        errand_of(queue, news->tenants[i])->runs = true;
    for (size_t i = 0; i < news->start_count; i++) {
        const struct estate_start *start = &news->starts[i];
        struct errand *errand = errand_of(queue, start->tenant);

        if ((!errand->started && !errand->nominated) ||
            start->priority < errand->priority)
            errand->priority = start->priority;
        errand->nominated |= start->nominated;
        errand->started |= start->started;
    }
}

static void
remind_of(struct queue *queue, const struct due_entry *entry)
{
    struct member *member;

    if (entry->ref.kind == KIND_NONE) {
        struct group *group = queue->groups[entry->ref.index - 1];

        if (group->due_ms == entry->ms) {
            group->due_ms = 0;
            queue_bag_add(queue, &queue->rouse, entry->ref.index - 1);
        }
        return;
    }
    member = queue_member(queue, entry->ref.index);
    if (member->seq == 0 || member->due_ms != entry->ms)
        return;
    member->due_ms = 0;
    mark(queue, entry->ref);
}

static bool
wake_by_time(struct queue *queue, struct budget *budget)
{
    struct due_entry entry;

    while (due_next(&queue->due) <= queue->now_ms) {
        if (!budget_take(budget, COST_ASK))
            return false;
        (void)due_take(&queue->due, queue->now_ms, &entry);
        remind_of(queue, &entry);
    }
    return true;
}

static bool
load(struct queue *queue, struct budget *budget)
{
    struct ref ref;

    while (!walk_is_over(&queue->load)) {
        if (!budget_take(budget, COST_LOAD))
            return false;
        if (walk_next(&queue->load, queue->world, &ref))
            mark(queue, ref);
    }
    return true;
}

#define AHEAD 4 /* of those that are filed, the next ones are asked for */

static bool
file_marked(struct queue *queue, struct budget *budget)
{
    struct bag *marked = &queue->marked;

    for (; marked->done < marked->count; marked->done++) {
        struct ref ref = { KIND_WORKLOAD, marked->list[marked->done] };

        if (marked->done + AHEAD < marked->count)
            world_prefetch(queue->world,
                           (struct ref){ KIND_WORKLOAD,
                                         marked->list[marked->done + AHEAD] });
        if (!budget_take(budget, COST_FILE))
            return false;
        marked->flags[ref.index] = 0;
        queue_file(queue, ref.index);
        if (queue_is_overdue(queue->world, world_workload(queue->world, ref),
                             queue->now_ms))
            queue_add_overdue(queue, ref);
    }
    marked->done = marked->count = 0;
    return true;
}

static bool
rouse(struct queue *queue, struct estate *estate)
{
    while (queue->rouse.count > 0) {
        if (!budget_take(estate->budget, COST_WAKE))
            return false;
        queue_wake(queue, estate, queue_bag_take(&queue->rouse));
    }
    return true;
}

static void
note_basis(struct queue *queue)
{
    struct share_basis basis = share_basis(queue->world);

    if (basis.half_life_ms == queue->basis.half_life_ms &&
        memcmp(basis.capacity, queue->basis.capacity,
               sizeof(basis.capacity)) == 0)
        return;
    queue->basis = basis;
    queue->shares++;
}

bool
queue_settle(struct queue *queue, struct estate *estate)
{
    queue->now_ms = estate->now_ms;
    note_basis(queue);
    take_news(queue, estate);
    if (!load(queue, estate->budget) ||
        !wake_by_time(queue, estate->budget) ||
        !file_marked(queue, estate->budget) || !rouse(queue, estate))
        return false;
    if (queue->all_better)
        sweep_begin(queue)->all = true;
    queue->all_better = false;
    queue_ask_bookers(queue, estate);
    sweep_by_place(queue, estate);
    return sweep(queue, estate) && queue_wake_by_sites(queue, estate) &&
           run_errands(queue, estate);
}

/* Could more room, in the pool or below the limits of the tenant, be what the
 * group waits for? */
static bool
group_wants(const struct group *group, struct ref pool, struct ref tenant)
{
    uint64_t bit = UINT64_C(1) << (pool.index % 64);

    if (group->count == 0)
        return false;
    if (!group->judged)
        return true;
    if (group->verdict.state == WORKLOAD_QUEUED)
        return (group->outlook.pools & bit) != 0;
    return group->verdict.reason == REASON_LIMIT &&
           ref_equal(group->tenant, tenant);
}

bool
queue_wants(const struct queue *queue, struct ref pool, struct ref tenant)
{
    for (size_t i = 0; i < queue->group_count; i++)
        if (group_wants(queue->groups[i], pool, tenant))
            return true;
    return false;
}
