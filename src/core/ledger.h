/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_LEDGER_H
#define CORE_LEDGER_H

#include "core/world.h"

/*
 * What comes on top of a quota's live use?  Amounts per quota that a pass has
 * to count although no binding says so: promised to nominated work (above
 * zero), given back soon by work that is being stopped (below zero).  A tenant
 * has a line too, of all its cards: without a quota for them it has the
 * platform's free limit.
 */

struct ledger_line {
    uint32_t quota; /* ledger_key of the quota or tenant; 0: empty place */
    int64_t amount;
};

struct ledger {
    struct arena *arena;
    struct ledger_line *lines; /* open addressing, room a power of two */
    size_t count, room;
};

void ledger_init(struct ledger *ledger, struct arena *arena);
/* copy must not be in use; it takes memory from the arena. */
void ledger_copy(struct ledger *copy, const struct ledger *ledger,
                 struct arena *arena);
uint32_t ledger_key(struct ref ref);
struct ref ledger_ref(uint32_t key);
void ledger_add(struct ledger *ledger, struct ref quota, int64_t amount);
/* Adds all lines of other. */
void ledger_merge(struct ledger *ledger, const struct ledger *other);
/* 0 for a quota without a line, and for ledger NULL. */
int64_t ledger_get(const struct ledger *ledger, struct ref quota);

#endif
