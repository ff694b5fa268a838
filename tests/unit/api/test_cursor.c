/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "api/cursor.h"

static const struct cursor_key key = {{1, 2}, {3, 4}};

static void
a_cursor_gives_back_its_position(void **state)
{
    (void)state;
    char text[CURSOR_TEXT_MAX];
    struct cursor_place place;
    struct error err;
    for (uint64_t i = 0; i < 1000; i++) {
        cursor_format(&key, i * 7919, &(struct cursor_place){i, i / 3}, text);
        assert_int_equal(cursor_parse(&key, text, &place, &err), 0);
        assert_int_equal(place.seq, i);
        assert_int_equal(place.slot, i / 3);
    }
}

static void
a_cursor_does_not_show_how_many_objects_there_are(void **state)
{
    (void)state;
    char one[CURSOR_TEXT_MAX], two[CURSOR_TEXT_MAX];
    cursor_format(&key, 1, &(struct cursor_place){5, 6}, one);
    cursor_format(&key, 2, &(struct cursor_place){5, 6}, two);
    assert_string_not_equal(one + 16, two + 16);
    assert_null(strstr(one, "0500000000000000"));
    assert_null(strstr(one, "0600000000000000"));
}

static void
a_changed_cursor_is_refused(void **state)
{
    (void)state;
    char text[CURSOR_TEXT_MAX];
    struct cursor_place place;
    struct error err;
    cursor_format(&key, 9, &(struct cursor_place){77, 3}, text);
    for (size_t i = 0; i < CURSOR_TEXT_MAX - 1; i++) {
        char was = text[i];
        text[i] = was == '0' ? '1' : '0';
        assert_int_equal(cursor_parse(&key, text, &place, &err), -1);
        assert_int_equal(err.code, ERROR_GONE);
        text[i] = was;
    }
    text[CURSOR_TEXT_MAX - 2] = '\0';
    assert_int_equal(cursor_parse(&key, text, &place, &err), -1);
    assert_int_equal(err.code, ERROR_INVALID);
    assert_int_equal(cursor_parse(&key, "", &place, &err), -1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cursor_gives_back_its_position),
        cmocka_unit_test(a_cursor_does_not_show_how_many_objects_there_are),
        cmocka_unit_test(a_changed_cursor_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
