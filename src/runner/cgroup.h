/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CGROUP_H
#define RUNNER_CGROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/*
 * What does an instance's control group say, and how is everything in it
 * ended?  Paths are as crun takes them: "/prefix/name", the same in every v1
 * hierarchy or in the one of v2.
 */

enum cgroup_mode { CGROUP_V1, CGROUP_HYBRID, CGROUP_V2 };

struct cgroup_usage {
    int64_t cpu_us;
    int64_t memory_bytes;
    int64_t memory_peak_bytes; /* 0 where the kernel does not tell */
    int64_t oom_kills;
    int64_t processes;
};

enum cgroup_mode cgroup_mode_get(void);
const char *cgroup_mode_text(enum cgroup_mode mode);

/* Whether the group exists. */
bool cgroup_exists(enum cgroup_mode mode, const char *path);
/* Fills what can be read; a group that is gone leaves zeros. */
void cgroup_usage_get(enum cgroup_mode mode, const char *path,
                      struct cgroup_usage *usage_out);

/* KILL to every process in the group and below it until it is empty.
 * ERROR_BUSY when processes are still there after timeout_ms. */
int cgroup_kill(enum cgroup_mode mode, const char *path, int timeout_ms,
                struct error *err);
/* Removes the (empty) group and the groups below it in every hierarchy. */
void cgroup_remove(enum cgroup_mode mode, const char *path);

/* Can groups be kept to CPUs and memory nodes here? */
bool cgroup_can_pin(enum cgroup_mode mode);
/* Keeps the group, which is there, to these: lists as "0-3,8".  ERROR_GONE
 * when it is not there. */
int cgroup_pin(enum cgroup_mode mode, const char *path, const char *cpus,
               const char *mems, struct error *err);

/* The name of the group right below top ("/prefix") that the process is in,
 * "" when it is in none. */
void cgroup_of(pid_t pid, const char *top, char *name, size_t room);

#endif
