/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/schedule.h"
#include "core/submit.h"
#include "trace/scenario.h"

/*
 * How long do the decisions take that bench/slurm.sh asks of slurmctld?  100
 * nodes of 8 cards, 5,000 workloads of one card wait, 800 of them start.
 * Prints "SECONDS DECISIONS": from the first step of a new scheduler to its
 * last, with every reason of those that wait.  CPU and wall time are one
 * here: nothing is waited for.
 */

static const char estate[] =
    "{\"platform\": {\"tenant_limit_permille\": 1000},"
    " \"pools\": [{\"name\": \"a\"}],"
    " \"nodes\": [{\"pool\": \"a\", \"count\": 100, \"cards\": 8,"
    "              \"model\": \"h100-80g\", \"memory_mib\": 81920}],"
    " \"classes\": [{\"name\": \"h100.1\", \"model\": \"h100-80g\","
    "               \"count\": 1}],"
    " \"tenants\": [{\"name\": \"t\", \"quotas\": [{\"dimension\": \"cards\","
    "   \"guaranteed\": 0, \"limit\": 800000}],"
    "   \"projects\": [{\"name\": \"p\", \"class\": \"research\"}]}]}";

#define WORK 5000

static struct id_source ids = { { 0, 3 }, 0 };

static struct changes *
begin(struct arena *arena, struct world *world)
{
    return change_begin(arena, world,
                        (struct context){ SCENARIO_START_MS, &ids });
}

static int
submit_all(struct scenario *scenario, struct error *err)
{
    struct ref platform = world_platform_ref(scenario->world);
    struct ref project = world_find_name(
        scenario->world, KIND_PROJECT,
        world_find_name(scenario->world, KIND_TENANT, platform, "t"), "p");

    for (int i = 0; i < WORK; i++) {
        scoped_arena arena = arena_new();
        struct changes *changes = begin(arena, scenario->world);
        struct granted granted;
        char name[NAME_MAX_SIZE];
        scoped_json body = NULL;
        struct ref ref;

        (void)snprintf(name, sizeof(name), "w%d", i);
        body = json_pack("{s:s, s:s, s:s, s:i, s:i, s:{s:[s]}}", "name", name,
                         "class", "h100.1", "image", "none", "cpu_milli", 1000,
                         "memory_mib", 1024, "spec", "command", "none");
        if (access_decide(scenario->world, &scenario->operator_,
                          VERB_WORKLOAD_CREATE, project, SCENARIO_START_MS,
                          &granted, err) != 0 ||
            submit_workload(&granted, changes, project, body, &ref, err) != 0)
            return -1;
        world_apply(scenario->world, changes);
    }
    return 0;
}

static double
now(void)
{
    struct timespec time;

    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

int
main(void)
{
    scoped_json file = json_loads(estate, 0, NULL);
    struct scheduler *scheduler = scheduler_new();
    struct scenario scenario;
    struct error err;
    long assigned = 0;
    double start;

    if (scenario_build(file, &scenario, &err) != 0 ||
        submit_all(&scenario, &err) != 0) {
        (void)fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    start = now();
    for (;;) {
        scoped_arena arena = arena_new();
        struct changes *changes = begin(arena, scenario.world);

        if (!schedule_step(scheduler, changes))
            break;
        assigned += schedule_last(scheduler).what == SCHEDULE_ASSIGN;
        world_apply(scenario.world, changes);
    }
    (void)printf("%.6f %ld\n", now() - start, assigned);
    scheduler_free(scheduler);
    world_free(scenario.world);
    return assigned == 800 ? 0 : 1;
}
