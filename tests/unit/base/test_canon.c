/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/canon.h"
#include "base/json.h"

/* Is text written as jansson writes it, or refused as jansson refuses it? */
static void
assert_text(const char *text)
{
    scoped_buffer quick = { 0 }, tree = { 0 };
    scoped_json value = json_string(text);
    bool written = canon_text(&quick, text);

    assert_int_equal(written, value != NULL);
    if (value != NULL)
        json_write(&tree, value);
    assert_string_equal(buffer_text(&quick), buffer_text(&tree));
}

static void
texts_are_escaped_as_the_tree_writer_does(void **state)
{
    (void)state;
    for (int a = 0; a < 256; a++)
        for (int b = 0; b < 256; b++)
            assert_text((char[]){ (char)a, (char)b, 'x', '\0' });
    assert_text("");
    assert_text("\xe2\x82\xac and \xf0\x9f\x9a\xa2");
    assert_text("cut \xe2\x82");
}

static void
assert_int(int64_t value, const char *text)
{
    scoped_buffer out = { 0 };

    canon_int(&out, value);
    assert_string_equal(buffer_text(&out), text);
}

static void
numbers_and_times_are_written_whole(void **state)
{
    scoped_buffer out = { 0 };

    (void)state;
    assert_int(0, "0");
    assert_int(-1, "-1");
    assert_int(1005, "1005");
    assert_int(INT64_MAX, "9223372036854775807");
    assert_int(INT64_MIN, "-9223372036854775808");
    canon_time(&out, 0);
    canon_time(&out, 1796033730007);
    assert_string_equal(buffer_text(&out),
                        "null\"2026-11-30T10:15:30.007Z\"");
}

static bool
check(const char *text)
{
    return canon_check(text, strlen(text));
}

static void
canonical_documents_are_known_and_others_are_not(void **state)
{
    static const char *const good[] = {
        "null", "true", "false", "0", "-5", "[]", "{}", "\"a b\"",
        "{\"a\":1,\"aa\":[1,\"x\",null],\"b\":{\"c\":true}}",
    };
    static const char *const bad[] = {
        "",          " 1",         "1 ",         "01",
        "-0",        "-",          "1.5",        "1e3",
        "[1,]",      "[1 ,2]",     "{\"a\":}",   "{\"b\":1,\"a\":2}",
        "nul",       "\"a",        "{\"a\":1,\"a\":2}",
        "{\"a\"}",   "[1}",        "\"\\u0041\"", "{a:1}",
        "12345678901234567890",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
        assert_true(check(good[i]));
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_false(check(bad[i]));
    assert_false(canon_check("[1]", 2));
}

static void
whatever_passes_is_what_the_tree_writer_makes(void **state)
{
    static const char from[] =
        "{\"args\":[\"train\",\"--steps\",\"1000\"],\"env\":{\"A\":\"1\","
        "\"B\":null},\"n\":-12,\"t\":true}";
    static const char bytes[] = "{}[]\",:01-9aAtfn\\ \x80\x01";
    unsigned passed = 0;

    (void)state;
    for (int i = 0; i < 200000; i++) {
        char text[sizeof(from)];
        scoped_buffer out = { 0 };
        scoped_json value = NULL;

        memcpy(text, from, sizeof(from));
        for (int n = i % 4; n >= 0; n--)
            text[((unsigned)i * 2654435761u + (unsigned)n * 97u) %
                 (sizeof(from) - 1)] =
                bytes[(unsigned)(i / 7 + n * 5) % (sizeof(bytes) - 1)];
        if (!canon_check(text, sizeof(text) - 1))
            continue;
        passed++;
        value = json_loadb(text, sizeof(text) - 1, JSON_DECODE_ANY, NULL);
        assert_non_null(value);
        json_write(&out, value);
        assert_int_equal(out.size, sizeof(text) - 1);
        assert_memory_equal(out.bytes, text, out.size);
    }
    assert_true(passed > 1000);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_escaped_as_the_tree_writer_does),
        cmocka_unit_test(numbers_and_times_are_written_whole),
        cmocka_unit_test(canonical_documents_are_known_and_others_are_not),
        cmocka_unit_test(whatever_passes_is_what_the_tree_writer_makes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
