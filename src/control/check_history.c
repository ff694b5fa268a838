/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/arena.h"
#include "base/hashmap.h"
#include "control/check.h"
#include "control/check_private.h"
#include "control/describe.h"
#include "core/merkle.h"
#include "core/month.h"
#include "core/record.h"
#include "store/row.h"

/* The parts of the check that look at stored history; see check.h. */

#define ACTIVE_MAX 1024 /* bindings of one card at one instant */

/* --- no two on a card at any instant --- */

struct active {
    int64_t to_ms; /* INT64_MAX: open */
    int64_t milli;
};

struct sweep {
    struct check *check;
    char card[ID_TEXT_MAX];
    struct active active[ACTIVE_MAX];
    size_t count;
    bool told; /* about this card */
};

static void
sweep_out(struct sweep *sweep, int64_t now_ms)
{
    size_t kept = 0;

    for (size_t i = 0; i < sweep->count; i++)
        if (sweep->active[i].to_ms > now_ms)
            sweep->active[kept++] = sweep->active[i];
    sweep->count = kept;
}

static void
sweep_in(struct sweep *sweep, int64_t from_ms, int64_t to_ms, int64_t milli)
{
    int64_t sum = milli;

    for (size_t i = 0; i < sweep->count; i++)
        sum += sweep->active[i].milli;
    if (sum > 1000 && !sweep->told) {
        check_fail(sweep->check, CHECK_EXCLUSIVE, sweep->card,
                   "was bound %lld / 1000 at %lld", (long long)sum,
                   (long long)from_ms);
        sweep->told = true;
    }
    if (sweep->count < ACTIVE_MAX)
        sweep->active[sweep->count++] = (struct active){ to_ms, milli };
}

static int
take_binding(void *context, const struct value *values, struct error *err)
{
    struct sweep *sweep = context;
    const char *card = row_text(KIND_BINDING, values, "card");
    int64_t from_ms = row_int(KIND_BINDING, values, "from_ms");
    int64_t to_ms = row_int(KIND_BINDING, values, "to_ms");

    (void)err;
    if (card == NULL)
        return 0;
    sweep->check->looked[CHECK_EXCLUSIVE]++;
    if (strcmp(card, sweep->card) != 0) {
        (void)snprintf(sweep->card, sizeof(sweep->card), "%s", card);
        sweep->count = 0;
        sweep->told = false;
    }
    if (to_ms != 0 && to_ms == from_ms)
        return 0;
    sweep_out(sweep, from_ms);
    sweep_in(sweep, from_ms, to_ms != 0 ? to_ms : INT64_MAX,
             row_int(KIND_BINDING, values, "milli"));
    return 0;
}

static int
check_bindings(struct check *check, struct store_reader *reader,
               struct error *err)
{
    struct store_query query = { .kind = KIND_BINDING,
                                 .order = { "card", "from_ms" } };
    struct sweep *sweep = arena_alloc(check->arena, sizeof(*sweep));

    sweep->check = check;
    store_where_int(&query, "from_ms", STORE_AT_LEAST, check->from_ms);
    return store_select(reader, &query, take_binding, sweep, err);
}

/* --- usage adds up --- */

struct tally {
    struct check *check;
    char card[ID_TEXT_MAX];
    int64_t first_ms, last_ms; /* of the card's facts */
    int64_t hour_ms;           /* that is being added up */
    int64_t from_ms, to_ms;    /* of the hour's facts */
    int64_t quantity;
    bool open; /* an hour is being added up */
    const struct check_card *known; /* NULL: no longer there */
};

static void
end_hour(struct tally *tally)
{
    int64_t wanted = 1000 * (tally->to_ms - tally->from_ms);

    if (!tally->open)
        return;
    tally->open = false;
    if (tally->quantity != wanted)
        check_fail(tally->check, CHECK_USAGE, tally->card,
                   "the hour from %lld has %lld of %lld milli-card-ms",
                   (long long)tally->hour_ms, (long long)tally->quantity,
                   (long long)wanted);
    if (tally->last_ms != 0 && tally->last_ms != tally->from_ms)
        check_fail(tally->check, CHECK_USAGE, tally->card,
                   "nothing from %lld to %lld", (long long)tally->last_ms,
                   (long long)tally->from_ms);
    tally->last_ms = tally->to_ms;
}

static const struct check_card *
find_card(const struct check *check, const char *id)
{
    for (size_t i = 0; i < check->card_count; i++)
        if (strcmp(check->cards[i].id, id) == 0)
            return &check->cards[i];
    return NULL;
}

static void
end_card(struct tally *tally)
{
    end_hour(tally);
    if (tally->known != NULL && tally->last_ms != 0 &&
        tally->last_ms != tally->known->cut_ms)
        check_fail(tally->check, CHECK_USAGE, tally->card,
                   "metered up to %lld, facts end at %lld",
                   (long long)tally->known->cut_ms,
                   (long long)tally->last_ms);
}

static void
begin_card(struct tally *tally, const char *card)
{
    struct check *check = tally->check;

    memset(tally, 0, sizeof(*tally));
    tally->check = check;
    (void)snprintf(tally->card, sizeof(tally->card), "%s", card);
    tally->known = find_card(check, card);
    check->looked[CHECK_USAGE]++;
}

static int
take_fact(void *context, const struct value *values, struct error *err)
{
    struct tally *tally = context;
    const char *card = row_text(KIND_FACT, values, "card");
    int64_t from_ms = row_int(KIND_FACT, values, "from_ms");
    int64_t to_ms = row_int(KIND_FACT, values, "to_ms");

    (void)err;
    if (card == NULL)
        return 0;
    if (strcmp(card, tally->card) != 0) {
        end_card(tally);
        begin_card(tally, card);
    }
    /* Facts after the world was looked at came meanwhile. */
    if (tally->known != NULL && to_ms > tally->known->cut_ms)
        return 0;
    if (tally->open && tally->hour_ms != hour_start(from_ms))
        end_hour(tally);
    if (!tally->open) {
        tally->open = true;
        tally->hour_ms = hour_start(from_ms);
        tally->from_ms = from_ms;
        tally->to_ms = to_ms;
        tally->quantity = 0;
    }
    if (to_ms > tally->to_ms)
        tally->to_ms = to_ms;
    tally->quantity += row_int(KIND_FACT, values, "quantity");
    return 0;
}

static int
check_usage(struct check *check, struct store_reader *reader,
            struct error *err)
{
    struct store_query query = { .kind = KIND_FACT,
                                 .order = { "card", "from_ms" } };
    struct tally tally = { .check = check };

    store_where_text(&query, "meter", STORE_EQUAL, "card_hour");
    store_where_int(&query, "from_ms", STORE_AT_LEAST, check->from_ms);
    if (store_select(reader, &query, take_fact, &tally, err) != 0)
        return -1;
    end_card(&tally);
    return 0;
}

/* --- objects are as their records say --- */

struct stored {
    char id[ID_TEXT_MAX];
    int64_t version, updated_ms;
    struct digest digest;
    bool recorded;
    UT_hash_handle hh;
};

struct records {
    struct check *check;
    enum kind kind;
    struct stored *objects;
    const char *log;
    int64_t next; /* position that must come */
    bool first;   /* and it is the first that was not pruned */
    int64_t kept_ms; /* of all pruned logs the time of the newest such: what
                        changed last before may have no record any more */
};

static int
take_object(void *context, const struct value *values, struct error *err)
{
    struct records *records = context;
    struct stored *stored = arena_alloc(records->check->arena,
                                        sizeof(*stored));

    (void)err;
    (void)snprintf(stored->id, sizeof(stored->id), "%s", values[0].text);
    stored->version = values[2].integer;
    stored->updated_ms = row_int(records->kind, values, "updated_ms");
    row_digest(records->kind, values, &stored->digest);
    HASH_ADD_STR(records->objects, id, stored);
    return 0;
}

static void
compare_facts(struct records *records, const char *facts)
{
    char id[ID_TEXT_MAX];
    int64_t version;
    struct digest digest;

    while (facts != NULL &&
           describe_next_touch(&facts, id, &version, &digest) == 1) {
        struct stored *stored;

        HASH_FIND_STR(records->objects, id, stored);
        if (stored == NULL || stored->version != version)
            continue;
        stored->recorded = true;
        if (digest_compare(&stored->digest, &digest) != 0)
            check_fail(records->check, CHECK_RECORD, id,
                       "is not as its record of version %lld says",
                       (long long)version);
    }
}

static int
decode_base64(struct arena *arena, const char *text, uint8_t **bytes_out)
{
    size_t size = strlen(text);

    *bytes_out = arena_alloc(arena, size + 1);
    return base64_decode(text, size, *bytes_out, size + 1);
}

static bool
leaf_matches(const uint8_t *entry, size_t size, const char *leaf)
{
    struct digest computed, stored;

    record_leaf(entry, size, &computed);
    return leaf != NULL && digest_parse(leaf, &stored) == 0 &&
           digest_compare(&computed, &stored) == 0;
}

static int
take_record(void *context, const struct value *values, struct error *err)
{
    struct records *records = context;
    const char *body = row_text(KIND_EVENT, values, "body");
    int64_t position = row_int(KIND_EVENT, values, "position");
    scoped_arena arena = arena_new();
    struct record record;
    struct error ignored;
    uint8_t *entry;
    int size = decode_base64(arena, body != NULL ? body : "", &entry);

    (void)err;
    records->check->looked[CHECK_RECORD]++;
    if (position != records->next)
        check_fail(records->check, CHECK_RECORD, records->log,
                   "record %lld of the log is missing",
                   (long long)records->next);
    records->next = position + 1;
    if (records->first &&
        row_int(KIND_EVENT, values, "time_ms") > records->kept_ms)
        records->kept_ms = row_int(KIND_EVENT, values, "time_ms");
    records->first = false;
    if (size < 0 ||
        !leaf_matches(entry, (size_t)size,
                      row_text(KIND_EVENT, values, "leaf")) ||
        record_decode(entry, (size_t)size, NULL, 0, &record, &ignored) != 0)
        check_fail(records->check, CHECK_RECORD, records->log,
                   "record %lld of the log is not what its leaf commits to",
                   (long long)position);
    else
        compare_facts(records, record.facts);
    return 0;
}

struct log_list {
    struct arena *arena;
    const char *ids[65536];
    int64_t pruned[65536];
    size_t count;
};

static int
take_log(void *context, const struct store_counter *counter,
         struct error *err)
{
    struct log_list *list = context;

    (void)err;
    if (strncmp(counter->name, "log:", 4) == 0 &&
        list->count < sizeof(list->ids) / sizeof(list->ids[0]))
        list->ids[list->count++] =
            arena_strdup(list->arena, counter->name + 4);
    /* Comes behind those of all logs. */
    for (size_t i = 0; strncmp(counter->name, "pruned:", 7) == 0 &&
                       i < list->count;
         i++)
        if (strcmp(list->ids[i], counter->name + 7) == 0)
            list->pruned[i] = counter->value;
    return 0;
}

/* Of what is pruned the hashes have to be there. */
static int
check_leaves(struct records *records, struct store_reader *reader,
             int64_t pruned, struct error *err)
{
    struct digest leaves[MERKLE_TILE_WIDTH];

    for (int64_t i = 0; i < pruned / (int64_t)MERKLE_TILE_WIDTH; i++) {
        if (store_leaves(reader, records->log, (uint64_t)i, leaves, err) == 0)
            continue;
        if (err->code != ERROR_NOT_FOUND && err->code != ERROR_VERIFY)
            return -1;
        check_fail(records->check, CHECK_RECORD, records->log, "%s",
                   err->text);
    }
    return 0;
}

static int
check_logs(struct records *records, struct store_reader *reader,
           struct error *err)
{
    struct log_list *list =
        arena_alloc(records->check->arena, sizeof(*list));

    list->arena = records->check->arena;
    if (store_counters(reader, take_log, list, err) != 0)
        return -1;
    for (size_t i = 0; i < list->count; i++) {
        records->log = list->ids[i];
        records->next = list->pruned[i];
        records->first = list->pruned[i] > 0;
        if (check_leaves(records, reader, list->pruned[i], err) != 0 ||
            store_events(reader, list->ids[i], list->pruned[i], 0,
                         take_record, records, err) != 0)
            return -1;
    }
    return 0;
}

/* Objects first: then the records, read later, have all of their versions.
 * Receipts are part of a command's answer, not of the state. */
static int
check_records(struct check *check, struct store_reader *reader,
              struct error *err)
{
    struct records records = { .check = check };
    struct stored *stored, *next;
    int rc = 0;

    for (unsigned kind = KIND_NONE + 1; rc == 0 && kind < KIND_COUNT; kind++) {
        records.kind = (enum kind)kind;
        if (schema_get(records.kind)->life == LIFE_OBJECT &&
            kind != KIND_RECEIPT)
            rc = store_load(reader, records.kind, take_object, &records,
                            err);
    }
    if (rc == 0)
        rc = check_logs(&records, reader, err);
    HASH_ITER(hh, records.objects, stored, next) {
        if (rc == 0 && !stored->recorded &&
            stored->updated_ms > records.kept_ms)
            check_fail(check, CHECK_RECORD, stored->id,
                       "has no record of its version %lld",
                       (long long)stored->version);
        HASH_DEL(records.objects, stored);
    }
    return rc;
}

int
check_history(struct check *check, struct store_reader *reader,
              struct error *err)
{
    if (check_bindings(check, reader, err) != 0 ||
        check_usage(check, reader, err) != 0)
        return -1;
    return check_records(check, reader, err);
}
