/* SPDX-License-Identifier: Apache-2.0 */
#include "examples/bigram/words.h"

#include <string.h>

/* Length of the valid UTF-8 sequence at s, 0 when there is none; what text
 * terminals take for control characters (C1) is not accepted. */
static size_t
sequence_size(const unsigned char *s)
{
    size_t size = s[0] < 0x80 ? 1 : s[0] < 0xE0 ? 2 : s[0] < 0xF0 ? 3 : 4;

    if ((s[0] >= 0x80 && s[0] < 0xC2) || s[0] > 0xF4)
        return 0;
    for (size_t i = 1; i < size; i++)
        if ((s[i] & 0xC0) != 0x80)
            return 0;
    if ((s[0] == 0xC2 && s[1] < 0xA0) || (s[0] == 0xE0 && s[1] < 0xA0) ||
        (s[0] == 0xED && s[1] > 0x9F) || (s[0] == 0xF0 && s[1] < 0x90) ||
        (s[0] == 0xF4 && s[1] > 0x8F))
        return 0;
    return size;
}

static bool
is_utf8(const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    size_t size;

    for (; *s != '\0'; s += size) {
        size = sequence_size(s);
        if (size == 0)
            return false;
    }
    return true;
}

void
words_end(struct word *word, word_taker *take, void *data)
{
    if (word->size > 0) {
        word->bytes[word->size] = '\0';
        word->bad = word->bad || !is_utf8(word->bytes);
        take(data, word);
    }
    memset(word, 0, sizeof(*word));
}

static void
add_byte(struct word *word, char byte)
{
    if (word->size == WORD_MAX)
        word->bad = true;
    else
        word->bytes[word->size++] = byte;
}

void
words_feed(struct word *word, const char *bytes, size_t size,
           word_taker *take, void *data)
{
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)bytes[i];

        if (c >= 'A' && c <= 'Z')
            c = (unsigned char)(c - 'A' + 'a');
        if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c >= 0x80) {
            add_byte(word, (char)c);
            continue;
        }
        words_end(word, take, data);
        if (c > 0x20 && c < 0x7F) {
            add_byte(word, (char)c);
            words_end(word, take, data);
        }
    }
}
