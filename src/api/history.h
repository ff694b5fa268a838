/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_HISTORY_H
#define API_HISTORY_H

#include "api/exchange.h"
#include "core/object.h"

/*
 * Which rows of history lie below a node?  Decided on the world thread,
 * applied on a reader thread, which sees no world.
 */

struct history_scope {
    bool all; /* the whole platform */
    const char **projects; /* id texts, in order; deleted ones included */
    size_t count;
};

void history_scope(const struct world *world, struct ref node,
                   struct arena *arena, struct history_scope *out);
/* project: an id text or NULL. */
bool history_covers(const struct history_scope *scope, const char *project);

/* The window of `from` and `to`, or the instant `at`; without them the last
 * 24 hours up to now. */
int history_window(const struct exchange *exchange, int64_t now_ms,
                   int64_t *from_ms_out, int64_t *to_ms_out,
                   struct error *err);

/* Adds names ({id: name}) of the kind's objects that the asker may see, of
 * the first few thousand. */
void history_add_names(const struct granted *granted, enum kind kind,
                       json_t *names);

#endif
