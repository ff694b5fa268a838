/* SPDX-License-Identifier: Apache-2.0 */
/* Stores of other versions: older ones are brought forward, the next one is
 * worked on as it is, all others are refused with a way out. */
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <dirent.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "store/row.h"
#include "store/store.h"
#include "store/store_sqlite.h"
#include "tests/unit/scratch.h"

#define FIXTURES "tests/store/fixtures"
#define FIXTURE_MAX ((size_t)4 * 1024 * 1024)

struct place {
    char where[SCRATCH_MAX];
    char path[SCRATCH_MAX + 16];
};

static int
setup(void **state)
{
    static struct place place;

    scratch_make(place.where, "migrate");
    (void)snprintf(place.path, sizeof(place.path), "%s/" SQLITE_FILE,
                   place.where);
    *state = &place;
    return 0;
}

static int
teardown(void **state)
{
    const struct place *place = *state;

    scratch_remove(place->where);
    return 0;
}

static void
run(const struct place *place, const char *sql)
{
    sqlite3 *db = NULL;
    char *why = NULL;

    assert_int_equal(sqlite3_open(place->path, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK)
        fail_msg("%.80s: %s", sql, why);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void
create(const struct place *place)
{
    struct store *store;
    struct error err;

    if (store_open(&store_sqlite, place->where, &store, &err) != 0)
        fail_msg("%s", err.text);
    store_close(store);
}

static void
assert_refused(const struct place *place, const char *says)
{
    struct store *store = NULL;
    struct error err = { 0 };

    assert_int_equal(store_open(&store_sqlite, place->where, &store, &err),
                     -1);
    assert_int_equal(err.code, ERROR_UNSUPPORTED);
    if (strstr(err.text, says) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", err.text, says);
}

static int
count_row(void *context, const struct value *values, struct error *err)
{
    (void)values;
    (void)err;
    (*(size_t *)context)++;
    return 0;
}

static size_t
count_kept(struct store_reader *reader, enum kind kind)
{
    struct store_query query = { .kind = kind };
    struct error err;
    size_t count = 0;

    if (schema_get(kind)->life == LIFE_OBJECT)
        store_where_text(&query, "name", STORE_EQUAL, "kept");
    if (store_select(reader, &query, count_row, &count, &err) != 0)
        fail_msg("%s", err.text);
    return count;
}

static int
take_seq(void *context, const struct store_counter *counter,
         struct error *err)
{
    (void)err;
    if (strcmp(counter->name, "seq") == 0)
        *(int64_t *)context = counter->value;
    return 0;
}

/* A kind that came later is not in an older fixture: its table is there all
 * the same. */
static void
check_fixture(const struct place *place, const char *name)
{
    char path[300];
    scoped_buffer sql = { 0 };
    struct store_reader *reader;
    struct error err;
    size_t kinds = 0;
    int64_t seq = 0;

    (void)snprintf(path, sizeof(path), FIXTURES "/%s", name);
    assert_int_equal(file_read(path, FIXTURE_MAX, &sql, &err), 0);
    run(place, buffer_text(&sql));
    create(place);
    if (store_reader_open(&store_sqlite, place->where, &reader, &err) != 0)
        fail_msg("%s", err.text);
    for (unsigned kind = KIND_NONE + 1; kind < KIND_COUNT; kind++)
        kinds += count_kept(reader, (enum kind)kind);
    assert_int_equal(store_counters(reader, take_seq, &seq, &err), 0);
    store_reader_close(reader);
    assert_int_equal(seq, 7);
    /* The first release has thirty kinds; none of them is ever lost. */
    assert_true(kinds >= 30);
}

static void
every_released_schema_is_brought_to_the_newest(void **state)
{
    const struct place *place = *state;
    struct dirent **list = NULL;
    int count = scandir(FIXTURES, &list, NULL, alphasort);
    int64_t checked = 0;

    assert_true(count > 0);
    for (int i = 0; i < count; i++) {
        if (strstr(list[i]->d_name, ".sql") != NULL) {
            (void)remove(place->path);
            check_fixture(place, list[i]->d_name);
            checked++;
        }
        free(list[i]);
    }
    free((void *)list);
    /* None is missing. */
    assert_int_equal(checked, sqlite_schema_known());
}

static void
the_version_before_works_on_a_schema_that_is_newer_by_one(void **state)
{
    const struct place *place = *state;
    struct value values[64] = { { 0 } };
    struct store_row row = { KIND_POOL, STORE_PUT, values, NULL };
    const struct store_counter counter = { .name = "seq", .value = 9 };
    struct store_position position;
    struct store *store;
    struct error err;
    char sql[200];

    create(place);
    (void)snprintf(sql, sizeof(sql),
                   "ALTER TABLE pool ADD COLUMN colour TEXT DEFAULT 'grey';"
                   "ALTER TABLE counter ADD COLUMN unit TEXT;"
                   "CREATE TABLE later (id TEXT);"
                   "PRAGMA user_version = %lld",
                   (long long)sqlite_schema_known() + 1);
    run(place, sql);
    if (store_open(&store_sqlite, place->where, &store, &err) != 0 ||
        store_position(store, &position, &err) != 0)
        fail_msg("%s", err.text);
    values[row_column(KIND_POOL, "id")] =
        (struct value){ .type = VALUE_TEXT, .text = "po_a" };
    values[row_column(KIND_POOL, "name")] =
        (struct value){ .type = VALUE_TEXT, .text = "kept" };
    if (store_commit(store, position.epoch, position.revision, &row, 1,
                     &counter, 1, &err) != 0)
        fail_msg("%s", err.text);
    store_close(store);
    /* It stays newer: the next version needs no second migration. */
    (void)snprintf(sql, sizeof(sql),
                   "SELECT CASE WHEN (SELECT user_version FROM "
                   "pragma_user_version) = %lld AND (SELECT colour FROM pool "
                   "WHERE name = 'kept') = 'grey' THEN 1 ELSE "
                   "abs(-9223372036854775807 - 1) END",
                   (long long)sqlite_schema_known() + 1);
    run(place, sql);
}

static void
a_schema_that_is_newer_by_two_is_refused(void **state)
{
    const struct place *place = *state;
    char sql[64];

    create(place);
    (void)snprintf(sql, sizeof(sql), "PRAGMA user_version = %lld",
                   (long long)sqlite_schema_known() + 2);
    run(place, sql);
    assert_refused(place, "install a newer version");
}

static void
an_edited_migration_is_named(void **state)
{
    const struct place *place = *state;

    create(place);
    run(place, "UPDATE migration SET digest = 'abcdef012345' WHERE number = "
               "1");
    assert_refused(place, "migration 1 of this program is not the one");
    /* A store from before digests were kept. */
    run(place, "DROP TABLE migration");
    assert_refused(place, "migration 1 of this program is not the one");
}

/* The first word of each statement of a migration, but for the first one. */
static void
every_migration_only_adds(void **state)
{
    static const char *const words[] = { "CREATE TABLE", "CREATE INDEX",
                                         "CREATE UNIQUE INDEX", "INSERT INTO",
                                         "UPDATE", "ALTER TABLE" };

    (void)state;
    for (int64_t number = 2; sqlite_migration(number) != NULL; number++) {
        char *copy = strdup(sqlite_migration(number));
        char *rest = copy, *statement;

        while ((statement = strsep(&rest, ";")) != NULL) {
            bool known = false;

            statement += strspn(statement, " \n");
            if (*statement == '\0' || strncmp(statement, "--", 2) == 0)
                continue;
            for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
                known |= strncmp(statement, words[i], strlen(words[i])) == 0;
            if (!known || (strncmp(statement, "ALTER", 5) == 0 &&
                           strstr(statement, "ADD COLUMN") == NULL))
                fail_msg("migration %lld: %.60s", (long long)number,
                         statement);
        }
        free(copy);
    }
}

static void
a_copy_is_marked_and_closed_to_others(void **state)
{
    const struct place *place = *state;
    char copy[SCRATCH_MAX + 16];
    struct store_copy made;
    struct stat status;
    struct error err;

    create(place);
    (void)snprintf(copy, sizeof(copy), "%s/" STORE_COPY_PREFIX "x",
                   place->where);
    if (store_sqlite.copy(place->where, copy, &made, &err) != 0)
        fail_msg("%s", err.text);
    assert_int_equal(stat(copy, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_int_equal(made.schema, sqlite_schema_known());
    /* What a killed backup left goes with the next start. */
    create(place);
    assert_int_equal(stat(copy, &status), -1);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(every_released_schema_is_brought_to_the_newest),
        TEST(the_version_before_works_on_a_schema_that_is_newer_by_one),
        TEST(a_schema_that_is_newer_by_two_is_refused),
        TEST(an_edited_migration_is_named),
        TEST(every_migration_only_adds),
        TEST(a_copy_is_marked_and_closed_to_others),
    };

    return cmocka_run_group_tests_name("migrate", tests, NULL, NULL);
}
