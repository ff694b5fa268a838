/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/core/scene.h"

#include "core/reclaim_order.h"
#include "core/usage.h"

/* Victims come in the order of the design, whatever happened before: each one
 * is compared with the best of all that runs, looked up one by one. */

#define TENANTS 4
#define PROJECTS 7
#define NODES 6
#define NODE_CARDS 8
#define ROUNDS 40
#define SETS 6 /* sizes that are counted */

struct yard {
    struct scene scene;
    uint64_t random;
    struct ref pools[2], nodes[NODES], classes[3], priorities[3];
    struct ref tenants[TENANTS], projects[PROJECTS], quotas[16];
    struct ref reservation;
    int quota_count, number;
    struct arena *arena;
    struct estate *estate;
    uint64_t position;
    int64_t named, surplus, others, rules[4], sets[SETS];
};

static int
below(struct yard *yard, int bound)
{
    yard->random ^= yard->random >> 12;
    yard->random ^= yard->random << 25;
    yard->random ^= yard->random >> 27;
    return (int)((yard->random * UINT64_C(0x2545f4914f6cdd1d)) >> 33) % bound;
}

static void
add_quota(struct yard *yard, struct ref node, enum dimension dimension,
          int64_t guaranteed)
{
    yard->quotas[yard->quota_count++] = scene_quota(
        &yard->scene, node, dimension, guaranteed, INT64_C(1000000000));
}

static void
build_tenants(struct yard *yard)
{
    struct scene *scene = &yard->scene;
    struct ref unit;

    for (int i = 0; i < TENANTS; i++) {
        char name[16];

        (void)snprintf(name, sizeof(name), "t%d", i);
        yard->tenants[i] = scene_tenant(scene, name);
        add_quota(yard, yard->tenants[i], DIMENSION_CARDS, CARDS(3 + i));
        (void)snprintf(name, sizeof(name), "p%d", i);
        yard->projects[i] = scene_project(scene, yard->tenants[i], name);
    }
    unit = scene_put(scene, KIND_UNIT, yard->tenants[0], "u");
    yard->projects[4] = scene_project(scene, unit, "p4");
    yard->projects[5] = scene_project(scene, unit, "p5");
    yard->projects[6] = scene_project(scene, yard->tenants[1], "p6");
    add_quota(yard, unit, DIMENSION_CARDS, CARDS(2));
    add_quota(yard, yard->projects[5], DIMENSION_CARDS, CARDS(1));
    add_quota(yard, yard->projects[6], DIMENSION_CARDS, CARDS(2));
    add_quota(yard, yard->tenants[2], DIMENSION_MEMORY, 4096);
    yard->reservation =
        scene_put(scene, KIND_RESERVATION, yard->tenants[3], "r");
    {
        scene_edit(scene, changes, reservation, yard->reservation);
        reservation->pool = yard->pools[0];
        reservation->class = yard->classes[0];
        reservation->cards = 4;
        reservation->state = RESERVATION_SCHEDULED;
        scene_apply(scene, changes);
    }
}

/* Its window opens, or it closes: its tenant's guarantee is another. */
static void
turn_reservation(struct yard *yard)
{
    scene_edit(&yard->scene, changes, reservation, yard->reservation);

    reservation->state = reservation->state == RESERVATION_OPEN
                             ? RESERVATION_SCHEDULED
                             : RESERVATION_OPEN;
    scene_apply(&yard->scene, changes);
}

static void
build(struct yard *yard, uint64_t seed)
{
    struct scene *scene = &yard->scene;

    memset(yard, 0, sizeof(*yard));
    yard->random = seed * 2 + 1;
    scene_setup(scene);
    for (int i = 0; i < 2; i++)
        yard->pools[i] = scene_pool(scene, i == 0 ? "a" : "b");
    for (int i = 0; i < NODES; i++) {
        char name[16];

        (void)snprintf(name, sizeof(name), "n%d", i);
        yard->nodes[i] = scene_node(scene, yard->pools[i == NODES - 1], name,
                                    NODE_CARDS, "h100");
    }
    yard->classes[0] = scene_class(scene, "x1", "h100", 1);
    yard->classes[1] = scene_class(scene, "x2", "h100", 2);
    yard->classes[2] = scene_class(scene, "x4", "h100", 4);
    yard->priorities[0] = scene_priority(scene, "low", 1);
    yard->priorities[1] = scene_priority(scene, "middle", 5);
    yard->priorities[2] = scene_priority(scene, "high", 9);
    build_tenants(yard);
    {
        scene_edit(scene, changes, platform, scene->platform);
        platform->min_run_ms = 30000;
        scene_apply(scene, changes);
    }
    {
        scene_edit(scene, changes, priority, yard->priorities[2]);
        priority->preempt_across = true;
        scene_apply(scene, changes);
    }
    yard->arena = arena_new();
    yard->estate = estate_new(yard->arena, scene->world, scene->now_ms);
    yard->position = trail_end(scene->world);
}

static void
follow(struct yard *yard)
{
    const struct world *world = yard->scene.world;
    const char *where = NULL;

    world_each(world, KIND_NODE, ref)
        world_touch_node(yard->scene.world, ref, yard->scene.now_ms);
    while (yard->position < trail_end(world))
        estate_note(yard->estate, trail_at(world, yard->position++));
    (void)estate_settle(yard->estate, yard->scene.now_ms);
    if (!estate_is_true(yard->estate, &where))
        fail_msg("the estate has another picture: %s", where);
}

/* --- what happens --- */

static void
add_instance(struct yard *yard, struct changes *changes,
             const struct workload *workload, int number,
             const struct ref *cards, int count)
{
    const struct world *world = yard->scene.world;
    struct ref node = world_parent(world, cards[0]);
    struct instance *instance;
    char name[16];

    (void)snprintf(name, sizeof(name), "1-%d", number);
    instance = change_create(changes, KIND_INSTANCE, workload->object.self,
                             name);
    instance->node = node;
    instance->number = number;
    instance->state = INSTANCE_RUNNING;
    instance->attempt = instance->incarnation = 1;
    instance->uid_base = INT64_C(1000013824) + yard->number * 65536;
    instance->address = 2 + yard->number++;
    instance->project = workload->object.parent;
    instance->pool = world_parent(world, node);
    instance->class = workload->class;
    instance->cpu_milli = workload->cpu_milli;
    instance->memory_mib = workload->memory_mib;
    for (int i = 0; i < count; i++) {
        struct binding *binding;

        usage_cut(changes, cards[i]);
        binding = change_create(changes, KIND_BINDING, instance->object.self,
                                "");
        binding->card = cards[i];
        binding->milli = 1000;
        binding->memory_mib = SCENE_CARD_MIB;
        binding->from_ms = binding->cut_ms = changes->context.now_ms;
        binding->workload = workload->object.self;
        binding->project = workload->object.parent;
        binding->pool = instance->pool;
        binding->class = workload->class;
    }
}

/* Work that runs on the next free cards of a node, when there are enough: one
 * instance, or an elastic gang with surplus. */
static void
run_some(struct yard *yard)
{
    struct scene *scene = &yard->scene;
    struct ref node = yard->nodes[below(yard, NODES)];
    int kind = below(yard, 5) / 2, count = 1 << kind, found = 0;
    int members = kind == 0 && below(yard, 4) == 0 ? 1 + below(yard, 3) : 1;
    struct ref cards[NODE_CARDS];
    struct changes *changes;
    struct workload *workload;
    struct job job = { .project = yard->projects[below(yard, PROJECTS)],
                       .class = yard->classes[kind],
                       .priority = yard->priorities[below(yard, 3)],
                       .kind = below(yard, 3),
                       .fixed = below(yard, 10) == 0,
                       .memory_mib = 1024 * (1 + below(yard, 2)) };

    world_each_child(scene->world, KIND_CARD, node, ref)
        if (world_card(scene->world, ref)->used_milli == 0)
            cards[found++] = ref;
    if (found < count * members)
        return;
    changes = scene_begin(scene);
    workload = scene_image(changes, &job);
    workload->state = WORKLOAD_RUNNING;
    workload->attempt = 1;
    workload->instances_max = members > 1 ? members : 0;
    workload->instances_now = members;
    workload->preemptions = below(yard, 3) == 0;
    workload->started_ms =
        below(yard, 5) == 0 ? 0 : scene->now_ms - 10000 * below(yard, 3);
    for (int i = 0; i < members; i++)
        add_instance(yard, changes, workload, i, &cards[i * count], count);
    scene_apply(scene, changes);
}

/* Any workload that is live; none when there is none. */
static struct ref
any_live(struct yard *yard)
{
    size_t count = world_count(yard->scene.world, KIND_WORKLOAD);
    int skip = count > 0 ? below(yard, (int)count) : 0;

    world_each(yard->scene.world, KIND_WORKLOAD, ref)
        if (skip-- <= 0 && scene_state(&yard->scene, ref) == WORKLOAD_RUNNING)
            return ref;
    return (struct ref){ 0 };
}

static void
change_one(struct yard *yard, struct ref ref)
{
    struct scene *scene = &yard->scene;
    struct changes *changes = scene_begin(scene);
    struct workload *workload = change_update(changes, ref);

    switch (below(yard, 7)) {
    case 0:
        lifecycle_checkpoint(changes, scene_instance(scene, ref), 1,
                             scene->now_ms - 1000 * below(yard, 20));
        break;
    case 1:
        workload->started_ms = scene->now_ms - 1000 * below(yard, 60);
        break;
    case 2:
        workload->priority = yard->priorities[below(yard, 3)];
        break;
    case 3:
        workload->preemptible = !workload->preemptible;
        break;
    case 4:
        workload->kind = below(yard, 3);
        break;
    case 5:
        workload->preemptions = 1 - workload->preemptions;
        break;
    default:
        lifecycle_stop(changes, ref, WORKLOAD_CANCELLING, "cancelled", NULL);
        break;
    }
    scene_apply(scene, changes);
}

static void
end_some(struct yard *yard)
{
    struct scene *scene = &yard->scene;

    world_each(scene->world, KIND_WORKLOAD, ref)
        if (scene_state(scene, ref) == WORKLOAD_CANCELLING &&
            below(yard, 2) == 0) {
            scene_exit(scene, ref, 0);
            scene_release(scene, ref);
        }
    scene_scrub(scene);
}

static void
something(struct yard *yard)
{
    struct scene *scene = &yard->scene;
    int dice = below(yard, 13);
    struct ref live = any_live(yard);

    if (dice < 7) {
        run_some(yard);
    } else if (dice < 9 && !ref_is_none(live)) {
        change_one(yard, live);
    } else if (dice == 9) {
        end_some(yard);
    } else if (dice == 10) {
        struct ref ref = yard->quotas[below(yard, TENANTS + 3)];

        scene_change_quota(scene, ref, CARDS(below(yard, 8)),
                           INT64_C(1000000000));
    } else if (dice == 11) {
        turn_reservation(yard);
    } else {
        scene_edit(scene, changes, priority,
                   yard->priorities[below(yard, 3)]);
        priority->value = 1 + below(yard, 9);
        scene_apply(scene, changes);
    }
    if (below(yard, 8) == 0)
        scene_wait(scene, 1000 * below(yard, 20));
}

/* --- the order, by looking at all --- */

struct candidate {
    uint32_t run;
    enum reclaim_rule rule;
    int64_t kind, over, priority, lost;
    uint64_t seq;
};

static int64_t
lost_work(const struct yard *yard, const struct workload *workload,
          int64_t milli)
{
    int64_t since = workload->started_ms;

    if (workload->checkpoint_ms > since)
        since = workload->checkpoint_ms;
    return since == 0 || since >= yard->scene.now_ms
               ? 0
               : (yard->scene.now_ms - since) * milli;
}

static bool
find_rule(const struct yard *yard, const struct workload *waiting,
          const struct demand *demand, const struct workload *running,
          bool surplus, struct ref ancestor, enum reclaim_rule *rule)
{
    const struct world *world = yard->scene.world;
    const struct priority *own = world_priority(world, waiting->priority);
    const struct priority *theirs = world_priority(world, running->priority);
    struct claim claim;

    *rule = RECLAIM_GUARANTEE;
    if (!ref_equal(ancestor, waiting->object.parent) &&
        quota_may_reclaim(world, demand, &yard->estate->promised, ancestor,
                          &claim))
        return true;
    if (theirs->value >= own->value ||
        (running->preemptions > 0 && !surplus &&
         yard->scene.now_ms < running->started_ms + 30000 &&
         running->started_ms > 0))
        return false;
    *rule = ancestor.kind == KIND_PLATFORM ? RECLAIM_ACROSS
                                           : RECLAIM_PRIORITY;
    return *rule == RECLAIM_PRIORITY || own->preempt_across;
}

static bool
is_better(const struct candidate *a, const struct candidate *b)
{
    if (a->kind != b->kind)
        return a->kind < b->kind;
    if (a->over != b->over)
        return a->over > b->over;
    if (a->priority != b->priority)
        return a->priority < b->priority;
    if (a->lost != b->lost)
        return a->lost < b->lost;
    return a->seq > b->seq;
}

/* Has the gang surplus that could go and is not named?  Then it cannot. */
static bool
waits_for_surplus(const struct yard *yard, const struct run *gang,
                  const bool *named)
{
    const struct world *world = yard->scene.world;

    for (uint32_t i = 0; !gang->surplus && i < yard->estate->run_count; i++) {
        const struct run *run = &yard->estate->runs[i];

        if (run->surplus && ref_equal(run->workload, gang->workload) &&
            !named[i] &&
            lifecycle_can_shrink(world_workload(world, run->workload),
                                 world_instance(world, run->instance)))
            return true;
    }
    return false;
}

/* Fills the candidate; false when it must not be named. */
static bool
look_at(const struct yard *yard, const struct workload *waiting,
        const struct demand *demand, uint32_t number,
        struct candidate *candidate)
{
    const struct world *world = yard->scene.world;
    const struct estate *estate = yard->estate;
    const struct run *run = &estate->runs[number];
    const struct workload *running = world_workload(world, run->workload);
    static const int64_t kinds[] = { [WORKLOAD_BATCH] = 0,
                                     [WORKLOAD_INTERACTIVE] = 1,
                                     [WORKLOAD_SERVICE] = 2 };
    struct ref ancestor;

    if (running == NULL || running->state != WORKLOAD_RUNNING ||
        (!run->surplus && !running->preemptible))
        return false;
    if (!ref_equal(running->object.scope, waiting->object.scope) &&
        !ref_equal(run->demand.pool, demand->pool))
        return false;
    ancestor = quota_ancestor(world, waiting->object.parent,
                              running->object.parent);
    *candidate = (struct candidate){ .run = number };
    if (!find_rule(yard, waiting, demand, running, run->surplus, ancestor,
                   &candidate->rule) ||
        !quota_release_allowed(world, &run->demand, ancestor,
                               &estate->leaving))
        return false;
    candidate->kind = run->surplus ? -1 : kinds[running->kind];
    candidate->over =
        quota_over(world, &run->demand, ancestor, &estate->leaving, NULL);
    candidate->priority = world_priority(world, running->priority)->value;
    candidate->lost =
        lost_work(yard, running, run->demand.of[DIMENSION_CARDS]);
    candidate->seq =
        world_object(world, run->surplus ? run->instance : run->workload)
            ->seq;
    return true;
}

/* False when there is none. */
static bool
best_of_all(const struct yard *yard, const struct workload *waiting,
            const struct demand *demand, const bool *named,
            struct candidate *best)
{
    bool found = false;

    for (uint32_t i = 0; i < yard->estate->run_count; i++) {
        struct candidate candidate;

        if (named[i] || ref_is_none(yard->estate->runs[i].workload) ||
            !look_at(yard, waiting, demand, i, &candidate) ||
            waits_for_surplus(yard, &yard->estate->runs[i], named))
            continue;
        if (!found || is_better(&candidate, best))
            *best = candidate;
        found = true;
    }
    return found;
}

/* Names all that may be named, counting each as leaving. */
static void
compare(struct yard *yard, struct ref ref)
{
    const struct world *world = yard->scene.world;
    const struct workload *waiting = world_workload(world, ref);
    struct estate *estate = yard->estate;
    struct reclaim_victim victims[NODES * NODE_CARDS];
    bool named[1024] = { false };
    scoped_arena arena = arena_new();
    struct reclaim_order order;
    struct candidate best = { 0 };
    struct demand demand;
    size_t count = 0;

    assert_true(estate->run_count <= 1024);
    quota_demand(world, waiting, yard->pools[0], SCENE_CARD_MIB, &demand);
    demand.now_ms = yard->scene.now_ms;
    reclaim_order_init(&order, estate, waiting, &demand, demand.pool, arena);
    reclaim_order_begin(&order);
    while (best_of_all(yard, waiting, &demand, named, &best)) {
        struct reclaim_victim *victim = &victims[count++];

        assert_true(reclaim_order_next(&order, victim));
        assert_int_equal(victim->run, best.run);
        assert_int_equal(victim->rule, best.rule);
        assert_int_equal(victim->lost_work, best.lost);
        named[best.run] = true;
        yard->named++;
        yard->surplus += estate->runs[best.run].surplus;
        yard->rules[best.rule]++;
        quota_charge(world, &estate->runs[best.run].demand, &estate->leaving,
                     -1);
    }
    assert_false(reclaim_order_next(&order, &victims[count]));
    while (count > 0)
        quota_charge(world, &estate->runs[victims[--count].run].demand,
                     &estate->leaving, 1);
}

/* --- the set, by trying one after the other --- */

static void
count_victim(struct yard *yard, uint32_t run, int sign)
{
    struct estate *estate = yard->estate;
    const struct demand *demand = &estate->runs[run].demand;

    estate_gain(estate, &estate->runs[run], sign);
    quota_charge(yard->scene.world, demand, &estate->leaving, -sign);
    quota_charge(yard->scene.world, demand, &estate->balance, -sign);
}

static bool
fits(const struct yard *yard, const struct demand *demand,
     const struct place_request *request)
{
    scoped_arena arena = arena_new();
    struct placement placement;
    struct verdict verdict;

    return quota_fits(yard->scene.world, demand, &yard->estate->balance,
                      yard->scene.now_ms, &verdict) &&
           place_find(yard->estate, request, PLACE_FUTURE, arena, &placement,
                      NULL);
}

/* With its gang, which is kept among the victims. */
static bool
goes_anyhow(const struct yard *yard, const uint32_t *victims, size_t count,
            uint32_t victim)
{
    const struct run *runs = yard->estate->runs;

    for (size_t i = 0; runs[victim].surplus && i < count; i++)
        if (victims[i] != ESTATE_NONE && !runs[victims[i]].surplus &&
            ref_equal(runs[victims[i]].workload, runs[victim].workload))
            return true;
    return false;
}

/* All that are needed, and none that could be left out; 0: none will do. */
static size_t
choose(struct yard *yard, const struct workload *waiting,
       const struct demand *demand, const struct place_request *request,
       uint32_t *victims)
{
    bool named[1024] = { false };
    struct candidate best = { 0 };
    size_t count = 0, kept = 0;
    bool enough = false;

    while (!enough &&
           best_of_all(yard, waiting, demand, named, &best)) {
        named[best.run] = true;
        victims[count++] = best.run;
        count_victim(yard, best.run, 1);
        enough = fits(yard, demand, request);
    }
    for (size_t i = count; i > 0; i--) {
        if (enough && goes_anyhow(yard, victims, count, victims[i - 1]))
            continue;
        count_victim(yard, victims[i - 1], -1);
        if (enough && fits(yard, demand, request))
            victims[i - 1] = ESTATE_NONE;
        else if (enough)
            count_victim(yard, victims[i - 1], 1);
    }
    for (size_t i = 0; enough && i < count; i++)
        if (victims[i] != ESTATE_NONE) {
            victims[kept++] = victims[i];
            count_victim(yard, victims[i], -1);
        }
    return kept;
}

/* None is found in their order: a set that is found all the same is one that
 * helps, and whose guarantees let all of it go; else nobody helps alone. */
static void
check_other(struct yard *yard, const struct workload *waiting,
            const struct demand *demand, const struct place_request *request,
            const struct reclaim_plan *plan)
{
    bool named[1024] = { false };
    struct candidate candidate;

    for (size_t i = 0; plan != NULL && i < plan->count; i++) {
        uint32_t run = plan->victims[i].run;

        assert_true(look_at(yard, waiting, demand, run, &candidate));
        named[run] = true;
        count_victim(yard, run, 1);
    }
    if (plan != NULL)
        assert_true(fits(yard, demand, request));
    for (size_t i = 0; plan != NULL && i < plan->count; i++) {
        uint32_t run = plan->victims[i].run;

        assert_false(
            waits_for_surplus(yard, &yard->estate->runs[run], named));
        count_victim(yard, run, -1);
    }
    for (uint32_t i = 0; plan == NULL && i < yard->estate->run_count; i++) {
        const struct run *run = &yard->estate->runs[i];

        if (ref_is_none(run->workload) ||
            !look_at(yard, waiting, demand, i, &candidate) ||
            waits_for_surplus(yard, run, named))
            continue;
        count_victim(yard, i, 1);
        assert_false(fits(yard, demand, request));
        count_victim(yard, i, -1);
    }
    yard->others += plan != NULL;
}

static void
compare_sets(struct yard *yard, struct ref ref)
{
    const struct world *world = yard->scene.world;
    const struct workload *waiting = world_workload(world, ref);
    uint32_t victims[NODES * NODE_CARDS];
    const struct booking_bars none = { 0 };
    scoped_arena arena = arena_new();
    struct place_request request;
    struct outlook outlook = { 0 };
    struct verdict verdict;
    struct reclaim_plan plan;
    struct demand demand;
    struct gate gate;
    size_t count;
    bool found;

    gate_init(&gate, world, &yard->estate->promised, yard->scene.now_ms,
              arena);
    if (!gate_check_pool(&gate, waiting, yard->pools[0], &demand, &verdict))
        return;
    gate_request(&gate, waiting, &demand, &request);
    if (fits(yard, &demand, &request))
        return;
    count = choose(yard, waiting, &demand, &request, victims);
    yard->sets[count < SETS ? count : SETS - 1]++;
    found = reclaim_find(yard->estate, waiting, &demand, &request, &none,
                         arena, &plan, &outlook);
    if (count == 0) {
        check_other(yard, waiting, &demand, &request, found ? &plan : NULL);
        return;
    }
    assert_true(found);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(plan.victims[i].run, victims[i]);
    assert_int_equal(plan.count, count);
}

static void
compare_some(struct yard *yard)
{
    struct scene *scene = &yard->scene;
    struct job job = { .project = yard->projects[below(yard, PROJECTS)],
                       .class = yard->classes[below(yard, 3)],
                       .instances = 1 + below(yard, 6),
                       .priority = yard->priorities[below(yard, 3)] };
    struct ref ref = scene_submit(scene, job);

    follow(yard);
    compare(yard, ref);
    compare_sets(yard, ref);
    {
        struct changes *changes = scene_begin(scene);

        change_delete(changes, ref);
        scene_apply(scene, changes);
    }
}

static void
victims_and_their_sets_are_those_of_the_design(void **state)
{
    struct yard *yard = memory_new(1, sizeof(*yard));
    int64_t named = 0, surplus = 0, rules[3] = { 0 }, sets[SETS] = { 0 };
    int64_t others = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        build(yard, seed);
        for (int round = 0; round < ROUNDS; round++) {
            for (int i = 0; i < 6; i++)
                something(yard);
            compare_some(yard);
        }
        named += yard->named;
        surplus += yard->surplus;
        others += yard->others;
        for (int i = 0; i < 3; i++)
            rules[i] += yard->rules[i];
        for (int i = 0; i < SETS; i++)
            sets[i] += yard->sets[i];
        arena_free(yard->arena);
        scene_teardown(&yard->scene);
    }
    assert_true(named > 1000 && surplus > 100 && others > 0);
    for (int i = 0; i < 3; i++)
        assert_true(rules[i] > 50);
    for (int i = 0; i < SETS; i++)
        assert_true(sets[i] > 10);
    free(yard);
}

/* One has not started yet, the other did right now: neither loses anything, so
 * the newer one goes first. */
static void
of_those_that_lose_nothing_the_newest_goes_first(void **state)
{
    struct yard *yard = memory_new(1, sizeof(*yard));
    struct scene *scene = &yard->scene;
    scoped_arena arena = arena_new();
    struct reclaim_victim victim;
    struct reclaim_order order;
    struct ref older, newer, waiting;
    struct demand demand;
    struct job job;

    (void)state;
    build(yard, 1);
    scene_change_quota(scene, yard->quotas[1], 0, CARDS(64));
    job = (struct job){ .project = yard->projects[1],
                        .class = yard->classes[0],
                        .pool = yard->pools[0],
                        .priority = yard->priorities[0] };
    older = scene_submit(scene, job);
    newer = scene_submit(scene, job);
    scene_run(scene);
    scene_start(scene, newer);
    job.project = yard->projects[2];
    waiting = scene_submit(scene, job);
    follow(yard);
    quota_demand(scene->world, scene_workload(scene, waiting), yard->pools[0],
                 SCENE_CARD_MIB, &demand);
    reclaim_order_init(&order, yard->estate, scene_workload(scene, waiting),
                       &demand, demand.pool, arena);
    reclaim_order_begin(&order);
    assert_true(reclaim_order_next(&order, &victim));
    assert_int_equal(victim.run, estate_run(yard->estate, newer));
    assert_true(reclaim_order_next(&order, &victim));
    assert_int_equal(victim.run, estate_run(yard->estate, older));
    arena_free(yard->arena);
    scene_teardown(scene);
    free(yard);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_those_that_lose_nothing_the_newest_goes_first),
        cmocka_unit_test(victims_and_their_sets_are_those_of_the_design),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
