/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_LOGS_H
#define AGENT_LOGS_H

#include "engine/engine.h"

/*
 * What did an instance write?  While it is there the engine knows; before it
 * is removed its log is copied into the agent's own directory, where the
 * newest LOGS_KEPT are kept.
 */

#define LOGS_KEPT 512
#define LOGS_SIZE_MAX ((size_t)16 * 1024 * 1024)

/* Copies the whole log into directory (made when it is not there). */
int logs_keep(struct engine *engine, const char *directory,
              const char *instance, int64_t incarnation, struct error *err);

/* Reads a piece from the engine or from what was kept; waits up to
 * wanted->wait_ms for a first byte.  A failure is part of the fact.  Bytes
 * and texts live in the arena. */
void logs_read(struct engine *engine, const char *directory,
               const struct order_log *wanted, struct arena *arena,
               struct report_log *fact_out);

#endif
