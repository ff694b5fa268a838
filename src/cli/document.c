/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/document.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/file.h"

struct reading {
    yaml_parser_t parser;
    const char *const *as_text;
    int depth;
};

__attribute__((format(printf, 3, 4))) static int
refuse(const yaml_event_t *event, struct error *err, const char *fmt, ...)
{
    char text[ERROR_TEXT_MAX];
    va_list list;

    va_start(list, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, list);
    va_end(list);
    return error_set(err, ERROR_INVALID, "line %zu: %s",
                     event->start_mark.line + 1, text);
}

static int
next(struct reading *reading, yaml_event_t *event, struct error *err)
{
    const yaml_parser_t *parser = &reading->parser;

    if (yaml_parser_parse(&reading->parser, event))
        return 0;
    return error_set(err, ERROR_INVALID, "line %zu: not YAML: %s",
                     parser->problem_mark.line + 1,
                     parser->problem != NULL ? parser->problem
                                             : "cannot be read");
}

/* --- scalars --- */

static size_t
digits(const char *text)
{
    return strspn(text, "0123456789");
}

static bool
looks_real(const char *text)
{
    size_t whole, part = 0;

    text += *text == '-' || *text == '+';
    whole = digits(text);
    text += whole;
    if (*text == '.') {
        part = digits(text + 1);
        text += 1 + part;
    }
    if (whole + part == 0)
        return false;
    if (*text == 'e' || *text == 'E') {
        text++;
        text += *text == '-' || *text == '+';
        if (digits(text) == 0)
            return false;
        text += digits(text);
    }
    return *text == '\0';
}

static int
read_number(const yaml_event_t *event, const char *text, json_t **out,
            struct error *err)
{
    const char *figures = text + (*text == '-' || *text == '+');
    long long number;

    if (figures[digits(figures)] != '\0')
        return refuse(event, err,
                      "%.40s is not an integer; write it in quotes if it is "
                      "text",
                      text);
    if (figures[0] == '0' && figures[1] != '\0')
        return refuse(event, err,
                      "%.40s begins with 0; write it without, or in quotes "
                      "if it is text",
                      text);
    errno = 0;
    number = strtoll(text, NULL, 10);
    if (errno != 0)
        return refuse(event, err, "%.40s is above 2^63 - 1", text);
    *out = json_integer(number);
    return 0;
}

/* A scalar that stands there without quotes. */
static int
read_plain(const yaml_event_t *event, const char *text, json_t **out,
           struct error *err)
{
    if (text[0] == '\0' || strcmp(text, "~") == 0 ||
        strcmp(text, "null") == 0) {
        *out = json_null();
        return 0;
    }
    if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0) {
        *out = json_boolean(text[0] == 't');
        return 0;
    }
    if (looks_real(text))
        return read_number(event, text, out, err);
    *out = json_string(text);
    return 0;
}

static int
read_scalar(const yaml_event_t *event, bool as_text, json_t **out,
            struct error *err)
{
    const char *text = (const char *)event->data.scalar.value;
    size_t size = event->data.scalar.length;

    *out = NULL;
    if (event->data.scalar.anchor != NULL)
        return refuse(event, err, "anchors (&) are not taken");
    if (event->data.scalar.tag != NULL)
        return refuse(event, err, "tags (!) are not taken: %.60s",
                      (const char *)event->data.scalar.tag);
    if (memchr(text, '\0', size) != NULL)
        return refuse(event, err, "a text holds a zero byte");
    if (!as_text && event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE) {
        if (read_plain(event, text, out, err) != 0)
            return -1;
    } else {
        *out = json_stringn(text, size);
    }
    return *out != NULL ? 0 : refuse(event, err, "a text is not UTF-8");
}

/* --- structure --- */

static int read_value(struct reading *reading, const yaml_event_t *event,
                      bool as_text, json_t **out, struct error *err);

static bool
is_listed(const char *const *list, const char *key)
{
    for (size_t i = 0; list != NULL && list[i] != NULL; i++)
        if (strcmp(list[i], key) == 0)
            return true;
    return false;
}

/* One key with its value. */
static int
read_member(struct reading *reading, const yaml_event_t *event, bool as_text,
            json_t *object, struct error *err)
{
    yaml_event_t follows;
    json_t *key = NULL, *value = NULL;
    const char *name;
    int result = -1;

    if (event->type != YAML_SCALAR_EVENT)
        return refuse(event, err, "a key is not text");
    if (read_scalar(event, true, &key, err) != 0)
        return -1;
    name = json_string_value(key);
    if (json_object_get(object, name) != NULL)
        (void)refuse(event, err, "%.60s is given twice", name);
    else if (next(reading, &follows, err) == 0) {
        result = read_value(reading, &follows,
                            as_text || is_listed(reading->as_text, name),
                            &value, err);
        yaml_event_delete(&follows);
    }
    if (result == 0)
        (void)json_object_set_new(object, name, value);
    json_decref(key);
    return result;
}

/* The parts of a mapping or sequence, up to its end. */
static int
read_parts(struct reading *reading, bool as_text, json_t *whole,
           struct error *err)
{
    bool mapping = json_is_object(whole);
    yaml_event_type_t end =
        mapping ? YAML_MAPPING_END_EVENT : YAML_SEQUENCE_END_EVENT;

    for (;;) {
        yaml_event_t event;
        json_t *part = NULL;
        bool over;
        int result = 0;

        if (next(reading, &event, err) != 0)
            return -1;
        over = event.type == end;
        if (!over && mapping)
            result = read_member(reading, &event, as_text, whole, err);
        else if (!over)
            result = read_value(reading, &event, as_text, &part, err);
        yaml_event_delete(&event);
        if (result == 0 && part != NULL)
            (void)json_array_append_new(whole, part);
        if (over || result != 0)
            return result;
    }
}

static int
check_collection(const struct reading *reading, const yaml_event_t *event,
                 struct error *err)
{
    bool mapping = event->type == YAML_MAPPING_START_EVENT;
    const yaml_char_t *anchor = mapping ? event->data.mapping_start.anchor
                                        : event->data.sequence_start.anchor;
    const yaml_char_t *tag = mapping ? event->data.mapping_start.tag
                                     : event->data.sequence_start.tag;

    if (anchor != NULL)
        return refuse(event, err, "anchors (&) are not taken");
    if (tag != NULL)
        return refuse(event, err, "tags (!) are not taken: %.60s",
                      (const char *)tag);
    if (reading->depth >= JSON_DEPTH_MAX)
        return refuse(event, err, "more than %d levels", JSON_DEPTH_MAX);
    return 0;
}

/* NOLINTNEXTLINE(misc-no-recursion): at most JSON_DEPTH_MAX deep */
static int
read_value(struct reading *reading, const yaml_event_t *event, bool as_text,
           json_t **out, struct error *err)
{
    json_t *whole;
    int result;

    if (event->type == YAML_SCALAR_EVENT)
        return read_scalar(event, as_text, out, err);
    if (event->type == YAML_ALIAS_EVENT)
        return refuse(event, err, "aliases (*) are not taken");
    if (check_collection(reading, event, err) != 0)
        return -1;
    whole = event->type == YAML_MAPPING_START_EVENT ? json_object()
                                                    : json_array();
    reading->depth++;
    result = read_parts(reading, as_text, whole, err);
    reading->depth--;
    if (result == 0)
        *out = whole;
    else
        json_decref(whole);
    return result;
}

/* What stands in one document; the event is its first. */
static int
read_document(struct reading *reading, const yaml_event_t *event,
              json_t *documents, struct error *err)
{
    json_t *value = NULL;

    if (read_value(reading, event, false, &value, err) != 0)
        return -1;
    if (json_is_null(value)) {
        json_decref(value);
        return 0;
    }
    if (json_array_size(documents) >= DOCUMENT_MAX) {
        json_decref(value);
        return refuse(event, err, "more than %d documents", DOCUMENT_MAX);
    }
    (void)json_array_append_new(documents, value);
    return 0;
}

static int
read_stream(struct reading *reading, json_t *documents, struct error *err)
{
    for (;;) {
        yaml_event_t event;
        bool over;
        int result = 0;

        if (next(reading, &event, err) != 0)
            return -1;
        over = event.type == YAML_STREAM_END_EVENT;
        if (!over && event.type != YAML_STREAM_START_EVENT &&
            event.type != YAML_DOCUMENT_START_EVENT &&
            event.type != YAML_DOCUMENT_END_EVENT)
            result = read_document(reading, &event, documents, err);
        yaml_event_delete(&event);
        if (over || result != 0)
            return result;
    }
}

static bool
is_json(const char *text, size_t size)
{
    size_t blank = 0;

    while (blank < size && strchr(" \t\r\n", text[blank]) != NULL)
        blank++;
    return blank < size && text[blank] == '{';
}

int
document_parse(const char *text, size_t size, const char *const *as_text,
               json_t **documents_out, struct error *err)
{
    struct reading reading = { .as_text = as_text };
    json_t *documents = json_array(), *one;
    int result = 0;

    if (is_json(text, size)) {
        one = json_read(text, size, err);
        if (one == NULL)
            result = -1;
        else
            (void)json_array_append_new(documents, one);
    } else if (!yaml_parser_initialize(&reading.parser)) {
        result = error_set(err, ERROR_INTERNAL, "no YAML parser");
    } else {
        yaml_parser_set_input_string(&reading.parser,
                                     (const unsigned char *)text, size);
        yaml_parser_set_encoding(&reading.parser, YAML_UTF8_ENCODING);
        result = read_stream(&reading, documents, err);
        yaml_parser_delete(&reading.parser);
    }
    if (result == 0)
        *documents_out = documents;
    else
        json_decref(documents);
    return result;
}

int
document_read(const char *path, const char *const *as_text,
              json_t **documents_out, struct error *err)
{
    scoped_buffer bytes = { 0 };

    if (file_read(strcmp(path, "-") == 0 ? "/dev/stdin" : path, JSON_SIZE_MAX,
                  &bytes, err) != 0 ||
        document_parse(buffer_text(&bytes), bytes.size, as_text,
                       documents_out, err) != 0)
        return error_prefix(err, "%s", path);
    return 0;
}

const char *
document_written(const json_t *value, char number[DOCUMENT_NUMBER])
{
    if (json_is_string(value))
        return json_string_value(value);
    number[0] = '\0';
    if (json_is_integer(value))
        (void)snprintf(number, DOCUMENT_NUMBER, "%lld",
                       (long long)json_integer_value(value));
    return number;
}
