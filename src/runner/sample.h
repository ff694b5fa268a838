/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_SAMPLE_H
#define RUNNER_SAMPLE_H

#include <jansson.h>

#include "base/error.h"
#include "runner/cgroup.h"
#include "runner/node.h"

/*
 * What has each instance used so far, and how long did it wait for it?
 * Counters of the kernel, read for all instances at once; whoever asks twice
 * sees rates.
 */

struct sample {
    int64_t cpu_us;
    int64_t wait_us; /* its tasks could run and did not; tasks that are there */
    int64_t throttled_us; /* held back by the CPU quota */
    int64_t periods, throttled; /* of the quota; in so many it was held back */
    int64_t read_bytes, written_bytes, reads, writes; /* disks */
    int64_t memory_bytes;
};

/* top: /sys/fs/cgroup; proc: /proc.  What cannot be read is 0. */
void sample_read(const char *top, enum cgroup_mode mode, const char *path,
                 const char *proc, struct sample *sample_out);

/* The answer to "samples". */
int sample_all(struct node *node, bool cards, json_t **out,
               struct error *err);

#endif
