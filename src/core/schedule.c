/* SPDX-License-Identifier: Apache-2.0 */
#include "core/schedule.h"

#include <assert.h>
#include <string.h>

#include "core/assign.h"
#include "core/evaluate.h"
#include "core/expect.h"
#include "core/grow.h"
#include "core/lifecycle.h"
#include "core/maintenance.h"
#include "core/place_index.h"
#include "core/queue.h"
#include "core/reservation.h"

/* Objects are asked for before it is their turn in the trail. */
#define STEPS_AHEAD 6
/* What is done in one step, in units of the budget; of that one look. */
#define SLICE 4000
#define COST_LOOK 200
/* Members that are asked whether they know what their group was told. */
#define TOLD_MAX 1024
/* Waiting workloads whose reasons go into one set. */
#define REASONS_MAX 64
/* Finished workloads that leave in one set. */
#define RETIRE_MAX 32
/* Nodes are heard of without a change of the world: look again this often. */
#define LOOK_MS INT64_C(1000)
/* Bookings that one start can end. */
#define DISPLACED_MAX 64
/* Shapes that are remembered. */
#define SHAPES_MAX 4096
/* Decisions without anything new from outside that are normal, for each
 * workload; more mean that they chase each other. */
#define DECISIONS_MAX 16

struct scheduler {
    struct budget budget;
    int64_t slice; /* 0: SLICE */
    struct arena *arena; /* of the estate and the queue */
    struct estate *estate;
    struct queue *queue;
    struct grow *grow;
    uint64_t position; /* in the world's trail */
    struct arena *shape_arena;
    struct gate gate;
    uint64_t shapes, shape_looks;
    uint64_t generation; /* of the world, when the last decision is applied */
    struct ref pending;  /* what the last set changes first, or none */
    size_t decisions;    /* since something came from outside */
    bool more;           /* the last step stopped before its end */
    bool looking;        /* in the midst of a look */
    uint64_t reserved_position; /* in the trail, when reservations were */
    int64_t reserved_due_ms;    /* looked at, and when next */
    struct expect_news news;    /* submissions since it last learnt */
    struct expect_learning learning; /* under way, or zeroed */
    uint64_t surprises, looks;
    struct schedule_decision last;
};

struct scheduler *
scheduler_new(void)
{
    return memory_new(1, sizeof(struct scheduler));
}

static void
forget(struct scheduler *scheduler)
{
    queue_free(scheduler->queue);
    if (scheduler->arena != NULL)
        arena_free(scheduler->arena);
    if (scheduler->shape_arena != NULL)
        arena_free(scheduler->shape_arena);
    expect_news_release(&scheduler->news);
    expect_learning_release(&scheduler->learning);
    *scheduler = (struct scheduler){ .last = scheduler->last,
                                      .slice = scheduler->slice,
                                      .looks = scheduler->looks };
}

void
scheduler_free(struct scheduler *scheduler)
{
    if (scheduler == NULL)
        return;
    forget(scheduler);
    free(scheduler);
}

struct schedule_decision
schedule_last(const struct scheduler *scheduler)
{
    return scheduler->last;
}

const char *
schedule_what_text(enum schedule_what what)
{
    static const char *const names[] = { "nothing", "reason", "assign",
                                         "nominate", "expire", "stop",
                                         "book", "cut", "reserve", "maintain",
                                         "retire", "learn", "grow" };

    return names[what];
}

/* How many decisions may follow each other without anything from outside. */
static size_t
decisions_max(const struct scheduler *scheduler)
{
    return DECISIONS_MAX *
           (queue_count(scheduler->queue) + scheduler->estate->run_count + 4);
}

bool
schedule_is_settled(const struct scheduler *scheduler)
{
    return scheduler->estate == NULL ||
           scheduler->decisions < decisions_max(scheduler);
}

void
schedule_set_slice(struct scheduler *scheduler, int64_t units)
{
    scheduler->slice = units;
}

bool
schedule_has_more(const struct scheduler *scheduler)
{
    return scheduler->more;
}

uint64_t
schedule_looks(const struct scheduler *scheduler)
{
    return scheduler->looks;
}

int64_t
schedule_due_ms(const struct scheduler *scheduler)
{
    int64_t due_ms;

    if (scheduler->queue == NULL || scheduler->more)
        return 0;
    due_ms = queue_due_ms(scheduler->queue);
    if (scheduler->reserved_due_ms < due_ms)
        due_ms = scheduler->reserved_due_ms;
    return due_ms < scheduler->estate->now_ms + LOOK_MS
               ? due_ms
               : scheduler->estate->now_ms + LOOK_MS;
}

/* --- the picture of the world --- */

static bool
can_follow(const struct scheduler *scheduler, const struct world *world,
           int64_t now_ms)
{
    return scheduler->estate != NULL && scheduler->estate->world == world &&
           now_ms >= scheduler->estate->now_ms &&
           scheduler->position >= trail_begin(world) &&
           scheduler->position <= trail_end(world) &&
           !estate_is_passed(scheduler->estate, scheduler->position);
}

static void
begin_anew(struct scheduler *scheduler, const struct world *world,
           int64_t now_ms)
{
    forget(scheduler);
    scheduler->arena = arena_new();
    scheduler->estate = estate_begin(scheduler->arena, world, now_ms,
                                     &scheduler->budget);
    place_index_on(scheduler->estate);
    scheduler->queue = queue_new(scheduler->arena, world);
    scheduler->grow = grow_new(scheduler->arena, world);
    expect_news_begin(&scheduler->news, world);
    scheduler->position = trail_end(world);
}

/* Brings estate and queue up to the world; new ones when they cannot follow.
 * False when the slice ended before that. */
static bool
follow(struct scheduler *scheduler, const struct world *world, int64_t now_ms)
{
    if (!can_follow(scheduler, world, now_ms))
        begin_anew(scheduler, world, now_ms);
    scheduler->budget = (struct budget){
        .left = scheduler->slice > 0 ? scheduler->slice : SLICE
    };
    if (!estate_list(scheduler->estate))
        return false;
    for (; scheduler->position < trail_end(world); scheduler->position++) {
        const struct trail_step *step =
            trail_at(world, scheduler->position);
        uint64_t ahead = scheduler->position + STEPS_AHEAD;

        if (ahead < trail_end(world))
            world_prefetch(world, trail_at(world, ahead)->ref);
        if (!budget_take(&scheduler->budget,
                         estate_note_cost(scheduler->estate, step)))
            return false;
        estate_note(scheduler->estate, step);
        queue_note(scheduler->queue, step);
        grow_note(scheduler->grow, step);
        expect_news_note(&scheduler->news, world, step);
    }
    return expect_news_load(&scheduler->news, world, &scheduler->budget) &&
           grow_load(scheduler->grow, &scheduler->budget) &&
           estate_settle(scheduler->estate, now_ms) &&
           queue_settle(scheduler->queue, scheduler->estate);
}

/* What shapes could be at all is remembered until nodes or cards change. */
static struct gate *
gate_of(struct scheduler *scheduler)
{
    struct estate *estate = scheduler->estate;

    if (scheduler->shape_arena == NULL ||
        scheduler->shapes != estate->shapes ||
        scheduler->shape_looks > SHAPES_MAX) {
        if (scheduler->shape_arena != NULL)
            arena_free(scheduler->shape_arena);
        scheduler->shape_arena = arena_new();
        scheduler->shapes = estate->shapes;
        scheduler->shape_looks = 0;
        gate_init(&scheduler->gate, estate->world, &estate->promised,
                  estate->now_ms, scheduler->shape_arena);
    }
    scheduler->shape_looks++;
    scheduler->gate.now_ms = estate->now_ms;
    return &scheduler->gate;
}

/* --- steps --- */

static void
put_reason(struct changes *changes, const struct workload *workload,
           const struct evaluation *evaluation)
{
    struct ref self = workload->object.self;

    if (evaluation->drop)
        lifecycle_drop_holds(changes, self);
    if (evaluation->drop || reason_differs(workload, &evaluation->verdict))
        reason_put(change_update(changes, self), &evaluation->verdict,
                   changes->context.now_ms);
}

static void
decided(struct scheduler *scheduler, enum schedule_what what,
        struct ref workload, size_t victims)
{
    scheduler->last = (struct schedule_decision){ what, workload, victims };
}

/* A nomination ends, its workload waits again. */
static void
give_up(struct changes *changes, struct ref ref, const char *why)
{
    struct verdict verdict;

    lifecycle_drop_holds(changes, ref);
    verdict_set(&verdict, WORKLOAD_QUEUED, REASON_NOT_EVALUATED,
                "%s; not yet evaluated again", why);
    reason_put(change_update(changes, ref), &verdict,
               changes->context.now_ms);
}

/* Who came before it and waits for the same pool was passed over. */
static void
count_passed(struct scheduler *scheduler, struct changes *changes,
             const struct group *group, struct ref pool)
{
    const struct platform *platform =
        world_platform(changes->world, world_platform_ref(changes->world));
    struct ref passed[QUEUE_PASSED_MAX];
    size_t count = 0;

    if (platform->bypass_max > 0)
        count = queue_passed(scheduler->queue, scheduler->estate, group,
                             passed);
    for (size_t i = 0; i < count; i++) {
        const struct workload *workload =
            world_workload(changes->world, passed[i]);

        if (workload->bypassed < platform->bypass_max &&
            (ref_is_none(workload->pool) || ref_equal(workload->pool, pool)))
            ((struct workload *)change_unsaid(changes, passed[i]))
                ->bypassed++;
    }
}

/* Bookings that this decision takes the parts from end. */
static void
end_bookings(const struct estate *estate, struct changes *changes,
             const struct workload *workload,
             const struct evaluation *evaluation)
{
    struct ref owners[DISPLACED_MAX];
    size_t count =
        booking_displaced(estate, workload, evaluation->right,
                          &evaluation->plan.placement, owners, DISPLACED_MAX);

    for (size_t i = 0; i < count; i++)
        give_up(changes, owners[i],
                "its booked start went to work that goes before it by right");
}

static void
carry_out(struct scheduler *scheduler, struct changes *changes,
          const struct group *group, const struct workload *workload,
          const struct evaluation *evaluation)
{
    const struct estate *estate = scheduler->estate;
    struct ref self = workload->object.self;

    if (!ref_is_none(evaluation->from))
        give_up(changes, evaluation->from,
                "what was kept for it went to work of a higher priority");
    if (evaluation->act == ACT_BOOK) {
        booking_put(estate, changes, workload, evaluation->request.class,
                    &evaluation->booking);
        reason_put(change_update(changes, self), &evaluation->verdict,
                   changes->context.now_ms);
        decided(scheduler, SCHEDULE_BOOK, self, 0);
        return;
    }
    end_bookings(estate, changes, workload, evaluation);
    if (evaluation->act == ACT_ASSIGN) {
        assign_start(estate, changes, workload, &evaluation->request,
                     &evaluation->plan.placement);
        count_passed(scheduler, changes, group, evaluation->request.pool);
        decided(scheduler, SCHEDULE_ASSIGN, self, 0);
    } else {
        assign_nominate(estate, changes, workload, &evaluation->demand,
                        &evaluation->request, &evaluation->plan);
        decided(scheduler, SCHEDULE_NOMINATE, self, evaluation->plan.count);
    }
}

enum looked { LOOKED_WAIT, LOOKED_DECIDED, LOOKED_LATER };

/* Looks at the first member of a group. */
static enum looked
look_at(struct scheduler *scheduler, struct changes *changes,
        struct group *group)
{
    const struct workload *workload = world_workload(
        changes->world, (struct ref){ KIND_WORKLOAD, group->members[0] });
    struct evaluation evaluation = { 0 };

    if (!scheduler->looking)
        place_index_keep(scheduler->estate);
    evaluate_workload(gate_of(scheduler), scheduler->estate, workload,
                      changes->arena, &evaluation);
    scheduler->looking = evaluation.act == ACT_LATER;
    if (scheduler->looking)
        return LOOKED_LATER;
    scheduler->looks++;
    if (evaluation.act != ACT_WAIT) {
        carry_out(scheduler, changes, group, workload, &evaluation);
        return LOOKED_DECIDED;
    }
    if (evaluation.drop) { /* then it is looked at again, as one of others */
        put_reason(changes, workload, &evaluation);
        decided(scheduler, SCHEDULE_REASON, workload->object.self, 0);
        return LOOKED_DECIDED;
    }
    queue_judge(scheduler->queue, scheduler->estate, group, &evaluation);
    return LOOKED_WAIT;
}

/* Bindings and instances are history: they leave the memory, not the store. */
static void
retire(struct changes *changes, struct ref ref)
{
    const struct world *world = changes->world;

    world_each_child(world, KIND_INSTANCE, ref, instance) {
        world_each_child(world, KIND_BINDING, instance, binding)
            change_evict(changes, binding);
        change_evict(changes, instance);
    }
    world_each_child(world, KIND_ALARM, ref, alarm)
        change_evict(changes, alarm);
    change_evict(changes, ref);
}

static void
retire_some(struct scheduler *scheduler, struct changes *changes,
            struct ref first)
{
    const struct world *world = changes->world;
    struct ref ref = first;

    for (int count = 1; !ref_is_none(ref); count++) {
        const struct workload *workload = world_workload(world, ref);

        if (!queue_is_history(world, workload)) {
            queue_return(scheduler->queue);
            return;
        }
        if (change_get(changes, ref) != NULL) /* it may be listed twice */
            retire(changes, ref);
        ref = count < RETIRE_MAX ? queue_overdue(scheduler->queue)
                                 : (struct ref){ 0 };
    }
}

/* What time has brought to a workload. */
static void
step_overdue(struct scheduler *scheduler, struct changes *changes,
             struct ref ref)
{
    const struct world *world = changes->world;
    const struct workload *workload = world_workload(world, ref);

    int64_t deadline_ms = queue_deadline(world, workload);

    if (!ref_is_none(world_first_child(world, KIND_HOLD, ref)) &&
        deadline_ms <= changes->context.now_ms) {
        give_up(changes, ref,
                "what was kept for it did not become free in time");
        decided(scheduler, SCHEDULE_EXPIRE, ref, 0);
    } else if (!ref_is_none(world_first_child(world, KIND_HOLD, ref))) {
        assign_cut(changes, ref);
        decided(scheduler, SCHEDULE_CUT, ref, 0);
    } else if (queue_is_history(world, workload)) {
        retire_some(scheduler, changes, ref);
        decided(scheduler, SCHEDULE_RETIRE, (struct ref){ 0 }, 0);
    } else {
        lifecycle_stop(changes, ref, WORKLOAD_CANCELLING, "max-run-time",
                       NULL);
        decided(scheduler, SCHEDULE_STOP, ref, 0);
    }
}

/* Reservations and planned maintenances are few: all of them are looked at
 * when anything happened. */
static bool
step_plans(struct scheduler *scheduler, struct changes *changes)
{
    const struct world *world = changes->world;
    int64_t now_ms = changes->context.now_ms;
    struct ref ref = { 0 };
    size_t victims = 0;

    if (scheduler->reserved_position == scheduler->position &&
        now_ms < scheduler->reserved_due_ms)
        return false;
    scheduler->reserved_position = scheduler->position;
    scheduler->reserved_due_ms = TIMELINE_NEVER;
    world_each(world, KIND_RESERVATION, at) {
        int64_t due_ms = reservation_due_ms(scheduler->estate,
                                            world_reservation(world, at));

        if (due_ms <= now_ms &&
            reservation_step(scheduler->estate, changes, at, &victims)) {
            scheduler->reserved_due_ms = now_ms;
            decided(scheduler, SCHEDULE_RESERVE, at, victims);
            return true;
        }
        if (due_ms < scheduler->reserved_due_ms)
            scheduler->reserved_due_ms = due_ms;
    }
    if (!maintenance_next_step(changes, &scheduler->reserved_due_ms, &ref,
                               &victims))
        return false;
    decided(scheduler, SCHEDULE_MAINTAIN, ref, victims);
    return true;
}

/* Does it have to be told?  Of a large group a few know all numbers. */
static bool
tells_other(const struct scheduler *scheduler, const struct workload *workload,
            const struct verdict *verdict)
{
    return queue_is_exact(scheduler->queue, workload->object.self)
               ? reason_differs(workload, verdict)
               : reason_is_other(workload, verdict);
}

/* Tells waiting work what its group was told.  How many are asked at once does
 * not depend on the slice: what is told together is one decision.  True when
 * some were told, or more have to be asked. */
static bool
step_reasons(struct scheduler *scheduler, struct changes *changes)
{
    const struct group *group;
    struct ref ref = { 0 };
    int looks = TOLD_MAX;

    while (changes->count < REASONS_MAX &&
           !ref_is_none(ref = queue_unsaid(scheduler->queue, &group,
                                           &looks))) {
        const struct workload *workload =
            world_workload(changes->world, ref);

        if (tells_other(scheduler, workload, &group->verdict))
            reason_put(change_update(changes, ref), &group->verdict,
                       changes->context.now_ms);
    }
    (void)budget_take(&scheduler->budget, TOLD_MAX - looks);
    if (change_is_empty(changes))
        return looks <= 0;
    decided(scheduler, SCHEDULE_REASON,
            changes->count == 1 ? changes->list[0].ref : (struct ref){ 0 }, 0);
    return true;
}

/* Nobody who waits can be helped: elastic gangs grow into what is free. */
static bool
step_growth(struct scheduler *scheduler, struct changes *changes)
{
    struct growth growth;

    if (!scheduler->looking)
        place_index_keep(scheduler->estate);
    scheduler->budget.late = false;
    if (!grow_find(scheduler->grow, gate_of(scheduler), scheduler->estate,
                   scheduler->queue, changes->arena, &growth)) {
        scheduler->looking = scheduler->budget.late;
        scheduler->more = scheduler->looking;
        return false;
    }
    scheduler->looking = false;
    assign_grow(scheduler->estate, changes, growth.workload, &growth.request,
                growth.placement.seats, growth.number);
    decided(scheduler, SCHEDULE_GROW, growth.workload->object.self, 0);
    return true;
}

/* Looks at groups in their order, until something is decided or the slice is
 * over; when none is ready, tells what was found out, then looks at those whose
 * numbers may be others by now though they cannot start. */
static bool
step_queue(struct scheduler *scheduler, struct changes *changes)
{
    struct queue *queue = scheduler->queue;

    while (scheduler->budget.left > 0) {
        struct group *group = queue_first(queue, scheduler->estate);
        bool faded = group == NULL, more = false;
        enum looked looked;

        if (faded && step_reasons(scheduler, changes)) {
            if (!change_is_empty(changes))
                return true;
            continue;
        }
        if (faded)
            group = queue_faded(queue, scheduler->estate, &more);
        if (group == NULL) {
            scheduler->more = more;
            return !more && step_growth(scheduler, changes);
        }
        looked = look_at(scheduler, changes, group);
        (void)budget_take(&scheduler->budget, COST_LOOK);
        if (looked == LOOKED_DECIDED) {
            scheduler->surprises += faded;
            return true;
        }
        if (looked == LOOKED_LATER)
            break;
    }
    scheduler->more = true;
    return false;
}

/* Puts one decision into the set; false when there is none, or not yet. */
static bool
step(struct scheduler *scheduler, struct changes *changes)
{
    struct queue *queue = scheduler->queue;
    struct ref overdue;

    decided(scheduler, SCHEDULE_NOTHING, (struct ref){ 0 }, 0);
    if (scheduler->learning.arena != NULL ||
        expect_is_due(changes->world, &scheduler->news)) {
        scheduler->more = !expect_learn(&scheduler->learning, changes,
                                        &scheduler->budget);
        if (!scheduler->more)
            decided(scheduler, SCHEDULE_LEARN, (struct ref){ 0 }, 0);
        return !scheduler->more;
    }
    while (!ref_is_none(overdue = queue_overdue(queue))) {
        step_overdue(scheduler, changes, overdue);
        if (!change_is_empty(changes))
            return true;
    }
    decided(scheduler, SCHEDULE_NOTHING, (struct ref){ 0 }, 0);
    if (!schedule_is_settled(scheduler))
        return false;
    if (step_plans(scheduler, changes))
        return true;
    return step_queue(scheduler, changes);
}

/* A decision that was not applied: what it was about has to come up again.
 * Else its first change is what follows in the trail. */
static bool
was_dropped(const struct scheduler *scheduler, const struct world *world)
{
    return !ref_is_none(scheduler->pending) && scheduler->estate != NULL &&
           scheduler->estate->world == world &&
           scheduler->position >= trail_begin(world) &&
           (scheduler->position >= trail_end(world) ||
            !ref_equal(trail_at(world, scheduler->position)->ref,
                       scheduler->pending));
}

bool
schedule_step(struct scheduler *scheduler, struct changes *changes)
{
    uint64_t generation = world_generation(changes->world);

    assert(change_is_empty(changes));
    if (was_dropped(scheduler, changes->world))
        forget(scheduler);
    if (generation != scheduler->generation)
        scheduler->decisions = 0;
    scheduler->pending = (struct ref){ 0 };
    scheduler->more = false;
    scheduler->generation = generation;
    if (!follow(scheduler, changes->world, changes->context.now_ms)) {
        scheduler->more = true;
        return false;
    }
    if (!step(scheduler, changes))
        return false;
    for (size_t i = changes->count; i > 0; i--)
        if (!ref_is_none(changes->list[i - 1].ref))
            scheduler->pending = changes->list[i - 1].ref;
    scheduler->more = true;
    scheduler->generation = generation + 1;
    scheduler->decisions++;
    return true;
}

/* --- is it true? --- */

/* Would each that waits be told the same?  A start is booked for the first of
 * its group, whoever else of it is due. */
static const char *
compare_verdicts(struct scheduler *scheduler, struct arena *arena)
{
    const struct world *world = scheduler->estate->world;

    scheduler->budget = (struct budget){ .left = BUDGET_ALL };
    world_each(world, KIND_WORKLOAD, ref) {
        const struct group *group = queue_group(scheduler->queue, ref);
        struct evaluation evaluation = { 0 };

        if (group == NULL || !group->judged || group->ready != QUEUE_NONE)
            continue;
        evaluate_workload(gate_of(scheduler), scheduler->estate,
                          world_workload(world, ref), arena, &evaluation);
        if (evaluation.act == ACT_BOOK && group->members[0] != ref.index)
            continue;
        if (evaluation.act != ACT_WAIT)
            return "who waits";
        if (evaluation.drop)
            return "a nomination that is over";
        if (tells_other(scheduler, world_workload(world, ref),
                        &evaluation.verdict))
            return "why something waits";
    }
    return NULL;
}

bool
schedule_is_true(struct scheduler *scheduler, const struct world *world,
                 int64_t now_ms, const char **where_out)
{
    scoped_arena arena = arena_new();

    *where_out = NULL;
    if (!can_follow(scheduler, world, now_ms))
        return true; /* it will be made anew */
    if (scheduler->surprises > 0)
        *where_out = "who was to be woken";
    else if (scheduler->position == trail_end(world) && !scheduler->more &&
             schedule_is_settled(scheduler))
        *where_out = compare_verdicts(scheduler, arena);
    if (*where_out == NULL && scheduler->position == trail_end(world) &&
        !scheduler->more && scheduler->surprises == 0 &&
        schedule_is_settled(scheduler) &&
        !grow_is_true(scheduler->grow, gate_of(scheduler), scheduler->estate,
                      scheduler->queue, arena))
        *where_out = "a gang that could grow";
    if (*where_out == NULL && scheduler->position == trail_end(world))
        (void)estate_is_true(scheduler->estate, where_out);
    return *where_out == NULL;
}
