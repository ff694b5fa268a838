/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdalign.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
static void
memory_is_zeroed_and_aligned_for_any_type(void **state)
{
    static const size_t sizes[] = { 0, 1, 7, 16, 4095, 16384, 16385, 100000 };
    static const unsigned char zeros[100000];
    scoped_arena arena = arena_new();

    (void)state;
    for (size_t round = 0; round < 20; round++)
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
            unsigned char *memory = arena_alloc(arena, sizes[i]);

            assert_int_equal((uintptr_t)memory % alignof(max_align_t), 0);
            assert_memory_equal(memory, zeros, sizes[i]);
            memset(memory, 0xA5, sizes[i]);
        }
}

static void
pieces_do_not_overlap(void **state)
{
    scoped_arena arena = arena_new();
    unsigned char *pieces[500];

    (void)state;
    for (size_t i = 0; i < 500; i++) {
        pieces[i] = arena_alloc(arena, i);
        memset(pieces[i], (int)(i % 251), i);
    }
    for (size_t i = 0; i < 500; i++)
        for (size_t j = 0; j < i; j++)
            assert_int_equal(pieces[i][j], i % 251);
}

static void
empty_pieces_are_distinct(void **state)
{
    scoped_arena arena = arena_new();
    const char *first = arena_alloc(arena, 0);
    const char *second = arena_alloc(arena, 0);

    (void)state;
    assert_ptr_not_equal(first, second);
}

static void
texts_are_copied(void **state)
{
    scoped_arena arena = arena_new();
    char text[] = "card";
    char *copy = arena_strdup(arena, text);

    (void)state;
    text[0] = 'X';
    assert_string_equal(copy, "card");
    assert_string_equal(arena_strndup(arena, "cardinal", 4), "card");
    assert_string_equal(arena_strndup(arena, NULL, 0), "");
    assert_string_equal(arena_printf(arena, "%s-%03d", "gpu", 7), "gpu-007");
    assert_int_equal(strlen(arena_printf(arena, "%50000d", 1)), 50000);
}

static void
nothing_is_freed_twice(void **state)
{
    (void)state;
    arena_free(NULL);
    arena_free(arena_new());
}

static void
memory_that_grows_keeps_its_content(void **state)
{
    int *numbers = memory_new(4, sizeof(*numbers));

    (void)state;
    for (int i = 0; i < 4; i++)
        assert_int_equal(numbers[i], 0);
    numbers[3] = 42;
    numbers = memory_grow(numbers, 4000, sizeof(*numbers));
    assert_int_equal(numbers[3], 42);
    free(numbers);
    free(memory_new(0, 0));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_zeroed_and_aligned_for_any_type),
        cmocka_unit_test(pieces_do_not_overlap),
        cmocka_unit_test(empty_pieces_are_distinct),
        cmocka_unit_test(texts_are_copied),
        cmocka_unit_test(nothing_is_freed_twice),
        cmocka_unit_test(memory_that_grows_keeps_its_content),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
