/* SPDX-License-Identifier: Apache-2.0 */
#include "core/table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

void
table_release(struct table *table)
{
    free(table->entries);
    *table = (struct table){ 0 };
}

void
table_copy(struct table *copy, const struct table *table)
{
    *copy = *table;
    if (table->room == 0)
        return;
    copy->entries = memory_new(table->room, sizeof(*copy->entries));
    memcpy(copy->entries, table->entries,
           table->room * sizeof(*copy->entries));
}

static bool
is_free(const struct table_entry *entry)
{
    return entry->hi == 0 && entry->lo == 0;
}

/* The entry with that hash, or the free place where it belongs. */
static struct table_entry *
probe(const struct table *table, uint64_t hi, uint64_t lo)
{
    size_t mask = table->room - 1;
    size_t at = (size_t)lo & mask;

    while (!is_free(&table->entries[at]) &&
           (table->entries[at].hi != hi || table->entries[at].lo != lo))
        at = (at + 1) & mask;
    return &table->entries[at];
}

static struct table_hash
hash_of(const struct hash_key *key, const void *bytes, size_t size)
{
    struct table_hash hash;

    hash_wide(key, bytes, size, &hash.hi, &hash.lo);
    hash.hi |= 1; /* so that no key looks free */
    return hash;
}

struct table_entry *
table_find_hash(const struct table *table, struct table_hash hash)
{
    struct table_entry *entry;

    if (table->count == 0)
        return NULL;
    entry = probe(table, hash.hi, hash.lo);
    return is_free(entry) ? NULL : entry;
}

struct table_entry *
table_find(const struct table *table, const struct hash_key *key,
           const void *bytes, size_t size)
{
    return table->count == 0
               ? NULL
               : table_find_hash(table, hash_of(key, bytes, size));
}

static void
grow(struct table *table)
{
    struct table larger = { .room = table->room > 0 ? table->room * 2 : 64 };

    larger.entries = memory_new(larger.room, sizeof(*larger.entries));
    for (size_t i = 0; i < table->room; i++)
        if (!is_free(&table->entries[i]))
            *probe(&larger, table->entries[i].hi, table->entries[i].lo) =
                table->entries[i];
    larger.count = table->count;
    free(table->entries);
    *table = larger;
}

struct table_entry *
table_put_hash(struct table *table, struct table_hash hash)
{
    struct table_entry *entry;

    assert(hash.hi != 0 || hash.lo != 0);
    if (table->count * 3 >= table->room * 2)
        grow(table);
    entry = probe(table, hash.hi, hash.lo);
    if (is_free(entry)) {
        entry->hi = hash.hi;
        entry->lo = hash.lo;
        table->count++;
    }
    return entry;
}

struct table_entry *
table_put(struct table *table, const struct hash_key *key, const void *bytes,
          size_t size)
{
    return table_put_hash(table, hash_of(key, bytes, size));
}

void
table_remove(struct table *table, struct table_entry *entry)
{
    size_t mask = table->room - 1;
    size_t hole = (size_t)(entry - table->entries);
    size_t at = hole;

    for (;;) {
        size_t home;

        at = (at + 1) & mask;
        if (is_free(&table->entries[at]))
            break;
        home = (size_t)table->entries[at].lo & mask;
        /* Move back unless its home lies behind the hole, cyclically. */
        if (((at - home) & mask) >= ((at - hole) & mask)) {
            table->entries[hole] = table->entries[at];
            hole = at;
        }
    }
    table->entries[hole] = (struct table_entry){ 0 };
    table->count--;
}
