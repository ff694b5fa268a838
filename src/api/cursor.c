/* SPDX-License-Identifier: Apache-2.0 */
#include "api/cursor.h"

#include <string.h>

#include "base/digest.h"

struct cursor {
    uint64_t nonce;
    struct cursor_place covered;
    uint64_t seal;
};

/* Its own inverse. */
static struct cursor_place
cover(const struct cursor_key *key, uint64_t nonce,
      struct cursor_place place)
{
    uint64_t seq, slot;
    hash_wide(&key->cover, &nonce, sizeof nonce, &seq, &slot);
    place.seq ^= seq;
    place.slot ^= slot;
    return place;
}

static uint64_t
seal(const struct cursor_key *key, const struct cursor *cursor)
{
    return hash_bytes(&key->seal, cursor, offsetof(struct cursor, seal));
}

void
cursor_format(const struct cursor_key *key, uint64_t nonce,
              const struct cursor_place *place, char text[CURSOR_TEXT_MAX])
{
    struct cursor cursor = {.nonce = nonce,
                            .covered = cover(key, nonce, *place)};
    cursor.seal = seal(key, &cursor);
    hex_encode(&cursor, sizeof cursor, text);
}

int
cursor_parse(const struct cursor_key *key, const char *text,
             struct cursor_place *place_out, struct error *err)
{
    struct cursor cursor;
    if (hex_decode(text, &cursor, sizeof cursor) != 0)
        return error_field(err, "cursor", "the cursor is not one of ours");
    if (cursor.seal != seal(key, &cursor))
        return error_set(err, ERROR_GONE,
                         "the list has changed; start it again without a "
                         "cursor");
    *place_out = cover(key, cursor.nonce, cursor.covered);
    return 0;
}
