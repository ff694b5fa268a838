/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/arena.h"

#define READ_SIZE 16384

static int
file_fail(struct error *err, const char *step)
{
    return error_set(err, errno == ENOENT ? ERROR_NOT_FOUND : ERROR_INTERNAL,
                     "%s: %s", step, strerror(errno));
}

int
file_read(const char *path, size_t max, struct buffer *out, struct error *err)
{
    scoped_fd fd = open(path, O_RDONLY | O_CLOEXEC);
    const size_t start = out->size;
    struct stat status;
    ssize_t size = 1;

    if (fd < 0)
        return file_fail(err, "open file");
    /* One byte more than there should be finds the end. */
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
        (uintmax_t)status.st_size < max)
        buffer_reserve(out, (size_t)status.st_size + 1);
    while (size != 0 && out->size - start <= max) {
        if (out->room < out->size + 2)
            buffer_reserve(out, READ_SIZE);
        size = read(fd, out->bytes + out->size, out->room - out->size - 1);
        if (size > 0)
            out->size += (size_t)size;
        else if (size < 0 && errno != EINTR)
            break;
    }
    if (size != 0)
        out->size = start;
    out->bytes[out->size] = '\0';
    if (size == 0)
        return 0;
    return size < 0 ? file_fail(err, "read file")
                    : error_set(err, ERROR_TOO_LARGE,
                                "the file has more than %zu bytes", max);
}

int
file_read_all(int fd, void *bytes, size_t size, struct error *err)
{
    char *at = bytes;

    while (size > 0) {
        ssize_t got = read(fd, at, size);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return file_fail(err, "read");
        if (got == 0)
            return error_set(err, ERROR_INTERNAL, "read: ended early");
        at += got;
        size -= (size_t)got;
    }
    return 0;
}

int
file_write_all(int fd, const void *bytes, size_t size, struct error *err)
{
    const char *at = bytes;

    while (size > 0) {
        ssize_t put = write(fd, at, size);

        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return file_fail(err, "write");
        at += put;
        size -= (size_t)put;
    }
    return 0;
}

static int
sync_directory(const char *path, struct error *err)
{
    char *copy = memory_strdup(path);
    scoped_fd fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    free(copy);
    if (fd < 0 || fsync(fd) != 0)
        return file_fail(err, "sync directory");
    return 0;
}

int
file_write(const char *path, const void *bytes, size_t size, mode_t mode,
           struct error *err)
{
    scoped_buffer temporary = { 0 };
    scoped_fd fd = -1;

    buffer_printf(&temporary, "%s.XXXXXX", path);
    fd = mkostemp(temporary.bytes, O_CLOEXEC);
    if (fd < 0)
        return file_fail(err, "create file");
    if (fchmod(fd, mode) != 0 || file_write_all(fd, bytes, size, err) != 0 ||
        fsync(fd) != 0 || rename(temporary.bytes, path) != 0) {
        int code = errno;

        (void)unlink(temporary.bytes);
        errno = code;
        return file_fail(err, "write file");
    }
    return sync_directory(path, err);
}

static int
make_one_directory(const char *path, mode_t mode, struct error *err)
{
    struct stat status;

    if (mkdir(path, mode) == 0)
        return 0;
    if (errno != EEXIST || stat(path, &status) != 0)
        return file_fail(err, "create directory");
    if (!S_ISDIR(status.st_mode))
        return error_set(err, ERROR_INTERNAL,
                         "create directory: a file has that name");
    return 0;
}

int
file_make_directory(const char *path, mode_t mode, struct error *err)
{
    char *copy = memory_strdup(path);
    int result = 0;

    for (char *slash = copy + (*copy != '\0'); result == 0; slash++) {
        bool last = *slash == '\0';

        if (!last && *slash != '/')
            continue;
        *slash = '\0';
        result = make_one_directory(copy, mode, err);
        if (last)
            break;
        *slash = '/';
    }
    free(copy);
    return result;
}

int
file_open_beneath(int directory_fd, const char *path, int flags, mode_t mode,
                  struct error *err)
{
    struct open_how how = {
        .flags = (unsigned long long)(unsigned)(flags | O_CLOEXEC),
        .mode = (flags & O_CREAT) != 0 ? mode : 0,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
                   RESOLVE_NO_MAGICLINKS,
    };
    long fd = syscall(SYS_openat2, directory_fd, path, &how, sizeof(how));

    if (fd < 0)
        return file_fail(err, "open below directory");
    return (int)fd;
}
