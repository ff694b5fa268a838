/* SPDX-License-Identifier: Apache-2.0 */
#include "core/gate_private.h"

#include <inttypes.h>
#include <string.h>

#include "core/alternative.h"
#include "core/governance.h"
#include "core/lifecycle.h"
#include "core/maintenance.h"
#include "core/manifest.h"
#include "core/recovery.h"
#include "core/reservation.h"
#include "core/timeline.h"

/* A shape that was looked at in this pass. */
struct shape {
    struct ref pool, class;
    enum topology level;
    struct spread spread; /* that is required */
    int64_t instances, cpu_milli, memory_mib;
    uint64_t needs; /* a digest */
    int64_t capacity, least_memory;
    bool possible;
    struct shape *next;
};

void
gate_init(struct gate *gate, const struct world *world,
          const struct ledger *promised, int64_t now_ms, struct arena *arena)
{
    *gate = (struct gate){ .world = world,
                           .promised = promised,
                           .now_ms = now_ms,
                           .arena = arena };
}

/* --- pools --- */

bool
gate_lists(const struct world *world, const struct blob *list, struct ref ref)
{
    const struct object *object = world_object(world, ref);
    char quoted[ID_TEXT_MAX + 2] = "\"";

    if (list == NULL || object == NULL)
        return false;
    id_format(schema_get((enum kind)ref.kind)->prefix, object->id,
              quoted + 1);
    (void)memcpy(quoted + strlen(quoted), "\"", 2);
    return strstr(list->bytes, quoted) != NULL;
}

/* The smaller the better; -1: not allowed. */
static int
pool_rank(const struct world *world, const struct tenant *tenant,
          const struct workload *workload, struct ref ref)
{
    const struct pool *pool = world_pool(world, ref);
    bool own = pool->kind == POOL_DEDICATED &&
               gate_lists(world, pool->tenants, tenant->object.self);

    if (own)
        return 0;
    if (tenant->isolation == ISOLATION_CLUSTER)
        return -1;
    if (tenant->isolation == ISOLATION_NODEPOOL)
        return pool->overflow ? 2 : -1;
    if (tenant->pools != NULL && !gate_lists(world, tenant->pools, ref))
        return -1;
    if (pool->kind == POOL_SHARED)
        return 1;
    return pool->lend && workload->preemptible ? 2 : -1;
}

size_t
gate_pools(const struct world *world, const struct workload *workload,
           struct ref *pools_out, size_t max)
{
    const struct tenant *tenant =
        world_tenant(world, world_ancestor(world, KIND_TENANT,
                                           workload->object.parent));
    struct ref only = workload->pool;
    size_t count = 0;

    if (tenant == NULL)
        return 0;
    if (ref_is_none(only))
        only = recovery_pool(world, workload);
    for (int rank = 0; rank <= 2; rank++)
        world_each(world, KIND_POOL, ref)
            if (count < max && (ref_is_none(only) || ref_equal(ref, only)) &&
                pool_rank(world, tenant, workload, ref) == rank)
                pools_out[count++] = ref;
    return count;
}

/* A pool dedicated to the tenant: what others have is not told. */
static struct ref
own_pool(const struct world *world, struct ref tenant)
{
    world_each(world, KIND_POOL, ref)
        if (world_pool(world, ref)->kind == POOL_DEDICATED &&
            gate_lists(world, world_pool(world, ref)->tenants, tenant))
            return ref;
    return (struct ref){ 0 };
}

void
gate_say_no_pool(const struct world *world, const struct workload *workload,
                 struct verdict *verdict_out)
{
    const struct tenant *tenant =
        world_tenant(world, world_ancestor(world, KIND_TENANT,
                                           workload->object.parent));
    struct ref own = own_pool(world, tenant->object.self);
    const char *what = ref_is_none(workload->pool)
                           ? "there is no pool"
                           : "its pool is not among those";
    const char *whose = tenant->isolation == ISOLATION_CLUSTER
                            ? ", isolated as a cluster,"
                            : "";

    if (!ref_is_none(own))
        verdict_set(verdict_out, WORKLOAD_REJECTED, REASON_POLICY,
                    "%s that tenant %s%s may use: pool %s would do", what,
                    tenant->object.name, whose,
                    world_pool(world, own)->object.name);
    else
        verdict_set(verdict_out, WORKLOAD_REJECTED, REASON_POLICY,
                    "%s that tenant %s%s may use: a pool dedicated to it "
                    "would do",
                    what, tenant->object.name, whose);
}

/* --- policy --- */

static int
state_of(const struct world *world, struct ref ref)
{
    switch (ref.kind) {
    case KIND_PROJECT:
        return world_project(world, ref)->state;
    case KIND_UNIT:
        return world_unit(world, ref)->state;
    case KIND_TENANT:
        return world_tenant(world, ref)->state;
    case KIND_USER:
        return world_user(world, ref)->state;
    case KIND_SERVICEACCOUNT:
        return world_serviceaccount(world, ref)->state;
    default:
        return STATE_ACTIVE;
    }
}

/* The first node from ref upwards that is not active, or none. */
static struct ref
find_stopped(const struct world *world, struct ref ref)
{
    while (world_object(world, ref) != NULL &&
           state_of(world, ref) == STATE_ACTIVE)
        ref = world_parent(world, ref);
    return ref;
}

/* All that is above the workload, and who submitted it. */
static bool
check_active(const struct world *world, const struct workload *workload,
             struct verdict *verdict)
{
    char name[NAME_MAX_SIZE + 16];
    struct ref stopped = find_stopped(world, workload->object.parent);

    if (ref_is_none(stopped))
        stopped = find_stopped(world, workload->user);
    if (ref_is_none(stopped))
        return true;
    reason_node(name, world, stopped);
    if (state_of(world, stopped) == STATE_DELETED)
        verdict_set(verdict, WORKLOAD_GATED, REASON_SUSPENDED,
                    "%s does not exist any more, so it cannot start: cancel "
                    "it, and submit it anew as somebody else",
                    name);
    else
        verdict_set(verdict, WORKLOAD_GATED, REASON_SUSPENDED,
                    "%s is suspended; it can start when that is lifted",
                    name);
    return false;
}

static bool
check_class(const struct world *world, const struct tenant *tenant,
            const struct workload *workload, struct verdict *verdict)
{
    const struct class *class = world_class(world, workload->class);

    if (class == NULL)
        verdict_set(verdict, WORKLOAD_REJECTED, REASON_POLICY,
                    "its class does not exist any more");
    else if (class->form == FORM_HARD && class->milli == 0)
        verdict_set(verdict, WORKLOAD_REJECTED, REASON_SHAPE,
                    "class %s asks for slices of profile %s, and no card "
                    "that is known has it",
                    class->object.name, class->profile);
    else if (class->form == FORM_SOFT &&
             (class->milli < 1 || class->milli > 1000))
        verdict_set(verdict, WORKLOAD_REJECTED, REASON_SHAPE,
                    "class %s is a share of %" PRId64
                    " thousandths of a card: 1 to 1000 are possible",
                    class->object.name, class->milli);
    else if (tenant->classes != NULL &&
             !gate_lists(world, tenant->classes, workload->class))
        verdict_set(verdict, WORKLOAD_REJECTED, REASON_POLICY,
                    "class %s is not among those that tenant %s may use",
                    class->object.name, tenant->object.name);
    else
        return true;
    return false;
}

static bool
check_amounts(const struct workload *workload, struct verdict *verdict)
{
    if (workload->instances >= 1 && workload->instances <= 4096 &&
        workload->cpu_milli >= 0 && workload->memory_mib >= 0)
        return true;
    verdict_set(verdict, WORKLOAD_REJECTED, REASON_SHAPE,
                "%" PRId64 " instances with %" PRId64 " milli-CPU and %" PRId64
                " MiB each are not an amount that can be placed",
                workload->instances, workload->cpu_milli,
                workload->memory_mib);
    return false;
}

bool
gate_allows_priority(const struct world *world, const struct tenant *tenant,
                     struct ref ref)
{
    const struct priority *priority = world_priority(world, ref);

    if (priority == NULL)
        return true;
    return tenant->priorities != NULL
               ? gate_lists(world, tenant->priorities, ref)
               : !priority->preempt_across;
}

static bool
check_priority(const struct world *world, const struct tenant *tenant,
               const struct workload *workload, struct verdict *verdict)
{
    const struct priority *priority =
        world_priority(world, workload->priority);

    if (gate_allows_priority(world, tenant, workload->priority))
        return true;
    verdict_set(verdict, WORKLOAD_REJECTED, REASON_POLICY,
                "priority %s is not among those that tenant %s may use",
                priority->object.name, tenant->object.name);
    return false;
}

bool
gate_check_policy(const struct gate *gate, const struct workload *workload,
                  struct verdict *verdict_out)
{
    const struct world *world = gate->world;
    const struct tenant *tenant =
        world_tenant(world, world_ancestor(world, KIND_TENANT,
                                           workload->object.parent));

    if (tenant == NULL) {
        verdict_set(verdict_out, WORKLOAD_REJECTED, REASON_POLICY,
                    "its tenant does not exist any more");
        return false;
    }
    return check_active(world, workload, verdict_out) &&
           check_class(world, tenant, workload, verdict_out) &&
           check_amounts(workload, verdict_out) &&
           check_priority(world, tenant, workload, verdict_out);
}

/* --- shape --- */

static bool
same_spread(const struct spread *a, const struct spread *b)
{
    return a->level == b->level && a->most == b->most &&
           a->required == b->required;
}

/* On one node at most so many count, and so many of what is behind one leaf. */
static void
fill_shape(const struct gate *gate, const struct workload *workload,
           const struct need *needs, size_t count, struct shape *shape)
{
    const struct spread *spread = &shape->spread;
    const struct class *class = world_class(gate->world, workload->class);
    struct place_amount amount = { workload->instances, workload->cpu_milli,
                                   workload->memory_mib, needs, count };
    int64_t apart;

    if (spread->required && spread->level == TOPOLOGY_NODE &&
        spread->most < amount.instances)
        amount.instances = spread->most;
    (void)place_shape(gate->world, shape->pool, class, shape->level, &amount,
                      &shape->capacity, &shape->least_memory);
    if (spread->required && spread->level == TOPOLOGY_LEAF) {
        amount.instances = spread->most;
        apart = place_shape_apart(gate->world, shape->pool, class, &amount);
        if (apart < shape->capacity)
            shape->capacity = apart;
    }
    shape->possible = shape->capacity >= workload->instances;
}

static const struct shape *
shape_of(struct gate *gate, const struct workload *workload, struct ref pool)
{
    enum topology level = manifest_topology(workload->spec);
    struct spread spread = manifest_spread(workload->spec);
    struct need needs[REQUIRE_MAX];
    struct shape *shape;
    uint64_t digest;
    size_t count;

    gate_keep_images(gate);
    count = gate_needs(gate, workload, needs, &digest);
    for (shape = gate->shapes; shape != NULL; shape = shape->next)
        if (ref_equal(shape->pool, pool) &&
            ref_equal(shape->class, workload->class) &&
            shape->level == level && shape->needs == digest &&
            same_spread(&shape->spread, &spread) &&
            shape->instances == workload->instances &&
            shape->cpu_milli == workload->cpu_milli &&
            shape->memory_mib == workload->memory_mib)
            return shape;
    shape = arena_alloc(gate->arena, sizeof(*shape));
    shape->pool = pool;
    shape->class = workload->class;
    shape->level = level;
    shape->spread = spread;
    shape->needs = digest;
    shape->instances = workload->instances;
    shape->cpu_milli = workload->cpu_milli;
    shape->memory_mib = workload->memory_mib;
    fill_shape(gate, workload, needs, count, shape);
    shape->next = gate->shapes;
    gate->shapes = shape;
    return shape;
}

/* A node that has enrolled and not said yet what it has: nobody knows whether
 * it fits there. */
static bool
has_unknown(const struct world *world, struct ref pool)
{
    world_each_child(world, KIND_NODE, pool, ref) {
        const struct node *node = world_node(world, ref);

        if (node->epoch > 0 && node->facts == NULL)
            return true;
    }
    return false;
}

static bool
check_shape(struct gate *gate, const struct workload *workload,
            struct ref pool, const struct shape *shape,
            struct verdict *verdict)
{
    static const char *const where[] = { "", " behind one leaf",
                                         " on one node", " beside one NUMA node",
                                         " behind one PCIe switch",
                                         " on one island" };
    const struct class *class = world_class(gate->world, workload->class);
    const struct pool *at = world_pool(gate->world, pool);
    char apart[64] = "";


    if (shape->possible)
        return true;
    if (has_unknown(gate->world, pool)) {
        verdict_set(verdict, WORKLOAD_GATED, REASON_SHAPE,
                    "nothing that is known of pool %s could hold it, and a "
                    "node of it has not said yet what it has; it is looked "
                    "at again then",
                    at->object.name);
        return false;
    }
    if (shape->spread.level != TOPOLOGY_POOL && shape->spread.required)
        (void)snprintf(apart, sizeof(apart), ", at most %" PRId64 "%s",
                       shape->spread.most, where[shape->spread.level]);
    if (shape->needs != 0 && gate_say_incompatible(gate, workload, pool, verdict))
        return false;
    if (shape->least_memory == 0 &&
        !(class->form == FORM_WHOLE && class->count == 0))
        verdict_set(verdict, WORKLOAD_REJECTED, REASON_SHAPE,
                    "pool %s has no card of class %s", at->object.name,
                    class->object.name);
    else
        verdict_set(verdict, WORKLOAD_REJECTED, REASON_SHAPE,
                    "%" PRId64 " instance%s of class %s with %" PRId64
                    " milli-CPU and %" PRId64
                    " MiB needed%s%s, pool %s could hold %" PRId64
                    " even if it were empty",
                    workload->instances, workload->instances == 1 ? "" : "s",
                    class->object.name, workload->cpu_milli,
                    workload->memory_mib, where[shape->level], apart,
                    at->object.name, shape->capacity);
    verdict_numbers(verdict, workload->instances, shape->capacity,
                    shape->capacity);
    return false;
}

/* --- volumes: they pin the workload to the node where they lie --- */

static struct ref
pinned_node(const struct world *world, const struct workload *workload,
            bool *any_out, bool *apart_out)
{
    struct ref volumes[MANIFEST_VOLUMES_MAX];
    size_t count = manifest_volumes(world, workload->spec, volumes,
                                    MANIFEST_VOLUMES_MAX);
    struct ref node = { 0 };

    *any_out = count > 0;
    *apart_out = false;
    for (size_t i = 0; i < count; i++) {
        const struct volume *volume = world_volume(world, volumes[i]);

        if (volume == NULL || ref_is_none(volume->node))
            continue;
        if (!ref_is_none(node) && !ref_equal(node, volume->node))
            *apart_out = true;
        node = volume->node;
    }
    return node;
}

static bool
check_volumes(const struct gate *gate, const struct workload *workload,
              struct ref pool, struct verdict *verdict)
{
    bool any, apart;
    struct ref node = pinned_node(gate->world, workload, &any, &apart);

    if (apart)
        verdict_set(verdict, WORKLOAD_REJECTED, REASON_SHAPE,
                    "its volumes lie on different nodes, so no node could "
                    "mount them all");
    else if (!ref_is_none(node) &&
             !ref_equal(world_parent(gate->world, node), pool))
        verdict_set(verdict, WORKLOAD_REJECTED, REASON_SHAPE,
                    "its volumes do not lie in a pool where it may run");
    else
        return true;
    return false;
}

/* --- all together --- */

bool
gate_check_pool(struct gate *gate, const struct workload *workload,
                struct ref pool, struct demand *demand_out,
                struct verdict *verdict_out)
{
    const struct shape *shape = shape_of(gate, workload, pool);

    quota_demand(gate->world, workload, pool, shape->least_memory, demand_out);
    demand_out->now_ms = gate->now_ms;
    return check_shape(gate, workload, pool, shape, verdict_out) &&
           check_volumes(gate, workload, pool, verdict_out) &&
           governance_fits(gate->world, workload, demand_out, gate->now_ms,
                           verdict_out) &&
           quota_fits(gate->world, demand_out, gate->promised, gate->now_ms,
                      verdict_out) &&
           (workload->preemptible ||
            quota_fits_guarantee(gate->world, demand_out, gate->promised,
                                 verdict_out));
}

/* Not now is closer than never, a limit closer than a shape. */
static int
distance(const struct verdict *verdict)
{
    if (verdict->state == WORKLOAD_GATED)
        return 0;
    return verdict->reason == REASON_LIMIT_NEVER ? 1 : 2;
}

bool
gate_is_nearer(const struct verdict *a, const struct verdict *b)
{
    return distance(a) < distance(b);
}

/* With the one class that it has. */
static bool
check_all_pools(struct gate *gate, const struct workload *workload,
                struct verdict *verdict_out)
{
    struct ref pools[GATE_POOLS_MAX];
    struct verdict best = { 0 }, verdict;
    struct demand demand;
    size_t count;

    if (!gate_check_policy(gate, workload, verdict_out))
        return false;
    count = gate_pools(gate->world, workload, pools, GATE_POOLS_MAX);
    if (count == 0)
        gate_say_no_pool(gate->world, workload, &best);
    for (size_t i = 0; i < count; i++) {
        if (gate_check_pool(gate, workload, pools[i], &demand, &verdict))
            return true;
        if (i == 0 || gate_is_nearer(&verdict, &best))
            best = verdict;
    }
    *verdict_out = best;
    return false;
}

bool
gate_check(struct gate *gate, const struct workload *workload,
           struct verdict *verdict_out)
{
    struct verdict verdicts[ALTERNATIVE_MAX];
    size_t count;
    const struct workload *copies = alternative_copies(
        gate->world, workload, gate->arena, &count);

    for (size_t i = 0; i < count; i++)
        if (check_all_pools(gate, &copies[i], &verdicts[i]))
            return true;
    alternative_say(gate->world, copies, verdicts, count, verdict_out);
    return false;
}

/* How far it reaches if it starts now, or when all that is being stopped has
 * given back. */
static void
add_ends(const struct gate *gate, const struct workload *workload,
         struct place_request *request)
{
    const struct world *world = gate->world;
    int64_t later_ms = reservation_lead_ms(world);
    int64_t span_ms, loan_ms;

    if (world_count(world, KIND_MAINTENANCE) == 0)
        return;
    span_ms = maintenance_span_ms(world, workload);
    loan_ms = maintenance_loan_ms(world, workload);
    for (int when = PLACE_NOW; when <= PLACE_FUTURE; when++) {
        int64_t now_ms = gate->now_ms + (when == PLACE_NOW ? 0 : later_ms);

        request->ends_ms[when] =
            maintenance_round(world, timeline_after(now_ms, span_ms));
        request->loans_ms[when] =
            maintenance_round(world, timeline_after(now_ms, loan_ms));
    }
}

/* Alone, or all of them where so many may be, is no matter of spread. */
static void
ask_apart(const struct workload *workload, struct place_request *request)
{
    struct spread spread = manifest_spread(workload->spec);

    if (spread.level == TOPOLOGY_POOL ||
        (spread.most >= workload->instances &&
         !lifecycle_is_live(workload->state)))
        return;
    request->per_node = spread.level == TOPOLOGY_NODE ? spread.most : 0;
    request->per_leaf = spread.level == TOPOLOGY_LEAF ? spread.most : 0;
    request->apart_if = !spread.required;
}

void
gate_request(const struct gate *gate, const struct workload *workload,
             const struct demand *demand, struct place_request *request_out)
{
    const struct world *world = gate->world;
    struct ref tenant_ref =
        world_ancestor(world, KIND_TENANT, workload->object.parent);
    const struct tenant *tenant = world_tenant(world, tenant_ref);
    const struct class *class = world_class(world, workload->class);
    int64_t cards = workload->instances *
                    (class->form == FORM_WHOLE ? class->count : 1);
    int64_t room = quota_room(world, demand, DIMENSION_ACCEL_MEMORY,
                              gate->promised, !workload->preemptible);
    struct closeness closeness = manifest_closeness(workload->spec);
    bool any, apart;

    *request_out = (struct place_request){
        .tenant = tenant_ref,
        .pool = demand->pool,
        .class = class,
        .instances = workload->instances,
        .cpu_milli = workload->cpu_milli,
        .memory_mib = workload->memory_mib,
        .card_memory_max = cards > 0 ? room / cards : room,
        .node = pinned_node(world, workload, &any, &apart),
        .exclusive = tenant->isolation != ISOLATION_NAMESPACE,
        .workload = workload->object.self,
    };
    request_out->one_node =
        any || (closeness.required && closeness.level >= TOPOLOGY_NODE);
    request_out->one_leaf =
        closeness.required && closeness.level == TOPOLOGY_LEAF;
    request_out->grouped =
        place_group_of_level(closeness.level, &request_out->group) &&
        closeness.required;
    gate_add_needs(gate, workload, request_out);
    add_ends(gate, workload, request_out);
    ask_apart(workload, request_out);
    request_out->bar_count =
        quota_bars(world, demand, gate->promised, !workload->preemptible,
                   request_out->bars);
}
