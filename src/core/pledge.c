/* SPDX-License-Identifier: Apache-2.0 */
#include "core/month.h"
#include "core/world_private.h"

/*
 * What live bindings will still use of a month's card time or cost.
 *
 * A binding with a longest run time has booked all up to its end, an open one
 * uses more with each millisecond from its last metering on.  Both are kept
 * as sums for each quota or priority class and month, so a decision reads two
 * entries however many bindings there are.  Cost is nano x milli / (1000 x an hour) at the
 * price of the assignment; the sums are exact, divided when read.
 */

#define MONTHS_AHEAD 24
/* Not a month: the rate of all open bindings. */
#define ALL_MONTHS INT64_C(-1)

/* Ids are never used again, unlike slots. */
static struct table_hash
hash_of(const struct world *world, const struct object *owner,
        int64_t month_ms)
{
    return table_id_hash(&world->key, owner->id, (uint64_t)month_ms);
}

static struct pledge *
find(const struct world *world, const struct object *owner, int64_t month_ms)
{
    const struct table_entry *entry = table_find_hash(
        &world->pledge_index, hash_of(world, owner, month_ms));

    return entry != NULL ? &world->pledges[entry->number - 1] : NULL;
}

static struct pledge *
put(struct world *world, const struct object *owner, int64_t month_ms)
{
    struct table_entry *entry = table_put_hash(
        &world->pledge_index, hash_of(world, owner, month_ms));

    if (entry->number == 0) {
        world->pledges = memory_grow(world->pledges, world->pledge_count + 1,
                                     sizeof(*world->pledges));
        world->pledges[world->pledge_count++] = (struct pledge){ 0 };
        entry->number = world->pledge_count;
    }
    return &world->pledges[entry->number - 1];
}

static void
book(struct world *world, const struct object *owner,
     const struct binding *binding, pledge_sum weight)
{
    int64_t month = month_start(binding->cut_ms);

    for (int i = 0; i < MONTHS_AHEAD && month < binding->until_ms; i++) {
        int64_t next = month_next(month);
        int64_t from = binding->cut_ms > month ? binding->cut_ms : month;
        int64_t to = binding->until_ms < next ? binding->until_ms : next;

        if (to > from)
            put(world, owner, month)->booked += weight * (to - from);
        month = next;
    }
}

void
pledge_add(struct world *world, const struct object *owner, bool cost,
           const struct binding *binding, int sign)
{
    pledge_sum weight = (pledge_sum)sign * binding->milli;

    if (cost)
        weight *= binding->price_nano;
    if (binding->until_ms > 0) {
        book(world, owner, binding, weight);
    } else {
        struct pledge *pledge =
            put(world, owner, month_start(binding->cut_ms));

        pledge->rate += weight;
        pledge->since += weight * binding->cut_ms;
        put(world, owner, ALL_MONTHS)->rate += weight;
    }
}

int64_t
pledge_of(const struct world *world, const struct object *owner, bool cost,
          bool booked, int64_t now_ms)
{
    int64_t month_ms = month_start(now_ms);
    const struct pledge *month = find(world, owner, month_ms);
    const struct pledge *all = find(world, owner, ALL_MONTHS);
    pledge_sum sum = 0, older = all != NULL ? all->rate : 0;

    if (month != NULL) {
        sum += month->rate * now_ms - month->since;
        if (booked)
            sum += month->booked;
        older -= month->rate;
    }
    sum += older * (now_ms - month_ms);
    if (cost)
        sum /= (pledge_sum)1000 * HOUR_MS;
    if (sum < 0)
        return 0;
    return sum < USAGE_MAX ? (int64_t)sum : USAGE_MAX;
}
