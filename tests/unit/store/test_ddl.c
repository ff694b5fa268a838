/* SPDX-License-Identifier: Apache-2.0 */
#include "store/ddl.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <string.h>

extern const char sql_0001_init_start[];

/* A field that is in the tables but not in the migration would fail at the
 * first write; `tools/make-schema` brings them together. */
static void
test_migration_holds_the_columns_of_the_tables(void **state)
{
    scoped_buffer out = { 0 };

    (void)state;
    ddl_print(&out);
    if (strcmp(buffer_text(&out), sql_0001_init_start) != 0)
        fail_msg("0001_init.sql is not what the tables say: run "
                 "tools/make-schema");
}

static void
test_history_is_inserted_and_objects_are_replaced(void **state)
{
    scoped_buffer fact = { 0 }, pool = { 0 };

    (void)state;
    ddl_print_put(&fact, KIND_FACT);
    ddl_print_put(&pool, KIND_POOL);
    assert_null(strstr(buffer_text(&fact), "ON CONFLICT"));
    assert_non_null(strstr(buffer_text(&pool), "ON CONFLICT (\"id\")"));
    assert_non_null(strstr(buffer_text(&pool), "\"live\" = 1"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_migration_holds_the_columns_of_the_tables),
        cmocka_unit_test(test_history_is_inserted_and_objects_are_replaced),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
