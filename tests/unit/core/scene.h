/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SCENE_H
#define TESTS_SCENE_H

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "core/gate.h"
#include "core/image.h"
#include "core/lifecycle.h"
#include "core/manifest.h"
#include "core/object.h"
#include "core/schedule.h"
#include "core/submit.h"

/*
 * A scene for tests of scheduling: an estate, tenants with quotas, and work,
 * built by single steps through change sets.  After each applied set the
 * invariants of the domain are asserted (scene_check).
 */

#define SCENE_NOW INT64_C(1800000000000)
#define SCENE_CARD_MIB 81920
#define CARDS(n) (INT64_C(1000) * (n))

struct scene {
    struct world *world;
    struct scheduler *scheduler;
    struct id_source ids;
    int64_t now_ms;
    struct arena *arena; /* of the set that is open */
    struct ref platform;
    int steps; /* decisions in the last scene_run */
    int assigned, nominated, victims, expired, stopped, grown;
    bool keep_stale_nodes; /* nodes are not heard of */
    int64_t slice;    /* of the scheduler; 0: as shipped */
    int slices;       /* in the last scene_run */
    int slices_max;   /* it is left after so many, perhaps in the midst of
                         something; 0: never */
    int64_t sample; /* what recounts the whole world is asked after every so
                       many sets; 0: after each */
    int64_t applied;
    void (*on_decision)(struct scene *scene, const struct changes *changes);
    uint64_t digest; /* for whoever listens */
};

static inline struct changes *
scene_begin(struct scene *scene)
{
    assert_null(scene->arena);
    scene->arena = arena_new();
    return change_begin(scene->arena, scene->world,
                        (struct context){ scene->now_ms, &scene->ids });
}

/* --- what always holds --- */

static inline int64_t
scene_used(const struct world *world, const struct quota *quota)
{
    int64_t sum = 0;
    bool cards = quota->dimension == DIMENSION_CARDS ||
                 quota->dimension == DIMENSION_ACCEL_MEMORY;

#define IN_SCOPE(p, c)                                                        \
    ((ref_is_none(quota->pool) || ref_equal(quota->pool, p)) &&               \
     (ref_is_none(quota->class) || ref_equal(quota->class, c)))
#define OF_USER(u) (ref_is_none(quota->user) || ref_equal(quota->user, u))
#define OF_TYPE(b)                                                            \
    ((quota->vendor[0] == '\0' || strcmp(quota->vendor, (b)->vendor) == 0) &&  \
     (quota->model[0] == '\0' || strcmp(quota->model, (b)->model) == 0))
    if (cards)
        world_each(world, KIND_BINDING, ref) {
            const struct binding *b = world_binding(world, ref);

            if (b->to_ms == 0 && IN_SCOPE(b->pool, b->class) &&
                OF_USER(b->user) && OF_TYPE(b) &&
                world_is_below(world, b->project, quota->object.parent))
                sum += quota->dimension == DIMENSION_CARDS ? b->milli
                                                           : b->memory_mib;
        }
    else
        world_each(world, KIND_INSTANCE, ref) {
            const struct instance *i = world_instance(world, ref);

            if (i->state != INSTANCE_RELEASED && IN_SCOPE(i->pool, i->class) &&
                OF_USER(world_workload(world, i->object.parent)->user) &&
                world_is_below(world, i->project, quota->object.parent))
                sum += quota->dimension == DIMENSION_CPU      ? i->cpu_milli
                       : quota->dimension == DIMENSION_MEMORY ? i->memory_mib
                                                              : 1;
        }
#undef IN_SCOPE
#undef OF_USER
#undef OF_TYPE
    return sum;
}

/* Counters are what the bindings say (3). */
static inline void
scene_check_used(const struct world *world, const struct quota *quota)
{
    if (quota->dimension == DIMENSION_CARDS ||
        quota->dimension == DIMENSION_ACCEL_MEMORY ||
        quota->dimension == DIMENSION_CPU ||
        quota->dimension == DIMENSION_MEMORY ||
        quota->dimension == DIMENSION_INSTANCES)
        assert_int_equal(quota->used, scene_used(world, quota));
}

/* Admissions keep limits (4). */
static inline void
scene_check_limit(const struct world *world, const struct quota *quota,
                  const int64_t *before, int64_t now_ms)
{
    int64_t limit = quota_limit_at(world, quota, now_ms);

    assert_true(quota->used >= 0 || quota->dimension >= DIMENSION_CARD_TIME);
    if (quota->dimension < DIMENSION_CARD_TIME && limit != AMOUNT_NONE &&
        before != NULL && quota->used > *before)
        assert_true(quota->used <= limit);
}

/* A card holds at most itself, of one tenant unless it is cut (1, 2). */
static inline void
scene_check_card(const struct world *world, struct ref ref)
{
    const struct card *card = world_card(world, ref);
    uint32_t taken = 0;
    struct ref tenant = { 0 };
    int64_t milli = 0, memory = 0;

    world_each_index(world, KIND_BINDING, 0, ref, at) {
        const struct binding *binding = world_binding(world, at);

        if (binding->to_ms != 0)
            continue;
        milli += binding->milli;
        memory += binding->memory_mib;
        assert_true(ref_is_none(tenant) || card->sliced ||
                    ref_equal(tenant, binding->object.scope));
        assert_int_equal(card->sliced, binding->slice[0] != '\0');
        if (card->sliced) {
            const struct geometry_profile *profile;
            int start;

            assert_true(geometry_parse(geometry_card(card->vendor, card->model,
                                                     card->memory_mib),
                                       binding->slice, &profile, &start));
            /* No two in one memory unit, nor beside what is dirty. */
            assert_int_equal(taken >> start & ((1u << profile->size) - 1), 0);
            taken |= ((1u << profile->size) - 1) << start;
            assert_null(strstr(card->dirty, binding->slice));
        }
        tenant = binding->object.scope;
    }
    assert_int_equal(milli, card->used_milli);
    assert_int_equal(memory, card->used_memory_mib);
    assert_true(milli <= 1000);
    assert_true(memory <= card->memory_mib);
}

static inline void
scene_check_node(const struct world *world, struct ref ref)
{
    const struct node *node = world_node(world, ref);
    int64_t cpu = 0, memory = 0;

    world_each_index(world, KIND_INSTANCE, 0, ref, at) {
        const struct instance *instance = world_instance(world, at);

        if (instance->state == INSTANCE_RELEASED)
            continue;
        cpu += instance->cpu_milli;
        memory += instance->memory_mib;
    }
    assert_int_equal(cpu, node->used_cpu_milli);
    assert_true(cpu <= node->cpu_milli);
    assert_true(memory <= node->memory_mib);
}

/* Live instances share no host uids, and no address in a tenant. */
static inline void
scene_check_numbers(const struct world *world)
{
    world_each(world, KIND_INSTANCE, a)
        for (struct ref b = world_next(world, a); !ref_is_none(b);
             b = world_next(world, b)) {
            const struct instance *one = world_instance(world, a);
            const struct instance *two = world_instance(world, b);

            if (one->state == INSTANCE_RELEASED ||
                two->state == INSTANCE_RELEASED)
                continue;
            assert_true(one->uid_base + 65536 <= two->uid_base ||
                        two->uid_base + 65536 <= one->uid_base);
            assert_false(ref_equal(one->object.scope, two->object.scope) &&
                         one->address == two->address);
        }
}

/* A gang that is not being stopped has all its members, each number once, and
 * surplus up to its most; what was told to leave counts no more. */
static inline void
scene_check_gang(const struct world *world, const struct workload *workload)
{
    uint64_t seen[64] = { 0 };
    int64_t members = 0, all = 0;
    bool live = workload->state == WORKLOAD_ASSIGNED ||
                workload->state == WORKLOAD_STARTING ||
                workload->state == WORKLOAD_RUNNING;

    if (lifecycle_is_waiting(workload->state) ||
        lifecycle_is_over(workload->state))
        assert_int_equal(workload->instances_now, 0);
    if (!live)
        return;
    world_each_child(world, KIND_INSTANCE, workload->object.self, ref) {
        const struct instance *instance = world_instance(world, ref);
        uint64_t bit = UINT64_C(1) << (instance->number % 64);

        if (instance->attempt != workload->attempt ||
            lifecycle_has_left(instance))
            continue;
        assert_int_equal(seen[instance->number / 64] & bit, 0);
        seen[instance->number / 64] |= bit;
        members += instance->number < workload->instances;
        all++;
    }
    assert_int_equal(members, workload->instances);
    assert_int_equal(all, workload->instances_now);
    assert_true(all == members || all <= workload->instances_max);
}

/* No node has more of it than may be there together. */
static inline void
scene_check_spread(const struct world *world, const struct workload *workload)
{
    struct spread spread = manifest_spread(workload->spec);

    if (spread.level != TOPOLOGY_NODE || !spread.required)
        return;
    world_each_child(world, KIND_INSTANCE, workload->object.self, a) {
        const struct instance *one = world_instance(world, a);
        int64_t count = 0;

        world_each_child(world, KIND_INSTANCE, workload->object.self, b) {
            const struct instance *two = world_instance(world, b);

            count += two->attempt == workload->attempt &&
                     one->attempt == two->attempt &&
                     two->state != INSTANCE_RELEASED &&
                     !lifecycle_has_left(two) && !lifecycle_has_left(one) &&
                     ref_equal(one->node, two->node);
        }
        assert_true(count <= spread.most);
    }
}

static inline void
scene_check_workload(const struct world *world, struct ref ref)
{
    const struct workload *workload = world_workload(world, ref);
    int64_t live = 0;

    world_each_child(world, KIND_INSTANCE, ref, child) {
        const struct instance *instance = world_instance(world, child);

        /* What was lost and came back late is on its way out. */
        if (instance->attempt == workload->attempt &&
            instance->state != INSTANCE_RELEASED &&
            instance->want != WANT_STOP)
            live++;
    }
    if (!lifecycle_is_live(workload->state))
        assert_int_equal(live, 0); /* gangs: all or nothing */
    scene_check_gang(world, workload);
    scene_check_spread(world, workload);
    if (lifecycle_is_waiting(workload->state)) {
        assert_int_not_equal(workload->reason, REASON_NONE);
        assert_true(strlen(workload->reason_text) > 10);
    }
    if (!lifecycle_is_waiting(workload->state))
        assert_true(ref_is_none(world_first_child(world, KIND_HOLD, ref)));
}

/* Does a tenant share no node with others? */
static inline bool
scene_is_apart(const struct world *world, struct ref tenant)
{
    return world_tenant(world, tenant) != NULL &&
           world_tenant(world, tenant)->isolation != ISOLATION_NAMESPACE;
}

/* What a set starts is where its image is, and beside no other tenant when
 * either of them shares no nodes. */
static inline void
scene_check_start(const struct changes *changes,
                  const struct instance *instance)
{
    const struct world *world = changes->world;
    const struct workload *workload =
        change_get(changes, instance->object.parent);
    struct ref tenant = instance->object.scope;
    size_t size = (size_t)image_name_size(workload->image);

    assert_true(size == 0 ||
                image_may_be_on(world_node(world, instance->node),
                                workload->image, size));
    world_each_index(world, KIND_INSTANCE, 0, instance->node, ref) {
        struct ref other = world_scope(world, ref);

        if (world_instance(world, ref)->state != INSTANCE_RELEASED &&
            !ref_equal(other, tenant))
            assert_false(scene_is_apart(world, tenant) ||
                         scene_is_apart(world, other));
    }
}

/* What a set binds anew stands on healthy, clean cards (7). */
static inline void
scene_check_new(const struct changes *changes)
{
    for (size_t i = 0; i < changes->count; i++) {
        const struct change *change = &changes->list[i];
        const struct binding *binding = change->image;
        const struct card *card;

        if (!change->created || change->op != CHANGE_PUT)
            continue;
        if (change->ref.kind == KIND_INSTANCE)
            scene_check_start(changes, change->image);
        if (change->ref.kind != KIND_BINDING)
            continue;
        card = world_card(changes->world, binding->card);
        assert_int_equal(card->health, HEALTH_HEALTHY);
        assert_false(card->missing || card->foreign);
        assert_true(card->handover == HANDOVER_CLEAN ||
                    (card->handover == HANDOVER_PENDING &&
                     ref_equal(card->last_tenant, binding->object.scope)));
        assert_int_equal(
            world_node(changes->world,
                       world_parent(changes->world, binding->card))
                ->state,
            NODE_SCHEDULABLE);
    }
}

/* The milli-cards that a set's facts give to somebody or to nobody, by slot of
 * the card. */
static inline int64_t *
scene_metered(const struct changes *changes)
{
    int64_t *sums = calloc(world_count(changes->world, KIND_CARD) * 2 + 4096,
                           sizeof(*sums));

    for (size_t i = 0; i < changes->count; i++) {
        const struct fact *fact = changes->list[i].image;

        if (changes->list[i].op != CHANGE_PUT ||
            fact->object.self.kind != KIND_FACT ||
            fact->meter != METER_CARD_HOUR)
            continue;
        assert_true(fact->from_ms < fact->to_ms && fact->milli > 0);
        assert_int_equal(fact->quantity,
                         fact->milli * (fact->to_ms - fact->from_ms));
        assert_true(fact->card.index <
                    world_count(changes->world, KIND_CARD) * 2 + 4096);
        sums[fact->card.index] += fact->quantity;
    }
    return sums;
}

/* Every card's time is metered once, 1000 milli-cards of it, up to the instant
 * when what is bound on it changes (9). */
static inline void
scene_check_metering(const struct changes *changes)
{
    int64_t *sums = scene_metered(changes);

    for (size_t i = 0; i < changes->count; i++) {
        const struct change *change = &changes->list[i];
        const struct card *card = change->image, *old;
        const struct binding *binding = change->image, *was;

        if (change->op != CHANGE_PUT)
            continue;
        old = world_card(changes->world, change->ref);
        if (old != NULL && !change->created)
            assert_int_equal(sums[change->ref.index],
                             1000 * (card->cut_ms - old->cut_ms));
        if (change->ref.kind != KIND_BINDING)
            continue;
        was = change->created ? NULL
                              : world_binding(changes->world, change->ref);
        if (was != NULL && (was->to_ms != 0) == (binding->to_ms != 0))
            continue;
        card = change_get(changes, binding->card);
        assert_true(card == NULL ||
                    card->cut_ms == changes->context.now_ms);
        assert_int_equal(binding->cut_ms, changes->context.now_ms);
    }
    free(sums);
}

static inline void
scene_check(const struct world *world)
{
    world_each(world, KIND_CARD, card)
        scene_check_card(world, card);
    world_each(world, KIND_NODE, node)
        scene_check_node(world, node);
    world_each(world, KIND_WORKLOAD, workload)
        scene_check_workload(world, workload);
    world_each(world, KIND_INSTANCE, instance)
        assert_non_null(world_workload(world, world_parent(world, instance)));
    scene_check_numbers(world);
    world_each(world, KIND_HOLD, hold)
        assert_non_null(world_workload(world, world_parent(world, hold)));
    world_each(world, KIND_BOOKING, booking)
        assert_non_null(world_get(world, world_parent(world, booking)));
    world_each(world, KIND_QUOTA, quota)
        scene_check_used(world, world_quota(world, quota));
}

/* Is the whole world to be recounted after this set? */
static inline bool
scene_is_due(const struct scene *scene)
{
    return scene->sample <= 1 || scene->applied % scene->sample == 0;
}

/* The scheduler's picture of the world is one that is made anew. */
static inline void
scene_check_scheduler(const struct scene *scene)
{
    const char *where = NULL;

    if (!schedule_is_true(scene->scheduler, scene->world, scene->now_ms,
                          &where))
        fail_msg("the scheduler has another picture: %s", where);
}

/* What a quota counted before a set; NULL for one that the set made. */
static inline const int64_t *
scene_before(const struct ref *refs, const int64_t *used, size_t count,
             struct ref ref)
{
    for (size_t i = 0; i < count; i++)
        if (ref_equal(refs[i], ref))
            return &used[i];
    return NULL;
}

/* Without a quota for cards a tenant has the platform's free limit. */
static inline void
scene_check_free(const struct world *world, const int64_t used[64])
{
    const struct platform *platform =
        world_platform(world, world_platform_ref(world));

    world_each(world, KIND_TENANT, tenant) {
        int64_t now = world_tenant(world, tenant)->used_milli;
        bool counted = false;

        world_each_child(world, KIND_QUOTA, tenant, ref)
            counted |=
                world_quota(world, ref)->dimension == DIMENSION_CARDS;
        if (!counted && tenant.index < 64 && now > used[tenant.index])
            assert_true(now <= platform->free_limit_milli);
    }
}

static inline void
scene_apply(struct scene *scene, struct changes *changes)
{
    struct ref refs[256];
    int64_t used[256], tenants[64] = { 0 };
    size_t count = 0;

    world_each(scene->world, KIND_TENANT, ref)
        if (ref.index < 64)
            tenants[ref.index] = world_tenant(scene->world, ref)->used_milli;
    world_each(scene->world, KIND_QUOTA, ref) {
        assert_true(count < 256);
        refs[count] = ref;
        used[count++] = world_quota(scene->world, ref)->used;
    }
    scene_check_new(changes);
    scene_check_metering(changes);
    world_apply(scene->world, changes);
    arena_free(scene->arena);
    scene->arena = NULL;
    scene_check_free(scene->world, tenants);
    world_each(scene->world, KIND_QUOTA, ref)
        scene_check_limit(scene->world, world_quota(scene->world, ref),
                          scene_before(refs, used, count, ref),
                          scene->now_ms);
    scene->applied++;
    if (scene_is_due(scene))
        scene_check(scene->world);
}

/* --- building --- */

static inline struct ref
scene_put(struct scene *scene, enum kind kind, struct ref parent,
          const char *name)
{
    struct changes *changes = scene_begin(scene);
    struct object *object = change_create(changes, kind, parent, name);
    struct ref ref = object->self;

    scene_apply(scene, changes);
    return ref;
}

/* Opens a set and gives the image of an object in it. */
#define scene_edit(scene, changes, type, ref)                                 \
    struct changes *changes = scene_begin(scene);                             \
    struct type *type = change_update(changes, ref)

static inline void
scene_setup(struct scene *scene)
{
    const struct hash_key key = { 7, 8 };
    struct changes *changes;
    struct platform *platform;

    memset(scene, 0, sizeof(*scene));
    scene->world = world_new(&key);
    scene->scheduler = scheduler_new();
    scene->ids = (struct id_source){ { 1, 2 }, 0 };
    scene->now_ms = SCENE_NOW;
    changes = scene_begin(scene);
    platform = change_create(changes, KIND_PLATFORM, (struct ref){ 0 },
                             "platform");
    scene->platform = platform->object.self;
    platform->grace_batch_ms = 120000;
    platform->grace_service_ms = 30000;
    platform->grace_max_ms = 600000;
    platform->hold_ms = 300000;
    platform->lease_ms = 30000;
    platform->tenant_limit_permille = 1000;
    platform->burst_factor_permille = 2000;
    platform->free_limit_milli = 1000;
    platform->restart_max = 10;
    world_apply(scene->world, changes);
    arena_free(scene->arena);
    scene->arena = NULL;
}

static inline void
scene_teardown(struct scene *scene)
{
    scheduler_free(scene->scheduler);
    world_free(scene->world);
}

static inline struct ref
scene_pool(struct scene *scene, const char *name)
{
    return scene_put(scene, KIND_POOL, scene->platform, name);
}

static inline struct ref
scene_card(struct scene *scene, struct ref node, int number,
           const char *model, int64_t memory_mib)
{
    struct changes *changes = scene_begin(scene);
    char name[NAME_MAX_SIZE];
    struct card *card;
    struct ref ref;

    (void)snprintf(name, sizeof(name), "card%d", number);
    card = change_create(changes, KIND_CARD, node, name);
    (void)snprintf(card->uuid, sizeof(card->uuid), "GPU-%u-%d", node.index,
                   number);
    (void)snprintf(card->vendor, sizeof(card->vendor), "nvidia");
    (void)snprintf(card->model, sizeof(card->model), "%s", model);
    card->memory_mib = memory_mib;
    card->health = HEALTH_HEALTHY;
    card->cut_ms = scene->now_ms;
    ref = card->object.self;
    scene_apply(scene, changes);
    return ref;
}

static inline struct ref
scene_node(struct scene *scene, struct ref pool, const char *name, int cards,
           const char *model)
{
    struct ref ref = scene_put(scene, KIND_NODE, pool, name);
    scene_edit(scene, changes, node, ref);

    node->cpu_milli = 128000;
    node->memory_mib = 1048576;
    scene_apply(scene, changes);
    world_touch_node(scene->world, ref, scene->now_ms);
    for (int i = 0; i < cards; i++)
        (void)scene_card(scene, ref, i, model, SCENE_CARD_MIB);
    return ref;
}

/* The n-th card of a node. */
static inline struct ref
scene_card_of(const struct scene *scene, struct ref node, int n)
{
    world_each_child(scene->world, KIND_CARD, node, ref)
        if (n-- == 0)
            return ref;
    fail();
    return (struct ref){ 0 };
}

static inline struct ref
scene_class(struct scene *scene, const char *name, const char *model,
            int64_t count)
{
    struct ref ref = scene_put(scene, KIND_CLASS, scene->platform, name);
    scene_edit(scene, changes, class, ref);

    (void)snprintf(class->model, sizeof(class->model), "%s", model);
    class->form = FORM_WHOLE;
    class->count = count;
    scene_apply(scene, changes);
    return ref;
}

static inline struct ref
scene_share(struct scene *scene, const char *name, int64_t milli,
            int64_t memory_mib)
{
    struct ref ref = scene_put(scene, KIND_CLASS, scene->platform, name);
    scene_edit(scene, changes, class, ref);

    class->form = FORM_SOFT;
    class->milli = milli;
    class->memory_mib = memory_mib;
    class->count = 1;
    scene_apply(scene, changes);
    return ref;
}

/* A class of hard slices, charged as the model's table says. */
static inline struct ref
scene_slice(struct scene *scene, const char *name, const char *profile,
            int64_t milli)
{
    struct ref ref = scene_put(scene, KIND_CLASS, scene->platform, name);
    scene_edit(scene, changes, class, ref);

    class->form = FORM_HARD;
    (void)snprintf(class->profile, sizeof(class->profile), "%s", profile);
    class->milli = milli;
    class->memory_mib = 1000;
    class->count = 1;
    scene_apply(scene, changes);
    return ref;
}

static inline struct ref
scene_priority(struct scene *scene, const char *name, int64_t value)
{
    struct ref ref = scene_put(scene, KIND_PRIORITY, scene->platform, name);
    scene_edit(scene, changes, priority, ref);

    priority->value = value;
    scene_apply(scene, changes);
    return ref;
}

static inline struct ref
scene_tenant(struct scene *scene, const char *name)
{
    return scene_put(scene, KIND_TENANT, scene->platform, name);
}

static inline struct ref
scene_project(struct scene *scene, struct ref parent, const char *name)
{
    return scene_put(scene, KIND_PROJECT, parent, name);
}

static inline struct ref
scene_quota(struct scene *scene, struct ref node, enum dimension dimension,
            int64_t guaranteed, int64_t limit)
{
    struct changes *changes = scene_begin(scene);
    struct quota *quota = change_create(changes, KIND_QUOTA, node, "");
    struct ref ref = quota->object.self;

    quota->dimension = (int)dimension;
    quota->guaranteed = guaranteed;
    quota->limit = limit;
    scene_apply(scene, changes);
    return ref;
}

static inline void
scene_change_quota(struct scene *scene, struct ref ref, int64_t guaranteed,
                   int64_t limit)
{
    scene_edit(scene, changes, quota, ref);

    quota->guaranteed = guaranteed;
    quota->limit = limit;
    scene_apply(scene, changes);
}

/* --- work --- */

struct job {
    struct ref project, class, priority, pool;
    struct ref user; /* none: nobody's */
    const char *name;
    int64_t instances; /* 0: 1 */
    int64_t instances_max; /* elastic */
    int kind;
    bool fixed; /* not preemptible */
    int64_t max_run_ms, restarts, cpu_milli, memory_mib;
    int recovery;
    const char *spec;
    const char *image; /* NULL: none is named, any node would do */
    const struct ref *classes; /* alternatives, best first, in place of class */
    size_t class_count;
};

/* The list of alternatives as submission would store it. */
static inline void
scene_alternatives(struct changes *changes, const struct job *job,
                   struct workload *workload)
{
    char text[1024] = "[";
    size_t size = 1;

    for (size_t i = 0; i < job->class_count; i++) {
        char id[ID_TEXT_MAX];

        object_id_text(changes->world, job->classes[i], id);
        size += (size_t)snprintf(text + size, sizeof(text) - size, "%s\"%s\"",
                                 i > 0 ? "," : "", id);
    }
    (void)snprintf(text + size, sizeof(text) - size, "]");
    change_doc(changes, &workload->classes, text);
    workload->class = job->classes[0];
}

/* The image of a job as submission would make it; not checked. */
static inline struct workload *
scene_image(struct changes *changes, const struct job *job)
{
    struct workload *workload = change_create(
        changes, KIND_WORKLOAD, job->project, job->name ? job->name : "");

    workload->class = job->class;
    workload->priority = job->priority;
    workload->pool = job->pool;
    workload->user = job->user;
    workload->kind = job->kind;
    workload->instances = job->instances > 0 ? job->instances : 1;
    workload->instances_max = job->instances_max;
    workload->preemptible = !job->fixed;
    workload->max_run_ms = job->max_run_ms;
    workload->restarts = job->restarts;
    workload->recovery = job->recovery;
    workload->cpu_milli = job->cpu_milli > 0 ? job->cpu_milli : 1000;
    workload->memory_mib = job->memory_mib > 0 ? job->memory_mib : 1024;
    if (job->image != NULL)
        (void)snprintf(workload->image, sizeof(workload->image), "%s",
                       job->image);
    if (job->spec != NULL)
        change_doc(changes, &workload->spec, job->spec);
    if (job->class_count > 0)
        scene_alternatives(changes, job, workload);
    return workload;
}

/* What the gate says to a job; the job leaves no object. */
static inline struct verdict
scene_try(struct scene *scene, struct job job)
{
    struct changes *changes = scene_begin(scene);
    struct workload *workload = scene_image(changes, &job);
    struct verdict verdict = { .state = WORKLOAD_QUEUED };
    struct gate gate;

    gate_init(&gate, scene->world, NULL, scene->now_ms, scene->arena);
    (void)gate_check(&gate, workload, &verdict);
    arena_free(scene->arena);
    scene->arena = NULL;
    return verdict;
}

static inline struct ref
scene_submit(struct scene *scene, struct job job)
{
    struct changes *changes = scene_begin(scene);
    struct workload *workload = scene_image(changes, &job);
    struct ref ref = workload->object.self;
    struct verdict verdict;

    verdict_set(&verdict, WORKLOAD_QUEUED, REASON_NOT_EVALUATED,
                "submitted; not yet evaluated");
    reason_put(workload, &verdict, scene->now_ms);
    workload->state_ms = scene->now_ms;
    workload->submitted_ms = scene->now_ms;
    scene_apply(scene, changes);
    return ref;
}

/* Steps the scheduler until it has nothing to decide. */
static inline void
scene_run(struct scene *scene)
{
    scene->steps = scene->assigned = scene->nominated = 0;
    scene->victims = scene->expired = scene->stopped = scene->grown = 0;
    scene->slices = 0;
    schedule_set_slice(scene->scheduler, scene->slice);
    if (!scene->keep_stale_nodes)
        world_each(scene->world, KIND_NODE, ref)
            world_touch_node(scene->world, ref, scene->now_ms);
    for (;;) {
        struct changes *changes = scene_begin(scene);
        struct schedule_decision last;

        scene->slices++;
        if (!schedule_step(scene->scheduler, changes)) {
            arena_free(scene->arena);
            scene->arena = NULL;
            if (scene->slices == scene->slices_max)
                return;
            if (schedule_has_more(scene->scheduler))
                continue;
            assert_true(schedule_is_settled(scene->scheduler));
            if (scene_is_due(scene))
                scene_check_scheduler(scene);
            return;
        }
        last = schedule_last(scene->scheduler);
        scene->assigned += last.what == SCHEDULE_ASSIGN;
        scene->nominated += last.what == SCHEDULE_NOMINATE;
        scene->expired += last.what == SCHEDULE_EXPIRE;
        scene->stopped += last.what == SCHEDULE_STOP;
        scene->grown += last.what == SCHEDULE_GROW;
        scene->victims += (int)last.victims;
        if (scene->on_decision != NULL)
            scene->on_decision(scene, changes);
        scene_apply(scene, changes);
        assert_true(++scene->steps < 10000); /* passes end */
    }
}

static inline const struct workload *
scene_workload(const struct scene *scene, struct ref ref)
{
    return world_workload(scene->world, ref);
}

static inline int
scene_state(const struct scene *scene, struct ref ref)
{
    return world_workload(scene->world, ref)->state;
}

/* Calls an event for each instance of the present attempt. */
#define scene_each_instance(scene, changes, workload, ref, statement)         \
    do {                                                                      \
        struct changes *changes = scene_begin(scene);                         \
        int64_t attempt_ = scene_workload(scene, workload)->attempt;          \
        world_each_child((scene)->world, KIND_INSTANCE, workload, ref)        \
            if (world_instance((scene)->world, ref)->attempt == attempt_)     \
                statement;                                                    \
        scene_apply(scene, changes);                                          \
    } while (0)

static inline void
scene_start(struct scene *scene, struct ref workload)
{
    scene_each_instance(scene, changes, workload, ref,
                        lifecycle_started(changes, ref));
}

static inline void
scene_exit(struct scene *scene, struct ref workload, int64_t code)
{
    scene_each_instance(scene, changes, workload, ref,
                        lifecycle_exited(changes, ref, code, false));
}

static inline void
scene_release(struct scene *scene, struct ref workload)
{
    scene_each_instance(scene, changes, workload, ref,
                        lifecycle_released(changes, ref));
}

/* Every card and slice that waits for its handover passes it. */
static inline void
scene_scrub(struct scene *scene)
{
    struct changes *changes = scene_begin(scene);

    world_each(scene->world, KIND_CARD, ref) {
        const struct card *card = world_card(scene->world, ref);

        if (card->handover == HANDOVER_PENDING && card->used_milli == 0)
            ((struct card *)change_update(changes, ref))->handover =
                HANDOVER_CLEAN;
        if (card->dirty[0] != '\0')
            ((struct card *)change_update(changes, ref))->dirty[0] = '\0';
    }
    scene_apply(scene, changes);
}

/* The process ends and its release is confirmed and scrubbed. */
static inline void
scene_finish(struct scene *scene, struct ref workload, int64_t code)
{
    scene_start(scene, workload);
    scene_exit(scene, workload, code);
    scene_release(scene, workload);
    scene_scrub(scene);
}

/* Submits, schedules and starts; the work must run. */
static inline struct ref
scene_running(struct scene *scene, struct job job)
{
    struct ref ref = scene_submit(scene, job);

    scene_run(scene);
    scene_start(scene, ref);
    assert_int_equal(scene_state(scene, ref), WORKLOAD_RUNNING);
    return ref;
}

static inline void
scene_wait(struct scene *scene, int64_t ms)
{
    scene->now_ms += ms;
}

static inline struct ref
scene_instance(const struct scene *scene, struct ref workload)
{
    struct ref last = { 0 };

    world_each_child(scene->world, KIND_INSTANCE, workload, ref)
        last = ref;
    return last;
}

#endif
