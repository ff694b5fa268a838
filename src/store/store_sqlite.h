/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_STORE_SQLITE_H
#define STORE_STORE_SQLITE_H

#include <sqlite3.h>

#include "store/store.h"

/*
 * How is SQLite opened, migrated and read?  The parts of the backend that
 * store_sqlite.c puts together (sqlite_open.c, sqlite_reader.c).
 */

#define SQLITE_FILE "bulkhead.db"
#define SQLITE_APPLICATION INT64_C(0x42554c4b) /* "BULK" in the file's head */

/* The connection that writes and checkpoints: WAL, synchronous=FULL, at the
 * newest schema.  On failure *db_out may be set; the caller closes it. */
int sqlite_open_writer(const char *directory, sqlite3 **db_out,
                       struct error *err);
/* Runs statements without results. */
int sqlite_run(sqlite3 *db, const char *sql, struct error *err);
/* The first column of the first row as a number. */
int sqlite_int(sqlite3 *db, const char *sql, int64_t *out,
               struct error *err);
/* The same as text, "" when there is no row. */
int sqlite_text(sqlite3 *db, const char *sql, char *text, size_t room,
                struct error *err);
/* Brings an open database to the newest schema in one transaction, after a
 * copy beside it.  A schema that is newer by one is left as it is; one that is
 * newer still, or that was made by an edited migration, is ERROR_UNSUPPORTED. */
int sqlite_migrate(sqlite3 *db, const char *path, struct error *err);
int64_t sqlite_schema_known(void);
/* The text of a migration, from 1; NULL when there is none. */
const char *sqlite_migration(int64_t number);
int sqlite_position(sqlite3 *db, struct store_position *out,
                    struct error *err);
/* 0 or -1; text stays the caller's. */
int sqlite_bind(sqlite3_stmt *statement, int place,
                const struct value *value);
/* The path of the database below a directory; free() it. */
char *sqlite_path(const char *directory);

/* struct store_ops */
int sqlite_copy(const char *where, const char *target,
                struct store_copy *copy_out, struct error *err);
int sqlite_mark(const char *copy, const char *digest, struct error *err);
/* Removes copies that a killed backup left. */
void sqlite_copy_sweep(const char *where);
/* A whole copy of an open database, marked, readable by its owner alone. */
int sqlite_copy_into(sqlite3 *db, const char *target, struct error *err);
int sqlite_reader_open(const char *where, struct store_reader **reader_out,
                       struct error *err);
void sqlite_reader_close(struct store_reader *reader);
int sqlite_reader_query(struct store_reader *reader, const char *sql,
                        const struct value *binds, size_t bind_count,
                        size_t column_count, store_take *take, void *context,
                        struct error *err);
int sqlite_reader_counters(struct store_reader *reader,
                           int (*take)(void *context,
                                       const struct store_counter *counter,
                                       struct error *err),
                           void *context, struct error *err);

#endif
