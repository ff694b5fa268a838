/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_STOP_H
#define RUNNER_STOP_H

#include "base/error.h"
#include "runner/instance.h"
#include "runner/policy.h"

struct node;

/*
 * How does an instance end, and what is taken away after it?  Everything it
 * had, nothing of anybody else, and the same again does no harm.
 */

/* KILL to all its processes; waits until the exit is recorded.  The instance
 * is claimed. */
int stop_kill(struct node *node, struct instance *instance, struct error *err);
/* Kills and takes everything away, remembering the last record.  The instance
 * stays in the table, for node_drop. */
int stop_remove(struct node *node, struct instance *instance,
                struct error *err);
/* Takes away what a failed or broken-off start has made, as if it had never
 * been. */
void stop_discard(struct node *node, struct instance *instance);
/* The same for a directory whose journal cannot be read. */
void stop_discard_place(struct node *node, const char *place);

/* Removes everything of the installation: containers, networks, mounts,
 * groups, journals, cached images; with volumes, those too.  No runner may
 * be running. */
int stop_clean(const struct policy *policy, bool volumes, struct error *err);

#endif
