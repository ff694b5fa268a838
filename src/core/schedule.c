/* SPDX-License-Identifier: Apache-2.0 */
#include "core/schedule.h"

#include <assert.h>
#include <string.h>

#include "core/assign.h"
#include "core/evaluate.h"
#include "core/lifecycle.h"
#include "core/manifest.h"
#include "core/outlook.h"
#include "core/queue.h"
#include "core/reservation.h"
#include "core/timeline.h"

/* A pass that decided something is repeated; this often without anything new
 * from outside means that decisions chase each other, and time has to pass. */
#define REPEATS_MAX 32
/* Waiting workloads whose reasons go into one set. */
#define REASONS_MAX 64
/* Finished work stays in memory that long; then it is history. */
#define KEEP_MS (24 * INT64_C(3600000))
/* Finished workloads that leave in one set. */
#define RETIRE_MAX 32
/* Nodes are heard of without a change of the world: look again this often. */
#define LOOK_MS INT64_C(1000)

/* Requests that are equal get equal answers until something is given back,
 * and in a pass nothing is. */
struct group_key {
    struct ref project, user, class, pool, priority;
    int64_t instances, cpu_milli, memory_mib, max_run_ms;
    int64_t preemptible, kind, grace_ms, level;
};
struct group {
    struct group_key key;
    struct verdict verdict;
    struct group *next;
};
#define GROUP_ROOM 1024
/* Those at the head are the first to be booked: only they are counted for. */
#define PASSED_MAX 4
/* Bookings that one start can end. */
#define DISPLACED_MAX 64

struct chore {
    struct ref workload;
    enum schedule_what what;
};

struct pass {
    struct arena *arena;
    const struct estate *estate;
    struct gate gate;
    struct queue queue;
    struct chore *dues;
    size_t due_count, due_done;
    struct group *groups[GROUP_ROOM];
    struct ref passed[PASSED_MAX]; /* the first that wait in vain */
    size_t passed_count;
    uint64_t generation; /* of the world that it goes on from */
    int64_t due_ms;
    bool changed; /* it has decided something */
    int repeats;
    bool learns; /* what is expected is to be counted anew */
    bool finished;
};

struct scheduler {
    struct arena *arena; /* of the estate */
    struct estate *estate;
    uint64_t position; /* in the world's trail */
    struct pass pass;
    struct schedule_decision last;
};

struct scheduler *
scheduler_new(void)
{
    return memory_new(1, sizeof(struct scheduler));
}

void
scheduler_free(struct scheduler *scheduler)
{
    if (scheduler == NULL)
        return;
    if (scheduler->pass.arena != NULL)
        arena_free(scheduler->pass.arena);
    if (scheduler->arena != NULL)
        arena_free(scheduler->arena);
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
                                         "book", "cut", "reserve", "retire",
                                         "learn" };

    return names[what];
}

bool
schedule_is_settled(const struct scheduler *scheduler)
{
    return scheduler->pass.repeats < REPEATS_MAX;
}

int64_t
schedule_due_ms(const struct scheduler *scheduler)
{
    return scheduler->pass.finished ? scheduler->pass.due_ms : 0;
}

/* --- a pass begins --- */

static void
look_at(struct pass *pass, int64_t when_ms)
{
    if (when_ms > pass->estate->now_ms && when_ms < pass->due_ms)
        pass->due_ms = when_ms;
}

static void
add_due(struct pass *pass, struct ref workload, enum schedule_what what)
{
    pass->dues[pass->due_count++] = (struct chore){ workload, what };
}

static bool
is_history(const struct world *world, const struct workload *workload,
           int64_t now_ms)
{
    if (!lifecycle_is_over(workload->state) ||
        workload->ended_ms + KEEP_MS > now_ms)
        return false;
    world_each_child(world, KIND_INSTANCE, workload->object.self, ref)
        if (world_instance(world, ref)->state != INSTANCE_RELEASED)
            return false;
    return true;
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

/* What time alone has brought: nominations that ran out, longest run times,
 * finished work that is old. */
static void
find_dues(struct pass *pass, const struct world *world, int64_t now_ms)
{
    pass->dues = arena_alloc(pass->arena,
                             (world_count(world, KIND_WORKLOAD) +
                              world_count(world, KIND_RESERVATION)) *
                                 sizeof(*pass->dues));
    world_each(world, KIND_RESERVATION, ref) {
        int64_t due_ms = reservation_due_ms(
            pass->estate, world_reservation(world, ref));

        if (due_ms <= now_ms)
            add_due(pass, ref, SCHEDULE_RESERVE);
        look_at(pass, due_ms);
    }
    world_each(world, KIND_WORKLOAD, ref) {
        const struct workload *workload = world_workload(world, ref);
        const struct hold *hold = world_hold(
            world, world_first_child(world, KIND_HOLD, ref));
        int64_t end_ms = workload->started_ms + workload->max_run_ms;

        if (hold != NULL && hold->expires_ms <= now_ms)
            add_due(pass, ref, SCHEDULE_EXPIRE);
        else if ((workload->state == WORKLOAD_RUNNING ||
                  workload->state == WORKLOAD_STARTING) &&
                 workload->max_run_ms > 0 && workload->started_ms > 0 &&
                 end_ms <= now_ms)
            add_due(pass, ref, SCHEDULE_STOP);
        else if (hold != NULL && wants_cut(world, ref))
            add_due(pass, ref, SCHEDULE_CUT);
        else if (is_history(world, workload, now_ms))
            add_due(pass, ref, SCHEDULE_RETIRE);
        if (hold != NULL)
            look_at(pass, hold->expires_ms);
        look_at(pass, booking_has(world, ref)
                          ? booking_recall_ms(world, ref)
                          : booking_due_ms(world, workload));
        if (workload->max_run_ms > 0 && workload->started_ms > 0 &&
            lifecycle_is_live(workload->state))
            look_at(pass, end_ms);
    }
}

/* Brings the estate up to the world; a new one when it cannot follow. */
static void
follow(struct scheduler *scheduler, const struct world *world, int64_t now_ms)
{
    struct estate *estate = scheduler->estate;
    uint64_t end = trail_end(world);

    if (estate != NULL && estate->world == world &&
        now_ms >= estate->now_ms &&
        scheduler->position >= trail_begin(world) &&
        scheduler->position <= end) {
        while (scheduler->position < end)
            estate_note(estate, trail_at(world, scheduler->position++));
        estate_settle(estate, now_ms);
        return;
    }
    if (scheduler->arena != NULL)
        arena_free(scheduler->arena);
    scheduler->arena = arena_new();
    scheduler->estate = estate_new(scheduler->arena, world, now_ms);
    scheduler->position = end;
}

bool
schedule_is_true(struct scheduler *scheduler, const struct world *world,
                 int64_t now_ms, const char **where_out)
{
    follow(scheduler, world, now_ms);
    return estate_is_true(scheduler->estate, where_out);
}

static void
pass_begin(struct scheduler *scheduler, const struct world *world,
           int64_t now_ms)
{
    struct pass *pass = &scheduler->pass;

    if (pass->arena != NULL)
        arena_free(pass->arena);
    memset(pass, 0, sizeof(*pass));
    pass->arena = arena_new();
    pass->due_ms = now_ms + LOOK_MS;
    pass->generation = world_generation(world);
    pass->estate = scheduler->estate;
    pass->learns = outlook_is_due(world);
    find_dues(pass, world, now_ms);
    gate_init(&pass->gate, world, &pass->estate->promised, now_ms,
              pass->arena);
    queue_init(&pass->queue, scheduler->estate, pass->arena);
}

/* --- groups --- */

static bool
group_key_of(const struct world *world, const struct workload *workload,
             struct group_key *key)
{
    struct ref volume;

    /* These depend on more than the request. */
    if (manifest_volumes(world, workload->spec, &volume, 1) > 0 ||
        (workload->attempt > 0 &&
         workload->recovery == RECOVERY_SAME_POOL) ||
        !ref_is_none(world_first_child(world, KIND_HOLD,
                                       workload->object.self)) ||
        booking_has(world, workload->object.self))
        return false;
    memset(key, 0, sizeof(*key));
    key->project = workload->object.parent;
    key->user = workload->user;
    key->class = workload->class;
    key->pool = workload->pool;
    key->priority = workload->priority;
    key->instances = workload->instances;
    key->cpu_milli = workload->cpu_milli;
    key->memory_mib = workload->memory_mib;
    key->max_run_ms = workload->max_run_ms;
    key->preemptible = workload->preemptible;
    key->level = manifest_topology(workload->spec);
    key->kind = workload->kind;
    key->grace_ms = workload->grace_ms;
    return true;
}

static struct group **
group_place(struct pass *pass, const struct group_key *key)
{
    static const struct hash_key any = { 0, 0 }; /* order does not depend */

    return &pass->groups[hash_bytes(&any, key, sizeof(*key)) % GROUP_ROOM];
}

static const struct verdict *
group_find(struct pass *pass, const struct group_key *key)
{
    for (struct group *group = *group_place(pass, key); group != NULL;
         group = group->next)
        if (memcmp(&group->key, key, sizeof(*key)) == 0)
            return &group->verdict;
    return NULL;
}

static void
group_add(struct pass *pass, const struct group_key *key,
          const struct verdict *verdict)
{
    struct group *group = arena_alloc(pass->arena, sizeof(*group));

    group->key = *key;
    group->verdict = *verdict;
    group->next = *group_place(pass, key);
    *group_place(pass, key) = group;
}

/* --- steps --- */

static void
put_reason(struct changes *changes,
           const struct workload *workload,
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

/* Does it wait for what others can take before it? */
static bool
can_be_passed(const struct evaluation *evaluation)
{
    enum reason reason = evaluation->verdict.reason;

    return evaluation->act == ACT_WAIT &&
           (reason == REASON_LIMIT || reason == REASON_CAPACITY ||
            reason == REASON_FRAGMENTED || reason == REASON_HANDOVER ||
            reason == REASON_NODE);
}

static void
note_passed(struct pass *pass, const struct workload *workload,
            const struct evaluation *evaluation)
{
    if (pass->passed_count < PASSED_MAX &&
        can_be_passed(evaluation) &&
        !booking_has(pass->estate->world, workload->object.self))
        pass->passed[pass->passed_count++] = workload->object.self;
}

/* One that came after them starts: counts for those that wait for the same
 * pool. */
static void
count_passed(struct pass *pass, struct changes *changes, struct ref pool)
{
    for (size_t i = 0; i < pass->passed_count; i++) {
        const struct workload *workload =
            world_workload(changes->world, pass->passed[i]);

        if (workload != NULL &&
            (ref_is_none(workload->pool) || ref_equal(workload->pool, pool)))
            ((struct workload *)change_update(changes, pass->passed[i]))
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
          const struct workload *workload,
          const struct evaluation *evaluation)
{
    const struct estate *estate = scheduler->estate;
    struct ref self = workload->object.self;

    if (!ref_is_none(evaluation->from))
        give_up(changes, evaluation->from,
                "what was kept for it went to work of a higher priority");
    if (evaluation->act == ACT_ASSIGN) {
        end_bookings(estate, changes, workload, evaluation);
        assign_start(estate, changes, workload, &evaluation->request,
                     &evaluation->plan.placement);
        count_passed(&scheduler->pass, changes, evaluation->request.pool);
        decided(scheduler, SCHEDULE_ASSIGN, self, 0);
    } else if (evaluation->act == ACT_BOOK) {
        booking_put(estate, changes, workload, evaluation->request.class,
                    &evaluation->booking);
        reason_put(change_update(changes, self), &evaluation->verdict,
                   changes->context.now_ms);
        decided(scheduler, SCHEDULE_BOOK, self, 0);
    } else {
        end_bookings(estate, changes, workload, evaluation);
        assign_nominate(estate, changes, workload, &evaluation->demand,
                        &evaluation->request, &evaluation->plan);
        decided(scheduler, SCHEDULE_NOMINATE, self, evaluation->plan.count);
    }
}

/* Looks at one workload.  False: it needs a set of its own, and comes back. */
static bool
look_at_workload(struct scheduler *scheduler, struct changes *changes,
                 struct ref ref)
{
    struct pass *pass = &scheduler->pass;
    const struct workload *workload = world_workload(changes->world, ref);
    struct evaluation evaluation = { 0 };
    struct group_key key;
    bool grouped = group_key_of(changes->world, workload, &key);
    const struct verdict *known = grouped ? group_find(pass, &key) : NULL;

    if (workload->next_try_ms > pass->estate->now_ms) {
        look_at(pass, workload->next_try_ms);
        return true;
    }
    if (known != NULL) {
        evaluation.verdict = *known;
    } else {
        evaluate_workload(&pass->gate, scheduler->estate, workload,
                          changes->arena, &evaluation);
        if (evaluation.act != ACT_WAIT) {
            if (!change_is_empty(changes))
                return false;
            carry_out(scheduler, changes, workload, &evaluation);
            return true;
        }
        note_passed(pass, workload, &evaluation);
        if (grouped)
            group_add(pass, &key, &evaluation.verdict);
    }
    put_reason(changes, workload, &evaluation);
    if (evaluation.drop) /* others are to see what it gives back */
        decided(scheduler, SCHEDULE_REASON, ref, 0);
    return true;
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
retire_some(struct pass *pass, struct changes *changes)
{
    int count = 0;

    while (pass->due_done < pass->due_count && count++ < RETIRE_MAX &&
           pass->dues[pass->due_done].what == SCHEDULE_RETIRE)
        retire(changes, pass->dues[pass->due_done++].workload);
}

static void
step_due(struct scheduler *scheduler, struct changes *changes)
{
    struct pass *pass = &scheduler->pass;
    const struct chore due = pass->dues[pass->due_done];
    size_t victims = 0;

    decided(scheduler, due.what, due.workload, 0);
    if (due.what == SCHEDULE_RETIRE) {
        retire_some(pass, changes);
        decided(scheduler, due.what, (struct ref){ 0 }, 0);
        return;
    }
    pass->due_done++;
    if (due.what == SCHEDULE_RESERVE) {
        (void)reservation_step(pass->estate, changes, due.workload, &victims);
        decided(scheduler, due.what, due.workload, victims);
    } else if (due.what == SCHEDULE_EXPIRE) {
        give_up(changes, due.workload,
                "what was kept for it did not become free in time");
    } else if (due.what == SCHEDULE_CUT) {
        assign_cut(changes, due.workload);
    } else {
        lifecycle_stop(changes, due.workload, WORKLOAD_CANCELLING,
                       "max-run-time", NULL);
    }
}

/* One set, or nothing and the pass is finished. */
static void
step(struct scheduler *scheduler, struct changes *changes)
{
    struct pass *pass = &scheduler->pass;
    struct ref ref;

    decided(scheduler, SCHEDULE_NOTHING, (struct ref){ 0 }, 0);
    if (pass->learns) {
        pass->learns = false;
        outlook_put(changes);
        decided(scheduler, SCHEDULE_LEARN, (struct ref){ 0 }, 0);
        return;
    }
    while (pass->due_done < pass->due_count) {
        step_due(scheduler, changes);
        if (!change_is_empty(changes))
            return;
    }
    decided(scheduler, SCHEDULE_NOTHING, (struct ref){ 0 }, 0);
    while (!ref_is_none(ref = queue_take(&pass->queue, scheduler->estate))) {
        if (!look_at_workload(scheduler, changes, ref)) {
            queue_return(&pass->queue, scheduler->estate, ref);
            break;
        }
        if (scheduler->last.what != SCHEDULE_NOTHING)
            return;
        if (changes->count >= REASONS_MAX)
            break;
    }
    if (!change_is_empty(changes))
        decided(scheduler, SCHEDULE_REASON,
                changes->count == 1 ? changes->list[0].ref
                                    : (struct ref){ 0 },
                0);
    else
        pass->finished = true;
}

bool
schedule_step(struct scheduler *scheduler, struct changes *changes)
{
    struct pass *pass = &scheduler->pass;
    uint64_t generation = world_generation(changes->world);
    int64_t now_ms = changes->context.now_ms;

    assert(change_is_empty(changes));
    if (pass->arena != NULL && pass->generation == generation &&
        pass->estate->world == changes->world && pass->finished &&
        now_ms < pass->due_ms && now_ms >= pass->estate->now_ms)
        return false;
    follow(scheduler, changes->world, now_ms);
    if (pass->arena == NULL || pass->generation != generation ||
        pass->estate != scheduler->estate || pass->finished)
        pass_begin(scheduler, changes->world, now_ms);
    step(scheduler, changes);
    if (change_is_empty(changes) && pass->changed &&
        pass->repeats < REPEATS_MAX) {
        /* What was told early in a pass may be old by its end. */
        int repeats = pass->repeats + 1;

        pass_begin(scheduler, changes->world, now_ms);
        pass->repeats = repeats;
        step(scheduler, changes);
    }
    if (change_is_empty(changes))
        return false;
    pass->changed = true;
    pass->generation = generation + 1;
    return true;
}
