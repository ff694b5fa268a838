/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/id.h"
static void
an_id_is_prefix_underscore_and_26_characters(void **state)
{
    const struct id all = { UINT64_MAX, UINT64_MAX }, one = { 0, 1 };
    char text[ID_TEXT_MAX];

    (void)state;
    id_format("wl", (struct id){ 0 }, text);
    assert_string_equal(text, "wl_aaaaaaaaaaaaaaaaaaaaaaaaaa");
    id_format("tn", one, text);
    assert_string_equal(text, "tn_aaaaaaaaaaaaaaaaaaaaaaaaab");
    id_format("eightchr", all, text);
    assert_string_equal(text, "eightchr_h7777777777777777777777777");
}

static void
every_bit_survives_as_text(void **state)
{
    char text[ID_TEXT_MAX];

    (void)state;
    for (unsigned bit = 0; bit < 128; bit++) {
        struct id id = { bit >= 64 ? UINT64_C(1) << (bit - 64) : 0,
                         bit < 64 ? UINT64_C(1) << bit : 0 };
        struct id back = { 0 };

        id_format("wl", id, text);
        assert_int_equal(id_parse("wl", text, &back), 0);
        assert_true(id_equal(id, back));
    }
}

static void
assert_no_id(const char *prefix, const char *text)
{
    struct id id = { 7, 7 };

    assert_int_equal(id_parse(prefix, text, &id), -1);
    assert_true(id.hi == 7 && id.lo == 7);
}

static void
only_the_canonical_text_is_an_id(void **state)
{
    static const char good[] = "wl_habcdefghijklmnopqrstuvwxy";
    char text[64];
    struct id id;

    (void)state;
    assert_int_equal(id_parse("wl", good, &id), 0);
    assert_no_id("tn", good);
    assert_no_id("w", good);
    assert_no_id("wl_", good);
    assert_no_id("wl", "");
    assert_no_id("wl", "wl_");
    /* More than 128 bits would be a second spelling. */
    assert_no_id("wl", "wl_iabcdefghijklmnopqrstuvwxy");
    for (size_t size = 0; size < sizeof(good) - 1; size++) {
        memcpy(text, good, sizeof(good));
        text[size] = '\0';
        assert_no_id("wl", text);
    }
    for (int c = 1; c < 256; c++) {
        (void)snprintf(text, sizeof(text), "%s%c", good, c);
        assert_no_id("wl", text);
        memcpy(text, good, sizeof(good));
        text[12] = (char)c;
        if ((c >= 'a' && c <= 'z') || (c >= '2' && c <= '7'))
            assert_int_equal(id_parse("wl", text, &id), 0);
        else
            assert_no_id("wl", text);
    }
}

static void
ids_compare_by_all_their_bits(void **state)
{
    const struct id a = { 1, 9 }, b = { 2, 0 }, c = { 2, 1 };

    (void)state;
    assert_true(id_compare(a, b) < 0 && id_compare(b, a) > 0);
    assert_true(id_compare(b, c) < 0 && id_compare(c, b) > 0);
    assert_int_equal(id_compare(c, c), 0);
    assert_false(id_equal(b, c));
    assert_false(id_equal(a, (struct id){ 2, 9 }));
    assert_true(id_is_none((struct id){ 0 }));
    assert_false(id_is_none((struct id){ 0, 1 }));
    assert_false(id_is_none((struct id){ 1, 0 }));
}

static void
a_source_repeats_with_its_key_and_never_within(void **state)
{
    struct id_source one = { .key = { 1, 2 } }, two = one;
    struct id_source other = { .key = { 1, 3 } };
    struct id ids[1000];

    (void)state;
    for (size_t i = 0; i < 1000; i++) {
        ids[i] = id_next(&one);
        assert_true(id_equal(ids[i], id_next(&two)));
        assert_false(id_equal(ids[i], id_next(&other)));
        for (size_t j = 0; j < i; j++)
            assert_false(id_equal(ids[i], ids[j]));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_id_is_prefix_underscore_and_26_characters),
        cmocka_unit_test(every_bit_survives_as_text),
        cmocka_unit_test(only_the_canonical_text_is_an_id),
        cmocka_unit_test(ids_compare_by_all_their_bits),
        cmocka_unit_test(a_source_repeats_with_its_key_and_never_within),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
