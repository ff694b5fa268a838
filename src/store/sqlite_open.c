/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "store/store_sqlite.h"

/* The migrations, in order; user_version counts those that were applied. */
extern const char sql_0001_init_start[];
static const char *const migrations[] = { sql_0001_init_start };
#define MIGRATIONS ((int64_t)(sizeof(migrations) / sizeof(migrations[0])))

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

static int
check_text(sqlite3 *db, const char *sql, const char *wanted,
           struct error *err)
{
    sqlite3_stmt *statement;
    char text[200] = "";

    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK)
        return error_set(err, ERROR_INTERNAL, "store: %s: %s", sql,
                         sqlite3_errmsg(db));
    if (sqlite3_step(statement) == SQLITE_ROW)
        (void)snprintf(text, sizeof(text), "%s",
                       (const char *)sqlite3_column_text(statement, 0));
    sqlite3_finalize(statement);
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

/* Is the file ours, and of a schema that this program knows? */
static int
check_identity(sqlite3 *db, int64_t *version_out, struct error *err)
{
    int64_t application, version, tables;

    if (sqlite_int(db, "PRAGMA application_id", &application, err) != 0 ||
        sqlite_int(db, "PRAGMA user_version", &version, err) != 0 ||
        sqlite_int(db, "SELECT COUNT(*) FROM sqlite_schema", &tables, err) !=
            0)
        return -1;
    if (version > MIGRATIONS)
        return error_set(err, ERROR_INTERNAL,
                         "store: its schema %lld is newer than %lld, which "
                         "this program knows",
                         (long long)version, (long long)MIGRATIONS);
    if ((tables > 0 || version > 0) && application != SQLITE_APPLICATION)
        return error_set(err, ERROR_INTERNAL,
                         "store: the file is another program's");
    *version_out = version;
    return 0;
}

/* A whole copy beside the file, before its schema changes. */
static int
backup(sqlite3 *db, const char *path, int64_t version, struct error *err)
{
    struct buffer target = { 0 };
    int rc;

    buffer_printf(&target, "%s.schema-%lld.backup", path,
                  (long long)version);
    (void)unlink(buffer_text(&target));
    rc = sqlite_copy_into(db, buffer_text(&target), err);
    buffer_release(&target);
    return rc;
}

static int
migrate_to(sqlite3 *db, int64_t version, struct error *err)
{
    char marks[128];

    (void)snprintf(marks, sizeof(marks),
                   "PRAGMA application_id = %lld; PRAGMA user_version = %lld",
                   (long long)SQLITE_APPLICATION, (long long)version);
    if (sqlite_run(db, migrations[version - 1], err) != 0)
        return -1;
    return sqlite_run(db, marks, err);
}

static int
migrate(sqlite3 *db, const char *path, struct error *err)
{
    int64_t version = 0;

    if (check_identity(db, &version, err) != 0)
        return -1;
    if (version == MIGRATIONS)
        return 0;
    if (version > 0 && backup(db, path, version, err) != 0)
        return -1;
    if (sqlite_run(db, "BEGIN EXCLUSIVE", err) != 0)
        return -1;
    for (int64_t next = version + 1; next <= MIGRATIONS; next++)
        if (migrate_to(db, next, err) != 0) {
            (void)sqlite_run(db, "ROLLBACK", &(struct error){ 0 });
            return error_prefix(err, "migration %lld", (long long)next);
        }
    return sqlite_run(db, "COMMIT", err);
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
    if (check_text(db, "PRAGMA journal_mode = WAL", "wal", err) != 0 ||
        sqlite_run(db,
                   "PRAGMA synchronous = FULL; PRAGMA trusted_schema = OFF; "
                   "PRAGMA cell_size_check = ON",
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
        rc = migrate(*db_out, path, err);
    (void)umask(mask);
    free(path);
    return rc;
}
