/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_CURSOR_H
#define API_CURSOR_H

#include <stdint.h>

#include "base/error.h"
#include "base/hash.h"

/*
 * Where does the next page of a list begin?  A cursor is a position that
 * clients cannot read or make: the order of creation is the platform's, and
 * would tell one tenant how much the others create.  Cursors end with the
 * process's key.
 */

struct cursor_key {
    struct hash_key cover;
    struct hash_key seal;
};

#define CURSOR_TEXT_MAX 65

/* Behind an object in the order of creation. */
struct cursor_place {
    uint64_t seq;
    uint64_t slot; /* where the object was: a hint, it may be gone */
};

/* nonce: any number, a fresh one for each cursor. */
void cursor_format(const struct cursor_key *key, uint64_t nonce,
                   const struct cursor_place *place,
                   char text[CURSOR_TEXT_MAX]);
/* Fails with ERROR_INVALID, or ERROR_GONE when it is of an earlier key. */
int cursor_parse(const struct cursor_key *key, const char *text,
                 struct cursor_place *place_out, struct error *err);

#endif
