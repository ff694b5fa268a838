/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many recorded commands a second become durable?
 *
 * 256 commands are in flight in one process; each changes one object and
 * writes its audit record.  Prints commands/s, records per transaction, the
 * time of one transaction, and the CPU time of one command.  The store lies
 * below the directory given, or /var/tmp.
 */
#include <dirent.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "control/bootstrap.h"
#include "control/execute.h"

#define FLIGHT 256
#define SECONDS 5

struct client {
    struct job job;
    struct arena *arena;
    struct loop *loop;
    struct ref project;
    char name[32];
    _Atomic bool *stop;
    _Atomic uint64_t *count;
};

static int
rename_project(struct changes *changes, void *data, struct error *err)
{
    const struct client *client = data;
    struct project *project = change_update(changes, client->project);

    (void)err;
    project->class = (project->class + 1) % 4;
    return 0;
}

static void
run_command(struct loop *loop, struct job *job)
{
    struct client *client = job->data;
    struct deed deed = { .verb = "project.update",
                         .object = client->project,
                         .component = "bench",
                         .decide = rename_project,
                         .data = client };
    struct error err;

    (void)execute_deed(loop, client->arena, &deed, &err);
}

static void
start_command(struct client *client)
{
    struct error err;

    client->arena = arena_new();
    client->job.run = run_command;
    client->job.data = client;
    if (loop_post(client->loop, &client->job, &err) != 0)
        arena_free(client->arena);
}

static void
command_done(struct job *job)
{
    struct client *client = job->data;

    arena_free(client->arena);
    atomic_fetch_add(client->count, 1);
    if (!atomic_load(client->stop))
        start_command(client);
}

struct setup {
    struct client *clients;
    struct ref tenant;
};

static int
put_projects(struct changes *changes, void *data, struct error *err)
{
    struct setup *setup = data;
    struct tenant *tenant = change_create(
        changes, KIND_TENANT, world_platform_ref(changes->world), "bench");

    (void)err;
    for (int i = 0; i < FLIGHT; i++) {
        struct client *client = &setup->clients[i];
        struct project *project;

        (void)snprintf(client->name, sizeof(client->name), "p%d", i);
        project = change_create(changes, KIND_PROJECT, tenant->object.self,
                                client->name);
        client->project = project->object.self;
    }
    return 0;
}

static void
run_setup(struct loop *loop, struct job *job)
{
    struct deed deed = { .verb = "setup",
                         .component = "bench",
                         .decide = put_projects,
                         .data = job->data };

    if (execute_deed(loop, job->arena, &deed, &job->error) < 0)
        job->failed = true;
}

static int64_t
cpu_us(void)
{
    struct rusage usage;

    (void)getrusage(RUSAGE_SELF, &usage);
    return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) *
               INT64_C(1000000) +
           usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
}

static void
measure(struct loop *loop, struct client *clients, _Atomic bool *stop,
        _Atomic uint64_t *count)
{
    struct loop_stats before, after;
    int64_t start_us = clock_mono_us(), start_cpu = cpu_us(), us;
    uint64_t done, commits;

    loop_stats(loop, &before);
    for (int i = 0; i < FLIGHT; i++)
        start_command(&clients[i]);
    (void)sleep(SECONDS);
    done = atomic_load(count);
    us = clock_mono_us() - start_us;
    loop_stats(loop, &after);
    atomic_store(stop, true);
    commits = after.commits - before.commits;
    (void)printf("commands/s            %llu\n"
                 "commands/transaction  %llu\n"
                 "transaction, us       %lld (longest %lld)\n"
                 "CPU/command, us       %lld\n",
                 (unsigned long long)(done * 1000000 / (uint64_t)us),
                 (unsigned long long)(commits > 0 ? done / commits : 0),
                 (long long)(us / (int64_t)(commits > 0 ? commits : 1)),
                 (long long)after.commit_us_max,
                 (long long)((cpu_us() - start_cpu) /
                             (int64_t)(done > 0 ? done : 1)));
}

static void
remove_store(const char *where)
{
    DIR *directory = opendir(where);
    struct dirent *entry;

    while (directory != NULL && (entry = readdir(directory)) != NULL) {
        char file[600];

        (void)snprintf(file, sizeof(file), "%s/%s", where, entry->d_name);
        (void)unlink(file);
    }
    if (directory != NULL)
        (void)closedir(directory);
    (void)rmdir(where);
}

int
main(int argc, char **argv)
{
    char where[256];
    struct loop_options options = { .ops = &store_sqlite, .where = where };
    struct bootstrap bootstrap = { 0 };
    struct client *clients = memory_new(FLIGHT, sizeof(*clients));
    _Atomic bool stop = false;
    _Atomic uint64_t count = 0;
    struct setup setup = { clients, { 0 } };
    struct job job = { .run = run_setup, .data = &setup };
    struct loop *loop;
    struct error err;

    (void)snprintf(where, sizeof(where), "%s/bulkhead-bench-%d",
                   argc > 1 ? argv[1] : "/var/tmp", (int)getpid());
    job.arena = arena_new();
    if (loop_open(&options, &loop, &err) != 0 ||
        bootstrap_run(loop, &bootstrap, &err) != 0 ||
        loop_call(loop, &job, &err) != 0 || loop_start(loop, &err) != 0) {
        (void)fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    for (int i = 0; i < FLIGHT; i++) {
        clients[i].loop = loop;
        clients[i].stop = &stop;
        clients[i].count = &count;
        clients[i].job.done = command_done;
    }
    measure(loop, clients, &stop, &count);
    loop_close(loop);
    arena_free(job.arena);
    free(clients);
    remove_store(where);
    return 0;
}
