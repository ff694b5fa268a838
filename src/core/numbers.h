/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_NUMBERS_H
#define CORE_NUMBERS_H

#include "core/world.h"

/*
 * Which host uids and addresses does the next instance get?  Each live
 * instance has 65,536 uids of its own and an address in its tenant's network:
 * the smallest that are free.
 */

#define NUMBERS_PAGES 16

/* Numbers in use; nothing below `low` is free. */
struct bits {
    uint64_t *page[NUMBERS_PAGES]; /* NULL: all free */
    int64_t slots;
    int64_t low;
    int64_t used;
};

struct numbers {
    struct arena *arena;
    struct bits uids;
    struct bits *addresses; /* by index of the tenant's ref */
    size_t tenant_room;
};

void numbers_init(struct numbers *numbers, struct arena *arena);
/* An instance takes (on) or gives back what it was assigned. */
void numbers_mark(struct numbers *numbers, struct ref tenant, int64_t uid_base,
                  int64_t address, bool on);
/* Are there uids and addresses for that many more instances? */
bool numbers_has(const struct numbers *numbers, struct ref tenant,
                 int64_t instances);
/* The smallest free one above `after` (0: of all); -1 when there is none. */
int64_t numbers_uid(const struct numbers *numbers, int64_t after);
int64_t numbers_address(const struct numbers *numbers, struct ref tenant,
                        int64_t after);

#endif
