/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_POLICY_H
#define RUNNER_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

/*
 * What does this machine's root allow the runner to do, whoever asks?
 *
 * A JSON file.  It is refused unless it and every directory above it belong
 * to root and nobody else may write to them (sticky directories such as /tmp
 * count as safe).  Unknown fields are refused.
 *
 * {"version": 1,
 *  "prefix": "bulkhead",      1..8 of [a-z0-9], first a letter: names of
 *                             cgroups, namespaces, links of this installation
 *  "agent_uid": 998,          the only uid that may ask
 *  "socket": "/run/bulkhead/runner.sock",
 *  "state_dir": "/var/lib/bulkhead/runner",
 *  "image_dir": "/var/lib/bulkhead/images",
 *  "volume_dir": "/var/lib/bulkhead/volumes",
 *  "accel": "sim", "estate": "/etc/bulkhead/estate.json",
 *                             simulated cards; or
 *  "accel": "vendor", "libraries": "/usr/lib/x86_64-linux-gnu",
 *                             those that the vendors' libraries know;
 *                             libraries: where they are, not needed when the
 *                             system finds them
 *  "kernel_log": "/dev/kmsg", where the driver tells of errors of cards: this
 *                             or a file that grows by lines; without it
 *                             /dev/kmsg for the vendors' cards, none for
 *                             simulated ones
 *  "uid_base_min": 1000013824, "uid_base_max": ...,  host uids of instances,
 *                             multiples of 65536
 *  "disk_uid_base": 999948288, owners of images and volumes on disk; the
 *                             unpacking child runs with them
 *  "cpu_milli_max", "memory_mib_max", "pids_max", "instances_max",
 *  "volume_mib_max", "image_mib_max", "image_entries_max", "log_mib_max",
 *  "cap_cpu_milli_min", "cap_io_kib_min", "cap_network_kib_min",
 *                             what an instance that disturbs others is left
 *                             at least (a second)
 *  "release_wait_ms": 20000,  how long a released card may take to be idle
 *  "cdi_dir": "/run/cdi",     where the node's cards are described for other
 *                             engines (cdi.h); absent: nowhere
 *  "mps": "/usr/bin/nvidia-cuda-mps-control",  holds soft shares of NVIDIA's
 *                             cards to their limits (mps.h); absent: they are
 *                             only measured
 *  "share_over": "stop"|"warn",  what happens to who is over its share
 *  "share_grace_ms", "share_attach_ms", "share_look_ms",  between warning and
 *                             stop; how long a process may be beside the
 *                             sharing server; between two looks
 *  "writable_root": bool,     may a start ask for it
 *  "images": ["sha256:..."]}  when present, only these digests
 *
 * prefix, agent_uid, socket and the directories are required; the rest has
 * the defaults of policy.c.
 */

#define POLICY_PATH_MAX 96

struct policy {
    const char *prefix;
    int64_t agent_uid;
    const char *socket;
    const char *state_dir;
    const char *image_dir;
    const char *volume_dir;
    const char *accel;
    const char *estate; /* NULL: the backend needs none */
    const char *libraries; /* NULL: where the system has them */
    const char *kernel_log; /* NULL: none */
    int64_t uid_base_min, uid_base_max;
    int64_t disk_uid_base;
    int64_t cpu_milli_max, memory_mib_max, pids_max, instances_max;
    int64_t volume_mib_max, image_mib_max, image_entries_max, log_mib_max;
    int64_t cap_cpu_milli_min, cap_io_kib_min, cap_network_kib_min;
    int64_t release_wait_ms;
    const char *cdi_dir; /* NULL: none */
    const char *mps; /* NULL: none */
    bool share_stops;
    int64_t share_grace_ms, share_attach_ms, share_look_ms;
    bool writable_root;
    size_t image_count; /* 0: any digest */
    const char *const *images;
    int view_fd; /* not of the file: see process_view; 0 or -1: none */
};

/* Reads and checks the file; strings live in arena. */
int policy_open(struct arena *arena, const char *path,
                struct policy *policy_out, struct error *err);
/* The same for its bytes, without looking at owners. */
int policy_parse(struct arena *arena, const char *bytes, size_t size,
                 struct policy *policy_out, struct error *err);
/* Whether this digest may run here. */
bool policy_allows_image(const struct policy *policy, const char *digest);

#endif
