/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/control/harness.h"

#include <sqlite3.h>
#include <stdatomic.h>
#include <time.h>

#include "control/loop_private.h"

static void
pause_ms(long ms)
{
    struct timespec time = { ms / 1000, ms % 1000 * 1000000 };

    (void)nanosleep(&time, NULL);
}

static void
put_pool(struct loop *loop, struct arena *arena, void *data)
{
    struct changes *changes = loop_changes(loop, arena);

    (void)change_create(changes, KIND_POOL,
                        world_platform_ref(loop_world(loop)), data);
    loop_apply(loop, changes);
}

static void
count_pools(struct loop *loop, struct arena *arena, void *data)
{
    (void)arena;
    *(size_t *)data = world_count(loop_world(loop), KIND_POOL);
}

/* As another process would see it. */
static int64_t
stored_pools(const struct harness *harness)
{
    char path[128];
    sqlite3 *db;
    sqlite3_stmt *statement;
    int64_t count;

    (void)snprintf(path, sizeof(path), "%s/bulkhead.db", harness->where);
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT COUNT(*) FROM pool", -1,
                                        &statement, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    count = sqlite3_column_int64(statement, 0);
    (void)sqlite3_finalize(statement);
    (void)sqlite3_close(db);
    return count;
}

static void
test_change_is_stored_when_its_job_is_done(void **state)
{
    struct harness harness = { 0 };
    size_t count = 0;

    (void)state;
    harness_open(&harness);
    for (int i = 0; i < 20; i++) {
        char name[32];

        (void)snprintf(name, sizeof(name), "pool-%d", i);
        harness_run(&harness, put_pool, name);
        assert_int_equal(stored_pools(&harness), i + 2);
    }
    harness_restart(&harness);
    harness_run(&harness, count_pools, &count);
    assert_int_equal(count, 21);
    harness_close(&harness);
}

/* --- many clients at once --- */

#define CLIENTS 64

struct client {
    struct job job;
    char name[32];
    struct arena *arena;
    _Atomic int *done;
    int order;
};

static void
client_run(struct loop *loop, struct job *job)
{
    struct client *client = job->data;

    put_pool(loop, client->arena, client->name);
}

static void
client_done(struct job *job)
{
    struct client *client = job->data;

    client->order = atomic_fetch_add(client->done, 1);
}

static void
test_commits_are_shared_by_many_jobs(void **state)
{
    struct harness harness = { 0 };
    struct client clients[CLIENTS];
    _Atomic int done = 0;
    struct loop_stats before, after;
    struct error err;

    (void)state;
    harness_open(&harness);
    loop_stats(harness.loop, &before);
    for (int i = 0; i < CLIENTS; i++) {
        memset(&clients[i], 0, sizeof(clients[i]));
        (void)snprintf(clients[i].name, sizeof(clients[i].name), "p%d", i);
        clients[i].arena = arena_new();
        clients[i].done = &done;
        clients[i].job = (struct job){ .run = client_run,
                                       .done = client_done,
                                       .data = &clients[i] };
        harness_must(loop_post(harness.loop, &clients[i].job, &err), &err);
    }
    loop_stop(harness.loop);
    assert_int_equal(done, CLIENTS);
    assert_int_equal(stored_pools(&harness), CLIENTS + 1);
    /* answers come in the order of the jobs */
    for (int i = 0; i < CLIENTS; i++) {
        assert_int_equal(clients[i].order, i);
        assert_false(clients[i].job.failed);
        arena_free(clients[i].arena);
    }
    (void)after;
    harness_close(&harness);
}

/* --- a job that only reads waits for what it saw --- */

struct watcher {
    struct job job;
    const struct harness *harness;
    size_t seen;
    _Atomic int64_t stored; /* when the answer left */
};

static void
watcher_run(struct loop *loop, struct job *job)
{
    struct watcher *watcher = job->data;

    watcher->seen = world_count(loop_world(loop), KIND_POOL);
}

static void
watcher_done(struct job *job)
{
    struct watcher *watcher = job->data;

    watcher->stored = stored_pools(watcher->harness);
}

static void
test_nothing_is_answered_before_it_is_durable(void **state)
{
    struct harness harness = { 0 };
    struct client client = { .name = "other" };
    struct watcher watcher = { .harness = &harness };
    _Atomic int done = 0;
    struct error err;

    (void)state;
    harness_open(&harness);
    client.arena = arena_new();
    client.done = &done;
    client.job = (struct job){ .run = client_run,
                               .done = client_done,
                               .data = &client };
    watcher.job = (struct job){ .run = watcher_run,
                                .done = watcher_done,
                                .data = &watcher };
    harness_must(loop_post(harness.loop, &client.job, &err), &err);
    harness_must(loop_post(harness.loop, &watcher.job, &err), &err);
    loop_stop(harness.loop);
    assert_int_equal(watcher.seen, 2);
    assert_int_equal(watcher.stored, 2);
    arena_free(client.arena);
    harness_close(&harness);
}

/* --- when the store fails --- */

/* Takes the store over: the loop's next commit is fenced. */
static void
fence(const struct harness *harness)
{
    struct store *store;
    struct error err;

    harness_must(store_open(&store_sqlite, harness->where, &store, &err),
                 &err);
    store_close(store);
}

static void
test_failed_commit_answers_unknown_and_stops_everything(void **state)
{
    struct harness harness = { 0 };
    scoped_arena arena = arena_new();
    struct harness_step step = { put_pool, (char[]){ "lost" } };
    struct job job = { .run = harness_step, .arena = arena, .data = &step };
    struct job late = { .run = harness_step, .arena = arena, .data = &step };
    char reason[LOOP_REASON_MAX];
    struct error err;

    (void)state;
    harness_open(&harness);
    assert_true(loop_ready(harness.loop, reason));
    fence(&harness);
    assert_int_equal(loop_call(harness.loop, &job, &err), -1);
    assert_int_equal(err.code, ERROR_UNKNOWN);
    assert_true(loop_failed(harness.loop));
    assert_false(loop_ready(harness.loop, reason));
    assert_string_equal(reason, "a commit failed");
    assert_int_equal(loop_call(harness.loop, &late, &err), -1);
    assert_int_equal(err.code, ERROR_BUSY);
    assert_int_equal(stored_pools(&harness), 1);
    harness_close(&harness);
}

/* --- bounds --- */

static void
slow_run(struct loop *loop, struct job *job)
{
    (void)loop;
    (void)job;
    pause_ms(50);
}

static void
slow_done(struct job *job)
{
    (void)job;
}

static void
test_full_queue_is_busy(void **state)
{
    struct harness harness = { .options.jobs_max = 2 };
    struct job jobs[3] = { { .run = slow_run, .done = slow_done },
                           { .run = slow_run, .done = slow_done },
                           { .run = slow_run, .done = slow_done } };
    struct error err;

    (void)state;
    harness_open(&harness);
    harness_must(loop_post(harness.loop, &jobs[0], &err), &err);
    harness_must(loop_post(harness.loop, &jobs[1], &err), &err);
    assert_int_equal(loop_post(harness.loop, &jobs[2], &err), -1);
    assert_int_equal(err.code, ERROR_BUSY);
    loop_stop(harness.loop);
    assert_int_equal(loop_post(harness.loop, &jobs[2], &err), -1);
    assert_int_equal(err.code, ERROR_BUSY);
    harness_close(&harness);
}

/* --- stations: world, worker, world, reader --- */

struct journey {
    char stations[64];
    bool to_fail;
};

static void
add_station(struct job *job, const char *station)
{
    struct journey *journey = job->data;

    (void)snprintf(journey->stations + strlen(journey->stations),
                   sizeof(journey->stations) - strlen(journey->stations),
                   "%s ", station);
}

static void
journey_read(struct job *job, struct store_reader *reader)
{
    assert_non_null(reader);
    add_station(job, "read");
}

static void
journey_again(struct loop *loop, struct job *job)
{
    (void)loop;
    add_station(job, "again");
    job->read = journey_read;
}

static void
journey_work(struct loop *loop, struct job *job)
{
    const struct journey *journey = job->data;
    struct error err;

    add_station(job, "work");
    job->run = journey_again;
    if (journey->to_fail) {
        (void)error_set(&err, ERROR_INVALID, "no");
        loop_finish(loop, job, &err);
    } else if (loop_post(loop, job, &err) != 0) {
        loop_finish(loop, job, &err);
    }
}

static void
journey_run(struct loop *loop, struct job *job)
{
    (void)loop;
    add_station(job, "run");
    job->to_work = true;
}

static void
test_job_goes_to_a_worker_and_back(void **state)
{
    struct harness harness = { 0 };
    struct journey journey = { "", false };
    struct job job = { .run = journey_run,
                       .work = journey_work,
                       .data = &journey };
    struct error err;

    (void)state;
    harness_open(&harness);
    harness_must(loop_call(harness.loop, &job, &err), &err);
    assert_string_equal(journey.stations, "run work again read ");
    journey = (struct journey){ "", true };
    job = (struct job){ .run = journey_run,
                        .work = journey_work,
                        .data = &journey };
    assert_int_equal(loop_call(harness.loop, &job, &err), -1);
    assert_int_equal(err.code, ERROR_INVALID);
    assert_string_equal(journey.stations, "run work ");
    harness_close(&harness);
}

/* --- timers, hooks, notes --- */

static _Atomic int ticks;
static _Atomic int noted;

static void
count_tick(struct loop *loop, void *data)
{
    (void)loop;
    (void)data;
    ticks++;
}

static void
count_notes(void *data, const struct note *notes, size_t count)
{
    (void)data;
    for (size_t i = 0; i < count; i++)
        if (notes[i].kind == KIND_POOL && notes[i].created)
            noted++;
}

static void
prepare_hooks(struct loop *loop)
{
    loop_every(loop, 100, count_tick, NULL);
    loop_on_durable(loop, count_notes, NULL);
}

static void
nothing(struct loop *loop, struct arena *arena, void *data)
{
    (void)loop;
    (void)arena;
    (void)data;
}

static void
test_timer_follows_the_clock_and_hooks_follow_commits(void **state)
{
    struct harness harness = { .prepare = prepare_hooks };

    (void)state;
    ticks = noted = 0;
    harness_open(&harness);
    assert_int_equal(noted, 1);
    assert_int_equal(ticks, 0);
    for (int i = 1; i <= 3; i++) {
        harness_pass(120);
        for (int tries = 0; ticks < i && tries < 200; tries++) {
            harness_run(&harness, nothing, NULL);
            pause_ms(1);
        }
        assert_int_equal(ticks, i);
    }
    harness_run(&harness, put_pool, (char[]){ "more" });
    assert_int_equal(noted, 2);
    harness_close(&harness);
}

static void
read_now(struct loop *loop, struct arena *arena, void *data)
{
    (void)arena;
    *(int64_t *)data = loop_context(loop).now_ms;
}

static void
confirm(struct loop *loop, struct arena *arena, void *data)
{
    (void)arena;
    (void)data;
    loop_clock_confirm(loop);
}

/* [A28] */
static void
test_jump_of_the_clock_is_held_and_latched(void **state)
{
    struct harness harness = { 0 };
    char reason[LOOP_REASON_MAX];
    int64_t before, after;

    (void)state;
    harness_open(&harness);
    harness_run(&harness, read_now, &before);
    harness_jump(INT64_C(3600000));
    harness_run(&harness, read_now, &after);
    assert_int_equal(after, before);
    assert_int_equal(loop_clock_held(harness.loop), 3600000);
    assert_false(loop_ready(harness.loop, reason));
    harness_run(&harness, confirm, NULL);
    harness_run(&harness, put_pool, (char[]){ "latch" });
    harness_run(&harness, read_now, &after);
    assert_int_equal(after, before + 3600000);
    assert_true(loop_ready(harness.loop, reason));
    /* set back over a restart: time goes on from the latch */
    harness_jump(INT64_C(-3600000));
    harness_restart(&harness);
    harness_run(&harness, read_now, &after);
    assert_true(after >= before + 3600000);
    harness_close(&harness);
}

static void
test_reasons_of_parts_show_in_readiness(void **state)
{
    struct harness harness = { 0 };
    char reason[LOOP_REASON_MAX];

    (void)state;
    harness_open(&harness);
    loop_set_reason(harness.loop, "audit", "the signer does not answer");
    assert_false(loop_ready(harness.loop, reason));
    assert_string_equal(reason, "the signer does not answer");
    loop_set_reason(harness.loop, "audit", NULL);
    assert_true(loop_ready(harness.loop, reason));
    harness_close(&harness);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_change_is_stored_when_its_job_is_done),
        cmocka_unit_test(test_commits_are_shared_by_many_jobs),
        cmocka_unit_test(test_nothing_is_answered_before_it_is_durable),
        cmocka_unit_test(
            test_failed_commit_answers_unknown_and_stops_everything),
        cmocka_unit_test(test_full_queue_is_busy),
        cmocka_unit_test(test_job_goes_to_a_worker_and_back),
        cmocka_unit_test(
            test_timer_follows_the_clock_and_hooks_follow_commits),
        cmocka_unit_test(test_jump_of_the_clock_is_held_and_latched),
        cmocka_unit_test(test_reasons_of_parts_show_in_readiness),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
