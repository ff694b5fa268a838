/* SPDX-License-Identifier: Apache-2.0 */
/* What is left when the process or its disk goes away. */
#include "tests/unit/control/harness.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "control/check.h"

/* --- commands whose numbers are told when they are done --- */

#define FLIGHT 8

struct client {
    struct job job;
    struct arena *arena;
    struct loop *loop;
    int number;
    int out; /* told here */
};

static int
put_pool(struct changes *changes, void *data, struct error *err)
{
    const struct client *client = data;
    char name[32];

    (void)err;
    (void)snprintf(name, sizeof(name), "p%d", client->number);
    (void)change_create(changes, KIND_POOL,
                        world_platform_ref(changes->world), name);
    return 0;
}

static void
run_client(struct loop *loop, struct job *job)
{
    struct client *client = job->data;
    struct deed deed = { .verb = "pool.create",
                         .component = "test",
                         .decide = put_pool,
                         .data = client };

    (void)execute_deed(loop, client->arena, &deed, &job->error);
}

static _Atomic int next_number = 1;

static void
done_client(struct job *job)
{
    struct client *client = job->data;
    struct error err;

    arena_free(client->arena);
    if (job->failed)
        return;
    if (write(client->out, &client->number, sizeof(client->number)) !=
        sizeof(client->number))
        _exit(1);
    client->number = atomic_fetch_add(&next_number, 1);
    client->arena = arena_new();
    (void)loop_post(client->loop, job, &err);
}

static void
start_clients(struct loop *loop, struct client *clients, int out)
{
    struct error err;

    for (int i = 0; i < FLIGHT; i++) {
        struct client *client = &clients[i];

        memset(client, 0, sizeof(*client));
        client->loop = loop;
        client->out = out;
        client->number = atomic_fetch_add(&next_number, 1);
        client->arena = arena_new();
        client->job = (struct job){ .run = run_client,
                                    .done = done_client,
                                    .data = client };
        harness_must(loop_post(loop, &client->job, &err), &err);
    }
}

static void
run_for_ever(const char *where, int out)
{
    static struct client clients[FLIGHT];
    struct loop_options options = { .ops = &store_sqlite, .where = where };
    struct bootstrap bootstrap = { 0 };
    struct loop *loop;
    struct error err;

    if (loop_open(&options, &loop, &err) != 0 ||
        bootstrap_run(loop, &bootstrap, &err) != 0 ||
        loop_start(loop, &err) != 0)
        _exit(1);
    start_clients(loop, clients, out);
    for (;;)
        (void)pause();
}

/* --- afterwards --- */

struct view {
    struct check check;
    const int *numbers;
    size_t count, missing;
};

static void
look(struct loop *loop, struct arena *arena, void *data)
{
    struct view *view = data;
    const struct world *world = loop_world(loop);

    (void)arena;
    check_world(&view->check, world);
    for (size_t i = 0; i < view->count; i++) {
        char name[32];

        (void)snprintf(name, sizeof(name), "p%d", view->numbers[i]);
        if (ref_is_none(world_find_name(world, KIND_POOL,
                                        world_platform_ref(world), name)))
            view->missing++;
    }
}

static void
look_back(struct job *job, struct store_reader *reader)
{
    struct error err;

    harness_must(check_history(job->data, reader, &err), &err);
}

/* Everything that was told is there, and nothing contradicts itself. */
static void
assert_kept(struct harness *harness, const int *numbers, size_t count)
{
    scoped_arena arena = arena_new();
    struct view *view = memory_new(1, sizeof(*view));

    view->numbers = numbers;
    view->count = count;
    check_begin(&view->check, arena, 0);
    harness_run(harness, look, view);
    harness_read(harness, look_back, &view->check);
    assert_int_equal(view->missing, 0);
    if (view->check.broken > 0)
        fail_msg("%s", view->check.findings[0].text);
    free(view);
}

#define NUMBERS 200000

static size_t
read_numbers(int in, int *numbers)
{
    size_t count = 0;

    while (count < NUMBERS &&
           read(in, &numbers[count], sizeof(*numbers)) == sizeof(*numbers))
        count++;
    return count;
}

static size_t
kill_while_working(struct harness *harness, long delay_ms, int *numbers)
{
    const struct timespec delay = { delay_ms / 1000,
                                    delay_ms % 1000 * 1000000 };
    int pipes[2], first;
    pid_t child;
    size_t count = 1;

    assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0)
        run_for_ever(harness->where, pipes[1]);
    (void)close(pipes[1]);
    assert_int_equal(read(pipes[0], &first, sizeof(first)), sizeof(first));
    numbers[0] = first;
    (void)nanosleep(&delay, NULL);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    count += read_numbers(pipes[0], numbers + 1);
    (void)close(pipes[0]);
    return count;
}

/* Nothing that a client was told is lost by a crash at any point. */
static void
test_killed_control_plane_keeps_all_it_answered(void **state)
{
    static int numbers[NUMBERS + 1];
    struct harness harness = { 0 };

    (void)state;
    harness_make_place(&harness);
    harness.options = (struct loop_options){ .ops = &store_sqlite,
                                             .where = harness.where };
    for (long round = 0; round < 5; round++) {
        size_t count =
            kill_while_working(&harness, 3 + round * 13, numbers);

        atomic_fetch_add(&next_number, 1000000);
        harness_start(&harness);
        assert_kept(&harness, numbers, count);
        loop_close(harness.loop);
        harness.loop = NULL;
    }
    harness_close(&harness);
}

/* --- a full disk --- */

static off_t
largest_file(const struct harness *harness)
{
    static const char *const names[] = { "bulkhead.db", "bulkhead.db-wal" };
    off_t largest = 0;

    for (size_t i = 0; i < 2; i++) {
        char path[128];
        struct stat status;

        (void)snprintf(path, sizeof(path), "%s/%s", harness->where, names[i]);
        if (stat(path, &status) == 0 && status.st_size > largest)
            largest = status.st_size;
    }
    return largest;
}

static void
limit_files(rlim_t size)
{
    struct rlimit limit;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = size;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void
wait_for_failure(const struct loop *loop)
{
    const struct timespec pause = { 0, 5000000 };

    for (int tries = 0; !loop_failed(loop) && tries < 4000; tries++)
        (void)nanosleep(&pause, NULL);
    assert_true(loop_failed(loop));
}

static void
test_full_disk_fails_closed_and_loses_nothing(void **state)
{
    static struct client clients[FLIGHT];
    static int numbers[NUMBERS + 1];
    struct harness harness = { 0 };
    size_t count;
    int pipes[2];

    (void)state;
    (void)signal(SIGXFSZ, SIG_IGN);
    harness_open(&harness);
    assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
    limit_files((rlim_t)largest_file(&harness) + 200000);
    start_clients(harness.loop, clients, pipes[1]);
    wait_for_failure(harness.loop);
    loop_close(harness.loop);
    limit_files(RLIM_INFINITY);
    (void)close(pipes[1]);
    count = read_numbers(pipes[0], numbers);
    (void)close(pipes[0]);
    assert_true(count > 0);
    harness_start(&harness);
    assert_kept(&harness, numbers, count);
    harness_close(&harness);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_killed_control_plane_keeps_all_it_answered),
        cmocka_unit_test(test_full_disk_fails_closed_and_loses_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
