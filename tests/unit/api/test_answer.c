/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "api/answer.h"

static char *
problem_text(const struct error *err)
{
    struct answer answer = {0};
    answer_problem(&answer, err, "rq_1");
    assert_string_equal(answer.type, "application/problem+json");
    assert_int_equal(answer.status, error_http_status(err->code));
    return buffer_take(&answer.body);
}

/* [A36]: whatever an error about a hidden thing says, none of it gets out. */
static void
everything_that_is_not_found_reads_the_same(void **state)
{
    (void)state;
    struct error first, second;
    error_set(&first, ERROR_NOT_FOUND, "tenant \"vision\" is not yours");
    error_help(&first, "ask bob@vision");
    error_set(&second, ERROR_NOT_FOUND, "no such id");
    char *one = problem_text(&first);
    char *two = problem_text(&second);
    assert_string_equal(one, two);
    assert_null(strstr(one, "vision"));
    free(one);
    free(two);
}

static void
an_internal_error_tells_nothing_of_the_inside(void **state)
{
    (void)state;
    struct error err;
    error_set(&err, ERROR_INTERNAL, "disk /var/lib/x is broken");
    char *text = problem_text(&err);
    assert_null(strstr(text, "/var"));
    assert_non_null(strstr(text, "\"request_id\":\"rq_1\""));
    free(text);
}

static void
a_problem_is_json_whatever_bytes_it_quotes(void **state)
{
    (void)state;
    struct error err;
    for (int byte = 1; byte < 256; byte++) {
        error_field(&err, "/name", "\"%c\" cut \xe2\x82", byte);
        char *text = problem_text(&err);
        json_t *value = json_loads(text, 0, NULL);
        assert_non_null(value);
        assert_string_equal(
            json_string_value(json_object_get(value, "field")), "/name");
        json_decref(value);
        free(text);
    }
}

static void
an_etag_is_the_version_in_quotes(void **state)
{
    (void)state;
    struct answer answer = {0};
    answer_etag(&answer, UINT64_MAX);
    assert_string_equal(answer.etag, "\"18446744073709551615\"");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_that_is_not_found_reads_the_same),
        cmocka_unit_test(an_internal_error_tells_nothing_of_the_inside),
        cmocka_unit_test(a_problem_is_json_whatever_bytes_it_quotes),
        cmocka_unit_test(an_etag_is_the_version_in_quotes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
