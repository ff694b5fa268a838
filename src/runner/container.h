/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CONTAINER_H
#define RUNNER_CONTAINER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "runner/policy.h"

/*
 * How does one container come and go?  conmon watches it and outlives the
 * runner: it keeps the exit code (STATE/exits/<name>) and writes the log
 * (PLACE/log); crun makes it.  The place is the instance's directory; what
 * needs not outlive the boot, as the OCI configuration, is in PLACE/made.
 */

struct container {
    const struct policy *policy;
    const char *name;  /* unique on this machine: prefix and digest */
    const char *place; /* absolute */
    bool own_mounts;   /* the host's cgroups are hybrid */
};

/* Between begin and created conmon works on its own. */
struct container_pending {
    int sync_fd;
    int gate_fd; /* it waits here until the container may be made */
    pid_t monitor;
};

/* Starts conmon, which loads while the place is built: it needs PLACE/made
 * and the null device there, nothing else. */
int container_begin(const struct container *container, int64_t log_bytes,
                    struct container_pending *pending_out, struct error *err);
/* Writes the configuration and lets conmon make the container. */
int container_create(const struct container *container, const json_t *spec,
                     struct container_pending *pending, struct error *err);
/* Ends a conmon that still waits. */
void container_abandon(struct container_pending *pending);
/* Waits until the container exists, not yet running; gives its first
 * process. */
int container_created(const struct container *container,
                      struct container_pending *pending, pid_t *pid_out,
                      struct error *err);
/* Lets it run. */
int container_start(const struct container *container, struct error *err);

/* Whether it was made and never told to run. */
bool container_is_waiting(const struct container *container);

/* The exit code and when, once conmon has written it. */
bool container_exit(const struct container *container, int *code_out,
                    int64_t *time_ms_out);
/* Whether conmon is still there: after the exit it may yet write the log. */
bool container_monitored(const struct container *container);
/* Removes what crun keeps of it and what still works on it. */
void container_delete(const struct container *container);

/* "crun version 1.8.1": the first line a program says of itself, "" when it
 * is not there. */
void container_version(const char *program, char *text, size_t room);

#endif
