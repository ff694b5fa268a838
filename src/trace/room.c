/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/room.h"

#include <stdlib.h>

/* The need of a shape that this table lets through never, or always. */
#define NEVER INT64_MAX
#define ALWAYS INT64_MIN

/* Row n, of words, has the shapes that need at most needs[n - 1]. */
struct need_table {
    int64_t *needs; /* different ones, in order */
    size_t count;
    uint64_t *rows;
};

struct room {
    size_t words;
    struct need_table cpu, memory;
    struct need_table most; /* milli of one card: work on at most one */
    struct need_table full; /* free cards: work on several */
    uint64_t *kinds;        /* a row for each kind of card */
};

static int
by_need(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

    return a < b ? -1 : a > b;
}

static void
put(uint64_t *row, size_t i)
{
    row[i / 64] |= (uint64_t)1 << i % 64;
}

static void
fill(struct need_table *table, const int64_t *needs, size_t count,
     size_t words, struct arena *arena)
{
    table->needs = arena_alloc(arena, (count + 1) * sizeof(*table->needs));
    for (size_t i = 0; i < count; i++)
        table->needs[i] = needs[i];
    if (count > 1)
        qsort(table->needs, count, sizeof(*table->needs), by_need);
    for (size_t i = 0; i < count; i++)
        if (table->needs[i] != NEVER &&
            (table->count == 0 ||
             table->needs[i] != table->needs[table->count - 1]))
            table->needs[table->count++] = table->needs[i];
    table->rows = arena_alloc(arena, (table->count + 1) * words *
                                         sizeof(*table->rows));
    for (size_t n = 1; n <= table->count; n++)
        for (size_t i = 0; i < count; i++)
            if (needs[i] <= table->needs[n - 1])
                put(&table->rows[n * words], i);
}

static const uint64_t *
row_of(const struct need_table *table, size_t words, int64_t free)
{
    size_t low = 0, count = table->count;

    /* Always as many steps: what cannot be foreseen is no branch. */
    while (count > 1) {
        size_t half = count / 2;

        low += half * (table->needs[low + half - 1] <= free);
        count -= half;
    }
    low += count > 0 && table->needs[low] <= free;
    return &table->rows[low * words];
}

static void
fill_kinds(struct room *room, const struct shape *shapes, size_t count,
           struct arena *arena)
{
    room->kinds = arena_alloc(arena, VALUE_KINDS * room->words *
                                         sizeof(*room->kinds));
    for (size_t k = 0; k < VALUE_KINDS; k++)
        for (size_t i = 0; i < count; i++)
            if (shapes[i].cards == 0 || (shapes[i].kinds >> k & 1) != 0)
                put(&room->kinds[k * room->words], i);
}

static int64_t
cpu_of(const struct shape *shape)
{
    return shape->cpu_milli;
}

static int64_t
memory_of(const struct shape *shape)
{
    return shape->memory_mib;
}

static int64_t
most_of(const struct shape *shape)
{
    return shape->cards == 0   ? ALWAYS
           : shape->cards == 1 ? shape->milli
                               : NEVER;
}

static int64_t
full_of(const struct shape *shape)
{
    return shape->cards > 1 ? shape->cards : NEVER;
}

struct room *
room_new(struct arena *arena, const struct shape *shapes, size_t count)
{
    struct room *room = arena_alloc(arena, sizeof(*room));
    int64_t *needs = arena_alloc(arena, (count + 1) * sizeof(*needs));
    const struct {
        struct need_table *table;
        int64_t (*need)(const struct shape *shape);
    } tables[] = { { &room->cpu, cpu_of },
                   { &room->memory, memory_of },
                   { &room->most, most_of },
                   { &room->full, full_of } };

    room->words = (count + 63) / 64;
    for (size_t t = 0; t < sizeof(tables) / sizeof(*tables); t++) {
        for (size_t i = 0; i < count; i++)
            needs[i] = tables[t].need(&shapes[i]);
        fill(tables[t].table, needs, count, room->words, arena);
    }
    fill_kinds(room, shapes, count, arena);
    return room;
}

void
room_of(const struct room *room, const struct value_node *node, uint64_t *out)
{
    const uint64_t *kinds = &room->kinds[(size_t)node->kind * room->words];
    int64_t most = 0, free = 0;
    const uint64_t *cpu, *memory, *one, *many;

    for (int i = 0; i < node->cards; i++) {
        most = node->free[i] > most ? node->free[i] : most;
        free += node->free[i] == 1000;
    }
    cpu = row_of(&room->cpu, room->words, node->cpu_milli);
    memory = row_of(&room->memory, room->words, node->memory_mib);
    one = row_of(&room->most, room->words, most);
    many = row_of(&room->full, room->words, free);
    for (size_t w = 0; w < room->words; w++)
        out[w] = cpu[w] & memory[w] & kinds[w] & (one[w] | many[w]);
}
