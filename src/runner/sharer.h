/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_SHARER_H
#define RUNNER_SHARER_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "runner/instance.h"

struct node;
struct sharer;

/*
 * Who watches the soft shares of this node?
 *
 * A thread that looks every few seconds at who is on each card that is shared
 * and how much each instance uses, and does what the policy says: over its
 * share an instance is warned (/run/bulkhead/share.json) and then stopped; one
 * that runs beside the sharing server is stopped in any case.  All that it
 * knows it learns anew after a start (share.h).
 */

int sharer_begin(struct node *node, struct error *err);
/* Before the node closes; may not have begun. */
void sharer_finish(struct node *node);

/* Has it a share of a card, without a boundary? */
bool sharer_is_share(const struct instance *instance);
/* Is it a share of a card that the driver holds to its limits here? */
bool sharer_is_served(struct node *node, const struct instance *instance);
/* Before anything of the instance runs: its card's sharing server answers.
 * Nothing to do for what is no share, or without such a server. */
int sharer_prepare(struct node *node, const struct instance *instance,
                   struct error *err);
/* Is the process the platform's own: a sharing server of that card? */
bool sharer_is_server(struct node *node, const char *uuid, pid_t pid,
                      const char *name);

#endif
