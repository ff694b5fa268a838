/* SPDX-License-Identifier: Apache-2.0 */
#include "core/heads.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct ref
card(uint32_t index)
{
    return (struct ref){ KIND_CARD, index };
}

static void
a_list_of_one_place_is_none_of_another(void **state)
{
    struct heads heads = { 0 };
    struct ref node = { KIND_NODE, 1 };

    (void)state;
    heads_put(&heads, KIND_BINDING, 0, card(1))->first = 11;
    heads_put(&heads, KIND_BINDING, 1, card(1))->first = 12;
    heads_put(&heads, KIND_BINDING, 0, node)->first = 13;
    heads_put(&heads, KIND_HOLD, 0, card(1))->first = 14;
    assert_int_equal(heads_find(&heads, KIND_BINDING, 0, card(1)).first, 11);
    assert_int_equal(heads_find(&heads, KIND_BINDING, 1, card(1)).first, 12);
    assert_int_equal(heads_find(&heads, KIND_BINDING, 0, node).first, 13);
    assert_int_equal(heads_find(&heads, KIND_HOLD, 0, card(1)).first, 14);
    assert_int_equal(heads_find(&heads, KIND_HOLD, 1, card(1)).first, 0);
    heads_release(&heads);
}

static void
a_head_stays_where_it_is_when_others_come(void **state)
{
    struct heads heads = { 0 };
    struct head *head = heads_put(&heads, KIND_HOLD, 0, card(5));

    (void)state;
    head->last = 7;
    for (uint32_t i = 1; i < 100000; i += 63)
        heads_put(&heads, KIND_HOLD, 0, card(i))->first = i;
    assert_ptr_equal(heads_put(&heads, KIND_HOLD, 0, card(5)), head);
    assert_int_equal(head->last, 7);
    for (uint32_t i = 1; i < 100000; i += 63)
        assert_int_equal(heads_find(&heads, KIND_HOLD, 0, card(i)).first, i);
    /* In a piece that is there, and in one that is not. */
    assert_int_equal(heads_find(&heads, KIND_HOLD, 0, card(6)).first, 0);
    assert_int_equal(heads_find(&heads, KIND_HOLD, 0, card(2000000)).first, 0);
    heads_release(&heads);
}

static void
a_copy_goes_its_own_way(void **state)
{
    struct heads heads = { 0 }, copy;

    (void)state;
    heads_put(&heads, KIND_HOLD, 0, card(300))->first = 1;
    heads_copy(&copy, &heads);
    heads_put(&copy, KIND_HOLD, 0, card(300))->first = 2;
    heads_put(&copy, KIND_BOOKING, 0, card(1))->first = 3;
    assert_int_equal(heads_find(&heads, KIND_HOLD, 0, card(300)).first, 1);
    assert_int_equal(heads_find(&copy, KIND_HOLD, 0, card(300)).first, 2);
    assert_int_equal(heads_find(&heads, KIND_BOOKING, 0, card(1)).first, 0);
    heads_release(&heads);
    heads_release(&copy);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_of_one_place_is_none_of_another),
        cmocka_unit_test(a_head_stays_where_it_is_when_others_come),
        cmocka_unit_test(a_copy_goes_its_own_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
