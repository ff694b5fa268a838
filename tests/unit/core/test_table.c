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

/* A hash that mixed parts of ids would let somebody who sees them ask for one
 * that meets another's. */
static void
ids_meet_only_when_they_are_equal(void **state)
{
    const struct id one = { 0x0123456789abcdef, 0xfedcba9876543210 };
    struct table_hash base = table_id_hash(&key, one, 5);

    (void)state;
    for (int bit = 0; bit < 128; bit++) {
        struct id other = one;
        struct table_hash hash;

        if (bit < 64)
            other.lo ^= UINT64_C(1) << bit;
        else
            other.hi ^= UINT64_C(1) << (bit - 64);
        hash = table_id_hash(&key, other, 5);
        assert_true(hash.hi != base.hi || hash.lo != base.lo);
    }
    for (uint64_t part = 0; part < 100; part++) {
        struct table_hash hash = table_id_hash(&key, one, part);

        assert_int_equal(hash.hi == base.hi && hash.lo == base.lo, part == 5);
    }
}

static void
an_id_is_found_by_what_it_is(void **state)
{
    struct table table = { 0 };
    struct id id = { 7, 8 };

    (void)state;
    table_put_hash(&table, table_id_hash(&key, id, 1))->number = 3;
    assert_int_equal(
        table_find_hash(&table, table_id_hash(&key, id, 1))->number, 3);
    assert_null(table_find_hash(&table, table_id_hash(&key, id, 2)));
    id.lo = 9;
    assert_null(table_find_hash(&table, table_id_hash(&key, id, 1)));
    table_release(&table);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_key_is_found_however_many_there_are),
        cmocka_unit_test(a_key_that_is_put_again_keeps_its_value),
        cmocka_unit_test(what_is_removed_hides_nothing_else),
        cmocka_unit_test(a_copy_goes_its_own_way),
        cmocka_unit_test(ids_meet_only_when_they_are_equal),
        cmocka_unit_test(an_id_is_found_by_what_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
