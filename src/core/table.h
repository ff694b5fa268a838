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
 */

struct table_entry {
    uint64_t hi, lo; /* 0, 0: free */
    struct ref first;
    struct ref last;
    size_t number;
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

#endif
