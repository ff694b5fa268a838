/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/common/durable.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/file.h"
#include "bench/common/crowd.h"
#include "control/bootstrap.h"
#include "control/journal.h"
#include "control/loop.h"

#define TIMES_MAX ((size_t)2000000)
#define SYNCS 200

struct run {
    struct loop *loop;
    const struct record *sample;
    int64_t end_us;
    int64_t *times;
    _Atomic size_t count;
    _Atomic unsigned left; /* jobs that are not done for good */
};

struct client {
    struct run *run;
    struct job job;
    int64_t start_us;
};

static void
append(struct loop *loop, struct job *job)
{
    const struct client *client = job->data;
    struct record record = *client->run->sample;

    journal_append(loop, job->arena, world_platform_ref(loop_world(loop)),
                   &record, NULL);
}

static void post(struct client *client);

static void
durable(struct job *job)
{
    struct client *client = job->data;
    struct run *run = client->run;
    int64_t now_us = clock_mono_us();
    size_t at = atomic_fetch_add(&run->count, 1);

    if (at < TIMES_MAX)
        run->times[at] = now_us - client->start_us;
    arena_free(job->arena);
    if (job->failed || now_us >= run->end_us)
        atomic_fetch_sub(&run->left, 1);
    else
        post(client);
}

static void
post(struct client *client)
{
    struct error err;

    client->job = (struct job){ .run = append,
                                .done = durable,
                                .arena = arena_new(),
                                .data = client };
    client->start_us = clock_mono_us();
    if (loop_post(client->run->loop, &client->job, &err) != 0) {
        arena_free(client->job.arena);
        atomic_fetch_sub(&client->run->left, 1);
    }
}

static int64_t
cpu_us(void)
{
    struct rusage use;

    (void)getrusage(RUSAGE_SELF, &use);
    return (use.ru_utime.tv_sec + use.ru_stime.tv_sec) * INT64_C(1000000) +
           use.ru_utime.tv_usec + use.ru_stime.tv_usec;
}

static void
flood(struct run *run, unsigned in_flight, int64_t ms, struct durable *out)
{
    const struct timespec pause = { 0, 1000000 };
    struct client *clients = memory_new(in_flight, sizeof(*clients));
    struct loop_stats before, after;
    int64_t start_us = clock_mono_us(), start_cpu = cpu_us();

    loop_stats(run->loop, &before);
    run->end_us = start_us + ms * 1000;
    atomic_store(&run->left, in_flight);
    for (unsigned i = 0; i < in_flight; i++) {
        clients[i].run = run;
        post(&clients[i]);
    }
    while (atomic_load(&run->left) > 0)
        (void)nanosleep(&pause, NULL);
    loop_stats(run->loop, &after);
    out->us = clock_mono_us() - start_us;
    out->cpu_us = cpu_us() - start_cpu;
    out->records = atomic_load(&run->count);
    out->commits = after.commits - before.commits;
    free(clients);
}

/* As many bytes as one transaction writes, appended and synced. */
static int
measure_syncs(const char *directory, size_t size, struct durable *out,
              struct error *err)
{
    scoped_buffer path = { 0 };
    int64_t times[SYNCS];
    char *bytes = memory_new(1, size);
    scoped_fd fd = -1;

    buffer_printf(&path, "%s/syncs", directory);
    fd = open(path.bytes, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    for (size_t i = 0; i < SYNCS; i++) {
        int64_t start_us = clock_mono_us();

        if (file_write_all(fd, bytes, size, err) != 0 || fdatasync(fd) != 0) {
            free(bytes);
            return -1;
        }
        times[i] = clock_mono_us() - start_us;
    }
    free(bytes);
    out->sync_p50_us = crowd_percentile(times, SYNCS, 50);
    out->sync_p99_us = crowd_percentile(times, SYNCS, 99);
    return 0;
}

int
durable_run(const char *directory, unsigned in_flight, int64_t ms,
            const struct record *sample, struct durable *out,
            struct error *err)
{
    struct loop_options options = { .ops = &store_sqlite,
                                    .where = directory };
    struct bootstrap bootstrap = { 0 };
    struct run run = { .sample = sample };
    size_t counted;

    if (loop_open(&options, &run.loop, err) != 0)
        return -1;
    if (bootstrap_run(run.loop, &bootstrap, err) != 0 ||
        loop_start(run.loop, err) != 0) {
        loop_close(run.loop);
        return -1;
    }
    run.times = memory_new(TIMES_MAX, sizeof(*run.times));
    flood(&run, in_flight, ms / 10, out); /* sizes of tables, caches */
    atomic_store(&run.count, 0);
    flood(&run, in_flight, ms, out);
    loop_close(run.loop);
    counted = out->records < TIMES_MAX ? (size_t)out->records : TIMES_MAX;
    out->p50_us = crowd_percentile(run.times, counted, 50);
    out->p99_us = crowd_percentile(run.times, counted, 99);
    free(run.times);
    return measure_syncs(directory,
                         2048 * (size_t)(out->records /
                                         (out->commits > 0 ? out->commits
                                                           : 1)),
                         out, err);
}
