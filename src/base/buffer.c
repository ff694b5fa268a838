/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buffer.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

void
buffer_release(struct buffer *buffer)
{
    free(buffer->bytes);
    *buffer = (struct buffer){ 0 };
}

void
buffer_clear(struct buffer *buffer)
{
    buffer->size = 0;
    if (buffer->bytes != NULL)
        buffer->bytes[0] = '\0';
}

void
buffer_reserve(struct buffer *buffer, size_t more)
{
    size_t need = buffer->size + more + 1;
    size_t room = buffer->room > 0 ? buffer->room : 64;

    assert(need > buffer->size);
    if (need <= buffer->room)
        return;
    while (room < need)
        room *= 2;
    buffer->bytes = memory_grow(buffer->bytes, room, 1);
    buffer->room = room;
}

void
buffer_add(struct buffer *buffer, const void *bytes, size_t size)
{
    buffer_reserve(buffer, size);
    if (size > 0)
        memcpy(buffer->bytes + buffer->size, bytes, size);
    buffer->size += size;
    buffer->bytes[buffer->size] = '\0';
}

void
buffer_add_text(struct buffer *buffer, const char *text)
{
    buffer_add(buffer, text, strlen(text));
}

void
buffer_add_byte(struct buffer *buffer, unsigned char byte)
{
    buffer_add(buffer, &byte, 1);
}

void
buffer_printf(struct buffer *buffer, const char *fmt, ...)
{
    va_list args;
    int size;

    va_start(args, fmt);
    size = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    assert(size >= 0);
    buffer_reserve(buffer, (size_t)size);
    va_start(args, fmt);
    (void)vsnprintf(buffer->bytes + buffer->size, (size_t)size + 1, fmt, args);
    va_end(args);
    buffer->size += (size_t)size;
}

void
buffer_add_u32(struct buffer *buffer, uint32_t value)
{
    for (unsigned shift = 0; shift < 32; shift += 8)
        buffer_add_byte(buffer, (unsigned char)(value >> shift));
}

void
buffer_add_u64(struct buffer *buffer, uint64_t value)
{
    for (unsigned shift = 0; shift < 64; shift += 8)
        buffer_add_byte(buffer, (unsigned char)(value >> shift));
}

void
buffer_add_sized(struct buffer *buffer, const void *bytes, size_t size)
{
    assert(size <= UINT32_MAX);
    buffer_add_u32(buffer, (uint32_t)size);
    buffer_add(buffer, bytes, size);
}

const char *
buffer_text(const struct buffer *buffer)
{
    return buffer->bytes != NULL ? buffer->bytes : "";
}

char *
buffer_take(struct buffer *buffer)
{
    char *bytes;

    buffer_reserve(buffer, 0);
    buffer->bytes[buffer->size] = '\0';
    bytes = buffer->bytes;
    *buffer = (struct buffer){ 0 };
    return bytes;
}
