/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store.h"

#include <assert.h>
#include <string.h>

#include "base/buffer.h"
#include "store/row.h"

int
store_open(const struct store_ops *ops, const char *where,
           struct store **store_out, struct error *err)
{
    return ops->open(where, store_out, err);
}

static const struct store_ops *
ops_of(const void *session)
{
    const struct store_head *head = session;

    return head->ops;
}

void
store_close(struct store *store)
{
    if (store != NULL)
        ops_of(store)->close(store);
}

int
store_position(struct store *store, struct store_position *out,
               struct error *err)
{
    return ops_of(store)->position(store, out, err);
}

int
store_commit(struct store *store, int64_t epoch, int64_t revision,
             const struct store_row *rows, size_t row_count,
             const struct store_counter *counters, size_t counter_count,
             struct error *err)
{
    return ops_of(store)->commit(store, epoch, revision, rows, row_count,
                                 counters, counter_count, err);
}

int
store_reader_open(const struct store_ops *ops, const char *where,
                  struct store_reader **reader_out, struct error *err)
{
    return ops->reader_open(where, reader_out, err);
}

void
store_reader_close(struct store_reader *reader)
{
    if (reader != NULL)
        ops_of(reader)->reader_close(reader);
}

int
store_counters(struct store_reader *reader,
               int (*take)(void *context, const struct store_counter *counter,
                           struct error *err),
               void *context, struct error *err)
{
    return ops_of(reader)->counters(reader, take, context, err);
}

static struct store_condition *
condition_add(struct store_query *query, const char *column,
              enum store_compare compare)
{
    struct store_condition *condition;

    assert(query->condition_count < STORE_CONDITIONS);
    condition = &query->conditions[query->condition_count++];
    condition->column = column;
    condition->compare = compare;
    return condition;
}

void
store_where_text(struct store_query *query, const char *column,
                 enum store_compare compare, const char *text)
{
    struct store_condition *condition = condition_add(query, column, compare);

    condition->value.type = VALUE_TEXT;
    condition->value.text = text;
}

void
store_where_int(struct store_query *query, const char *column,
                enum store_compare compare, int64_t value)
{
    struct store_condition *condition = condition_add(query, column, compare);

    condition->value.type = VALUE_INT;
    condition->value.integer = value;
}

/* A name goes into SQL only when it is a column of the kind. */
static void
add_column(struct buffer *sql, enum kind kind, const char *name)
{
    (void)row_column(kind, name);
    buffer_printf(sql, "\"%s\"", name);
}

static void
add_conditions(struct buffer *sql, const struct store_query *query,
               struct value *binds)
{
    static const char *const compares[] = {
        [STORE_EQUAL] = "=",    [STORE_LESS] = "<", [STORE_AT_LEAST] = ">=",
        [STORE_AT_MOST] = "<=", [STORE_MORE] = ">",
    };
    const char *join = " WHERE ";

    if (query->live != STORE_ANY) {
        buffer_printf(sql, "%s\"live\" = %d", join, query->live == STORE_LIVE);
        join = " AND ";
    }
    for (size_t i = 0; i < query->condition_count; i++) {
        buffer_add_text(sql, join);
        add_column(sql, query->kind, query->conditions[i].column);
        buffer_printf(sql, " %s ?%zu", compares[query->conditions[i].compare],
                      i + 1);
        binds[i] = query->conditions[i].value;
        join = " AND ";
    }
}

static void
add_order(struct buffer *sql, const struct store_query *query)
{
    const char *direction = query->descending ? " DESC" : "";

    buffer_add_text(sql, " ORDER BY ");
    for (size_t i = 0; i < STORE_ORDERS && query->order[i] != NULL; i++) {
        add_column(sql, query->kind, query->order[i]);
        buffer_printf(sql, "%s, ", direction);
    }
    buffer_printf(sql, "\"seq\"%s", direction);
    if (query->limit > 0)
        buffer_printf(sql, " LIMIT %lld", (long long)query->limit);
}

int
store_select(struct store_reader *reader, const struct store_query *query,
             store_take *take, void *context, struct error *err)
{
    struct buffer sql = { 0 };
    struct value binds[STORE_CONDITIONS];
    size_t count = object_column_count(query->kind);
    bool is_text;
    int rc;

    buffer_add_text(&sql, "SELECT ");
    for (size_t i = 0; i < count; i++)
        buffer_printf(&sql, "%s\"%s\"", i > 0 ? ", " : "",
                      object_column(query->kind, i, &is_text));
    buffer_printf(&sql, " FROM \"%s\"", schema_get(query->kind)->name);
    add_conditions(&sql, query, binds);
    add_order(&sql, query);
    rc = ops_of(reader)->query(reader, buffer_text(&sql), binds,
                               query->condition_count, count, take, context,
                               err);
    buffer_release(&sql);
    return rc;
}

int
store_sum(struct store_reader *reader, const struct store_sum *sum,
          store_take *take, void *context, struct error *err)
{
    enum kind kind = sum->where.kind;
    struct buffer sql = { 0 }, groups = { 0 };
    struct value binds[STORE_CONDITIONS];
    int rc;

    for (size_t i = 0; i < sum->group_count; i++) {
        if (i > 0)
            buffer_add_text(&groups, ", ");
        add_column(&groups, kind, sum->groups[i]);
    }
    buffer_printf(&sql, "SELECT %s%sSUM(", buffer_text(&groups),
                  sum->group_count > 0 ? ", " : "");
    add_column(&sql, kind, sum->sum);
    buffer_printf(&sql, "), COUNT(*) FROM \"%s\"", schema_get(kind)->name);
    add_conditions(&sql, &sum->where, binds);
    if (sum->group_count > 0)
        buffer_printf(&sql, " GROUP BY %s ORDER BY %s", buffer_text(&groups),
                      buffer_text(&groups));
    rc = ops_of(reader)->query(reader, buffer_text(&sql), binds,
                               sum->where.condition_count,
                               sum->group_count + 2, take, context, err);
    buffer_release(&sql);
    buffer_release(&groups);
    return rc;
}

int
store_load(struct store_reader *reader, enum kind kind, store_take *take,
           void *context, struct error *err)
{
    struct store_query query = { .kind = kind, .live = STORE_LIVE };

    assert(schema_get(kind)->life == LIFE_OBJECT);
    return store_select(reader, &query, take, context, err);
}

int
store_events(struct store_reader *reader, const char *log, int64_t from,
             int64_t count, store_take *take, void *context,
             struct error *err)
{
    struct store_query query = { .kind = KIND_EVENT,
                                 .order = { "position" },
                                 .limit = count };

    store_where_text(&query, "parent", STORE_EQUAL, log);
    store_where_int(&query, "position", STORE_AT_LEAST, from);
    return store_select(reader, &query, take, context, err);
}

void
store_leaves_name(const char *log, uint64_t bundle,
                  char name[STORE_LEAVES_NAME_MAX])
{
    (void)snprintf(name, STORE_LEAVES_NAME_MAX, STORE_LEAVES "%s:%012llu",
                   log, (unsigned long long)bundle);
}

struct leaves {
    struct digest *out;
    bool found;
};

static int
take_leaves(void *context, const struct value *values, struct error *err)
{
    struct leaves *leaves = context;
    char hex[DIGEST_TEXT_MAX] = "";

    leaves->found = values[0].type == VALUE_TEXT &&
                    strlen(values[0].text) ==
                        (size_t)MERKLE_TILE_WIDTH * 2 * DIGEST_SIZE;
    for (size_t i = 0; leaves->found && i < MERKLE_TILE_WIDTH; i++) {
        memcpy(hex, values[0].text + i * 2 * DIGEST_SIZE, 2 * DIGEST_SIZE);
        if (digest_parse(hex, &leaves->out[i]) != 0)
            return error_set(err, ERROR_VERIFY, "the hashes are damaged");
    }
    return 1;
}

int
store_leaves(struct store_reader *reader, const char *log, uint64_t bundle,
             struct digest leaves[MERKLE_TILE_WIDTH], struct error *err)
{
    struct leaves taken = { .out = leaves };
    char name[STORE_LEAVES_NAME_MAX];
    struct value bind = { .type = VALUE_TEXT, .text = name };

    store_leaves_name(log, bundle, name);
    if (ops_of(reader)->query(reader,
                              "SELECT lower(hex(bytes)) FROM counter "
                              "WHERE name = ?1",
                              &bind, 1, 1, take_leaves, &taken, err) != 0)
        return -1;
    return taken.found ? 0
                       : error_set(err, ERROR_NOT_FOUND,
                                   "the hashes of pruned records from %llu "
                                   "are missing",
                                   (unsigned long long)bundle *
                                       MERKLE_TILE_WIDTH);
}

struct bindings_filter {
    store_take *take;
    void *context;
    int64_t from_ms;
};

/* Open ones have to_ms 0 or null, which no single comparison covers. */
static int
take_covering(void *context, const struct value *values, struct error *err)
{
    struct bindings_filter *filter = context;
    int64_t to_ms = row_int(KIND_BINDING, values, "to_ms");

    if (to_ms != 0 && to_ms <= filter->from_ms)
        return 0;
    return filter->take(filter->context, values, err);
}

int
store_bindings(struct store_reader *reader, const char *column,
               const char *id, int64_t from_ms, int64_t to_ms,
               store_take *take, void *context, struct error *err)
{
    struct store_query query = { .kind = KIND_BINDING,
                                 .order = { "from_ms" } };
    struct bindings_filter filter = { take, context, from_ms };

    store_where_text(&query, column, STORE_EQUAL, id);
    store_where_int(&query, "from_ms", STORE_LESS, to_ms);
    return store_select(reader, &query, take_covering, &filter, err);
}

int
store_workloads(struct store_reader *reader, const char *project,
                int64_t before, int64_t count, store_take *take,
                void *context, struct error *err)
{
    struct store_query query = { .kind = KIND_WORKLOAD,
                                 .descending = true,
                                 .limit = count };

    store_where_text(&query, "parent", STORE_EQUAL, project);
    store_where_int(&query, "ended_ms", STORE_MORE, 0);
    if (before > 0)
        store_where_int(&query, "seq", STORE_LESS, before);
    return store_select(reader, &query, take, context, err);
}

int
store_month_usage(struct store_reader *reader, int64_t month_ms,
                  store_take *take, void *context, struct error *err)
{
    struct store_sum sum = {
        .where = { .kind = KIND_FACT },
        .sum = "quantity",
        .groups = { "project", "pool", "class", "user", "priority", "vendor",
                    "model", "meter", "price_nano" },
        .group_count = 9
    };

    store_where_int(&sum.where, "from_ms", STORE_AT_LEAST, month_ms);
    store_where_text(&sum.where, "usage", STORE_EQUAL, "bound");
    return store_sum(reader, &sum, take, context, err);
}
