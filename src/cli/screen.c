/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/screen.h"

#include <string.h>

#define BROKEN UINT32_MAX

static size_t
length_of(unsigned char first)
{
    if (first < 0x80)
        return 1;
    if (first >= 0xC2 && first < 0xE0)
        return 2;
    if (first >= 0xE0 && first < 0xF0)
        return 3;
    return first >= 0xF0 && first < 0xF5 ? 4 : 0;
}

/* Shortest form, no surrogates, not beyond the last character. */
static bool
is_well_formed(uint32_t code, size_t length)
{
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };

    return code >= least[length] && code <= 0x10FFFF &&
           (code < 0xD800 || code > 0xDFFF);
}

/* How many bytes the character at `bytes` takes (BROKEN ones: 1); 0 when
 * more bytes are needed to tell. */
static size_t
decode(const unsigned char *bytes, size_t size, uint32_t *code_out)
{
    size_t length = length_of(bytes[0]);
    uint32_t code;

    *code_out = BROKEN;
    if (length == 0)
        return 1;
    code = length == 1 ? bytes[0] : bytes[0] & (0x7FU >> length);
    for (size_t i = 1; i < length; i++) {
        if (i == size)
            return 0;
        if ((bytes[i] & 0xC0) != 0x80)
            return 1;
        code = code << 6 | (bytes[i] & 0x3F);
    }
    if (!is_well_formed(code, length))
        return 1;
    *code_out = code;
    return length;
}

static bool
is_unsafe(uint32_t code)
{
    return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x061C ||
           code == 0x200E || code == 0x200F ||
           (code >= 0x2028 && code <= 0x202E) ||
           (code >= 0x2066 && code <= 0x2069) || code == 0xFEFF ||
           (code >= 0xFFF9 && code <= 0xFFFB) || code == BROKEN;
}

void
screen_clean(struct buffer *out, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t size = strlen(text);

    while (size > 0) {
        uint32_t code;
        size_t used = decode(at, size, &code);

        if (used == 0)
            used = size; /* cut: code is BROKEN */
        if (!is_unsafe(code))
            buffer_add(out, at, used);
        else
            buffer_add_byte(out, code == '\n' || code == '\t' ? ' ' : '?');
        at += used;
        size -= used;
    }
}

static void
pass_one(struct screen_stream *stream, unsigned char byte, struct buffer *out)
{
    uint32_t code;
    size_t used;

    stream->held[stream->held_size++] = byte;
    while (stream->held_size > 0) {
        used = decode(stream->held, stream->held_size, &code);
        if (used == 0)
            return;
        if (!is_unsafe(code) || code == '\n' || code == '\t')
            buffer_add(out, stream->held, used);
        else
            buffer_add_byte(out, '?');
        stream->held_size -= used;
        memmove(stream->held, stream->held + used, stream->held_size);
    }
}

void
screen_pass(struct screen_stream *stream, const char *bytes, size_t size,
            struct buffer *out)
{
    for (size_t i = 0; i < size; i++)
        pass_one(stream, (unsigned char)bytes[i], out);
}

void
screen_escape(struct buffer *out, const char *text, size_t size)
{
    const unsigned char *at = (const unsigned char *)text;

    while (size > 0) {
        uint32_t code;
        size_t used = decode(at, size, &code);

        if (used == 0)
            used = size;
        if (code == BROKEN)
            buffer_add_byte(out, '?');
        else if (code >= 0x7F && is_unsafe(code))
            buffer_printf(out, "\\u%04x", (unsigned)code);
        else
            buffer_add(out, at, used);
        at += used;
        size -= used;
    }
}
