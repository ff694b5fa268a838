/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_INTENT_H
#define CONTROL_INTENT_H

#include "core/record.h"
#include "control/loop.h"

/*
 * What was begun outside of the store, and has it ended?
 *
 * Of an effect that no transaction holds there are two records: the intent
 * (outcome pending) is durable before, the outcome (links.parent: the intent)
 * comes after.  What strangers can make begin, a question to an identity
 * provider, is noted before without a record, and has one after.  An open
 * intent is a counter "intent:N"; at the next start each that is left is
 * ended with the outcome `unknown`.
 *
 * What nodes do is ordered by objects: these are durable before the agent
 * learns of it, and its report is a record.  A start notes for each node what
 * is under way there, as an intent that ends when the node reports, or is
 * lost.  World thread only.
 */

#define INTENT_VERB_RESUME "node.resume"

struct intents; /* those that are open */
struct intents *intents_new(void);
void intents_free(struct intents *intents);
/* Takes a counter that is about this; false: it is not. */
bool intents_load(struct intents *intents,
                  const struct store_counter *counter);
/* After a start: ends all that were loaded, and begins one for each node where
 * something is under way. */
void intents_recover(struct loop *loop, struct arena *arena);

/* Appends a filled record of a command as its intent. */
void intent_begin(struct loop *loop, struct arena *arena, struct ref scope,
                  struct record *record, char id_out[ID_TEXT_MAX]);
/* Notes one without a record.  request is its id; what: for the record when it
 * is left open. */
void intent_note(struct loop *loop, struct ref scope, const char *verb,
                 const char *request, const char *what);
/* The record of its outcome is in the same transaction.  One that is not open
 * is nothing. */
void intent_end(struct loop *loop, const char *id);

/* A report of the node was taken: what was under way at the start is known. */
void intents_heard(struct loop *loop, struct arena *arena, struct ref node);
/* Ends those of nodes that are lost or gone. */
void intents_drop_lost(struct loop *loop, struct arena *arena);

#endif
