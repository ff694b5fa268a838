/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "api/tries.h"
#include "base/arena.h"

#define NOW INT64_C(1000000)
#define MOST TRIES_WAIT_MAX_MS

static struct tries *tries;

static int
setup(void **state)
{
    (void)state;
    tries = memory_new(1, sizeof(*tries));
    tries->key = (struct hash_key){ 5, 6 };
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    free(tries);
    return 0;
}

static void
fail_times(const char *source, unsigned times, int64_t now_ms)
{
    for (unsigned i = 0; i < times; i++)
        tries_failed(tries, source, TRIES_FREE, MOST, now_ms);
}

static void
some_failures_cost_nothing_and_then_each_doubles_the_wait(void **state)
{
    static const int64_t waits[] = { 2000,   4000,   8000,   16000,  32000,
                                     64000,  128000, 256000, 512000, 900000,
                                     900000 };
    int64_t now_ms = NOW;

    (void)state;
    fail_times("a", 29, now_ms);
    assert_int_equal(tries_wait(tries, "a", now_ms), 0);
    for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
        fail_times("a", 1, now_ms);
        assert_int_equal(tries_wait(tries, "a", now_ms), waits[i]);
        assert_int_equal(tries_wait(tries, "a", now_ms + waits[i] - 1), 1);
        now_ms += waits[i];
        assert_int_equal(tries_wait(tries, "a", now_ms), 0);
    }
}

static void
the_wait_is_no_longer_than_the_caller_says(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 60; i++)
        tries_failed(tries, "shared", TRIES_FREE, 2000, NOW);
    assert_int_equal(tries_wait(tries, "shared", NOW), 2000);
}

static void
one_failure_is_forgotten_every_two_seconds(void **state)
{
    (void)state;
    fail_times("a", 29, NOW);
    fail_times("a", 5, NOW + 10000); /* 29 - 5 + 5 */
    assert_int_equal(tries_wait(tries, "a", NOW + 10000), 0);
    fail_times("a", 1, NOW + 10000);
    assert_int_equal(tries_wait(tries, "a", NOW + 10000), 2000);
}

static void
who_is_quiet_for_a_quarter_of_an_hour_begins_anew(void **state)
{
    int64_t later_ms = NOW + 8000 + 15 * 60 * 1000;

    (void)state;
    fail_times("a", 32, NOW); /* waits 8 s */
    fail_times("a", 1, later_ms - 1);
    assert_int_equal(tries_wait(tries, "a", later_ms - 1), 16000);
    fail_times("b", 32, NOW);
    fail_times("b", 29, later_ms);
    assert_int_equal(tries_wait(tries, "b", later_ms), 0);
}

static void
nobody_waits_for_what_another_did(void **state)
{
    char name[32];

    (void)state;
    fail_times("bad", 60, NOW);
    for (unsigned i = 0; i < 100000; i++) {
        (void)snprintf(name, sizeof(name), "good %u", i);
        assert_int_equal(tries_wait(tries, name, NOW), 0);
    }
    assert_true(tries_wait(tries, "bad", NOW) > 0);
}

static void
a_crowd_of_addresses_does_not_push_out_who_waits(void **state)
{
    char name[32];

    (void)state;
    fail_times("bad", 60, NOW);
    for (unsigned i = 0; i < 100000; i++) {
        (void)snprintf(name, sizeof(name), "once %u", i);
        tries_failed(tries, name, TRIES_FREE, MOST, NOW + 1);
    }
    assert_true(tries_wait(tries, "bad", NOW + 1) > 0);
}

static void
what_costs_nothing_is_the_callers_to_say(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 299; i++)
        tries_failed(tries, "many", 300, MOST, NOW);
    assert_int_equal(tries_wait(tries, "many", NOW), 0);
    tries_failed(tries, "many", 300, MOST, NOW);
    assert_int_equal(tries_wait(tries, "many", NOW), 2000);
}

static void
good_ones_are_remembered_until_many_others_came(void **state)
{
    char name[32];

    (void)state;
    assert_false(tries_knows(tries, "good"));
    tries_welcome(tries, "good");
    for (unsigned i = 0; i < 100; i++) {
        (void)snprintf(name, sizeof(name), "other %u", i);
        tries_welcome(tries, name);
    }
    tries_welcome(tries, "good");
    fail_times("bad", 60, NOW);
    assert_true(tries_knows(tries, "good"));
    assert_true(tries_knows(tries, "other 99"));
    assert_false(tries_knows(tries, "bad"));
    for (unsigned i = 0; i < 200000; i++) {
        (void)snprintf(name, sizeof(name), "crowd %u", i);
        tries_welcome(tries, name);
    }
    assert_false(tries_knows(tries, "good"));
    assert_true(tries_knows(tries, "crowd 199999"));
}

static void
a_network_is_one_source(void **state)
{
    char a[64], b[64];

    (void)state;
    tries_network("2001:db8:1:2::7", a);
    tries_network("2001:db8:1:2:ffff::1", b);
    assert_string_equal(a, "2001:db8:1:2::/64");
    assert_string_equal(b, a);
    tries_network("192.0.2.7", a);
    assert_string_equal(a, "192.0.2.7");
    tries_network("::ffff:192.0.2.7", a);
    assert_string_equal(a, "::ffff:192.0.2.7");
    tries_network("", a);
    assert_string_equal(a, "");
}

int
main(void)
{
#define WITH(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        WITH(some_failures_cost_nothing_and_then_each_doubles_the_wait),
        WITH(the_wait_is_no_longer_than_the_caller_says),
        WITH(one_failure_is_forgotten_every_two_seconds),
        WITH(who_is_quiet_for_a_quarter_of_an_hour_begins_anew),
        WITH(nobody_waits_for_what_another_did),
        WITH(a_crowd_of_addresses_does_not_push_out_who_waits),
        WITH(what_costs_nothing_is_the_callers_to_say),
        WITH(good_ones_are_remembered_until_many_others_came),
        WITH(a_network_is_one_source),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
