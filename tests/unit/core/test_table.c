/* SPDX-License-Identifier: Apache-2.0 */
#include "core/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const struct hash_key key = { 3, 4 };

static struct table_entry *
find(const struct table *table, int number)
{
    return table_find(table, &key, &number, sizeof(number));
}

/* Puts number -> number + 1. */
static void
put(struct table *table, int number)
{
    table_put(table, &key, &number, sizeof(number))->number =
        (size_t)number + 1;
}

static void
every_key_is_found_however_many_there_are(void **state)
{
    struct table table = { 0 };

    (void)state;
    assert_null(find(&table, 0));
    for (int i = 0; i < 5000; i++)
        put(&table, i);
    assert_int_equal(table.count, 5000);
    for (int i = 0; i < 5000; i++)
        assert_int_equal(find(&table, i)->number, i + 1);
    assert_null(find(&table, 5000));
    table_release(&table);
}

static void
a_key_that_is_put_again_keeps_its_value(void **state)
{
    struct table table = { 0 };
    int number = 9;

    (void)state;
    put(&table, number);
    assert_int_equal(table_put(&table, &key, &number, sizeof(number))->number,
                     10);
    assert_int_equal(table.count, 1);
    table_release(&table);
}

/* Removal shifts what was probed past the gap. */
static void
what_is_removed_hides_nothing_else(void **state)
{
    struct table table = { 0 };

    (void)state;
    for (int i = 0; i < 300; i++)
        put(&table, i);
    for (int i = 0; i < 300; i++) {
        table_remove(&table, find(&table, i));
        assert_null(find(&table, i));
        for (int k = i + 1; k < 300; k++)
            assert_non_null(find(&table, k));
    }
    assert_int_equal(table.count, 0);
    table_release(&table);
}

static void
a_copy_goes_its_own_way(void **state)
{
    struct table table = { 0 }, copy;

    (void)state;
    put(&table, 1);
    table_copy(&copy, &table);
    put(&copy, 2);
    table_remove(&copy, find(&copy, 1));
    assert_non_null(find(&table, 1));
    assert_null(find(&table, 2));
    table_release(&table);
    table_release(&copy);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_key_is_found_however_many_there_are),
        cmocka_unit_test(a_key_that_is_put_again_keeps_its_value),
        cmocka_unit_test(what_is_removed_hides_nothing_else),
        cmocka_unit_test(a_copy_goes_its_own_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
