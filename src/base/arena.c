/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include <assert.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_SIZE ((size_t)16 * 1024)

struct block {
    struct block *next;
    size_t used;
    size_t size;
    alignas(max_align_t) unsigned char bytes[];
};

struct arena {
    struct block *head;
};

static void *
memory_check(void *memory)
{
    if (memory == NULL) {
        (void)fputs("out of memory\n", stderr);
        abort();
    }
    return memory;
}

void *
memory_new(size_t count, size_t size)
{
    return memory_check(calloc(count > 0 ? count : 1, size > 0 ? size : 1));
}

void *
memory_grow(void *memory, size_t count, size_t size)
{
    assert(size > 0 && count <= SIZE_MAX / size);
    return memory_check(realloc(memory, count > 0 ? count * size : 1));
}

char *
memory_strdup(const char *text)
{
    return memory_check(strdup(text));
}

struct arena *
arena_new(void)
{
    return memory_new(1, sizeof(struct arena));
}

void
arena_free(struct arena *arena)
{
    struct block *block, *next;

    if (arena == NULL)
        return;
    for (block = arena->head; block != NULL; block = next) {
        next = block->next;
        free(block);
    }
    free(arena);
}

static void
arena_grow(struct arena *arena, size_t size)
{
    size_t room = size > BLOCK_SIZE ? size : BLOCK_SIZE;
    struct block *block;

    assert(room <= SIZE_MAX - sizeof(*block));
    /* Zeroed as it is handed out: most arenas stay far from full.  What is
     * large comes as zeros, which costs nothing before it is used. */
    block = memory_check(size > BLOCK_SIZE
                             ? calloc(1, sizeof(*block) + room)
                             : malloc(sizeof(*block) + room));
    block->size = room;
    block->used = 0;
    block->next = arena->head;
    arena->head = block;
}

void *
arena_alloc(struct arena *arena, size_t size)
{
    const size_t align = alignof(max_align_t);
    size_t rounded = (size + align - 1) / align * align;
    void *memory;

    assert(size <= SIZE_MAX / 2);
    if (rounded == 0)
        rounded = align;
    if (arena->head == NULL || arena->head->size - arena->head->used < rounded)
        arena_grow(arena, rounded);
    memory = arena->head->bytes + arena->head->used;
    arena->head->used += rounded;
    return rounded > BLOCK_SIZE ? memory : memset(memory, 0, rounded);
}

char *
arena_strndup(struct arena *arena, const char *text, size_t size)
{
    char *copy = arena_alloc(arena, size + 1);

    if (size > 0)
        memcpy(copy, text, size);
    copy[size] = '\0';
    return copy;
}

char *
arena_strdup(struct arena *arena, const char *text)
{
    return arena_strndup(arena, text, strlen(text));
}

char *
arena_printf(struct arena *arena, const char *fmt, ...)
{
    va_list args;
    char *text;
    int size;

    va_start(args, fmt);
    size = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    assert(size >= 0);
    text = arena_alloc(arena, (size_t)size + 1);
    va_start(args, fmt);
    (void)vsnprintf(text, (size_t)size + 1, fmt, args);
    va_end(args);
    return text;
}
