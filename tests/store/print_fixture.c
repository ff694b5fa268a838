/* SPDX-License-Identifier: Apache-2.0 */
/* Prints a small store of the newest schema as SQL; see fixtures/README.md. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "store/row.h"
#include "store/store.h"
#include "store/store_sqlite.h"

static _Noreturn void
give_up(const char *why)
{
    (void)fprintf(stderr, "print_fixture: %s\n", why);
    exit(1);
}

/* One row: an id, a name where there is one, a number everywhere else. */
static void
fill(enum kind kind, struct value *values, struct arena *arena)
{
    for (size_t i = 0; i < object_column_count(kind); i++) {
        bool is_text;
        const char *column = object_column(kind, i, &is_text);

        values[i] = (struct value){ .type = VALUE_NULL };
        if (strcmp(column, "id") == 0)
            values[i] = (struct value){
                .type = VALUE_TEXT,
                .text = arena_printf(arena, "%s_%026d",
                                     schema_get(kind)->prefix, (int)kind)
            };
        else if (strcmp(column, "name") == 0)
            values[i] = (struct value){ .type = VALUE_TEXT, .text = "kept" };
        else if (!is_text)
            values[i] = (struct value){ .type = VALUE_INT,
                                        .integer = (int64_t)i };
    }
}

static void
put_all(const char *where)
{
    scoped_arena arena = arena_new();
    struct store_row rows[KIND_COUNT];
    const struct store_counter counter = { .name = "seq", .value = 7 };
    struct store_position position;
    struct store *store;
    struct error err;
    size_t count = 0;

    if (store_open(&store_sqlite, where, &store, &err) != 0 ||
        store_position(store, &position, &err) != 0)
        give_up(err.text);
    for (unsigned kind = KIND_NONE + 1; kind < KIND_COUNT; kind++) {
        struct value *values =
            arena_alloc(arena, object_column_count((enum kind)kind) *
                                   sizeof(*values));

        fill((enum kind)kind, values, arena);
        rows[count++] =
            (struct store_row){ (enum kind)kind, STORE_PUT, values, NULL };
    }
    if (store_commit(store, position.epoch, position.revision, rows, count,
                     &counter, 1, &err) != 0)
        give_up(err.text);
    store_close(store);
}

static int
print_line(void *data, int count, char **texts, char **names)
{
    (void)data;
    (void)count;
    (void)names;
    (void)printf("%s;\n", texts[0]);
    return 0;
}

static int
print_rows(void *data, int count, char **texts, char **names)
{
    sqlite3 *db = data;
    struct buffer sql = { 0 };

    (void)count;
    (void)names;
    buffer_printf(&sql, "SELECT 'SELECT ''INSERT INTO \"%s\" VALUES ('' || "
                        "' || group_concat('quote(\"' || name || '\")', "
                        "' || '','' || ') || ' || '')'' FROM \"%s\"' FROM "
                        "pragma_table_info('%s')",
                  texts[0], texts[0], texts[0]);
    {
        sqlite3_stmt *statement = NULL;

        if (sqlite3_prepare_v2(db, buffer_text(&sql), -1, &statement, NULL) !=
                SQLITE_OK ||
            sqlite3_step(statement) != SQLITE_ROW ||
            sqlite3_exec(db, (const char *)sqlite3_column_text(statement, 0),
                         print_line, NULL, NULL) != SQLITE_OK)
            give_up(sqlite3_errmsg(db));
        sqlite3_finalize(statement);
    }
    buffer_release(&sql);
    return 0;
}

static void
dump(const char *where)
{
    char *path = sqlite_path(where);
    sqlite3 *db = NULL;

    if (sqlite3_open(path, &db) != SQLITE_OK)
        give_up(sqlite3_errmsg(db));
    (void)printf("-- SPDX-License-Identifier: Apache-2.0\n"
                 "-- Made by tests/store/print_fixture.c.\n"
                 "PRAGMA application_id = %lld;\nPRAGMA user_version = "
                 "%lld;\n",
                 (long long)SQLITE_APPLICATION,
                 (long long)sqlite_schema_known());
    if (sqlite3_exec(db,
                     "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL "
                     "ORDER BY rowid",
                     print_line, NULL, NULL) != SQLITE_OK ||
        sqlite3_exec(db,
                     "SELECT name FROM sqlite_schema WHERE type = 'table' "
                     "ORDER BY rowid",
                     print_rows, db, NULL) != SQLITE_OK)
        give_up(sqlite3_errmsg(db));
    (void)sqlite3_close(db);
    (void)unlink(path);
    free(path);
    (void)rmdir(where);
}

int
main(void)
{
    char where[] = "/tmp/bulkhead-fixture-XXXXXX";

    if (mkdtemp(where) == NULL)
        give_up("no directory");
    put_all(where);
    dump(where);
    return 0;
}
