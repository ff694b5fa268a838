/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/screen.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>
#include <string.h>

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static void
cleaned(const char *text, const char *expected)
{
    scoped_buffer out = { 0 };

    screen_clean(&out, text);
    assert_string_equal(buffer_text(&out), expected);
}

static void
plain_text_of_any_script_passes(void **state)
{
    static const char *const texts[] = {
        "", "a b~", "\xc3\xa4\xc3\x9f", "\xe6\x97\xa5", "\xf0\x9f\x98\x80",
        "\xc2\xa0", "\xf4\x8f\xbf\xbf",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++)
        cleaned(texts[i], texts[i]);
}

static void
what_drives_a_terminal_or_turns_text_does_not_pass(void **state)
{
    (void)state;
    cleaned("a\033[2Jb", "a?[2Jb");
    cleaned("\x01\x1f\x7f\r", "????");
    cleaned("a\nb\tc", "a b c");
    cleaned("\xc2\x80\xc2\x9b\xc2\x9f", "???");          /* C1 */
    cleaned("\xe2\x80\xae\xe2\x81\xa6\xd8\x9c", "???");   /* direction */
    cleaned("\xe2\x80\xa8\xe2\x80\xa9\xef\xbb\xbf", "???"); /* lines, BOM */
}

static void
what_is_not_utf8_does_not_pass(void **state)
{
    (void)state;
    cleaned("\xff", "?");
    cleaned("\x9b", "?");
    cleaned("\xc0\x9b", "??");         /* overlong */
    cleaned("\xe0\x82\x9b", "???");    /* overlong C1 */
    cleaned("\xed\xa0\x80", "???");    /* surrogate */
    cleaned("\xf4\x90\x80\x80", "????"); /* beyond the last */
    cleaned("a\xc3", "a?");
    cleaned("\xe6\x97z", "??z");
}

static void
a_stream_gives_the_same_however_it_is_cut(void **state)
{
    static const char text[] = "a\n\tb\033\xc2\x9b\xc3\xa4\xe2\x80\xae"
                               "\xf0\x9f\x98\x80\xff\xe6zz\r\n";
    static const char expected[] = "a\n\tb??\xc3\xa4?\xf0\x9f\x98\x80??zz?\n";
    size_t size = sizeof(text) - 1;

    (void)state;
    for (size_t piece = 1; piece <= size; piece++) {
        struct screen_stream stream = { 0 };
        scoped_buffer out = { 0 };

        for (size_t at = 0; at < size; at += piece)
            screen_pass(&stream, text + at,
                        size - at < piece ? size - at : piece, &out);
        assert_string_equal(buffer_text(&out), expected);
    }
}

static void
a_serializers_text_keeps_its_value(void **state)
{
    static const char json[] = "{\n  \"a\": \"\xc2\x9b\xe2\x80\xae\x7f"
                               "\xc3\xa4\\u001b\"\n}";
    scoped_buffer out = { 0 };

    (void)state;
    screen_escape(&out, json, sizeof(json) - 1);
    assert_string_equal(buffer_text(&out),
                        "{\n  \"a\": \"\\u009b\\u202e\\u007f\xc3\xa4"
                        "\\u001b\"\n}");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_text_of_any_script_passes),
        cmocka_unit_test(what_drives_a_terminal_or_turns_text_does_not_pass),
        cmocka_unit_test(what_is_not_utf8_does_not_pass),
        cmocka_unit_test(a_stream_gives_the_same_however_it_is_cut),
        cmocka_unit_test(a_serializers_text_keeps_its_value),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
