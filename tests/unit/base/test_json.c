/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
static json_t *
read_text(const char *text)
{
    struct error err = { 0 };
    json_t *value = json_read(text, strlen(text), &err);

    if (value == NULL)
        assert_int_not_equal(err.code, ERROR_NONE);
    else
        assert_int_equal(err.code, ERROR_NONE);
    return value;
}

static void
assert_refused(const char *text)
{
    assert_null(read_text(text));
}

static void
assert_accepted(const char *text, const char *canonical)
{
    scoped_json value = read_text(text);
    scoped_buffer written = { 0 };

    assert_non_null(value);
    json_write(&written, value);
    assert_string_equal(buffer_text(&written), canonical);
}

static void
values_of_every_kind_are_read_and_written_canonically(void **state)
{
    (void)state;
    assert_accepted(" {\"b\": [1, -2, true, false, null], \"a\": \"x\"} ",
                    "{\"a\":\"x\",\"b\":[1,-2,true,false,null]}");
    assert_accepted("7", "7");
    assert_accepted("\"\"", "\"\"");
    assert_accepted("null", "null");
    assert_accepted("{}", "{}");
    assert_accepted("\"\\u00e9\\ud83d\\ude00\"",
                    "\"\xC3\xA9\xF0\x9F\x98\x80\"");
    assert_accepted("9223372036854775807", "9223372036854775807");
    assert_accepted("-9223372036854775808", "-9223372036854775808");
}

static void
what_is_not_json_is_refused(void **state)
{
    static const char *const wrong[] = {
        "",       " ",       "{",        "}",         "[1,]",    "{\"a\":}",
        "{a:1}",  "'a'",     "01",       "+1",        "1 2",     "{} {}",
        "nul",    "NaN",     "Infinity", "\"a",       "\"\t\"",  "\"\\x\"",
        "[1] //", "\xEF\xBB\xBF{}",      "{\"a\" 1}", "\"\\ud800\"", "\\[",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_refused(wrong[i]);
}

static void
duplicate_keys_are_refused_at_every_level(void **state)
{
    (void)state;
    assert_refused("{\"a\":1,\"a\":1}");
    assert_refused("{\"a\":1,\"\\u0061\":2}");
    assert_refused("[{\"x\":{\"a\":1,\"b\":2,\"a\":3}}]");
}

static void
reals_and_huge_integers_are_refused(void **state)
{
    (void)state;
    assert_refused("1.0");
    assert_refused("1e3");
    assert_refused("[[{\"a\":[0.5]}]]");
    assert_refused("9223372036854775808");
    assert_refused("-9223372036854775809");
    assert_refused("99999999999999999999999999");
}

static void
nul_and_invalid_utf8_are_refused(void **state)
{
    struct error err;

    (void)state;
    assert_refused("\"\\u0000\"");
    assert_refused("{\"\\u0000\":1}");
    assert_refused("\"\xFF\"");
    assert_refused("\"\xC0\xAF\"");
    assert_refused("\"\xED\xA0\x80\"");
    assert_refused("\"\xF4\x90\x80\x80\"");
    assert_null(json_read("\"a\0b\"", 5, &err));
    assert_null(json_read("{}\0", 3, &err));
}

static void
nest(char *text, const char *open, const char *middle, const char *close,
     int depth)
{
    scoped_buffer out = { 0 };

    for (int i = 0; i < depth; i++)
        buffer_add_text(&out, open);
    buffer_add_text(&out, middle);
    for (int i = 0; i < depth; i++)
        buffer_add_text(&out, close);
    memcpy(text, out.bytes, out.size + 1);
}

static void
nesting_ends_at_the_limit(void **state)
{
    char text[8192];

    (void)state;
    nest(text, "[", "1", "]", JSON_DEPTH_MAX);
    assert_accepted(text, text);
    nest(text, "[", "1", "]", JSON_DEPTH_MAX + 1);
    assert_refused(text);
    nest(text, "{\"a\":", "1", "}", JSON_DEPTH_MAX);
    assert_accepted(text, text);
    nest(text, "{\"a\":", "1", "}", JSON_DEPTH_MAX + 1);
    assert_refused(text);
    nest(text, "[", "", "", 8000);
    assert_refused(text);
    /* Brackets in text are text, quotes in text do not end it. */
    assert_accepted("[\"[[[[[[[[[[[[[[[[[[[[\\\"[[\\\\\"]",
                    "[\"[[[[[[[[[[[[[[[[[[[[\\\"[[\\\\\"]");
    /* Closed levels do not count. */
    assert_accepted("[[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[]]",
                    "[[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[]]");
}

static void
size_ends_at_the_limit(void **state)
{
    char *text = malloc(JSON_SIZE_MAX + 2);
    struct error err = { 0 };
    json_t *value;

    (void)state;
    assert_non_null(text);
    memset(text, ' ', JSON_SIZE_MAX + 2);
    text[0] = '1';
    value = json_read(text, JSON_SIZE_MAX, &err);
    assert_non_null(value);
    json_decref(value);
    assert_null(json_read(text, JSON_SIZE_MAX + 1, &err));
    assert_int_equal(err.code, ERROR_TOO_LARGE);
    free(text);
}

static void
unknown_fields_are_named(void **state)
{
    static const char *const keys[] = { "name", "cards", NULL };
    scoped_json good = read_text("{\"cards\":1}");
    scoped_json bad = read_text("{\"name\":1,\"crads\":1}");
    scoped_json list = read_text("[1]");
    struct error err = { 0 };

    (void)state;
    assert_int_equal(json_only(good, keys, &err), 0);
    assert_int_equal(json_only(NULL, keys, &err), 0);
    assert_int_equal(json_only(bad, keys, &err), -1);
    assert_string_equal(err.field, "/crads");
    assert_int_equal(json_only(list, keys, &err), -1);
    assert_int_equal(err.code, ERROR_INVALID);
}

static void
typed_readers_take_their_type_and_range_only(void **state)
{
    scoped_json object = read_text("{\"t\":\"word\",\"i\":5,\"b\":true,"
                                   "\"n\":null,\"o\":{}}");
    struct error err = { 0 };
    const char *text = "kept";
    int64_t number = 77;
    bool flag = false;

    (void)state;
    assert_int_equal(json_text(object, "t", true, 4, &text, &err), 0);
    assert_string_equal(text, "word");
    text = "kept";
    assert_int_equal(json_text(object, "t", true, 3, &text, &err), -1);
    assert_string_equal(err.field, "/t");
    assert_int_equal(json_text(object, "i", false, 9, &text, &err), -1);
    assert_int_equal(json_text(object, "n", false, 9, &text, &err), 0);
    assert_int_equal(json_text(object, "x", false, 9, &text, &err), 0);
    assert_int_equal(json_text(object, "n", true, 9, &text, &err), -1);
    assert_int_equal(json_text(object, "x", true, 9, &text, &err), -1);
    assert_string_equal(err.field, "/x");
    assert_string_equal(text, "kept");

    assert_int_equal(json_int(object, "i", true, 6, 9, &number, &err), -1);
    assert_int_equal(json_int(object, "i", true, 1, 4, &number, &err), -1);
    assert_int_equal(json_int(object, "t", true, 1, 9, &number, &err), -1);
    assert_int_equal(json_int(object, "b", true, 0, 9, &number, &err), -1);
    assert_int_equal(number, 77);
    assert_int_equal(json_int(object, "i", true, 5, 5, &number, &err), 0);
    assert_int_equal(number, 5);

    assert_int_equal(json_bool(object, "i", true, &flag, &err), -1);
    assert_int_equal(json_bool(object, "t", true, &flag, &err), -1);
    assert_false(flag);
    assert_int_equal(json_bool(object, "b", true, &flag, &err), 0);
    assert_true(flag);
}

static void
quoted_text_reads_back_and_cannot_break_out(void **state)
{
    scoped_buffer quoted = { 0 };
    scoped_json value = NULL;
    char text[128];

    (void)state;
    for (int i = 0; i < 127; i++)
        text[i] = (char)(i + 1);
    text[127] = '\0';
    json_quote(&quoted, text);
    value = read_text(quoted.bytes);
    assert_non_null(value);
    assert_string_equal(json_string_value(value), text);
    assert_null(strchr(quoted.bytes, '\n'));
}

static void
quoting_replaces_what_is_not_utf8(void **state)
{
    static const struct {
        const char *text, *quoted;
    } cases[] = {
        { "\xC3\xA9", "\"\xC3\xA9\"" },
        { "\xF0\x9F\x98\x80", "\"\xF0\x9F\x98\x80\"" },
        { "a\xC3", "\"a\xEF\xBF\xBD\"" },
        { "\xC3\"", "\"\xEF\xBF\xBD\\\"\"" },
        { "\xC0\x80", "\"\xEF\xBF\xBD\xEF\xBF\xBD\"" },
        { "\xE2\x96", "\"\xEF\xBF\xBD\xEF\xBF\xBD\"" },
        { "\xED\xA0\x80", "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"" },
        { "\xF5\x80", "\"\xEF\xBF\xBD\xEF\xBF\xBD\"" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        scoped_buffer quoted = { 0 };
        scoped_json value = NULL;

        json_quote(&quoted, cases[i].text);
        assert_string_equal(buffer_text(&quoted), cases[i].quoted);
        value = read_text(quoted.bytes);
        assert_non_null(value);
    }
}

static void
a_time_is_text_or_null(void **state)
{
    scoped_json unset = json_time(0);
    scoped_json time = json_time(INT64_C(1798761600000));

    (void)state;
    assert_true(json_is_null(unset));
    assert_memory_equal(json_string_value(time), "2027-01-01T00:00:00", 19);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_time_is_text_or_null),
        cmocka_unit_test(
            values_of_every_kind_are_read_and_written_canonically),
        cmocka_unit_test(what_is_not_json_is_refused),
        cmocka_unit_test(duplicate_keys_are_refused_at_every_level),
        cmocka_unit_test(reals_and_huge_integers_are_refused),
        cmocka_unit_test(nul_and_invalid_utf8_are_refused),
        cmocka_unit_test(nesting_ends_at_the_limit),
        cmocka_unit_test(size_ends_at_the_limit),
        cmocka_unit_test(unknown_fields_are_named),
        cmocka_unit_test(typed_readers_take_their_type_and_range_only),
        cmocka_unit_test(quoted_text_reads_back_and_cannot_break_out),
        cmocka_unit_test(quoting_replaces_what_is_not_utf8),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
