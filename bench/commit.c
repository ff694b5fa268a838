/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many audited changes a second become durable through the API, beside
 * one fdatasync for each?
 *
 * 64 clients with open connections to a bulkheadd of their own change one
 * project each (PATCH over the Unix socket), while a bulkhead-signer signs
 * the logs.  Between the rounds the same
 * number of bytes as one change writes is appended to a file on the same
 * disk, with one fdatasync each time.  Ends with 1 when a goal is missed.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/file.h"
#include "bench/common/crowd.h"
#include "bench/common/daemon.h"

#define CLIENTS 64
#define ROUNDS 4
#define ROUND_MS 2000
#define SYNC_MS 700

struct patches {
    const struct daemon *daemon;
    unsigned number;
};

static void
write_patch(void *data, unsigned client, struct buffer *out)
{
    struct patches *patches = data;

    buffer_printf(out,
                  "PATCH /api/v1/tenants/bench/projects/p%u HTTP/1.1\r\n"
                  "Host: bulkhead\r\n"
                  "Authorization: Bearer %s\r\n"
                  "If-Match: *\r\n"
                  "Content-Type: application/merge-patch+json\r\n"
                  "Content-Length: 23\r\n\r\n"
                  "{\"display\":\"%09u\"}",
                  client, patches->daemon->token,
                  patches->number++ % 1000000000);
}

static void
make_projects(struct daemon *daemon)
{
    char body[64];

    json_decref(
        daemon_ask(daemon, "POST", "/tenants", "{\"name\":\"bench\"}", 201));
    for (unsigned i = 0; i < CLIENTS; i++) {
        (void)snprintf(body, sizeof(body), "{\"name\":\"p%u\"}", i);
        json_decref(
            daemon_ask(daemon, "POST", "/tenants/bench/projects", body, 201));
    }
}

/* Times of single appends with their fdatasync. */
struct syncs {
    int fd;
    int64_t *times;
    size_t count, room;
    int64_t us;
};

static void
open_syncs(struct syncs *syncs, struct daemon *daemon)
{
    char path[256];

    (void)snprintf(path, sizeof(path), "%s/syncs", daemon->home);
    syncs->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (syncs->fd < 0)
        daemon_give_up(daemon, "%s cannot be made", path);
    syncs->room = 1000000;
    syncs->times = memory_new(syncs->room, sizeof(*syncs->times));
}

static void
run_syncs(struct syncs *syncs, struct daemon *daemon, size_t size)
{
    char *bytes = memory_new(1, size);
    int64_t start_us = clock_mono_us(), now_us = start_us;
    struct error err;

    while (now_us - start_us < SYNC_MS * 1000 && syncs->count < syncs->room) {
        int64_t before_us = now_us;

        if (file_write_all(syncs->fd, bytes, size, &err) != 0 ||
            fdatasync(syncs->fd) != 0)
            daemon_give_up(daemon, "the disk cannot be written");
        now_us = clock_mono_us();
        syncs->times[syncs->count++] = now_us - before_us;
    }
    syncs->us += now_us - start_us;
    free(bytes);
}

struct totals {
    int64_t cpu_us;
    int64_t written;
    uint64_t commits;
};

static void
run_round(struct daemon *daemon, struct crowd *crowd, struct totals *totals)
{
    uint64_t commits = daemon_metric(daemon, "bulkhead_commits_total");
    struct daemon_use before = daemon_use(daemon), after;
    const char *why = crowd_run(crowd, ROUND_MS);

    if (why != NULL)
        daemon_give_up(daemon, "%s", why);
    after = daemon_use(daemon);
    totals->cpu_us += after.cpu_us - before.cpu_us;
    totals->written += after.written - before.written;
    totals->commits +=
        daemon_metric(daemon, "bulkhead_commits_total") - commits;
}

static int
report(struct crowd *crowd, struct syncs *syncs, const struct totals *totals)
{
    struct crowd_result result;
    int64_t rate, sync_rate, count;
    bool passes = true;

    crowd_result(crowd, &result);
    count = (int64_t)result.answers;
    rate = count * 1000000 / result.us;
    sync_rate = (int64_t)syncs->count * 1000000 / syncs->us;
    (void)printf("%d clients, %lld changes, %lld bytes written for each\n",
                 CLIENTS, (long long)count,
                 (long long)(totals->written / count));
    passes &= crowd_judge("changes a second", rate, "/s", 5000, true);
    passes &= crowd_judge("CPU of bulkheadd for each", totals->cpu_us / count,
                          "us", 100, false);
    passes &= crowd_judge(
        "changes in ten transactions",
        count * 10 / (int64_t)(totals->commits > 0 ? totals->commits : 1), "",
        CLIENTS * 4, true);
    (void)printf("%-34s %9lld us\n%-34s %9lld us\n%-34s %9lld us\n",
                 "answer, p50", (long long)result.p50_us, "answer, p99",
                 (long long)result.p99_us, "answer, longest",
                 (long long)result.longest_us);
    (void)printf("%-34s %9lld us\n%-34s %9lld us\n%-34s %9lld /s\n",
                 "fdatasync of as many bytes, p50",
                 (long long)crowd_percentile(syncs->times, syncs->count, 50),
                 "fdatasync of as many bytes, p99",
                 (long long)crowd_percentile(syncs->times, syncs->count, 99),
                 "with one fdatasync for each", (long long)sync_rate);
    (void)printf("%-34s %7lld.%02lld x\n", "changes to such fdatasyncs",
                 (long long)(rate / sync_rate),
                 (long long)(rate * 100 / sync_rate % 100));
    (void)printf("bench-commit: %s\n", passes ? "PASS" : "FAIL");
    return passes ? 0 : 1;
}

/* The signer worked as well: there is a head of the tenant's log. */
static void
see_signature(struct daemon *daemon)
{
    json_decref(daemon_ask(daemon, "GET", "/tenants/bench/audit/checkpoint",
                           NULL, 200));
}

int
main(int argc, char **argv)
{
    struct daemon daemon;
    struct syncs syncs = { 0 };
    struct totals totals = { 0 };
    struct patches patches = { &daemon, 0 };
    struct crowd *crowd;
    const char *why;
    int rc;

    (void)argc;
    daemon_prepare(&daemon, argv[0]);
    (void)daemon_start(&daemon);
    daemon_log_in(&daemon);
    make_projects(&daemon);
    open_syncs(&syncs, &daemon);
    crowd = crowd_new(daemon.socket, CLIENTS, write_patch, &patches);
    why = crowd_run(crowd, 500); /* warms up: sizes of tables, caches */
    if (why != NULL)
        daemon_give_up(&daemon, "%s", why);
    crowd_free(crowd);
    crowd = crowd_new(daemon.socket, CLIENTS, write_patch, &patches);
    for (int i = 0; i < ROUNDS; i++) {
        struct crowd_result result;

        run_round(&daemon, crowd, &totals);
        crowd_result(crowd, &result);
        run_syncs(&syncs, &daemon,
                  (size_t)(totals.written / (int64_t)result.answers));
    }
    see_signature(&daemon);
    daemon_stop(&daemon);
    rc = report(crowd, &syncs, &totals);
    crowd_free(crowd);
    free(syncs.times);
    (void)close(syncs.fd);
    daemon_remove(&daemon);
    return rc;
}
