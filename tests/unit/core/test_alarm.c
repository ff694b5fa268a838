/* SPDX-License-Identifier: Apache-2.0 */
#include "core/alarm.h"

#include "tests/unit/core/small.h"

static const struct alarm *
only(const struct small *small)
{
    assert_int_equal(world_count(small->world, KIND_ALARM), 1);
    return world_alarm(small->world, world_first(small->world, KIND_ALARM));
}

static void
an_alarm_stands_once_until_it_is_cleared(void **state)
{
    struct small *small = *state;
    struct changes *changes = small_begin(small);

    alarm_raise(changes, small->platform, "a.b", "first %d", 1);
    alarm_raise(changes, small->platform, "a.b", "second");
    assert_true(alarm_stands(changes, small->platform, "a.b"));
    world_apply(small->world, changes);
    assert_string_equal(only(small)->text, "first 1");
    small->now_ms = 2000;
    changes = small_begin(small);
    alarm_raise(changes, small->platform, "a.b", "third");
    assert_true(change_is_empty(changes));
    alarm_clear(changes, small->platform, "a.b");
    assert_false(alarm_stands(changes, small->platform, "a.b"));
    world_apply(small->world, changes);
    assert_int_equal(only(small)->cleared_ms, 2000);
}

static void
a_cleared_alarm_starts_anew(void **state)
{
    struct small *small = *state;
    struct changes *changes = small_begin(small);

    alarm_raise(changes, small->platform, "a.b", "old");
    alarm_clear(changes, small->platform, "a.b");
    world_apply(small->world, changes);
    small->now_ms = 3000;
    changes = small_begin(small);
    alarm_raise(changes, small->platform, "a.b", "new");
    world_apply(small->world, changes);
    assert_string_equal(only(small)->text, "new");
    assert_int_equal(only(small)->raised_ms, 3000);
    assert_int_equal(only(small)->cleared_ms, 0);
}

static void
clearing_what_does_not_stand_changes_nothing(void **state)
{
    struct small *small = *state;
    struct changes *changes = small_begin(small);

    alarm_clear(changes, small->platform, "a.b");
    assert_true(change_is_empty(changes));
}

static void
codes_and_objects_keep_their_own(void **state)
{
    struct small *small = *state;
    struct changes *changes = small_begin(small);
    struct ref pool = ((struct object *)change_create(changes, KIND_POOL,
                                                      small->platform, "p"))
                          ->self;

    alarm_raise(changes, small->platform, "a.b", "x");
    alarm_raise(changes, small->platform, "a.c", "x");
    alarm_raise(changes, pool, "a.b", "x");
    world_apply(small->world, changes);
    assert_int_equal(world_count(small->world, KIND_ALARM), 3);
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, small_open, small_close)

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
