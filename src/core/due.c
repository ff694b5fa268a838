/* SPDX-License-Identifier: Apache-2.0 */
#include "core/due.h"

#include <string.h>

void
due_init(struct due *due, struct arena *arena)
{
    *due = (struct due){ .arena = arena };
}

static bool
is_before(const struct due_entry *a, const struct due_entry *b)
{
    if (a->ms != b->ms)
        return a->ms < b->ms;
    return a->ref.kind != b->ref.kind ? a->ref.kind < b->ref.kind
                                      : a->ref.index < b->ref.index;
}

static void
grow(struct due *due)
{
    size_t room = due->room > 0 ? due->room * 2 : 64;
    struct due_entry *heap = arena_alloc(due->arena, room * sizeof(*heap));

    if (due->count > 0)
        memcpy(heap, due->heap, due->count * sizeof(*heap));
    due->heap = heap;
    due->room = room;
}

void
due_add(struct due *due, int64_t ms, struct ref ref)
{
    struct due_entry entry = { ms, ref };
    size_t at = due->count;

    if (due->count == due->room)
        grow(due);
    due->count++;
    while (at > 0 && is_before(&entry, &due->heap[(at - 1) / 2])) {
        due->heap[at] = due->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    due->heap[at] = entry;
}

bool
due_take(struct due *due, int64_t now_ms, struct due_entry *entry_out)
{
    struct due_entry last;
    size_t at = 0;

    if (due->count == 0 || due->heap[0].ms > now_ms)
        return false;
    *entry_out = due->heap[0];
    last = due->heap[--due->count];
    for (;;) {
        size_t child = 2 * at + 1;

        if (child >= due->count)
            break;
        if (child + 1 < due->count &&
            is_before(&due->heap[child + 1], &due->heap[child]))
            child++;
        if (!is_before(&due->heap[child], &last))
            break;
        due->heap[at] = due->heap[child];
        at = child;
    }
    due->heap[at] = last;
    return true;
}

int64_t
due_next(const struct due *due)
{
    return due->count > 0 ? due->heap[0].ms : INT64_MAX;
}
