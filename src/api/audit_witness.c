/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "api/audit_files.h"
#include "api/handlers.h"
#include "identity/audit_cosigned.h"

/*
 * What a witness on another host asks for, and where it leaves what it
 * cosigned.  Any key may cosign: whom to believe is decided by who verifies.
 */

#define NOTES_MAX 4096 /* logs in one request */

const struct body_field cosign_body[] = {
    {"key", BODY_TEXT, true, "the witness's key: NAME+HASH+BASE64"},
    {"notes", BODY_LIST, true, "signed heads with its cosignature"},
    {NULL, BODY_TEXT, false, NULL},
};

/* --- all heads --- */

int
audit_heads_read(const struct granted *granted, struct exchange *exchange,
                 struct error *err)
{
    const char *directory;

    (void)granted;
    return audit_files_directory(exchange, &directory, err);
}

static int
take_head(void *context, const struct checkpoint *head, struct error *err)
{
    char root[DIGEST_TEXT_MAX];

    (void)err;
    digest_format(&head->root, root);
    (void)json_array_append_new(context,
                                json_pack("{s:s, s:I, s:s}", "origin",
                                          head->origin, "size",
                                          (json_int_t)head->size, "root",
                                          root));
    return 0;
}

int
audit_heads(struct exchange *exchange, struct store_reader *reader,
            struct error *err)
{
    const char *directory;
    json_t *items = json_array();

    (void)reader;
    if (audit_files_directory(exchange, &directory, err) != 0 ||
        audit_cosigned_heads(directory, take_head, items, err) != 0) {
        json_decref(items);
        return -1;
    }
    answer_json(&exchange->answer, 200, json_pack("{s:o}", "items", items));
    return 0;
}

/* --- one head, with its proof --- */

struct asking {
    const char *origin;
    int64_t old;
};

int
audit_witness_read(const struct granted *granted, struct exchange *exchange,
                   struct error *err)
{
    struct asking *asking = arena_alloc(exchange->arena, sizeof *asking);
    const char *directory;

    (void)granted;
    exchange->data = asking;
    asking->origin = url_get(&exchange->url, "origin");
    if (asking->origin == NULL)
        return error_field(err, "origin", "origin is needed: which log?");
    if (exchange_int(exchange, "old", 0, INT64_MAX / 2, 0, &asking->old,
                     err) != 0)
        return -1;
    return audit_files_directory(exchange, &directory, err);
}

int
audit_witness(struct exchange *exchange, struct store_reader *reader,
              struct error *err)
{
    const struct asking *asking = exchange->data;
    scoped_buffer text = {0};
    const char *directory;

    (void)reader;
    if (audit_files_directory(exchange, &directory, err) != 0 ||
        audit_cosigned_ask(directory, asking->origin, (uint64_t)asking->old,
                           &text, err) != 0)
        return -1;
    answer_text(&exchange->answer, 200, "text/plain; charset=utf-8",
                buffer_text(&text));
    return 0;
}

/* --- what it cosigned --- */

static int
read_key(const struct exchange *exchange, struct checkpoint_key *key,
         struct error *err)
{
    const char *text =
        json_string_value(json_object_get(exchange->body, "key"));

    if (text == NULL || checkpoint_parse_key(text, key, err) != 0)
        return error_field(err, "/key", "not a key of the form "
                                        "NAME+HASH+BASE64");
    return key->witness ? 0
                        : error_field(err, "/key",
                                      "not a witness's key: it signs notes, "
                                      "not cosignatures");
}

int
audit_cosign(const struct granted *granted, struct changes *changes,
             struct exchange *exchange, struct error *err)
{
    const json_t *notes = json_object_get(exchange->body, "notes");
    struct checkpoint_key key;
    const char *directory;

    (void)granted;
    (void)changes;
    if (json_array_size(notes) == 0 || json_array_size(notes) > NOTES_MAX)
        return error_field(err, "/notes", "1 to %d notes, not %zu", NOTES_MAX,
                           json_array_size(notes));
    if (read_key(exchange, &key, err) != 0)
        return -1;
    return audit_files_directory(exchange, &directory, err);
}

/* On a worker, before the record: a record that says what was not kept would
 * be worse than a note without one, which proves itself. */
int
audit_cosign_work(struct exchange *exchange, struct error *err)
{
    const json_t *notes = json_object_get(exchange->body, "notes");
    struct checkpoint_key key;
    const char *directory;

    if (read_key(exchange, &key, err) != 0 ||
        audit_files_directory(exchange, &directory, err) != 0)
        return -1;
    for (size_t i = 0; i < json_array_size(notes); i++) {
        const json_t *item = json_array_get(notes, i);
        const char *note = json_string_value(item);
        char field[32];

        (void)snprintf(field, sizeof field, "/notes/%zu", i);
        if (note == NULL)
            return error_field(err, field, "not a text");
        if (audit_cosigned_add(directory, note, json_string_length(item),
                               &key, err) != 0) {
            if (err->code == ERROR_VERIFY)
                err->code = ERROR_INVALID; /* not the server's fault */
            (void)snprintf(err->field, sizeof err->field, "%s", field);
            return -1;
        }
    }
    return 0;
}

void
audit_cosign_answer(const struct granted *granted,
                    const struct changes *changes, struct exchange *exchange)
{
    (void)granted;
    (void)changes;
    answer_json(
        &exchange->answer, 200,
        json_pack("{s:I}", "kept",
                  (json_int_t)json_array_size(
                      json_object_get(exchange->body, "notes"))));
}
