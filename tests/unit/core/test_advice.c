/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/core/scene.h"

#include "core/advice.h"

#define DAY_MS (INT64_C(24) * 3600000)

static const struct quota eight = { .dimension = DIMENSION_CARDS,
                                    .guaranteed = CARDS(8),
                                    .limit = CARDS(16) };

/* Card time of that many milli-cards over a window. */
static int64_t
time_of(int64_t milli, int64_t window_ms)
{
    return milli * window_ms;
}

static void
a_window_is_a_week_to_ninety_days_since_the_last_change(void **state)
{
    struct quota quota = eight;

    (void)state;
    quota.object.updated_ms = SCENE_NOW;
    assert_int_equal(advice_window(&quota, SCENE_NOW + 7 * DAY_MS - 1), 0);
    assert_int_equal(advice_window(&quota, SCENE_NOW + 7 * DAY_MS),
                     7 * DAY_MS);
    assert_int_equal(advice_window(&quota, SCENE_NOW + 400 * DAY_MS),
                     90 * DAY_MS);
}

static void
a_guarantee_used_by_less_than_half_is_lowered_with_a_quarter_kept(void **state)
{
    struct advice advice;

    (void)state;
    assert_true(advice_guarantee(&eight, CARDS(16),
                                 time_of(3999, 30 * DAY_MS), 30 * DAY_MS,
                                 &advice));
    assert_int_equal(advice.kind, ADVICE_UNUSED);
    assert_int_equal(advice.used, 3999);
    /* 3999 + 999 = 4998, in whole cards. */
    assert_int_equal(advice.recommended, CARDS(5));
    assert_false(advice_guarantee(&eight, CARDS(16),
                                  time_of(4000, 30 * DAY_MS), 30 * DAY_MS,
                                  &advice));
    assert_true(
        advice_guarantee(&eight, CARDS(16), 0, 30 * DAY_MS, &advice));
    assert_int_equal(advice.recommended, 0);
}

static void
a_guarantee_below_use_is_raised_up_to_the_limit(void **state)
{
    struct advice advice;

    (void)state;
    assert_false(advice_guarantee(&eight, CARDS(16),
                                  time_of(8000, 30 * DAY_MS), 30 * DAY_MS,
                                  &advice));
    assert_true(advice_guarantee(&eight, CARDS(16),
                                 time_of(10001, 30 * DAY_MS), 30 * DAY_MS,
                                 &advice));
    assert_int_equal(advice.kind, ADVICE_SHORT);
    assert_int_equal(advice.recommended, CARDS(11));
    assert_true(advice_guarantee(&eight, CARDS(10),
                                 time_of(10001, 30 * DAY_MS), 30 * DAY_MS,
                                 &advice));
    assert_int_equal(advice.recommended, CARDS(10));
}

static void
only_cards_of_all_pools_and_classes_are_judged(void **state)
{
    struct quota other = eight;
    struct advice advice;

    (void)state;
    other.dimension = DIMENSION_MEMORY;
    assert_false(
        advice_guarantee(&other, CARDS(16), 0, 30 * DAY_MS, &advice));
    other = eight;
    other.pool = (struct ref){ .kind = KIND_POOL, .index = 1 };
    assert_false(
        advice_guarantee(&other, CARDS(16), 0, 30 * DAY_MS, &advice));
}

static void
free_cards_that_lie_apart_are_told(void **state)
{
    struct scene scene;
    struct advice_room room;
    struct ref pool, one, project, work[4];

    (void)state;
    scene_setup(&scene);
    pool = scene_pool(&scene, "a");
    (void)scene_node(&scene, pool, "n1", 2, "h100");
    (void)scene_node(&scene, pool, "n2", 2, "h100");
    one = scene_class(&scene, "h100.1", "h100", 1);
    (void)scene_class(&scene, "h100.2", "h100", 2);
    project = scene_project(&scene, scene_tenant(&scene, "t"), "p");
    (void)scene_quota(&scene, world_parent(scene.world, project),
                      DIMENSION_CARDS, 0, CARDS(4));
    assert_false(advice_fragmented(scene.world, pool, &room));
    assert_int_equal(room.free, 4);
    assert_int_equal(room.largest, 2);
    for (int i = 0; i < 4; i++) {
        char name[4] = { 'w', (char)('0' + i), '\0' };

        work[i] = scene_running(&scene, (struct job){ .project = project,
                                                      .class = one,
                                                      .name = name });
    }
    /* One on each node ends. */
    {
        struct ref first = world_instance(scene.world,
                                          scene_instance(&scene, work[0]))
                               ->node;

        scene_finish(&scene, work[0], 0);
        for (int i = 1; i < 4; i++)
            if (!ref_equal(world_instance(scene.world,
                                          scene_instance(&scene, work[i]))
                               ->node,
                           first)) {
                scene_finish(&scene, work[i], 0);
                break;
            }
    }
    assert_true(advice_fragmented(scene.world, pool, &room));
    assert_int_equal(room.free, 2);
    assert_int_equal(room.largest, 1);
    assert_int_equal(room.wanted, 2);
    scene_teardown(&scene);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            a_window_is_a_week_to_ninety_days_since_the_last_change),
        cmocka_unit_test(
            a_guarantee_used_by_less_than_half_is_lowered_with_a_quarter_kept),
        cmocka_unit_test(a_guarantee_below_use_is_raised_up_to_the_limit),
        cmocka_unit_test(only_cards_of_all_pools_and_classes_are_judged),
        cmocka_unit_test(free_cards_that_lie_apart_are_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
