/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/error.h"
#include "core/merkle.h"
#include "core/object.h"

/*
 * What is on disk?  The store is the truth: every object and all history, in
 * SQL tables made from the schema.  One session writes; readers are read-only
 * and see committed state only.
 *
 * A commit is atomic and durable when store_commit returns 0: it survives a
 * kill or a power cut.  It is fenced twice: by the epoch (who is the writer:
 * each store_open_writer takes a new one, and writes of older writers fail
 * from then on) and by the revision (how many commits the writer believes
 * there have been).
 *
 * A failed commit says nothing about whether it happened (ERROR_UNKNOWN) but
 * for ERROR_CONFLICT: fenced, not written.  After a failure the caller opens
 * the store again and loads from it.
 */

enum store_op {
    STORE_PUT,    /* insert or replace; the row is live */
    STORE_EVICT,  /* the row stays, no longer live: history */
    STORE_DELETE, /* the row goes */
    STORE_ERASE,  /* of KIND_EVENT: the personal part of one record goes */
    STORE_PRUNE,  /* of KIND_EVENT: the records of a range go */
};

struct store_row {
    enum kind kind;
    enum store_op op;
    const struct value *values; /* PUT: object_column_count(kind) values;
                                   ERASE: the log's id text, the position;
                                   PRUNE: the log, from, to (exclusive) */
    const char *id;             /* EVICT, DELETE: id text */
};

/* A named number or byte string that is written with a commit. */
struct store_counter {
    const char *name;
    int64_t value;
    const void *bytes; /* NULL: none */
    size_t size;
};

struct store_position {
    int64_t epoch;
    int64_t revision; /* commits so far */
};

/* Of a copy: what it has.  Stale copies in a store's directory begin so. */
#define STORE_COPY_PREFIX "copy-"
struct store_copy {
    struct store_position position;
    int64_t schema;
};

/* A counter that copies have and stores in use have not: this one was put
 * back.  Its bytes are the digest of the backup, none when a copy was used
 * as it is. */
#define STORE_RESTORE "restore"

struct store;        /* the writing session */
struct store_reader; /* a read-only session; one thread at a time */

/* A backend: the same contract for each (tests/store is its conformance
 * suite). */
struct store_ops {
    const char *name;
    const char *file; /* of the database below its directory */
    /* Writes a marked copy of one committed state to a path that is not
     * there, beside the writer. */
    int (*copy)(const char *where, const char *target,
                struct store_copy *copy_out, struct error *err);
    /* Says in a copy which backup it came from. */
    int (*mark)(const char *copy, const char *digest, struct error *err);
    /* Creates the store when there is none, migrates it forward inside one
     * transaction after writing a backup beside it, checks its integrity
     * marks and takes a new epoch. */
    int (*open)(const char *where, struct store **store_out,
                struct error *err);
    void (*close)(struct store *store);
    int (*commit)(struct store *store, int64_t epoch, int64_t revision,
                  const struct store_row *rows, size_t row_count,
                  const struct store_counter *counters, size_t counter_count,
                  struct error *err);
    int (*position)(struct store *store, struct store_position *out,
                    struct error *err);
    int (*reader_open)(const char *where, struct store_reader **reader_out,
                       struct error *err);
    void (*reader_close)(struct store_reader *reader);
    int (*query)(struct store_reader *reader, const char *sql,
                 const struct value *binds, size_t bind_count,
                 size_t column_count,
                 int (*take)(void *context, const struct value *values,
                             struct error *err),
                 void *context, struct error *err);
    int (*counters)(struct store_reader *reader,
                    int (*take)(void *context,
                                const struct store_counter *counter,
                                struct error *err),
                    void *context, struct error *err);
};

/* where: a directory for SQLite (the file in it is bulkhead.db). */
extern const struct store_ops store_sqlite;

struct store_head {
    const struct store_ops *ops; /* first member of every backend's structs */
};

int store_open(const struct store_ops *ops, const char *where,
               struct store **store_out, struct error *err);
void store_close(struct store *store); /* NULL is nothing */
int store_position(struct store *store, struct store_position *out,
                   struct error *err);

/* Writes all rows and counters in one transaction; the store's revision is
 * revision + 1 afterwards.  ERROR_CONFLICT: another writer took over (epoch)
 * or the revision differs; nothing was written.  ERROR_UNKNOWN: see above. */
int store_commit(struct store *store, int64_t epoch, int64_t revision,
                 const struct store_row *rows, size_t row_count,
                 const struct store_counter *counters, size_t counter_count,
                 struct error *err);

/* --- reading; each call sees one committed state --- */

int store_reader_open(const struct store_ops *ops, const char *where,
                      struct store_reader **reader_out, struct error *err);
void store_reader_close(struct store_reader *reader); /* NULL is nothing */

/* Takes one row: object_column_count(kind) values in the order of
 * object_column (see row.h to read them by name), valid during the call.
 * Returns 0 to go on, 1 to stop early, -1 with err to fail. */
typedef int store_take(void *context, const struct value *values,
                       struct error *err);

enum store_compare {
    STORE_EQUAL,
    STORE_LESS,     /* column <  value */
    STORE_AT_LEAST, /* column >= value */
    STORE_AT_MOST,  /* column <= value */
    STORE_MORE,     /* column >  value */
};

struct store_condition {
    const char *column; /* of object_column; anything else is a bug */
    enum store_compare compare;
    struct value value;
};

enum store_live { STORE_ANY, STORE_LIVE, STORE_ENDED };

#define STORE_CONDITIONS 12
#define STORE_ORDERS 4
#define STORE_GROUPS 12

/* Which rows of a kind?  All conditions must hold.  Zero is: every row, by
 * seq. */
struct store_query {
    enum kind kind;
    enum store_live live;
    struct store_condition conditions[STORE_CONDITIONS];
    size_t condition_count;
    const char *order[STORE_ORDERS]; /* columns; none: seq */
    bool descending;
    int64_t limit; /* 0: none */
};

/* Adds a condition; for texts (ids, enum names) and integers. */
void store_where_text(struct store_query *query, const char *column,
                      enum store_compare compare, const char *text);
void store_where_int(struct store_query *query, const char *column,
                     enum store_compare compare, int64_t value);

int store_select(struct store_reader *reader, const struct store_query *query,
                 store_take *take, void *context, struct error *err);

/* Sums `sum` (an integer column) and counts rows, by groups (columns).  The
 * values taken are: the groups in order, the sum, the number of rows.  An
 * overflow fails with ERROR_INTERNAL. */
struct store_sum {
    struct store_query where; /* its order and limit are not used */
    const char *sum;
    const char *groups[STORE_GROUPS];
    size_t group_count;
};
int store_sum(struct store_reader *reader, const struct store_sum *sum,
              store_take *take, void *context, struct error *err);

/* The hashes of a bundle of records that were pruned are a counter, of which
 * there may be many: store_counters passes over these, store_leaves reads
 * one.  Its name is made by store_leaves_name. */
#define STORE_LEAVES "leaves:"
#define STORE_LEAVES_NAME_MAX 64
void store_leaves_name(const char *log, uint64_t bundle,
                       char name[STORE_LEAVES_NAME_MAX]);
/* ERROR_NOT_FOUND when there is none. */
int store_leaves(struct store_reader *reader, const char *log,
                 uint64_t bundle,
                 struct digest leaves[MERKLE_TILE_WIDTH], struct error *err);

/* All other counters, in the order of their names. */
int store_counters(struct store_reader *reader,
                   int (*take)(void *context,
                               const struct store_counter *counter,
                               struct error *err),
                   void *context, struct error *err);

/* --- the questions that the platform asks of history --- */

/* Live objects of a LIFE_OBJECT kind by seq: what the world is loaded from. */
int store_load(struct store_reader *reader, enum kind kind, store_take *take,
               void *context, struct error *err);
/* Records of one log (the id text of its tenant or platform) with
 * from <= index, at most count, in order. */
int store_events(struct store_reader *reader, const char *log, int64_t from,
                 int64_t count, store_take *take, void *context,
                 struct error *err);
/* Bindings, ended ones included, that cover some instant of [from_ms, to_ms)
 * (an instant t: [t, t + 1)), by from_ms and seq; column is "card" or
 * "parent" (the instance) and id its id text. */
int store_bindings(struct store_reader *reader, const char *column,
                   const char *id, int64_t from_ms, int64_t to_ms,
                   store_take *take, void *context, struct error *err);
/* Ended workloads of a project, newest first, with seq < before (0: from the
 * newest). */
int store_workloads(struct store_reader *reader, const char *project,
                    int64_t before, int64_t count, store_take *take,
                    void *context, struct error *err);
/* Bound use with from_ms >= month_ms: the values taken are project, pool,
 * class, user, priority (id texts or NULL), vendor, model, meter, price_nano,
 * the sum of quantity, the number of facts. */
int store_month_usage(struct store_reader *reader, int64_t month_ms,
                      store_take *take, void *context, struct error *err);

#endif
