/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/room.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "trace/sequence.h"

#define SHAPES 130 /* more than two words of a set */

static struct shape
some_shape(uint64_t *random)
{
    static const int64_t millis[] = { 50, 190, 500, 810, 999, 1000 };
    struct shape shape = {
        .cpu_milli = 1000 * (int64_t)sequence_below(random, 8),
        .memory_mib = 512 * (int64_t)sequence_below(random, 5),
        .cards = (int64_t)sequence_below(random, 5),
        .milli = 1000,
        .kinds = sequence_below(random, 8),
    };

    if (shape.cards == 1)
        shape.milli = millis[sequence_below(random, 6)];
    return shape;
}

static struct value_node
some_node(uint64_t *random)
{
    static const int16_t frees[] = { 0, 49, 50, 500, 999, 1000, 1000 };
    struct value_node node = {
        .cpu_milli = 500 * (int64_t)sequence_below(random, 16),
        .memory_mib = 256 * (int64_t)sequence_below(random, 12),
        .kind = (int32_t)sequence_below(random, 3),
        .cards = (int32_t)sequence_below(random, 5),
    };

    for (int i = 0; i < node.cards; i++)
        node.free[i] = frees[sequence_below(random, 7)];
    return node;
}

static void
those_have_room_that_fit(void **state)
{
    scoped_arena arena = arena_new();
    struct shape shapes[SHAPES];
    uint64_t random = 3;
    int64_t fit = 0;
    struct room *room;

    (void)state;
    for (int i = 0; i < SHAPES; i++)
        shapes[i] = some_shape(&random);
    room = room_new(arena, shapes, SHAPES);
    for (int step = 0; step < 3000; step++) {
        struct value_node node = some_node(&random);
        uint64_t sets[3] = { ~(uint64_t)0, ~(uint64_t)0, ~(uint64_t)0 };

        room_of(room, &node, sets);
        for (int i = 0; i < SHAPES; i++) {
            bool has = (sets[i / 64] >> i % 64 & 1) != 0;

            assert_int_equal(has, value_fits(&node, &shapes[i]));
            fit += has;
        }
        assert_int_equal(sets[2] >> (SHAPES - 128), 0);
    }
    assert_in_range(fit, 20000, 200000);
}

static void
no_shapes_need_no_room(void **state)
{
    scoped_arena arena = arena_new();
    struct room *room = room_new(arena, NULL, 0);
    struct value_node node = { .cards = 1, .free = { 1000 } };

    (void)state;
    room_of(room, &node, NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(those_have_room_that_fit),
        cmocka_unit_test(no_shapes_need_no_room),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
