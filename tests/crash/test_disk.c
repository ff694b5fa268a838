/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is left of a script of commands when the power goes at any sync or
 * write of the store, or the disk fails there?  A child plays the script on
 * the layer of vfs.h and tells what it was answered, what a reader saw and
 * what went out to agents; afterwards the store is opened again, must hold
 * all of that and nothing half, and the script must go on to its end.
 */
#include "tests/unit/control/harness.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"
#include "control/check.h"
#include "tests/crash/script.h"
#include "tests/crash/vfs.h"

/* --- the child --- */

enum told {
    TOLD_ANSWER, /* steps answered, from the first */
    TOLD_SEEN,   /* steps that a reader was shown */
    TOLD_SENT,   /* steps that agents were told of */
    TOLD_FAILED, /* a step got an error: its code */
    TOLD_MS,     /* that the slowest step took */
    TOLD_READY,  /* 1 or 0, after all */
    TOLD_PLAY_SYNCS, /* up to the end of the script */
    TOLD_PLAY_WRITES,
    TOLD_SYNCS, /* up to the end of all */
    TOLD_WRITES,
    TOLD_COUNT,
};

struct message {
    enum told what;
    int number;
};

struct child {
    struct loop *loop;
    int out;
    _Atomic int answered, sent;
    _Atomic bool over;
};

static void
tell(const struct child *child, enum told what, int number)
{
    const struct message message = { what, number };

    if (write(child->out, &message, sizeof(message)) != sizeof(message))
        _exit(98);
}

struct part {
    struct job job;
    struct child *child;
    int number;
};

static void
run_part(struct loop *loop, struct job *job)
{
    struct part *part = job->data;

    if (script_run(loop, job->arena, part->number, &job->error) != 0) {
        (void)fprintf(stderr, "step %d: %s\n", part->number,
                      job->error.text);
        _exit(97);
    }
}

static void
part_done(struct job *job)
{
    struct part *part = job->data;

    if (!job->failed)
        tell(part->child, TOLD_ANSWER,
             atomic_fetch_add(&part->child->answered, 1) + 1);
}

static int
play_one(struct child *child, int number, struct error *err)
{
    scoped_arena arena = arena_new();
    struct part part = { .child = child, .number = number };
    int64_t start_ms = clock_mono_ms();
    int rc;

    part.job = (struct job){ .run = run_part, .arena = arena, .data = &part };
    rc = loop_call(child->loop, &part.job, err);
    if (rc == 0)
        part_done(&part.job);
    tell(child, TOLD_MS, (int)(clock_mono_ms() - start_ms));
    return rc;
}

/* Posts a whole burst and waits for its end; returns the next step. */
static int
play_burst(struct child *child, int from, struct error *err)
{
    static struct part parts[SCRIPT_STEPS];
    struct job last = { .arena = NULL };
    int next = from;

    for (; next < SCRIPT_STEPS && script_is_burst(next); next++) {
        struct part *part = &parts[next];

        part->child = child;
        part->number = next;
        part->job = (struct job){ .run = run_part,
                                  .done = part_done,
                                  .arena = arena_new(),
                                  .data = part };
        if (loop_post(child->loop, &part->job, err) != 0)
            return -1;
    }
    return loop_call(child->loop, &last, err) == 0 ? next : -1;
}

static int
play(struct child *child, struct error *err)
{
    int next = 0;

    while (next >= 0 && next < SCRIPT_STEPS) {
        harness_pass(1000);
        if (script_is_burst(next))
            next = play_burst(child, next, err);
        else
            next = play_one(child, next, err) == 0 ? next + 1 : -1;
    }
    return next < 0 ? -1 : 0;
}

static void
see(struct loop *loop, struct job *job)
{
    int *seen = job->data;

    *seen = script_done(loop_world(loop));
}

/* Somebody who asks all the time what there is. */
static void *
read_on(void *data)
{
    const struct timespec pause = { 0, 500000 };
    struct child *child = data;
    int last = 0;

    while (!child->over) {
        scoped_arena arena = arena_new();
        int seen = 0;
        struct job job = { .run = see, .arena = arena, .data = &seen };
        struct error err;

        if (loop_call(child->loop, &job, &err) == 0 && seen > last) {
            last = seen;
            tell(child, TOLD_SEEN, seen);
        }
        (void)nanosleep(&pause, NULL);
    }
    return NULL;
}

/* What wakes the agents' calls. */
static void
on_durable(void *data, const struct note *notes, size_t count)
{
    struct child *child = data;

    for (size_t i = 0; i < count; i++)
        if (notes[i].kind == KIND_RECEIPT)
            tell(child, TOLD_SENT, atomic_fetch_add(&child->sent, 1) + 1);
}

static void
be_child(const struct harness *harness, const struct vfs_plan *plan, int out)
{
    static struct child child;
    struct loop_options options = harness->options;
    struct bootstrap bootstrap = { 0 };
    char reason[LOOP_REASON_MAX];
    struct error err = { 0 };
    pthread_t reader;

    child.out = out;
    vfs_begin(plan);
    if (loop_open(&options, &child.loop, &err) != 0) {
        tell(&child, TOLD_FAILED, (int)err.code);
        vfs_crash(VFS_DROP);
    }
    loop_on_durable(child.loop, on_durable, &child);
    if (loop_start(child.loop, &err) != 0 ||
        bootstrap_run(child.loop, &bootstrap, &err) != 0) {
        tell(&child, TOLD_FAILED, (int)err.code);
        vfs_crash(VFS_DROP);
    }
    if (pthread_create(&reader, NULL, read_on, &child) != 0)
        _exit(96);
    if (play(&child, &err) != 0)
        tell(&child, TOLD_FAILED, (int)err.code);
    tell(&child, TOLD_PLAY_SYNCS, (int)vfs_syncs());
    tell(&child, TOLD_PLAY_WRITES, (int)vfs_writes());
    tell(&child, TOLD_READY, loop_ready(child.loop, reason) ? 1 : 0);
    child.over = true;
    (void)pthread_join(reader, NULL);
    if (plan->sync == 0 && plan->write == 0 && plan->fault != VFS_NONE)
        vfs_crash(plan->fault);
    loop_close(child.loop);
    tell(&child, TOLD_SYNCS, (int)vfs_syncs());
    tell(&child, TOLD_WRITES, (int)vfs_writes());
    if (plan->fault != VFS_NONE && plan->fault != VFS_SLOW)
        vfs_crash(VFS_DROP);
    _exit(0);
}

/* --- the parent --- */

struct outcome {
    int number[TOLD_COUNT];
    bool told[TOLD_COUNT];
    int status;
};

static void
run_child(struct harness *harness, const struct vfs_plan *plan,
          struct outcome *out)
{
    struct message message;
    int pipes[2];
    pid_t child;

    memset(out, 0, sizeof(*out));
    assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0)
        be_child(harness, plan, pipes[1]);
    (void)close(pipes[1]);
    while (read(pipes[0], &message, sizeof(message)) == sizeof(message)) {
        if (message.number > out->number[message.what])
            out->number[message.what] = message.number;
        out->told[message.what] = true;
    }
    (void)close(pipes[0]);
    assert_int_equal(waitpid(child, &out->status, 0), child);
    /* Its own exits are faults of the script. */
    if (WIFEXITED(out->status))
        assert_int_equal(WEXITSTATUS(out->status), 0);
    else
        assert_int_equal(WTERMSIG(out->status), SIGKILL);
}

struct view {
    struct check check;
    int done;          /* steps, or -1 */
    const char *wrong; /* NULL: nothing */
};

static void
look(struct loop *loop, struct arena *arena, void *data)
{
    struct view *view = data;
    const struct world *world = loop_world(loop);

    (void)arena;
    check_world(&view->check, world);
    view->done = script_done(world);
    view->wrong = script_look(world, view->done);
}

/* All that anybody was told is there, and of no step more or less. */
static void
assert_told(const struct view *view, const struct outcome *outcome)
{
    const int *number = outcome->number;

    if (view->done < number[TOLD_ANSWER] || view->done < number[TOLD_SEEN] ||
        view->done < number[TOLD_SENT])
        fail_msg("%d steps are stored; answered %d, shown %d, sent %d",
                 view->done, number[TOLD_ANSWER], number[TOLD_SEEN],
                 number[TOLD_SENT]);
    if (view->wrong != NULL)
        fail_msg("after %d steps: %s", view->done, view->wrong);
}

static void
look_back(struct job *job, struct store_reader *reader)
{
    struct error err;

    harness_must(check_history(job->data, reader, &err), &err);
}

static void
assert_kept(struct harness *harness, struct view *view)
{
    scoped_arena arena = arena_new();

    check_begin(&view->check, arena, 0);
    harness_run(harness, look, view);
    harness_read(harness, look_back, &view->check);
    if (view->check.broken > 0)
        fail_msg("%s: %s %s",
                 check_rule_text(view->check.findings[0].rule),
                 view->check.findings[0].object,
                 view->check.findings[0].text);
}

static void
go_on(struct loop *loop, struct arena *arena, void *data)
{
    struct error err;

    harness_must(script_run(loop, arena, *(int *)data, &err), &err);
}

static void
look_at_end(struct loop *loop, struct arena *arena, void *data)
{
    const char **wrong = data;

    (void)arena;
    *wrong = script_look_at_end(loop_world(loop));
}

static void
assert_goes_on(struct harness *harness, const struct outcome *outcome)
{
    struct view *view = memory_new(1, sizeof(*view));

    harness_pass(1000000);
    harness_start(harness);
    assert_kept(harness, view);
    assert_told(view, outcome);
    for (int next = view->done; next < SCRIPT_STEPS; next++) {
        harness_pass(1000);
        harness_run(harness, go_on, &next);
    }
    harness_run(harness, look_at_end, &view->wrong);
    if (view->wrong != NULL)
        fail_msg("%s", view->wrong);
    assert_kept(harness, view);
    free(view);
}

/* One run of the script with one fault. */
static void
try_plan(const struct vfs_plan *plan, struct outcome *out)
{
    static const struct vfs_plan none = { 0 };
    struct harness harness = { 0 };

    harness_make_place(&harness);
    harness.options = (struct loop_options){ .ops = &store_sqlite,
                                             .where = harness.where,
                                             .wall_ms = harness_wall_ms,
                                             .mono_ms = harness_mono_ms };
    run_child(&harness, plan, out);
    vfs_begin(&none);
    assert_goes_on(&harness, out);
    harness_close(&harness);
}

static const char *const fault_names[] = {
    [VFS_NONE] = "none",           [VFS_KEEP] = "keep",
    [VFS_DROP] = "drop",           [VFS_TEAR] = "tear",
    [VFS_SYNC_EIO] = "sync EIO",   [VFS_WRITE_EIO] = "write EIO",
    [VFS_FULL] = "full",           [VFS_SLOW] = "slow",
};

static void
count_moments(struct outcome *out)
{
    const struct vfs_plan none = { 0 };

    try_plan(&none, out);
    assert_int_equal(out->number[TOLD_ANSWER], SCRIPT_STEPS);
    assert_int_equal(out->number[TOLD_SENT], SCRIPT_STEPS);
    assert_true(out->number[TOLD_READY] == 1);
}

/* --- the campaigns --- */

static void
test_power_cut_at_any_sync_keeps_all_that_was_told(void **state)
{
    struct outcome whole, outcome;

    (void)state;
    count_moments(&whole);
    /* At least one for each commit. */
    assert_true(whole.number[TOLD_SYNCS] > SCRIPT_STEPS - 5);
    for (long sync = 1; sync <= whole.number[TOLD_SYNCS]; sync++)
        for (enum vfs_fault fault = VFS_KEEP; fault <= VFS_TEAR; fault++) {
            struct vfs_plan plan = { .fault = fault,
                                     .sync = sync,
                                     .seed = (unsigned)sync * 7 + 1 };

            print_message("sync %ld, %s\n", sync, fault_names[fault]);
            try_plan(&plan, &outcome);
        }
}

static void
test_power_cut_after_the_last_answer_loses_none(void **state)
{
    (void)state;
    for (enum vfs_fault fault = VFS_KEEP; fault <= VFS_TEAR; fault++) {
        struct vfs_plan plan = { .fault = fault, .seed = 3 };
        struct outcome outcome;

        try_plan(&plan, &outcome);
        assert_int_equal(outcome.number[TOLD_ANSWER], SCRIPT_STEPS);
    }
}

#define WRITES_TRIED 150

static void
test_power_cut_between_any_writes_leaves_nothing_half(void **state)
{
    struct outcome whole, outcome;
    long stride;

    (void)state;
    count_moments(&whole);
    stride = whole.number[TOLD_WRITES] / WRITES_TRIED + 1;
    for (long write = 1; write <= whole.number[TOLD_WRITES]; write += stride) {
        struct vfs_plan plan = { .fault = VFS_TEAR,
                                 .write = write,
                                 .seed = (unsigned)write };

        print_message("write %ld, tear\n", write);
        try_plan(&plan, &outcome);
    }
}

/* --- a disk that fails --- */

/* A start refuses; a commit that failed is answered as not known, and then the
 * control plane says that it is not ready.  False when nobody noticed: SQLite
 * got over it. */
static bool
failed_closed(const struct outcome *outcome)
{
    int code = outcome->number[TOLD_FAILED];

    if (!outcome->told[TOLD_FAILED]) {
        assert_int_equal(outcome->number[TOLD_ANSWER], SCRIPT_STEPS);
        return false;
    }
    assert_true(outcome->number[TOLD_ANSWER] < SCRIPT_STEPS);
    if (outcome->told[TOLD_READY]) {
        assert_true(code == ERROR_UNKNOWN || code == ERROR_BUSY);
        assert_int_equal(outcome->number[TOLD_READY], 0);
    }
    return true;
}

static void
fail_at(enum vfs_fault fault, const struct outcome *whole)
{
    bool is_sync = fault == VFS_SYNC_EIO;
    long last = whole->number[is_sync ? TOLD_PLAY_SYNCS : TOLD_PLAY_WRITES];
    long tried = 0, failed = 0;

    for (long at = 1; at <= last; at += is_sync ? 1 : last / 16) {
        struct vfs_plan plan = { .fault = fault,
                                 .sync = is_sync ? at : 0,
                                 .write = is_sync ? 0 : at };
        struct outcome outcome;

        print_message("%s at %ld\n", fault_names[fault], at);
        try_plan(&plan, &outcome);
        tried++;
        failed += failed_closed(&outcome) ? 1 : 0;
    }
    assert_true(failed * 4 > tried * 3);
}

static void
test_full_disk_and_io_errors_fail_closed_and_heal(void **state)
{
    struct outcome whole;

    (void)state;
    count_moments(&whole);
    fail_at(VFS_SYNC_EIO, &whole);
    fail_at(VFS_WRITE_EIO, &whole);
    fail_at(VFS_FULL, &whole);
}

/* A slow disk delays answers; nothing is refused, nothing is told early. */
static void
test_sync_of_two_seconds_only_delays(void **state)
{
    struct outcome whole, outcome;
    struct vfs_plan plan = { .fault = VFS_SLOW, .slow_ms = 2000 };

    (void)state;
    count_moments(&whole);
    plan.sync = whole.number[TOLD_SYNCS] / 2;
    try_plan(&plan, &outcome);
    assert_false(outcome.told[TOLD_FAILED]);
    assert_int_equal(outcome.number[TOLD_ANSWER], SCRIPT_STEPS);
    assert_true(outcome.number[TOLD_MS] >= 1900);
    assert_int_equal(outcome.number[TOLD_READY], 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_power_cut_after_the_last_answer_loses_none),
        cmocka_unit_test(test_power_cut_at_any_sync_keeps_all_that_was_told),
        cmocka_unit_test(
            test_power_cut_between_any_writes_leaves_nothing_half),
        cmocka_unit_test(test_full_disk_and_io_errors_fail_closed_and_heal),
        cmocka_unit_test(test_sync_of_two_seconds_only_delays),
    };

    vfs_register();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
