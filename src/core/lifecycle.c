/* SPDX-License-Identifier: Apache-2.0 */
#include "core/lifecycle_private.h"

#include <assert.h>
#include <string.h>

#include "core/reason.h"
#include "core/recovery.h"
#include "core/usage.h"

/* Before a gang tries to grow again after a start that failed. */
#define GROWTH_PAUSE_MS INT64_C(60000)
/* A card that is told to have failed was so before, when what ran on it ended
 * with an error. */
#define LATE_MS INT64_C(60000)

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
lifecycle_is_stopping(int state)
{
    return state == WORKLOAD_PREEMPTING || state == WORKLOAD_CANCELLING;
}

bool
lifecycle_is_over(int state)
{
    return state == WORKLOAD_REJECTED || state >= WORKLOAD_SUCCEEDED;
}

bool
lifecycle_is_up(const struct instance *instance)
{
    return instance->state != INSTANCE_EXITED &&
           instance->state != INSTANCE_RELEASED;
}

const struct instance *
lifecycle_instance(const struct changes *changes, struct ref ref)
{
    return ref.kind == KIND_INSTANCE ? change_get(changes, ref) : NULL;
}

const struct workload *
lifecycle_workload(const struct changes *changes,
                   const struct instance *instance)
{
    return change_get(changes, instance->object.parent);
}

bool
lifecycle_is_current(const struct workload *workload,
                     const struct instance *instance)
{
    return workload != NULL && lifecycle_is_live(workload->state) &&
           instance->attempt == workload->attempt;
}

struct workload *
lifecycle_move(struct changes *changes, struct ref ref, int state)
{
    struct workload *workload = change_update(changes, ref);

    if (workload->state != state) {
        workload->state = state;
        workload->state_ms = changes->context.now_ms;
    }
    return workload;
}

bool
lifecycle_failed(const struct instance *instance)
{
    return instance->state >= INSTANCE_EXITED &&
           instance->state != INSTANCE_LOST && instance->want == WANT_RUN &&
           (instance->failure[0] != '\0' || instance->exit_code != 0);
}

bool
lifecycle_is_elastic(const struct workload *workload)
{
    return workload->instances_max > workload->instances;
}

bool
lifecycle_is_surplus(const struct workload *workload,
                     const struct instance *instance)
{
    return instance->number >= workload->instances;
}

bool
lifecycle_has_left(const struct instance *instance)
{
    return strcmp(instance->want_reason, LIFECYCLE_SHRUNK) == 0;
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
    const struct instance *present = lifecycle_instance(changes, ref);
    struct instance *instance;

    /* What has left its gang already is not of what ends now. */
    if (present == NULL || !lifecycle_is_up(present) ||
        present->want == WANT_STOP || lifecycle_has_left(present))
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
        const struct instance *instance = lifecycle_instance(changes, ref);

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
        workload = lifecycle_move(changes, ref, state);
        workload->preemptions++;
    } else {
        workload = lifecycle_move(changes, ref, state);
    }
    if (proof != NULL)
        change_doc(changes, &workload->proof, proof);
    stop_instances(changes, workload, reason);
}

/* Its time counts for nothing: the rest goes on without it. */
static void
leave(struct changes *changes, struct ref ref, int64_t deadline_ms)
{
    const struct instance *instance = lifecycle_instance(changes, ref);
    struct workload *workload;

    assert(instance != NULL);
    workload = change_update(changes, instance->object.parent);
    if (workload->instances_now > workload->instances)
        workload->instances_now--;
    stop_instance(changes, ref, deadline_ms, LIFECYCLE_SHRUNK);
}

bool
lifecycle_can_shrink(const struct workload *workload,
                     const struct instance *instance)
{
    return instance->want == WANT_RUN && lifecycle_is_up(instance) &&
           instance->state != INSTANCE_LOST &&
           lifecycle_is_current(workload, instance) &&
           lifecycle_is_surplus(workload, instance);
}

void
lifecycle_shrink(struct changes *changes, struct ref ref, const char *proof)
{
    const struct instance *instance = lifecycle_instance(changes, ref);
    const struct workload *workload;

    if (instance == NULL)
        return;
    workload = lifecycle_workload(changes, instance);
    if (!lifecycle_can_shrink(workload, instance))
        return;
    leave(changes, ref,
          changes->context.now_ms + lifecycle_grace(changes->world, workload));
    if (proof != NULL)
        change_doc(changes,
                   &((struct workload *)change_update(
                         changes, instance->object.parent))
                        ->proof,
                   proof);
}

/* --- failed cards --- */

bool
lifecycle_card_was_bad(const struct changes *changes,
                       const struct instance *instance)
{
    world_each_child(changes->world, KIND_BINDING, instance->object.self,
                     ref) {
        const struct binding *binding = change_get(changes, ref);
        const struct card *card =
            binding != NULL ? change_get(changes, binding->card) : NULL;

        if (card != NULL &&
            (card->health == HEALTH_FAILED || card->missing))
            return true;
    }
    return false;
}

bool
lifecycle_attempt_was_bad(const struct changes *changes,
                          const struct workload *workload)
{
    world_each_child(changes->world, KIND_INSTANCE, workload->object.self,
                     ref) {
        const struct instance *instance = lifecycle_instance(changes, ref);

        if (instance != NULL && instance->attempt == workload->attempt &&
            !lifecycle_has_left(instance) &&
            lifecycle_card_was_bad(changes, instance))
            return true;
    }
    return false;
}

/* Is it ending already, because of one that ended with an error? */
static void
note_ending(struct changes *changes, struct ref ref)
{
    const struct workload *workload = change_get(changes, ref);

    if (workload == NULL || !lifecycle_is_live(workload->state) ||
        lifecycle_is_stopping(workload->state) ||
        workload->replacing_ms != 0 ||
        !lifecycle_attempt_was_bad(changes, workload))
        return;
    world_each_child(changes->world, KIND_INSTANCE, ref, child) {
        const struct instance *instance = lifecycle_instance(changes, child);

        if (instance != NULL && instance->attempt == workload->attempt &&
            lifecycle_failed(instance)) {
            ((struct workload *)change_update(changes, ref))->replacing_ms =
                changes->context.now_ms;
            return;
        }
    }
}

/* The end of the attempt that the binding was of was put down to it. */
static void
forgive(struct changes *changes, const struct binding *binding)
{
    const struct instance *instance =
        lifecycle_instance(changes, binding->object.parent);
    const struct workload *workload =
        change_get(changes, binding->workload);

    if (instance != NULL && workload != NULL &&
        instance->attempt == workload->attempt &&
        lifecycle_failed(instance) && instance->failure[0] == '\0' &&
        binding->to_ms >= changes->context.now_ms - LATE_MS)
        lifecycle_forgive(changes, binding->workload);
}

void
lifecycle_card_failed(struct changes *changes, struct ref card)
{
    world_each_index(changes->world, KIND_BINDING, 0, card, ref) {
        const struct binding *binding = change_get(changes, ref);

        if (binding != NULL && binding->to_ms == 0)
            lifecycle_shrink(changes, binding->object.parent,
                             "{\"rule\":\"card-failed\"}");
        else if (binding != NULL)
            forgive(changes, binding);
        if (binding != NULL)
            note_ending(changes, binding->workload);
    }
}

/* It has ended, and the gang goes on without it. */
static void
drop_surplus(struct changes *changes, struct ref ref)
{
    struct instance *instance = change_update(changes, ref);
    struct workload *workload =
        change_update(changes, instance->object.parent);

    workload->instances_now--;
    instance->want = WANT_STOP;
    (void)snprintf(instance->want_reason, sizeof(instance->want_reason),
                   LIFECYCLE_SHRUNK);
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
        const struct instance *instance = lifecycle_instance(changes, child);

        if (instance == NULL || instance->attempt != workload->attempt ||
            lifecycle_is_surplus(workload, instance))
            continue;
        lost |= instance->state == INSTANCE_LOST;
        waiting |= instance->started_ms == 0 && lifecycle_is_up(instance);
        begun |= instance->state != INSTANCE_ASSIGNED;
    }
    image = lifecycle_move(changes, ref,
                 lost      ? WORKLOAD_LOST
                 : waiting ? (begun ? WORKLOAD_STARTING : WORKLOAD_ASSIGNED)
                           : WORKLOAD_RUNNING);
    if (image->state == WORKLOAD_RUNNING && image->started_ms == 0)
        image->started_ms = changes->context.now_ms;
}

void
lifecycle_starting(struct changes *changes, struct ref ref)
{
    const struct instance *present = lifecycle_instance(changes, ref);

    if (present == NULL || present->state != INSTANCE_ASSIGNED)
        return;
    ((struct instance *)change_update(changes, ref))->state =
        INSTANCE_STARTING;
    if (lifecycle_is_current(lifecycle_workload(changes, present), present))
        refresh(changes, present->object.parent);
}

/* The longest run time counts from the start, not from the assignment. */
static void
count_from_start(struct changes *changes, struct ref ref)
{
    const struct instance *instance = lifecycle_instance(changes, ref);
    const struct workload *workload = lifecycle_workload(changes, instance);

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
    const struct instance *present = lifecycle_instance(changes, ref);
    const struct workload *workload;
    struct instance *instance;

    if (present == NULL || !lifecycle_is_up(present) || present->started_ms != 0)
        return;
    instance = change_update(changes, ref);
    instance->started_ms = changes->context.now_ms;
    if (instance->state == INSTANCE_ASSIGNED ||
        instance->state == INSTANCE_STARTING)
        instance->state = INSTANCE_RUNNING;
    workload = lifecycle_workload(changes, instance);
    if (!lifecycle_is_current(workload, instance))
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
    const struct workload *workload = lifecycle_workload(changes, instance);

    if (!lifecycle_is_current(workload, instance))
        return;
    refresh(changes, instance->object.parent);
    workload = lifecycle_workload(changes, instance);
    if (!lifecycle_failed(instance))
        return;
    if (lifecycle_is_surplus(workload, instance) &&
        lifecycle_card_was_bad(changes, instance)) {
        drop_surplus(changes, instance->object.self);
        return;
    }
    stop_instances(changes, workload, "gang");
    if (lifecycle_attempt_was_bad(changes, workload))
        ((struct workload *)change_update(changes, instance->object.parent))
            ->replacing_ms = changes->context.now_ms;
}

/* Surplus that could not be started: the gang is as it was, and tries again
 * later. */
static void
put_off_growth(struct changes *changes, struct instance *instance)
{
    const struct workload *seen = lifecycle_workload(changes, instance);
    struct workload *workload;

    if (!lifecycle_is_current(seen, instance) ||
        !lifecycle_is_surplus(seen, instance) || instance->want != WANT_RUN)
        return;
    drop_surplus(changes, instance->object.self);
    workload = change_update(changes, instance->object.parent);
    workload->next_try_ms = changes->context.now_ms + GROWTH_PAUSE_MS;
}

void
lifecycle_start_failed(struct changes *changes, struct ref ref,
                       const char *why)
{
    const struct instance *present = lifecycle_instance(changes, ref);
    struct instance *instance;

    if (present == NULL || !lifecycle_is_up(present))
        return;
    instance = change_update(changes, ref);
    instance->state = INSTANCE_EXITED;
    instance->ended_ms = changes->context.now_ms;
    instance->exit_code = -1;
    put_off_growth(changes, instance);
    (void)snprintf(instance->failure, sizeof(instance->failure), "%s",
                   why != NULL && why[0] != '\0' ? why : "unknown reason");
    fail_gang(changes, instance);
}

void
lifecycle_exited(struct changes *changes, struct ref ref, int64_t exit_code,
                 bool oom)
{
    const struct instance *present = lifecycle_instance(changes, ref);
    struct instance *instance;

    if (present == NULL || !lifecycle_is_up(present))
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
    const struct binding *binding = change_get(changes, ref);
    struct card *card;

    if (binding == NULL || binding->to_ms != 0)
        return;
    usage_end(changes, ref);
    binding = change_get(changes, ref);
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
    const struct instance *present = lifecycle_instance(changes, ref);
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
    if (lifecycle_is_current(lifecycle_workload(changes, instance), instance))
        lifecycle_settle(changes, instance->object.parent);
}

/* --- loss and return --- */

static void
lose_instance(struct changes *changes, struct ref ref)
{
    const struct instance *present = lifecycle_instance(changes, ref);
    const struct workload *workload;
    struct instance *instance;

    if (present == NULL || !lifecycle_is_up(present) ||
        present->state == INSTANCE_LOST)
        return;
    instance = change_update(changes, ref);
    instance->state = INSTANCE_LOST;
    instance->lost_ms = changes->context.now_ms;
    workload = lifecycle_workload(changes, instance);
    if (!lifecycle_is_current(workload, instance))
        return;
    if (lifecycle_is_surplus(workload, instance)) {
        if (instance->want == WANT_RUN)
            leave(changes, ref, 0);
        instance->want = WANT_STOP;
        return;
    }
    refresh(changes, instance->object.parent);
    if (!recovery_may(changes->world, workload))
        return;
    /* It may begin elsewhere, so this one must not go on when it is back. */
    instance->want = WANT_STOP;
    (void)snprintf(instance->want_reason, sizeof(instance->want_reason),
                   "lost");
    stop_instances(changes, lifecycle_workload(changes, instance), "gang");
    lifecycle_settle(changes, instance->object.parent);
}

void
lifecycle_lost(struct changes *changes, struct ref node)
{
    world_each_index(changes->world, KIND_INSTANCE, 0, node, ref)
        lose_instance(changes, ref);
}

/* A gang does not go on without a member. */
static void
give_up_instance(struct changes *changes, struct ref ref)
{
    struct instance *instance = change_update(changes, ref);
    const struct workload *workload = lifecycle_workload(changes, instance);

    instance->want = WANT_STOP;
    if (!lifecycle_is_current(workload, instance) ||
        lifecycle_has_left(instance))
        return;
    (void)snprintf(instance->want_reason, sizeof(instance->want_reason),
                   LIFECYCLE_FENCED);
    stop_instances(changes, workload, "gang");
}

void
lifecycle_fenced(struct changes *changes, struct ref node)
{
    world_each_index(changes->world, KIND_INSTANCE, 0, node, ref) {
        const struct instance *instance = lifecycle_instance(changes, ref);

        if (instance == NULL || instance->state == INSTANCE_RELEASED)
            continue;
        give_up_instance(changes, ref);
        lifecycle_released(changes, ref);
    }
}

void
lifecycle_back(struct changes *changes, struct ref ref)
{
    const struct instance *present = lifecycle_instance(changes, ref);
    const struct workload *workload;
    struct instance *instance;

    if (present == NULL || present->state != INSTANCE_LOST)
        return;
    instance = change_update(changes, ref);
    workload = lifecycle_workload(changes, instance);
    if (!lifecycle_is_current(workload, instance))
        instance->want = WANT_STOP;
    instance->state = instance->want != WANT_RUN      ? INSTANCE_STOPPING
                      : instance->started_ms != 0 ? INSTANCE_RUNNING
                                                      : INSTANCE_STARTING;
    if (lifecycle_is_current(workload, instance))
        refresh(changes, instance->object.parent);
}

void
lifecycle_checkpoint(struct changes *changes, struct ref ref, int64_t step,
                     int64_t time_ms)
{
    const struct instance *instance = lifecycle_instance(changes, ref);
    const struct workload *present;
    struct workload *workload;

    if (instance == NULL)
        return;
    present = lifecycle_workload(changes, instance);
    if (!lifecycle_is_current(present, instance) || time_ms < present->checkpoint_ms)
        return;
    workload = change_update(changes, instance->object.parent);
    workload->checkpoint_step = step;
    workload->checkpoint_ms = time_ms;
}
