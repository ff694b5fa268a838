/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/budget.h"

/* How much costly thinking may one tenant ask for?  An account of one second;
 * 250 us come back in each ms. */

static const struct id red = {1, 0}, blue = {2, 0};

static void
who_has_spent_it_waits_and_nobody_else_does(void **state)
{
    struct budget budget;
    struct error err;
    unsigned wait_s = 0;
    (void)state;
    budget_init(&budget, 1000000);
    assert_int_equal(budget_enter(&budget, red, 1000, &wait_s, &err), 0);
    budget_leave(&budget, red, 1500000, 1000);
    /* Half a second overdrawn: two seconds until it is made up. */
    assert_int_equal(budget_enter(&budget, red, 1000, &wait_s, &err), -1);
    assert_int_equal(err.code, ERROR_RATE);
    assert_int_equal(wait_s, 3);
    assert_non_null(strstr(err.help, "3 s"));
    assert_int_equal(budget_enter(&budget, blue, 1000, &wait_s, &err), 0);
    assert_int_equal(budget_enter(&budget, red, 3000, &wait_s, &err), -1);
    assert_int_equal(wait_s, 1);
    assert_int_equal(budget_enter(&budget, red, 3001, &wait_s, &err), 0);
    budget_leave(&budget, blue, 0, 3001);
    budget_leave(&budget, red, 0, 3001);
    budget_release(&budget);
}

/* 50 questions that take nothing are 50 x 20 ms: the second is spent. */
static void
questions_that_take_nothing_are_counted(void **state)
{
    struct budget budget;
    struct error err;
    unsigned wait_s;
    (void)state;
    budget_init(&budget, 1000000);
    for (int i = 0; i < 50; i++) {
        assert_int_equal(budget_enter(&budget, red, 5, &wait_s, &err), 0);
        budget_leave(&budget, red, 0, 5);
    }
    assert_int_equal(budget_enter(&budget, red, 5, &wait_s, &err), -1);
    budget_release(&budget);
}

static void
four_are_answered_at_a_time(void **state)
{
    struct budget budget;
    struct error err;
    unsigned wait_s = 0;
    (void)state;
    budget_init(&budget, 1000000);
    for (int i = 0; i < 4; i++)
        assert_int_equal(budget_enter(&budget, red, 5, &wait_s, &err), 0);
    assert_int_equal(budget_enter(&budget, red, 5, &wait_s, &err), -1);
    assert_non_null(strstr(err.text, "at most 4"));
    assert_int_equal(budget_enter(&budget, blue, 5, &wait_s, &err), 0);
    budget_leave(&budget, red, 0, 5);
    assert_int_equal(budget_enter(&budget, red, 5, &wait_s, &err), 0);
    budget_release(&budget);
}

static void
accounts_that_are_full_again_are_forgotten(void **state)
{
    struct budget budget;
    struct error err;
    unsigned wait_s;
    (void)state;
    budget_init(&budget, 1000000);
    for (uint8_t i = 0; i < 100; i++) {
        struct id scope = {i, 9};
        assert_int_equal(budget_enter(&budget, scope, 5, &wait_s, &err), 0);
        budget_leave(&budget, scope, 900000, 5);
    }
    assert_int_equal(budget.count, 100);
    assert_int_equal(budget_enter(&budget, red, 3700, &wait_s, &err), 0);
    assert_int_equal(budget.count, 1);
    budget_leave(&budget, red, 0, 3700);
    budget_release(&budget);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_has_spent_it_waits_and_nobody_else_does),
        cmocka_unit_test(questions_that_take_nothing_are_counted),
        cmocka_unit_test(four_are_answered_at_a_time),
        cmocka_unit_test(accounts_that_are_full_again_are_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
