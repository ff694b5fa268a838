/* SPDX-License-Identifier: Apache-2.0 */
#include "core/network.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <string.h>

static void
an_address_lies_in_its_networks(void **state)
{
    (void)state;
    assert_true(network_match("", "anything"));
    assert_true(network_match("10.0.0.0/8", "10.255.0.1"));
    assert_false(network_match("10.0.0.0/8", "11.0.0.1"));
    assert_true(network_match("192.0.2.128/25, 2001:db8::/32",
                              "2001:db8:1::5"));
    assert_false(network_match("192.0.2.128/25", "192.0.2.127"));
    assert_true(network_match("192.0.2.7", "192.0.2.7"));
    assert_true(network_match("0.0.0.0/0", "203.0.113.9"));
    assert_false(network_match("0.0.0.0/0", "2001:db8::1"));
}

static void
a_mapped_address_is_the_address_that_it_maps(void **state)
{
    (void)state;
    assert_true(network_match("10.0.0.0/8", "::ffff:10.1.2.3"));
    assert_false(network_match("10.0.0.0/8", "::ffff:11.1.2.3"));
    assert_true(network_match("::ffff:10.0.0.0/104", "10.1.2.3"));
}

static void
what_cannot_be_read_matches_nothing(void **state)
{
    static const char *const bad[] = { "10.0.0.0/8,",     "10.0.0.0/33",
                                       "10.0.0.1/8",      "10.0.0",
                                       "10.0.0.0/8;::/0", ",",
                                       "10.0.0.0/",       "10.0.0.0/+8" };
    struct error err;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(network_check("/sources", bad[i], &err), -1);
        assert_string_equal(err.field, "/sources");
        assert_false(network_match(bad[i], "10.0.0.1"));
    }
    assert_false(network_match("10.0.0.0/8", ""));
    assert_false(network_match("10.0.0.0/8", "10.0.0.0/9"));
    assert_int_equal(network_check("/sources", "", &err), 0);
    assert_int_equal(network_check("/sources", "::1 , 10.0.0.0/8", &err), 0);
}

static void
a_list_is_within_a_list_when_each_network_is(void **state)
{
    (void)state;
    assert_true(network_within("10.1.0.0/16", "10.0.0.0/8"));
    assert_true(network_within("10.1.0.0/16,192.0.2.1",
                               "192.0.2.0/24,10.0.0.0/8"));
    assert_false(network_within("10.0.0.0/8", "10.1.0.0/16"));
    assert_false(network_within("10.1.0.0/16,11.0.0.1", "10.0.0.0/8"));
    assert_false(network_within("", "10.0.0.0/8"));
    assert_true(network_within("10.0.0.0/8", ""));
    assert_true(network_within("", ""));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_lies_in_its_networks),
        cmocka_unit_test(a_mapped_address_is_the_address_that_it_maps),
        cmocka_unit_test(what_cannot_be_read_matches_nothing),
        cmocka_unit_test(a_list_is_within_a_list_when_each_network_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
