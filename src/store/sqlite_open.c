/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "store/store_sqlite.h"

/* A whole check of a larger file would make a restart slow; its pages are
 * checked as they are read. */
#define CHECK_PAGES_MAX 16384

char *
sqlite_path(const char *directory)
{
    struct buffer path = { 0 };

    buffer_printf(&path, "%s/" SQLITE_FILE, directory);
    return path.bytes;
}

int
sqlite_run(sqlite3 *db, const char *sql, struct error *err)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        return error_set(err, ERROR_INTERNAL, "store: %.60s: %s", sql,
                         sqlite3_errmsg(db));
    return 0;
}

int
sqlite_int(sqlite3 *db, const char *sql, int64_t *out, struct error *err)
{
    sqlite3_stmt *statement;
    int rc;

    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK)
        return error_set(err, ERROR_INTERNAL, "store: %s: %s", sql,
                         sqlite3_errmsg(db));
    rc = sqlite3_step(statement);
    if (rc == SQLITE_ROW)
        *out = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    if (rc != SQLITE_ROW)
        return error_set(err, ERROR_INTERNAL, "store: %s gives no number",
                         sql);
    return 0;
}

int
sqlite_text(sqlite3 *db, const char *sql, char *text, size_t room,
            struct error *err)
{
    sqlite3_stmt *statement;

    text[0] = '\0';
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK)
        return error_set(err, ERROR_INTERNAL, "store: %s: %s", sql,
                         sqlite3_errmsg(db));
    if (sqlite3_step(statement) == SQLITE_ROW)
        (void)snprintf(text, room, "%s",
                       (const char *)sqlite3_column_text(statement, 0));
    sqlite3_finalize(statement);
    return 0;
}

static int
check_text(sqlite3 *db, const char *sql, const char *wanted,
           struct error *err)
{
    char text[200];

    if (sqlite_text(db, sql, text, sizeof(text), err) != 0)
        return -1;
    if (strcmp(text, wanted) != 0)
        return error_set(err, ERROR_INTERNAL, "store: %s says \"%s\", not %s",
                         sql, text, wanted);
    return 0;
}

int
sqlite_position(sqlite3 *db, struct store_position *out, struct error *err)
{
    struct store_position position;

    if (sqlite_int(db, "SELECT epoch FROM store", &position.epoch, err) !=
            0 ||
        sqlite_int(db, "SELECT revision FROM store", &position.revision,
                   err) != 0)
        return -1;
    *out = position;
    return 0;
}

int
sqlite_bind(sqlite3_stmt *statement, int place, const struct value *value)
{
    int rc = SQLITE_OK;

    switch (value->type) {
    case VALUE_NULL:
        rc = sqlite3_bind_null(statement, place);
        break;
    case VALUE_INT:
        rc = sqlite3_bind_int64(statement, place, value->integer);
        break;
    case VALUE_TEXT:
        rc = sqlite3_bind_text(statement, place, value->text, -1,
                               SQLITE_STATIC);
        break;
    }
    return rc == SQLITE_OK ? 0 : -1;
}

static int
check_pages(sqlite3 *db, struct error *err)
{
    int64_t pages;

    if (sqlite_int(db, "PRAGMA page_count", &pages, err) != 0)
        return -1;
    if (pages > CHECK_PAGES_MAX)
        return 0;
    return check_text(db, "PRAGMA quick_check(1)", "ok", err);
}

static int
configure(sqlite3 *db, struct error *err)
{
    int64_t synchronous;

    (void)sqlite3_busy_timeout(db, 5000);
    /* Of a new file, before anything is in it; of others it is as it is. */
    if (sqlite_run(db, "PRAGMA auto_vacuum = INCREMENTAL", err) != 0 ||
        check_text(db, "PRAGMA journal_mode = WAL", "wal", err) != 0 ||
        sqlite_run(db,
                   "PRAGMA synchronous = FULL; PRAGMA trusted_schema = OFF; "
                   "PRAGMA cell_size_check = ON; "
                   "PRAGMA secure_delete = ON",
                   err) != 0 ||
        sqlite_int(db, "PRAGMA synchronous", &synchronous, err) != 0)
        return -1;
    if (synchronous != 2)
        return error_set(err, ERROR_INTERNAL, "store: synchronous is not FULL");
    return sqlite_run(db, "PRAGMA wal_checkpoint(TRUNCATE)", err);
}

int
sqlite_open_writer(const char *directory, sqlite3 **db_out,
                   struct error *err)
{
    char *path = sqlite_path(directory);
    mode_t mask = umask(077);
    int rc = sqlite3_open_v2(path, db_out,
                             SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
                                 SQLITE_OPEN_NOMUTEX,
                             NULL);

    if (rc != SQLITE_OK)
        rc = error_set(err, ERROR_INTERNAL, "store: open: %s",
                       sqlite3_errstr(rc));
    else if (configure(*db_out, err) != 0 || check_pages(*db_out, err) != 0)
        rc = -1;
    else
        rc = sqlite_migrate(*db_out, path, err);
    (void)umask(mask);
    free(path);
    return rc;
}
