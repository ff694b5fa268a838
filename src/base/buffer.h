/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_BUFFER_H
#define BASE_BUFFER_H

#include <stddef.h>
#include <stdint.h>

/*
 * A byte string that grows.  `bytes` always has a NUL behind `size`, so it
 * can be read as text.  Zero-initialise it; release with buffer_release.
 */

struct buffer {
    char *bytes; /* NULL until something is added */
    size_t size;
    size_t room;
};

void buffer_release(struct buffer *buffer);
void buffer_clear(struct buffer *buffer);
void buffer_add(struct buffer *buffer, const void *bytes, size_t size);
void buffer_add_text(struct buffer *buffer, const char *text);
void buffer_add_byte(struct buffer *buffer, unsigned char byte);
/* Room for so many bytes and the NUL behind what is there. */
void buffer_reserve(struct buffer *buffer, size_t more);
void buffer_printf(struct buffer *buffer, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Little-endian integers, for canonical encodings. */
void buffer_add_u32(struct buffer *buffer, uint32_t value);
void buffer_add_u64(struct buffer *buffer, uint64_t value);
/* u32 length, then the bytes. */
void buffer_add_sized(struct buffer *buffer, const void *bytes, size_t size);
/* The text, "" when nothing was added. */
const char *buffer_text(const struct buffer *buffer);
/* Hands the bytes (NUL-terminated) to the caller, who frees them. */
char *buffer_take(struct buffer *buffer);

/* Where at most `more` bytes may be written; who does so says how many. */
static inline char *
buffer_room(struct buffer *buffer, size_t more)
{
    if (buffer->room - buffer->size <= more)
        buffer_reserve(buffer, more);
    return buffer->bytes + buffer->size;
}

static inline void
buffer_grew(struct buffer *buffer, size_t more)
{
    buffer->size += more;
    buffer->bytes[buffer->size] = '\0';
}

#define scoped_buffer                                                         \
    __attribute__((cleanup(buffer_release))) struct buffer

#endif
