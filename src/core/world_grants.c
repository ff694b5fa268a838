/* SPDX-License-Identifier: Apache-2.0 */
#include "core/world_private.h"

/* Where grants lie, and what is asked of memory before a decision. */

const struct holdings_list *
world_holdings(const struct world *world, struct ref subject)
{
    return holdings_find(&world->holdings, subject);
}

#define LINE 64 /* bytes of the processor's cache */

void
world_fetch(const struct world *world, struct ref subject, struct ref object)
{
    const char *list, *head;

    if (object.index == 0 || object.kind >= KIND_COUNT ||
        object.index >= world->shelves[object.kind].used)
        return;
    list = (const char *)world_holdings(world, subject);
    head = world_slot(world, object);
    for (int i = 0; i < 2; i++) {
        __builtin_prefetch(head + i * LINE);
        __builtin_prefetch(list + i * LINE);
    }
}

/* How many of the subject's grants are older. */
static uint32_t
older_holdings(const struct world *world, const struct grant *grant)
{
    const struct holdings_list *list =
        holdings_find(&world->holdings, grant->subject);
    uint32_t count = list != NULL ? list->count : 0;

    while (count > 0) {
        struct ref last = { KIND_GRANT, list->lines[count - 1].grant };
        const struct object *object = world_slot(world, last);

        if (object->seq < grant->object.seq)
            break;
        count--;
    }
    return count;
}

void
world_keep_holding(struct world *world, struct ref ref, bool in)
{
    const struct grant *grant = world_slot(world, ref);

    if (in)
        holdings_put(&world->holdings, grant, older_holdings(world, grant));
    else
        holdings_drop(&world->holdings, grant);
}
