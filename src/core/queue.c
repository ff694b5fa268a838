/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <string.h>

#include "core/expect.h"
#include "core/queue_private.h"

/* --- tables --- */

void *
queue_grow(struct queue *queue, void *table, size_t *room, size_t need, size_t size)
{
    size_t larger = *room > 0 ? *room : 4;
    char *copy;

    if (need <= *room)
        return table;
    while (larger < need)
        larger *= 2;
    copy = arena_alloc(queue->arena, larger * size);
    if (*room > 0)
        memcpy(copy, table, *room * size);
    *room = larger;
    return copy;
}

void
queue_bag_add(struct queue *queue, struct bag *bag, uint32_t index)
{
    bag->flags = queue_grow(queue, bag->flags, &bag->flag_room, (size_t)index + 1, 1);
    if (bag->flags[index] != 0)
        return;
    bag->flags[index] = 1;
    bag->list =
        queue_grow(queue, bag->list, &bag->room, bag->count + 1, sizeof(uint32_t));
    bag->list[bag->count++] = index;
}

uint32_t
queue_bag_take(struct bag *bag)
{
    uint32_t index = bag->list[--bag->count];

    bag->flags[index] = 0;
    return index;
}

struct member *
queue_member(struct queue *queue, uint32_t index)
{
    size_t number = index / MEMBER_PIECE;
    struct member *piece;

    queue->members = queue_grow(queue, queue->members, &queue->member_room,
                                number + 1, sizeof(*queue->members));
    piece = queue->members[number];
    if (piece == NULL) {
        piece = arena_alloc(queue->arena, MEMBER_PIECE * sizeof(*piece));
        for (size_t i = 0; i < MEMBER_PIECE; i++)
            piece[i].group = QUEUE_NONE;
        queue->members[number] = piece;
    }
    return &piece[index % MEMBER_PIECE];
}

struct queue_tenant *
queue_tenant(struct queue *queue, struct ref tenant)
{
    size_t before = queue->tenant_room;

    queue->of_tenant =
        queue_grow(queue, queue->of_tenant, &queue->tenant_room,
                   (size_t)tenant.index + 1, sizeof(*queue->of_tenant));
    for (size_t i = before; i < queue->tenant_room; i++)
        queue->of_tenant[i].first = QUEUE_NONE;
    return &queue->of_tenant[tenant.index];
}

/* --- order --- */

bool
queue_before(const struct queue_entry *a, const struct queue_entry *b)
{
    if (a->right != b->right)
        return a->right < b->right;
    if (a->replacing != b->replacing)
        return a->replacing;
    if (a->priority != b->priority)
        return a->priority > b->priority;
    if (share_compare(&a->share, &b->share) != 0)
        return share_compare(&a->share, &b->share) < 0;
    if (a->submitted_ms != b->submitted_ms)
        return a->submitted_ms < b->submitted_ms;
    return a->seq < b->seq;
}

/* The memory of cards does not matter much here and is left out. */
static enum quota_right
right_with(const struct estate *estate, const struct workload *workload,
           const struct ledger *promised)
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
        right = quota_right(world, &demand, promised);
        if (right < best)
            best = right;
    }
    return best;
}

/* The best right with any class in any pool. */
int64_t
queue_right(const struct estate *estate, const struct workload *workload,
            const struct ledger *promised)
{
    struct ref classes[ALTERNATIVE_MAX];
    size_t count;
    enum quota_right best = RIGHT_BURST;

    if (workload->classes == NULL)
        return (int64_t)right_with(estate, workload, promised);
    count = alternative_list(estate->world, workload, classes);
    for (size_t i = 0; i < count; i++) {
        struct workload copy = *workload;
        enum quota_right right;

        copy.class = classes[i];
        right = right_with(estate, &copy, promised);
        if (right < best)
            best = right;
    }
    return (int64_t)best;
}

static int64_t
look_up_right(struct estate *estate, const struct workload *workload)
{
    struct ref self = workload->object.self;
    bool nominated = estate_run(estate, self) != ESTATE_NONE;
    int64_t right;

    /* What is promised to itself does not stand in its way. */
    if (nominated)
        estate_own(estate, self, true);
    right = queue_right(estate, workload, &estate->promised);
    if (nominated)
        estate_own(estate, self, false);
    return right;
}

static struct queue_entry
entry_without_right(const struct world *world, struct ref ref)
{
    const struct workload *workload = world_workload(world, ref);
    const struct priority *priority =
        world_priority(world, workload->priority);

    return (struct queue_entry){
        .workload = ref,
        .replacing = workload->replacing_ms != 0,
        .priority = priority != NULL ? priority->value : 0,
        .submitted_ms = workload->submitted_ms,
        .seq = workload->object.seq,
    };
}

static void
look_up_share(const struct estate *estate, struct queue_entry *entry)
{
    const struct workload *workload =
        world_workload(estate->world, entry->workload);

    share_path(estate->world, workload->object.parent, workload->user,
               estate->now_ms, &entry->share);
}

/* The counters of what a share depends on. */
static uint64_t
share_counter(const struct queue *queue, const struct group *group)
{
    return queue->shares + queue->of_tenant[group->tenant.index].metered + 1;
}

/* The same while nothing changes, looked up once for all members. */
static void
share_of(const struct queue *queue, const struct estate *estate,
         struct group *group)
{
    uint64_t counter = share_counter(queue, group);

    if (group->share_at == counter && group->share_ms == estate->now_ms)
        return;
    look_up_share(estate, &group->entry);
    group->share_at = counter;
    group->share_ms = estate->now_ms;
}

struct queue_entry
queue_entry(struct estate *estate, struct ref ref)
{
    struct queue_entry entry = entry_without_right(estate->world, ref);

    entry.right = look_up_right(estate, world_workload(estate->world, ref));
    look_up_share(estate, &entry);
    return entry;
}

/* --- the ready ones --- */

static bool
ready_before(const struct queue *queue, uint32_t a, uint32_t b)
{
    return queue_before(&queue->groups[a]->entry, &queue->groups[b]->entry);
}

static void
ready_put(struct queue *queue, size_t at, uint32_t group)
{
    queue->ready[at] = group;
    queue->groups[group]->ready = (uint32_t)at;
}

static void
ready_sift(struct queue *queue, size_t at, uint32_t group)
{
    while (at > 0 && ready_before(queue, group, queue->ready[(at - 1) / 2])) {
        ready_put(queue, at, queue->ready[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    for (;;) {
        size_t child = 2 * at + 1;

        if (child >= queue->ready_count)
            break;
        if (child + 1 < queue->ready_count &&
            ready_before(queue, queue->ready[child + 1], queue->ready[child]))
            child++;
        if (!ready_before(queue, queue->ready[child], group))
            break;
        ready_put(queue, at, queue->ready[child]);
        at = child;
    }
    ready_put(queue, at, group);
}

void
queue_unready(struct queue *queue, struct group *group)
{
    size_t at = group->ready;
    uint32_t last;

    if (group->ready == QUEUE_NONE)
        return;
    group->ready = QUEUE_NONE;
    last = queue->ready[--queue->ready_count];
    if (at < queue->ready_count)
        ready_sift(queue, at, last);
}

/* The counters of what a right depends on. */
static uint64_t
right_counter(const struct queue *queue, const struct estate *estate,
              const struct group *group)
{
    return queue->all + estate_tenant(estate, group->tenant).changed +
           queue->of_tenant[group->tenant.index].set + 1;
}

void
queue_refresh(struct queue *queue, struct estate *estate, struct group *group)
{
    struct ref first = { KIND_WORKLOAD, group->members[0] };
    uint64_t counter = right_counter(queue, estate, group);
    struct share_path share = group->entry.share;
    int64_t right = group->entry.right;

    if (group->right_at != counter) {
        right = look_up_right(estate, world_workload(queue->world, first));
        group->right_at = counter;
    }
    group->entry = entry_without_right(queue->world, first);
    group->entry.right = right;
    group->entry.share = share;
    share_of(queue, estate, group);
}

void
queue_wake(struct queue *queue, struct estate *estate, uint32_t number)
{
    struct group *group = queue->groups[number];

    if (group->count == 0)
        return;
    queue_front_take(queue, group);
    queue_refresh(queue, estate, group);
    if (group->ready != QUEUE_NONE) {
        ready_sift(queue, group->ready, number);
        return;
    }
    queue->ready = queue_grow(queue, queue->ready, &queue->ready_room,
                        queue->ready_count + 1, sizeof(*queue->ready));
    ready_sift(queue, queue->ready_count++, number);
}

/* --- what the scheduler asks --- */

void
queue_free(struct queue *queue)
{
    if (queue != NULL)
        table_release(&queue->index);
}

struct queue *
queue_new(struct arena *arena, const struct world *world)
{
    struct queue *queue = arena_alloc(arena, sizeof(*queue));

    queue->arena = arena;
    queue->world = world;
    queue->round.next = QUEUE_NONE;
    due_init(&queue->due, arena);
    due_init(&queue->overdue, arena);
    walk_begin(&queue->load, world, KIND_WORKLOAD);
    queue->rebooked = true;
    queue->rest = expect_rest(world);
    return queue;
}

struct group *
queue_first(struct queue *queue, struct estate *estate)
{
    while (queue->ready_count > 0) {
        uint32_t number = queue->ready[0];
        struct group *group = queue->groups[number];
        struct queue_entry before = group->entry;

        queue_refresh(queue, estate, group);
        if (!queue_before(&before, &group->entry))
            return group;
        /* Its right or share got worse: others are before it now. */
        ready_sift(queue, group->ready, number);
    }
    return NULL;
}

/* The counters of all that a group's verdict could depend on. */
static uint64_t
seen_counter(const struct queue *queue, const struct estate *estate,
             const struct group *group)
{
    uint64_t sum = right_counter(queue, estate, group);

    /* The platform's limits count work in pools where it may not run. */
    if (booking_concerns_all(queue->world))
        sum += estate->runs_pulse.changed;
    for (uint64_t left = group->outlook.pools; left != 0; left &= left - 1)
        sum += queue->bits_changed[__builtin_ctzll(left)] +
               queue->bits_booked[__builtin_ctzll(left)];
    return sum;
}

static bool
verdict_differs(const struct verdict *a, const struct verdict *b)
{
    return a->state != b->state || a->reason != b->reason ||
           a->need != b->need || a->have != b->have || a->limit != b->limit ||
           !ref_equal(a->quota, b->quota) || strcmp(a->text, b->text) != 0;
}

/* --- verdicts --- */

/* Does it wait for what others can take before it? */
static bool
is_passable(enum reason reason)
{
    return reason == REASON_LIMIT || reason == REASON_CAPACITY ||
           reason == REASON_FRAGMENTED || reason == REASON_HANDOVER ||
           reason == REASON_NODE || reason == REASON_AT_RISK;
}

void
queue_tell(struct queue *queue, uint32_t index)
{
    queue_member_at(queue, index)->told = 0;
    queue_bag_add(queue, &queue->late, index);
}

/* Another verdict concerns all members, other numbers a few. */
static void
spread(struct queue *queue, struct group *group, uint32_t number,
       const struct verdict *verdict)
{
    if (!group->judged || verdict_is_other(&group->verdict, verdict)) {
        group->told++;
        group->said = 0;
        queue_bag_add(queue, &queue->unsaid, number);
    } else if (verdict_differs(&group->verdict, verdict)) {
        for (size_t i = 0; i < group->count && i < QUEUE_EXACT; i++)
            queue_tell(queue, group->members[i]);
    }
    group->verdict = *verdict;
}

void
queue_judge(struct queue *queue, const struct estate *estate,
            struct group *group, const struct evaluation *evaluation)
{
    uint32_t number = queue_member_at(queue, group->members[0])->group;
    int64_t due_ms = evaluation->outlook.due_ms;

    spread(queue, group, number, &evaluation->verdict);
    queue->abroad += (size_t)evaluation->outlook.abroad -
                     (size_t)group->outlook.abroad;
    queue->rivals += (size_t)evaluation->outlook.rivals -
                     (size_t)group->outlook.rivals;
    queue->eager += (size_t)evaluation->outlook.change -
                    (size_t)group->outlook.change;
    group->outlook = evaluation->outlook;
    group->outlook.places = NULL; /* of the evaluation's arena */
    queue_watch(queue, number, &evaluation->outlook);
    group->judged = true;
    group->seen = seen_counter(queue, estate, group);
    queue_unready(queue, group);
    queue_front_take(queue, group);
    if (is_passable(group->verdict.reason) &&
        !booking_has(queue->world, group->entry.workload))
        queue_front_add(queue, number);
    if (due_ms != 0 && (group->due_ms == 0 || due_ms < group->due_ms)) {
        group->due_ms = due_ms;
        due_add(&queue->due, due_ms, (struct ref){ KIND_NONE, number + 1 });
    }
}

struct group *
queue_faded(struct queue *queue, const struct estate *estate, bool *more_out)
{
    uint64_t now = queue->all + queue->sets + estate->runs_pulse.changed;

    *more_out = false;
    for (unsigned i = 0; i < POOL_BITS; i++)
        now += queue->bits_changed[i] + queue->bits_booked[i];
    for (;; queue->faded = 0, queue->faded_at = now) {
        for (; queue->faded < queue->group_count; queue->faded++) {
            struct group *group = queue->groups[queue->faded];

            if (group->count > 0 && group->judged &&
                group->ready == QUEUE_NONE && !group->outlook.held &&
                group->seen != seen_counter(queue, estate, group))
                return group; /* the budget is for the look at it */
            if (!budget_take(estate->budget, 1)) {
                *more_out = true;
                return NULL;
            }
        }
        if (now == queue->faded_at)
            return NULL;
    }
}

/* A member of a group that has another verdict than it was told. */
static struct ref
unsaid_of(struct queue *queue, struct group *group, int *looks)
{
    for (;;) {
        while (group->said < group->count && (*looks)-- > 0) {
            uint32_t index = group->members[group->said++];
            struct member *member = queue_member_at(queue, index);

            if (member->told == group->told)
                continue;
            member->told = group->told;
            group->again = true;
            return (struct ref){ KIND_WORKLOAD, index };
        }
        /* Members change places meanwhile: all know when a whole round finds
         * none. */
        if (!group->again || *looks <= 0)
            return (struct ref){ 0 };
        group->again = false;
        group->said = 0;
    }
}

struct ref
queue_unsaid(struct queue *queue, const struct group **group_out, int *looks)
{
    while (queue->late.count > 0 && (*looks)-- > 0) {
        uint32_t index = queue_bag_take(&queue->late);
        struct member *member = queue_member(queue, index);

        if (member->group == QUEUE_NONE)
            continue;
        *group_out = queue->groups[member->group];
        if (!(*group_out)->judged || member->told == (*group_out)->told)
            continue;
        member->told = (*group_out)->told;
        return (struct ref){ KIND_WORKLOAD, index };
    }
    while (queue->unsaid.count > 0 && *looks > 0) {
        uint32_t number = queue->unsaid.list[queue->unsaid.count - 1];
        struct group *group = queue->groups[number];
        struct ref ref = group->judged ? unsaid_of(queue, group, looks)
                                       : (struct ref){ 0 };

        *group_out = group;
        if (!ref_is_none(ref))
            return ref;
        if (*looks > 0)
            (void)queue_bag_take(&queue->unsaid);
    }
    return (struct ref){ 0 };
}

/* --- time --- */

struct ref
queue_overdue(struct queue *queue)
{
    struct due_entry entry;

    while (due_take(&queue->overdue, INT64_MAX, &entry))
        if (queue_is_overdue(queue->world,
                             world_workload(queue->world, entry.ref),
                             queue->now_ms)) {
            queue->last_overdue = entry;
            return entry.ref;
        }
    return (struct ref){ 0 };
}

void
queue_return(struct queue *queue)
{
    due_add(&queue->overdue, queue->last_overdue.ms, queue->last_overdue.ref);
}

int64_t
queue_due_ms(const struct queue *queue)
{
    return due_next(&queue->due);
}

size_t
queue_count(const struct queue *queue)
{
    return queue->waiting;
}

size_t
queue_group_count(const struct queue *queue)
{
    return queue->live_count;
}

bool
queue_is_exact(struct queue *queue, struct ref workload)
{
    return queue_member(queue, workload.index)->at < QUEUE_EXACT;
}

const struct group *
queue_group(struct queue *queue, struct ref workload)
{
    const struct member *member = queue_member(queue, workload.index);

    return member->group != QUEUE_NONE ? queue->groups[member->group] : NULL;
}
