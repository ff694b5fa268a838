/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/*
 * SipHash-2-4 (Aumasson and Bernstein, 2012): the keyed hash of every table
 * whose keys users choose, so that nobody can aim at one bucket.
 */

struct hash_key {
    uint64_t k0;
    uint64_t k1;
};

uint64_t hash_bytes(const struct hash_key *key, const void *bytes,
                    size_t size);
/* The 128-bit variant. */
void hash_wide(const struct hash_key *key, const void *bytes, size_t size,
               uint64_t *hi_out, uint64_t *lo_out);

#endif
