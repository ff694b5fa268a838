/* SPDX-License-Identifier: Apache-2.0 */
#include "core/grow.h"

#include <inttypes.h>
#include <string.h>

#include "core/governance.h"
#include "core/lifecycle.h"
#include "core/manifest.h"
#include "core/shortage.h"
#include "core/walk.h"

/* An elastic gang that is not as large as it may be. */
struct grower {
    struct ref workload;
    uint64_t seen; /* what could let it grow, when it could not */
};

struct grow {
    struct arena *arena;
    const struct world *world;
    struct grower *list; /* in no order */
    size_t count, room;
    uint64_t other; /* changes that are not about what runs */
    struct walk load;
};

/* --- who --- */

/* May the gang become larger at all, now or later? */
static bool
is_grower(const struct workload *workload)
{
    return workload != NULL && workload->state == WORKLOAD_RUNNING &&
           lifecycle_is_elastic(workload) &&
           workload->instances_now < workload->instances_max;
}

static void
grow_mark(struct grow *grow, struct ref ref)
{
    size_t at = 0;

    while (at < grow->count && !ref_equal(grow->list[at].workload, ref))
        at++;
    if (!is_grower(world_workload(grow->world, ref))) {
        if (at < grow->count)
            grow->list[at] = grow->list[--grow->count];
        return;
    }
    if (at == grow->count && grow->count == grow->room) {
        size_t room = grow->room > 0 ? grow->room * 2 : 16;
        struct grower *list =
            arena_alloc(grow->arena, room * sizeof(*list));

        if (grow->count > 0)
            memcpy(list, grow->list, grow->count * sizeof(*list));
        grow->list = list;
        grow->room = room;
    }
    if (at == grow->count)
        grow->count++;
    grow->list[at] = (struct grower){ .workload = ref };
}

struct grow *
grow_new(struct arena *arena, const struct world *world)
{
    struct grow *grow = arena_alloc(arena, sizeof(*grow));

    *grow = (struct grow){ .arena = arena, .world = world };
    walk_begin(&grow->load, world, KIND_WORKLOAD);
    return grow;
}

#define COST_LOAD 1 /* units of the budget */

bool
grow_load(struct grow *grow, struct budget *budget)
{
    struct ref ref;

    while (!walk_is_over(&grow->load)) {
        if (!budget_take(budget, COST_LOAD))
            return false;
        if (walk_next(&grow->load, grow->world, &ref) &&
            is_grower(world_workload(grow->world, ref)))
            grow_mark(grow, ref);
    }
    return true;
}

void
grow_note(struct grow *grow, const struct trail_step *step)
{
    const struct workload *workload;

    switch (step->ref.kind) {
    case KIND_WORKLOAD:
        workload = world_workload(grow->world, step->ref);
        if (workload == NULL || !lifecycle_is_live(workload->state) ||
            workload->state == WORKLOAD_ASSIGNED)
            grow->other++; /* somebody waits no more */
        if (workload == NULL || lifecycle_is_elastic(workload))
            grow_mark(grow, step->ref);
        break;
    case KIND_INSTANCE:
        workload = world_workload(grow->world, step->parent);
        if (workload != NULL && lifecycle_is_elastic(workload))
            grow_mark(grow, step->parent);
        break;
    case KIND_BINDING:
    case KIND_CARD:
    case KIND_FACT:
    case KIND_EVENT:
        break;
    default:
        grow->other++;
        break;
    }
}

/* Months end, and what is raised for a time falls. */
#define GROW_LOOK_MS INT64_C(60000)

/* It rises with all that could let a gang grow. */
static uint64_t
sight(const struct grow *grow, const struct estate *estate)
{
    uint64_t sum = 1 + grow->other + estate->runs_pulse.better +
                   (uint64_t)(estate->now_ms / GROW_LOOK_MS);

    world_each(grow->world, KIND_POOL, ref)
        sum += estate_pool(estate, ref).better;
    return sum;
}

/* Its longest run time is over. */
static bool
is_late(const struct workload *workload, int64_t now_ms)
{
    return workload->max_run_ms > 0 &&
           workload->started_ms + workload->max_run_ms <= now_ms;
}

/* --- where --- */

/* Its pool, and the number of the next instance.  False while it comes up or
 * ends, or when a number is not given back yet. */
static bool
look_at_gang(const struct world *world, const struct workload *workload,
             struct ref *pool_out, struct ref *node_out, int64_t *number_out)
{
    uint64_t taken[4096 / 64] = { 0 };
    int64_t number = workload->instances;

    *pool_out = (struct ref){ 0 };
    world_each_child(world, KIND_INSTANCE, workload->object.self, ref) {
        const struct instance *instance = world_instance(world, ref);

        if (instance->attempt != workload->attempt)
            continue;
        if (instance->state == INSTANCE_RELEASED &&
            lifecycle_has_left(instance))
            continue;
        if (instance->state >= INSTANCE_EXITED &&
            !lifecycle_has_left(instance))
            return false;
        taken[(instance->number % 4096) / 64] |=
            UINT64_C(1) << (instance->number % 64);
        *pool_out = instance->pool;
        *node_out = instance->node;
    }
    while (number < workload->instances_max &&
           (taken[number / 64] >> (number % 64) & 1) != 0)
        number++;
    *number_out = number;
    return number < workload->instances_max && !ref_is_none(*pool_out);
}

/* As close to the rest as the gang asked for. */
static void
keep_close(const struct estate *estate, struct ref node,
           struct place_request *request)
{
    uint32_t site = estate_site(estate, node);

    if (request->one_node)
        request->node = node;
    if (request->one_leaf && site != ESTATE_NONE) {
        request->leaf = estate->sites[site].leaf;
        if (request->leaf == 0)
            request->node = node;
    }
    request->one_leaf = false;
}

/* What one more instance is charged with: the gang counts as one already. */
static void
demand_of_one(const struct workload *workload, int64_t now_ms,
              struct demand *demand)
{
    demand->of[DIMENSION_WORKLOADS] = 0;
    demand->now_ms = now_ms;
    if (workload->max_run_ms > 0)
        demand->run_ms = workload->started_ms + workload->max_run_ms - now_ms;
}

static bool
find_place(struct estate *estate, const struct workload *one,
           const struct place_request *request, struct arena *arena,
           struct growth *growth, struct verdict *verdict)
{
    struct booking_bars bars;
    struct place_tally tally;
    bool found;

    booking_bars(estate, one, RIGHT_BURST, BOOKING_NOW, arena, &bars);
    booking_bar(estate, &bars, 1);
    found = place_find(estate, request, PLACE_NOW, arena, &growth->placement,
                       &tally);
    booking_bar(estate, &bars, -1);
    if (!found)
        shortage_say(estate->world, request, &tally, verdict);
    return found;
}

static bool
find_room(struct gate *gate, struct estate *estate,
          const struct workload *workload, struct ref pool, struct ref node,
          struct arena *arena, struct growth *growth, struct verdict *verdict)
{
    struct workload one = *workload;
    struct demand demand;

    one.instances = 1;
    one.preemptible = true;
    gate->promised = &estate->promised;
    if (!gate_check_policy(gate, &one, verdict))
        return false;
    (void)gate_check_pool(gate, &one, pool, &demand, verdict);
    demand_of_one(workload, estate->now_ms, &demand);
    if (!governance_fits(estate->world, &one, &demand, estate->now_ms,
                         verdict) ||
        !quota_fits(estate->world, &demand, &estate->promised, estate->now_ms,
                    verdict))
        return false;
    gate_request(gate, &one, &demand, &growth->request);
    keep_close(estate, node, &growth->request);
    if (!numbers_has(&estate->numbers, growth->request.tenant, 1)) {
        verdict_set(verdict, WORKLOAD_QUEUED, REASON_CAPACITY,
                    "its tenant's network has no address left");
        return false;
    }
    return find_place(estate, &one, &growth->request, arena, growth, verdict);
}

/* What the queue would say, by what waiting work was told last. */
static bool
others_want(const struct world *world, struct ref pool, struct ref tenant)
{
    struct ref pools[GATE_POOLS_MAX];

    world_each(world, KIND_WORKLOAD, ref) {
        const struct workload *other = world_workload(world, ref);
        size_t count;

        if (other->state == WORKLOAD_GATED &&
            other->reason == REASON_LIMIT &&
            ref_equal(other->object.scope, tenant))
            return true;
        if (other->state != WORKLOAD_QUEUED)
            continue;
        count = gate_pools(world, other, pools, GATE_POOLS_MAX);
        for (size_t i = 0; i < count; i++)
            if (ref_equal(pools[i], pool))
                return true;
    }
    return false;
}

bool
grow_one(struct gate *gate, struct estate *estate, struct queue *queue,
         const struct workload *workload, struct arena *arena,
         struct growth *growth_out, struct verdict *verdict_out)
{
    const struct world *world = estate->world;
    struct ref pool, node = { 0 };
    int64_t number;

    if (!is_grower(workload) || is_late(workload, estate->now_ms) ||
        !look_at_gang(world, workload, &pool, &node, &number)) {
        verdict_set(verdict_out, WORKLOAD_QUEUED, REASON_NOT_EVALUATED,
                    "its instances come up, or end");
        return false;
    }
    if (workload->next_try_ms > estate->now_ms) {
        verdict_set(verdict_out, WORKLOAD_QUEUED, REASON_BACKOFF,
                    "an instance could not be started; it is tried again "
                    "after %" PRId64 " s",
                    (workload->next_try_ms - estate->now_ms) / 1000);
        return false;
    }
    if (queue != NULL ? queue_wants(queue, pool, workload->object.scope)
                      : others_want(world, pool, workload->object.scope)) {
        verdict_set(verdict_out, WORKLOAD_QUEUED, REASON_PRIORITY,
                    "in its pool nothing is free beside what goes before "
                    "its growth");
        return false;
    }
    growth_out->workload = workload;
    growth_out->number = number;
    return find_room(gate, estate, workload, pool, node, arena, growth_out,
                     verdict_out);
}

/* --- whose turn --- */

/* Does a grow before b? */
static bool
is_before(const struct world *world, struct ref left, struct ref right)
{
    const struct workload *a = world_workload(world, left);
    const struct workload *b = world_workload(world, right);
    const struct priority *high = world_priority(world, a->priority);
    const struct priority *low = world_priority(world, b->priority);
    int64_t ours = high != NULL ? high->value : 0;
    int64_t theirs = low != NULL ? low->value : 0;
    int64_t own = a->instances_now - a->instances;
    int64_t other = b->instances_now - b->instances;

    if (ours != theirs)
        return ours > theirs;
    if (own != other)
        return own < other;
    return a->object.seq < b->object.seq;
}

static struct grower *
next_grower(struct grow *grow, const struct estate *estate, uint64_t now)
{
    struct grower *best = NULL;

    for (size_t i = 0; i < grow->count; i++) {
        struct grower *grower = &grow->list[i];
        const struct workload *workload =
            world_workload(grow->world, grower->workload);

        if (grower->seen == now || workload->next_try_ms > estate->now_ms)
            continue;
        if (best == NULL ||
            is_before(grow->world, grower->workload, best->workload))
            best = grower;
    }
    return best;
}

bool
grow_find(struct grow *grow, struct gate *gate, struct estate *estate,
          struct queue *queue, struct arena *arena, struct growth *growth_out)
{
    uint64_t now = sight(grow, estate);
    struct verdict ignored;
    struct grower *grower;

    while ((grower = next_grower(grow, estate, now)) != NULL) {
        if (grow_one(gate, estate, queue,
                     world_workload(grow->world, grower->workload), arena,
                     growth_out, &ignored))
            return true;
        if (budget_is_late(estate->budget))
            return false; /* it is asked again in the next slice */
        grower->seen = now;
    }
    return false;
}

bool
grow_is_true(struct grow *grow, struct gate *gate, struct estate *estate,
             struct queue *queue, struct arena *arena)
{
    struct verdict ignored;
    struct growth growth;

    world_each(grow->world, KIND_WORKLOAD, ref)
        if (grow_one(gate, estate, queue, world_workload(grow->world, ref),
                     arena, &growth, &ignored))
            return false;
    return true;
}
