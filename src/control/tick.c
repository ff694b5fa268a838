/* SPDX-License-Identifier: Apache-2.0 */
#include "control/tick.h"

#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "control/execute.h"
#include "control/intent.h"
#include "control/journal.h"
#include "control/uses.h"
#include "core/proof.h"
#include "core/approval.h"
#include "core/breakglass.h"
#include "core/quota_watch.h"
#include "core/schedule.h"
#include "core/usage.h"
#include "core/workorder.h"

#define SLICE_US 2000
#define SCHEDULE_MS 500
#define AUDIT_MS 1000
#define QUOTA_MS 2000
#define TRUST_MS 1000
#define HEARTBEAT_MS 60000
#define SWEEP_MAX 200 /* objects in one change set */
#define SESSION_KEEP_MS (24 * INT64_C(3600000))

struct tick {
    struct tick_options options;
    struct scheduler *scheduler;
    int64_t beat_ms; /* monotonic time of the last heads record */
};

/* --- schedule --- */

struct decision {
    struct deed deed;
    struct scheduler *scheduler;
    char verb[NAME_MAX_SIZE];
};

static int
decide_next(struct changes *changes, void *data, struct error *err)
{
    struct decision *decision = data;
    struct schedule_decision made;

    (void)err;
    if (!schedule_step(decision->scheduler, changes))
        return 0;
    made = schedule_last(decision->scheduler);
    (void)snprintf(decision->verb, sizeof(decision->verb), "schedule.%s",
                   schedule_what_text(made.what));
    decision->deed.verb = decision->verb;
    decision->deed.object = made.workload;
    return 0;
}

static bool
schedule_one(struct loop *loop, struct tick *tick)
{
    struct decision decision = { .scheduler = tick->scheduler };
    scoped_arena arena = arena_new();
    struct error err;
    int rc;

    decision.deed = (struct deed){ .verb = "schedule",
                                   .component = "scheduler",
                                   .decide = decide_next,
                                   .data = &decision };
    rc = execute_deed(loop, arena, &decision.deed, &err);
    return rc == 1 || (rc == 0 && schedule_has_more(tick->scheduler));
}

static void
tick_schedule(struct loop *loop, void *data)
{
    struct tick *tick = data;
    const struct world *world = loop_world(loop);
    const struct platform *platform =
        world_platform(world, world_platform_ref(world));
    int64_t start_us = clock_mono_us();

    if (platform == NULL || platform->observing)
        return;
    while (schedule_one(loop, tick))
        if (clock_mono_us() - start_us > SLICE_US) {
            loop_hurry(loop, tick_schedule);
            return;
        }
}

/* --- usage --- */

/* All cards are cut at the same times of the clock, whenever their work came:
 * who has one next cannot tell when the one before began. */
struct cutting {
    struct ref node;
    int64_t before_ms; /* cards cut before this are due */
};

static int
cut_node(struct changes *changes, void *data, struct error *err)
{
    const struct cutting *cutting = data;

    (void)err;
    world_each_child(changes->world, KIND_CARD, cutting->node, ref)
        if (world_card(changes->world, ref)->cut_ms <= cutting->before_ms)
            usage_cut(changes, ref);
    return 0;
}

static void
tick_usage(struct loop *loop, void *data)
{
    const struct tick *tick = data;
    int64_t now_ms = loop_context(loop).now_ms;
    struct cutting cutting = {
        .before_ms = now_ms - now_ms % tick->options.usage_ms - 1
    };
    scoped_arena arena = arena_new();
    struct deed deed = { .verb = "usage.cut",
                         .component = "meter",
                         .decide = cut_node,
                         .data = &cutting };
    struct error err;

    world_each(loop_world(loop), KIND_NODE, node) {
        cutting.node = node;
        deed.object = node;
        if (execute_deed(loop, arena, &deed, &err) < 0)
            log_error("usage: %s", err.text);
    }
}

/* --- quotas --- */

static int
watch_quotas(struct changes *changes, void *data, struct error *err)
{
    (void)data;
    (void)err;
    quota_watch(changes);
    return 0;
}

static void
tick_quotas(struct loop *loop, void *data)
{
    scoped_arena arena = arena_new();
    struct deed deed = { .verb = "quota.watch",
                         .component = "quota",
                         .reason = "a quota is at a mark or gives back",
                         .decide = watch_quotas };
    struct error err;

    (void)data;
    if (ref_is_none(world_platform_ref(loop_world(loop))))
        return;
    (void)execute_deed(loop, arena, &deed, &err);
    intents_drop_lost(loop, arena);
}

/* --- approvals, break-glasses, work orders --- */

static int
step_trust(struct changes *changes, void *data, struct error *err)
{
    (void)data;
    (void)err;
    approval_sweep(changes);
    breakglass_sweep(changes);
    workorder_step(changes);
    return 0;
}

static void
tick_trust(struct loop *loop, void *data)
{
    scoped_arena arena = arena_new();
    struct deed deed = { .verb = "trust.step",
                         .component = "trust",
                         .reason = "an approval, a break-glass or a work "
                                   "order came to its time",
                         .decide = step_trust };
    struct error err;

    (void)data;
    if (!ref_is_none(world_platform_ref(loop_world(loop))))
        (void)execute_deed(loop, arena, &deed, &err);
}

/* --- audit --- */

static void
record_jump(struct loop *loop, struct arena *arena)
{
    char reason[80];
    struct record record = { .observer.component = "clock",
                             .actor.kind = "platform",
                             .action.verb = "clock.jump",
                             .decision.allow = true,
                             .decision.reason = reason,
                             .outcome.status = RECORD_SUCCESS };

    (void)snprintf(reason, sizeof(reason), "%lld ms ahead, held",
                   (long long)loop_clock_held(loop));
    journal_append(loop, arena, world_platform_ref(loop_world(loop)), &record,
                   NULL);
}

static void
tick_audit(struct loop *loop, void *data)
{
    struct tick *tick = data;
    scoped_arena arena = arena_new();
    int64_t mono_ms = clock_mono_ms();

    if (ref_is_none(world_platform_ref(loop_world(loop))))
        return;
    if (loop_clock_jumped(loop))
        record_jump(loop, arena);
    journal_flush(loop, arena, false);
    if (journal_commit_heads(loop, arena,
                             mono_ms - tick->beat_ms >= HEARTBEAT_MS))
        tick->beat_ms = mono_ms;
}

/* --- sweep --- */

static bool
is_over(const struct world *world, struct ref ref, int64_t now_ms)
{
    const struct session *session = world_session(world, ref);
    const struct receipt *receipt = world_receipt(world, ref);
    const struct jointoken *token = world_jointoken(world, ref);
    const struct invitation *invitation = world_invitation(world, ref);

    if (session != NULL)
        return session->expires_ms + SESSION_KEEP_MS < now_ms ||
               !proof_is_fresh(world, session, now_ms - SESSION_KEEP_MS);
    if (invitation != NULL)
        return invitation->expires_ms + SESSION_KEEP_MS < now_ms;
    if (receipt != NULL)
        return receipt->expires_ms < now_ms;
    return token != NULL && token->expires_ms != 0 &&
           token->expires_ms + SESSION_KEEP_MS < now_ms;
}

static int
sweep(struct changes *changes, void *data, struct error *err)
{
    static const enum kind kinds[] = { KIND_RECEIPT, KIND_SESSION,
                                       KIND_JOINTOKEN, KIND_INVITATION };
    int64_t now_ms = changes->context.now_ms;

    (void)data;
    (void)err;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        world_each(changes->world, kinds[i], ref) {
            bool over = is_over(changes->world, ref, now_ms);
            if (over && changes->count < SWEEP_MAX)
                change_delete(changes, ref);
            /* Answers end in the order in which they were kept. */
            else if (kinds[i] == KIND_RECEIPT)
                break;
        }
    return 0;
}

static void
tick_uses(struct loop *loop, void *data)
{
    (void)data;
    uses_store(loop);
}

static void
tick_sweep(struct loop *loop, void *data)
{
    scoped_arena arena = arena_new();
    struct deed deed = { .verb = "sweep",
                         .component = "sweeper",
                         .reason = "expired",
                         .decide = sweep };
    struct error err;

    (void)data;
    if (!ref_is_none(world_platform_ref(loop_world(loop))))
        (void)execute_deed(loop, arena, &deed, &err);
}

/* --- --- */

struct tick *
tick_start(struct loop *loop, const struct tick_options *options)
{
    struct tick *tick = memory_new(1, sizeof(*tick));

    tick->options = *options;
    if (tick->options.usage_ms == 0)
        tick->options.usage_ms = INT64_C(300000);
    if (tick->options.sweep_ms == 0)
        tick->options.sweep_ms = INT64_C(60000);
    tick->scheduler = scheduler_new();
    tick->beat_ms = clock_mono_ms();
    loop_every(loop, SCHEDULE_MS, tick_schedule, tick);
    loop_after_change(loop, tick_schedule);
    loop_every(loop, AUDIT_MS, tick_audit, tick);
    loop_every(loop, QUOTA_MS, tick_quotas, tick);
    loop_every(loop, TRUST_MS, tick_trust, tick);
    loop_every(loop, tick->options.usage_ms / 10 + 1, tick_usage, tick);
    loop_every(loop, tick->options.sweep_ms, tick_uses, tick);
    loop_every(loop, tick->options.sweep_ms, tick_sweep, tick);
    return tick;
}

void
tick_free(struct tick *tick)
{
    if (tick == NULL)
        return;
    scheduler_free(tick->scheduler);
    free(tick);
}

static void
run_record_start(struct loop *loop, struct job *job)
{
    struct record record = { .actor.kind = "platform",
                             .action.verb = RECORD_VERB_START,
                             .decision.allow = true,
                             .outcome.status = RECORD_SUCCESS };

    journal_append(loop, job->arena, world_platform_ref(loop_world(loop)),
                   &record, NULL);
    intents_recover(loop, job->arena);
}

int
tick_record_start(struct loop *loop, struct error *err)
{
    scoped_arena arena = arena_new();
    struct job job = { .run = run_record_start, .arena = arena };

    return loop_call(loop, &job, err);
}
