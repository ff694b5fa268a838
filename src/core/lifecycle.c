/* SPDX-License-Identifier: Apache-2.0 */
#include "core/lifecycle.h"

#include <inttypes.h>
#include <string.h>

#include "core/reason.h"
#include "core/usage.h"

#define BACKOFF_FIRST_MS INT64_C(5000)
#define BACKOFF_MAX_MS INT64_C(600000)
/* Failed starts that a workload is given on top of its restarts: the fault is
 * more often the place's than the workload's. */
#define START_TRIES 5

bool
lifecycle_is_waiting(int state)
{
    return state == WORKLOAD_HELD || state == WORKLOAD_GATED ||
           state == WORKLOAD_QUEUED;
}

bool
lifecycle_is_live(int state)
{
    return state >= WORKLOAD_ASSIGNED && state <= WORKLOAD_LOST;
}

bool
lifecycle_is_over(int state)
{
    return state == WORKLOAD_REJECTED || state >= WORKLOAD_SUCCEEDED;
}

/* Could the instance still run? */
static bool
is_up(const struct instance *instance)
{
    return instance->state != INSTANCE_EXITED &&
           instance->state != INSTANCE_RELEASED;
}

static const struct instance *
instance_of(const struct changes *changes, struct ref ref)
{
    return ref.kind == KIND_INSTANCE ? change_get(changes, ref) : NULL;
}

static const struct workload *
workload_of(const struct changes *changes, const struct instance *instance)
{
    return change_get(changes, instance->object.parent);
}

static bool
is_current(const struct workload *workload, const struct instance *instance)
{
    return workload != NULL && lifecycle_is_live(workload->state) &&
           instance->attempt == workload->attempt;
}

static struct workload *
move(struct changes *changes, struct ref ref, int state)
{
    struct workload *workload = change_update(changes, ref);

    if (workload->state != state) {
        workload->state = state;
        workload->state_ms = changes->context.now_ms;
    }
    return workload;
}

int64_t
lifecycle_grace(const struct world *world, const struct workload *workload)
{
    const struct platform *platform =
        world_platform(world, world_platform_ref(world));
    int64_t grace = workload->grace_ms;

    if (platform == NULL)
        return grace;
    if (grace == 0)
        grace = workload->kind == WORKLOAD_BATCH ? platform->grace_batch_ms
                                                 : platform->grace_service_ms;
    if (platform->grace_max_ms > 0 && grace > platform->grace_max_ms)
        grace = platform->grace_max_ms;
    return grace;
}

void
lifecycle_drop_nomination(struct changes *changes, struct ref workload)
{
    world_each_child(changes->world, KIND_HOLD, workload, ref) {
        const struct hold *hold = change_get(changes, ref);

        if (hold == NULL)
            continue;
        usage_cut(changes, hold->card);
        change_delete(changes, ref);
    }
}

void
lifecycle_drop_holds(struct changes *changes, struct ref workload)
{
    lifecycle_drop_nomination(changes, workload);
    world_each_child(changes->world, KIND_BOOKING, workload, ref) {
        const struct booking *booking = change_get(changes, ref);

        if (booking == NULL)
            continue;
        usage_cut(changes, booking->card);
        change_delete(changes, ref);
        ((struct workload *)change_update(changes, workload))->booked_ms = 0;
    }
}

/* --- stopping --- */

static void
stop_instance(struct changes *changes, struct ref ref, int64_t deadline_ms,
              const char *reason)
{
    const struct instance *present = instance_of(changes, ref);
    struct instance *instance;

    if (present == NULL || !is_up(present) || present->want == WANT_STOP)
        return;
    instance = change_update(changes, ref);
    (void)snprintf(instance->want_reason, sizeof(instance->want_reason), "%s",
                   reason);
    if (present->want == WANT_NOTICE) /* the first deadline stands */
        return;
    instance->deadline_ms = deadline_ms;
    /* What has not begun has nothing to save. */
    instance->want = instance->started_ms == 0 ? WANT_STOP : WANT_NOTICE;
    if (instance->state != INSTANCE_LOST)
        instance->state = INSTANCE_STOPPING;
}

static void
stop_instances(struct changes *changes, const struct workload *workload,
               const char *reason)
{
    int64_t deadline_ms = changes->context.now_ms +
                          lifecycle_grace(changes->world, workload);

    world_each_child(changes->world, KIND_INSTANCE, workload->object.self,
                     ref) {
        const struct instance *instance = instance_of(changes, ref);

        if (instance != NULL && instance->attempt == workload->attempt)
            stop_instance(changes, ref, deadline_ms, reason);
    }
}

void
lifecycle_stop(struct changes *changes, struct ref ref, int state,
               const char *reason, const char *proof)
{
    const struct workload *present = change_get(changes, ref);
    struct workload *workload;

    if (present == NULL || !lifecycle_is_live(present->state) ||
        present->state == WORKLOAD_CANCELLING)
        return;
    if (state == WORKLOAD_PREEMPTING && present->state != state) {
        workload = move(changes, ref, state);
        workload->preemptions++;
    } else {
        workload = move(changes, ref, state);
    }
    if (proof != NULL)
        change_doc(changes, &workload->proof, proof);
    stop_instances(changes, workload, reason);
}

/* --- the end of an attempt --- */

static void
end(struct changes *changes, struct ref ref, int state, const char *why)
{
    struct workload *workload = move(changes, ref, state);

    reason_clear(workload);
    (void)snprintf(workload->reason_text, sizeof(workload->reason_text), "%s",
                   why);
    workload->ended_ms = changes->context.now_ms;
    lifecycle_drop_holds(changes, ref);
}

/* Back to the queue, through the gate. */
static void
submit_again(struct changes *changes, struct ref ref, int64_t wait_ms,
             const char *why)
{
    struct workload *workload = change_update(changes, ref);
    struct verdict verdict;

    if (wait_ms > 0)
        verdict_set(&verdict, WORKLOAD_QUEUED, REASON_BACKOFF,
                    "%s; it is tried again after %" PRId64 " s", why,
                    wait_ms / 1000);
    else
        verdict_set(&verdict, WORKLOAD_QUEUED, REASON_NOT_EVALUATED,
                    "%s; not yet evaluated again", why);
    reason_put(workload, &verdict, changes->context.now_ms);
    workload->started_ms = 0;
    workload->next_try_ms =
        wait_ms > 0 ? changes->context.now_ms + wait_ms : 0;
}

static int64_t
backoff(int64_t failures)
{
    int64_t wait = BACKOFF_FIRST_MS;

    while (--failures > 0 && wait < BACKOFF_MAX_MS)
        wait *= 2;
    return wait < BACKOFF_MAX_MS ? wait : BACKOFF_MAX_MS;
}

/* What the instances of an attempt say together. */
struct outcome {
    bool all_good;  /* every one ran and ended with 0 */
    bool over_time; /* stopped for its longest run time */
    bool by_hand;   /* stopped by an operator */
    bool by_quota;  /* stopped by its quota */
    const struct instance *failed; /* the first that failed by itself */
    int64_t bad_starts; /* attempts, all of the workload */
};

static bool
failed_by_itself(const struct instance *instance)
{
    return instance->state >= INSTANCE_EXITED &&
           instance->state != INSTANCE_LOST && instance->want == WANT_RUN &&
           (instance->failure[0] != '\0' || instance->exit_code != 0);
}

static struct outcome
outcome_of(const struct changes *changes, const struct workload *workload)
{
    struct outcome outcome = { .all_good = true };
    int64_t counted = 0;

    world_each_child(changes->world, KIND_INSTANCE, workload->object.self,
                     ref) {
        const struct instance *instance = instance_of(changes, ref);

        if (instance == NULL)
            continue;
        if (instance->failure[0] != '\0' && instance->want == WANT_RUN &&
            instance->attempt != counted) {
            counted = instance->attempt;
            outcome.bad_starts++;
        }
        if (instance->attempt != workload->attempt)
            continue;
        if (instance->exit_code != 0 || instance->started_ms == 0)
            outcome.all_good = false;
        if (strcmp(instance->want_reason, "max-run-time") == 0)
            outcome.over_time = true;
        if (strcmp(instance->want_reason, LIFECYCLE_BY_HAND) == 0)
            outcome.by_hand = true;
        if (strcmp(instance->want_reason, LIFECYCLE_QUOTA) == 0)
            outcome.by_quota = true;
        if (failed_by_itself(instance) &&
            (outcome.failed == NULL ||
             instance->ended_ms < outcome.failed->ended_ms))
            outcome.failed = instance;
    }
    return outcome;
}

static void
settle_failure(struct changes *changes, struct ref ref,
               const struct outcome *outcome)
{
    struct workload *workload = change_update(changes, ref);
    const struct instance *failed = outcome->failed;
    bool start = failed != NULL && failed->failure[0] != '\0';
    int64_t left;
    char why[TEXT_MAX_SIZE];

    workload->failures++;
    if (start) {
        (void)snprintf(why, sizeof(why), "it could not be started: %s",
                       failed->failure);
        left = START_TRIES - outcome->bad_starts;
    } else {
        (void)snprintf(why, sizeof(why), "it ended with exit code %" PRId64
                                         "%s",
                       failed != NULL ? failed->exit_code : 1,
                       failed != NULL && failed->oom
                           ? ", out of its memory limit"
                           : "");
        workload->exit_code = failed != NULL ? failed->exit_code : 1;
        workload->oom = failed != NULL && failed->oom;
        left = workload->restarts -
               (workload->failures - outcome->bad_starts);
    }
    if (left >= 0)
        submit_again(changes, ref, backoff(workload->failures), why);
    else
        end(changes, ref, WORKLOAD_FAILED, why);
}

static void
settle_run(struct changes *changes, struct ref ref,
           const struct outcome *outcome)
{
    const struct workload *workload = change_get(changes, ref);

    if (!outcome->all_good) {
        settle_failure(changes, ref, outcome);
    } else if (workload->kind == WORKLOAD_SERVICE &&
               workload->failures < workload->restarts) {
        struct workload *again = change_update(changes, ref);

        again->failures++;
        submit_again(changes, ref, backoff(again->failures),
                     "the service ended by itself");
    } else {
        end(changes, ref, WORKLOAD_SUCCEEDED, "");
    }
}

/* Is anything of this attempt not given back?  A lost instance counts as
 * gone where the workload may recover: its cards stay bound, its work may
 * begin elsewhere. */
static bool
is_pending(const struct changes *changes, const struct workload *workload,
           bool *lost_out)
{
    *lost_out = false;
    world_each_child(changes->world, KIND_INSTANCE, workload->object.self,
                     ref) {
        const struct instance *instance = instance_of(changes, ref);

        if (instance == NULL || instance->attempt != workload->attempt ||
            instance->state == INSTANCE_RELEASED)
            continue;
        if (instance->state != INSTANCE_LOST ||
            workload->recovery == RECOVERY_NEVER)
            return true;
        *lost_out = true;
    }
    return false;
}

/* Moves a workload on once its attempt is over. */
static void
settle(struct changes *changes, struct ref ref)
{
    const struct workload *workload = change_get(changes, ref);
    struct outcome outcome;
    bool lost;

    if (workload == NULL || !lifecycle_is_live(workload->state) ||
        is_pending(changes, workload, &lost))
        return;
    outcome = outcome_of(changes, workload);
    if (workload->state == WORKLOAD_CANCELLING) {
        if (lost)
            return;
        if (outcome.over_time)
            end(changes, ref, WORKLOAD_FAILED,
                "it ran for longer than its longest run time");
        else
            end(changes, ref, WORKLOAD_CANCELLED, "");
    } else if (lost) {
        submit_again(changes, ref, 0, "its node was lost");
    } else if (workload->state == WORKLOAD_PREEMPTING) {
        if (outcome.all_good)
            end(changes, ref, WORKLOAD_SUCCEEDED, "");
        else
            submit_again(changes, ref, 0,
                         outcome.by_hand
                             ? "an operator took it off its cards"
                         : outcome.by_quota
                             ? "it was stopped by a quota that is used up"
                             : "it was stopped to make room for others");
    } else {
        settle_run(changes, ref, &outcome);
    }
}

/* --- what was seen --- */

/* The workload's state from its live instances, while it comes up or back. */
static void
refresh(struct changes *changes, struct ref ref)
{
    const struct workload *workload = change_get(changes, ref);
    bool lost = false, waiting = false, begun = false;
    struct workload *image;

    if (workload->state != WORKLOAD_ASSIGNED &&
        workload->state != WORKLOAD_STARTING &&
        workload->state != WORKLOAD_LOST && workload->state != WORKLOAD_RUNNING)
        return;
    world_each_child(changes->world, KIND_INSTANCE, ref, child) {
        const struct instance *instance = instance_of(changes, child);

        if (instance == NULL || instance->attempt != workload->attempt)
            continue;
        lost |= instance->state == INSTANCE_LOST;
        waiting |= instance->started_ms == 0 && is_up(instance);
        begun |= instance->state != INSTANCE_ASSIGNED;
    }
    image = move(changes, ref,
                 lost      ? WORKLOAD_LOST
                 : waiting ? (begun ? WORKLOAD_STARTING : WORKLOAD_ASSIGNED)
                           : WORKLOAD_RUNNING);
    if (image->state == WORKLOAD_RUNNING && image->started_ms == 0)
        image->started_ms = changes->context.now_ms;
}

void
lifecycle_starting(struct changes *changes, struct ref ref)
{
    const struct instance *present = instance_of(changes, ref);

    if (present == NULL || present->state != INSTANCE_ASSIGNED)
        return;
    ((struct instance *)change_update(changes, ref))->state =
        INSTANCE_STARTING;
    if (is_current(workload_of(changes, present), present))
        refresh(changes, present->object.parent);
}

/* The longest run time counts from the start, not from the assignment. */
static void
count_from_start(struct changes *changes, struct ref ref)
{
    const struct instance *instance = instance_of(changes, ref);
    const struct workload *workload = workload_of(changes, instance);

    world_each_child(changes->world, KIND_BINDING, ref, at) {
        const struct binding *binding = change_get(changes, at);

        if (binding != NULL && binding->to_ms == 0 && binding->until_ms > 0)
            ((struct binding *)change_update(changes, at))->until_ms =
                workload->started_ms + workload->max_run_ms;
    }
}

void
lifecycle_started(struct changes *changes, struct ref ref)
{
    const struct instance *present = instance_of(changes, ref);
    const struct workload *workload;
    struct instance *instance;

    if (present == NULL || !is_up(present) || present->started_ms != 0)
        return;
    instance = change_update(changes, ref);
    instance->started_ms = changes->context.now_ms;
    if (instance->state == INSTANCE_ASSIGNED ||
        instance->state == INSTANCE_STARTING)
        instance->state = INSTANCE_RUNNING;
    workload = workload_of(changes, instance);
    if (!is_current(workload, instance))
        return;
    if (workload->started_ms == 0)
        ((struct workload *)change_update(changes, instance->object.parent))
            ->started_ms = changes->context.now_ms;
    count_from_start(changes, ref);
    refresh(changes, instance->object.parent);
}

/* One member of a gang is gone for bad: the others cannot go on. */
static void
fail_gang(struct changes *changes, const struct instance *instance)
{
    const struct workload *workload = workload_of(changes, instance);

    if (!is_current(workload, instance))
        return;
    refresh(changes, instance->object.parent);
    workload = workload_of(changes, instance);
    if (failed_by_itself(instance))
        stop_instances(changes, workload, "gang");
}

void
lifecycle_start_failed(struct changes *changes, struct ref ref,
                       const char *why)
{
    const struct instance *present = instance_of(changes, ref);
    struct instance *instance;

    if (present == NULL || !is_up(present))
        return;
    instance = change_update(changes, ref);
    instance->state = INSTANCE_EXITED;
    instance->ended_ms = changes->context.now_ms;
    instance->exit_code = -1;
    (void)snprintf(instance->failure, sizeof(instance->failure), "%s",
                   why != NULL && why[0] != '\0' ? why : "unknown reason");
    fail_gang(changes, instance);
}

void
lifecycle_exited(struct changes *changes, struct ref ref, int64_t exit_code,
                 bool oom)
{
    const struct instance *present = instance_of(changes, ref);
    struct instance *instance;

    if (present == NULL || !is_up(present))
        return;
    instance = change_update(changes, ref);
    instance->state = INSTANCE_EXITED;
    instance->ended_ms = changes->context.now_ms;
    instance->exit_code = exit_code;
    instance->oom = oom;
    fail_gang(changes, instance);
}

/* --- release --- */

static bool
is_bound(const struct changes *changes, struct ref card)
{
    world_each_index(changes->world, KIND_BINDING, 0, card, ref) {
        const struct binding *binding = change_get(changes, ref);

        if (binding != NULL && binding->to_ms == 0)
            return true;
    }
    return false;
}

/* A slice waits for its own scrub; the card's others go on. */
static void
add_dirty(struct card *card, const char *slice)
{
    size_t used = strlen(card->dirty);

    (void)snprintf(card->dirty + used, sizeof(card->dirty) - used, "%s%s",
                   used > 0 ? " " : "", slice);
}

static void
close_binding(struct changes *changes, struct ref ref, struct ref tenant)
{
    const struct binding *present = change_get(changes, ref);
    struct binding *binding;
    struct card *card;

    if (present == NULL || present->to_ms != 0)
        return;
    usage_cut(changes, present->card);
    binding = change_update(changes, ref);
    binding->to_ms = changes->context.now_ms;
    if (change_get(changes, binding->card) == NULL)
        return;
    card = change_update(changes, binding->card);
    if (binding->slice[0] != '\0') {
        add_dirty(card, binding->slice);
        return;
    }
    card->last_tenant = tenant;
    if (card->handover == HANDOVER_CLEAN && !is_bound(changes, binding->card))
        card->handover = HANDOVER_PENDING;
}

void
lifecycle_released(struct changes *changes, struct ref ref)
{
    const struct instance *present = instance_of(changes, ref);
    struct instance *instance;

    if (present == NULL || present->state == INSTANCE_RELEASED)
        return;
    instance = change_update(changes, ref);
    if (instance->ended_ms == 0) {
        instance->ended_ms = changes->context.now_ms;
        instance->exit_code = -1; /* nobody saw how it ended */
    }
    instance->state = INSTANCE_RELEASED;
    world_each_child(changes->world, KIND_BINDING, ref, binding)
        close_binding(changes, binding, instance->object.scope);
    if (is_current(workload_of(changes, instance), instance))
        settle(changes, instance->object.parent);
}

/* --- loss and return --- */

static void
lose_instance(struct changes *changes, struct ref ref)
{
    const struct instance *present = instance_of(changes, ref);
    const struct workload *workload;
    struct instance *instance;

    if (present == NULL || !is_up(present) ||
        present->state == INSTANCE_LOST)
        return;
    instance = change_update(changes, ref);
    instance->state = INSTANCE_LOST;
    workload = workload_of(changes, instance);
    if (!is_current(workload, instance))
        return;
    refresh(changes, instance->object.parent);
    if (workload->recovery == RECOVERY_NEVER)
        return;
    /* It may begin elsewhere, so this one must not go on when it is back. */
    instance->want = WANT_STOP;
    (void)snprintf(instance->want_reason, sizeof(instance->want_reason),
                   "lost");
    stop_instances(changes, workload_of(changes, instance), "gang");
    settle(changes, instance->object.parent);
}

void
lifecycle_lost(struct changes *changes, struct ref node)
{
    world_each_index(changes->world, KIND_INSTANCE, 0, node, ref)
        lose_instance(changes, ref);
}

void
lifecycle_back(struct changes *changes, struct ref ref)
{
    const struct instance *present = instance_of(changes, ref);
    const struct workload *workload;
    struct instance *instance;

    if (present == NULL || present->state != INSTANCE_LOST)
        return;
    instance = change_update(changes, ref);
    workload = workload_of(changes, instance);
    if (!is_current(workload, instance))
        instance->want = WANT_STOP;
    instance->state = instance->want != WANT_RUN      ? INSTANCE_STOPPING
                      : instance->started_ms != 0 ? INSTANCE_RUNNING
                                                      : INSTANCE_STARTING;
    if (is_current(workload, instance))
        refresh(changes, instance->object.parent);
}

void
lifecycle_checkpoint(struct changes *changes, struct ref ref, int64_t step,
                     int64_t time_ms)
{
    const struct instance *instance = instance_of(changes, ref);
    const struct workload *present;
    struct workload *workload;

    if (instance == NULL)
        return;
    present = workload_of(changes, instance);
    if (!is_current(present, instance) || time_ms < present->checkpoint_ms)
        return;
    workload = change_update(changes, instance->object.parent);
    workload->checkpoint_step = step;
    workload->checkpoint_ms = time_ms;
}
