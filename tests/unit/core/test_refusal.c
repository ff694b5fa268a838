/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "core/alarm.h"
#include "core/refusal.h"

/* A node, and an instance on it of each of two tenants. */
static struct {
    struct arena *arena;
    struct world *world;
    struct id_source ids;
    int64_t now_ms;
    struct ref node, instance[2];
} scene;

static struct changes *
begin(void)
{
    return change_begin(scene.arena, scene.world,
                        (struct context){ ++scene.now_ms, &scene.ids });
}

static struct ref
make(struct changes *changes, enum kind kind, struct ref parent,
     const char *name)
{
    return ((struct object *)change_create(changes, kind, parent, name))->self;
}

static struct ref
make_instance(struct changes *changes, struct ref platform, const char *name)
{
    struct ref tenant = make(changes, KIND_TENANT, platform, name);
    struct ref project = make(changes, KIND_PROJECT, tenant, "work");
    struct ref job = make(changes, KIND_WORKLOAD, project, "job");
    struct instance *instance =
        change_create(changes, KIND_INSTANCE, job, "0");

    ((struct tenant *)change_update(changes, tenant))->number = name[0];
    instance->node = scene.node;
    instance->project = project;
    return instance->object.self;
}

static int
set_up(void **state)
{
    static const struct hash_key key = { 3, 4 };
    struct changes *changes;
    struct ref platform, pool;

    (void)state;
    scene.arena = arena_new();
    scene.world = world_new(&key);
    scene.ids.key = key;
    scene.now_ms = INT64_C(1798761600000);
    changes = begin();
    platform = make(changes, KIND_PLATFORM, (struct ref){ 0 }, "platform");
    pool = make(changes, KIND_POOL, platform, "main");
    scene.node = make(changes, KIND_NODE, pool, "n1");
    scene.instance[0] = make_instance(changes, platform, "research");
    scene.instance[1] = make_instance(changes, platform, "vision");
    world_apply(scene.world, changes);
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    world_free(scene.world);
    arena_free(scene.arena);
    return 0;
}

/* Each in a message of its own. */
static void
fail_starts(int tenant, int times)
{
    for (int i = 0; i < times; i++) {
        struct changes *changes = begin();

        refusal_count(changes, scene.instance[tenant]);
        world_apply(scene.world, changes);
    }
}

static void
succeed(void)
{
    struct changes *changes = begin();

    refusal_forget(changes, scene.node);
    world_apply(scene.world, changes);
}

static int
node_state(void)
{
    return world_node(scene.world, scene.node)->state;
}

static bool
is_told(void)
{
    return alarm_stands(begin(), scene.node, "node.refuses");
}

static void
five_failures_in_a_row_of_two_tenants_cordon_the_node(void **state)
{
    (void)state;
    fail_starts(0, 3);
    fail_starts(1, 1);
    assert_int_equal(node_state(), NODE_SCHEDULABLE);
    assert_false(is_told());
    fail_starts(0, 1);
    assert_int_equal(node_state(), NODE_CORDONED);
    assert_true(is_told());
}

static void
a_tenant_alone_closes_no_node_to_others(void **state)
{
    (void)state;
    fail_starts(0, 19);
    assert_false(is_told());
    fail_starts(0, 21);
    assert_int_equal(node_state(), NODE_SCHEDULABLE);
    assert_true(is_told());
    succeed();
    assert_false(is_told());
}

static void
a_start_that_succeeds_ends_the_row(void **state)
{
    (void)state;
    fail_starts(0, 2);
    fail_starts(1, 2);
    succeed();
    fail_starts(0, 2);
    fail_starts(1, 2);
    assert_int_equal(node_state(), NODE_SCHEDULABLE);
    fail_starts(1, 1);
    assert_int_equal(node_state(), NODE_CORDONED);
}

static void
who_opens_the_node_again_gives_it_a_new_row(void **state)
{
    struct changes *changes;

    (void)state;
    fail_starts(0, 1);
    fail_starts(1, 4);
    assert_int_equal(node_state(), NODE_CORDONED);
    changes = begin();
    ((struct node *)change_update(changes, scene.node))->state =
        NODE_SCHEDULABLE;
    world_apply(scene.world, changes);
    fail_starts(0, 1);
    fail_starts(1, 3);
    assert_int_equal(node_state(), NODE_SCHEDULABLE);
    fail_starts(1, 1);
    assert_int_equal(node_state(), NODE_CORDONED);
}

static void
a_node_that_is_drained_stays_what_it_is(void **state)
{
    struct changes *changes = begin();

    (void)state;
    ((struct node *)change_update(changes, scene.node))->state =
        NODE_DRAINING;
    world_apply(scene.world, changes);
    fail_starts(0, 3);
    fail_starts(1, 3);
    assert_int_equal(node_state(), NODE_DRAINING);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(five_failures_in_a_row_of_two_tenants_cordon_the_node),
        TEST(a_tenant_alone_closes_no_node_to_others),
        TEST(a_start_that_succeeds_ends_the_row),
        TEST(who_opens_the_node_again_gives_it_a_new_row),
        TEST(a_node_that_is_drained_stays_what_it_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
