/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_PROCESS_H
#define RUNNER_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/buffer.h"
#include "base/error.h"

/*
 * How does the runner start other programs?  With a fixed argument list, an
 * empty environment but for what is given, no shell, no inherited
 * descriptors, and, where needed, in another network namespace or in a mount
 * namespace of their own.
 */

#define PROCESS_OUTPUT_MAX ((size_t)8 * 1024 * 1024)

struct process {
    const char *const *argv; /* argv[0]: absolute path; NULL ends */
    const char *const *env;  /* NULL: PATH only */
    int netns_fd;            /* -1: stay in this network namespace */
    bool own_mounts;         /* another mount namespace (see below) */
    int view_fd;             /* of process_view; 0 or -1: there is none */
    const char *null;        /* with own_mounts: stands for /dev/null there */
    const char *directory;   /* to work in; NULL: "/" */
    int pass_fd;             /* becomes descriptor 3 there; -1: none */
    bool gated;              /* gate_fd becomes descriptor 4, and the program
                              * is killed when this thread ends before it has
                              * forked */
    int gate_fd;
    bool plain_modes; /* files get the modes that they are made with */
    int output_fd; /* standard output and error; -1: /dev/null */
    int input_fd;  /* standard input; -1: /dev/null */
};

/* A mount namespace as own_mounts wants it, made once: to take the hierarchy
 * out waits for every processor, which each program would otherwise do.  Its
 * descriptor, or -1: then each program does. */
int process_view(void);

/*
 * own_mounts: crun refuses hosts whose cgroup2 hierarchy beside v1 has
 * controllers, so there the program gets a view without it.  Mounts of the
 * host still arrive and leave in that view.
 */
pid_t process_spawn(const struct process *process, struct error *err);

/* Waits; returns the exit status, 128 + signal, or -1 with err when
 * timeout_ms passed (the process is then killed). */
int process_wait(pid_t pid, int timeout_ms, struct error *err);

/* Spawns, feeds input (NULL: none), collects standard output in *output and
 * waits.  Anything but exit status 0 is an error that quotes the program's
 * last line. */
int process_run(const struct process *process, const char *input,
                size_t input_size, struct buffer *output, int timeout_ms,
                struct error *err);

#endif
