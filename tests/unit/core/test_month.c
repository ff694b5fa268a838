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

/* [A45] Where clocks are set forward and back, hours and months are not: each
 * of March and October 2027 has 744 hours of the same length. */
static void
daylight_saving_makes_no_hour_longer_or_twice(void **state)
{
    static const int64_t months[] = {
        INT64_C(1803859200000), /* 2027-03-01T00:00:00Z */
        INT64_C(1822348800000), /* 2027-10-01T00:00:00Z */
    };

    (void)state;
    assert_int_equal(setenv("TZ", "Europe/Berlin", 1), 0);
    for (size_t i = 0; i < sizeof(months) / sizeof(months[0]); i++) {
        int64_t hours = 0;

        assert_int_equal(month_start(months[i] + 27 * DAY_MS), months[i]);
        for (int64_t at = months[i]; at < month_next(months[i]);
             at += HOUR_MS, hours++)
            assert_int_equal(hour_start(at + HOUR_MS - 1), at);
        assert_int_equal(hours, 744);
    }
    assert_int_equal(unsetenv("TZ"), 0);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(months_are_those_of_the_calendar),
        cmocka_unit_test(daylight_saving_makes_no_hour_longer_or_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
