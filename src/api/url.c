/* SPDX-License-Identifier: Apache-2.0 */
#include "api/url.h"

#include <string.h>

static int
hex_value(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    if (digit >= 'a' && digit <= 'f')
        return digit - 'a' + 10;
    if (digit >= 'A' && digit <= 'F')
        return digit - 'A' + 10;
    return -1;
}

/* One byte of text at *position, decoded; -1 when the escape is broken. */
static int
decode_byte(const char *text, size_t size, size_t *position, int plus_is_space)
{
    char byte = text[(*position)++];
    if (byte == '+' && plus_is_space)
        return ' ';
    if (byte != '%')
        return (unsigned char)byte;
    if (size - *position < 2)
        return -1;
    int high = hex_value(text[*position]);
    int low = hex_value(text[*position + 1]);
    *position += 2;
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

static char *
decode(struct arena *arena, const char *text, size_t size, int plus_is_space,
       struct error *err)
{
    char *out = arena_alloc(arena, size + 1);
    size_t length = 0;
    for (size_t i = 0; i < size;) {
        int byte = decode_byte(text, size, &i, plus_is_space);
        if (byte < 0x20 || byte == 0x7f) {
            error_set(err, ERROR_INVALID,
                      "the address has a broken escape or a control "
                      "character");
            return NULL;
        }
        out[length++] = (char)byte;
    }
    out[length] = '\0';
    return out;
}

static int
add_segment(struct arena *arena, struct url *url, const char *text,
            size_t size, struct error *err)
{
    if (url->segment_count == URL_SEGMENTS_MAX)
        return error_set(err, ERROR_NOT_FOUND, "not found");
    char *segment = decode(arena, text, size, 0, err);
    if (segment == NULL)
        return -1;
    if (segment[0] == '\0' || strchr(segment, '/') != NULL ||
        strcmp(segment, ".") == 0 || strcmp(segment, "..") == 0)
        return error_set(err, ERROR_INVALID,
                         "the address has an empty or a dot segment");
    url->segments[url->segment_count++] = segment;
    return 0;
}

static int
parse_path(struct arena *arena, const char *path, size_t size,
           struct url *url, struct error *err)
{
    if (size == 0 || path[0] != '/')
        return error_set(err, ERROR_INVALID, "the address is no path");
    size_t start = 1;
    while (start < size) {
        const char *slash = memchr(path + start, '/', size - start);
        size_t end = slash == NULL ? size : (size_t)(slash - path);
        if (add_segment(arena, url, path + start, end - start, err) != 0)
            return -1;
        start = end + 1;
    }
    return 0;
}

static int
add_parameter(struct arena *arena, struct url *url, const char *text,
              size_t size, struct error *err)
{
    if (size == 0)
        return 0;
    if (url->parameter_count == URL_PARAMETERS_MAX)
        return error_set(err, ERROR_INVALID,
                         "the query has more than %d parameters",
                         URL_PARAMETERS_MAX);
    const char *equals = memchr(text, '=', size);
    size_t name_size = equals == NULL ? size : (size_t)(equals - text);
    char *name = decode(arena, text, name_size, 1, err);
    if (name == NULL)
        return -1;
    const char *value = "";
    if (equals != NULL) {
        value = decode(arena, equals + 1, size - name_size - 1, 1, err);
        if (value == NULL)
            return -1;
    }
    if (url_get(url, name) != NULL)
        return error_set(err, ERROR_INVALID,
                         "the query has a parameter twice");
    url->parameters[url->parameter_count++] =
        (struct url_parameter){.name = name, .value = value};
    return 0;
}

static int
parse_query(struct arena *arena, const char *query, struct url *url,
            struct error *err)
{
    while (*query != '\0') {
        size_t size = strcspn(query, "&");
        if (add_parameter(arena, url, query, size, err) != 0)
            return -1;
        query += size;
        if (*query == '&')
            query++;
    }
    return 0;
}

int
url_parse(struct arena *arena, const char *target, struct url *out,
          struct error *err)
{
    struct url url = {0};
    if (strnlen(target, URL_SIZE_MAX + 1) > URL_SIZE_MAX)
        return error_set(err, ERROR_TOO_LARGE,
                         "the address is longer than %d bytes", URL_SIZE_MAX);
    size_t path_size = strcspn(target, "?#");
    if (parse_path(arena, target, path_size, &url, err) != 0)
        return -1;
    if (target[path_size] == '?' &&
        parse_query(arena, target + path_size + 1, &url, err) != 0)
        return -1;
    *out = url;
    return 0;
}

const char *
url_get(const struct url *url, const char *name)
{
    for (size_t i = 0; i < url->parameter_count; i++)
        if (strcmp(url->parameters[i].name, name) == 0)
            return url->parameters[i].value;
    return NULL;
}
