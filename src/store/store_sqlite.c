/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <errno.h>
#include <sqlite3.h>
#include <string.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/crash.h"
#include "base/file.h"
#include "store/ddl.h"
#include "store/store.h"
#include "store/store_sqlite.h"

#define GIVE_BACK_PART 4 /* of the file: a quarter */
#define STATEMENTS 5 /* one for each enum store_op */

struct store {
    struct store_head head;
    sqlite3 *db;
    int64_t epoch;
    sqlite3_stmt *begin, *commit, *rollback, *fence, *counter;
    sqlite3_stmt *rows[KIND_COUNT][STATEMENTS];
};

static int
fail_as(sqlite3 *db, enum error_code code, const char *what,
        struct error *err)
{
    return error_set(err, code, "store: %s: %s", what,
                     db != NULL ? sqlite3_errmsg(db) : "out of memory");
}

static int
prepare(sqlite3 *db, const char *sql, sqlite3_stmt **out, struct error *err)
{
    if (sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, out,
                           NULL) != SQLITE_OK)
        return fail_as(db, ERROR_INTERNAL, sql, err);
    return 0;
}

static int
prepare_rows(struct store *store, enum kind kind, struct error *err)
{
    const char *table = schema_get(kind)->name;
    sqlite3_stmt **rows = store->rows[kind];
    struct buffer sql = { 0 };
    int rc;

    ddl_print_put(&sql, kind);
    rc = prepare(store->db, buffer_text(&sql), &rows[STORE_PUT], err);
    if (rc == 0) {
        buffer_clear(&sql);
        buffer_printf(&sql, "UPDATE \"%s\" SET live = 0 WHERE id = ?1",
                      table);
        rc = prepare(store->db, buffer_text(&sql), &rows[STORE_EVICT], err);
    }
    if (rc == 0) {
        buffer_clear(&sql);
        buffer_printf(&sql, "DELETE FROM \"%s\" WHERE id = ?1", table);
        rc = prepare(store->db, buffer_text(&sql), &rows[STORE_DELETE], err);
    }
    if (rc == 0 && kind == KIND_EVENT)
        rc = prepare(store->db,
                     "UPDATE event SET personal = NULL "
                     "WHERE parent = ?1 AND position = ?2",
                     &rows[STORE_ERASE], err);
    if (rc == 0 && kind == KIND_EVENT)
        rc = prepare(store->db,
                     "DELETE FROM event WHERE parent = ?1 "
                     "AND position >= ?2 AND position < ?3",
                     &rows[STORE_PRUNE], err);
    buffer_release(&sql);
    return rc;
}

static int
prepare_all(struct store *store, struct error *err)
{
    sqlite3 *db = store->db;

    for (unsigned kind = KIND_NONE + 1; kind < KIND_COUNT; kind++)
        if (prepare_rows(store, (enum kind)kind, err) != 0)
            return -1;
    if (prepare(db, "BEGIN IMMEDIATE", &store->begin, err) != 0 ||
        prepare(db, "COMMIT", &store->commit, err) != 0 ||
        prepare(db, "ROLLBACK", &store->rollback, err) != 0 ||
        prepare(db,
                "UPDATE store SET revision = revision + 1 "
                "WHERE epoch = ?1 AND revision = ?2",
                &store->fence, err) != 0)
        return -1;
    return prepare(db,
                   "INSERT INTO counter (name, value, bytes) "
                   "VALUES (?1, ?2, ?3) "
                   "ON CONFLICT (name) DO UPDATE "
                   "SET value = excluded.value, bytes = excluded.bytes",
                   &store->counter, err);
}

static int
take_epoch(struct store *store, struct error *err)
{
    struct store_position position;

    if (sqlite_run(store->db, "UPDATE store SET epoch = epoch + 1", err) != 0)
        return -1;
    if (sqlite_position(store->db, &position, err) != 0)
        return -1;
    store->epoch = position.epoch;
    return 0;
}

static void
sqlite_store_close(struct store *store)
{
    sqlite3_finalize(store->begin);
    sqlite3_finalize(store->commit);
    sqlite3_finalize(store->rollback);
    sqlite3_finalize(store->fence);
    sqlite3_finalize(store->counter);
    for (unsigned kind = 0; kind < KIND_COUNT; kind++)
        for (unsigned op = 0; op < STATEMENTS; op++)
            sqlite3_finalize(store->rows[kind][op]);
    (void)sqlite3_close(store->db);
    free(store);
}

static int
sqlite_store_open(const char *where, struct store **store_out,
                  struct error *err)
{
    struct store *store = memory_new(1, sizeof(*store));

    store->head.ops = &store_sqlite;
    sqlite_copy_sweep(where);
    if (file_make_directory(where, 0700, err) != 0 ||
        sqlite_open_writer(where, &store->db, err) != 0 ||
        take_epoch(store, err) != 0 || prepare_all(store, err) != 0) {
        sqlite_store_close(store);
        return -1;
    }
    *store_out = store;
    return 0;
}

/* Runs a prepared statement that gives no rows. */
static int
step(struct store *store, sqlite3_stmt *statement)
{
    int rc = sqlite3_step(statement);

    (void)sqlite3_reset(statement);
    (void)store;
    return rc == SQLITE_DONE ? 0 : -1;
}

static size_t
bound_values(const struct store_row *row)
{
    switch (row->op) {
    case STORE_PUT:
        return object_column_count(row->kind);
    case STORE_ERASE:
        return 2;
    case STORE_PRUNE:
        return 3;
    case STORE_EVICT:
    case STORE_DELETE:
        return 0; /* by id */
    }
    return 0;
}

static int
write_row(struct store *store, const struct store_row *row)
{
    sqlite3_stmt *statement = store->rows[row->kind][row->op];
    size_t count = bound_values(row);

    assert(statement != NULL);
    for (size_t i = 0; i < count; i++)
        if (sqlite_bind(statement, (int)i + 1, &row->values[i]) != 0)
            return -1;
    if (count == 0 &&
        sqlite3_bind_text(statement, 1, row->id, -1, SQLITE_STATIC) !=
            SQLITE_OK)
        return -1;
    return step(store, statement);
}

static int
write_counter(struct store *store, const struct store_counter *counter)
{
    sqlite3_stmt *statement = store->counter;
    int rc = sqlite3_bind_text(statement, 1, counter->name, -1,
                               SQLITE_STATIC);

    rc |= sqlite3_bind_int64(statement, 2, counter->value);
    rc |= counter->bytes == NULL
              ? sqlite3_bind_null(statement, 3)
              : sqlite3_bind_blob64(statement, 3, counter->bytes,
                                    counter->size, SQLITE_STATIC);
    return rc == SQLITE_OK ? step(store, statement) : -1;
}

/* 0 when this writer may write at this revision, 1 when it is fenced. */
static int
check_fence(struct store *store, int64_t epoch, int64_t revision)
{
    int rc = sqlite3_bind_int64(store->fence, 1, epoch);

    rc |= sqlite3_bind_int64(store->fence, 2, revision);
    if (rc != SQLITE_OK || step(store, store->fence) != 0)
        return -1;
    return sqlite3_changes(store->db) == 1 ? 0 : 1;
}

/* What is pruned is given back to the file system once it is a good part of
 * the file; some at a time. */
static int
give_back(struct store *store, struct error *err)
{
    int64_t free_pages, pages;

    if (sqlite_int(store->db, "PRAGMA freelist_count", &free_pages, err) !=
            0 ||
        sqlite_int(store->db, "PRAGMA page_count", &pages, err) != 0)
        return -1;
    return free_pages > pages / GIVE_BACK_PART
               ? sqlite_run(store->db, "PRAGMA incremental_vacuum(512)", err)
               : 0;
}

static int
write_all(struct store *store, const struct store_row *rows,
          size_t row_count, const struct store_counter *counters,
          size_t counter_count, struct error *err)
{
    bool pruned = false;

    for (size_t i = 0; i < row_count; i++) {
        if (write_row(store, &rows[i]) != 0)
            return fail_as(store->db, ERROR_UNKNOWN,
                           schema_get(rows[i].kind)->name, err);
        pruned |= rows[i].op == STORE_PRUNE;
    }
    for (size_t i = 0; i < counter_count; i++)
        if (write_counter(store, &counters[i]) != 0)
            return fail_as(store->db, ERROR_UNKNOWN, "counter", err);
    return pruned ? give_back(store, err) : 0;
}

static int
sqlite_store_commit(struct store *store, int64_t epoch, int64_t revision,
                    const struct store_row *rows, size_t row_count,
                    const struct store_counter *counters,
                    size_t counter_count, struct error *err)
{
    int rc;

    if (step(store, store->begin) != 0)
        return fail_as(store->db, ERROR_UNKNOWN, "begin", err);
    rc = check_fence(store, epoch, revision);
    if (rc < 0)
        rc = fail_as(store->db, ERROR_UNKNOWN, "fence", err);
    else if (rc > 0)
        rc = error_set(err, ERROR_CONFLICT,
                       "store: another writer took over, or the revision is "
                       "not %lld",
                       (long long)revision);
    else
        rc = write_all(store, rows, row_count, counters, counter_count, err);
    CRASH_POINT("bulkheadd.written");
    if (rc == 0 && step(store, store->commit) != 0)
        rc = fail_as(store->db, ERROR_UNKNOWN, "commit", err);
    if (rc != 0 && sqlite3_get_autocommit(store->db) == 0)
        (void)step(store, store->rollback);
    return rc;
}

static int
sqlite_store_position(struct store *store, struct store_position *out,
                      struct error *err)
{
    if (sqlite_position(store->db, out, err) != 0)
        return -1;
    /* Its own epoch, so that a writer that was fenced stays fenced. */
    out->epoch = store->epoch;
    return 0;
}

const struct store_ops store_sqlite = {
    .name = "sqlite",
    .file = SQLITE_FILE,
    .copy = sqlite_copy,
    .mark = sqlite_mark,
    .open = sqlite_store_open,
    .close = sqlite_store_close,
    .commit = sqlite_store_commit,
    .position = sqlite_store_position,
    .reader_open = sqlite_reader_open,
    .reader_close = sqlite_reader_close,
    .query = sqlite_reader_query,
    .counters = sqlite_reader_counters,
};
