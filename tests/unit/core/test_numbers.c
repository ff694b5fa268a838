/* SPDX-License-Identifier: Apache-2.0 */
#include "core/numbers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"

#define UID_FIRST INT64_C(1000013824)
#define UIDS 50000
#define ADDRESSES 64999

static const struct ref one = { KIND_TENANT, 1 };
static const struct ref other = { KIND_TENANT, 40 };

static int64_t
uid(int64_t slot)
{
    return UID_FIRST + slot * 65536;
}

static void
the_smallest_that_is_free_is_given(void **state)
{
    scoped_arena arena = arena_new();
    struct numbers numbers;

    (void)state;
    numbers_init(&numbers, arena);
    assert_int_equal(numbers_uid(&numbers, 0), uid(0));
    assert_int_equal(numbers_address(&numbers, one, 0), 2);
    for (int64_t i = 0; i < 5000; i++)
        numbers_mark(&numbers, one, uid(i), i + 2, true);
    assert_int_equal(numbers_uid(&numbers, 0), uid(5000));
    assert_int_equal(numbers_address(&numbers, one, 0), 5002);
    /* Each tenant has addresses of its own. */
    assert_int_equal(numbers_address(&numbers, other, 0), 2);
    numbers_mark(&numbers, one, uid(4097), 4099, false);
    numbers_mark(&numbers, one, uid(70), 72, false);
    assert_int_equal(numbers_uid(&numbers, 0), uid(70));
    assert_int_equal(numbers_uid(&numbers, uid(70)), uid(4097));
    assert_int_equal(numbers_uid(&numbers, uid(4097)), uid(5000));
    assert_int_equal(numbers_address(&numbers, one, 72), 4099);
    assert_int_equal(numbers_address(&numbers, one, 4099), 5002);
    assert_int_equal(numbers_address(&numbers, one, 6000), 6001);
}

static void
nothing_is_given_beyond_the_last(void **state)
{
    scoped_arena arena = arena_new();
    struct numbers numbers;

    (void)state;
    numbers_init(&numbers, arena);
    for (int64_t i = 0; i < UIDS; i++)
        numbers_mark(&numbers, one, uid(i), i + 2, true);
    assert_int_equal(numbers_uid(&numbers, 0), -1);
    assert_false(numbers_has(&numbers, other, 1));
    numbers_mark(&numbers, one, uid(UIDS - 1), UIDS + 1, false);
    assert_int_equal(numbers_uid(&numbers, 0), uid(UIDS - 1));
    assert_int_equal(numbers_uid(&numbers, uid(UIDS - 1)), -1);
    assert_true(numbers_has(&numbers, other, 1));
    assert_false(numbers_has(&numbers, other, 2));
    assert_int_equal(numbers_address(&numbers, other, ADDRESSES),
                     ADDRESSES + 1);
    assert_int_equal(numbers_address(&numbers, other, ADDRESSES + 1), -1);
}

/* Beside a plain list of what is taken. */
static void
random_marks_agree_with_a_list(void **state)
{
    scoped_arena arena = arena_new();
    static bool taken[UIDS];
    struct numbers numbers;
    uint32_t random = 1;

    (void)state;
    memset(taken, 0, sizeof(taken));
    numbers_init(&numbers, arena);
    for (int i = 0; i < 20000; i++) {
        int64_t slot, want;

        random = random * 1664525U + 1013904223U;
        slot = (int64_t)(random >> 8) % (i % 2 == 0 ? 300 : UIDS);
        taken[slot] = !taken[slot];
        numbers_mark(&numbers, one, uid(slot), slot + 2, taken[slot]);
        if (i % 16 != 0)
            continue;
        for (want = 0; want < UIDS && taken[want]; want++)
            continue;
        assert_int_equal(numbers_uid(&numbers, 0), uid(want));
        assert_int_equal(numbers_address(&numbers, one, 0), want + 2);
        for (want = slot + 1; want < UIDS && taken[want]; want++)
            continue;
        assert_int_equal(numbers_uid(&numbers, uid(slot)),
                         want < UIDS ? uid(want) : -1);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_smallest_that_is_free_is_given),
        cmocka_unit_test(nothing_is_given_beyond_the_last),
        cmocka_unit_test(random_marks_agree_with_a_list),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
