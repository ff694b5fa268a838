/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast is a large world read, and how fast does it start?
 *
 * 10,000 held workloads in one project and 100,000 ended ones in the history
 * are put into a store; then a bulkheadd starts on it, lists all held ones
 * page by page and shows single ones to one client.  Ends with 1 when a goal
 * is missed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "bench/common/crowd.h"
#include "bench/common/daemon.h"
#include "control/execute.h"

#define LIVE 10000
#define ENDED 100000
#define IN_ONE_SET 1000
#define LISTINGS 40
#define GET_MS 3000
#define PLACE "/tenants/bench/projects/work/workloads"

/* --- filling the store --- */

struct fill {
    struct ref project;
    struct ref ended[IN_ONE_SET];
    int from;
    enum workload_state state;
};

static int
put_project(struct changes *changes, void *data, struct error *err)
{
    struct fill *fill = data;
    struct tenant *tenant = change_create(
        changes, KIND_TENANT, world_platform_ref(changes->world), "bench");
    struct project *project =
        change_create(changes, KIND_PROJECT, tenant->object.self, "work");

    (void)err;
    fill->project = project->object.self;
    return 0;
}

static int
put_workloads(struct changes *changes, void *data, struct error *err)
{
    struct fill *fill = data;

    (void)err;
    for (int i = 0; i < IN_ONE_SET; i++) {
        char name[32];
        struct workload *workload;

        (void)snprintf(name, sizeof(name), "%c%d",
                       fill->state == WORKLOAD_HELD ? 'w' : 'e',
                       fill->from + i);
        workload = change_create(changes, KIND_WORKLOAD, fill->project, name);
        workload->state = (int)fill->state;
        workload->instances = 1;
        workload->cpu_milli = 1000;
        workload->memory_mib = 1024;
        workload->submitted_ms = workload->state_ms = changes->context.now_ms;
        if (fill->state != WORKLOAD_HELD)
            workload->ended_ms = changes->context.now_ms;
        change_doc(changes, &workload->spec,
                   "{\"args\":[\"train\",\"--steps\",\"1000\"]}");
        (void)snprintf(workload->image, sizeof(workload->image), "demo");
        fill->ended[i] = workload->object.self;
    }
    return 0;
}

static int
evict_workloads(struct changes *changes, void *data, struct error *err)
{
    struct fill *fill = data;

    (void)err;
    for (int i = 0; i < IN_ONE_SET; i++)
        change_evict(changes, fill->ended[i]);
    return 0;
}

struct step {
    int (*decide)(struct changes *changes, void *data, struct error *err);
    struct fill *fill;
};

static void
run_step(struct loop *loop, struct job *job)
{
    struct step *step = job->data;
    struct deed deed = { .verb = "fill",
                         .component = "bench",
                         .decide = step->decide,
                         .data = step->fill };

    if (execute_deed(loop, job->arena, &deed, &job->error) < 0)
        job->failed = true;
}

static void
do_step(struct loop *loop, struct fill *fill,
        int (*decide)(struct changes *changes, void *data, struct error *err))
{
    scoped_arena arena = arena_new();
    struct step step = { decide, fill };
    struct job job = { .run = run_step, .arena = arena, .data = &step };
    struct error err;

    if (loop_call(loop, &job, &err) != 0)
        daemon_give_up(NULL, "%s", err.text);
}

static void
fill_store(const struct daemon *daemon)
{
    char where[256];
    struct loop_options options = { .ops = &store_sqlite, .where = where };
    struct fill fill = { .state = WORKLOAD_HELD };
    struct loop *loop;
    struct error err;

    (void)snprintf(where, sizeof(where), "%s/data/store", daemon->home);
    if (loop_open(&options, &loop, &err) != 0)
        daemon_give_up(NULL, "%s", err.text);
    do_step(loop, &fill, put_project);
    for (fill.from = 0; fill.from < LIVE; fill.from += IN_ONE_SET)
        do_step(loop, &fill, put_workloads);
    fill.state = WORKLOAD_SUCCEEDED;
    for (fill.from = 0; fill.from < ENDED; fill.from += IN_ONE_SET) {
        do_step(loop, &fill, put_workloads);
        do_step(loop, &fill, evict_workloads);
    }
    loop_close(loop);
}

/* --- reading --- */

static size_t
count_items(const char *text)
{
    static const char mark[] = "\"id\":\"wl_";
    size_t count = 0;

    while ((text = strstr(text, mark)) != NULL) {
        text += sizeof(mark) - 1;
        count++;
    }
    return count;
}

/* The cursor behind the items; false when this was the last page. */
static bool
next_page(const char *text, char path[400])
{
    static const char mark[] = "\"next\":\"";
    const char *at = NULL;

    for (const char *found = text; (found = strstr(found, mark)) != NULL;)
        at = found += sizeof(mark) - 1;
    if (at == NULL)
        return false;
    (void)snprintf(path, 400, PLACE "?limit=500&cursor=%.*s",
                   (int)strcspn(at, "\""), at);
    return true;
}

/* All pages; returns the microseconds that their answers took. */
static int64_t
list_all(struct daemon *daemon)
{
    char path[400] = PLACE "?limit=500";
    int64_t us = 0;
    size_t count = 0;

    for (bool more = true; more;) {
        scoped_answer answer = { 0 };
        const char *text = daemon_read(daemon, path, &answer);

        us += daemon->asked_us;
        count += count_items(text);
        more = next_page(text, path);
    }
    if (count != LIVE)
        daemon_give_up(daemon, "%zu workloads were listed, not %d", count,
                       LIVE);
    return us;
}

struct gets {
    const struct daemon *daemon;
    unsigned number;
};

static void
write_get(void *data, unsigned client, struct buffer *out)
{
    struct gets *gets = data;

    (void)client;
    gets->number = (gets->number * 5 + 4321) % LIVE;
    buffer_printf(out,
                  "GET /api/v1" PLACE "/w%u HTTP/1.1\r\n"
                  "Host: bulkhead\r\n"
                  "Authorization: Bearer %s\r\n\r\n",
                  gets->number, gets->daemon->token);
}

static void
show_single(struct daemon *daemon, struct crowd_result *out)
{
    struct gets gets = { daemon, 0 };
    struct crowd *crowd = crowd_new(daemon->socket, 1, write_get, &gets);
    const char *why = crowd_run(crowd, GET_MS);

    if (why != NULL)
        daemon_give_up(daemon, "%s", why);
    crowd_result(crowd, out);
    crowd_free(crowd);
}

int
main(int argc, char **argv)
{
    struct daemon daemon;
    struct crowd_result gets;
    int64_t empty_kib, full_kib, start_ms, lists[LISTINGS];
    bool passes = true;

    (void)argc;
    daemon_prepare(&daemon, argv[0]);
    (void)daemon_start(&daemon);
    daemon_log_in(&daemon);
    empty_kib = daemon_use(&daemon).resident_kib;
    daemon_stop(&daemon);
    fill_store(&daemon);
    start_ms = daemon_start(&daemon);
    full_kib = daemon_use(&daemon).resident_kib;
    for (int i = 0; i < LISTINGS; i++)
        lists[i] = list_all(&daemon);
    show_single(&daemon, &gets);
    daemon_stop(&daemon);
    (void)printf("%d live workloads, %d ended ones\n", LIVE, ENDED);
    passes &= crowd_judge("start until ready", start_ms, "ms", 2000, false);
    (void)printf("%-34s %9lld bytes\n", "memory for each live workload",
                 (long long)((full_kib - empty_kib) * 1024 / LIVE));
    passes &= crowd_judge("list of all live, p50",
                          crowd_percentile(lists, LISTINGS, 50) / 1000, "ms",
                          50, false);
    passes &= crowd_judge("one workload, p50", gets.p50_us, "us", 200, false);
    (void)printf("%-34s %9lld us\nbench-read: %s\n", "one workload, p99",
                 (long long)gets.p99_us, passes ? "PASS" : "FAIL");
    daemon_remove(&daemon);
    return passes ? 0 : 1;
}
