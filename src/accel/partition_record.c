/* SPDX-License-Identifier: Apache-2.0 */
#include "accel/partition_record.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"

#define RECORD_SIZE_MAX 16384
#define PATH_ROOM 400

static const char *const mode_words[] = { "keep", "cut", "whole" };

/* --- names --- */

bool
record_has(const struct record_names *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->list[i], name) == 0)
            return true;
    return false;
}

void
record_add(struct record_names *names, const char *name)
{
    if (names->count == ACCEL_SLICES_MAX || record_has(names, name))
        return;
    (void)snprintf(names->list[names->count++], RECORD_NAME_MAX, "%s", name);
}

void
record_drop(struct record_names *names, const char *name)
{
    size_t left = 0;

    for (size_t i = 0; i < names->count; i++) {
        if (strcmp(names->list[i], name) == 0)
            continue;
        if (left != i)
            memcpy(names->list[left], names->list[i], RECORD_NAME_MAX);
        left++;
    }
    names->count = left;
}

static void
say(struct buffer *text, const char *word, const struct record_names *names)
{
    if (names->count > 0)
        buffer_printf(text, "%s%s", text->size > 0 ? ", " : "", word);
    for (size_t i = 0; i < names->count; i++)
        buffer_printf(text, " %s", names->list[i]);
}

void
record_say(const struct record_plan *plan, char text[RECORD_TEXT_MAX])
{
    static const char *const modes[] = { "", "cut the card",
                                         "make the card whole" };
    scoped_buffer all = { 0 };

    say(&all, "remove", &plan->remove);
    if (plan->mode != RECORD_KEEP)
        buffer_printf(&all, "%s%s", all.size > 0 ? ", " : "",
                      modes[plan->mode]);
    say(&all, "create", &plan->create);
    (void)snprintf(text, RECORD_TEXT_MAX, "%s", buffer_text(&all));
}

/* --- writing --- */

static void
path_of(char path[PATH_ROOM], const char *directory, const char *uuid)
{
    (void)snprintf(path, PATH_ROOM, "%.300s/%.64s.json", directory, uuid);
}

static json_t *
write_names(const struct record_names *names)
{
    json_t *list = json_array();

    for (size_t i = 0; i < names->count; i++)
        (void)json_array_append_new(list, json_string(names->list[i]));
    return list;
}

static json_t *
write_plan(const struct partition_record *record)
{
    if (!record->pending)
        return json_null();
    return json_pack("{s:s, s:o, s:o}", "mode", mode_words[record->plan.mode],
                     "remove", write_names(&record->plan.remove), "create",
                     write_names(&record->plan.create));
}

int
record_save(const struct partition_record *record, const char *directory,
            struct error *err)
{
    json_t *failure = json_string(record->failure);
    scoped_json object = json_pack(
        "{s:i, s:s, s:o, s:o, s:o, s:I}", "version", 1, "card", record->uuid,
        "own", write_names(&record->own), "intent", write_plan(record),
        "failure", failure != NULL ? failure : json_string("?"), "failed_ms", (json_int_t)record->failed_ms);
    scoped_buffer bytes = { 0 };
    char path[PATH_ROOM];

    json_write(&bytes, object);
    path_of(path, directory, record->uuid);
    if (file_write(path, bytes.bytes, bytes.size, 0600, err) != 0)
        return error_prefix(err, "write what is to become of the card");
    return 0;
}

/* --- reading --- */

static int
read_names(const json_t *object, const char *key, struct record_names *out,
           struct error *err)
{
    const json_t *list = json_object_get(object, key);

    if (!json_is_array(list) || json_array_size(list) > ACCEL_SLICES_MAX)
        return error_set(err, ERROR_INVALID, "%s is no list of slices", key);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_string_value(json_array_get(list, i));

        if (name == NULL || strlen(name) >= RECORD_NAME_MAX ||
            strchr(name, '/') != NULL)
            return error_set(err, ERROR_INVALID, "%s has no name of a slice",
                             key);
        record_add(out, name);
    }
    return 0;
}

static int
read_plan(const json_t *intent, struct partition_record *out,
          struct error *err)
{
    const char *mode = json_string_value(json_object_get(intent, "mode"));

    if (json_is_null(intent))
        return 0;
    for (size_t i = 0; i < 3; i++)
        if (mode != NULL && strcmp(mode, mode_words[i]) == 0) {
            out->plan.mode = (enum record_mode)i;
            out->pending = true;
        }
    if (!out->pending)
        return error_set(err, ERROR_INVALID, "the intent is not understood");
    return read_names(intent, "remove", &out->plan.remove, err) != 0
               ? -1
               : read_names(intent, "create", &out->plan.create, err);
}

int
record_load(struct partition_record *record_out, const char *directory,
            const char *uuid, struct error *err)
{
    struct partition_record record = { .pending = false };
    scoped_buffer bytes = { 0 };
    scoped_json object = NULL;
    const char *card = NULL;
    const char *failure = "";
    char path[PATH_ROOM];

    path_of(path, directory, uuid);
    if (file_read(path, RECORD_SIZE_MAX, &bytes, err) != 0)
        return -1;
    object = json_read(bytes.bytes, bytes.size, err);
    if (object == NULL ||
        json_text(object, "card", true, ACCEL_ID_MAX, &card, err) != 0 ||
        json_text(object, "failure", true, RECORD_TEXT_MAX - 1, &failure,
                  err) != 0 ||
        json_int(object, "failed_ms", true, 0, INT64_MAX, &record.failed_ms,
                 err) != 0 ||
        read_names(object, "own", &record.own, err) != 0 ||
        read_plan(json_object_get(object, "intent"), &record, err) != 0)
        return -1;
    if (strcmp(card, uuid) != 0)
        return error_set(err, ERROR_INVALID, "it is about another card");
    (void)snprintf(record.uuid, sizeof(record.uuid), "%s", card);
    (void)snprintf(record.failure, sizeof(record.failure), "%s", failure);
    *record_out = record;
    return 0;
}
