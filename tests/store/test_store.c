/* SPDX-License-Identifier: Apache-2.0 */
/* What every store has to do, whatever is behind it. */
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "store/row.h"
#include "store/store.h"

struct fixture {
    const struct store_ops *ops;
    char where[64];
    struct store *store;
    struct arena *arena;
    struct store_position position;
};

static const struct store_ops *const backends[] = { &store_sqlite };

static void
remove_tree(const char *path)
{
    DIR *directory = opendir(path);
    struct dirent *entry;

    if (directory == NULL)
        return;
    while ((entry = readdir(directory)) != NULL) {
        char file[400];

        (void)snprintf(file, sizeof(file), "%s/%s", path, entry->d_name);
        (void)unlink(file);
    }
    (void)closedir(directory);
    (void)rmdir(path);
}

static void
must(int rc, const struct error *err)
{
    if (rc != 0)
        fail_msg("%s", err->text);
}

static void
reopen(struct fixture *fixture)
{
    struct error err;

    store_close(fixture->store);
    must(store_open(fixture->ops, fixture->where, &fixture->store, &err),
         &err);
    must(store_position(fixture->store, &fixture->position, &err), &err);
}

static int
setup(void **state)
{
    struct fixture *fixture = memory_new(1, sizeof(*fixture));

    fixture->ops = *(const struct store_ops *const *)*state;
    (void)snprintf(fixture->where, sizeof(fixture->where),
                   "/tmp/bulkhead-store-XXXXXX");
    assert_non_null(mkdtemp(fixture->where));
    fixture->arena = arena_new();
    reopen(fixture);
    *state = fixture;
    return 0;
}

static int
teardown(void **state)
{
    struct fixture *fixture = *state;

    store_close(fixture->store);
    remove_tree(fixture->where);
    arena_free(fixture->arena);
    free(fixture);
    return 0;
}

/* --- rows by hand --- */

static struct value *
blank(struct fixture *fixture, enum kind kind, const char *id, int64_t seq)
{
    size_t count = object_column_count(kind);
    struct value *values = arena_alloc(fixture->arena,
                                       count * sizeof(*values));

    for (size_t i = 0; i < count; i++) {
        bool is_text;

        (void)object_column(kind, i, &is_text);
        values[i].type = is_text ? VALUE_NULL : VALUE_INT;
    }
    values[0] = (struct value){ VALUE_TEXT, 0,
                                arena_strdup(fixture->arena, id) };
    values[1].integer = seq;
    return values;
}

static void
set_text(struct value *values, enum kind kind, const char *column,
         const char *text)
{
    values[row_column(kind, column)] =
        (struct value){ VALUE_TEXT, 0, text };
}

static void
set_int(struct value *values, enum kind kind, const char *column,
        int64_t number)
{
    values[row_column(kind, column)] =
        (struct value){ VALUE_INT, number, NULL };
}

static int
commit(struct fixture *fixture, const struct store_row *rows, size_t count,
       struct error *err)
{
    int rc = store_commit(fixture->store, fixture->position.epoch,
                          fixture->position.revision, rows, count, NULL, 0,
                          err);

    if (rc == 0)
        fixture->position.revision++;
    return rc;
}

static void
put(struct fixture *fixture, enum kind kind, const struct value *values)
{
    struct store_row row = { kind, STORE_PUT, values, NULL };
    struct error err;

    must(commit(fixture, &row, 1, &err), &err);
}

static void
put_named(struct fixture *fixture, const char *id, int64_t seq,
          const char *name)
{
    struct value *values = blank(fixture, KIND_POOL, id, seq);

    set_text(values, KIND_POOL, "name", name);
    put(fixture, KIND_POOL, values);
}

static void
mark(struct fixture *fixture, enum kind kind, enum store_op op,
     const char *id)
{
    struct store_row row = { kind, op, NULL, id };
    struct error err;

    must(commit(fixture, &row, 1, &err), &err);
}

/* --- what is read, as one text --- */

struct listing {
    enum kind kind;
    const char *column;
    char text[8192];
    int stop_after;
    int count;
};

static int
take_listing(void *context, const struct value *values, struct error *err)
{
    struct listing *listing = context;
    size_t used = strlen(listing->text);
    const struct value *value =
        &values[row_column(listing->kind, listing->column)];

    (void)err;
    if (value->type == VALUE_TEXT)
        (void)snprintf(listing->text + used, sizeof(listing->text) - used,
                       "%s ", value->text);
    else
        (void)snprintf(listing->text + used, sizeof(listing->text) - used,
                       "%lld ", (long long)value->integer);
    return ++listing->count == listing->stop_after;
}

static struct store_reader *
reader_of(struct fixture *fixture)
{
    struct store_reader *reader;
    struct error err;

    must(store_reader_open(fixture->ops, fixture->where, &reader, &err),
         &err);
    return reader;
}

static void
assert_selected(struct fixture *fixture, const struct store_query *query,
                const char *column, const char *expected)
{
    struct listing listing = { .kind = query->kind, .column = column };
    struct store_reader *reader = reader_of(fixture);
    struct error err;

    must(store_select(reader, query, take_listing, &listing, &err), &err);
    store_reader_close(reader);
    assert_string_equal(listing.text, expected);
}

static void
assert_names(struct fixture *fixture, const char *expected)
{
    struct store_query query = { .kind = KIND_POOL, .live = STORE_LIVE };

    assert_selected(fixture, &query, "name", expected);
}

/* --- commits --- */

static void
test_commit_survives_reopening(void **state)
{
    struct fixture *fixture = *state;
    int64_t epoch = fixture->position.epoch;

    put_named(fixture, "po_a", 1, "first");
    put_named(fixture, "po_b", 2, "second");
    reopen(fixture);
    assert_names(fixture, "first second ");
    assert_int_equal(fixture->position.revision, 2);
    assert_true(fixture->position.epoch > epoch);
}

static void
test_put_replaces_the_row_of_the_same_id(void **state)
{
    struct fixture *fixture = *state;

    put_named(fixture, "po_a", 1, "old");
    put_named(fixture, "po_a", 1, "new");
    assert_names(fixture, "new ");
}

/* The second row breaks a rule of the table: the first must not be there. */
static void
test_failed_commit_leaves_nothing(void **state)
{
    struct fixture *fixture = *state;
    struct value *good = blank(fixture, KIND_POOL, "po_a", 1);
    struct value *bad = blank(fixture, KIND_POOL, "po_b", 2);
    struct store_row rows[] = { { KIND_POOL, STORE_PUT, good, NULL },
                                { KIND_POOL, STORE_PUT, bad, NULL } };
    struct error err;

    set_text(good, KIND_POOL, "name", "good");
    bad[0] = (struct value){ VALUE_NULL, 0, NULL };
    assert_int_equal(commit(fixture, rows, 2, &err), -1);
    assert_int_equal(err.code, ERROR_UNKNOWN);
    assert_names(fixture, "");
    /* and the store works on at the same revision */
    put_named(fixture, "po_c", 3, "later");
    assert_names(fixture, "later ");
}

static void
test_commit_at_another_revision_is_refused(void **state)
{
    struct fixture *fixture = *state;
    struct value *values = blank(fixture, KIND_POOL, "po_a", 1);
    struct store_row row = { KIND_POOL, STORE_PUT, values, NULL };
    struct error err;

    fixture->position.revision++;
    assert_int_equal(commit(fixture, &row, 1, &err), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    assert_names(fixture, "");
}

/* [S44] Who lost its place writes nothing, however late it comes. */
static void
test_writer_of_an_older_epoch_is_refused(void **state)
{
    struct fixture *fixture = *state;
    struct fixture newer = *fixture;
    struct value *values = blank(fixture, KIND_POOL, "po_a", 1);
    struct store_row row = { KIND_POOL, STORE_PUT, values, NULL };
    struct error err;

    newer.store = NULL;
    reopen(&newer);
    assert_int_equal(commit(fixture, &row, 1, &err), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    /* asking for its position does not make it a writer again */
    must(store_position(fixture->store, &fixture->position, &err), &err);
    assert_int_equal(commit(fixture, &row, 1, &err), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    put_named(&newer, "po_b", 1, "newer");
    assert_names(&newer, "newer ");
    store_close(newer.store);
}

static int
take_counters(void *context, const struct store_counter *counter,
              struct error *err)
{
    char *text = context;
    size_t used = strlen(text);

    (void)err;
    (void)snprintf(text + used, 256 - used, "%s=%lld/%zu%.*s ",
                   counter->name, (long long)counter->value, counter->size,
                   (int)counter->size,
                   counter->bytes != NULL ? (const char *)counter->bytes
                                          : "");
    return 0;
}

static void
test_counters_are_kept_with_the_commit(void **state)
{
    struct fixture *fixture = *state;
    struct store_counter counters[] = { { "seq", 7, NULL, 0 },
                                        { "log", 2, "root", 4 },
                                        { "seq", 9, NULL, 0 } };
    struct store_reader *reader;
    struct error err;
    char text[256] = "";

    must(store_commit(fixture->store, fixture->position.epoch, 0, NULL, 0,
                      counters, 3, &err),
         &err);
    reader = reader_of(fixture);
    must(store_counters(reader, take_counters, text, &err), &err);
    store_reader_close(reader);
    assert_string_equal(text, "log=2/4root seq=9/0 ");
}

static void
test_large_texts_come_back_whole(void **state)
{
    struct fixture *fixture = *state;
    struct value *values = blank(fixture, KIND_POOL, "po_a", 1);
    struct store_query query = { .kind = KIND_POOL };
    struct listing *listing = memory_new(1, sizeof(*listing));
    size_t size = (size_t)3 * 1024 * 1024;
    char *text = memory_new(1, size + 1);

    (void)query;
    memset(text, 'x', size);
    text[size - 1] = 'y';
    set_text(values, KIND_POOL, "name", "big");
    set_text(values, KIND_POOL, "tenants", text);
    put(fixture, KIND_POOL, values);
    reopen(fixture);
    store_where_text(&query, "tenants", STORE_EQUAL, text);
    assert_selected(fixture, &query, "name", "big ");
    text[size - 1] = 'z';
    assert_selected(fixture, &query, "name", "");
    free(text);
    free(listing);
}

static void
test_numbers_keep_all_64_bits(void **state)
{
    struct fixture *fixture = *state;
    struct value *values = blank(fixture, KIND_QUOTA, "qu_a", INT64_MAX);
    struct store_query query = { .kind = KIND_QUOTA };

    set_int(values, KIND_QUOTA, "limit", INT64_MIN);
    put(fixture, KIND_QUOTA, values);
    assert_selected(fixture, &query, "limit", "-9223372036854775808 ");
    assert_selected(fixture, &query, "seq", "9223372036854775807 ");
}

/* --- what is live --- */

static void
put_workload(struct fixture *fixture, const char *id, int64_t seq,
             const char *project)
{
    struct value *values = blank(fixture, KIND_WORKLOAD, id, seq);

    set_text(values, KIND_WORKLOAD, "parent", project);
    put(fixture, KIND_WORKLOAD, values);
}

static void
test_load_gives_live_rows_by_seq(void **state)
{
    struct fixture *fixture = *state;
    struct listing listing = { .kind = KIND_WORKLOAD, .column = "id" };
    struct store_reader *reader;
    struct error err;

    put_workload(fixture, "wl_c", 3, "pj_a");
    put_workload(fixture, "wl_a", 4, "pj_a");
    put_workload(fixture, "wl_b", 1, "pj_a");
    put_workload(fixture, "wl_d", 2, "pj_a");
    mark(fixture, KIND_WORKLOAD, STORE_EVICT, "wl_c");
    mark(fixture, KIND_WORKLOAD, STORE_DELETE, "wl_d");
    reader = reader_of(fixture);
    must(store_load(reader, KIND_WORKLOAD, take_listing, &listing, &err),
         &err);
    store_reader_close(reader);
    assert_string_equal(listing.text, "wl_b wl_a ");
}

static void
put_ended(struct fixture *fixture, const char *id, int64_t seq,
          const char *project)
{
    struct value *values = blank(fixture, KIND_WORKLOAD, id, seq);

    set_text(values, KIND_WORKLOAD, "parent", project);
    set_int(values, KIND_WORKLOAD, "ended_ms", 1000 + seq);
    put(fixture, KIND_WORKLOAD, values);
}

/* Whether they are in memory still (wl_d) or not. */
static void
test_ended_workloads_are_listed_newest_first_in_pages(void **state)
{
    struct fixture *fixture = *state;
    struct listing first = { .kind = KIND_WORKLOAD, .column = "id" };
    struct listing second = first, other = first;
    struct store_reader *reader;
    struct error err;

    put_ended(fixture, "wl_a", 1, "pj_a");
    put_ended(fixture, "wl_b", 2, "pj_b");
    put_ended(fixture, "wl_c", 3, "pj_a");
    put_ended(fixture, "wl_d", 4, "pj_a");
    put_workload(fixture, "wl_live", 5, "pj_a");
    mark(fixture, KIND_WORKLOAD, STORE_EVICT, "wl_a");
    mark(fixture, KIND_WORKLOAD, STORE_EVICT, "wl_b");
    mark(fixture, KIND_WORKLOAD, STORE_EVICT, "wl_c");
    reader = reader_of(fixture);
    must(store_workloads(reader, "pj_a", 0, 2, take_listing, &first, &err),
         &err);
    must(store_workloads(reader, "pj_a", 3, 2, take_listing, &second, &err),
         &err);
    must(store_workloads(reader, "pj_b", 0, 9, take_listing, &other, &err),
         &err);
    store_reader_close(reader);
    assert_string_equal(first.text, "wl_d wl_c ");
    assert_string_equal(second.text, "wl_a ");
    assert_string_equal(other.text, "wl_b ");
}

/* --- history --- */

static void
put_binding(struct fixture *fixture, const char *id, int64_t seq,
            int64_t from_ms, int64_t to_ms)
{
    struct value *values = blank(fixture, KIND_BINDING, id, seq);

    set_text(values, KIND_BINDING, "parent", "in_a");
    set_text(values, KIND_BINDING, "card", "cd_a");
    set_int(values, KIND_BINDING, "from_ms", from_ms);
    set_int(values, KIND_BINDING, "to_ms", to_ms);
    put(fixture, KIND_BINDING, values);
    if (to_ms != 0)
        mark(fixture, KIND_BINDING, STORE_EVICT, id);
}

static void
assert_bound(struct fixture *fixture, const char *column, const char *id,
             int64_t from_ms, int64_t to_ms, const char *expected)
{
    struct listing listing = { .kind = KIND_BINDING, .column = "id" };
    struct store_reader *reader = reader_of(fixture);
    struct error err;

    must(store_bindings(reader, column, id, from_ms, to_ms, take_listing,
                        &listing, &err),
         &err);
    store_reader_close(reader);
    assert_string_equal(listing.text, expected);
}

static void
test_timeline_answers_any_past_instant_both_ways(void **state)
{
    struct fixture *fixture = *state;

    put_binding(fixture, "bi_a", 1, 100, 200);
    put_binding(fixture, "bi_b", 2, 200, 300);
    put_binding(fixture, "bi_c", 3, 350, 0);
    assert_bound(fixture, "card", "cd_a", 99, 100, "");
    assert_bound(fixture, "card", "cd_a", 100, 101, "bi_a ");
    assert_bound(fixture, "card", "cd_a", 199, 200, "bi_a ");
    assert_bound(fixture, "card", "cd_a", 200, 201, "bi_b ");
    assert_bound(fixture, "card", "cd_a", 300, 301, "");
    assert_bound(fixture, "card", "cd_a", 1000, 1001, "bi_c ");
    assert_bound(fixture, "parent", "in_a", 0, 1000, "bi_a bi_b bi_c ");
    assert_bound(fixture, "parent", "in_b", 0, 1000, "");
}

static struct value *
event_values(struct fixture *fixture, const char *id, const char *log,
             int64_t position)
{
    struct value *values = blank(fixture, KIND_EVENT, id, position + 1);

    set_text(values, KIND_EVENT, "parent", log);
    set_int(values, KIND_EVENT, "position", position);
    return values;
}

static void
test_events_come_by_log_and_position(void **state)
{
    struct fixture *fixture = *state;
    struct listing listing = { .kind = KIND_EVENT, .column = "id" };
    struct store_reader *reader;
    struct error err;
    const char *log_a = "tn_a";

    put(fixture, KIND_EVENT, event_values(fixture, "ev_2", log_a, 2));
    put(fixture, KIND_EVENT, event_values(fixture, "ev_0", log_a, 0));
    put(fixture, KIND_EVENT, event_values(fixture, "ev_x", "tn_b", 0));
    put(fixture, KIND_EVENT, event_values(fixture, "ev_1", log_a, 1));
    reader = reader_of(fixture);
    must(store_events(reader, log_a, 1, 10, take_listing, &listing, &err),
         &err);
    store_reader_close(reader);
    assert_string_equal(listing.text, "ev_1 ev_2 ");
}

/* One place in a log is taken once: a fork would be two. */
static void
test_second_event_at_a_position_is_refused(void **state)
{
    struct fixture *fixture = *state;
    struct value *values = event_values(fixture, "ev_y", "tn_a", 0);
    struct store_row row = { KIND_EVENT, STORE_PUT, values, NULL };
    struct error err;

    put(fixture, KIND_EVENT, event_values(fixture, "ev_x", "tn_a", 0));
    assert_int_equal(commit(fixture, &row, 1, &err), -1);
    assert_int_equal(err.code, ERROR_UNKNOWN);
}

static struct value
text_value(const char *text)
{
    return (struct value){ .type = VALUE_TEXT, .text = text };
}

static struct value
int_value(int64_t integer)
{
    return (struct value){ .type = VALUE_INT, .integer = integer };
}

static void
test_pruning_takes_a_range_of_one_log(void **state)
{
    struct fixture *fixture = *state;
    struct listing listing = { .kind = KIND_EVENT, .column = "id" };
    struct value values[] = { text_value("tn_a"), int_value(1),
                              int_value(3) };
    struct store_row row = { KIND_EVENT, STORE_PRUNE, values, NULL };
    struct store_reader *reader;
    struct error err;

    put(fixture, KIND_EVENT, event_values(fixture, "ev_0", "tn_a", 0));
    put(fixture, KIND_EVENT, event_values(fixture, "ev_1", "tn_a", 1));
    put(fixture, KIND_EVENT, event_values(fixture, "ev_2", "tn_a", 2));
    put(fixture, KIND_EVENT, event_values(fixture, "ev_3", "tn_a", 3));
    put(fixture, KIND_EVENT, event_values(fixture, "ev_x", "tn_b", 1));
    must(commit(fixture, &row, 1, &err), &err);
    reader = reader_of(fixture);
    must(store_events(reader, "tn_a", 0, 10, take_listing, &listing, &err),
         &err);
    must(store_events(reader, "tn_b", 0, 10, take_listing, &listing, &err),
         &err);
    store_reader_close(reader);
    assert_string_equal(listing.text, "ev_0 ev_3 ev_x ");
}

static void
test_hashes_of_what_is_pruned_are_read_alone(void **state)
{
    struct fixture *fixture = *state;
    struct digest leaves[MERKLE_TILE_WIDTH], back[MERKLE_TILE_WIDTH];
    char name[STORE_LEAVES_NAME_MAX];
    struct store_counter counters[] = { { name, 256, leaves, sizeof(leaves) },
                                        { "log", 2, "root", 4 } };
    struct store_reader *reader;
    struct error err;
    char text[256] = "";

    for (size_t i = 0; i < MERKLE_TILE_WIDTH; i++)
        memset(&leaves[i], (int)i, sizeof(leaves[i]));
    store_leaves_name("tn_a", 1, name);
    must(store_commit(fixture->store, fixture->position.epoch, 0, NULL, 0,
                      counters, 2, &err),
         &err);
    reader = reader_of(fixture);
    must(store_counters(reader, take_counters, text, &err), &err);
    assert_string_equal(text, "log=2/4root ");
    must(store_leaves(reader, "tn_a", 1, back, &err), &err);
    assert_memory_equal(back, leaves, sizeof(leaves));
    assert_int_equal(store_leaves(reader, "tn_a", 0, back, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    store_reader_close(reader);
}

static void
put_fact(struct fixture *fixture, int64_t sequence, const char *project,
         const char *usage, int64_t from_ms, int64_t quantity)
{
    struct value *values = blank(fixture, KIND_FACT, "fa_x", sequence);

    set_text(values, KIND_FACT, "source", "bulkheadd");
    set_int(values, KIND_FACT, "epoch", 1);
    set_int(values, KIND_FACT, "sequence", sequence);
    set_int(values, KIND_FACT, "from_ms", from_ms);
    set_text(values, KIND_FACT, "usage", usage);
    set_text(values, KIND_FACT, "meter", "card_hour");
    set_text(values, KIND_FACT, "project", project);
    set_text(values, KIND_FACT, "pool", "po_a");
    set_int(values, KIND_FACT, "quantity", quantity);
    put(fixture, KIND_FACT, values);
}

static int
take_sums(void *context, const struct value *values, struct error *err)
{
    char *text = context;
    size_t used = strlen(text);

    (void)err;
    (void)snprintf(text + used, 256 - used, "%s:%s:%s=%lld/%lld ",
                   values[0].text,
                   values[1].text, values[2].text != NULL ? values[2].text
                                                          : "-",
                   (long long)values[9].integer,
                   (long long)values[10].integer);
    return 0;
}

static void
test_card_time_sums_bound_facts_of_the_month(void **state)
{
    struct fixture *fixture = *state;
    struct store_reader *reader;
    struct error err;
    char text[256] = "";

    put_fact(fixture, 1, "pj_a", "bound", 999, 1000000);
    put_fact(fixture, 2, "pj_a", "bound", 1000, 10);
    put_fact(fixture, 3, "pj_b", "bound", 1500, 20);
    put_fact(fixture, 4, "pj_a", "idle", 1500, 400);
    put_fact(fixture, 5, "pj_a", "bound", 2500, 5);
    reader = reader_of(fixture);
    must(store_month_usage(reader, 1000, take_sums, text, &err), &err);
    store_reader_close(reader);
    assert_string_equal(text, "pj_a:po_a:-=15/2 pj_b:po_a:-=20/1 ");
}

static void
test_sum_that_overflows_fails(void **state)
{
    struct fixture *fixture = *state;
    struct store_reader *reader;
    struct error err;
    char text[256] = "";

    put_fact(fixture, 1, "pj_a", "bound", 1000, INT64_MAX);
    put_fact(fixture, 2, "pj_a", "bound", 1000, 1);
    reader = reader_of(fixture);
    assert_int_equal(store_month_usage(reader, 0, take_sums, text, &err), -1);
    assert_int_equal(err.code, ERROR_INTERNAL);
    store_reader_close(reader);
}

static void
test_fact_is_counted_once(void **state)
{
    struct fixture *fixture = *state;
    struct value *values = blank(fixture, KIND_FACT, "fa_other", 2);
    struct store_row row = { KIND_FACT, STORE_PUT, values, NULL };
    struct error err;

    put_fact(fixture, 1, "pj_a", "bound", 1000, 10);
    set_text(values, KIND_FACT, "source", "bulkheadd");
    set_int(values, KIND_FACT, "epoch", 1);
    set_int(values, KIND_FACT, "sequence", 1);
    assert_int_equal(commit(fixture, &row, 1, &err), -1);
}

static void
test_reading_can_stop_early(void **state)
{
    struct fixture *fixture = *state;
    struct listing listing = { .kind = KIND_POOL,
                               .column = "name",
                               .stop_after = 1 };
    struct store_query query = { .kind = KIND_POOL };
    struct store_reader *reader;
    struct error err;

    put_named(fixture, "po_a", 1, "first");
    put_named(fixture, "po_b", 2, "second");
    reader = reader_of(fixture);
    must(store_select(reader, &query, take_listing, &listing, &err), &err);
    store_reader_close(reader);
    assert_string_equal(listing.text, "first ");
}

static void
test_values_are_data_not_sql(void **state)
{
    struct fixture *fixture = *state;
    struct store_query query = { .kind = KIND_POOL };

    put_named(fixture, "po_a", 1, "x' OR '1'='1");
    put_named(fixture, "po_b", 2, "other");
    store_where_text(&query, "name", STORE_EQUAL, "x' OR '1'='1");
    assert_selected(fixture, &query, "id", "po_a ");
}

/* --- kill -9 in the middle of commits --- */

/* Each commit puts a pair; its number is told only after it is durable. */
static void
commit_for_ever(struct fixture *fixture, int out)
{
    fixture->store = NULL;
    reopen(fixture);
    for (int64_t i = fixture->position.revision + 1;; i++) {
        char first[32], second[32];
        struct store_row rows[2];
        struct error err;

        (void)snprintf(first, sizeof(first), "po_%lld_a", (long long)i);
        (void)snprintf(second, sizeof(second), "po_%lld_b", (long long)i);
        rows[0] = (struct store_row){
            KIND_POOL, STORE_PUT, blank(fixture, KIND_POOL, first, i), NULL
        };
        rows[1] = (struct store_row){
            KIND_POOL, STORE_PUT, blank(fixture, KIND_POOL, second, i), NULL
        };
        if (commit(fixture, rows, 2, &err) != 0 ||
            write(out, &i, sizeof(i)) != sizeof(i))
            _exit(1);
    }
}

static int64_t
kill_while_committing(struct fixture *fixture, unsigned delay_ms)
{
    struct timespec delay = { 0, (long)delay_ms * 1000000 };
    int64_t acknowledged = 0, number;
    int pipes[2];
    pid_t child;

    assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0)
        commit_for_ever(fixture, pipes[1]);
    (void)close(pipes[1]);
    if (read(pipes[0], &number, sizeof(number)) == sizeof(number))
        acknowledged = number;
    (void)nanosleep(&delay, NULL);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    while (read(pipes[0], &number, sizeof(number)) == sizeof(number))
        acknowledged = number;
    (void)close(pipes[0]);
    return acknowledged;
}

static int
take_pairs(void *context, const struct value *values, struct error *err)
{
    int64_t *count = context;
    int64_t seq = row_int(KIND_POOL, values, "seq");

    (void)err;
    /* dense pairs in order: 1 1 2 2 3 3 ... */
    assert_int_equal(seq, *count / 2 + 1);
    ++*count;
    return 0;
}

static void
test_kill_loses_nothing_acknowledged_and_halves_nothing(void **state)
{
    struct fixture *fixture = *state;

    store_close(fixture->store);
    fixture->store = NULL;
    for (unsigned round = 0; round < 8; round++) {
        int64_t acknowledged =
            kill_while_committing(fixture, 1 + round * 7 % 20);
        struct store_reader *reader;
        struct error err;
        int64_t count = 0;

        assert_true(acknowledged > 0);
        reopen(fixture);
        reader = reader_of(fixture);
        must(store_load(reader, KIND_POOL, take_pairs, &count, &err), &err);
        store_reader_close(reader);
        assert_int_equal(count % 2, 0);
        assert_true(count / 2 >= acknowledged);
        assert_int_equal(fixture->position.revision, count / 2);
        store_close(fixture->store);
        fixture->store = NULL;
    }
}

/* A reader that is in the middle of reading does not hold up commits, and
 * sees one state. */
struct during {
    struct fixture *fixture;
    int seen;
};

static int
take_and_commit(void *context, const struct value *values, struct error *err)
{
    struct during *during = context;

    (void)values;
    (void)err;
    if (during->seen++ == 0)
        put_named(during->fixture, "po_z", 99, "meanwhile");
    return 0;
}

static void
test_reader_sees_one_state_while_commits_go_on(void **state)
{
    struct fixture *fixture = *state;
    struct during during = { fixture, 0 };
    struct store_query query = { .kind = KIND_POOL };
    struct store_reader *reader;
    struct error err;

    put_named(fixture, "po_a", 1, "first");
    put_named(fixture, "po_b", 2, "second");
    reader = reader_of(fixture);
    must(store_select(reader, &query, take_and_commit, &during, &err), &err);
    assert_int_equal(during.seen, 2);
    store_reader_close(reader);
    assert_names(fixture, "first second meanwhile ");
}

int
main(void)
{
    int failed = 0;

    for (size_t i = 0; i < sizeof(backends) / sizeof(backends[0]); i++) {
        void *backend = (void *)(uintptr_t)&backends[i];
#define TEST(name) { #name, test_##name, setup, teardown, backend }
        const struct CMUnitTest tests[] = {
            TEST(commit_survives_reopening),
            TEST(put_replaces_the_row_of_the_same_id),
            TEST(failed_commit_leaves_nothing),
            TEST(commit_at_another_revision_is_refused),
            TEST(writer_of_an_older_epoch_is_refused),
            TEST(counters_are_kept_with_the_commit),
            TEST(pruning_takes_a_range_of_one_log),
            TEST(hashes_of_what_is_pruned_are_read_alone),
            TEST(large_texts_come_back_whole),
            TEST(numbers_keep_all_64_bits),
            TEST(load_gives_live_rows_by_seq),
            TEST(ended_workloads_are_listed_newest_first_in_pages),
            TEST(timeline_answers_any_past_instant_both_ways),
            TEST(events_come_by_log_and_position),
            TEST(second_event_at_a_position_is_refused),
            TEST(card_time_sums_bound_facts_of_the_month),
            TEST(sum_that_overflows_fails),
            TEST(fact_is_counted_once),
            TEST(reading_can_stop_early),
            TEST(values_are_data_not_sql),
            TEST(reader_sees_one_state_while_commits_go_on),
            TEST(kill_loses_nothing_acknowledged_and_halves_nothing),
        };

        failed += cmocka_run_group_tests_name(backends[i]->name, tests, NULL,
                                              NULL);
    }
    return failed;
}
