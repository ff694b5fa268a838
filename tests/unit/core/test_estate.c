/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/core/scene.h"

#include "core/ends.h"
#include "core/estate.h"
#include "core/place.h"

/* The picture of nodes, cards and work that follows the world; after each set
 * that a scene applies it is compared with a new one. */

struct yard {
    struct scene scene;
    struct ref pool, first, second, one, project;
    struct arena *arena;
    struct estate *estate;
    uint64_t position;
};

static void
yard_setup(struct yard *yard)
{
    struct ref tenant;

    scene_setup(&yard->scene);
    yard->pool = scene_pool(&yard->scene, "a");
    yard->first = scene_node(&yard->scene, yard->pool, "n1", 2, "h100");
    yard->second = scene_node(&yard->scene, yard->pool, "n2", 2, "h100");
    yard->one = scene_class(&yard->scene, "h100.1", "h100", 1);
    tenant = scene_tenant(&yard->scene, "vision");
    yard->project = scene_project(&yard->scene, tenant, "p1");
    scene_quota(&yard->scene, tenant, DIMENSION_CARDS, 0, CARDS(100));
    yard->arena = arena_new();
    yard->estate =
        estate_new(yard->arena, yard->scene.world, yard->scene.now_ms);
    yard->position = trail_end(yard->scene.world);
}

static void
yard_teardown(struct yard *yard)
{
    arena_free(yard->arena);
    scene_teardown(&yard->scene);
}

static void
yard_follow(struct yard *yard)
{
    const struct world *world = yard->scene.world;

    while (yard->position < trail_end(world))
        estate_note(yard->estate, trail_at(world, yard->position++));
    estate_settle(yard->estate, yard->scene.now_ms);
}

static const struct site *
site_of(const struct yard *yard, struct ref node)
{
    uint32_t number = estate_site(yard->estate, node);

    assert_int_not_equal(number, ESTATE_NONE);
    return &yard->estate->sites[number];
}

static void
remove_all(struct yard *yard, struct ref node)
{
    struct changes *changes = scene_begin(&yard->scene);

    world_each_child(yard->scene.world, KIND_CARD, node, card)
        change_delete(changes, card);
    change_delete(changes, node);
    scene_apply(&yard->scene, changes);
}

/* A node whose slot is used again is another one, behind the others. */
static void
nodes_come_and_go_in_their_order(void **state)
{
    struct yard yard;
    struct ref third;

    (void)state;
    yard_setup(&yard);
    remove_all(&yard, yard.first);
    third = scene_node(&yard.scene, yard.pool, "n3", 3, "h100");
    assert_true(ref_equal(third, yard.first)); /* the slot, not the node */
    yard_follow(&yard);
    assert_int_equal(estate_site(yard.estate, third), 2);
    assert_int_equal(site_of(&yard, third)->count, 3);
    assert_int_equal(estate_site(yard.estate, yard.second), 1);
    assert_true(ref_is_none(yard.estate->sites[0].node));
    assert_int_equal(yard.estate->sites[0].count, 0);
    yard_teardown(&yard);
}

/* Work that runs on a node keeps its uses when the node's cards get other
 * places. */
static void
a_node_that_grows_keeps_its_work(void **state)
{
    struct yard yard;
    struct ref work;
    const struct run *run;
    const struct part *part;

    (void)state;
    yard_setup(&yard);
    work = scene_running(&yard.scene, (struct job){ .project = yard.project,
                                                    .class = yard.one });
    for (int i = 2; i < 9; i++)
        (void)scene_card(&yard.scene, yard.first, i, "h100", SCENE_CARD_MIB);
    yard_follow(&yard);
    assert_int_equal(site_of(&yard, yard.first)->count, 9);
    run = &yard.estate->runs[estate_run(yard.estate, work)];
    assert_int_equal(run->count, 2); /* the node, and one card */
    part = &yard.estate->parts[run->uses[1].part];
    assert_true(ref_equal(part->card,
                          scene_card_of(&yard.scene, yard.first, 0)));
    assert_int_equal(part->used_milli, 1000);
    yard_teardown(&yard);
}

/* An index on top of it learns of exactly the sites that are other now. */
static void
only_sites_that_are_other_are_touched(void **state)
{
    struct yard yard;
    uint64_t before;
    struct estate_pulse pool;

    (void)state;
    yard_setup(&yard);
    before = yard.estate->touched_count;
    assert_int_equal(before, 2); /* at first all */
    (void)scene_project(&yard.scene, world_parent(yard.scene.world,
                                                  yard.project), "p2");
    yard_follow(&yard);
    assert_int_equal(yard.estate->touched_count, before);
    pool = estate_pool(yard.estate, yard.pool);
    (void)scene_running(&yard.scene, (struct job){ .project = yard.project,
                                                   .class = yard.one });
    yard_follow(&yard);
    assert_int_equal(yard.estate->touched_count, before + 1);
    assert_int_equal(yard.estate->touched[before % ESTATE_TOUCHED],
                     estate_site(yard.estate, yard.first));
    assert_int_equal(estate_pool(yard.estate, yard.pool).changed,
                     pool.changed + 1);
    yard_teardown(&yard);
}

/* Time alone: a lease ends, and a node is heard of again. */
static void
leases_end_and_begin_without_a_change(void **state)
{
    struct yard yard;

    (void)state;
    yard_setup(&yard);
    assert_true(site_of(&yard, yard.first)->fresh);
    scene_wait(&yard.scene, 30000);
    yard_follow(&yard);
    assert_true(site_of(&yard, yard.first)->fresh);
    scene_wait(&yard.scene, 1);
    yard_follow(&yard);
    assert_false(site_of(&yard, yard.first)->fresh);
    world_touch_node(yard.scene.world, yard.first, yard.scene.now_ms);
    yard_follow(&yard);
    assert_true(site_of(&yard, yard.first)->fresh);
    assert_false(site_of(&yard, yard.second)->fresh);
    scene_wait(&yard.scene, 30001);
    yard_follow(&yard);
    assert_false(site_of(&yard, yard.first)->fresh);
    yard_teardown(&yard);
}

/* What is being stopped counts as leaving until its time is long over. */
static void
an_instance_that_does_not_go_is_not_counted_on_for_ever(void **state)
{
    struct yard yard;
    struct ref work;
    struct changes *changes;
    int64_t grace_ms = 120000, patience_ms = 300000;
    const struct part *part;

    (void)state;
    yard_setup(&yard);
    work = scene_running(&yard.scene, (struct job){ .project = yard.project,
                                                    .class = yard.one });
    changes = scene_begin(&yard.scene);
    lifecycle_stop(changes, work, WORKLOAD_PREEMPTING, "preempted", NULL);
    scene_apply(&yard.scene, changes);
    yard_follow(&yard);
    part = &yard.estate->parts[site_of(&yard, yard.first)->first];
    assert_int_equal(part->leaving_milli, 1000);
    scene_wait(&yard.scene, grace_ms + patience_ms - 1);
    yard_follow(&yard);
    assert_int_equal(part->leaving_milli, 1000);
    scene_wait(&yard.scene, 1);
    yard_follow(&yard);
    assert_int_equal(part->leaving_milli, 0);
    yard_teardown(&yard);
}

static struct ref
start_for(struct yard *yard, int64_t max_run_ms)
{
    struct ref ref = scene_submit(
        &yard->scene, (struct job){ .project = yard->project,
                                    .class = yard->one,
                                    .max_run_ms = max_run_ms });

    scene_run(&yard->scene);
    scene_start(&yard->scene, ref);
    return ref;
}

static void
assert_next_end(struct yard *yard, size_t count, struct ref workload)
{
    const struct ending *heap;
    size_t there;

    yard_follow(yard);
    assert_true(ends_settle(yard->estate));
    assert_true(ends_is_true(yard->estate));
    heap = ends_heap(yard->estate, &there);
    assert_int_equal(there, count);
    if (count > 0)
        assert_true(ref_equal(
            yard->estate->runs[heap[0].run].workload, workload));
}

/* Two that started at once end by seq, one without a time after all others;
 * what has not started is asked. */
static void
who_ends_next_is_known(void **state)
{
    struct yard yard;
    struct ref open, late, soon, twin;
    size_t others;

    (void)state;
    yard_setup(&yard);
    open = start_for(&yard, 0);
    assert_next_end(&yard, 1, open);
    late = start_for(&yard, 7200000);
    assert_next_end(&yard, 2, late);
    soon = start_for(&yard, 3600000);
    twin = start_for(&yard, 3600000);
    assert_next_end(&yard, 4, soon);
    (void)ends_others(yard.estate, &others);
    assert_int_equal(others, 0);
    scene_exit(&yard.scene, soon, 0);
    scene_release(&yard.scene, soon);
    assert_next_end(&yard, 3, twin);
    scene_scrub(&yard.scene);
    soon = scene_submit(&yard.scene, (struct job){ .project = yard.project,
                                                   .class = yard.one,
                                                   .max_run_ms = 60000 });
    scene_run(&yard.scene);
    assert_next_end(&yard, 3, twin);
    (void)ends_others(yard.estate, &others);
    assert_int_equal(others, 1);
    scene_start(&yard.scene, soon);
    assert_next_end(&yard, 4, soon);
    yard_teardown(&yard);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_come_and_go_in_their_order),
        cmocka_unit_test(a_node_that_grows_keeps_its_work),
        cmocka_unit_test(only_sites_that_are_other_are_touched),
        cmocka_unit_test(leases_end_and_begin_without_a_change),
        cmocka_unit_test(
            an_instance_that_does_not_go_is_not_counted_on_for_ever),
        cmocka_unit_test(who_ends_next_is_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
