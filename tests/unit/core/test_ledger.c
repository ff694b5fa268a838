/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ledger.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct ref
quota(uint32_t index)
{
    return (struct ref){ .kind = KIND_QUOTA, .index = index };
}

static void
amounts_of_a_quota_add_up(void **state)
{
    scoped_arena arena = arena_new();
    struct ledger ledger;

    (void)state;
    ledger_init(&ledger, arena);
    assert_int_equal(ledger_get(NULL, quota(1)), 0);
    assert_int_equal(ledger_get(&ledger, quota(1)), 0);
    for (uint32_t i = 1; i <= 1000; i++)
        ledger_add(&ledger, quota(i), i);
    for (uint32_t i = 1; i <= 1000; i++)
        ledger_add(&ledger, quota(i), -1);
    for (uint32_t i = 1; i <= 1000; i++)
        assert_int_equal(ledger_get(&ledger, quota(i)), i - 1);
    assert_int_equal(ledger_get(&ledger, quota(1001)), 0);
}

static void
a_copy_and_a_merge_leave_the_first_alone(void **state)
{
    scoped_arena arena = arena_new();
    struct ledger first, second, copy;

    (void)state;
    ledger_init(&first, arena);
    ledger_init(&second, arena);
    ledger_add(&first, quota(1), 5);
    ledger_add(&second, quota(1), 2);
    ledger_add(&second, quota(2), -3);
    ledger_copy(&copy, &first, arena);
    ledger_merge(&copy, &second);
    assert_int_equal(ledger_get(&copy, quota(1)), 7);
    assert_int_equal(ledger_get(&copy, quota(2)), -3);
    assert_int_equal(ledger_get(&first, quota(1)), 5);
    assert_int_equal(ledger_get(&first, quota(2)), 0);
    assert_int_equal(ledger_get(&second, quota(1)), 2);
}

static void
a_tenant_and_a_quota_of_one_index_have_lines_of_their_own(void **state)
{
    scoped_arena arena = arena_new();
    struct ref tenant = { .kind = KIND_TENANT, .index = 7 };
    struct ledger ledger, sum;

    (void)state;
    ledger_init(&ledger, arena);
    ledger_init(&sum, arena);
    ledger_add(&ledger, tenant, 400);
    ledger_add(&ledger, quota(7), 30);
    ledger_merge(&sum, &ledger);
    assert_int_equal(ledger_get(&sum, tenant), 400);
    assert_int_equal(ledger_get(&sum, quota(7)), 30);
    assert_true(ref_equal(ledger_ref(ledger_key(tenant)), tenant));
    assert_true(ref_equal(ledger_ref(ledger_key(quota(7))), quota(7)));
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(amounts_of_a_quota_add_up),
        cmocka_unit_test(a_copy_and_a_merge_leave_the_first_alone),
        cmocka_unit_test(
            a_tenant_and_a_quota_of_one_index_have_lines_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
