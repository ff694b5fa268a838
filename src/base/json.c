/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"

/* jansson recurses up to 2048 levels; count before it does. */
static int
check_depth(const char *bytes, size_t size, struct error *err)
{
    bool quoted = false;
    int depth = 0;

    for (size_t i = 0; i < size; i++) {
        char c = bytes[i];

        if (quoted && c == '\\')
            i++;
        else if (c == '"')
            quoted = !quoted;
        else if (!quoted && (c == '{' || c == '[') &&
                 ++depth > JSON_DEPTH_MAX)
            return error_set(err, ERROR_INVALID,
                             "JSON is nested deeper than %d levels",
                             JSON_DEPTH_MAX);
        else if (!quoted && (c == '}' || c == ']'))
            depth--;
    }
    return 0;
}

static bool
has_real(const json_t *value)
{
    const char *key;
    json_t *item;
    size_t i;

    if (json_is_real(value))
        return true;
    json_array_foreach(value, i, item)
        if (has_real(item))
            return true;
    /* jansson's iteration macro takes a pointer to non-const. */
    json_object_foreach((json_t *)(uintptr_t)value, key, item)
        if (has_real(item))
            return true;
    return false;
}

json_t *
json_read(const char *bytes, size_t size, struct error *err)
{
    json_error_t failure;
    json_t *value;

    if (size > JSON_SIZE_MAX) {
        (void)error_set(err, ERROR_TOO_LARGE,
                        "JSON of %zu bytes is larger than %zu", size,
                        JSON_SIZE_MAX);
        return NULL;
    }
    if (check_depth(bytes, size, err) != 0)
        return NULL;
    value = json_loadb(bytes, size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY,
                       &failure);
    if (value == NULL) {
        (void)error_set(err, ERROR_INVALID, "not valid JSON: %s (byte %d)",
                        failure.text, failure.position);
        return NULL;
    }
    if (has_real(value)) {
        json_decref(value);
        (void)error_set(err, ERROR_INVALID,
                        "JSON holds a number with a fraction or exponent; "
                        "only integers are used");
        return NULL;
    }
    return value;
}

int
json_only(const json_t *object, const char *const *keys, struct error *err)
{
    const char *key;
    json_t *item;

    if (object != NULL && !json_is_object(object))
        return error_set(err, ERROR_INVALID, "must be a JSON object");
    json_object_foreach((json_t *)(uintptr_t)object, key, item) {
        const char *const *known = keys;

        while (*known != NULL && strcmp(*known, key) != 0)
            known++;
        if (*known == NULL) {
            (void)error_set(err, ERROR_INVALID, "unknown field \"%.60s\"",
                            key);
            (void)snprintf(err->field, sizeof(err->field), "/%.60s", key);
            return -1;
        }
    }
    return 0;
}

/* The value of key; sets *missing_out, and fails when it is required. */
static int
find(const json_t *object, const char *key, bool required, json_t **out,
     struct error *err)
{
    char field[ERROR_FIELD_MAX];

    *out = json_object_get(object, key);
    if (*out != NULL && json_is_null(*out))
        *out = NULL;
    if (*out != NULL || !required)
        return 0;
    (void)snprintf(field, sizeof(field), "/%s", key);
    return error_field(err, field, "field \"%s\" is required", key);
}

int
json_text(const json_t *object, const char *key, bool required,
          size_t max_size, const char **out, struct error *err)
{
    char field[ERROR_FIELD_MAX];
    json_t *value;

    if (find(object, key, required, &value, err) != 0)
        return -1;
    if (value == NULL)
        return 0;
    (void)snprintf(field, sizeof(field), "/%s", key);
    if (!json_is_string(value))
        return error_field(err, field, "field \"%s\" must be a string", key);
    if (json_string_length(value) > max_size)
        return error_field(err, field,
                           "field \"%s\" has %zu bytes, at most %zu", key,
                           json_string_length(value), max_size);
    *out = json_string_value(value);
    return 0;
}

int
json_int(const json_t *object, const char *key, bool required, int64_t min,
         int64_t max, int64_t *out, struct error *err)
{
    char field[ERROR_FIELD_MAX];
    json_t *value;
    int64_t number;

    if (find(object, key, required, &value, err) != 0)
        return -1;
    if (value == NULL)
        return 0;
    (void)snprintf(field, sizeof(field), "/%s", key);
    if (!json_is_integer(value))
        return error_field(err, field, "field \"%s\" must be an integer", key);
    number = json_integer_value(value);
    if (number < min || number > max)
        return error_field(err, field,
                           "field \"%s\" is %lld, must be %lld to %lld", key,
                           (long long)number, (long long)min, (long long)max);
    *out = number;
    return 0;
}

int
json_bool(const json_t *object, const char *key, bool required, bool *out,
          struct error *err)
{
    char field[ERROR_FIELD_MAX];
    json_t *value;

    if (find(object, key, required, &value, err) != 0)
        return -1;
    if (value == NULL)
        return 0;
    (void)snprintf(field, sizeof(field), "/%s", key);
    if (!json_is_boolean(value))
        return error_field(err, field, "field \"%s\" must be true or false",
                           key);
    *out = json_is_true(value);
    return 0;
}

/* Length of the valid UTF-8 sequence at s, 0 when there is none. */
static size_t
utf8_length(const unsigned char *s)
{
    if (s[0] < 0x80)
        return 1;
    if (s[0] >= 0xC2 && s[0] <= 0xDF)
        return (s[1] & 0xC0) == 0x80 ? 2 : 0;
    if (s[0] >= 0xE0 && s[0] <= 0xEF) {
        if ((s[1] & 0xC0) != 0x80 || (s[2] & 0xC0) != 0x80 ||
            (s[0] == 0xE0 && s[1] < 0xA0) || (s[0] == 0xED && s[1] > 0x9F))
            return 0;
        return 3;
    }
    if (s[0] >= 0xF0 && s[0] <= 0xF4) {
        if ((s[1] & 0xC0) != 0x80 || (s[2] & 0xC0) != 0x80 ||
            (s[3] & 0xC0) != 0x80 || (s[0] == 0xF0 && s[1] < 0x90) ||
            (s[0] == 0xF4 && s[1] > 0x8F))
            return 0;
        return 4;
    }
    return 0;
}

json_t *
json_time(int64_t wall_ms)
{
    char text[CLOCK_TEXT_MAX];

    if (wall_ms == 0)
        return json_null();
    clock_format(wall_ms, text);
    return json_string(text);
}

void
json_quote(struct buffer *buffer, const char *text)
{
    const unsigned char *s = (const unsigned char *)text;

    buffer_add_byte(buffer, '"');
    while (*s != '\0') {
        size_t size = utf8_length(s);

        if (size == 0) {
            buffer_add_text(buffer, "\xEF\xBF\xBD");
            s++;
        } else if (*s == '"' || *s == '\\') {
            buffer_add_byte(buffer, '\\');
            buffer_add_byte(buffer, *s++);
        } else if (*s < 0x20 || *s == 0x7F) {
            buffer_printf(buffer, "\\u%04x", (unsigned)*s++);
        } else {
            buffer_add(buffer, s, size);
            s += size;
        }
    }
    buffer_add_byte(buffer, '"');
}

static int
write_chunk(const char *bytes, size_t size, void *data)
{
    struct buffer *buffer = data;

    buffer_add(buffer, bytes, size);
    return 0;
}

void
json_member(struct buffer *buffer, const char *name)
{
    char last = buffer->bytes[buffer->size - 1];

    if (last != '{' && last != '[')
        buffer_add_byte(buffer, ',');
    buffer_printf(buffer, "\"%s\":", name);
}

void
json_member_text(struct buffer *buffer, const char *name, const char *text)
{
    if (text == NULL)
        return;
    json_member(buffer, name);
    json_quote(buffer, text);
}

void
json_member_int(struct buffer *buffer, const char *name, int64_t value)
{
    json_member(buffer, name);
    buffer_printf(buffer, "%lld", (long long)value);
}

void
json_write(struct buffer *buffer, const json_t *value)
{
    (void)json_dump_callback(value, write_chunk, buffer,
                             JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
}
