/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_TOLD_H
#define RUNNER_TOLD_H

#include "runner/instance.h"

/*
 * What do the platform's files in /run/bulkhead tell a running instance?
 *
 *   notice.json  {"reason", "deadline", "deadline_ms"}: it will be stopped
 *   share.json   {"used_mib", "limit_mib", "over", "stops"}: of its soft share
 *   gang.json    engine/gang.h: its number, and how many there are
 *
 * Each is replaced by a rename: a reader sees all of it or nothing.
 */

int told_notice(const struct instance *instance, const char *reason,
                int64_t deadline_ms, struct error *err);
/* Nothing for an instance that is alone. */
int told_gang(const struct instance *instance, const struct gang *gang,
              struct error *err);
/* What it uses of its card and what its share is; stops_ms: when it is stopped
 * unless it gives back; 0: it is within its share, or is only told. */
int told_share(const struct instance *instance, int64_t used_mib,
               int64_t limit_mib, int64_t stops_ms, struct error *err);

#endif
