/* SPDX-License-Identifier: Apache-2.0 */
#include "core/month.h"
#include "core/world_private.h"

/* What is used and promised, as world.h tells it. */

static int64_t
month_use(const struct world *world, const struct quota *quota, bool booked,
          int64_t now_ms)
{
    int64_t sum =
        quota->used_month_ms == month_start(now_ms) ? quota->used : 0;

    if (quota->dimension == DIMENSION_CARD_TIME ||
        quota->dimension == DIMENSION_COST)
        sum += pledge_of(world, &quota->object,
                         quota->dimension == DIMENSION_COST, booked, now_ms);
    return sum < USAGE_MAX ? sum : USAGE_MAX;
}

int64_t
world_committed(const struct world *world, const struct quota *quota,
                int64_t now_ms)
{
    return month_use(world, quota, true, now_ms);
}

int64_t
world_spent(const struct world *world, const struct quota *quota,
            int64_t now_ms)
{
    return month_use(world, quota, false, now_ms);
}

int64_t
world_priority_committed(const struct world *world, struct ref ref,
                         int64_t now_ms)
{
    const struct priority *priority = world_priority(world, ref);
    int64_t sum = 0;

    if (priority == NULL)
        return 0;
    if (priority->used_month_ms == month_start(now_ms))
        sum = priority->used;
    sum += pledge_of(world, &priority->object, false, true, now_ms);
    return sum < USAGE_MAX ? sum : USAGE_MAX;
}

/* What a share is kept under. */
struct share_key {
    struct ref priority, pool;
};

int64_t
world_share(const struct world *world, struct ref priority, struct ref pool)
{
    const struct share_key key = { priority, pool };
    const struct table_entry *entry =
        table_find(&world->shares, &world->key, &key, sizeof(key));

    return entry != NULL ? (int64_t)entry->number : 0;
}

#define CACHE_LINE 64
#define LINES_AHEAD 4

void
world_prefetch(const struct world *world, struct ref ref)
{
    const char *slot;

    if (ref.index == 0 || ref.kind >= KIND_COUNT ||
        ref.index >= world->shelves[ref.kind].used)
        return;
    slot = world_slot(world, ref);
    for (int i = 0; i < LINES_AHEAD; i++)
        __builtin_prefetch(slot + (ptrdiff_t)i * CACHE_LINE);
}
