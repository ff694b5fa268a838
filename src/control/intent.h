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
 * comes after.  An open intent is the counter "intent:RECORD"; at the next
 * start each that is left is ended with the outcome `unknown`.  World thread
 * only.
 */

struct intents; /* those that were open when the store was loaded */
struct intents *intents_new(void);
void intents_free(struct intents *intents);
/* Takes a counter that is about this; false: it is not. */
bool intents_load(struct intents *intents,
                  const struct store_counter *counter);
/* Ends all that were loaded. */
void intents_recover(struct loop *loop, struct arena *arena);

/* Appends a filled record of a command as its intent. */
void intent_begin(struct loop *loop, struct arena *arena, struct ref scope,
                  struct record *record, char id_out[ID_TEXT_MAX]);
/* The record of its outcome is in the same transaction. */
void intent_end(struct loop *loop, const char *id);

#endif
