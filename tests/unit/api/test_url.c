/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "api/url.h"

static int
parse(struct arena *arena, const char *target, struct url *out)
{
    struct error err;
    return url_parse(arena, target, out, &err);
}

static void
a_target_is_split_into_segments_and_parameters(void **state)
{
    (void)state;
    scoped_arena arena = arena_new();
    struct url url;
    assert_int_equal(parse(arena, "/a/b%20c/d?x=1&y=%26+z&flag", &url), 0);
    assert_int_equal(url.segment_count, 3);
    assert_string_equal(url.segments[1], "b c");
    assert_string_equal(url_get(&url, "x"), "1");
    assert_string_equal(url_get(&url, "y"), "& z");
    assert_string_equal(url_get(&url, "flag"), "");
    assert_null(url_get(&url, "z"));
    assert_int_equal(parse(arena, "/", &url), 0);
    assert_int_equal(url.segment_count, 0);
    assert_int_equal(parse(arena, "/a/", &url), 0);
    assert_int_equal(url.segment_count, 1);
}

static void
an_escape_never_changes_the_shape_of_a_path(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",           "a",          "/a//b",     "/a/../b",   "/a/./b",
        "/a/%2e%2e",  "/a%2fb",     "/a%2Fb",    "/a%00b",    "/a%0ab",
        "/a%7f",      "/a%",        "/a%2",      "/a%zz",     "/a?x=%00",
        "/a?x=1&x=2", "/a?x=%1",    "/%2e",
    };
    scoped_arena arena = arena_new();
    struct url url;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (parse(arena, bad[i], &url) == 0)
            fail_msg("\"%s\" was taken", bad[i]);
}

static void
a_target_has_bounds(void **state)
{
    (void)state;
    scoped_arena arena = arena_new();
    struct url url;
    char text[URL_SIZE_MAX + 2];
    memset(text, 'a', sizeof text);
    text[0] = '/';
    text[URL_SIZE_MAX] = '\0';
    assert_int_equal(parse(arena, text, &url), 0);
    text[URL_SIZE_MAX] = 'a';
    text[URL_SIZE_MAX + 1] = '\0';
    assert_int_equal(parse(arena, text, &url), -1);
    assert_int_equal(parse(arena, "/1/2/3/4/5/6/7/8/9/a/b/c/d/e/f", &url),
                     -1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_target_is_split_into_segments_and_parameters),
        cmocka_unit_test(an_escape_never_changes_the_shape_of_a_path),
        cmocka_unit_test(a_target_has_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
