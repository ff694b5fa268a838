/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_DUE_H
#define CORE_DUE_H

#include "base/arena.h"
#include "core/schema.h"

/*
 * What does time alone bring next?  A heap of things that are to be looked at
 * again at a time.  An entry is a reminder and no promise: who takes it looks
 * whether it is still so, and nothing is ever taken out early.
 */

struct due_entry {
    int64_t ms;
    struct ref ref;
};

struct due {
    struct arena *arena;
    struct due_entry *heap;
    size_t count, room;
};

void due_init(struct due *due, struct arena *arena);
void due_add(struct due *due, int64_t ms, struct ref ref);
/* Takes the earliest entry that is due at now_ms; false when none is. */
bool due_take(struct due *due, int64_t now_ms, struct due_entry *entry_out);
/* The earliest time, INT64_MAX when there is none. */
int64_t due_next(const struct due *due);

#endif
