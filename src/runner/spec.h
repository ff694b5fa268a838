/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_SPEC_H
#define RUNNER_SPEC_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Which container does crun get to make?  The OCI configuration, written
 * from facts that the runner has already checked: no capabilities, no new
 * privileges, a user namespace of 65,536 ids, every other namespace its own,
 * the seccomp filter, masked kernel files, an empty /sys, and only the
 * devices listed here.
 */

struct spec_bind {
    const char *source; /* host path below the runner's state directory */
    const char *path;   /* inside */
    bool read_only;
    bool no_exec;
};

struct spec_device {
    const char *path; /* inside */
    unsigned major, minor;
};

struct spec {
    const char *root; /* absolute, mounted already */
    bool read_only_root;
    const char *hostname;
    const char *const *argv; /* NULL ends */
    const char *const *env;  /* NULL ends */
    const char *cwd;
    int64_t uid, gid; /* inside */
    int64_t cpu_milli, memory_mib, pids_max, scratch_mib;
    int64_t files_max; /* open files; at most the runner's own limit */
    bool limit_swap;   /* the kernel counts swap */
    const char *cpus, *mems; /* that it is kept to; "": all */
    const char *filter; /* seccomp_program in base64; NULL: crun makes it */
    const char *cgroup;
    const char *userns; /* path; see idmap_keep */
    const char *netns; /* path, NULL: a new one with loopback only */
    size_t bind_count;
    const struct spec_bind *binds;
    size_t device_count;
    const struct spec_device *devices;
};

/* The configuration; the caller owns it. */
json_t *spec_new(const struct spec *spec);

#endif
