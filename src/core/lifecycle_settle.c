/* SPDX-License-Identifier: Apache-2.0 */
#include "core/lifecycle_private.h"

#include <inttypes.h>
#include <string.h>

#include "core/image.h"
#include "core/reason.h"
#include "core/recovery.h"

#define BACKOFF_FIRST_MS INT64_C(5000)
#define BACKOFF_MAX_MS INT64_C(600000)
/* Failed starts that a workload is given on top of its restarts: the fault is
 * more often the place's than the workload's. */
#define START_TRIES 5

/* --- the end of an attempt --- */

static void
end(struct changes *changes, struct ref ref, int state, const char *why)
{
    struct workload *workload = lifecycle_move(changes, ref, state);

    reason_clear(workload);
    (void)snprintf(workload->reason_text, sizeof(workload->reason_text), "%s",
                   why);
    workload->ended_ms = changes->context.now_ms;
    workload->instances_now = 0;
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
    workload->replacing_ms = 0;
    workload->started_ms = 0;
    workload->instances_now = 0;
    workload->next_try_ms =
        wait_ms > 0 ? changes->context.now_ms + wait_ms : 0;
}

static void
replace(struct changes *changes, struct ref ref)
{
    submit_again(changes, ref, 0, "a card failed under it");
    ((struct workload *)change_update(changes, ref))->replacing_ms =
        changes->context.now_ms;
}

/* It ended before its card was known to have failed. */
void
lifecycle_forgive(struct changes *changes, struct ref ref)
{
    const struct workload *present = change_get(changes, ref);

    if (present == NULL || present->reason != REASON_BACKOFF ||
        present->failures == 0 || present->replacing_ms != 0)
        return;
    ((struct workload *)change_update(changes, ref))->failures--;
    replace(changes, ref);
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
    bool by_fence;  /* its node was given up */
    const struct instance *failed; /* the first that failed by itself */
    int64_t bad_starts; /* attempts, all of the workload */
};

static struct outcome
outcome_of(const struct changes *changes, const struct workload *workload)
{
    struct outcome outcome = { .all_good = true };
    int64_t counted = 0;

    world_each_child(changes->world, KIND_INSTANCE, workload->object.self,
                     ref) {
        const struct instance *instance = lifecycle_instance(changes, ref);

        if (instance == NULL || lifecycle_has_left(instance))
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
        if (strcmp(instance->want_reason, LIFECYCLE_FENCED) == 0)
            outcome.by_fence = true;
        if (lifecycle_failed(instance) &&
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

    /* It comes again to where it was in the queue, goes first there, and at no
     * cost. */
    if (failed != NULL && lifecycle_attempt_was_bad(changes, workload)) {
        replace(changes, ref);
        return;
    }
    workload->failures++;
    if (start && image_is_nowhere(changes->world, workload->image)) {
        (void)snprintf(why, sizeof(why),
                       "it could not be started: " IMAGE_NOWHERE
                       "; submit it again when one has it",
                       image_name_size(workload->image), workload->image);
        left = -1;
    } else if (start) {
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
        const struct instance *instance = lifecycle_instance(changes, ref);

        if (instance == NULL || instance->attempt != workload->attempt ||
            instance->state == INSTANCE_RELEASED)
            continue;
        if (instance->state == INSTANCE_LOST && lifecycle_has_left(instance))
            continue; /* its node gives it back when it is there again */
        if (instance->state != INSTANCE_LOST ||
            !recovery_may(changes->world, workload))
            return true;
        *lost_out = true;
    }
    return false;
}

/* Somewhere else; each time but the first it waits longer. */
static void
recover(struct changes *changes, struct ref ref)
{
    struct workload *workload = change_update(changes, ref);

    workload->recoveries++;
    submit_again(changes, ref, recovery_wait_ms(workload->recoveries),
                 "its node was lost");
}

static void
settle_fenced(struct changes *changes, struct ref ref)
{
    const struct workload *workload = change_get(changes, ref);
    char why[TEXT_MAX_SIZE];

    if (recovery_may(changes->world, workload)) {
        recover(changes, ref);
        return;
    }
    (void)snprintf(why, sizeof(why),
                   "its node was lost and given up, and %s; submit it again",
                   recovery_why_not(changes->world, workload));
    end(changes, ref, WORKLOAD_FAILED, why);
}

void
lifecycle_settle(struct changes *changes, struct ref ref)
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
        recover(changes, ref);
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
    } else if (outcome.by_fence) {
        settle_fenced(changes, ref);
    } else {
        settle_run(changes, ref, &outcome);
    }
}
