/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/crash.h"
#include "store/store_sqlite.h"

/* SQLite creates with the process's umask, so the copy's directory has to be
 * closed to others until its mode is set. */
static int
vacuum_into(sqlite3 *db, const char *target, struct error *err)
{
    char *sql = sqlite3_mprintf("VACUUM INTO %Q", target);
    int rc = sqlite3_exec(db, sql, NULL, NULL, NULL);

    sqlite3_free(sql);
    if (rc != SQLITE_OK)
        return error_set(err, ERROR_INTERNAL, "store: copy: %s",
                         sqlite3_errmsg(db));
    return chmod(target, 0600) == 0
               ? 0
               : error_set(err, ERROR_INTERNAL, "store: copy: %s",
                           strerror(errno));
}

static int
open_copy(const char *path, sqlite3 **db_out, struct error *err)
{
    int rc = sqlite3_open_v2(path, db_out,
                             SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
                             NULL);

    if (rc != SQLITE_OK)
        return error_set(err, ERROR_INTERNAL, "store: copy: %s",
                         sqlite3_errstr(rc));
    return sqlite_run(*db_out, "PRAGMA synchronous = FULL", err);
}

static int
put_mark(sqlite3 *db, const char *digest, struct error *err)
{
    char *sql = sqlite3_mprintf("INSERT OR REPLACE INTO counter (name, "
                                "value, bytes) "
                                "VALUES (%Q, 1, CAST(%Q AS BLOB))",
                                STORE_RESTORE, digest);
    int rc = sqlite_run(db, sql, err);

    sqlite3_free(sql);
    return rc;
}

int
sqlite_mark(const char *copy, const char *digest, struct error *err)
{
    sqlite3 *db = NULL;
    int rc = open_copy(copy, &db, err);

    if (rc == 0)
        rc = put_mark(db, digest, err);
    (void)sqlite3_close(db);
    return rc;
}

int
sqlite_copy_into(sqlite3 *db, const char *target, struct error *err)
{
    if (vacuum_into(db, target, err) != 0)
        return -1;
    CRASH_POINT("backup.copying");
    return sqlite_mark(target, NULL, err);
}

static int
describe(const char *target, struct store_copy *out, struct error *err)
{
    struct store_copy copy = { 0 };
    sqlite3 *db = NULL;
    int rc = open_copy(target, &db, err);

    if (rc == 0)
        rc = sqlite_position(db, &copy.position, err);
    if (rc == 0)
        rc = sqlite_int(db, "PRAGMA user_version", &copy.schema, err);
    (void)sqlite3_close(db);
    if (rc == 0)
        *out = copy;
    return rc;
}

int
sqlite_copy(const char *where, const char *target,
            struct store_copy *copy_out, struct error *err)
{
    char *path = sqlite_path(where);
    sqlite3 *db = NULL;
    int rc = sqlite3_open_v2(path, &db,
                             SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX,
                             NULL);

    free(path);
    if (rc != SQLITE_OK) {
        rc = error_set(err, ERROR_INTERNAL, "store: open to copy: %s",
                       sqlite3_errstr(rc));
    } else {
        (void)sqlite3_busy_timeout(db, 5000);
        (void)sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1,
                                NULL);
        rc = sqlite_copy_into(db, target, err);
    }
    (void)sqlite3_close(db);
    return rc == 0 ? describe(target, copy_out, err) : -1;
}

void
sqlite_copy_sweep(const char *where)
{
    DIR *directory = opendir(where);
    const struct dirent *entry;

    if (directory == NULL)
        return;
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): a stream of its own */
    while ((entry = readdir(directory)) != NULL)
        if (strncmp(entry->d_name, STORE_COPY_PREFIX,
                    strlen(STORE_COPY_PREFIX)) == 0)
            (void)unlinkat(dirfd(directory), entry->d_name, 0);
    (void)closedir(directory);
}
