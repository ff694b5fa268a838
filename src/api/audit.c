/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "api/handlers.h"
#include "api/history.h"
#include "api/state.h"
#include "base/digest.h"
#include "control/journal.h"
#include "core/record.h"
#include "store/row.h"

/*
 * A log as its tenant (or the platform) may read it: record by record, or
 * with raw=1 the bytes that are in the Merkle tree, for a verifier.  Personal
 * parts come only with the right to them, and a search for a text sees no more
 * than the answer would show.
 *
 * One request looks at AUDIT_SCAN_MAX positions at most and says where the
 * next one goes on, so that no search holds a reader for long.
 */

#define AUDIT_PAGE_DEFAULT 100
#define AUDIT_PAGE_MAX 500
#define AUDIT_SCAN_MAX 20000
#define AUDIT_TEXT_MAX 200

/* What is searched for; NULL and 0: anything. */
struct search {
    const char *actor, *object, *verb, *text;
    const char *verb_end; /* of "workload.*": behind all of them */
    int decision;         /* 1 allow, 0 deny, -1 any */
    int64_t since_ms, until_ms;
};

struct reading {
    char log[ID_TEXT_MAX];
    int64_t from, limit, raw;
    int64_t pruned;     /* below this there are hashes alone */
    int64_t first, end; /* positions that there are to read */
    bool backwards;     /* from `from` down */
    struct search search;
    bool personal;
    json_t *items;
    int64_t next;
    int64_t count, looked;
};

/* --- what is asked for --- */

/* A user's name stands for its id; what names nobody finds nothing. */
static const char *
actor_of(const struct granted *granted, struct exchange *exchange)
{
    const struct world *world = granted_world(granted);
    const char *text = url_get(&exchange->url, "actor");
    char id[ID_TEXT_MAX];
    struct ref user;

    if (text == NULL)
        return NULL;
    if (strcmp(text, "platform") == 0)
        return "";
    user = world_find_name(world, KIND_USER, granted_object(granted), text);
    if (ref_is_none(user) || !access_visible(granted, user))
        return text;
    object_id_text(world, user, id);
    return arena_strdup(exchange->arena, id);
}

/* "workload.*" is all verbs from "workload." to below "workload/". */
static void
read_verb(struct exchange *exchange, struct search *search)
{
    const char *verb = url_get(&exchange->url, "verb");
    size_t size = verb != NULL ? strlen(verb) : 0;
    char *start, *end;

    search->verb = verb;
    if (size < 3 || strcmp(verb + size - 2, ".*") != 0)
        return;
    start = arena_strndup(exchange->arena, verb, size - 1);
    end = arena_strndup(exchange->arena, verb, size - 1);
    end[size - 2]++;
    search->verb = start;
    search->verb_end = end;
}

static int
read_search(const struct granted *granted, struct exchange *exchange,
            struct search *search, struct error *err)
{
    const char *decision = url_get(&exchange->url, "decision");

    search->actor = actor_of(granted, exchange);
    search->object = url_get(&exchange->url, "object");
    search->text = url_get(&exchange->url, "text");
    read_verb(exchange, search);
    search->decision = decision == NULL ? -1 : strcmp(decision, "allow") == 0;
    if (decision != NULL && search->decision == 0 &&
        strcmp(decision, "deny") != 0)
        return error_field(err, "decision",
                           "\"%.40s\" is not allow or deny", decision);
    if (search->text != NULL && (search->text[0] == '\0' ||
                                 strlen(search->text) > AUDIT_TEXT_MAX))
        return error_field(err, "text", "a text has 1 to %d characters",
                           AUDIT_TEXT_MAX);
    if (exchange_time(exchange, "after", 0, &search->since_ms, err) != 0 ||
        exchange_time(exchange, "until", 0, &search->until_ms, err) != 0)
        return -1;
    return search->until_ms != 0 && search->until_ms <= search->since_ms
               ? error_field(err, "until", "until lies behind after")
               : 0;
}

static bool
is_search(const struct search *search)
{
    return search->actor != NULL || search->object != NULL ||
           search->verb != NULL || search->text != NULL ||
           search->decision >= 0 || search->since_ms != 0 ||
           search->until_ms != 0;
}

/* Which way, and from where? */
static int
read_place(const struct exchange *exchange, struct reading *reading,
           struct error *err)
{
    int64_t before;

    if (exchange_int(exchange, "from", 0, INT64_MAX / 2, reading->first,
                     &reading->from, err) != 0 ||
        exchange_int(exchange, "before", 0, INT64_MAX / 2, -1, &before,
                     err) != 0)
        return -1;
    if (before < 0)
        return 0;
    if (url_get(&exchange->url, "from") != NULL)
        return error_field(err, "before",
                           "before goes backwards, from forwards: one of "
                           "them");
    reading->backwards = true;
    reading->from = before < reading->end ? before : reading->end;
    return 0;
}

int
audit_read(const struct granted *granted, struct exchange *exchange,
           struct error *err)
{
    const struct world *world = granted_world(granted);
    struct reading *reading = arena_alloc(exchange->arena, sizeof *reading);
    struct ref node = granted_object(granted);
    *reading = (struct reading){.first = 0};
    exchange->data = reading;
    object_id_text(world, node, reading->log);
    reading->personal = access_can(world, granted_actor(granted),
                                   VERB_AUDIT_PERSONAL, node,
                                   granted_now_ms(granted));
    reading->end = (int64_t)journal_size(loop_journal(exchange->api->loop),
                                         reading->log);
    reading->pruned = (int64_t)journal_keep(
                          loop_journal(exchange->api->loop), reading->log)
                          .pruned;
    reading->first = reading->pruned;
    if (read_place(exchange, reading, err) != 0 ||
        exchange_int(exchange, "limit", 1, AUDIT_PAGE_MAX,
                     AUDIT_PAGE_DEFAULT, &reading->limit, err) != 0 ||
        exchange_int(exchange, "raw", 0, 1, 0, &reading->raw, err) != 0 ||
        read_search(granted, exchange, &reading->search, err) != 0)
        return -1;
    if (!reading->backwards && reading->from < reading->pruned &&
        (reading->raw == 0 || is_search(&reading->search)))
        reading->from = reading->pruned;
    reading->next = reading->from;
    return 0;
}

static int
decode_base64(const char *text, struct buffer *out)
{
    size_t size = text == NULL ? 0 : strlen(text);
    if (size == 0)
        return 0;
    void *bytes = memory_new(1, size);
    int length = base64_decode(text, size, bytes, size);
    if (length > 0)
        buffer_add(out, bytes, (size_t)length);
    free(bytes);
    return length < 0 ? -1 : 0;
}

static json_t *
describe_record(const struct buffer *entry, const struct buffer *personal)
{
    scoped_buffer line = {0};
    struct record record;
    struct error ignored;
    if (record_decode(entry->bytes, entry->size, personal->bytes,
                      personal->size, &record, &ignored) != 0)
        return json_pack("{s:s}", "damaged", ignored.text);
    record_add_json(&line, &record);
    json_t *value = json_loadb(line.bytes, line.size, 0, NULL);
    return value == NULL ? json_object() : value;
}

static bool
has_text(const json_t *item, const char *text)
{
    char *line = json_dumps(item, JSON_COMPACT);
    bool found = line != NULL && strcasestr(line, text) != NULL;

    free(line);
    return found;
}

/* NULL when the text that is searched for is not in it. */
static json_t *
describe_event(const struct reading *reading, const struct value *values,
               int64_t position)
{
    scoped_buffer entry = {0};
    scoped_buffer personal = {0};
    const char *body = row_text(KIND_EVENT, values, "body");
    const char *person = row_text(KIND_EVENT, values, "personal");
    json_t *item;
    if (!reading->personal)
        person = NULL;
    if (decode_base64(body, &entry) != 0 ||
        decode_base64(person, &personal) != 0)
        return json_pack("{s:I, s:s}", "position", (json_int_t)position,
                         "damaged", "not base64");
    item = describe_record(&entry, &personal);
    if (reading->search.text != NULL &&
        !has_text(item, reading->search.text)) {
        json_decref(item);
        return NULL;
    }
    if (reading->raw == 1) {
        json_decref(item);
        return json_pack("{s:I, s:s?, s:s?, s:s?}", "position",
                         (json_int_t)position, "entry", body, "personal",
                         person, "leaf",
                         row_text(KIND_EVENT, values, "leaf"));
    }
    json_object_set_new(item, "position", json_integer(position));
    return item;
}

/* Ends the query when the page is full. */
static int
take_event(void *context, const struct value *values, struct error *err)
{
    struct reading *reading = context;
    int64_t position = row_int(KIND_EVENT, values, "position");
    json_t *item;
    if (reading->raw == 1 && !reading->backwards &&
        !is_search(&reading->search) && position > reading->next &&
        position % MERKLE_TILE_WIDTH == 0)
        return error_set(err, ERROR_BUSY,
                         "records before %lld may have been pruned just now: "
                         "ask again",
                         (long long)position);
    item = describe_event(reading, values, position);
    reading->next = reading->backwards ? position : position + 1;
    if (item == NULL)
        return 0;
    json_array_append_new(reading->items, item);
    reading->count++;
    return reading->count == reading->limit ? 1 : 0;
}

static void
add_search(struct store_query *query, const struct search *search)
{
    if (search->actor != NULL)
        store_where_text(query, "actor", STORE_EQUAL, search->actor);
    if (search->object != NULL)
        store_where_text(query, "target", STORE_EQUAL, search->object);
    if (search->verb != NULL)
        store_where_text(query, "verb",
                         search->verb_end != NULL ? STORE_AT_LEAST
                                                  : STORE_EQUAL,
                         search->verb);
    if (search->verb_end != NULL)
        store_where_text(query, "verb", STORE_LESS, search->verb_end);
    if (search->decision >= 0)
        store_where_int(query, "allowed", STORE_EQUAL, search->decision);
    if (search->since_ms != 0)
        store_where_int(query, "time_ms", STORE_AT_LEAST, search->since_ms);
    if (search->until_ms != 0)
        store_where_int(query, "time_ms", STORE_LESS, search->until_ms);
}

/* The positions that this request looks at: [*low, *high). */
static void
window_of(const struct reading *reading, int64_t *low, int64_t *high)
{
    if (reading->backwards) {
        *high = reading->from;
        *low = *high > AUDIT_SCAN_MAX ? *high - AUDIT_SCAN_MAX : 0;
    } else {
        *low = reading->next;
        *high = *low + AUDIT_SCAN_MAX;
    }
    if (*low < reading->first)
        *low = reading->first;
}

/* Of what is pruned the hashes of the leaves, in whole bundles. */
static int
add_leaves(struct reading *reading, struct store_reader *reader,
           struct error *err)
{
    struct digest leaves[MERKLE_TILE_WIDTH];

    while (reading->next < reading->pruned &&
           reading->count < reading->limit) {
        const int64_t at = reading->next % MERKLE_TILE_WIDTH;
        char text[DIGEST_TEXT_MAX];

        if ((reading->count == 0 || at == 0) &&
            store_leaves(reader, reading->log,
                         (uint64_t)(reading->next / MERKLE_TILE_WIDTH),
                         leaves, err) != 0)
            return -1;
        digest_format(&leaves[at], text);
        (void)json_array_append_new(
            reading->items,
            json_pack("{s:I, s:n, s:n, s:s}", "position",
                      (json_int_t)reading->next, "entry", "personal", "leaf",
                      text));
        reading->next++;
        reading->count++;
    }
    return 0;
}

/* The rows of one window, and where the next one begins. */
static int
select_rows(struct reading *reading, struct store_reader *reader,
            struct error *err)
{
    struct store_query query = {.kind = KIND_EVENT,
                                .order = {"position"},
                                .descending = reading->backwards};
    int64_t low, high;
    bool full;
    window_of(reading, &low, &high);
    store_where_text(&query, "parent", STORE_EQUAL, reading->log);
    store_where_int(&query, "position", STORE_AT_LEAST, low);
    store_where_int(&query, "position", STORE_LESS, high);
    add_search(&query, &reading->search);
    if (store_select(reader, &query, take_event, reading, err) != 0)
        return -1;
    full = reading->count == reading->limit;
    if (!full && reading->backwards)
        reading->next = low;
    else if (!full && is_search(&reading->search))
        reading->next = high < reading->end ? high : reading->end;
    return 0;
}

int
audit_history(struct exchange *exchange, struct store_reader *reader,
              struct error *err)
{
    struct reading *reading = exchange->data;
    bool more;
    reading->items = json_array();
    if ((!reading->backwards && add_leaves(reading, reader, err) != 0) ||
        (reading->count < reading->limit &&
         select_rows(reading, reader, err) != 0)) {
        json_decref(reading->items);
        return -1;
    }
    more = reading->backwards
               ? reading->next > reading->first
               : reading->count == reading->limit ||
                     reading->next < reading->end;
    answer_json(&exchange->answer, 200,
                json_pack("{s:s, s:o, s:I, s:b, s:I}", "log", reading->log,
                          "items", reading->items, "next",
                          (json_int_t)reading->next, "more", more, "pruned",
                          (json_int_t)reading->pruned));
    return 0;
}
