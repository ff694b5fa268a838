/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BIGRAM_STREAM_H
#define BIGRAM_STREAM_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * How do bytes get into files and out of them?  Whole or not at all: a writer
 * fills a temporary file that replaces the old one when it is durable; a
 * cursor never reads behind the end.  Integers are little-endian.
 * Everything that fails ends the program with status 1 and a sentence.
 */

#define SUM_START 0xcbf29ce484222325U

_Noreturn void die(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* realloc that ends the program when memory is out; the owner frees. */
void *grow(void *memory, size_t count, size_t size)
    __attribute__((returns_nonnull));

/* FNV-1a, 64 bits, continued from sum: finds accidents, not attacks. */
uint64_t sum_bytes(uint64_t sum, const void *bytes, size_t size);

struct writer {
    FILE *file;
    uint64_t sum;  /* of all bytes so far */
    uint64_t size; /* number of bytes so far */
    char path[PATH_MAX];
    char temporary[PATH_MAX];
};

void writer_open(struct writer *writer, const char *path);
void writer_bytes(struct writer *writer, const void *bytes, size_t size);
void writer_u32(struct writer *writer, uint32_t value);
void writer_u64(struct writer *writer, uint64_t value);
void writer_f32(struct writer *writer, float value);
/* u64 length, then the bytes: a GGUF string. */
void writer_text(struct writer *writer, const void *bytes, size_t size);
/* Durable and in place when it returns. */
void writer_close(struct writer *writer);

struct cursor {
    const uint8_t *bytes; /* the mapped file */
    size_t size;          /* may be lowered, to leave a trailer out */
    size_t mapped;
    size_t at;
    bool bad; /* something was asked for behind the end, or did not fit */
};

/* false: the file is not there or cannot be mapped. */
bool cursor_open(struct cursor *cursor, const char *path);
void cursor_close(struct cursor *cursor);
/* NULL, and bad, when fewer than size bytes are left. */
const uint8_t *cursor_skip(struct cursor *cursor, uint64_t size);
/* 0, and bad, behind the end. */
uint32_t cursor_u32(struct cursor *cursor);
uint64_t cursor_u64(struct cursor *cursor);
/* Reads a text of at most room bytes; returns its size. */
size_t cursor_text(struct cursor *cursor, char *text, size_t room);

#endif
