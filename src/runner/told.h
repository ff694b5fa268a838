/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_TOLD_H
#define RUNNER_TOLD_H

#include "runner/instance.h"

/*
 * What do the platform's files in /run/bulkhead tell a running instance?
 *
 *   notice.json  {"reason", "deadline", "deadline_ms"}: it will be stopped
 *   gang.json    engine/gang.h: its number, and how many there are
 *
 * Each is replaced by a rename: a reader sees all of it or nothing.
 */

int told_notice(const struct instance *instance, const char *reason,
                int64_t deadline_ms, struct error *err);
/* Nothing for an instance that is alone. */
int told_gang(const struct instance *instance, const struct gang *gang,
              struct error *err);

#endif
