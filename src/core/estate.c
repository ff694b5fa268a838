/* SPDX-License-Identifier: Apache-2.0 */
#include "core/estate.h"

#include <string.h>

#include "core/lifecycle.h"

/* Host uids: 65,536 for each instance, from where the runners' default policy
 * begins, below 2^32. */
#define UID_FIRST INT64_C(1000013824)
#define UID_STEP INT64_C(65536)
#define UID_SLOTS 50000
/* Host numbers in a tenant's network; 1 is the gateway. */
#define ADDRESS_FIRST 2
#define ADDRESS_SLOTS 64999

/* Small numbers in use; nothing below `low` is free. */
struct bits {
    uint64_t *word;
    uint32_t slots;
    uint32_t low;
    uint32_t used;
};

struct numbers {
    struct bits uids;
    struct bits *addresses; /* by index of the tenant's ref */
    size_t tenant_count;
};

static void
bits_init(struct bits *bits, struct arena *arena, uint32_t slots)
{
    bits->word = arena_alloc(arena, (slots + 63) / 64 * sizeof(uint64_t));
    bits->slots = slots;
    bits->low = 0;
    bits->used = 0;
}

static void
bits_set(struct bits *bits, int64_t slot)
{
    uint64_t bit = UINT64_C(1) << (slot & 63);

    if (slot < 0 || slot >= (int64_t)bits->slots ||
        (bits->word[slot / 64] & bit) != 0)
        return;
    bits->word[slot / 64] |= bit;
    bits->used++;
}

static int64_t
bits_take(struct bits *bits)
{
    for (; bits->low < bits->slots; bits->low++)
        if ((bits->word[bits->low / 64] >> (bits->low % 64) & 1) == 0) {
            bits_set(bits, bits->low);
            return bits->low;
        }
    return -1;
}

static struct bits *
addresses_of(struct estate *estate, struct ref tenant)
{
    struct bits *bits;

    if (tenant.index >= estate->numbers->tenant_count)
        return NULL;
    bits = &estate->numbers->addresses[tenant.index];
    if (bits->word == NULL)
        bits_init(bits, estate->arena, ADDRESS_SLOTS);
    return bits;
}

int64_t
estate_next_uid(struct estate *estate)
{
    int64_t slot = bits_take(&estate->numbers->uids);

    return slot < 0 ? -1 : UID_FIRST + slot * UID_STEP;
}

int64_t
estate_next_address(struct estate *estate, struct ref tenant)
{
    struct bits *bits = addresses_of(estate, tenant);
    int64_t slot = bits != NULL ? bits_take(bits) : -1;

    return slot < 0 ? -1 : slot + ADDRESS_FIRST;
}

bool
estate_has_numbers(struct estate *estate, struct ref tenant,
                   int64_t instances)
{
    const struct bits *uids = &estate->numbers->uids;
    const struct bits *addresses = addresses_of(estate, tenant);

    return addresses != NULL && instances <= uids->slots - uids->used &&
           instances <= addresses->slots - addresses->used;
}

/* --- nodes and cards --- */

/* The largest index among the refs of a kind, and one more. */
static size_t
index_bound(const struct world *world, enum kind kind)
{
    size_t bound = 1;

    world_each(world, kind, ref)
        if (ref.index >= bound)
            bound = (size_t)ref.index + 1;
    return bound;
}

static uint32_t *
new_map(struct arena *arena, size_t count)
{
    uint32_t *map = arena_alloc(arena, count * sizeof(*map));

    for (size_t i = 0; i < count; i++)
        map[i] = ESTATE_NONE;
    return map;
}

static void
add_part(struct estate *estate, uint32_t site_index, struct ref ref)
{
    struct site *site = &estate->sites[site_index];
    const struct card *card = world_card(estate->world, ref);
    size_t number = estate->part_count++;
    struct part *part = &estate->parts[number];

    part->card = ref;
    part->memory_mib = card->memory_mib;
    part->site = site_index;
    part->island = (uint32_t)number;
    part->used_milli = card->used_milli;
    part->used_memory_mib = card->used_memory_mib;
    part->held_milli = card->held_milli;
    part->held_memory_mib = card->held_memory_mib;
    for (size_t i = site->first; i < number; i++)
        if (strcmp(world_card(estate->world, estate->parts[i].card)->island,
                   card->island) == 0) {
            part->island = estate->parts[i].island;
            break;
        }
    site->count++;
    estate->part_of[ref.index] = (uint32_t)number;
}

static void
add_sites(struct estate *estate, int64_t lease_ms)
{
    const struct world *world = estate->world;

    estate->sites = arena_alloc(estate->arena,
                                world_count(world, KIND_NODE) *
                                    sizeof(*estate->sites));
    estate->parts = arena_alloc(estate->arena,
                                world_count(world, KIND_CARD) *
                                    sizeof(*estate->parts));
    estate->site_of_count = index_bound(world, KIND_NODE);
    estate->site_of = new_map(estate->arena, estate->site_of_count);
    estate->part_of_count = index_bound(world, KIND_CARD);
    estate->part_of = new_map(estate->arena, estate->part_of_count);
    world_each(world, KIND_NODE, ref) {
        uint32_t number = (uint32_t)estate->site_count++;
        struct site *site = &estate->sites[number];
        const struct node *node = world_node(world, ref);

        site->node = ref;
        site->pool = node->object.parent;
        site->first = estate->part_count;
        site->used_cpu = node->used_cpu_milli;
        site->used_memory = node->used_memory_mib;
        site->fresh = lease_ms == 0 ||
                      (node->seen_ms > 0 &&
                       estate->now_ms - node->seen_ms <= lease_ms);
        estate->site_of[ref.index] = number;
        world_each_child(world, KIND_CARD, ref, card)
            add_part(estate, number, card);
    }
}

uint32_t
estate_part(const struct estate *estate, struct ref card)
{
    return card.index < estate->part_of_count ? estate->part_of[card.index]
                                              : ESTATE_NONE;
}

uint32_t
estate_site(const struct estate *estate, struct ref node)
{
    return node.index < estate->site_of_count ? estate->site_of[node.index]
                                              : ESTATE_NONE;
}

/* --- who has what --- */

/* Will this instance give its cards back soon?  One whose time is long over
 * is not counted on: its node may never answer. */
static bool
is_leaving(const struct estate *estate, const struct instance *instance,
           int64_t patience_ms)
{
    int64_t since = instance->state == INSTANCE_EXITED ? instance->ended_ms
                                                       : instance->deadline_ms;

    if (instance->state == INSTANCE_LOST)
        return false;
    if (instance->state != INSTANCE_EXITED && instance->want == WANT_RUN)
        return false;
    return since == 0 || estate->now_ms < since + patience_ms;
}

static void
charge_instance(const struct instance *instance, struct demand *demand)
{
    demand->project = instance->project;
    demand->pool = instance->pool;
    demand->class = instance->class;
    demand->of[DIMENSION_CPU] += instance->cpu_milli;
    demand->of[DIMENSION_MEMORY] += instance->memory_mib;
    demand->of[DIMENSION_INSTANCES] += 1;
}

static void
charge_binding(const struct binding *binding, struct demand *demand)
{
    demand->of[DIMENSION_CARDS] += binding->milli;
    demand->of[DIMENSION_ACCEL_MEMORY] += binding->memory_mib;
}

static void
leave_instance(struct estate *estate, const struct instance *instance)
{
    struct demand demand = { 0 };
    uint32_t site = estate_site(estate, instance->node);

    charge_instance(instance, &demand);
    world_each_child(estate->world, KIND_BINDING, instance->object.self, ref) {
        const struct binding *binding = world_binding(estate->world, ref);
        uint32_t part = estate_part(estate, binding->card);

        if (binding->to_ms != 0 || part == ESTATE_NONE)
            continue;
        charge_binding(binding, &demand);
        estate->parts[part].leaving_milli += binding->milli;
        estate->parts[part].leaving_memory_mib += binding->memory_mib;
    }
    if (site != ESTATE_NONE) {
        estate->sites[site].leaving_cpu += instance->cpu_milli;
        estate->sites[site].leaving_memory += instance->memory_mib;
    }
    quota_charge(estate->world, &demand, &estate->leaving, -1);
}

static void
add_instances(struct estate *estate, int64_t patience_ms)
{
    world_each(estate->world, KIND_INSTANCE, ref) {
        const struct instance *instance = world_instance(estate->world, ref);
        struct bits *addresses;

        if (instance->state == INSTANCE_RELEASED)
            continue;
        bits_set(&estate->numbers->uids,
                 (instance->uid_base - UID_FIRST) / UID_STEP);
        addresses = addresses_of(estate, instance->object.scope);
        if (addresses != NULL)
            bits_set(addresses, instance->address - ADDRESS_FIRST);
        world_each_child(estate->world, KIND_BINDING, ref, child) {
            const struct binding *binding =
                world_binding(estate->world, child);
            uint32_t part = estate_part(estate, binding->card);

            if (binding->to_ms == 0 && part != ESTATE_NONE)
                estate->parts[part].tenant = instance->object.scope;
        }
        if (is_leaving(estate, instance, patience_ms))
            leave_instance(estate, instance);
    }
}

static struct use *
add_use(struct estate *estate)
{
    if (estate->use_count == estate->use_room) {
        size_t room = estate->use_room > 0 ? estate->use_room * 2 : 256;
        struct use *uses = arena_alloc(estate->arena, room * sizeof(*uses));

        if (estate->use_count > 0)
            memcpy(uses, estate->uses, estate->use_count * sizeof(*uses));
        estate->uses = uses;
        estate->use_room = room;
    }
    return &estate->uses[estate->use_count++];
}

static void
add_uses(struct estate *estate, struct run *run,
         const struct instance *instance)
{
    uint32_t site = estate_site(estate, instance->node);

    if (site == ESTATE_NONE)
        return;
    charge_instance(instance, &run->demand);
    *add_use(estate) = (struct use){ site, ESTATE_NONE, 0,
                                     instance->memory_mib,
                                     instance->cpu_milli };
    world_each_child(estate->world, KIND_BINDING, instance->object.self, ref) {
        const struct binding *binding = world_binding(estate->world, ref);
        uint32_t part = estate_part(estate, binding->card);

        if (binding->to_ms != 0 || part == ESTATE_NONE)
            continue;
        charge_binding(binding, &run->demand);
        *add_use(estate) = (struct use){ site, part, binding->milli,
                                         binding->memory_mib, 0 };
    }
    run->count = estate->use_count - run->first;
}

static bool
is_stopping(int state)
{
    return state == WORKLOAD_PREEMPTING || state == WORKLOAD_CANCELLING;
}

static void
add_runs(struct estate *estate, int64_t patience_ms)
{
    const struct world *world = estate->world;

    estate->run_room = world_count(world, KIND_WORKLOAD);
    estate->runs = arena_alloc(estate->arena,
                               estate->run_room * sizeof(*estate->runs));
    world_each(world, KIND_WORKLOAD, ref) {
        const struct workload *workload = world_workload(world, ref);
        const struct priority *priority;
        struct run *run;

        if (!lifecycle_is_live(workload->state))
            continue;
        run = &estate->runs[estate->run_count++];
        priority = world_priority(world, workload->priority);
        run->workload = ref;
        run->priority = priority != NULL ? priority->value : 0;
        run->leaving = is_stopping(workload->state);
        run->first = estate->use_count;
        run->demand.asked_pool = workload->pool;
        run->demand.of[DIMENSION_WORKLOADS] = 1;
        world_each_child(world, KIND_INSTANCE, ref, child) {
            const struct instance *instance = world_instance(world, child);

            if (instance->state != INSTANCE_RELEASED &&
                !is_leaving(estate, instance, patience_ms))
                add_uses(estate, run, instance);
        }
    }
}

/* --- holds --- */

/* Calls for each hold of a workload; first: it begins an instance, whose CPU
 * and memory are kept on that node too. */
static void
each_hold(struct estate *estate, struct ref ref,
          void (*step)(struct estate *estate, const struct workload *workload,
                       const struct hold *hold, bool first, int sign),
          int sign)
{
    const struct workload *workload = world_workload(estate->world, ref);
    const struct class *class;
    int64_t number = 0, count = 1;

    if (workload == NULL)
        return;
    class = world_class(estate->world, workload->class);
    if (class != NULL && class->form == FORM_WHOLE && class->count > 0)
        count = class->count;
    world_each_child(estate->world, KIND_HOLD, ref, child) {
        const struct hold *hold = world_hold(estate->world, child);

        if (estate_part(estate, hold->card) != ESTATE_NONE)
            step(estate, workload, hold, number % count == 0, sign);
        number++;
    }
}

static void
keep_hold(struct estate *estate, const struct workload *workload,
          const struct hold *hold, bool first, int sign)
{
    struct part *part = &estate->parts[estate_part(estate, hold->card)];
    struct site *site = &estate->sites[part->site];

    part->hold_tenant = sign > 0 ? workload->object.scope
                                 : (part->held_milli > hold->milli
                                        ? part->hold_tenant
                                        : (struct ref){ 0 });
    if (sign < 0) {
        part->held_milli -= hold->milli;
        part->held_memory_mib -= hold->memory_mib;
    }
    if (first) {
        site->held_cpu += sign * workload->cpu_milli;
        site->held_memory += sign * workload->memory_mib;
    }
}

static void
own_hold(struct estate *estate, const struct workload *workload,
         const struct hold *hold, bool first, int sign)
{
    struct part *part = &estate->parts[estate_part(estate, hold->card)];
    struct site *site = &estate->sites[part->site];

    part->own_milli += sign * hold->milli;
    part->own_memory_mib += sign * hold->memory_mib;
    if (first) {
        site->own_cpu += sign * workload->cpu_milli;
        site->own_memory += sign * workload->memory_mib;
    }
}

/* What nominated work will use counts as used for everybody else. */
static void
promise_in(const struct estate *estate, struct ledger *ledger, struct ref ref,
           int sign)
{
    const struct workload *workload = world_workload(estate->world, ref);
    struct ref first = world_first_child(estate->world, KIND_HOLD, ref);
    const struct part *part;
    struct demand demand;

    if (workload == NULL || ref_is_none(first))
        return;
    if (estate_part(estate, world_hold(estate->world, first)->card) ==
        ESTATE_NONE)
        return;
    part = &estate->parts[estate_part(
        estate, world_hold(estate->world, first)->card)];
    quota_demand(estate->world, workload, estate->sites[part->site].pool,
                 part->memory_mib, &demand);
    quota_charge(estate->world, &demand, ledger, sign);
}

static void
promise(struct estate *estate, struct ref ref, int sign)
{
    promise_in(estate, &estate->promised, ref, sign);
}

void
estate_earlier(const struct estate *estate, struct ref workload,
               struct ledger *ledger_out)
{
    const struct world *world = estate->world;
    struct ref hold = world_first_child(world, KIND_HOLD, workload);

    ledger_copy(ledger_out, &estate->promised, estate->arena);
    for (; !ref_is_none(hold); hold = world_next(world, hold)) {
        struct ref other = world_parent(world, hold);

        if (!ref_equal(other, workload) &&
            ref_equal(hold, world_first_child(world, KIND_HOLD, other)))
            promise_in(estate, ledger_out, other, -1);
    }
}

static void
add_holds(struct estate *estate)
{
    world_each(estate->world, KIND_HOLD, ref) {
        struct ref workload = world_parent(estate->world, ref);

        if (!ref_equal(ref, world_first_child(estate->world, KIND_HOLD,
                                              workload)))
            continue;
        each_hold(estate, workload, keep_hold, 1);
        promise(estate, workload, 1);
    }
}

void
estate_own(struct estate *estate, struct ref workload, bool on)
{
    each_hold(estate, workload, own_hold, on ? 1 : -1);
    promise(estate, workload, on ? -1 : 1);
}

void
estate_drop_holds(struct estate *estate, struct ref workload)
{
    each_hold(estate, workload, keep_hold, -1);
    promise(estate, workload, -1);
}

struct estate *
estate_new(struct arena *arena, const struct world *world, int64_t now_ms)
{
    const struct platform *platform =
        world_platform(world, world_platform_ref(world));
    int64_t patience_ms = platform != NULL ? platform->hold_ms : 0;
    struct estate *estate = arena_alloc(arena, sizeof(*estate));

    estate->arena = arena;
    estate->world = world;
    estate->now_ms = now_ms;
    ledger_init(&estate->promised, arena);
    ledger_init(&estate->leaving, arena);
    estate->numbers = arena_alloc(arena, sizeof(*estate->numbers));
    bits_init(&estate->numbers->uids, arena, UID_SLOTS);
    estate->numbers->tenant_count = index_bound(world, KIND_TENANT);
    estate->numbers->addresses =
        arena_alloc(arena, estate->numbers->tenant_count *
                               sizeof(*estate->numbers->addresses));
    add_sites(estate, platform != NULL ? platform->lease_ms : 0);
    add_instances(estate, patience_ms);
    add_runs(estate, patience_ms);
    add_holds(estate);
    return estate;
}

/* --- trials and decisions --- */

void
estate_gain(struct estate *estate, const struct run *run, int sign)
{
    for (size_t i = run->first; i < run->first + run->count; i++) {
        const struct use *use = &estate->uses[i];

        if (use->part == ESTATE_NONE) {
            estate->sites[use->site].gain_cpu += sign * use->cpu_milli;
            estate->sites[use->site].gain_memory += sign * use->memory_mib;
        } else {
            estate->parts[use->part].gain_milli += sign * use->milli;
            estate->parts[use->part].gain_memory_mib += sign * use->memory_mib;
        }
    }
}

void
estate_leave(struct estate *estate, struct run *run)
{
    for (size_t i = run->first; i < run->first + run->count; i++) {
        const struct use *use = &estate->uses[i];

        if (use->part == ESTATE_NONE) {
            estate->sites[use->site].leaving_cpu += use->cpu_milli;
            estate->sites[use->site].leaving_memory += use->memory_mib;
        } else {
            estate->parts[use->part].leaving_milli += use->milli;
            estate->parts[use->part].leaving_memory_mib += use->memory_mib;
        }
    }
    run->leaving = true;
    quota_charge(estate->world, &run->demand, &estate->leaving, -1);
}

void
estate_take(struct estate *estate, struct ref card, struct ref tenant,
            int64_t milli, int64_t memory_mib)
{
    struct part *part = &estate->parts[estate_part(estate, card)];

    part->tenant = tenant;
    part->used_milli += milli;
    part->used_memory_mib += memory_mib;
}

void
estate_take_node(struct estate *estate, uint32_t site, int64_t cpu_milli,
                 int64_t memory_mib)
{
    estate->sites[site].used_cpu += cpu_milli;
    estate->sites[site].used_memory += memory_mib;
}

void
estate_hold(struct estate *estate, struct ref card, struct ref tenant,
            int64_t milli, int64_t memory_mib)
{
    struct part *part = &estate->parts[estate_part(estate, card)];

    part->hold_tenant = tenant;
    part->held_milli += milli;
    part->held_memory_mib += memory_mib;
}

void
estate_hold_node(struct estate *estate, uint32_t site, int64_t cpu_milli,
                 int64_t memory_mib)
{
    estate->sites[site].held_cpu += cpu_milli;
    estate->sites[site].held_memory += memory_mib;
}
