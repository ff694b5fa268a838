/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BENCH_COMMON_DAEMON_H
#define BENCH_COMMON_DAEMON_H

#include <stdint.h>
#include <sys/types.h>

#include "base/http.h"
#include "base/json.h"

/*
 * How does a benchmark get a control plane of its own?  A real bulkheadd on a
 * new data directory with a bulkhead-signer beside it, reached over its Unix
 * socket, with an administrator who is logged in.  A benchmark that cannot go on says why and ends with 1.
 */
struct daemon {
    char home[200];
    char program[300];
    char socket[256];
    char stream[256]; /* socket for watches */
    char config[256]; /* file of settings, "": none; before daemon_start */
    pid_t pid, signer_pid;
    char token[160];  /* of the administrator's session */
    int64_t asked_us; /* that the last request waited for its answer */
};

/* home: a directory that must not exist yet; NULL: a new one below
 * BENCH_DIR or /var/tmp.  The program lies beside the benchmark's folder. */
void daemon_prepare(struct daemon *daemon, const char *argv0);
/* Starts it and waits until it is ready; returns the milliseconds. */
int64_t daemon_start(struct daemon *daemon);
/* Makes the first administrator and logs in. */
void daemon_log_in(struct daemon *daemon);
/* Ends it with SIGTERM. */
void daemon_stop(struct daemon *daemon);
/* Ends the signer and removes the data directory. */
void daemon_remove(struct daemon *daemon);

/* One request below /api/v1 that must be answered with `status`; the body as
 * JSON (owned by the caller), NULL when there is none. */
json_t *daemon_ask(struct daemon *daemon, const char *method, const char *path,
                   const char *body, long status);
/* A GET that must be answered with 200: the body's text, which lies in the
 * answer.  Nothing is taken apart, so that nothing but the wait is measured:
 * freeing a tree of JSON makes the next large buffer dear. */
const char *daemon_read(struct daemon *daemon, const char *path,
                        struct http_answer *answer);
/* The value of one line of /metrics. */
uint64_t daemon_metric(struct daemon *daemon, const char *name);

/* What the process used so far. */
struct daemon_use {
    int64_t cpu_us;
    int64_t written; /* bytes handed to the kernel */
    int64_t resident_kib;
};
struct daemon_use daemon_use(const struct daemon *daemon);

/* Ends the benchmark with a sentence; stops the daemon first (may be NULL). */
void daemon_give_up(struct daemon *daemon, const char *fmt, ...)
    __attribute__((format(printf, 2, 3), noreturn));

#endif
