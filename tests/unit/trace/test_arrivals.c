/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <string.h>

#include "trace/arrivals.h"

static void
lines_are_read_by_the_names_of_their_columns(void **state)
{
    scoped_arena arena = arena_new();
    struct arrivals arrivals;
    struct error err;

    (void)state;
    assert_int_equal(
        arrivals_read("run_s,project,class,at_s,count,preemptible\r\n"
                      "60,t1/p1,h100.1,9.5,3,false\n"
                      "\n"
                      "0.125,t2/p2,h100.8,2,,\n",
                      arena, &arrivals, &err),
        0);
    assert_int_equal(arrivals.count, 2);
    assert_int_equal(arrivals.list[0].at_ms, 2000);
    assert_int_equal(arrivals.list[0].run_ms, 125);
    assert_int_equal(arrivals.list[0].count, 1);
    assert_int_equal(arrivals.list[0].preemptible, -1);
    assert_int_equal(arrivals.list[0].line, 4);
    assert_string_equal(arrivals.list[0].tenant, "t2");
    assert_string_equal(arrivals.list[0].project, "p2");
    assert_int_equal(arrivals.list[1].at_ms, 9500);
    assert_int_equal(arrivals.list[1].count, 3);
    assert_int_equal(arrivals.list[1].preemptible, 0);
}

static void
equal_times_stay_in_the_order_of_the_file(void **state)
{
    scoped_arena arena = arena_new();
    struct arrivals arrivals;
    struct error err;

    (void)state;
    assert_int_equal(arrivals_read("at_s,project,class,run_s\n"
                                   "5,t/p,c,1\n1,t/p,c,2\n5,t/p,c,3\n"
                                   "1,t/p,c,4\n",
                                   arena, &arrivals, &err),
                     0);
    for (size_t i = 0; i < 4; i++) {
        static const int64_t runs[] = { 2000, 4000, 1000, 3000 };

        assert_int_equal(arrivals.list[i].run_ms, runs[i]);
    }
}

static void
what_is_wrong_names_line_column_and_value(void **state)
{
    static const struct {
        const char *text, *says;
    } list[] = {
        { "", "no line of columns" },
        { "at_s,project,class\n", "column run_s is missing" },
        { "at_s,project,class,run_s,colour\n", "\"colour\" is no column" },
        { "at_s,at_s,class,run_s\n", "\"at_s\" stands there twice" },
        { "at_s,project,class,run_s\n1,t/p,c\n", "line 2 has 3 cells" },
        { "at_s,project,class,run_s\n-1,t/p,c,1\n", "at_s is \"-1\"" },
        { "at_s,project,class,run_s\n1e9,t/p,c,1\n", "at_s is \"1e9\"" },
        { "at_s,project,class,run_s\n1,tp,c,1\n", "project is \"tp\"" },
        { "at_s,project,class,run_s\n1,t/p,,1\n", "class is \"\"" },
        { "at_s,project,class,run_s\n1,t/p,c,0\n", "run_s is \"0\"" },
        { "at_s,project,class,run_s\n1,t/p,c,1.0001\n",
          "run_s is \"1.0001\"" },
        { "at_s,project,class,run_s\n1,t/p,c,99999999999999999999\n",
          "run_s is" },
        { "at_s,project,class,run_s,count\n1,t/p,c,1,0\n",
          "count is \"0\"" },
        { "at_s,project,class,run_s,preemptible\n1,t/p,c,1,maybe\n",
          "preemptible is \"maybe\"" },
    };
    struct arrivals arrivals;
    struct error err;

    (void)state;
    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        scoped_arena arena = arena_new();

        assert_int_equal(arrivals_read(list[i].text, arena, &arrivals, &err),
                         -1);
        assert_int_equal(err.code, ERROR_INVALID);
        if (strstr(err.text, list[i].says) == NULL)
            fail_msg("\"%s\" does not say \"%s\"", err.text, list[i].says);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_read_by_the_names_of_their_columns),
        cmocka_unit_test(equal_times_stay_in_the_order_of_the_file),
        cmocka_unit_test(what_is_wrong_names_line_column_and_value),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
