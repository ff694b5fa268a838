/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/policy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define BASE                                                                   \
    "{\"version\":1,\"prefix\":\"bh\",\"agent_uid\":998,"                      \
    "\"socket\":\"/run/r.sock\",\"state_dir\":\"/var/s\","                     \
    "\"image_dir\":\"/var/i\",\"volume_dir\":\"/var/v\","                      \
    "\"estate\":\"/etc/e.json\""

static int
parse(struct arena *arena, const char *more, struct policy *policy,
      struct error *err)
{
    char text[1024];
    int size = snprintf(text, sizeof(text), BASE "%s}", more);

    return policy_parse(arena, text, (size_t)size, policy, err);
}

static void
a_policy_is_read_with_its_defaults(void **state)
{
    scoped_arena arena = arena_new();
    struct policy policy;
    struct error err = { 0 };

    (void)state;
    assert_int_equal(parse(arena, "", &policy, &err), 0);
    assert_string_equal(policy.prefix, "bh");
    assert_int_equal(policy.agent_uid, 998);
    assert_string_equal(policy.accel, "sim");
    assert_false(policy.writable_root);
    assert_null(policy.mps);
    assert_true(policy.share_stops);
    assert_int_equal(policy.share_grace_ms, 30000);
    assert_int_equal(parse(arena, ",\"mps\":\"/bin/m\",\"share_over\":\"warn\"",
                           &policy, &err),
                     0);
    assert_string_equal(policy.mps, "/bin/m");
    assert_false(policy.share_stops);
    assert_true(policy.uid_base_min % 65536 == 0);
    assert_true(policy_allows_image(&policy, "sha256:anything"));
}

static void
a_list_of_images_allows_those_alone(void **state)
{
    scoped_arena arena = arena_new();
    struct policy policy;
    struct error err = { 0 };

    (void)state;
    assert_int_equal(parse(arena, ",\"images\":[\"sha256:aa\",\"sha256:bb\"]",
                           &policy, &err),
                     0);
    assert_true(policy_allows_image(&policy, "sha256:bb"));
    assert_false(policy_allows_image(&policy, "sha256:cc"));
    assert_false(policy_allows_image(&policy, "sha256:b"));
}

static void
what_would_weaken_a_policy_is_refused(void **state)
{
    static const char *const cases[] = {
        ",\"allow_privileged\":true",
        ",\"images\":[]",
        ",\"images\":\"*\"",
        ",\"uid_base_min\":0",
        ",\"uid_base_min\":70000",
        ",\"uid_base_min\":1000079360,\"uid_base_max\":1000013824",
        ",\"disk_uid_base\":1000013824",
        ",\"instances_max\":0",
        ",\"cpu_milli_max\":-1",
        ",\"accel\":1",
        ",\"accel\":\"nvidia\"",
        ",\"accel\":\"vendor\",\"libraries\":\"usr/lib\"",
        ",\"writable_root\":1",
        ",\"share_over\":\"kill\"",
        ",\"share_look_ms\":1",
        ",\"mps\":\"mps\"",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        scoped_arena arena = arena_new();
        struct policy policy;
        struct error err = { 0 };

        if (parse(arena, cases[i], &policy, &err) == 0)
            fail_msg("accepted: %s", cases[i]);
        assert_int_equal(err.code, ERROR_INVALID);
    }
}

static void
paths_and_prefix_must_be_plain(void **state)
{
    static const char *const cases[][2] = {
        { "\"prefix\":\"bh\"", "\"prefix\":\"Bh\"" },
        { "\"prefix\":\"bh\"", "\"prefix\":\"../x\"" },
        { "\"prefix\":\"bh\"", "\"prefix\":\"toolongname\"" },
        { "\"prefix\":\"bh\"", "\"prefix\":\"\"" },
        { "\"/var/s\"", "\"var/s\"" },
        { "\"/var/s\"", "\"/var/../s\"" },
        { "\"/var/s\"", "\"/var/s/\"" },
        { "\"/var/s\"", "\"/var/a:b\"" },
        { "\"/var/s\"", "\"/var/a,b\"" },
        { "\"/var/s\"", "\"/\"" },
        { "\"version\":1", "\"version\":2" },
        { "\"agent_uid\":998", "\"agent_uid\":-1" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        scoped_arena arena = arena_new();
        struct policy policy;
        struct error err = { 0 };
        const char *at = strstr(BASE, cases[i][0]);
        char text[1024];
        int size;

        assert_non_null(at);
        size = snprintf(text, sizeof(text), "%.*s%s%s}", (int)(at - BASE), BASE,
                        cases[i][1], at + strlen(cases[i][0]));
        if (policy_parse(arena, text, (size_t)size, &policy, &err) == 0)
            fail_msg("accepted: %s", cases[i][1]);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_policy_is_read_with_its_defaults),
        cmocka_unit_test(a_list_of_images_allows_those_alone),
        cmocka_unit_test(what_would_weaken_a_policy_is_refused),
        cmocka_unit_test(paths_and_prefix_must_be_plain),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
