/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/codec.h"
#include "engine/part.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/digest.h"
#include "base/json.h"

static bool
is_plain(const char *text)
{
    for (const unsigned char *s = (const unsigned char *)text; *s != 0; s++)
        if (*s < 0x20 || *s == 0x7F)
            return false;
    return true;
}

static bool
is_id(const char *text)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                  "._:-_";

    return text[0] != '\0' && text[strspn(text, allowed)] == '\0';
}

/* Puts "/key" or "/key/index" before the pointer of an inner error. */
static int
inside(struct error *err, const char *key, size_t index)
{
    char field[ERROR_FIELD_MAX];

    (void)snprintf(field, sizeof(field), "/%s/%zu%.*s", key, index,
                   (int)(sizeof(field) - 40), err->field);
    memcpy(err->field, field, sizeof(field));
    return -1;
}

static int
bad_field(struct error *err, const char *name, const char *rule)
{
    char pointer[ERROR_FIELD_MAX];

    (void)snprintf(pointer, sizeof(pointer), "/%s", name);
    return error_field(err, pointer, "field \"%s\" %s", name, rule);
}

static int
read_text(struct arena *arena, const struct codec_field *field,
          const json_t *object, void *member, struct error *err)
{
    const char *text = "";

    if (json_text(object, field->name, true, (size_t)field->max, &text,
                  err) != 0)
        return -1;
    if (field->type == CODEC_ID && !is_id(text))
        return bad_field(err, field->name,
                         "must be letters, digits and any of \"._:-_\"");
    if (field->type == CODEC_PART && !part_is_valid(text))
        return bad_field(err, field->name, "must name a card or a slice");
    if (!is_plain(text))
        return bad_field(err, field->name, "has control characters");
    text = arena_strdup(arena, text);
    memcpy(member, &text, sizeof(text));
    return 0;
}

static int
read_enum(const struct codec_field *field, const json_t *object,
          void *member, struct error *err)
{
    const char *text = "";

    if (json_text(object, field->name, true, 64, &text, err) != 0)
        return -1;
    for (int i = 0; field->names[i] != NULL; i++) {
        if (strcmp(field->names[i], text) == 0) {
            memcpy(member, &i, sizeof(i));
            return 0;
        }
    }
    return bad_field(err, field->name, "is not one of the known words");
}

static int
read_hex(const struct codec_field *field, const json_t *object, void *member,
         struct error *err)
{
    const char *text = "";

    if (json_text(object, field->name, true, 2 * (size_t)field->max, &text,
                  err) != 0)
        return -1;
    if (hex_decode(text, member, (size_t)field->max) != 0)
        return bad_field(err, field->name,
                         "must be hexadecimal of the right length");
    return 0;
}

static int
read_field(struct arena *arena, const struct codec_field *field,
           const json_t *object, void *record, struct error *err)
{
    void *member = (char *)record + field->offset;

    switch (field->type) {
    case CODEC_TEXT:
    case CODEC_ID:
    case CODEC_PART:
        return read_text(arena, field, object, member, err);
    case CODEC_INT:
        return json_int(object, field->name, true, field->min, field->max,
                        member, err);
    case CODEC_BOOL:
        return json_bool(object, field->name, true, member, err);
    case CODEC_ENUM:
        return read_enum(field, object, member, err);
    case CODEC_HEX:
        return read_hex(field, object, member, err);
    case CODEC_MINE:
        return 0;
    }
    return 0;
}

static bool
is_known(const struct codec *codec, const char *key)
{
    for (size_t i = 0; i < codec->count; i++)
        if (strcmp(codec->fields[i].name, key) == 0)
            return true;
    return false;
}

int
codec_read(struct arena *arena, const struct codec *codec,
           const json_t *object, void *record, struct error *err)
{
    const char *key;
    json_t *item;

    if (!json_is_object(object))
        return error_set(err, ERROR_INVALID, "a JSON object is expected");
    json_object_foreach((json_t *)(uintptr_t)object, key, item)
        if (!is_known(codec, key))
            return error_set(err, ERROR_INVALID, "unknown field \"%.60s\"",
                             key);
    for (size_t i = 0; i < codec->count; i++)
        if (read_field(arena, &codec->fields[i], object, record, err) != 0)
            return -1;
    return 0;
}

/* The largest end up to max that splits no character. */
static size_t
cut(const char *text, size_t max)
{
    size_t size = strlen(text);

    if (size <= max)
        return size;
    for (size = max; size > 0 && ((unsigned char)text[size] & 0xC0) == 0x80;)
        size--;
    return size;
}

/* What a program said (a reason, with line ends and colours) goes into a text
 * that the reader takes: else one such text would hold up every report.  NULL
 * is an empty text. */
static json_t *
write_text(const struct codec_field *field, const void *member)
{
    scoped_buffer plain = { 0 };
    const char *text;
    json_t *value;

    memcpy(&text, member, sizeof(text));
    if (text == NULL)
        text = "";
    buffer_add(&plain, text, cut(text, (size_t)field->max));
    for (size_t i = 0; i < plain.size; i++) {
        unsigned char byte = (unsigned char)plain.bytes[i];

        if (byte < 0x20 || byte == 0x7F)
            plain.bytes[i] = ' ';
    }
    value = json_stringn(buffer_text(&plain), plain.size);
    for (size_t i = 0; value == NULL && i < plain.size; i++)
        if ((unsigned char)plain.bytes[i] >= 0x80)
            plain.bytes[i] = '?';
    return value != NULL ? value
                         : json_stringn(buffer_text(&plain), plain.size);
}

static json_t *
write_hex(const struct codec_field *field, const void *member)
{
    char text[2 * 64 + 1];

    assert(field->max <= 64);
    hex_encode(member, (size_t)field->max, text);
    return json_string(text);
}

static json_t *
write_field(const struct codec_field *field, const void *record)
{
    const void *member = (const char *)record + field->offset;
    int64_t number;
    bool flag;
    int word;

    switch (field->type) {
    case CODEC_TEXT:
    case CODEC_ID:
    case CODEC_PART:
        return write_text(field, member);
    case CODEC_INT:
        memcpy(&number, member, sizeof(number));
        return json_integer(number);
    case CODEC_BOOL:
        memcpy(&flag, member, sizeof(flag));
        return json_boolean(flag);
    case CODEC_ENUM:
        memcpy(&word, member, sizeof(word));
        return json_string(field->names[word]);
    case CODEC_HEX:
        return write_hex(field, member);
    case CODEC_MINE:
        break;
    }
    return NULL;
}

json_t *
codec_write(const struct codec *codec, const void *record)
{
    json_t *object = json_object();

    assert(object != NULL);
    for (size_t i = 0; i < codec->count; i++)
        if (codec->fields[i].type != CODEC_MINE)
            (void)json_object_set_new(object, codec->fields[i].name,
                                      write_field(&codec->fields[i], record));
    return object;
}

static int
check_list(const json_t *list, const char *key, size_t max,
           struct error *err)
{
    if (!json_is_array(list))
        return bad_field(err, key, "must be a list");
    if (json_array_size(list) > max)
        return bad_field(err, key, "has too many items");
    return 0;
}

int
codec_read_list(struct arena *arena, const struct codec_list *list,
                const json_t *parent, void **records_out, size_t *count_out,
                struct error *err)
{
    const json_t *array = json_object_get(parent, list->key);
    size_t count;
    char *records;

    *records_out = NULL;
    *count_out = 0;
    if (array == NULL || json_is_null(array))
        return 0;
    if (check_list(array, list->key, list->max, err) != 0)
        return -1;
    count = json_array_size(array);
    records = arena_alloc(arena, count * list->codec->size);
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(array, i);
        void *record = records + i * list->codec->size;

        if (codec_read(arena, list->codec, item, record, err) != 0 ||
            (list->read != NULL &&
             list->read(arena, item, record, err) != 0))
            return inside(err, list->key, i);
    }
    *records_out = records;
    *count_out = count;
    return 0;
}

json_t *
codec_write_list(const struct codec *codec, const void *list, size_t count,
                 void (*write)(json_t *item, const void *record))
{
    json_t *array = json_array();

    assert(array != NULL);
    for (size_t i = 0; i < count; i++) {
        const void *record = (const char *)list + i * codec->size;
        json_t *item = codec_write(codec, record);

        if (write != NULL)
            write(item, record);
        (void)json_array_append_new(array, item);
    }
    return array;
}

int
codec_read_ids(struct arena *arena, const json_t *parent, const char *key,
               size_t max, size_t text_max, const char *const **list_out,
               size_t *count_out, struct error *err)
{
    const json_t *list = json_object_get(parent, key);
    const char **texts;

    *list_out = NULL;
    *count_out = 0;
    if (list == NULL || json_is_null(list))
        return 0;
    if (check_list(list, key, max, err) != 0)
        return -1;
    texts = arena_alloc(arena, json_array_size(list) * sizeof(*texts));
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        const char *text = json_string_value(item);

        if (text == NULL || json_string_length(item) > text_max ||
            (!is_id(text) && !part_is_valid(text)))
            return bad_field(err, key, "holds something that is not an id");
        texts[i] = arena_strdup(arena, text);
    }
    *list_out = texts;
    *count_out = json_array_size(list);
    return 0;
}

json_t *
codec_write_ids(const char *const *list, size_t count)
{
    json_t *array = json_array();

    assert(array != NULL);
    for (size_t i = 0; i < count; i++)
        (void)json_array_append_new(array, json_string(list[i]));
    return array;
}
