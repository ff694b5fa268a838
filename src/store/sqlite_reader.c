/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/arena.h"
#include "store/store_sqlite.h"

#define COLUMNS_MAX 64

struct store_reader {
    struct store_head head;
    sqlite3 *db;
};

void
sqlite_reader_close(struct store_reader *reader)
{
    (void)sqlite3_close(reader->db);
    free(reader);
}

int
sqlite_reader_open(const char *where, struct store_reader **reader_out,
                   struct error *err)
{
    struct store_reader *reader = memory_new(1, sizeof(*reader));
    char *path = sqlite_path(where);
    int rc;

    reader->head.ops = &store_sqlite;
    rc = sqlite3_open_v2(path, &reader->db,
                         SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL);
    free(path);
    if (rc != SQLITE_OK) {
        rc = error_set(err, ERROR_INTERNAL, "store: open to read: %s",
                       sqlite3_errstr(rc));
    } else {
        (void)sqlite3_busy_timeout(reader->db, 5000);
        /* Only the writer checkpoints. */
        (void)sqlite3_db_config(reader->db,
                                SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
        /* There are several, each with a cache of its own: the system's holds
         * the pages for all of them. */
        rc = sqlite_run(reader->db,
                        "PRAGMA query_only = ON; PRAGMA cache_size = -256",
                        err);
    }
    if (rc != 0) {
        sqlite_reader_close(reader);
        return -1;
    }
    *reader_out = reader;
    return 0;
}

static void
read_row(sqlite3_stmt *statement, size_t count, struct value *values)
{
    for (size_t i = 0; i < count; i++) {
        struct value *value = &values[i];
        int type = sqlite3_column_type(statement, (int)i);

        memset(value, 0, sizeof(*value));
        if (type == SQLITE_INTEGER) {
            value->type = VALUE_INT;
            value->integer = sqlite3_column_int64(statement, (int)i);
        } else if (type == SQLITE_TEXT) {
            value->type = VALUE_TEXT;
            value->text =
                (const char *)sqlite3_column_text(statement, (int)i);
        }
    }
}

static int
read_rows(struct store_reader *reader, sqlite3_stmt *statement, size_t count,
          store_take *take, void *context, struct error *err)
{
    struct value values[COLUMNS_MAX];
    int rc;

    while ((rc = sqlite3_step(statement)) == SQLITE_ROW) {
        int more;

        read_row(statement, count, values);
        more = take(context, values, err);
        if (more != 0)
            return more < 0 ? -1 : 0;
    }
    if (rc != SQLITE_DONE)
        return error_set(err, ERROR_INTERNAL, "store: read: %s",
                         sqlite3_errmsg(reader->db));
    return 0;
}

int
sqlite_reader_query(struct store_reader *reader, const char *sql,
                    const struct value *binds, size_t bind_count,
                    size_t column_count, store_take *take, void *context,
                    struct error *err)
{
    sqlite3_stmt *statement;
    int rc = 0;

    if (column_count > COLUMNS_MAX ||
        sqlite3_prepare_v2(reader->db, sql, -1, &statement, NULL) !=
            SQLITE_OK)
        return error_set(err, ERROR_INTERNAL, "store: %s: %s", sql,
                         sqlite3_errmsg(reader->db));
    for (size_t i = 0; rc == 0 && i < bind_count; i++)
        rc = sqlite_bind(statement, (int)i + 1, &binds[i]);
    if (rc != 0)
        rc = error_set(err, ERROR_INTERNAL, "store: bind: %s",
                       sqlite3_errmsg(reader->db));
    else
        rc = read_rows(reader, statement, column_count, take, context, err);
    sqlite3_finalize(statement);
    return rc;
}

static int
read_counter(sqlite3_stmt *statement,
             int (*take)(void *context, const struct store_counter *counter,
                         struct error *err),
             void *context, struct error *err)
{
    struct store_counter counter = {
        .name = (const char *)sqlite3_column_text(statement, 0),
        .value = sqlite3_column_int64(statement, 1),
        .bytes = sqlite3_column_blob(statement, 2),
        .size = (size_t)sqlite3_column_bytes(statement, 2),
    };

    return take(context, &counter, err);
}

int
sqlite_reader_counters(struct store_reader *reader,
                       int (*take)(void *context,
                                   const struct store_counter *counter,
                                   struct error *err),
                       void *context, struct error *err)
{
    sqlite3_stmt *statement;
    int rc, more = 0;

    if (sqlite3_prepare_v2(reader->db,
                           "SELECT name, value, bytes FROM counter "
                           "WHERE name < '" STORE_LEAVES "' OR "
                           "name >= 'leaves;' ORDER BY name",
                           -1, &statement, NULL) != SQLITE_OK)
        return error_set(err, ERROR_INTERNAL, "store: counters: %s",
                         sqlite3_errmsg(reader->db));
    while (more == 0 && (rc = sqlite3_step(statement)) == SQLITE_ROW)
        more = read_counter(statement, take, context, err);
    if (more == 0 && rc != SQLITE_DONE)
        more = error_set(err, ERROR_INTERNAL, "store: counters: %s",
                         sqlite3_errmsg(reader->db));
    sqlite3_finalize(statement);
    return more < 0 ? -1 : 0;
}
