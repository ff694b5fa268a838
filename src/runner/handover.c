/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/handover.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "accel/accel.h"
#include "base/clock.h"
#include "base/crash.h"
#include "base/log.h"
#include "engine/part.h"
#include "runner/baseline.h"
#include "runner/node.h"

#define POLL_MS 100

struct run {
    struct node *node;
    const char *part;
    char uuid[PART_TEXT_MAX];
    struct accel_card card;
    struct handover *out;
    int64_t until_ms; /* monotonic: the end of the waiting */
    int64_t base_mib; /* of the last look; -1: not known */
    bool drifted; /* its memory does not become free */
    bool ill;     /* it is not well */
};

/* One step; text receives what there is to say of it. */
typedef int step_fn(struct run *run, char text[128], struct error *err);

static void
rest(void)
{
    struct timespec pause = { .tv_nsec = POLL_MS * 1000000L };

    (void)nanosleep(&pause, NULL);
}

/* --- wait --- */

static int
count_processes(struct run *run, const char *part, size_t *count_out,
                char name[32], struct error *err)
{
    struct accel_process list[ACCEL_PROCESSES_MAX];

    if (accel_processes(&run->node->accel, part, list, count_out, err) != 0)
        return -1;
    (void)snprintf(name, 32, "%s", *count_out > 0 ? list[0].name : "");
    return 0;
}

static int
wait_processes(struct run *run, char text[128], struct error *err)
{
    const char *part = part_is_slice(run->part) ? run->part : run->uuid;
    char name[32] = "";
    size_t count = 0;

    for (;;) {
        if (count_processes(run, part, &count, name, err) != 0)
            return -1;
        if (count == 0)
            break;
        if (clock_mono_ms() >= run->until_ms)
            return error_set(err, ERROR_CONFLICT,
                             "%zu processes are on the card, the first is "
                             "\"%s\"",
                             count, name);
        rest();
    }
    (void)snprintf(text, 128, "nobody is on it");
    return 0;
}

/* --- the base line --- */

static int
used_memory(struct run *run, int64_t *used_out, struct error *err)
{
    struct accel_state state = { .health = ACCEL_UNKNOWN };

    if (accel_health(&run->node->accel, run->uuid, &state, err) != 0)
        return -1;
    *used_out = state.memory_used_mib;
    if (state.memory_used_mib >= 0)
        return 0;
    return error_set(err, ERROR_UNSUPPORTED,
                     "the card does not say how much of its memory is in "
                     "use%s%.80s",
                     state.reason[0] != '\0' ? ": " : "", state.reason);
}

/* 1: it is idle; 0: not yet. */
static int
is_idle(struct run *run, int64_t *used_out, struct error *err)
{
    struct baseline base = { .mib = -1 };

    if (used_memory(run, used_out, err) != 0 ||
        baseline_get(run->node, &run->card, *used_out, &base, err) != 0)
        return -1;
    run->base_mib = base.mib;
    return *used_out <= base.mib + BASELINE_SLACK_MIB;
}

static void
say_memory(const struct run *run, int64_t used_mib, char text[128])
{
    (void)snprintf(text, 128,
                   "%" PRId64 " MiB in use, the base line is %" PRId64 " MiB",
                   used_mib, run->base_mib);
}

/* What does not fall to the base line is for a reset; so is a card that
 * cannot be idle as it was first seen. */
static int
wait_idle(struct run *run, char text[128], struct error *err)
{
    int64_t used = 0;
    int idle;

    while ((idle = is_idle(run, &used, err)) == 0 &&
           clock_mono_ms() < run->until_ms)
        rest();
    run->drifted = idle == 0 || (idle < 0 && err->code == ERROR_VERIFY);
    if (idle < 0 && !run->drifted)
        return -1;
    if (idle < 0)
        (void)snprintf(text, 128, "%.127s", err->text);
    else
        say_memory(run, used, text);
    return 0;
}

/* One that is not well and cannot be reset is cleaned all the same, and says
 * itself how it is then. */
static int
reset_card(struct run *run, char text[128], struct error *err)
{
    struct baseline base = { .mib = -1 };
    int64_t used = 0;

    if (accel_reset(&run->node->accel, run->uuid, err) != 0) {
        if (run->drifted)
            return error_prefix(err, "%s",
                                run->base_mib >= 0
                                    ? "its memory does not become free"
                                    : "its memory is in use");
        (void)snprintf(text, 128, "not offered: %.100s", err->text);
        return err->code == ERROR_UNSUPPORTED || err->code == ERROR_DENIED ? 0
                                                                           : -1;
    }
    if (used_memory(run, &used, err) != 0)
        return -1;
    /* A reset that leaves more than there was before it has cleaned nothing. */
    if (run->base_mib >= 0 && used > run->base_mib + BASELINE_SLACK_MIB) {
        say_memory(run, used, text);
        return error_set(err, ERROR_VERIFY, "after a reset %s", text);
    }
    if (baseline_after_reset(run->node, &run->card, used, &base, err) != 0)
        return -1;
    run->base_mib = base.mib;
    say_memory(run, used, text);
    return 0;
}

/* --- the rest --- */

static int
make_whole(struct run *run, char text[128], struct error *err)
{
    struct accel_state state = { .health = ACCEL_UNKNOWN };

    if (accel_health(&run->node->accel, run->uuid, &state, err) != 0)
        return -1;
    run->ill = state.health != ACCEL_HEALTHY;
    (void)snprintf(text, 128, "%s", state.sliced ? "made whole" : "it is whole");
    return state.sliced ? partition_cut(run->node->partition, run->uuid, false,
                                        part_is_cleared(run->part), err)
                        : 0;
}

static int
settle(struct run *run, char text[128], struct error *err)
{
    if (accel_settle(&run->node->accel, run->uuid, err) == 0) {
        (void)snprintf(text, 128, "accounting, clocks, power, mode: default");
        return 0;
    }
    if (err->code != ERROR_UNSUPPORTED)
        return -1;
    (void)snprintf(text, 128, "not offered: %.100s", err->text);
    return 0;
}

static int
scrub(struct run *run, char text[128], struct error *err)
{
    struct accel_scrub done = { 0 };
    const char *part = part_is_slice(run->part) ? run->part : run->uuid;

    if (accel_scrub(&run->node->accel, part, &done, err) != 0)
        return -1;
    run->out->bytes = done.bytes;
    (void)snprintf(text, 128, "%s", done.method);
    (void)snprintf(run->out->text, sizeof(run->out->text), "%s", done.method);
    return 0;
}

/* What the library lets go of a moment later may take as long as the wait. */
static int
probe(struct run *run, char text[128], struct error *err)
{
    int64_t end = clock_mono_ms() + run->node->policy->release_wait_ms;
    struct accel_state state = { .health = ACCEL_UNKNOWN };
    char name[32] = "";
    size_t count = 0;

    for (;;) {
        if (accel_health(&run->node->accel, run->uuid, &state, err) != 0 ||
            count_processes(run, run->uuid, &count, name, err) != 0)
            return -1;
        if (state.health == ACCEL_FAILED || state.health == ACCEL_UNKNOWN)
            return error_set(err, ERROR_VERIFY, "the card is %s: %.80s",
                             accel_health_text(state.health), state.reason);
        say_memory(run, state.memory_used_mib, text);
        if (count == 0 && state.memory_used_mib >= 0 &&
            state.memory_used_mib <= run->base_mib + BASELINE_SLACK_MIB)
            return 0;
        if (clock_mono_ms() >= end)
            break;
        rest();
    }
    return count > 0 ? error_set(err, ERROR_VERIFY,
                                 "%zu processes are on the card, the first is "
                                 "\"%s\"",
                                 count, name)
                     : error_set(err, ERROR_VERIFY, "%s", text);
}

static int
cut_again(struct run *run, char text[128], struct error *err)
{
    (void)snprintf(text, 128, "cut for slices");
    return partition_cut(run->node->partition, run->uuid, true, false, err);
}

static int
destroy(struct run *run, char text[128], struct error *err)
{
    (void)snprintf(text, 128, "the slice is gone");
    return partition_destroy(run->node->partition, run->part, err);
}

/* --- the sequence --- */

static int
do_step(struct run *run, const char *name, step_fn *step)
{
    struct handover *out = run->out;
    struct handover_step *at = &out->steps[out->count++];
    struct error err = { 0 };
    int result;

    *at = (struct handover_step){ .name = name, .from_ms = clock_wall_ms() };
    result = step(run, at->text, &err);
    at->to_ms = clock_wall_ms();
    at->good = result == 0;
    if (result == 0)
        return 0;
    (void)snprintf(at->text, sizeof(at->text), "%.127s", err.text);
    (void)snprintf(out->text, sizeof(out->text), "%s: %.110s", name, err.text);
    return -1;
}

static int
hand_over_slice(struct run *run)
{
    if (do_step(run, "wait", wait_processes) != 0)
        return -1;
    CRASH_POINT("runner.waited");
    if (do_step(run, "scrub", scrub) != 0)
        return -1;
    CRASH_POINT("runner.scrubbed");
    return do_step(run, "cut", destroy);
}

static int
hand_over_card(struct run *run)
{
    if (do_step(run, "wait", wait_processes) != 0)
        return -1;
    CRASH_POINT("runner.waited");
    if (do_step(run, "whole", make_whole) != 0 ||
        do_step(run, "idle", wait_idle) != 0)
        return -1;
    CRASH_POINT("runner.idle");
    if ((run->drifted || run->ill) && do_step(run, "reset", reset_card) != 0)
        return -1;
    CRASH_POINT("runner.reset");
    if (do_step(run, "settle", settle) != 0)
        return -1;
    CRASH_POINT("runner.settled");
    if (do_step(run, "scrub", scrub) != 0)
        return -1;
    CRASH_POINT("runner.scrubbed");
    if (do_step(run, "probe", probe) != 0)
        return -1;
    CRASH_POINT("runner.probed");
    return part_is_sliced(run->part) ? do_step(run, "cut", cut_again) : 0;
}

void
handover_run(struct node *node, const char *part, struct handover *out)
{
    struct run run = { .node = node,
                       .part = part,
                       .out = out,
                       .base_mib = -1,
                       .until_ms =
                           clock_mono_ms() + node->policy->release_wait_ms };
    struct error err = { 0 };
    int result;

    *out = (struct handover){ 0 };
    (void)snprintf(run.uuid, sizeof(run.uuid), "%.*s",
                   (int)part_uuid_size(part), part);
    result = accel_describe(&node->accel, run.uuid, &run.card, &err);
    if (result != 0)
        (void)snprintf(out->text, sizeof(out->text), "%.127s", err.text);
    else
        result = part_is_slice(part) ? hand_over_slice(&run)
                                     : hand_over_card(&run);
    if (result == 0 && baseline_clear(node, part, &err) != 0) {
        (void)snprintf(out->text, sizeof(out->text), "%.127s", err.text);
        result = -1;
    }
    CRASH_POINT("runner.cleared");
    out->verified = result == 0;
    if (result == 0)
        return;
    log_warn("card %s is not clean: %s", part, out->text);
    if (baseline_taint(node, part, &err) != 0)
        log_warn("%s", err.text);
}
