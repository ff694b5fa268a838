/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The digest functions themselves, not EVP: what EVP allocates and looks up
 * takes as long as a digest of 100 bytes, and an audit log of a million
 * records is three million digests.  They compute with the same code.
 */
#define OPENSSL_SUPPRESS_DEPRECATED

#include "base/digest.h"

#include <openssl/sha.h>
#include <stdbool.h>
#include <string.h>

void
digest_of(const void *bytes, size_t size, struct digest *out)
{
    digest_of_two(bytes, size, NULL, 0, out);
}

void
digest_of_two(const void *a, size_t a_size, const void *b, size_t b_size,
              struct digest *out)
{
    SHA256_CTX context;

    (void)SHA256_Init(&context);
    (void)SHA256_Update(&context, a, a_size);
    if (b_size > 0)
        (void)SHA256_Update(&context, b, b_size);
    (void)SHA256_Final(out->bytes, &context);
}

int
digest_compare(const struct digest *a, const struct digest *b)
{
    return memcmp(a->bytes, b->bytes, DIGEST_SIZE);
}

void
digest_format(const struct digest *digest, char text[DIGEST_TEXT_MAX])
{
    hex_encode(digest->bytes, DIGEST_SIZE, text);
}

int
digest_parse(const char *text, struct digest *out)
{
    return hex_decode(text, out->bytes, DIGEST_SIZE);
}

void
hex_encode(const void *bytes, size_t size, char *text)
{
    static const char digits[] = "0123456789abcdef";
    const uint8_t *at = bytes;

    for (size_t i = 0; i < size; i++) {
        text[2 * i] = digits[at[i] >> 4];
        text[2 * i + 1] = digits[at[i] & 15];
    }
    text[2 * size] = '\0';
}

static int
hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int
hex_decode(const char *text, void *bytes, size_t size)
{
    uint8_t *at = bytes;

    if (strlen(text) != 2 * size)
        return -1;
    for (size_t i = 0; i < size; i++) {
        int high = hex_value(text[2 * i]), low = hex_value(text[2 * i + 1]);

        if (high < 0 || low < 0)
            return -1;
        at[i] = (uint8_t)(high * 16 + low);
    }
    return 0;
}

void
base64_encode(struct buffer *out, const void *bytes, size_t size)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const uint8_t *at = bytes;
    char piece[256];
    size_t used = 0;

    for (size_t i = 0; i < size; i += 3) {
        size_t left = size - i;
        uint32_t word = (uint32_t)at[i] << 16 |
                        (left > 1 ? (uint32_t)at[i + 1] << 8 : 0) |
                        (left > 2 ? at[i + 2] : 0);

        piece[used++] = digits[word >> 18];
        piece[used++] = digits[word >> 12 & 63];
        piece[used++] = (char)(left > 1 ? digits[word >> 6 & 63] : '=');
        piece[used++] = (char)(left > 2 ? digits[word & 63] : '=');
        if (used == sizeof(piece)) {
            buffer_add(out, piece, used);
            used = 0;
        }
    }
    buffer_add(out, piece, used);
}

/* The value of each character plus one; 0: it is none. */
static const uint8_t base64_values[256] = {
    ['A'] = 1,  ['B'] = 2,  ['C'] = 3,  ['D'] = 4,  ['E'] = 5,  ['F'] = 6,
    ['G'] = 7,  ['H'] = 8,  ['I'] = 9,  ['J'] = 10, ['K'] = 11, ['L'] = 12,
    ['M'] = 13, ['N'] = 14, ['O'] = 15, ['P'] = 16, ['Q'] = 17, ['R'] = 18,
    ['S'] = 19, ['T'] = 20, ['U'] = 21, ['V'] = 22, ['W'] = 23, ['X'] = 24,
    ['Y'] = 25, ['Z'] = 26, ['a'] = 27, ['b'] = 28, ['c'] = 29, ['d'] = 30,
    ['e'] = 31, ['f'] = 32, ['g'] = 33, ['h'] = 34, ['i'] = 35, ['j'] = 36,
    ['k'] = 37, ['l'] = 38, ['m'] = 39, ['n'] = 40, ['o'] = 41, ['p'] = 42,
    ['q'] = 43, ['r'] = 44, ['s'] = 45, ['t'] = 46, ['u'] = 47, ['v'] = 48,
    ['w'] = 49, ['x'] = 50, ['y'] = 51, ['z'] = 52, ['0'] = 53, ['1'] = 54,
    ['2'] = 55, ['3'] = 56, ['4'] = 57, ['5'] = 58, ['6'] = 59, ['7'] = 60,
    ['8'] = 61, ['9'] = 62, ['+'] = 63, ['/'] = 64,
};

/* Of whole groups of four, without `=`; -1 when one is none. */
static int
decode_groups(const char *text, size_t text_size, uint8_t *at)
{
    const uint8_t *from = (const uint8_t *)text;
    uint32_t wrong = 0;

    for (size_t i = 0; i < text_size; i += 4, at += 3) {
        uint32_t a = base64_values[from[i]], b = base64_values[from[i + 1]],
                 c = base64_values[from[i + 2]], d = base64_values[from[i + 3]];
        uint32_t word = (a - 1) << 18 | (b - 1) << 12 | (c - 1) << 6 | (d - 1);

        /* A value of none is 0: its predecessor has the highest bit. */
        wrong |= (a - 1) | (b - 1) | (c - 1) | (d - 1);
        at[0] = (uint8_t)(word >> 16);
        at[1] = (uint8_t)(word >> 8);
        at[2] = (uint8_t)word;
    }
    return wrong >> 31 != 0 ? -1 : 0;
}

int
base64_decode(const char *text, size_t text_size, void *bytes, size_t room)
{
    uint8_t last[3], *at = bytes;
    char group[4];
    size_t whole, pad;

    if (text_size % 4 != 0)
        return -1;
    if (text_size == 0)
        return 0;
    whole = (text_size / 4 - 1) * 3;
    memcpy(group, text + text_size - 4, 4);
    pad = group[3] != '=' ? 0 : group[2] != '=' ? 1 : 2;
    if (whole + 3 - pad > room)
        return -1;
    memset(group + 4 - pad, 'A', pad);
    if (decode_groups(text, text_size - 4, at) != 0 ||
        decode_groups(group, 4, last) != 0)
        return -1;
    for (size_t i = 3 - pad; i < 3; i++)
        if (last[i] != 0)
            return -1;
    memcpy(at + whole, last, 3 - pad);
    return (int)(whole + 3 - pad);
}

/* --- base64url --- */

void
base64url_encode(struct buffer *out, const void *bytes, size_t size)
{
    size_t from = out->size;

    base64_encode(out, bytes, size);
    while (out->size > from && out->bytes[out->size - 1] == '=')
        out->bytes[--out->size] = '\0';
    for (size_t i = from; i < out->size; i++) {
        if (out->bytes[i] == '+')
            out->bytes[i] = '-';
        else if (out->bytes[i] == '/')
            out->bytes[i] = '_';
    }
}

/* The value of up to four digits in the upper bits; -1 when one is none. */
static int64_t
base64url_word(const char *text, size_t count)
{
    uint32_t word = 0;

    for (size_t i = 0; i < 4; i++) {
        char c = 'A';
        if (i < count)
            c = text[i];
        int value = c == '-'               ? 62
                    : c == '_'             ? 63
                    : c == '+' || c == '/' ? -1
                                           : base64_values[(unsigned char)c] - 1;

        if (value < 0)
            return -1;
        word = word << 6 | (uint32_t)value;
    }
    return word;
}

int
base64url_decode(const char *text, size_t text_size, void *bytes, size_t room)
{
    uint8_t *at = bytes;
    size_t used = 0;

    for (size_t i = 0; i < text_size; i += 4) {
        size_t count = text_size - i < 4 ? text_size - i : 4;
        int64_t word = base64url_word(text + i, count);
        size_t size = count - 1;

        /* One digit holds no byte, and bits behind the last are zero. */
        if (word < 0 || count == 1 || used + size > room ||
            (size < 3 && (word & (size == 1 ? 0xFFFF : 0xFF)) != 0))
            return -1;
        for (size_t k = 0; k < size; k++)
            at[used++] = (uint8_t)(word >> (16 - 8 * k));
    }
    return (int)used;
}
