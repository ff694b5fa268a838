/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_CONTROL_HARNESS_H
#define TESTS_UNIT_CONTROL_HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "control/bootstrap.h"
#include "control/execute.h"
#include "control/loop.h"

/*
 * A control plane in the test's process, on a store in a temporary directory:
 *
 *   harness_open(&harness);                       fresh, with platform
 *   harness_run(&harness, step, data);            step() on the world thread,
 *                                                 returns when it is durable
 *   harness_restart(&harness);                    loads what was stored
 *   harness_close(&harness);
 *
 * Its wall clock stands still but for harness_pass(ms), which moves wall and
 * monotonic time together, and harness_jump(ms), which moves the wall alone.
 */

struct harness {
    char where[64];
    struct loop *loop;
    struct loop_options options;
    void (*prepare)(struct loop *loop); /* before loop_start; may be NULL */
    const char *base; /* the store's directory is made there; NULL: /tmp */
};

static _Atomic int64_t harness_wall = INT64_C(1796040000000);
static _Atomic int64_t harness_mono = 1000;

static inline int64_t
harness_wall_ms(void)
{
    return harness_wall;
}

static inline int64_t
harness_mono_ms(void)
{
    return harness_mono;
}

static inline void
harness_pass(int64_t ms)
{
    harness_mono += ms;
    harness_wall += ms;
}

static inline void
harness_jump(int64_t ms)
{
    harness_wall += ms;
}

static inline void
harness_must(int rc, const struct error *err)
{
    if (rc != 0)
        fail_msg("%s: %s", error_code_text(err->code), err->text);
}

static inline void
harness_start(struct harness *harness)
{
    struct bootstrap bootstrap = { 0 };
    struct error err;

    harness_must(loop_open(&harness->options, &harness->loop, &err), &err);
    if (harness->prepare != NULL)
        harness->prepare(harness->loop);
    harness_must(loop_start(harness->loop, &err), &err);
    harness_must(bootstrap_run(harness->loop, &bootstrap, &err), &err);
}

/* --- the directory of the store --- */

#define HARNESS_PLACES 64

/* Those that no test has removed: a test that fails goes on without its end. */
static struct harness_places {
    char paths[HARNESS_PLACES][sizeof(((struct harness *)NULL)->where)];
    pid_t owner;
} harness_places;

static inline int
harness_remove_one(const char *path, const struct stat *status, int kind,
                   struct FTW *at)
{
    (void)status;
    (void)at;
    return kind == FTW_DP ? rmdir(path) : unlink(path);
}

static inline void
harness_remove(const char *path)
{
    (void)nftw(path, harness_remove_one, 8, FTW_DEPTH | FTW_PHYS);
    for (size_t i = 0; i < HARNESS_PLACES; i++)
        if (strcmp(harness_places.paths[i], path) == 0)
            harness_places.paths[i][0] = '\0';
}

static inline void
harness_remove_all(void)
{
    for (size_t i = 0; i < HARNESS_PLACES && harness_places.owner == getpid();
         i++)
        if (harness_places.paths[i][0] != '\0')
            harness_remove(harness_places.paths[i]);
}

static inline void
harness_make_place(struct harness *harness)
{
    size_t free = 0;

    (void)snprintf(harness->where, sizeof(harness->where),
                   "%s/bulkhead-loop-XXXXXX",
                   harness->base == NULL ? "/tmp" : harness->base);
    assert_non_null(mkdtemp(harness->where));
    if (harness_places.owner == 0) {
        harness_places.owner = getpid();
        (void)atexit(harness_remove_all);
    }
    while (free < HARNESS_PLACES - 1 && harness_places.paths[free][0] != '\0')
        free++;
    (void)snprintf(harness_places.paths[free],
                   sizeof(harness_places.paths[free]), "%s", harness->where);
}

/* Set prepare or options before; zero is fine. */
static inline void
harness_open(struct harness *harness)
{
    harness_make_place(harness);
    harness->options.ops = &store_sqlite;
    harness->options.where = harness->where;
    harness->options.wall_ms = harness_wall_ms;
    harness->options.mono_ms = harness_mono_ms;
    harness_start(harness);
}

/* A graceful stop and a start from the store. */
static inline void
harness_restart(struct harness *harness)
{
    loop_close(harness->loop);
    harness_start(harness);
}

static inline void
harness_close(struct harness *harness)
{
    loop_close(harness->loop);
    harness_remove(harness->where);
}

struct harness_step {
    void (*step)(struct loop *loop, struct arena *arena, void *data);
    void *data;
};

static inline void
harness_step(struct loop *loop, struct job *job)
{
    struct harness_step *step = job->data;

    step->step(loop, job->arena, step->data);
}

/* Runs step on the world thread and returns when all of it is durable. */
static inline void
harness_run(struct harness *harness,
            void (*step)(struct loop *loop, struct arena *arena, void *data),
            void *data)
{
    scoped_arena arena = arena_new();
    struct harness_step both = { step, data };
    struct job job = { .run = harness_step, .arena = arena, .data = &both };
    struct error err;

    harness_must(loop_call(harness->loop, &job, &err), &err);
}

/* Runs read on a reader thread. */
static inline void
harness_read(struct harness *harness,
             void (*read)(struct job *job, struct store_reader *reader),
             void *data)
{
    scoped_arena arena = arena_new();
    struct job job = { .read = read, .arena = arena, .data = data };
    struct error err;

    harness_must(loop_call(harness->loop, &job, &err), &err);
}

#endif
