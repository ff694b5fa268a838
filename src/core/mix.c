/* SPDX-License-Identifier: Apache-2.0 */
#include "core/mix.h"

#include <assert.h>
#include <stdlib.h>

#include "base/arena.h"

bool
shape_equal(const struct shape *a, const struct shape *b)
{
    return a->cpu_milli == b->cpu_milli && a->memory_mib == b->memory_mib &&
           a->cards == b->cards && a->milli == b->milli &&
           a->kinds == b->kinds;
}

int64_t
shape_demand(const struct shape *shape)
{
    return shape->cards * shape->milli;
}

bool
shape_is_share(const struct shape *shape)
{
    return shape->cards == 1 && shape->milli < 1000;
}

void
mix_release(struct mix *mix)
{
    free(mix->entries);
    *mix = (struct mix){ 0 };
}

/* Leaves out what has not been seen since the last halving. */
static void
halve(struct mix *mix)
{
    size_t kept = 0;

    mix->total = 0;
    for (size_t i = 0; i < mix->count; i++) {
        struct mix_entry entry = mix->entries[i];

        entry.count /= 2;
        mix->total += entry.count;
        if (entry.count > 0)
            mix->entries[kept++] = entry;
    }
    mix->count = kept;
    mix->refresh_at = mix->total;
}

static void
drop_rarest(struct mix *mix)
{
    size_t rarest = 0;

    for (size_t i = 1; i < mix->count; i++)
        if (mix->entries[i].count < mix->entries[rarest].count)
            rarest = i;
    mix->total -= mix->entries[rarest].count;
    for (size_t i = rarest + 1; i < mix->count; i++)
        mix->entries[i - 1] = mix->entries[i];
    mix->count--;
}

static struct mix_entry *
find(struct mix *mix, const struct shape *shape)
{
    for (size_t i = 0; i < mix->count; i++)
        if (shape_equal(&mix->entries[i].shape, shape))
            return &mix->entries[i];
    return NULL;
}

void
mix_count(struct mix *mix, const struct shape *shape, int64_t times)
{
    struct mix_entry *entry = find(mix, shape);

    assert(times >= 1);
    if (entry == NULL) {
        if (mix->count == MIX_MAX)
            drop_rarest(mix);
        if (mix->count == mix->room) {
            mix->room = mix->room == 0 ? 64 : 2 * mix->room;
            mix->entries =
                memory_grow(mix->entries, mix->room, sizeof(*mix->entries));
        }
        entry = &mix->entries[mix->count++];
        *entry = (struct mix_entry){ .shape = *shape };
    }
    entry->count += times;
    mix->total += times;
    if (mix->total >= MIX_WINDOW)
        halve(mix);
}

bool
mix_due(struct mix *mix)
{
    if (mix->refresh_at == 0)
        mix->refresh_at = MIX_FIRST;
    if (mix->total < mix->refresh_at)
        return false;
    while (mix->refresh_at <= mix->total)
        mix->refresh_at *= 2;
    return true;
}
