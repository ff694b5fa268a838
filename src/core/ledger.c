/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ledger.h"

#include <string.h>

#define FIRST_ROOM 64
#define OF_TENANT (UINT32_C(1) << 31) /* no index is that high */

uint32_t
ledger_key(struct ref ref)
{
    return ref.index | (ref.kind == KIND_TENANT ? OF_TENANT : 0);
}

struct ref
ledger_ref(uint32_t key)
{
    struct ref ref = { KIND_QUOTA, key };

    if ((key & OF_TENANT) != 0)
        ref = (struct ref){ KIND_TENANT, key & ~OF_TENANT };
    return ref;
}

void
ledger_init(struct ledger *ledger, struct arena *arena)
{
    memset(ledger, 0, sizeof(*ledger));
    ledger->arena = arena;
}

void
ledger_copy(struct ledger *copy, const struct ledger *ledger,
            struct arena *arena)
{
    *copy = *ledger;
    copy->arena = arena;
    if (ledger->room == 0)
        return;
    copy->lines = arena_alloc(arena, ledger->room * sizeof(*copy->lines));
    memcpy(copy->lines, ledger->lines, ledger->room * sizeof(*copy->lines));
}

/* The line of a quota or the empty place where it belongs; never full. */
static struct ledger_line *
place_of(const struct ledger *ledger, uint32_t quota)
{
    size_t at = (quota * UINT64_C(0x9e3779b97f4a7c15)) >> 32;

    for (;; at++) {
        struct ledger_line *line = &ledger->lines[at & (ledger->room - 1)];

        if (line->quota == quota || line->quota == 0)
            return line;
    }
}

static void
grow(struct ledger *ledger)
{
    struct ledger old = *ledger;

    ledger->room = old.room > 0 ? old.room * 2 : FIRST_ROOM;
    ledger->lines =
        arena_alloc(ledger->arena, ledger->room * sizeof(*ledger->lines));
    for (size_t i = 0; i < old.room; i++)
        if (old.lines[i].quota != 0)
            *place_of(ledger, old.lines[i].quota) = old.lines[i];
}

void
ledger_add(struct ledger *ledger, struct ref quota, int64_t amount)
{
    struct ledger_line *line;

    if (ledger->count * 2 >= ledger->room)
        grow(ledger);
    line = place_of(ledger, ledger_key(quota));
    if (line->quota == 0) {
        line->quota = ledger_key(quota);
        ledger->count++;
    }
    line->amount += amount;
}

void
ledger_merge(struct ledger *ledger, const struct ledger *other)
{
    for (size_t i = 0; i < other->room; i++)
        if (other->lines[i].quota != 0)
            ledger_add(ledger, ledger_ref(other->lines[i].quota),
                       other->lines[i].amount);
}

int64_t
ledger_get(const struct ledger *ledger, struct ref quota)
{
    if (ledger == NULL || ledger->room == 0)
        return 0;
    return place_of(ledger, ledger_key(quota))->amount;
}
