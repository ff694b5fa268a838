/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_ID_H
#define BASE_ID_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"

/*
 * An id is 128 random bits.  As text it is a type prefix of 2 to 4 letters, an
 * underscore and 26 characters of lower-case base32 (RFC 4648 alphabet,
 * without padding): wl_mfrggzdfmztwq2lkmfrggzdfmu.  All zero means "none".
 */

struct id {
    uint64_t hi;
    uint64_t lo;
};

#define ID_TEXT_MAX 36
#define ID_DIGITS 26 /* behind prefix and underscore */

static inline bool
id_is_none(struct id id)
{
    return id.hi == 0 && id.lo == 0;
}

static inline bool
id_equal(struct id a, struct id b)
{
    return a.hi == b.hi && a.lo == b.lo;
}

static inline int
id_compare(struct id a, struct id b)
{
    if (a.hi != b.hi)
        return a.hi < b.hi ? -1 : 1;
    return a.lo < b.lo ? -1 : a.lo > b.lo;
}

/* prefix: 1 to 8 characters without the underscore. */
void id_format(const char *prefix, struct id id, char text[ID_TEXT_MAX]);
/* 0 when text is exactly prefix, underscore and 26 canonical characters. */
int id_parse(const char *prefix, const char *text, struct id *id_out);

/*
 * A source of ids that is pure: the same key gives the same ids.  A daemon
 * keys it from the operating system's randomness at each start; a simulator
 * with its seed.  Ids of one source do not repeat and cannot be foretold
 * without the key (SipHash-2-4 with 128-bit output as a PRF on a counter).
 */
struct id_source {
    struct hash_key key;
    uint64_t next;
};

struct id id_next(struct id_source *source);

#endif
