/* SPDX-License-Identifier: Apache-2.0 */
#include "core/schedule.h"

#include <assert.h>
#include <string.h>

#include "core/assign.h"
#include "core/lifecycle.h"
#include "core/manifest.h"
#include "core/queue.h"
#include "core/shortage.h"

/* Waiting workloads whose reasons go into one set. */
#define REASONS_MAX 64
/* Nodes are heard of without a change of the world: look again this often. */
#define LOOK_MS INT64_C(1000)

/* Requests that are equal get equal answers until something is given back,
 * and in a pass nothing is. */
struct group_key {
    struct ref project, user, class, pool, priority;
    int64_t instances, cpu_milli, memory_mib, max_run_ms;
    int64_t preemptible;
};
struct group {
    struct group_key key;
    struct verdict verdict;
    struct group *next;
};
#define GROUP_ROOM 1024

struct due {
    struct ref workload;
    enum schedule_what what;
};

struct pass {
    struct arena *arena;
    struct estate *estate;
    struct gate gate; /* what is used and promised */
    struct gate soon; /* the same, releases under way taken off */
    struct ledger balance;
    struct queue queue;
    struct due *dues;
    size_t due_count, due_done;
    struct group *groups[GROUP_ROOM];
    uint64_t generation; /* of the world that it goes on from */
    int64_t due_ms;
    bool changed; /* it has decided something */
    bool finished;
};

struct scheduler {
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
                                         "retire" };

    return names[what];
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
    pass->dues[pass->due_count++] = (struct due){ workload, what };
}

/* What time alone has brought: nominations that ran out, longest run times. */
static void
find_dues(struct pass *pass, const struct world *world, int64_t now_ms)
{
    pass->dues = arena_alloc(pass->arena, world_count(world, KIND_WORKLOAD) *
                                              sizeof(*pass->dues));
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
        if (hold != NULL)
            look_at(pass, hold->expires_ms);
        if (workload->max_run_ms > 0 && workload->started_ms > 0 &&
            lifecycle_is_live(workload->state))
            look_at(pass, end_ms);
    }
}

static void
pass_begin(struct pass *pass, const struct world *world, int64_t now_ms)
{
    if (pass->arena != NULL)
        arena_free(pass->arena);
    memset(pass, 0, sizeof(*pass));
    pass->arena = arena_new();
    pass->due_ms = now_ms + LOOK_MS;
    pass->generation = world_generation(world);
    pass->estate = estate_new(pass->arena, world, now_ms);
    find_dues(pass, world, now_ms);
    gate_init(&pass->gate, world, &pass->estate->promised, now_ms,
              pass->arena);
    queue_init(&pass->queue, pass->estate);
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
                                       workload->object.self)))
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

/* --- one workload --- */

enum todo { TODO_WAIT, TODO_ASSIGN, TODO_NOMINATE };

/* What is found out about one workload. */
struct evaluation {
    enum todo todo;
    struct verdict verdict; /* TODO_WAIT */
    bool drop;              /* its nomination is over */
    struct demand demand;
    struct place_request request;
    struct reclaim_plan plan;
};

/* One pool where it may run. */
struct option {
    struct ref pool;
    bool open; /* it passes the gate now */
    bool soon; /* it does when releases under way are done, or a release
                  within its own limits could make it pass */
    struct demand demand;
    struct place_request request;
    struct place_tally tally;
};

struct look {
    struct pass *pass;
    struct arena *arena;
    const struct workload *workload;
    bool nominated;
    struct option *options;
    size_t count;
    struct verdict closed; /* the nearest verdict of the gate */
    bool any_open;
};

static void
look_at_pool(struct look *look, struct option *option)
{
    struct pass *pass = look->pass;
    struct verdict verdict, later;
    struct demand demand;

    option->open = gate_check_pool(&pass->gate, look->workload, option->pool,
                                   &option->demand, &verdict);
    if (option->open) {
        option->soon = true;
        look->any_open = true;
    } else {
        if (look->closed.text[0] == '\0' ||
            (look->closed.state == WORKLOAD_REJECTED &&
             verdict.state == WORKLOAD_GATED))
            look->closed = verdict;
        if (verdict.reason != REASON_LIMIT)
            return;
        option->soon = gate_check_pool(&pass->soon, look->workload,
                                       option->pool, &demand, &later);
    }
    gate_request(option->open ? &pass->gate : &pass->soon, look->workload,
                 &option->demand, &option->request);
}

/* Is there a place now, in the best pool that has one? */
static bool
find_now(struct look *look, struct evaluation *evaluation)
{
    for (size_t i = 0; i < look->count; i++) {
        struct option *option = &look->options[i];

        if (!option->open ||
            !place_find(look->pass->estate, &option->request, PLACE_NOW,
                        look->arena, &evaluation->plan.placement,
                        &option->tally))
            continue;
        if (!estate_has_numbers(look->pass->estate, option->request.tenant,
                                look->workload->instances))
            continue;
        evaluation->todo = TODO_ASSIGN;
        evaluation->demand = option->demand;
        evaluation->request = option->request;
        return true;
    }
    return false;
}

/* Will there be a place when everything under way has given back? */
static struct option *
find_soon(struct look *look, struct placement *placement)
{
    for (size_t i = 0; i < look->count; i++) {
        struct option *option = &look->options[i];

        if (option->soon &&
            place_find(look->pass->estate, &option->request, PLACE_FUTURE,
                       look->arena, placement, NULL))
            return option;
    }
    return NULL;
}

/* Waits for what is under way; a claimant gets it held. */
static void
wait_soon(struct look *look, struct option *option,
          const struct placement *placement, struct evaluation *evaluation)
{
    const struct workload *workload = look->workload;

    evaluation->demand = option->demand;
    evaluation->request = option->request;
    if (!look->nominated && evaluation->demand.of[DIMENSION_CARDS] > 0 &&
        reclaim_is_claimant(look->pass->estate, &option->demand)) {
        evaluation->todo = TODO_NOMINATE;
        evaluation->plan = (struct reclaim_plan){ .placement = *placement };
        return;
    }
    if (look->nominated && workload->reason == REASON_RECLAIMING) {
        evaluation->verdict = (struct verdict){
            WORKLOAD_QUEUED, REASON_RECLAIMING, workload->reason_quota,
            workload->need,  workload->have,    workload->limit, ""
        };
        (void)snprintf(evaluation->verdict.text,
                       sizeof(evaluation->verdict.text), "%s",
                       workload->reason_text);
    } else if (!option->open) {
        evaluation->verdict = look->closed;
        evaluation->verdict.state = WORKLOAD_GATED;
    } else {
        shortage_say(look->pass->estate->world, &option->request,
                     &option->tally, &evaluation->verdict);
    }
}

static bool
find_victims(struct look *look, struct evaluation *evaluation)
{
    for (size_t i = 0; i < look->count; i++) {
        struct option *option = &look->options[i];

        /* A pool that is closed for good was never asked for. */
        if (option->request.class == NULL ||
            option->demand.of[DIMENSION_CARDS] == 0 ||
            !reclaim_find(look->pass->estate, look->workload, &option->demand,
                          &option->request, look->arena, &evaluation->plan))
            continue;
        evaluation->todo = TODO_NOMINATE;
        evaluation->demand = option->demand;
        evaluation->request = option->request;
        return true;
    }
    return false;
}

/* The verdict when nothing can be done: that of the open pool where most is
 * free, else of the gate. */
static void
say_wait(struct look *look, struct verdict *verdict)
{
    const struct option *best = NULL;

    for (size_t i = 0; i < look->count; i++)
        if (look->options[i].open &&
            (best == NULL || look->options[i].tally.free > best->tally.free))
            best = &look->options[i];
    if (best != NULL) {
        shortage_say(look->pass->estate->world, &best->request, &best->tally,
                     verdict);
    } else {
        *verdict = look->closed;
        verdict->state = WORKLOAD_GATED;
    }
}

static void
evaluate_pools(struct look *look, struct evaluation *evaluation)
{
    struct ref pools[GATE_POOLS_MAX];
    struct placement placement;
    struct option *option;

    look->count = gate_pools(look->pass->estate->world, look->workload, pools,
                             GATE_POOLS_MAX);
    look->options =
        arena_alloc(look->arena, look->count * sizeof(*look->options));
    if (look->count == 0)
        verdict_set(&look->closed, WORKLOAD_GATED, REASON_POLICY,
                    "there is no pool where it may run; a pool for its "
                    "tenant would let it start");
    for (size_t i = 0; i < look->count; i++) {
        look->options[i].pool = pools[i];
        look_at_pool(look, &look->options[i]);
    }
    if (find_now(look, evaluation))
        return;
    evaluation->todo = TODO_WAIT;
    option = find_soon(look, &placement);
    if (option != NULL) {
        wait_soon(look, option, &placement, evaluation);
        return;
    }
    evaluation->drop = look->nominated;
    if (!find_victims(look, evaluation))
        say_wait(look, &evaluation->verdict);
}

/* Fills the evaluation; changes nothing. */
static void
evaluate(struct pass *pass, struct arena *arena,
         const struct workload *workload, struct evaluation *evaluation)
{
    struct ref self = workload->object.self;
    struct look look = { .pass = pass, .arena = arena, .workload = workload };

    memset(evaluation, 0, sizeof(*evaluation));
    look.nominated = !ref_is_none(
        world_first_child(pass->estate->world, KIND_HOLD, self));
    if (!gate_check_policy(&pass->gate, workload, &evaluation->verdict)) {
        evaluation->verdict.state = WORKLOAD_GATED;
        evaluation->drop = look.nominated;
        return;
    }
    estate_own(pass->estate, self, true);
    ledger_copy(&pass->balance, &pass->estate->promised, arena);
    ledger_merge(&pass->balance, &pass->estate->leaving);
    gate_init(&pass->soon, pass->estate->world, &pass->balance,
              pass->estate->now_ms, arena);
    pass->soon.shapes = pass->gate.shapes;
    evaluate_pools(&look, evaluation);
    estate_own(pass->estate, self, false);
}

/* --- steps --- */

static void
put_reason(struct pass *pass, struct changes *changes,
           const struct workload *workload,
           const struct evaluation *evaluation)
{
    struct ref self = workload->object.self;

    if (evaluation->drop)
        assign_drop(pass->estate, changes, self);
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

static void
carry_out(struct scheduler *scheduler, struct changes *changes,
          const struct workload *workload,
          const struct evaluation *evaluation)
{
    struct estate *estate = scheduler->pass.estate;
    struct ref self = workload->object.self;

    if (evaluation->todo == TODO_ASSIGN) {
        assign_start(estate, changes, workload, &evaluation->request,
                     &evaluation->plan.placement);
        decided(scheduler, SCHEDULE_ASSIGN, self, 0);
    } else {
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
        evaluate(pass, pass->arena, workload, &evaluation);
        if (evaluation.todo != TODO_WAIT) {
            if (!change_is_empty(changes))
                return false;
            carry_out(scheduler, changes, workload, &evaluation);
            return true;
        }
        if (grouped)
            group_add(pass, &key, &evaluation.verdict);
    }
    put_reason(pass, changes, workload, &evaluation);
    return true;
}

static void
step_due(struct scheduler *scheduler, struct changes *changes)
{
    struct pass *pass = &scheduler->pass;
    const struct due *due = &pass->dues[pass->due_done++];

    if (due->what == SCHEDULE_EXPIRE) {
        struct workload *workload = change_update(changes, due->workload);
        struct verdict verdict;

        assign_drop(pass->estate, changes, due->workload);
        verdict_set(&verdict, WORKLOAD_QUEUED, REASON_NOT_EVALUATED,
                    "what was kept for it did not become free in time; not "
                    "yet evaluated again");
        reason_put(workload, &verdict, changes->context.now_ms);
    } else {
        lifecycle_stop(changes, due->workload, WORKLOAD_CANCELLING,
                       "max-run-time", NULL);
        for (size_t i = 0; i < pass->estate->run_count; i++)
            if (ref_equal(pass->estate->runs[i].workload, due->workload) &&
                !pass->estate->runs[i].leaving)
                estate_leave(pass->estate, &pass->estate->runs[i]);
    }
    decided(scheduler, due->what, due->workload, 0);
}

/* One set, or nothing and the pass is finished. */
static void
step(struct scheduler *scheduler, struct changes *changes)
{
    struct pass *pass = &scheduler->pass;
    struct ref ref;

    decided(scheduler, SCHEDULE_NOTHING, (struct ref){ 0 }, 0);
    if (pass->due_done < pass->due_count) {
        step_due(scheduler, changes);
        return;
    }
    while (!ref_is_none(ref = queue_take(&pass->queue, pass->estate))) {
        if (!look_at_workload(scheduler, changes, ref)) {
            queue_return(&pass->queue, pass->estate, ref);
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
    if (pass->arena == NULL || pass->generation != generation ||
        pass->estate->world != changes->world || pass->finished)
        pass_begin(pass, changes->world, now_ms);
    step(scheduler, changes);
    if (change_is_empty(changes) && pass->changed) {
        /* What was told early in a pass may be old by its end. */
        pass_begin(pass, changes->world, now_ms);
        step(scheduler, changes);
    }
    if (change_is_empty(changes))
        return false;
    pass->changed = true;
    pass->generation = generation + 1;
    return true;
}
