/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>

/*
 * An arena holds everything that lives as long as one request, one command or
 * one scheduler tick.  Nothing taken from it is freed alone.  Running out of
 * memory ends the process: callers never test for NULL.
 */

struct arena;

struct arena *arena_new(void);
void arena_free(struct arena *arena);
/* Zeroed memory, aligned for any type; size may be 0. */
void *arena_alloc(struct arena *arena, size_t size)
    __attribute__((malloc, returns_nonnull, alloc_size(2)));
char *arena_strdup(struct arena *arena, const char *text)
    __attribute__((returns_nonnull, nonnull(2)));
char *arena_strndup(struct arena *arena, const char *text, size_t size)
    __attribute__((returns_nonnull));
char *arena_printf(struct arena *arena, const char *fmt, ...)
    __attribute__((format(printf, 2, 3), returns_nonnull));

/* calloc, realloc and strdup that end the process when memory is out; the
 * owner frees with free(). */
void *memory_new(size_t count, size_t size)
    __attribute__((malloc, returns_nonnull, alloc_size(1, 2)));
void *memory_grow(void *memory, size_t count, size_t size)
    __attribute__((returns_nonnull));
char *memory_strdup(const char *text) __attribute__((returns_nonnull));

static inline void
arena_freep(struct arena **arena)
{
    arena_free(*arena);
}

#define scoped_arena __attribute__((cleanup(arena_freep))) struct arena *

#endif
