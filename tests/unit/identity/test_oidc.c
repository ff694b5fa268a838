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

/* The token's word stands, and it alone says how somebody proved himself. */
static void
userinfo_adds_what_the_token_leaves_out(void **state)
{
    json_t *claims = json_pack("{s:s, s:s}", "sub", "a", "name", "Ada");
    json_t *info = json_pack("{s:s, s:s, s:[s], s:s, s:i, s:s}", "sub", "a",
                             "name", "Eve", "groups", "ml", "acr", "mfa",
                             "auth_time", 5, "sid", "x");
    json_t *expected = json_pack("{s:s, s:s, s:[s]}", "sub", "a", "name",
                                 "Ada", "groups", "ml");
    json_t *other = json_pack("{s:s}", "sub", "b");
    json_t *nobody = json_pack("{s:n}", "sub");

    (void)state;
    assert_int_equal(oidc_add_userinfo(claims, info, &err), 0);
    assert_true(json_equal(claims, expected));
    assert_int_equal(oidc_add_userinfo(claims, other, &err), -1);
    assert_int_equal(err.code, ERROR_UNAUTHENTICATED);
    assert_int_equal(oidc_add_userinfo(claims, nobody, &err), -1);
    assert_true(json_equal(claims, expected));
    json_decref(claims);
    json_decref(info);
    json_decref(expected);
    json_decref(other);
    json_decref(nobody);
}

static void
an_access_token_cannot_leave_its_header(void **state)
{
    (void)state;
    assert_true(oidc_is_bearer("eyJ-._~+/a9=="));
    assert_false(oidc_is_bearer(NULL));
    assert_false(oidc_is_bearer(""));
    assert_false(oidc_is_bearer("a b"));
    assert_false(oidc_is_bearer("a\r\nX: y"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_redirect_goes_to_loopback),
        cmocka_unit_test(others_are_listed_to_the_letter),
        cmocka_unit_test(a_list_has_plain_https_urls),
        cmocka_unit_test(userinfo_adds_what_the_token_leaves_out),
        cmocka_unit_test(an_access_token_cannot_leave_its_header),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
