/* SPDX-License-Identifier: Apache-2.0 */
#include "base/canon.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"

/* --- writing --- */

/* May the byte stand in a string as it is? */
static bool
is_plain(unsigned char byte)
{
    return byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\';
}

/* What jansson's own writer does with the rest: escapes, or bytes to check. */
static bool
add_by_tree(struct buffer *buffer, const char *text)
{
    scoped_json value = json_string(text);

    if (value == NULL)
        return false;
    json_write(buffer, value);
    return true;
}

bool
canon_text(struct buffer *buffer, const char *text)
{
    size_t size = 0;

    while (is_plain((unsigned char)text[size]))
        size++;
    if (text[size] != '\0')
        return add_by_tree(buffer, text);
    buffer_add_byte(buffer, '"');
    buffer_add(buffer, text, size);
    buffer_add_byte(buffer, '"');
    return true;
}

char *
canon_int_at(char *at, int64_t value)
{
    char digits[CANON_INT_MAX];
    size_t first = sizeof(digits);
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;

    do {
        digits[--first] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (value < 0)
        *at++ = '-';
    memcpy(at, digits + first, sizeof(digits) - first);
    return at + sizeof(digits) - first;
}

void
canon_int(struct buffer *buffer, int64_t value)
{
    char text[CANON_INT_MAX];

    buffer_add(buffer, text, (size_t)(canon_int_at(text, value) - text));
}

void
canon_time(struct buffer *buffer, int64_t wall_ms)
{
    char text[CLOCK_TEXT_MAX + 2] = "\"";
    size_t size;

    if (wall_ms == 0) {
        buffer_add(buffer, "null", 4);
        return;
    }
    clock_format(wall_ms, text + 1);
    size = strlen(text);
    text[size] = '"';
    buffer_add(buffer, text, size + 1);
}

/* --- checking --- */

struct scan {
    const char *at, *end;
    int depth;
};

static bool scan_value(struct scan *scan);

static bool
skip(struct scan *scan, char wanted)
{
    if (scan->at == scan->end || *scan->at != wanted)
        return false;
    scan->at++;
    return true;
}

static bool
skip_word(struct scan *scan, const char *word)
{
    size_t size = strlen(word);

    if ((size_t)(scan->end - scan->at) < size ||
        memcmp(scan->at, word, size) != 0)
        return false;
    scan->at += size;
    return true;
}

static bool
scan_text(struct scan *scan)
{
    if (!skip(scan, '"'))
        return false;
    while (scan->at < scan->end && is_plain((unsigned char)*scan->at))
        scan->at++;
    return skip(scan, '"');
}

/* At most 18 digits: those fit every integer. */
static bool
scan_number(struct scan *scan)
{
    const char *first;
    bool minus = skip(scan, '-');

    first = scan->at;
    while (scan->at < scan->end && *scan->at >= '0' && *scan->at <= '9')
        scan->at++;
    if (scan->at == first || scan->at - first > 18)
        return false;
    return *first != '0' || (scan->at - first == 1 && !minus);
}

static bool
scan_list(struct scan *scan)
{
    if (skip(scan, ']'))
        return true;
    do {
        if (!scan_value(scan))
            return false;
    } while (skip(scan, ','));
    return skip(scan, ']');
}

int
canon_compare(const char *a, size_t a_size, const char *b, size_t b_size)
{
    int order = memcmp(a, b, a_size < b_size ? a_size : b_size);

    if (order != 0)
        return order;
    return (a_size > b_size) - (a_size < b_size);
}

static bool
scan_members(struct scan *scan)
{
    const char *last = NULL;
    size_t last_size = 0;

    if (skip(scan, '}'))
        return true;
    do {
        const char *key = scan->at;
        size_t size;

        if (!scan_text(scan))
            return false;
        size = (size_t)(scan->at - key) - 2;
        if (last != NULL && canon_compare(last, last_size, key + 1, size) >= 0)
            return false;
        last = key + 1;
        last_size = size;
        if (!skip(scan, ':') || !scan_value(scan))
            return false;
    } while (skip(scan, ','));
    return skip(scan, '}');
}

static bool
scan_nested(struct scan *scan, bool (*scan_inside)(struct scan *scan))
{
    bool good;

    scan->at++;
    if (++scan->depth > JSON_DEPTH_MAX)
        return false;
    good = scan_inside(scan);
    scan->depth--;
    return good;
}

/* NOLINTNEXTLINE(misc-no-recursion): depth is bounded by JSON_DEPTH_MAX */
static bool
scan_value(struct scan *scan)
{
    if (scan->at == scan->end)
        return false;
    switch (*scan->at) {
    case '{':
        return scan_nested(scan, scan_members);
    case '[':
        return scan_nested(scan, scan_list);
    case '"':
        return scan_text(scan);
    case 't':
        return skip_word(scan, "true");
    case 'f':
        return skip_word(scan, "false");
    case 'n':
        return skip_word(scan, "null");
    default:
        return scan_number(scan);
    }
}

bool
canon_check(const char *bytes, size_t size)
{
    struct scan scan = { bytes, bytes + size, 0 };

    return scan_value(&scan) && scan.at == scan.end;
}
