/* SPDX-License-Identifier: Apache-2.0 */
#include "core/month.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <cmocka.h>

static void
months_are_those_of_the_calendar(void **state)
{
    (void)state;
    assert_int_equal(month_start(0), 0);
    assert_int_equal(month_next(0), 31 * DAY_MS);
    /* 2028-02-29T23:59:59.999Z, a leap day. */
    assert_int_equal(month_next(INT64_C(1835481599999)),
                     INT64_C(1835481600000));
    assert_int_equal(month_start(INT64_C(1835481599999)),
                     INT64_C(1832976000000));
    for (int64_t at = 0; at < 3000 * DAY_MS; at += DAY_MS / 2) {
        assert_true(month_start(at) <= at && at < month_next(at));
        assert_int_equal(month_start(month_next(at) - 1), month_start(at));
    }
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(months_are_those_of_the_calendar),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
