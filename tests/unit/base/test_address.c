/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <netinet/in.h>
#include <string.h>

#include "base/address.h"

/* Expected kinds are those of the IANA special-purpose registries. */
static const struct {
    const char *text;
    enum address_kind kind;
} known[] = {
    { "8.8.8.8", ADDRESS_PUBLIC },
    { "1.1.1.1", ADDRESS_PUBLIC },
    { "9.255.255.255", ADDRESS_PUBLIC },
    { "10.0.0.0", ADDRESS_PRIVATE },
    { "10.255.255.255", ADDRESS_PRIVATE },
    { "11.0.0.0", ADDRESS_PUBLIC },
    { "100.63.255.255", ADDRESS_PUBLIC },
    { "100.64.0.1", ADDRESS_PRIVATE },
    { "100.127.255.255", ADDRESS_PRIVATE },
    { "100.128.0.0", ADDRESS_PUBLIC },
    { "100.100.100.200", ADDRESS_NEVER },
    { "168.63.129.16", ADDRESS_NEVER },
    { "168.63.129.17", ADDRESS_PUBLIC },
    { "0.0.0.0", ADDRESS_NEVER },
    { "0.1.2.3", ADDRESS_NEVER },
    { "127.0.0.1", ADDRESS_LOOPBACK },
    { "127.255.255.254", ADDRESS_LOOPBACK },
    { "128.0.0.1", ADDRESS_PUBLIC },
    { "169.253.255.255", ADDRESS_PUBLIC },
    { "169.254.169.254", ADDRESS_NEVER },
    { "172.15.255.255", ADDRESS_PUBLIC },
    { "172.16.0.1", ADDRESS_PRIVATE },
    { "172.31.255.255", ADDRESS_PRIVATE },
    { "172.32.0.0", ADDRESS_PUBLIC },
    { "192.0.0.170", ADDRESS_NEVER },
    { "192.0.2.1", ADDRESS_NEVER },
    { "192.88.99.1", ADDRESS_NEVER },
    { "192.168.255.255", ADDRESS_PRIVATE },
    { "198.19.0.1", ADDRESS_PRIVATE },
    { "198.51.100.7", ADDRESS_NEVER },
    { "203.0.113.7", ADDRESS_NEVER },
    { "223.255.255.255", ADDRESS_PUBLIC },
    { "224.0.0.1", ADDRESS_NEVER },
    { "240.0.0.1", ADDRESS_NEVER },
    { "255.255.255.255", ADDRESS_NEVER },
    { "2606:4700:4700::1111", ADDRESS_PUBLIC },
    { "2001:4860:4860::8888", ADDRESS_PUBLIC },
    { "2001:200::1", ADDRESS_PUBLIC },
    { "::", ADDRESS_NEVER },
    { "::1", ADDRESS_LOOPBACK },
    { "::2", ADDRESS_NEVER },
    { "::127.0.0.1", ADDRESS_NEVER },
    { "::ffff:127.0.0.1", ADDRESS_LOOPBACK },
    { "::ffff:10.1.2.3", ADDRESS_PRIVATE },
    { "::ffff:169.254.169.254", ADDRESS_NEVER },
    { "::ffff:8.8.8.8", ADDRESS_PUBLIC },
    { "64:ff9b::7f00:1", ADDRESS_NEVER },
    { "64:ff9b:1::808:808", ADDRESS_NEVER },
    { "100::1", ADDRESS_NEVER },
    { "2001::1", ADDRESS_NEVER },
    { "2001:db8::1", ADDRESS_NEVER },
    { "2002:7f00:1::1", ADDRESS_NEVER },
    { "3fff::1", ADDRESS_NEVER },
    { "4000::1", ADDRESS_NEVER },
    { "fc00::1", ADDRESS_PRIVATE },
    { "fdff::1", ADDRESS_PRIVATE },
    { "fd00:ec2::254", ADDRESS_NEVER },
    { "fe80::1", ADDRESS_NEVER },
    { "fec0::1", ADDRESS_NEVER },
    { "ff02::1", ADDRESS_NEVER },
};

static void
each_address_is_of_its_kind(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
        struct address address;

        assert_true(address_parse(known[i].text, &address));
        if (address_kind(&address) != known[i].kind)
            fail_msg("%s is of kind %d", known[i].text,
                     (int)address_kind(&address));
    }
}

static void
an_address_of_a_socket_is_the_one_in_it(void **state)
{
    union {
        struct sockaddr any;
        struct sockaddr_in four;
        struct sockaddr_in6 six;
    } to = { .four = { .sin_family = AF_INET } };
    struct address address;

    (void)state;
    to.four.sin_addr.s_addr = htonl(0xA9FEA9FE);
    assert_true(address_of(&to.any, &address));
    assert_int_equal(address.size, 4);
    assert_int_equal(address_kind(&address), ADDRESS_NEVER);
    memset(&to, 0, sizeof(to));
    to.six.sin6_family = AF_INET6;
    assert_int_equal(inet_pton(AF_INET6, "::ffff:127.0.0.1", &to.six.sin6_addr),
                     1);
    assert_true(address_of(&to.any, &address));
    assert_int_equal(address.size, 4);
    assert_int_equal(address_kind(&address), ADDRESS_LOOPBACK);
    to.any.sa_family = AF_UNIX;
    assert_false(address_of(&to.any, &address));
}

static void
other_spellings_of_an_address_are_none(void **state)
{
    static const char *const texts[] = { "2130706433", "0x7f.0.0.1",
                                         "0177.0.0.1", "127.1",
                                         "127.0.0.1 ",  "[::1]",
                                         "fe80::1%eth0", "" };
    struct address address;

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        assert_false(address_parse(texts[i], &address));
}

static bool
lies_in(const char *networks, const char *text)
{
    struct address address;

    assert_true(address_parse(text, &address));
    return address_in(networks, &address);
}

static void
a_list_of_networks_holds_what_lies_in_one(void **state)
{
    struct error err;

    (void)state;
    assert_true(lies_in("10.1.0.0/16, 192.168.7.9", "10.1.255.255"));
    assert_true(lies_in("10.1.0.0/16,192.168.7.9", "192.168.7.9"));
    assert_true(lies_in("10.1.0.0/16", "::ffff:10.1.2.3"));
    assert_false(lies_in("10.1.0.0/16, 192.168.7.9", "10.2.0.0"));
    assert_false(lies_in("10.1.0.0/16, 192.168.7.9", "192.168.7.8"));
    assert_false(lies_in("", "10.0.0.1"));
    assert_true(lies_in("fd12::/16", "fd12::5"));
    assert_false(lies_in("fd12::/16", "10.0.0.1"));
    /* One that cannot be read makes all of it hold nothing. */
    assert_false(lies_in("10.0.0.0/8, nonsense", "10.0.0.1"));
    assert_false(lies_in("10.0.0.0/33", "10.0.0.1"));
    assert_int_equal(address_check_list("10.0.0.0/8, fd00::/8", &err), 0);
    assert_int_equal(address_check_list("", &err), 0);
    assert_int_equal(address_check_list("10.0.0.0/x", &err), -1);
    assert_int_equal(address_check_list("10.0.0.0/8;", &err), -1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_address_is_of_its_kind),
        cmocka_unit_test(an_address_of_a_socket_is_the_one_in_it),
        cmocka_unit_test(other_spellings_of_an_address_are_none),
        cmocka_unit_test(a_list_of_networks_holds_what_lies_in_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
