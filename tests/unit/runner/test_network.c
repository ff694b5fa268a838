/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/network.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void
addresses_follow_from_tenant_and_index(void **state)
{
    static const struct {
        struct network_port port;
        const char *four, *six, *mac;
    } cases[] = {
        { { 1, 1 }, "10.0.16.1", "fd62:756c:6b68:1::1", "02:62:68:00:10:01" },
        { { 7, 300 },
          "10.0.113.44",
          "fd62:756c:6b68:7::12c",
          "02:62:68:00:71:2c" },
        { { 4095, 4093 },
          "10.255.255.253",
          "fd62:756c:6b68:fff::ffd",
          "02:62:68:ff:ff:fd" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct network_names names;

        network_describe(cases[i].port, &names);
        assert_string_equal(names.address, cases[i].four);
        assert_string_equal(names.address6, cases[i].six);
        assert_string_equal(names.mac, cases[i].mac);
    }
}

static void
rules_replace_the_old_ones_in_one_transaction_and_drop_by_policy(void **state)
{
    scoped_buffer rules = { 0 };
    int drops = 0;

    (void)state;
    network_rules("bh", NULL, 0, &rules);
    assert_int_equal(strncmp(rules.bytes,
                             "table bridge bh {}\ndelete table bridge bh\n",
                             42),
                     0);
    for (const char *at = rules.bytes; (at = strstr(at, "policy drop")) != NULL;
         at++)
        drops++;
    assert_int_equal(drops, 7);
    assert_null(strstr(rules.bytes, "policy accept"));
    assert_null(strstr(rules.bytes, "elements"));
}

static void
one_port_comes_and_goes_without_the_others(void **state)
{
    static const char add[] =
        "add chain bridge bh a_v007005\n"
        "flush chain bridge bh a_v007005\n"
        "add rule bridge bh a_v007005 "
        "@th,64,128 0xfd62756c6b6800070000000000000005 accept\n"
        "add rule bridge bh a_v007005 drop\n"
        "add element bridge bh ports { \"v007005\" . 02:62:68:00:70:05 }\n"
        "add element bridge bh port4 { \"v007005\" . 02:62:68:00:70:05 . "
        "10.0.112.5 }\n"
        "add element bridge bh port6 { \"v007005\" . 02:62:68:00:70:05 . "
        "fd62:756c:6b68:7::5 }\n"
        "add element bridge bh tenants { \"v007005\" : 7 }\n"
        "add element bridge bh outs { \"v007005\" . 7 }\n"
        "add element bridge bh adverts { \"v007005\" : jump a_v007005 }\n";
    scoped_buffer coming = { 0 }, going = { 0 };
    int deletions = 0;

    (void)state;
    network_port_rules("bh", (struct network_port){ 7, 5 }, true, &coming);
    assert_string_equal(coming.bytes, add);
    network_port_rules("bh", (struct network_port){ 7, 5 }, false, &going);
    for (const char *at = going.bytes;
         (at = strstr(at, "delete element")) != NULL; at++)
        deletions++;
    assert_int_equal(deletions, 6);
    assert_non_null(strstr(going.bytes, "delete chain bridge bh a_v007005\n"));
    assert_null(strstr(going.bytes, "add "));
}

static void
each_port_is_pinned_in_both_families(void **state)
{
    const struct network_port ports[] = { { 7, 1 }, { 8, 2 } };
    scoped_buffer rules = { 0 };

    (void)state;
    network_rules("bh", ports, 2, &rules);
    assert_non_null(
        strstr(rules.bytes, "\"v007001\" . 02:62:68:00:70:01 . 10.0.112.1"));
    assert_non_null(strstr(
        rules.bytes, "\"v008002\" . 02:62:68:00:80:02 . fd62:756c:6b68:8::2"));
    assert_non_null(strstr(rules.bytes, "\"v008002\" . 8"));
    assert_non_null(strstr(
        rules.bytes, "chain a_v007001 { @th,64,128 "
                     "0xfd62756c6b6800070000000000000001 accept; drop; }"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_follow_from_tenant_and_index),
        cmocka_unit_test(
            rules_replace_the_old_ones_in_one_transaction_and_drop_by_policy),
        cmocka_unit_test(one_port_comes_and_goes_without_the_others),
        cmocka_unit_test(each_port_is_pinned_in_both_families),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
