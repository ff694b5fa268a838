/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/digest.h"
#include "store/store_sqlite.h"

/* The migrations, in order; user_version counts those that were applied. */
extern const char sql_0001_init_start[];
static const char *const migrations[] = { sql_0001_init_start };
#define MIGRATIONS ((int64_t)(sizeof(migrations) / sizeof(migrations[0])))

int64_t
sqlite_schema_known(void)
{
    return MIGRATIONS;
}

const char *
sqlite_migration(int64_t number)
{
    return number >= 1 && number <= MIGRATIONS ? migrations[number - 1]
                                               : NULL;
}

/* Is the file ours, and of a schema that this program can work with?  The
 * next one only adds to what this one has (README.md), so it can be used as it
 * is by who goes back one version. */
static int
check_identity(sqlite3 *db, int64_t *version_out, struct error *err)
{
    int64_t application, version, tables;

    if (sqlite_int(db, "PRAGMA application_id", &application, err) != 0 ||
        sqlite_int(db, "PRAGMA user_version", &version, err) != 0 ||
        sqlite_int(db, "SELECT COUNT(*) FROM sqlite_schema", &tables, err) !=
            0)
        return -1;
    if (version > MIGRATIONS + 1)
        return error_set(err, ERROR_UNSUPPORTED,
                         "store: its schema %lld is newer than %lld, which "
                         "this program knows, and than the one after: "
                         "install a newer version, or restore a backup",
                         (long long)version, (long long)MIGRATIONS);
    if ((tables > 0 || version > 0) && application != SQLITE_APPLICATION)
        return error_set(err, ERROR_INTERNAL,
                         "store: the file is another program's");
    *version_out = version;
    return 0;
}

static void
digest_migration(int64_t number, char text[DIGEST_TEXT_MAX])
{
    const char *sql = migrations[number - 1];
    struct digest digest;

    digest_of(sql, strlen(sql), &digest);
    digest_format(&digest, text);
}

/* A migration that was edited behind its use would leave two stores of one
 * number that differ. */
static int
check_digest(sqlite3 *db, int64_t number, struct error *err)
{
    char *sql = sqlite3_mprintf(
        "SELECT COALESCE((SELECT digest FROM migration WHERE number = %lld), "
        "'none')",
        (long long)number);
    char expected[DIGEST_TEXT_MAX], found[DIGEST_TEXT_MAX];
    int rc = sqlite_text(db, sql, found, sizeof(found), err);

    sqlite3_free(sql);
    if (rc != 0) {
        (void)snprintf(found, sizeof(found), "none");
    }
    digest_migration(number, expected);
    if (strcmp(found, expected) == 0)
        return 0;
    return error_set(err, ERROR_UNSUPPORTED,
                     "store: migration %lld of this program is not the one "
                     "that the store was made with (%.12s, not %.12s): it "
                     "was made by a build between releases; start with an "
                     "empty directory or use that build",
                     (long long)number, expected, found);
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
migrate_to(sqlite3 *db, int64_t number, struct error *err)
{
    char digest[DIGEST_TEXT_MAX], marks[300];

    digest_migration(number, digest);
    (void)snprintf(marks, sizeof(marks),
                   "PRAGMA application_id = %lld; PRAGMA user_version = "
                   "%lld; INSERT INTO migration (number, digest) VALUES "
                   "(%lld, '%s')",
                   (long long)SQLITE_APPLICATION, (long long)number,
                   (long long)number, digest);
    if (sqlite_run(db, migrations[number - 1], err) != 0)
        return -1;
    return sqlite_run(db, marks, err);
}

int
sqlite_migrate(sqlite3 *db, const char *path, struct error *err)
{
    int64_t version = 0;

    if (check_identity(db, &version, err) != 0)
        return -1;
    for (int64_t number = 1; number <= version && number <= MIGRATIONS;
         number++)
        if (check_digest(db, number, err) != 0)
            return -1;
    if (version >= MIGRATIONS)
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
