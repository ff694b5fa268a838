/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "core/month.h"
#include "core/price.h"
#include "core/scope.h"
#include "core/world_private.h"

/*
 * Use is derived from live allocations alone: these counters are sums over
 * bindings, instances, workloads and volumes, kept up to date by each apply
 * and rebuilt from nothing by `bulkhead check`.
 */

/* One use of one dimension, to be charged up the tree from project. */
struct charge {
    struct ref project;
    enum dimension dimension;
    int64_t amount;
    struct scope_use use;
};

static bool
matches(const struct quota *quota, const struct charge *charge)
{
    return quota->dimension == (int)charge->dimension &&
           scope_counts(quota, &charge->use);
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

static struct scope_use
use_of_binding(const struct binding *binding)
{
    return (struct scope_use){ binding->pool, binding->class, binding->user,
                               binding->vendor, binding->model };
}

/* Who submitted the work of an instance; it lives as long as its workload. */
static struct scope_use
use_of_instance(const struct world *world, const struct instance *instance)
{
    const struct workload *workload =
        world_workload(world, instance->object.parent);
    struct scope_use use = { instance->pool, instance->class, { 0 }, "", "" };

    if (workload != NULL)
        use.user = workload->user;
    return use;
}

/* The charges of one object: fills at most four, returns how many. */
static int
charges_of(const struct world *world, enum kind kind, const void *object,
           struct charge charges[4])
{
    const struct binding *binding = object;
    const struct instance *instance = object;
    const struct workload *workload = object;
    const struct volume *volume = object;

    if (kind == KIND_BINDING && binding->to_ms == 0) {
        struct charge base = { binding->project, DIMENSION_CARDS,
                               binding->milli, use_of_binding(binding) };
        charges[0] = base;
        charges[1] = base;
        charges[1].dimension = DIMENSION_ACCEL_MEMORY;
        charges[1].amount = binding->memory_mib;
        return 2;
    }
    if (kind == KIND_INSTANCE && instance->state != INSTANCE_RELEASED) {
        struct charge base = { instance->project, DIMENSION_INSTANCES, 1,
                               use_of_instance(world, instance) };
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
                                      DIMENSION_WORKLOADS,
                                      1,
                                      { workload->pool, workload->class,
                                        workload->user, "", "" } };
        return 1;
    }
    if (kind == KIND_VOLUME) {
        charges[0] = (struct charge){ volume->object.parent,
                                      DIMENSION_STORAGE,
                                      volume->size_mib,
                                      { { 0 }, { 0 }, { 0 }, "", "" } };
        return 1;
    }
    return 0;
}

static void
tally_share(struct world *world, struct ref priority, struct ref pool,
            int64_t milli)
{
    const struct ref key[2] = { priority, pool };

    if (!ref_is_none(priority))
        table_put(&world->shares, &world->key, key, sizeof(key))->number +=
            (size_t)milli;
}

static bool
is_pledged(const struct quota *quota)
{
    return quota->dimension == DIMENSION_CARD_TIME ||
           quota->dimension == DIMENSION_COST;
}

/* What a live binding is for quotas of a month, for its tenant and its
 * priority class in its pool. */
static void
tally_binding(struct world *world, const struct binding *binding, int sign)
{
    const struct scope_use use = use_of_binding(binding);
    struct ref tenant = binding->object.scope;

    for (struct ref at = binding->project; !ref_is_none(at);
         at = world_parent(world, at))
        world_each_child(world, KIND_QUOTA, at, ref) {
            const struct quota *quota = world_slot(world, ref);

            if (is_pledged(quota) && scope_counts(quota, &use))
                pledge_add(world, &quota->object,
                           quota->dimension == DIMENSION_COST, binding, sign);
        }
    if (world_tenant(world, tenant) != NULL)
        ((struct tenant *)world_slot(world, tenant))->used_milli +=
            sign * binding->milli;
    tally_share(world, binding->priority, binding->pool,
                sign * binding->milli);
    if (world_priority(world, binding->priority) != NULL)
        pledge_add(world, world_object(world, binding->priority), false,
                   binding, sign);
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

/* Cards of a pool, for shares of it. */
static void
tally_pool(struct world *world, struct ref node, int sign)
{
    struct ref pool = world_parent(world, node);

    world->capacity[0] += sign * 1000;
    if (world_pool(world, pool) != NULL)
        ((struct pool *)world_slot(world, pool))->cards += sign;
}

void
tally_object(struct world *world, enum kind kind, const void *object, int sign)
{
    const struct binding *binding = object;
    const struct hold *hold = object;
    const struct instance *instance = object;
    struct charge charges[4];
    int count = charges_of(world, kind, object, charges);

    for (int i = 0; i < count; i++) {
        charges[i].amount *= sign;
        charge_up(world, &charges[i]);
    }
    if (kind == KIND_BINDING && binding->to_ms == 0) {
        tally_binding(world, binding, sign);
        tally_card(world, binding->card, sign * binding->milli,
                   sign * binding->memory_mib, false);
    }
    recent_tally(world, kind, object, sign);
    if (kind == KIND_CARD)
        world->capacity[1] += sign * ((const struct card *)object)->memory_mib;
    if (kind == KIND_CARD)
        tally_pool(world, ((const struct card *)object)->object.parent, sign);
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

/* --- what is used in the month --- */

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

/* The same bytes for the same payer, thing and price. */
static void
fill_key(struct world_usage *key, const struct world_usage *of)
{
    memset(key, 0, sizeof(*key));
    key->project = of->project;
    key->pool = of->pool;
    key->class = of->class;
    key->user = of->user;
    key->priority = of->priority;
    (void)snprintf(key->vendor, sizeof(key->vendor), "%s", of->vendor);
    (void)snprintf(key->model, sizeof(key->model), "%s", of->model);
    key->meter = of->meter;
    key->price_nano = of->price_nano;
}

static struct meter *
find_meter(struct world *world, const struct world_usage *of)
{
    struct world_usage key;
    struct table_entry *entry;

    fill_key(&key, of);
    entry = table_put(&world->meter_index, &world->key, &key, sizeof(key));
    if (entry->number == 0) {
        world->meters = memory_grow(world->meters, world->meter_count + 1,
                                    sizeof(*world->meters));
        world->meters[world->meter_count++] = (struct meter){ .of = key };
        entry->number = world->meter_count;
    }
    return &world->meters[entry->number - 1];
}

/* What so much costs: rounded once for one price and month, so that live
 * counting and a sum of facts agree. */
static int64_t
cost_of(const struct world_usage *of, int64_t quantity)
{
    int64_t cost = USAGE_MAX;

    if (of->meter == METER_CARD_HOUR)
        (void)price_of_card_time(of->price_nano, quantity, &cost);
    else if (__builtin_mul_overflow(of->price_nano, quantity, &cost))
        cost = USAGE_MAX;
    return cost < USAGE_MAX ? cost : USAGE_MAX;
}

/* What a dimension counts of a meter that went from one amount to another. */
static int64_t
growth(const struct world_usage *of, enum dimension dimension, int64_t from,
       int64_t to)
{
    bool token = of->meter == METER_TOKEN_IN || of->meter == METER_TOKEN_OUT;

    if (dimension == DIMENSION_CARD_TIME)
        return of->meter == METER_CARD_HOUR ? to - from : 0;
    if (dimension == DIMENSION_TOKENS)
        return token ? to - from : 0;
    return cost_of(of, to) - cost_of(of, from);
}

static bool
meters(const struct quota *quota, const struct world_usage *of)
{
    const struct scope_use use = { of->pool, of->class, of->user, of->vendor,
                                   of->model };

    return quota->dimension >= DIMENSION_CARD_TIME &&
           scope_counts(quota, &use);
}

void
tally_usage(struct world *world, const struct world_usage *of,
            int64_t month_ms, int64_t quantity)
{
    struct meter *meter = find_meter(world, of);
    int64_t from = meter->month_ms == month_ms ? meter->quantity : 0;

    if (month_ms < meter->month_ms)
        return;
    meter->month_ms = month_ms;
    meter->quantity = from + quantity;
    for (struct ref at = of->project; !ref_is_none(at);
         at = world_parent(world, at))
        world_each_child(world, KIND_QUOTA, at, ref) {
            struct quota *quota = world_slot(world, ref);

            if (meters(quota, of))
                add_month(&quota->used, &quota->used_month_ms, month_ms,
                          growth(of, (enum dimension)quota->dimension, from,
                                 meter->quantity));
        }
    if (of->meter == METER_CARD_HOUR &&
        world_priority(world, of->priority) != NULL) {
        struct priority *priority = world_slot(world, of->priority);

        add_month(&priority->used, &priority->used_month_ms, month_ms,
                  quantity);
    }
}

void
tally_fact(struct world *world, const struct fact *fact)
{
    struct world_usage of = { .project = fact->project,
                              .pool = fact->pool,
                              .class = fact->class,
                              .user = fact->user,
                              .priority = fact->priority,
                              .meter = fact->meter,
                              .price_nano = fact->price_nano };

    if (fact->usage != USAGE_BOUND)
        return;
    (void)snprintf(of.vendor, sizeof(of.vendor), "%s", fact->vendor);
    (void)snprintf(of.model, sizeof(of.model), "%s", fact->model);
    tally_usage(world, &of, month_start(fact->from_ms), fact->quantity);
}

/* Clears a reference to what is gone. */
static bool
forget(struct ref *ref, struct ref gone)
{
    if (!ref_equal(*ref, gone))
        return false;
    *ref = (struct ref){ 0 };
    return true;
}

void
tally_forget(struct world *world, struct ref gone)
{
    for (size_t i = 0; i < world->meter_count; i++) {
        struct meter old = world->meters[i];
        struct world_usage key;
        struct meter *heir;

        fill_key(&key, &old.of);
        if (!forget(&old.of.pool, gone) && !forget(&old.of.class, gone) &&
            !forget(&old.of.priority, gone))
            continue;
        table_remove(&world->meter_index,
                     table_find(&world->meter_index, &world->key, &key,
                                sizeof(key)));
        world->meters[i] = (struct meter){ 0 };
        heir = find_meter(world, &old.of);
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
        int count = charges_of(world, kind, world_slot(world, ref), charges);

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

        if (!ref_is_none(meter->of.project) && meters(quota, &meter->of) &&
            world_is_below(world, meter->of.project, quota->object.parent))
            add_month(&quota->used, &quota->used_month_ms, meter->month_ms,
                      growth(&meter->of, (enum dimension)quota->dimension, 0,
                             meter->quantity));
    }
}

void
tally_pledges(struct world *world, const struct quota *quota)
{
    if (!is_pledged(quota))
        return;
    world_each(world, KIND_BINDING, ref) {
        const struct binding *binding = world_binding(world, ref);
        const struct scope_use use = use_of_binding(binding);

        if (binding->to_ms == 0 && scope_counts(quota, &use) &&
            world_is_below(world, binding->project, quota->object.parent))
            pledge_add(world, &quota->object,
                       quota->dimension == DIMENSION_COST, binding, 1);
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
