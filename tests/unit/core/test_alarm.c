/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "core/alarm.h"

struct scene {
    struct arena *arena;
    struct world *world;
    struct id_source ids;
    int64_t now_ms;
    struct ref platform;
};

static struct changes *
begin(struct scene *scene)
{
    return change_begin(scene->arena, scene->world,
                        (struct context){ scene->now_ms, &scene->ids });
}

static int
scene_open(void **state)
{
    static const struct hash_key key = { 7, 8 };
    struct scene *scene = memory_new(1, sizeof(*scene));
    struct changes *changes;

    scene->arena = arena_new();
    scene->world = world_new(&key);
    scene->ids.key = key;
    scene->now_ms = 1000;
    changes = begin(scene);
    scene->platform = ((struct object *)change_create(
                           changes, KIND_PLATFORM, (struct ref){ 0 },
                           "platform"))
                          ->self;
    world_apply(scene->world, changes);
    *state = scene;
    return 0;
}

static int
scene_close(void **state)
{
    struct scene *scene = *state;

    world_free(scene->world);
    arena_free(scene->arena);
    free(scene);
    return 0;
}

static const struct alarm *
only(const struct scene *scene)
{
    assert_int_equal(world_count(scene->world, KIND_ALARM), 1);
    return world_alarm(scene->world, world_first(scene->world, KIND_ALARM));
}

static void
an_alarm_stands_once_until_it_is_cleared(void **state)
{
    struct scene *scene = *state;
    struct changes *changes = begin(scene);

    alarm_raise(changes, scene->platform, "a.b", "first %d", 1);
    alarm_raise(changes, scene->platform, "a.b", "second");
    assert_true(alarm_stands(changes, scene->platform, "a.b"));
    world_apply(scene->world, changes);
    assert_string_equal(only(scene)->text, "first 1");
    scene->now_ms = 2000;
    changes = begin(scene);
    alarm_raise(changes, scene->platform, "a.b", "third");
    assert_true(change_is_empty(changes));
    alarm_clear(changes, scene->platform, "a.b");
    assert_false(alarm_stands(changes, scene->platform, "a.b"));
    world_apply(scene->world, changes);
    assert_int_equal(only(scene)->cleared_ms, 2000);
}

static void
a_cleared_alarm_starts_anew(void **state)
{
    struct scene *scene = *state;
    struct changes *changes = begin(scene);

    alarm_raise(changes, scene->platform, "a.b", "old");
    alarm_clear(changes, scene->platform, "a.b");
    world_apply(scene->world, changes);
    scene->now_ms = 3000;
    changes = begin(scene);
    alarm_raise(changes, scene->platform, "a.b", "new");
    world_apply(scene->world, changes);
    assert_string_equal(only(scene)->text, "new");
    assert_int_equal(only(scene)->raised_ms, 3000);
    assert_int_equal(only(scene)->cleared_ms, 0);
}

static void
clearing_what_does_not_stand_changes_nothing(void **state)
{
    struct scene *scene = *state;
    struct changes *changes = begin(scene);

    alarm_clear(changes, scene->platform, "a.b");
    assert_true(change_is_empty(changes));
}

static void
codes_and_objects_keep_their_own(void **state)
{
    struct scene *scene = *state;
    struct changes *changes = begin(scene);
    struct ref pool = ((struct object *)change_create(
                           changes, KIND_POOL, scene->platform, "p"))
                          ->self;

    alarm_raise(changes, scene->platform, "a.b", "x");
    alarm_raise(changes, scene->platform, "a.c", "x");
    alarm_raise(changes, pool, "a.b", "x");
    world_apply(scene->world, changes);
    assert_int_equal(world_count(scene->world, KIND_ALARM), 3);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_open, scene_close)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_alarm_stands_once_until_it_is_cleared),
        TEST(a_cleared_alarm_starts_anew),
        TEST(clearing_what_does_not_stand_changes_nothing),
        TEST(codes_and_objects_keep_their_own),
    };

    return cmocka_run_group_tests_name("alarm", tests, NULL, NULL);
}
