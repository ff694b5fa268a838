/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_LOGS_H
#define AGENT_LOGS_H

#include "engine/engine.h"

/*
 * What did an instance write?  While it is there the engine knows; before it
 * is removed its log is copied into the agent's own directory, where the
 * newest LOGS_KEPT are kept.
 *
 * Offsets count the bytes that the instance wrote, before and after its
 * removal alike; the engine's own offsets stay in here.  All functions may be
 * called from several threads.
 */

#define LOGS_KEPT 512
#define LOGS_SIZE_MAX ((size_t)16 * 1024 * 1024)

struct logs;

/* directory is made at the first kept log. */
struct logs *logs_new(struct engine *engine, const char *directory);
void logs_free(struct logs *logs);

/* Copies the whole log into the directory. */
int logs_keep(struct logs *logs, const char *instance, int64_t incarnation,
              struct error *err);

/* Reads a piece from the engine or from what was kept; waits up to
 * wanted->wait_ms for a first byte.  A failure is part of the fact.  Bytes
 * and texts live in the arena. */
void logs_read(struct logs *logs, const struct order_log *wanted,
               struct arena *arena, struct report_log *fact_out);

#endif
