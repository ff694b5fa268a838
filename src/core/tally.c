/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <string.h>

#include "core/month.h"
#include "core/world_private.h"

/*
 * Use is derived from live allocations alone: these counters are sums over
 * bindings, instances, workloads and volumes, kept up to date by each apply
 * and rebuilt from nothing by `bulkhead check`.
 */

/* One use of one dimension, to be charged up the tree from project. */
struct charge {
    struct ref project;
    struct ref pool;
    struct ref class;
    enum dimension dimension;
    int64_t amount;
};

static bool
matches(const struct quota *quota, const struct charge *charge)
{
    return quota->dimension == (int)charge->dimension &&
           (ref_is_none(quota->pool) ||
            ref_equal(quota->pool, charge->pool)) &&
           (ref_is_none(quota->class) ||
            ref_equal(quota->class, charge->class));
}

static void
charge_up(struct world *world, const struct charge *charge)
{
    struct ref at = charge->project;

    for (; !ref_is_none(at); at = world_parent(world, at))
        world_each_child(world, KIND_QUOTA, at, ref) {
            struct quota *quota = world_slot(world, ref);

            if (matches(quota, charge))
                quota->used += charge->amount;
        }
}

static bool
workload_counts(const struct workload *workload)
{
    return workload->state >= WORKLOAD_ASSIGNED &&
           workload->state <= WORKLOAD_LOST;
}

/* The charges of one object: fills at most four, returns how many. */
static int
charges_of(enum kind kind, const void *object, struct charge charges[4])
{
    const struct binding *binding = object;
    const struct instance *instance = object;
    const struct workload *workload = object;
    const struct volume *volume = object;
    struct ref none = { 0 };

    if (kind == KIND_BINDING && binding->to_ms == 0) {
        struct charge base = { binding->project, binding->pool,
                               binding->class, DIMENSION_CARDS,
                               binding->milli };
        charges[0] = base;
        charges[1] = base;
        charges[1].dimension = DIMENSION_ACCEL_MEMORY;
        charges[1].amount = binding->memory_mib;
        return 2;
    }
    if (kind == KIND_INSTANCE && instance->state != INSTANCE_RELEASED) {
        struct charge base = { instance->project, instance->pool,
                               instance->class, DIMENSION_INSTANCES, 1 };
        charges[0] = base;
        charges[1] = base;
        charges[1].dimension = DIMENSION_CPU;
        charges[1].amount = instance->cpu_milli;
        charges[2] = base;
        charges[2].dimension = DIMENSION_MEMORY;
        charges[2].amount = instance->memory_mib;
        return 3;
    }
    if (kind == KIND_WORKLOAD && workload_counts(workload)) {
        charges[0] = (struct charge){ workload->object.parent,
                                      workload->pool, workload->class,
                                      DIMENSION_WORKLOADS, 1 };
        return 1;
    }
    if (kind == KIND_VOLUME) {
        charges[0] = (struct charge){ volume->object.parent, none, none,
                                      DIMENSION_STORAGE, volume->size_mib };
        return 1;
    }
    return 0;
}

static void
tally_card(struct world *world, struct ref ref, int64_t milli,
           int64_t memory_mib, bool held)
{
    struct card *card;

    if (world_card(world, ref) == NULL)
        return;
    card = world_slot(world, ref);
    if (held) {
        card->held_milli += milli;
        card->held_memory_mib += memory_mib;
    } else {
        card->used_milli += milli;
        card->used_memory_mib += memory_mib;
    }
}

void
tally_object(struct world *world, enum kind kind, const void *object, int sign)
{
    const struct binding *binding = object;
    const struct hold *hold = object;
    const struct instance *instance = object;
    struct charge charges[4];
    int count = charges_of(kind, object, charges);

    for (int i = 0; i < count; i++) {
        charges[i].amount *= sign;
        charge_up(world, &charges[i]);
    }
    if (kind == KIND_BINDING && binding->to_ms == 0)
        tally_card(world, binding->card, sign * binding->milli,
                   sign * binding->memory_mib, false);
    if (kind == KIND_HOLD)
        tally_card(world, hold->card, sign * hold->milli,
                   sign * hold->memory_mib, true);
    if (kind == KIND_INSTANCE && instance->state != INSTANCE_RELEASED &&
        world_node(world, instance->node) != NULL) {
        struct node *node = world_slot(world, instance->node);

        node->used_cpu_milli += sign * instance->cpu_milli;
        node->used_memory_mib += sign * instance->memory_mib;
    }
}

/* --- card time of the month --- */

/* Takes the amount into a counter of one month; a new month starts at 0. */
static void
add_month(int64_t *sum, int64_t *month, int64_t month_ms, int64_t quantity)
{
    if (month_ms > *month) {
        *month = month_ms;
        *sum = 0;
    }
    if (month_ms == *month)
        *sum += quantity;
}

static struct meter *
find_meter(struct world *world, struct ref project, struct ref pool,
           struct ref class)
{
    struct ref key[3] = { project, pool, class };
    struct table_entry *entry = table_put(&world->meter_index, &world->key,
                                          key, sizeof(key));

    if (entry->number == 0) {
        world->meters = memory_grow(world->meters, world->meter_count + 1,
                                    sizeof(*world->meters));
        world->meters[world->meter_count++] =
            (struct meter){ project, pool, class, 0, 0 };
        entry->number = world->meter_count;
    }
    return &world->meters[entry->number - 1];
}

void
tally_card_time(struct world *world, struct ref project, struct ref pool,
                struct ref class, int64_t month_ms, int64_t quantity)
{
    const struct charge charge = { project, pool, class, DIMENSION_CARD_TIME,
                                   quantity };
    struct meter *meter = find_meter(world, project, pool, class);

    add_month(&meter->quantity, &meter->month_ms, month_ms, quantity);
    for (struct ref at = project; !ref_is_none(at);
         at = world_parent(world, at))
        world_each_child(world, KIND_QUOTA, at, ref) {
            struct quota *quota = world_slot(world, ref);

            if (matches(quota, &charge))
                add_month(&quota->used, &quota->used_month_ms, month_ms,
                          quantity);
        }
}

void
tally_fact(struct world *world, const struct fact *fact)
{
    if (fact->usage == USAGE_BOUND && fact->meter == METER_CARD_HOUR)
        tally_card_time(world, fact->project, fact->pool, fact->class,
                        month_start(fact->from_ms), fact->quantity);
}

void
tally_forget(struct world *world, struct ref gone)
{
    for (size_t i = 0; i < world->meter_count; i++) {
        struct meter old = world->meters[i];
        struct ref key[3] = { old.project, old.pool, old.class };
        struct meter *heir;

        if (!ref_equal(old.pool, gone) && !ref_equal(old.class, gone))
            continue;
        table_remove(&world->meter_index,
                     table_find(&world->meter_index, &world->key, key,
                                sizeof(key)));
        world->meters[i] = (struct meter){ 0 };
        if (ref_equal(old.pool, gone))
            old.pool = (struct ref){ 0 };
        if (ref_equal(old.class, gone))
            old.class = (struct ref){ 0 };
        heir = find_meter(world, old.project, old.pool, old.class);
        add_month(&heir->quantity, &heir->month_ms, old.month_ms,
                  old.quantity);
    }
}

/* --- a new quota starts from what is live --- */

static void
count_kind(const struct world *world, struct quota *quota, enum kind kind)
{
    world_each(world, kind, ref) {
        struct charge charges[4];
        int count = charges_of(kind, world_slot(world, ref), charges);

        for (int i = 0; i < count; i++)
            if (matches(quota, &charges[i]) &&
                world_is_below(world, charges[i].project,
                               quota->object.parent))
                quota->used += charges[i].amount;
    }
}

static void
count_meters(const struct world *world, struct quota *quota)
{
    for (size_t i = 0; i < world->meter_count; i++) {
        const struct meter *meter = &world->meters[i];
        const struct charge charge = { meter->project, meter->pool,
                                       meter->class, DIMENSION_CARD_TIME, 0 };

        if (matches(quota, &charge) &&
            world_is_below(world, meter->project, quota->object.parent))
            add_month(&quota->used, &quota->used_month_ms, meter->month_ms,
                      meter->quantity);
    }
}

void
tally_quota(const struct world *world, struct quota *quota)
{
    static const enum kind kinds[] = { KIND_BINDING, KIND_INSTANCE,
                                       KIND_WORKLOAD, KIND_VOLUME };

    quota->used = 0;
    quota->used_month_ms = 0;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        count_kind(world, quota, kinds[i]);
    count_meters(world, quota);
}
