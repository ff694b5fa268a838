/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "api/audit_files.h"
#include "api/handlers.h"
#include "api/state.h"
#include "base/file.h"
#include "control/journal.h"
#include "core/checkpoint.h"
#include "core/keychain.h"
#include "identity/audit_cosigned.h"
#include "identity/audit_dir.h"
#include "identity/signer_client.h"

/* Files of one log, for whoever may read it. */

#define TEXT_TYPE "text/plain; charset=utf-8"
#define NOTES_MAX ((size_t)AUDIT_COSIGNED_MAX * CHECKPOINT_NOTE_MAX)

int
audit_files_directory(const struct exchange *exchange, const char **out,
                      struct error *err)
{
    *out = exchange->api->options.audit_path;
    return *out != NULL ? 0
                        : error_set(err, ERROR_UNSUPPORTED,
                                    "this server keeps no audit files");
}

int
audit_files_origin(const struct granted *granted, struct exchange *exchange,
                   char origin[RECORD_ORIGIN_MAX], struct error *err)
{
    const struct world *world = granted_world(granted);
    char estate[ID_TEXT_MAX], log[ID_TEXT_MAX];

    object_id_text(world, world_platform_ref(world), estate);
    object_id_text(world, granted_object(granted), log);
    if (journal_origin(estate,
                       journal_epoch(loop_journal(exchange->api->loop), log),
                       log, origin))
        return 0;
    return error_set(err, ERROR_UNSUPPORTED, "the log's origin is too long");
}

/* Where the file is, for the reader thread. */
static int
name_file(const struct granted *granted, struct exchange *exchange,
          const char *name, struct error *err)
{
    char origin[RECORD_ORIGIN_MAX];
    scoped_buffer path = {0};
    const char *directory;

    if (audit_files_directory(exchange, &directory, err) != 0 ||
        audit_files_origin(granted, exchange, origin, err) != 0)
        return -1;
    buffer_printf(&path, "%s/", directory);
    checkpoint_add_file_name(&path, origin);
    buffer_printf(&path, "/%s", name);
    exchange->data = arena_strdup(exchange->arena, buffer_text(&path));
    return 0;
}

int
audit_checkpoint_read(const struct granted *granted,
                      struct exchange *exchange, struct error *err)
{
    return name_file(granted, exchange, "checkpoint", err);
}

int
audit_cosigned_read(const struct granted *granted, struct exchange *exchange,
                    struct error *err)
{
    return name_file(granted, exchange, "cosigned", err);
}

int
audit_checkpoint(struct exchange *exchange, struct store_reader *reader,
                 struct error *err)
{
    scoped_buffer text = {0};
    (void)reader;
    if (file_read(exchange->data, CHECKPOINT_NOTE_MAX, &text, err) != 0)
        return error_set(err, ERROR_BUSY, "no head is signed yet");
    answer_text(&exchange->answer, 200, TEXT_TYPE, buffer_text(&text));
    return 0;
}

/* Nothing when no witness has cosigned yet: that is no failure. */
int
audit_cosigned(struct exchange *exchange, struct store_reader *reader,
               struct error *err)
{
    scoped_buffer text = {0};
    (void)reader;
    if (file_read(exchange->data, NOTES_MAX, &text, err) != 0 &&
        err->code != ERROR_NOT_FOUND)
        return -1;
    answer_text(&exchange->answer, 200, TEXT_TYPE, buffer_text(&text));
    return 0;
}

/* --- the signer's key --- */

#define ROTATE_MS 5000

int
audit_keys_read(const struct granted *granted, struct exchange *exchange,
                struct error *err)
{
    const char *directory;
    (void)granted;
    return audit_files_directory(exchange, &directory, err);
}

int
audit_keys(struct exchange *exchange, struct store_reader *reader,
           struct error *err)
{
    scoped_buffer text = {0};
    const char *directory;
    (void)reader;
    if (audit_files_directory(exchange, &directory, err) != 0 ||
        audit_dir_read_rotations(directory, &text, err) != 0)
        return -1;
    answer_text(&exchange->answer, 200, TEXT_TYPE, buffer_text(&text));
    return 0;
}

struct rotating {
    struct checkpoint_key key; /* named after the platform's log */
    bool done;
    int64_t count;
};

int
audit_rotate(const struct granted *granted, struct changes *changes,
             struct exchange *exchange, struct error *err)
{
    struct rotating *rotating = exchange->data;
    (void)changes;
    if (exchange->api->options.signer_socket == NULL)
        return error_set(err, ERROR_UNSUPPORTED,
                         "this server has no signer");
    if (rotating != NULL)
        return 0;
    rotating = arena_alloc(exchange->arena, sizeof *rotating);
    *rotating = (struct rotating){.count = 0};
    exchange->data = rotating;
    return audit_files_origin(granted, exchange, rotating->key.name, err);
}

int
audit_rotate_work(struct exchange *exchange, struct error *err)
{
    struct rotating *rotating = exchange->data;
    struct keychain_rotation last;
    scoped_buffer notes = {0};
    struct error ignored;
    size_t used;
    if (signer_rotate(exchange->api->options.signer_socket, ROTATE_MS,
                      rotating->key.public_key, &notes, err) != 0)
        return -1;
    for (size_t at = 0; at < notes.size; at += used, rotating->count++)
        if (keychain_read(notes.bytes + at, notes.size - at, &last, &used,
                          &ignored) != 0)
            return error_set(err, ERROR_INTERNAL,
                             "the signer told a rotation that does not hold");
    rotating->done = true;
    return 0;
}

void
audit_rotate_answer(const struct granted *granted,
                    const struct changes *changes, struct exchange *exchange)
{
    const struct rotating *rotating = exchange->data;
    scoped_buffer key = {0};
    (void)granted;
    (void)changes;
    checkpoint_add_key(&key, &rotating->key);
    answer_json(&exchange->answer, 200,
                json_pack("{s:s?, s:o}", "key",
                          rotating->done ? buffer_text(&key) : NULL,
                          "rotations",
                          rotating->done ? json_integer(rotating->count)
                                         : json_null()));
}
