/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
static void
error_set_fills_code_and_text_and_clears_the_rest(void **state)
{
    struct error err = { .field = "/old", .help = "old" };

    (void)state;
    assert_int_equal(error_set(&err, ERROR_QUOTA, "%d of %d", 3, 2), -1);
    assert_int_equal(err.code, ERROR_QUOTA);
    assert_string_equal(err.text, "3 of 2");
    assert_string_equal(err.field, "");
    assert_string_equal(err.help, "");
}

static void
error_field_names_the_field(void **state)
{
    struct error err = { .help = "old" };

    (void)state;
    assert_int_equal(error_field(&err, "/cards", "is %d", -1), -1);
    assert_int_equal(err.code, ERROR_INVALID);
    assert_string_equal(err.field, "/cards");
    assert_string_equal(err.text, "is -1");
    assert_string_equal(err.help, "");
}

static void
help_and_prefix_keep_what_is_set(void **state)
{
    struct error err;

    (void)state;
    (void)error_field(&err, "/name", "too long");
    assert_int_equal(error_help(&err, "at most %d", 63), -1);
    assert_int_equal(error_prefix(&err, "create %s", "project"), -1);
    assert_int_equal(err.code, ERROR_INVALID);
    assert_string_equal(err.text, "create project: too long");
    assert_string_equal(err.field, "/name");
    assert_string_equal(err.help, "at most 63");
}

static void
long_texts_are_cut_and_end(void **state)
{
    char text[2 * ERROR_TEXT_MAX];
    struct error err;

    (void)state;
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    (void)error_field(&err, text, "%s", text);
    (void)error_help(&err, "%s", text);
    assert_int_equal(strlen(err.text), ERROR_TEXT_MAX - 1);
    assert_int_equal(strlen(err.field), ERROR_FIELD_MAX - 1);
    assert_int_equal(strlen(err.help), ERROR_HELP_MAX - 1);
    (void)error_prefix(&err, "step");
    assert_int_equal(strlen(err.text), ERROR_TEXT_MAX - 1);
    assert_memory_equal(err.text, "step: xxx", 9);
    (void)error_prefix(&err, "%s", text);
    assert_int_equal(strlen(err.text), ERROR_TEXT_MAX - 1);
}

static void
every_code_has_a_text_of_its_own_and_leads_back(void **state)
{
    (void)state;
    for (unsigned i = 0; i < ERROR_CODE_COUNT; i++) {
        const char *text = error_code_text((enum error_code)i);

        assert_true(strlen(text) > 0);
        assert_true(strlen(error_code_title((enum error_code)i)) > 0);
        assert_int_equal(error_code_parse(text), i);
        for (unsigned j = 0; j < i; j++)
            assert_string_not_equal(text,
                                    error_code_text((enum error_code)j));
    }
    assert_int_equal(error_code_parse("no such code"), ERROR_INTERNAL);
    assert_int_equal(error_code_parse(""), ERROR_INTERNAL);
}

static void
failures_have_http_statuses_and_exit_codes_of_failures(void **state)
{
    (void)state;
    assert_int_equal(error_http_status(ERROR_NONE), 200);
    assert_int_equal(error_exit_code(ERROR_NONE), 0);
    for (unsigned i = ERROR_NONE + 1; i < ERROR_CODE_COUNT; i++) {
        int status = error_http_status((enum error_code)i);
        int code = error_exit_code((enum error_code)i);

        assert_true(status >= 400 && status < 600);
        assert_true(code > 0 && code < 256);
    }
    assert_int_equal(error_http_status(ERROR_NOT_FOUND), 404);
    assert_int_equal(error_exit_code(ERROR_VERIFY), 9);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(error_set_fills_code_and_text_and_clears_the_rest),
        cmocka_unit_test(error_field_names_the_field),
        cmocka_unit_test(help_and_prefix_keep_what_is_set),
        cmocka_unit_test(long_texts_are_cut_and_end),
        cmocka_unit_test(every_code_has_a_text_of_its_own_and_leads_back),
        cmocka_unit_test(
            failures_have_http_statuses_and_exit_codes_of_failures),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
