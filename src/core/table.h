/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_TABLE_H
#define CORE_TABLE_H

#include "base/hash.h"
#include "core/schema.h"

/*
 * A hash table from short byte keys to a small value: open addressing with
 * linear probing and backward-shift deletion.  Keys are compared by their
 * 128-bit SipHash alone: with a secret key, two different keys meet with
 * probability 2^-128 a pair, and nobody can look for such a pair.
 *
 * Ids are random already and the platform's own, so a table of ids takes them
 * as they are (table_id_hash): nobody chooses what is put, and what somebody
 * asks for is compared as a whole.
 */

struct table_entry {
    uint64_t hi, lo; /* 0, 0: free */
    union {
        struct ref ref;
        size_t number;
    };
};

struct table_hash {
    uint64_t hi, lo;
};

struct table {
    struct table_entry *entries;
    size_t count;
    size_t room; /* 0 or a power of two */
};

void table_release(struct table *table);
void table_copy(struct table *copy, const struct table *table);
/* NULL when there is none.  Valid until the next put or remove. */
struct table_entry *table_find(const struct table *table,
                               const struct hash_key *key, const void *bytes,
                               size_t size);
/* The entry, made (zeroed value) when there is none. */
struct table_entry *table_put(struct table *table, const struct hash_key *key,
                              const void *bytes, size_t size);
void table_remove(struct table *table, struct table_entry *entry);
/* The same, when the hash of the key is known. */
struct table_entry *table_find_hash(const struct table *table,
                                    struct table_hash hash);
struct table_entry *table_put_hash(struct table *table,
                                   struct table_hash hash);

/* Of an id with a second, not secret part: for one part different ids have
 * different hashes. */
static inline struct table_hash
table_id_hash(const struct hash_key *key, struct id id, uint64_t part)
{
    part *= UINT64_C(0x9e3779b97f4a7c15);
    return (struct table_hash){ id.hi ^ key->k0 ^ part,
                                id.lo ^ key->k1 ^ (part >> 32 | part << 32) };
}

#endif
