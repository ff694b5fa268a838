/* SPDX-License-Identifier: Apache-2.0 */
#include "core/place_index.h"

#include "tests/unit/core/scene.h"

/* The index finds what a scan of all sites finds: place, seats and counts. */

#define TENANTS 4
#define NODES 14
#define CLASSES 6
#define WORKS 64

struct yard {
    struct scene scene;
    struct ref pools[2], nodes[NODES], classes[CLASSES];
    struct ref tenants[TENANTS], projects[TENANTS];
    struct ref low, high;
    struct ref works[WORKS];
    size_t work_count;
    struct estate *estate; /* with the index; follows the world */
    struct arena *arena;
    uint64_t position, random;
    int64_t found, refused, indexed, slices;
    struct budget budget; /* of the estate */
};

static uint64_t
below(struct yard *y, uint64_t bound)
{
    y->random = y->random * UINT64_C(6364136223846793005) +
                UINT64_C(1442695040888963407);
    return (y->random >> 33) % bound;
}

static void
put_tenants(struct yard *y)
{
    for (int i = 0; i < TENANTS; i++) {
        char name[16];

        (void)snprintf(name, sizeof(name), "t%d", i);
        y->tenants[i] = scene_tenant(&y->scene, name);
        y->projects[i] = scene_project(&y->scene, y->tenants[i], "p");
        scene_quota(&y->scene, y->tenants[i], DIMENSION_CARDS,
                    i % 2 == 0 ? CARDS(12) : 0, CARDS(1000));
    }
}

static void
set_apart(struct yard *y, struct ref ref, bool apart)
{
    scene_edit(&y->scene, changes, tenant, ref);

    tenant->isolation = apart ? ISOLATION_NODEPOOL : ISOLATION_NAMESPACE;
    scene_apply(&y->scene, changes);
}

static void
setup(struct yard *y, uint64_t seed)
{
    struct scene *scene = &y->scene;

    *y = (struct yard){ .random = seed };
    scene_setup(scene);
    y->pools[0] = scene_pool(scene, "a");
    y->pools[1] = scene_pool(scene, "b");
    for (int i = 0; i < NODES; i++) {
        char name[16];

        (void)snprintf(name, sizeof(name), "n%d", i);
        y->nodes[i] = scene_node(scene, y->pools[i % 5 == 4], name, 1 + i % 4,
                                 i % 3 == 2 ? "a100" : "h100");
    }
    y->classes[0] = scene_class(scene, "h100.1", "h100", 1);
    y->classes[1] = scene_class(scene, "any.2", "", 2);
    y->classes[2] = scene_class(scene, "any.3", "", 3);
    y->classes[3] = scene_class(scene, "cpu", "", 0);
    y->classes[4] = scene_share(scene, "third", 300, 0);
    y->classes[5] = scene_share(scene, "half", 500, 30000);
    y->low = scene_priority(scene, "low", 1);
    y->high = scene_priority(scene, "high", 9);
    put_tenants(y);
    set_apart(y, y->tenants[3], true);
    y->arena = arena_new();
    y->estate = estate_begin(y->arena, scene->world, scene->now_ms, &y->budget);
    y->budget.left = BUDGET_ALL;
    assert_true(estate_list(y->estate));
    place_index_on(y->estate);
    y->position = trail_end(scene->world);
}

static void
teardown(struct yard *y)
{
    arena_free(y->arena);
    scene_teardown(&y->scene);
}

static void
follow(struct yard *y)
{
    while (y->position < trail_end(y->scene.world))
        estate_note(y->estate, trail_at(y->scene.world, y->position++));
    do
        y->budget = (struct budget){ .left = 1 + (int64_t)below(y, 60) };
    while (!estate_settle(y->estate, y->scene.now_ms));
}

/* --- what happens --- */

static void
submit_one(struct yard *y)
{
    struct ref ref = scene_submit(
        &y->scene,
        (struct job){ .project = y->projects[below(y, TENANTS)],
                      .class = y->classes[below(y, CLASSES)],
                      .priority = below(y, 4) == 0 ? y->high : y->low,
                      .instances = below(y, 3) == 0 ? 2 : 1,
                      .restarts = 3,
                      .cpu_milli = 1000 + 8000 * (int64_t)below(y, 3) });

    if (y->work_count < WORKS)
        y->works[y->work_count++] = ref;
    else
        y->works[below(y, WORKS)] = ref;
}

static void
end_one(struct yard *y, struct ref ref)
{
    switch (scene_state(&y->scene, ref)) {
    case WORKLOAD_STARTING:
        scene_start(&y->scene, ref);
        break;
    case WORKLOAD_RUNNING:
        scene_exit(&y->scene, ref, below(y, 3) == 0);
        scene_release(&y->scene, ref);
        break;
    case WORKLOAD_PREEMPTING:
        scene_exit(&y->scene, ref, 0);
        if (below(y, 2) == 0)
            scene_release(&y->scene, ref);
        break;
    default:
        break;
    }
}

static void
fail_one(struct yard *y, struct ref ref)
{
    struct ref last = scene_instance(&y->scene, ref);

    if (ref_is_none(last))
        return;
    {
        scene_edit(&y->scene, changes, instance, last);
        (void)snprintf(instance->failure, sizeof(instance->failure), "lost");
        ((struct workload *)change_update(changes, ref))->failures = 1;
        scene_apply(&y->scene, changes);
    }
}

static void
change_node(struct yard *y)
{
    struct ref ref = y->nodes[below(y, NODES)];
    bool cards = below(y, 2) == 0;
    int n = 0;

    if (cards) {
        scene_edit(&y->scene, changes, card,
                   scene_card_of(&y->scene, ref, n));
        card->health = below(y, 2) == 0 ? HEALTH_HEALTHY : HEALTH_SUSPECT;
        scene_apply(&y->scene, changes);
    } else {
        scene_edit(&y->scene, changes, node, ref);
        node->state = below(y, 3) == 0 ? NODE_CORDONED : NODE_SCHEDULABLE;
        scene_apply(&y->scene, changes);
    }
}

static void
happen(struct yard *y)
{
    struct ref some =
        y->work_count > 0 ? y->works[below(y, y->work_count)]
                          : (struct ref){ 0 };

    switch (below(y, 8)) {
    case 0:
    case 1:
    case 2:
        submit_one(y);
        break;
    case 3:
    case 4:
        if (!ref_is_none(some))
            end_one(y, some);
        break;
    case 5:
        if (!ref_is_none(some))
            fail_one(y, some);
        break;
    case 6:
        change_node(y);
        break;
    default:
        if (below(y, 3) == 0)
            scene_scrub(&y->scene);
        else
            set_apart(y, y->tenants[3], below(y, 2) == 0);
        break;
    }
    if (below(y, 2) == 0)
        scene_run(&y->scene);
}

/* --- what is compared --- */

static void
assert_same_tally(const struct place_tally *a, const struct place_tally *b)
{
    assert_int_equal(a->nodes, b->nodes);
    assert_int_equal(a->cards, b->cards);
    assert_int_equal(a->free, b->free);
    assert_int_equal(a->largest, b->largest);
    assert_int_equal(a->fit, b->fit);
    for (int i = 0; i < FILTER_COUNT; i++) {
        assert_int_equal(a->out_nodes[i], b->out_nodes[i]);
        assert_int_equal(a->out_cards[i], b->out_cards[i]);
    }
}

static void
assert_same_place(const struct estate *a, const struct placement *x,
                  const struct estate *b, const struct placement *z)
{
    assert_int_equal(x->count, z->count);
    for (size_t i = 0; i < x->count; i++) {
        const struct seat *one = &x->seats[i], *two = &z->seats[i];

        assert_int_equal(a->sites[one->site].node.index,
                         b->sites[two->site].node.index);
        assert_int_equal(one->part_count, two->part_count);
        for (size_t k = 0; k < one->part_count; k++)
            assert_int_equal(a->parts[one->parts[k]].card.index,
                             b->parts[two->parts[k]].card.index);
    }
}

/* Asks until the index is whole. */
static bool
find_in_slices(struct yard *y, const struct place_request *request,
               enum place_when when, struct arena *arena,
               struct placement *placement, struct place_tally *tally)
{
    bool found;

    place_index_keep(y->estate);
    do {
        y->budget = (struct budget){ .left = 1 + (int64_t)below(y, 100) };
        found = place_find(y->estate, request, when, arena, placement, tally);
        y->slices++;
        assert_false(found && y->budget.late);
    } while (y->budget.late);
    return found;
}

static void
ask(struct yard *y, const struct estate *fresh, struct arena *arena)
{
    uint64_t tenant = below(y, TENANTS);
    struct place_request request = {
        .tenant = y->tenants[tenant],
        .pool = y->pools[below(y, 4) == 0],
        .class = world_class(y->scene.world, y->classes[below(y, CLASSES)]),
        .instances = 1 + (int64_t)below(y, 3),
        .cpu_milli = 1000 + 40000 * (int64_t)below(y, 3),
        .memory_mib = 1024,
        .card_memory_max = below(y, 6) == 0 ? 60000 : INT64_MAX,
        .one_node = below(y, 2) == 0,
        .exclusive =
            world_tenant(y->scene.world, y->tenants[tenant])->isolation !=
            ISOLATION_NAMESPACE,
        .workload = y->work_count > 0 ? y->works[below(y, y->work_count)]
                                      : (struct ref){ 0 },
    };
    enum place_when when = below(y, 2) == 0 ? PLACE_NOW : PLACE_FUTURE;
    struct place_tally with, without;
    struct placement here, there;
    uint32_t best;
    bool found;

    if (below(y, 5) == 0) {
        request.bars[0] = (struct quota_bar){ "", "h100" };
        request.bar_count = 1;
    }
    if (below(y, 4) == 0) { /* a piece of the index, and the rest perhaps later */
        y->budget = (struct budget){ .left = 1 };
        (void)place_find(y->estate, &request, when, arena, &here, &with);
    }
    found = find_in_slices(y, &request, when, arena, &here, &with);
    y->budget = (struct budget){ .left = BUDGET_ALL };
    y->indexed += place_index_find(y->estate, &request, when, arena, &best,
                                   &with) == PLACE_INDEX_FOUND;
    assert_int_equal(found, place_find(fresh, &request, when, arena, &there,
                                       &without));
    assert_same_tally(&with, &without);
    if (found)
        assert_same_place(y->estate, &here, fresh, &there);
    y->found += found;
    y->refused += !found;
}

static void
gain(struct estate *estate, struct ref ref, int sign)
{
    uint32_t run = estate_run(estate, ref);

    if (run != ESTATE_NONE)
        estate_gain(estate, &estate->runs[run], sign);
}

/* Asks as the world is, and in trials. */
static void
compare(struct yard *y)
{
    scoped_arena arena = arena_new();
    struct estate *fresh =
        estate_new(arena, y->scene.world, y->scene.now_ms);
    struct ref a = { 0 }, b = { 0 };
    bool trial = y->work_count > 0 && below(y, 2) == 0;

    if (trial) {
        a = y->works[below(y, y->work_count)];
        b = y->works[below(y, y->work_count)];
        estate_own(y->estate, a, true);
        estate_own(fresh, a, true);
        gain(y->estate, b, 1);
        gain(fresh, b, 1);
    }
    for (int i = 0; i < 12; i++)
        ask(y, fresh, arena);
    if (trial) {
        estate_own(y->estate, a, false);
        estate_own(fresh, a, false);
        gain(y->estate, b, -1);
        gain(fresh, b, -1);
    }
    for (int i = 0; i < 4; i++)
        ask(y, fresh, arena);
}

static void
the_index_finds_what_a_scan_finds(void **state)
{
    int64_t found = 0, refused = 0, indexed = 0, slices = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct yard y;

        setup(&y, seed);
        for (int i = 0; i < 150; i++) {
            happen(&y);
            follow(&y);
            compare(&y);
        }
        found += y.found;
        refused += y.refused;
        indexed += y.indexed;
        slices += y.slices;
        teardown(&y);
    }
    assert_true(found > 1000);
    assert_true(refused > 1000);
    assert_int_equal(indexed, found + refused);
    assert_true(slices > found + refused + 1000); /* some took several */
}

/* All of its nodes but one are closed; there it has one of two cards. */
static void
a_tenant_apart_finds_room_beside_its_own_work(void **state)
{
    scoped_arena arena = arena_new();
    struct place_request request;
    struct placement placement;
    struct place_tally tally;
    struct yard y;

    (void)state;
    setup(&y, 1);
    for (int i = 0; i < NODES; i++) {
        scene_edit(&y.scene, changes, node, y.nodes[i]);
        node->state = i == 1 ? NODE_SCHEDULABLE : NODE_CORDONED;
        scene_apply(&y.scene, changes);
    }
    set_apart(&y, y.tenants[3], false);
    (void)scene_running(&y.scene, (struct job){ .project = y.projects[3],
                                                .class = y.classes[0],
                                                .priority = y.low });
    set_apart(&y, y.tenants[3], true);
    follow(&y);
    y.budget.left = BUDGET_ALL;
    request = (struct place_request){
        .tenant = y.tenants[3],
        .pool = y.pools[0],
        .class = world_class(y.scene.world, y.classes[0]),
        .instances = 1,
        .card_memory_max = INT64_MAX,
        .exclusive = true,
    };
    assert_true(place_find(y.estate, &request, PLACE_NOW, arena, &placement,
                           &tally));
    assert_int_equal(tally.fit, 1);
    request.tenant = y.tenants[0];
    request.exclusive = false;
    assert_false(place_find(y.estate, &request, PLACE_NOW, arena, &placement,
                            &tally));
    assert_int_equal(tally.out_nodes[FILTER_NEIGHBOUR], 1);
    teardown(&y);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_index_finds_what_a_scan_finds),
        cmocka_unit_test(a_tenant_apart_finds_room_beside_its_own_work),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
