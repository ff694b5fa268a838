/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "identity/oidc.h"

static struct error err;

static void
a_redirect_goes_to_loopback(void **state)
{
    static const char *const good[] = { "http://127.0.0.1:1024/",
                                        "http://127.0.0.1:65535/call-back_1",
                                        "http://[::1]:4711/cb" };
    static const char *const bad[] = {
        "http://127.0.0.1:1023/",    "http://127.0.0.1:65536/",
        "http://127.0.0.1:4711",     "http://127.0.0.1:4711@evil.example/",
        "https://127.0.0.1:4711/",   "http://localhost:4711/",
        "http://127.0.0.1:4711/?a=", "http://127.0.0.2:4711/",
        "https://console.example/",  "",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
        assert_int_equal(oidc_check_redirect(good[i], NULL, &err), 0);
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        assert_int_equal(oidc_check_redirect(bad[i], NULL, &err), -1);
        assert_int_equal(err.code, ERROR_INVALID);
        assert_string_equal(err.field, "/redirect");
    }
}

static void
others_are_listed_to_the_letter(void **state)
{
    static const char list[] =
        " https://console.example/login , https://b.example/x";
    static const char *const bad[] = {
        "https://console.example/login/",  "https://console.example/logi",
        "https://console.example/login?a", "https://CONSOLE.example/login",
        "https://console.example:443/login", "http://console.example/login",
        " https://console.example/login",  "https://b.example/",
        "https://console.example/login , https://b.example/x",
    };

    (void)state;
    assert_int_equal(
        oidc_check_redirect("https://console.example/login", list, &err), 0);
    assert_int_equal(oidc_check_redirect("https://b.example/x", list, &err),
                     0);
    assert_int_equal(
        oidc_check_redirect("http://127.0.0.1:4711/", list, &err), 0);
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_int_equal(oidc_check_redirect(bad[i], list, &err), -1);
}

static void
a_list_has_plain_https_urls(void **state)
{
    static const char *const bad[] = {
        "http://console.example/",  "https://",
        "https:///path",            "https://u@console.example/",
        "https://a.example/?next=", "https://a.example/#x",
        "https://a.example/, ftp",  "https://a b.example/",
        "javascript:alert(1)",
    };

    (void)state;
    assert_int_equal(oidc_check_redirects("", &err), 0);
    assert_int_equal(oidc_check_redirects(
                         "https://a.example/x, https://b.example:8443/y",
                         &err),
                     0);
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        assert_int_equal(oidc_check_redirects(bad[i], &err), -1);
        assert_string_equal(err.field, "/redirects");
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_redirect_goes_to_loopback),
        cmocka_unit_test(others_are_listed_to_the_letter),
        cmocka_unit_test(a_list_has_plain_https_urls),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
