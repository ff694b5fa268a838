/* SPDX-License-Identifier: Apache-2.0 */
#include "api/cursor.h"

#include <string.h>

#include "base/digest.h"

struct cursor {
    uint64_t nonce;
    uint64_t covered;
    uint64_t seal;
};

static uint64_t
cover(const struct cursor_key *key, uint64_t nonce)
{
    return hash_bytes(&key->cover, &nonce, sizeof nonce);
}

static uint64_t
seal(const struct cursor_key *key, const struct cursor *cursor)
{
    return hash_bytes(&key->seal, cursor, offsetof(struct cursor, seal));
}

void
cursor_format(const struct cursor_key *key, uint64_t nonce, uint64_t seq,
              char text[CURSOR_TEXT_MAX])
{
    struct cursor cursor = {.nonce = nonce,
                            .covered = seq ^ cover(key, nonce)};
    cursor.seal = seal(key, &cursor);
    hex_encode(&cursor, sizeof cursor, text);
}

int
cursor_parse(const struct cursor_key *key, const char *text,
             uint64_t *seq_out, struct error *err)
{
    struct cursor cursor;
    if (hex_decode(text, &cursor, sizeof cursor) != 0)
        return error_field(err, "cursor", "the cursor is not one of ours");
    if (cursor.seal != seal(key, &cursor))
        return error_set(err, ERROR_GONE,
                         "the list has changed; start it again without a "
                         "cursor");
    *seq_out = cursor.covered ^ cover(key, cursor.nonce);
    return 0;
}
