/* SPDX-License-Identifier: Apache-2.0 */
#include "control/check.h"

#include <stdarg.h>
#include <string.h>

#include "base/arena.h"
#include "control/check_private.h"
#include "core/lifecycle.h"
#include "core/scope.h"
#include "core/object.h"

const char *
check_rule_text(enum check_rule rule)
{
    static const char *const texts[CHECK_RULE_COUNT] = {
        [CHECK_COUNTERS] = "counters",   [CHECK_EXCLUSIVE] = "exclusive",
        [CHECK_GUARANTEE] = "guarantee", [CHECK_LIFE] = "life",
        [CHECK_USAGE] = "usage",         [CHECK_RECORD] = "record",
    };

    return texts[rule];
}

void
check_begin(struct check *check, struct arena *arena, int64_t from_ms)
{
    memset(check, 0, sizeof(*check));
    check->arena = arena;
    check->from_ms = from_ms;
}

void
check_fail(struct check *check, enum check_rule rule, const char *object,
           const char *fmt, ...)
{
    struct check_finding *finding;
    va_list arguments;

    if (check->broken++ >= CHECK_FINDINGS)
        return;
    finding = &check->findings[check->broken - 1];
    finding->rule = rule;
    (void)snprintf(finding->object, sizeof(finding->object), "%s", object);
    va_start(arguments, fmt);
    (void)vsnprintf(finding->text, sizeof(finding->text), fmt, arguments);
    va_end(arguments);
}

static json_t *
finding_json(const struct check_finding *finding)
{
    json_t *json = json_object();

    (void)json_object_set_new(json, "rule",
                              json_string(check_rule_text(finding->rule)));
    (void)json_object_set_new(json, "object", json_string(finding->object));
    (void)json_object_set_new(json, "text", json_string(finding->text));
    return json;
}

json_t *
check_json(const struct check *check)
{
    json_t *json = json_object(), *items = json_array();
    json_t *looked = json_object();
    size_t count = check->broken < CHECK_FINDINGS ? check->broken
                                                  : CHECK_FINDINGS;

    for (size_t i = 0; i < count; i++)
        (void)json_array_append_new(items,
                                    finding_json(&check->findings[i]));
    for (unsigned rule = 0; rule < CHECK_RULE_COUNT; rule++)
        (void)json_object_set_new(
            looked, check_rule_text((enum check_rule)rule),
            json_integer((json_int_t)check->looked[rule]));
    (void)json_object_set_new(json, "clean",
                              json_boolean(check->broken == 0));
    (void)json_object_set_new(json, "broken",
                              json_integer((json_int_t)check->broken));
    (void)json_object_set_new(json, "items", items);
    (void)json_object_set_new(json, "looked", looked);
    return json;
}

/* --- counters, counted again --- */

/* By slot of the quota, card or node. */
struct recount {
    const struct world *world;
    int64_t *quotas;
    int64_t *cards, *card_memory, *held, *held_memory;
    int64_t *node_cpu, *node_memory;
};

static size_t
slots(const struct world *world, enum kind kind)
{
    uint32_t most = 0;

    world_each(world, kind, ref)
        if (ref.index > most)
            most = ref.index;
    return (size_t)most + 1;
}

static int64_t *
zeroes(struct check *check, size_t count)
{
    return arena_alloc(check->arena, count * sizeof(int64_t));
}

static void
begin_recount(struct check *check, const struct world *world,
              struct recount *recount)
{
    size_t cards = slots(world, KIND_CARD), nodes = slots(world, KIND_NODE);

    recount->world = world;
    recount->quotas = zeroes(check, slots(world, KIND_QUOTA));
    recount->cards = zeroes(check, cards);
    recount->card_memory = zeroes(check, cards);
    recount->held = zeroes(check, cards);
    recount->held_memory = zeroes(check, cards);
    recount->node_cpu = zeroes(check, nodes);
    recount->node_memory = zeroes(check, nodes);
}

/* One live use, and whom it is counted for. */
struct live {
    struct ref project, pool, class, user;
    const char *vendor, *model;
};

/* The rule of core/scope.h once more, so that a fault in it shows. */
static bool
is_counted(const struct quota *quota, const struct live *live)
{
    return (ref_is_none(quota->pool) || ref_equal(quota->pool, live->pool)) &&
           (ref_is_none(quota->class) ||
            ref_equal(quota->class, live->class)) &&
           (ref_is_none(quota->user) || ref_equal(quota->user, live->user)) &&
           (quota->vendor[0] == '\0' ||
            strcmp(quota->vendor, live->vendor) == 0) &&
           (quota->model[0] == '\0' ||
            strcmp(quota->model, live->model) == 0);
}

static void
charge(struct recount *recount, enum dimension dimension, int64_t amount,
       const struct live *live)
{
    const struct world *world = recount->world;

    for (struct ref at = live->project; !ref_is_none(at);
         at = world_parent(world, at))
        world_each_child(world, KIND_QUOTA, at, ref) {
            const struct quota *quota = world_quota(world, ref);

            if (quota->dimension == (int)dimension && is_counted(quota, live))
                recount->quotas[ref.index] += amount;
        }
}

static void
recount_bindings(struct recount *recount)
{
    world_each(recount->world, KIND_BINDING, ref) {
        const struct binding *binding = world_binding(recount->world, ref);
        const struct live live = { binding->project, binding->pool,
                                   binding->class,   binding->user,
                                   binding->vendor,  binding->model };

        if (binding->to_ms != 0)
            continue;
        charge(recount, DIMENSION_CARDS, binding->milli, &live);
        charge(recount, DIMENSION_ACCEL_MEMORY, binding->memory_mib, &live);
        recount->cards[binding->card.index] += binding->milli;
        recount->card_memory[binding->card.index] += binding->memory_mib;
    }
    world_each(recount->world, KIND_HOLD, ref) {
        const struct hold *hold = world_hold(recount->world, ref);

        recount->held[hold->card.index] += hold->milli;
        recount->held_memory[hold->card.index] += hold->memory_mib;
    }
}

static void
recount_instances(struct recount *recount)
{
    const struct world *world = recount->world;

    world_each(world, KIND_INSTANCE, ref) {
        const struct instance *instance = world_instance(world, ref);
        const struct workload *workload =
            world_workload(world, instance->object.parent);
        const struct live live = { instance->project, instance->pool,
                                   instance->class,   workload->user,
                                   "",                "" };

        if (instance->state == INSTANCE_RELEASED)
            continue;
        charge(recount, DIMENSION_INSTANCES, 1, &live);
        charge(recount, DIMENSION_CPU, instance->cpu_milli, &live);
        charge(recount, DIMENSION_MEMORY, instance->memory_mib, &live);
        if (world_node(world, instance->node) == NULL)
            continue;
        recount->node_cpu[instance->node.index] += instance->cpu_milli;
        recount->node_memory[instance->node.index] += instance->memory_mib;
    }
}

static void
recount_others(struct recount *recount)
{
    world_each(recount->world, KIND_WORKLOAD, ref) {
        const struct workload *workload = world_workload(recount->world, ref);
        const struct live live = { workload->object.parent,
                                   workload->pool,
                                   workload->class,
                                   workload->user,
                                   "",
                                   "" };

        if (lifecycle_is_live(workload->state))
            charge(recount, DIMENSION_WORKLOADS, 1, &live);
    }
    world_each(recount->world, KIND_VOLUME, ref) {
        const struct volume *volume = world_volume(recount->world, ref);
        const struct live live = { .project = volume->object.parent,
                                   .vendor = "",
                                   .model = "" };

        charge(recount, DIMENSION_STORAGE, volume->size_mib, &live);
    }
}

static void
compare(struct check *check, const struct world *world, struct ref ref,
        const char *what, int64_t counter, int64_t counted)
{
    char id[ID_TEXT_MAX];

    check->looked[CHECK_COUNTERS]++;
    if (counter == counted)
        return;
    object_id_text(world, ref, id);
    check_fail(check, CHECK_COUNTERS, id, "%s is %lld, counted %lld", what,
               (long long)counter, (long long)counted);
}

static void
check_counters(struct check *check, const struct world *world)
{
    struct recount recount;

    begin_recount(check, world, &recount);
    recount_bindings(&recount);
    recount_instances(&recount);
    recount_others(&recount);
    world_each(world, KIND_QUOTA, ref)
        if (world_quota(world, ref)->dimension < DIMENSION_CARD_TIME)
            compare(check, world, ref, "used", world_quota(world, ref)->used,
                    recount.quotas[ref.index]);
    world_each(world, KIND_CARD, ref) {
        const struct card *card = world_card(world, ref);

        compare(check, world, ref, "used_milli", card->used_milli,
                recount.cards[ref.index]);
        compare(check, world, ref, "used_memory_mib", card->used_memory_mib,
                recount.card_memory[ref.index]);
        compare(check, world, ref, "held_milli", card->held_milli,
                recount.held[ref.index]);
        compare(check, world, ref, "held_memory_mib", card->held_memory_mib,
                recount.held_memory[ref.index]);
    }
    world_each(world, KIND_NODE, ref) {
        const struct node *node = world_node(world, ref);

        compare(check, world, ref, "used_cpu_milli", node->used_cpu_milli,
                recount.node_cpu[ref.index]);
        compare(check, world, ref, "used_memory_mib", node->used_memory_mib,
                recount.node_memory[ref.index]);
    }
}

/* --- cards --- */

/* False when it does not fit beside those before it; "" is no slice. */
static bool
add_slice(const struct geometry_card *table, struct layout *layout,
          const char *text)
{
    const struct geometry_profile *profile;
    int start;

    if (text[0] == '\0')
        return true;
    if (table == NULL || !geometry_parse(table, text, &profile, &start) ||
        !geometry_fits(table, layout, profile, start))
        return false;
    geometry_add(layout, profile, start);
    return true;
}

static void
check_card_now(struct check *check, const struct world *world,
               struct ref card)
{
    const struct card *image = world_card(world, card);
    const struct geometry_card *table =
        geometry_card(image->vendor, image->model, image->memory_mib);
    bool apart = image->sliced && table != NULL && table->tenants;
    struct layout layout = { 0 };
    struct ref tenant = { 0 };
    int64_t milli = 0;
    char id[ID_TEXT_MAX];

    object_id_text(world, card, id);
    check->looked[CHECK_EXCLUSIVE]++;
    world_each_index(world, KIND_BINDING, 0, card, ref) {
        const struct binding *binding = world_binding(world, ref);
        struct ref owner = world_scope(world, ref);

        if (binding->to_ms != 0)
            continue;
        milli += binding->milli;
        if (!ref_is_none(tenant) && !ref_equal(tenant, owner) && !apart)
            check_fail(check, CHECK_EXCLUSIVE, id, "shared by two tenants");
        tenant = owner;
        if (!add_slice(table, &layout, binding->slice) ||
            (binding->slice[0] != '\0') != image->sliced)
            check_fail(check, CHECK_EXCLUSIVE, id,
                       "slice %s does not fit on it", binding->slice);
    }
    if (milli > 1000)
        check_fail(check, CHECK_EXCLUSIVE, id, "bound %lld / 1000",
                   (long long)milli);
}

static void
keep_cards(struct check *check, const struct world *world)
{
    struct check_card *card;

    check->cards = arena_alloc(check->arena,
                               (world_count(world, KIND_CARD) + 1) *
                                   sizeof(*check->cards));
    world_each(world, KIND_CARD, ref) {
        card = &check->cards[check->card_count++];
        object_id_text(world, ref, card->id);
        card->cut_ms = world_card(world, ref)->cut_ms;
        check_card_now(check, world, ref);
    }
}

/* --- guarantees --- */

/* A subject's guarantee in a project leans on the project's own. */
static struct ref
quota_at(const struct world *world, struct ref node,
         const struct quota *quota)
{
    world_each_child(world, KIND_QUOTA, node, ref) {
        struct quota whole = *quota;

        whole.user = (struct ref){ 0 };
        if (scope_equal(world_quota(world, ref), &whole))
            return ref;
    }
    return (struct ref){ 0 };
}

/* The quota of the same scope at the nearest level above. */
static struct ref
quota_above(const struct world *world, const struct quota *quota)
{
    struct ref at = quota->object.parent;

    if (ref_is_none(quota->user))
        at = world_parent(world, at);
    for (; !ref_is_none(at); at = world_parent(world, at)) {
        struct ref ref = quota_at(world, at, quota);

        if (!ref_is_none(ref))
            return ref;
    }
    return (struct ref){ 0 };
}

static void
check_guarantees(struct check *check, const struct world *world)
{
    int64_t *sums = zeroes(check, slots(world, KIND_QUOTA));

    world_each(world, KIND_QUOTA, ref) {
        const struct quota *quota = world_quota(world, ref);
        struct ref above = quota_above(world, quota);

        check->looked[CHECK_GUARANTEE]++;
        if (!ref_is_none(above))
            sums[above.index] += quota->guaranteed;
    }
    world_each(world, KIND_QUOTA, ref) {
        const struct quota *quota = world_quota(world, ref);
        char id[ID_TEXT_MAX];

        if (sums[ref.index] <= quota->guaranteed)
            continue;
        object_id_text(world, ref, id);
        check_fail(check, CHECK_GUARANTEE, id,
                   "guarantees %lld, those below %lld",
                   (long long)quota->guaranteed, (long long)sums[ref.index]);
    }
}

/* --- lives --- */

static void
fail_life(struct check *check, const struct world *world, struct ref ref,
          const char *text)
{
    char id[ID_TEXT_MAX];

    object_id_text(world, ref, id);
    check_fail(check, CHECK_LIFE, id, "%s", text);
}

static void
check_lives(struct check *check, const struct world *world)
{
    world_each(world, KIND_BINDING, ref) {
        const struct binding *binding = world_binding(world, ref);
        const struct instance *instance =
            world_instance(world, binding->object.parent);

        check->looked[CHECK_LIFE]++;
        if (binding->to_ms == 0 &&
            (instance == NULL || instance->state == INSTANCE_RELEASED))
            fail_life(check, world, ref,
                      "is live, its instance is not");
        if (binding->to_ms == 0 && world_card(world, binding->card) == NULL)
            fail_life(check, world, ref, "binds a card that is not there");
    }
    world_each(world, KIND_INSTANCE, ref) {
        const struct instance *instance = world_instance(world, ref);
        const struct workload *workload =
            world_workload(world, instance->object.parent);

        check->looked[CHECK_LIFE]++;
        if (instance->state != INSTANCE_RELEASED &&
            (workload == NULL || !lifecycle_is_live(workload->state)))
            fail_life(check, world, ref, "is live, its workload is not");
    }
}

void
check_world(struct check *check, const struct world *world)
{
    check_counters(check, world);
    keep_cards(check, world);
    check_guarantees(check, world);
    check_lives(check, world);
}
