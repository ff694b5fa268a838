/* SPDX-License-Identifier: Apache-2.0 */
#include "control/wallclock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static struct wallclock
started(void)
{
    struct wallclock clock;

    wallclock_start(&clock, 60000, 0, -1, 1000000, 500);
    return clock;
}

static void
test_time_follows_the_wall(void **state)
{
    struct wallclock clock = started();

    (void)state;
    assert_int_equal(clock.now_ms, 1000000);
    assert_false(wallclock_read(&clock, 1000700, 1200));
    assert_int_equal(clock.now_ms, 1000700);
    /* drift and small corrections are no jump */
    assert_false(wallclock_read(&clock, 1060000, 1300));
    assert_int_equal(clock.now_ms, 1060000);
}

/* [A28] expiry does not come early by a clock that ran ahead */
static void
test_forward_jump_is_held_until_confirmed(void **state)
{
    struct wallclock clock = started();

    (void)state;
    assert_true(wallclock_read(&clock, 1000000 + 60001 + 10, 510));
    assert_int_equal(clock.now_ms, 1000010);
    assert_int_equal(clock.held_ms, 60001);
    /* still held: told once, time goes on at its own pace */
    assert_false(wallclock_read(&clock, 1000000 + 60001 + 1010, 1510));
    assert_int_equal(clock.now_ms, 1001010);
    wallclock_confirm(&clock, 1000000 + 60001 + 1010);
    assert_int_equal(clock.now_ms, 1061011);
    assert_int_equal(clock.held_ms, 0);
    assert_false(wallclock_read(&clock, 1062011, 2510));
    assert_int_equal(clock.now_ms, 1062011);
}

static void
test_jump_that_is_taken_back_is_forgotten(void **state)
{
    struct wallclock clock = started();

    (void)state;
    assert_true(wallclock_read(&clock, 9000000, 600));
    assert_false(wallclock_read(&clock, 1000200, 700));
    assert_int_equal(clock.held_ms, 0);
    assert_int_equal(clock.now_ms, 1000200);
}

static void
test_clock_set_back_never_runs_back(void **state)
{
    struct wallclock clock = started();

    (void)state;
    (void)wallclock_read(&clock, 999500, 600);
    assert_int_equal(clock.now_ms, 1000000);
    (void)wallclock_read(&clock, 10, 1600);
    assert_int_equal(clock.now_ms, 1001000);
    (void)wallclock_read(&clock, 1010, 2600);
    assert_int_equal(clock.now_ms, 1002000);
}

/* [A28] a clock set back over a restart extends nothing */
static void
test_restart_goes_on_from_the_latch(void **state)
{
    struct wallclock clock;

    (void)state;
    wallclock_start(&clock, 60000, 5000000, -1, 1000000, 500);
    assert_int_equal(clock.now_ms, 5000000);
    /* another boot: nothing says how long it took */
    wallclock_start(&clock, 60000, 5000000, -1, 9000000, 500);
    assert_int_equal(clock.now_ms, 9000000);
    assert_int_equal(clock.held_ms, 0);
    /* the same boot: ten seconds passed, the wall says an hour */
    wallclock_start(&clock, 60000, 5000000, 500, 8600000, 10500);
    assert_int_equal(clock.now_ms, 5010000);
    assert_int_equal(clock.held_ms, 3590000);
    wallclock_start(&clock, 60000, 5000000, 500, 5010000, 10500);
    assert_int_equal(clock.now_ms, 5010000);
    assert_int_equal(clock.held_ms, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_time_follows_the_wall),
        cmocka_unit_test(test_forward_jump_is_held_until_confirmed),
        cmocka_unit_test(test_jump_that_is_taken_back_is_forgotten),
        cmocka_unit_test(test_clock_set_back_never_runs_back),
        cmocka_unit_test(test_restart_goes_on_from_the_latch),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
