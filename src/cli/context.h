/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_CONTEXT_H
#define CLI_CONTEXT_H

#include "cli/cli.h"

/*
 * Where is the server, who asks, about which tenant and project?  Filled from
 * flags, environment and the context file (mode 0600, holds the session).
 */

int context_load(struct cli *cli, struct error *err);
/* Sets keys of the context file (value NULL: removes the key). */
int context_set(const struct cli *cli, const char *const *keys,
                const char *const *values, int count, struct error *err);

#endif
