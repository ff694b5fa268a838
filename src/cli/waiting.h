/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_WAITING_H
#define CLI_WAITING_H

#include "cli/cli.h"

/* Waits until a workload (name or id) is in a state that `accept` takes.
 * ERROR_GONE (exit 8) when it ends otherwise or timeout_ms (0: none) is
 * over. */
int waiting_for(const struct cli *cli, const char *workload,
                bool (*accept)(const char *state), int64_t timeout_ms,
                struct error *err);
/* Until it has ended; failed and cancelled are ERROR_GONE. */
int waiting_for_end(const struct cli *cli, const char *workload,
                    struct error *err);
bool waiting_is_terminal(const char *state);

#endif
