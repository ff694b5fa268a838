/* SPDX-License-Identifier: Apache-2.0 */
#include "base/id.h"

#include <assert.h>
#include <string.h>

static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz234567";

void
id_format(const char *prefix, struct id id, char text[ID_TEXT_MAX])
{
    size_t used = strlen(prefix);
    char *digits;

    assert(used > 0 && used <= 8);
    memcpy(text, prefix, used + 1);
    text[used] = '_';
    digits = text + used + 1;
    /* 26 digits of 5 bits are 130 bits: the first holds only 3, and one lies
     * across the halves. */
    digits[0] = alphabet[id.hi >> 61];
    for (unsigned i = 0; i < 12; i++) {
        digits[12 - i] = alphabet[id.hi >> (1 + 5 * i) & 31];
        digits[25 - i] = alphabet[id.lo >> (5 * i) & 31];
    }
    digits[13] = alphabet[(id.hi << 4 & 16) | id.lo >> 60];
    digits[ID_DIGITS] = '\0';
}

int
id_parse(const char *prefix, const char *text, struct id *id_out)
{
    size_t used = strlen(prefix);
    struct id id = { 0 };

    if (strncmp(text, prefix, used) != 0 || text[used] != '_' ||
        strlen(text + used + 1) != 26)
        return -1;
    text += used + 1;
    if (strchr("abcdefgh", text[0]) == NULL)
        return -1;
    for (; *text != '\0'; text++) {
        const char *digit = strchr(alphabet, *text);

        if (digit == NULL)
            return -1;
        id.hi = id.hi << 5 | id.lo >> 59;
        id.lo = id.lo << 5 | (uint64_t)(digit - alphabet);
    }
    *id_out = id;
    return 0;
}

struct id
id_next(struct id_source *source)
{
    struct id id;

    do {
        uint64_t count = source->next++;

        hash_wide(&source->key, &count, sizeof(count), &id.hi, &id.lo);
    } while (id_is_none(id));
    return id;
}
