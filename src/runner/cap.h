/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CAP_H
#define RUNNER_CAP_H

#include "base/error.h"
#include "engine/runner_request.h"
#include "runner/cgroup.h"
#include "runner/node.h"

/*
 * How is an instance that disturbs others held down while it runs?
 *
 *   CPU      the quota of its group, below the one it was started with
 *   disks    bytes a second of reads, and of writes, of each disk: io.max, or
 *            blkio.throttle, which does not see what is written through the
 *            page cache
 *   network  a token bucket at both ends of its link, so one each way
 *
 * The kernel keeps them while runner and agent restart; they end with the
 * group and the link.  What is in force is in the journal before it is set,
 * so the next runner sets what a killed one did not get to.
 */

/* Where groups and disks are found: the machine's, or a tree that tests
 * make. */
struct cap_tree {
    enum cgroup_mode mode;
    const char *groups; /* /sys/fs/cgroup */
    const char *disks;  /* /sys/block */
};

/* Fails when the machine's policy allows no cap as low. */
int cap_check(const struct policy *policy, const struct runner_cap *cap,
              struct error *err);
/* The part of the groups; cpu_milli: what it was started with. */
int cap_group(const struct cap_tree *tree, const char *path,
              int64_t cpu_milli, const struct runner_cap *cap,
              struct error *err);
/* Sets what instance->cap says, all of it. */
int cap_apply(struct node *node, const struct instance *instance,
              struct error *err);
/* The same after a restart: a container that is gone has none. */
void cap_adopt(struct node *node);

#endif
