/* SPDX-License-Identifier: Apache-2.0 */
#include "examples/bigram/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

void
die(const char *fmt, ...)
{
    va_list args;

    (void)fputs("bigram: ", stderr);
    va_start(args, fmt);
    (void)vfprintf(stderr, fmt, args);
    va_end(args);
    (void)fputc('\n', stderr);
    exit(1);
}

void *
grow(void *memory, size_t count, size_t size)
{
    if (count == 0 || count > SIZE_MAX / size)
        die("out of memory");
    memory = realloc(memory, count * size);
    if (memory == NULL)
        die("out of memory");
    return memory;
}

uint64_t
sum_bytes(uint64_t sum, const void *bytes, size_t size)
{
    const uint8_t *at = bytes;

    for (size_t i = 0; i < size; i++)
        sum = (sum ^ at[i]) * 0x100000001b3U;
    return sum;
}

void
writer_open(struct writer *writer, const char *path)
{
    int size, fd;

    writer->sum = SUM_START;
    writer->size = 0;
    size = snprintf(writer->path, sizeof(writer->path), "%s", path);
    if (size < 0 || (size_t)size >= sizeof(writer->path) - 8)
        die("%s: the path is too long", path);
    memcpy(writer->temporary, writer->path, (size_t)size);
    memcpy(writer->temporary + size, ".XXXXXX", 8);
    fd = mkostemp(writer->temporary, O_CLOEXEC);
    writer->file = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (writer->file == NULL || fchmod(fd, 0644) != 0)
        die("%s: %s", path, strerror(errno));
}

static _Noreturn void
writer_fail(struct writer *writer)
{
    int code = errno;

    (void)unlink(writer->temporary);
    die("%s: %s", writer->path, strerror(code));
}

void
writer_bytes(struct writer *writer, const void *bytes, size_t size)
{
    writer->sum = sum_bytes(writer->sum, bytes, size);
    writer->size += size;
    if (fwrite(bytes, 1, size, writer->file) != size)
        writer_fail(writer);
}

void
writer_u32(struct writer *writer, uint32_t value)
{
    uint8_t bytes[4];

    for (unsigned i = 0; i < 4; i++)
        bytes[i] = (uint8_t)(value >> (8 * i));
    writer_bytes(writer, bytes, sizeof(bytes));
}

void
writer_u64(struct writer *writer, uint64_t value)
{
    writer_u32(writer, (uint32_t)value);
    writer_u32(writer, (uint32_t)(value >> 32));
}

void
writer_f32(struct writer *writer, float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
    writer_u32(writer, bits);
}

void
writer_text(struct writer *writer, const void *bytes, size_t size)
{
    writer_u64(writer, size);
    writer_bytes(writer, bytes, size);
}

void
writer_close(struct writer *writer)
{
    int fd;

    if (fflush(writer->file) != 0 || fsync(fileno(writer->file)) != 0)
        writer_fail(writer);
    (void)fclose(writer->file);
    if (rename(writer->temporary, writer->path) != 0)
        writer_fail(writer);
    memcpy(writer->temporary, writer->path, sizeof(writer->path));
    fd = open(dirname(writer->temporary), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fsync(fd) != 0)
        die("%s: %s", writer->path, strerror(errno));
    (void)close(fd);
}

bool
cursor_open(struct cursor *cursor, const char *path)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    struct stat status;
    void *bytes = MAP_FAILED;

    if (fd < 0)
        return false;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
        status.st_size > 0)
        bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd,
                     0);
    (void)close(fd);
    if (bytes == MAP_FAILED)
        return false;
    *cursor = (struct cursor){ .bytes = bytes,
                               .size = (size_t)status.st_size,
                               .mapped = (size_t)status.st_size };
    return true;
}

void
cursor_close(struct cursor *cursor)
{
    (void)munmap((void *)(uintptr_t)cursor->bytes, cursor->mapped);
    *cursor = (struct cursor){ 0 };
}

const uint8_t *
cursor_skip(struct cursor *cursor, uint64_t size)
{
    const uint8_t *bytes = cursor->bytes + cursor->at;

    if (cursor->bad || size > cursor->size - cursor->at) {
        cursor->bad = true;
        return NULL;
    }
    cursor->at += size;
    return bytes;
}

uint32_t
cursor_u32(struct cursor *cursor)
{
    const uint8_t *bytes = cursor_skip(cursor, 4);
    uint32_t value = 0;

    for (unsigned i = 0; bytes != NULL && i < 4; i++)
        value |= (uint32_t)bytes[i] << (8 * i);
    return value;
}

uint64_t
cursor_u64(struct cursor *cursor)
{
    uint64_t low = cursor_u32(cursor);

    return low | (uint64_t)cursor_u32(cursor) << 32;
}

size_t
cursor_text(struct cursor *cursor, char *text, size_t room)
{
    uint64_t size = cursor_u64(cursor);
    const uint8_t *bytes = NULL;

    if (size <= room)
        bytes = cursor_skip(cursor, size);
    if (bytes == NULL) {
        cursor->bad = true;
        return 0;
    }
    memcpy(text, bytes, size);
    return size;
}
