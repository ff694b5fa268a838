/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "api/handlers.h"
#include "api/history.h"
#include "base/digest.h"
#include "core/record.h"
#include "store/row.h"

/*
 * A log as its tenant (or the platform) may read it: record by record, or
 * with raw=1 the bytes that are in the Merkle tree, for a verifier.  Personal
 * parts come only with the right to them.
 */

#define AUDIT_PAGE_DEFAULT 100
#define AUDIT_PAGE_MAX 500

struct reading {
    char log[ID_TEXT_MAX];
    int64_t from, limit, raw;
    bool personal;
    json_t *items;
    int64_t next;
    int64_t count;
};

int
audit_read(const struct granted *granted, struct exchange *exchange,
           struct error *err)
{
    const struct world *world = granted_world(granted);
    struct reading *reading = arena_alloc(exchange->arena, sizeof *reading);
    struct ref node = granted_object(granted);
    exchange->data = reading;
    object_id_text(world, node, reading->log);
    reading->personal = access_can(world, granted_actor(granted),
                                   VERB_AUDIT_PERSONAL, node,
                                   granted_now_ms(granted));
    if (exchange_int(exchange, "from", 0, INT64_MAX / 2, 0, &reading->from,
                     err) != 0 ||
        exchange_int(exchange, "limit", 1, AUDIT_PAGE_MAX,
                     AUDIT_PAGE_DEFAULT, &reading->limit, err) != 0 ||
        exchange_int(exchange, "raw", 0, 1, 0, &reading->raw, err) != 0)
        return -1;
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

static json_t *
describe_event(const struct reading *reading, const struct value *values,
               int64_t position)
{
    scoped_buffer entry = {0};
    scoped_buffer personal = {0};
    const char *body = row_text(KIND_EVENT, values, "body");
    const char *person = row_text(KIND_EVENT, values, "personal");
    if (!reading->personal)
        person = NULL;
    if (reading->raw == 1)
        return json_pack("{s:I, s:s?, s:s?, s:s?}", "position",
                         (json_int_t)position, "entry", body, "personal",
                         person, "leaf",
                         row_text(KIND_EVENT, values, "leaf"));
    if (decode_base64(body, &entry) != 0 ||
        decode_base64(person, &personal) != 0)
        return json_pack("{s:I, s:s}", "position", (json_int_t)position,
                         "damaged", "not base64");
    json_t *item = describe_record(&entry, &personal);
    json_object_set_new(item, "position", json_integer(position));
    return item;
}

static int
take_event(void *context, const struct value *values, struct error *err)
{
    struct reading *reading = context;
    int64_t position = row_int(KIND_EVENT, values, "position");
    (void)err;
    json_array_append_new(reading->items,
                          describe_event(reading, values, position));
    reading->next = position + 1;
    reading->count++;
    return 0;
}

int
audit_history(struct exchange *exchange, struct store_reader *reader,
              struct error *err)
{
    struct reading *reading = exchange->data;
    reading->items = json_array();
    if (store_events(reader, reading->log, reading->from, reading->limit,
                     take_event, reading, err) != 0) {
        json_decref(reading->items);
        return -1;
    }
    answer_json(&exchange->answer, 200,
                json_pack("{s:s, s:o, s:I, s:b}", "log", reading->log,
                          "items", reading->items, "next",
                          (json_int_t)reading->next, "more",
                          reading->count == reading->limit));
    return 0;
}
