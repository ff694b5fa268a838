/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/logfile.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/file.h"

/* conmon cuts lines into parts of 8 KiB at most. */
#define LINE_MAX_BYTES 32768

int64_t
logfile_size(const char *path)
{
    struct stat file;

    return stat(path, &file) == 0 ? (int64_t)file.st_size : 0;
}

/* The text behind the three fields in front, NULL for a malformed line. */
static const char *
text_of(const char *line, const char *end, bool *whole)
{
    const char *at = line;

    for (int i = 0; i < 3; i++) {
        at = memchr(at, ' ', (size_t)(end - at));
        if (at == NULL)
            return NULL;
        at++;
    }
    *whole = at[-2] == 'F';
    return at;
}

/* Takes whole lines from bytes; returns how many bytes were used. */
static size_t
take_lines(const char *bytes, size_t size, int64_t max, struct buffer *out)
{
    size_t start = out->size;
    size_t used = 0;

    while (used < size) {
        const char *line = bytes + used;
        const char *end = memchr(line, '\n', size - used);
        const char *text;
        bool whole = false;

        if (end == NULL)
            break;
        text = text_of(line, end, &whole);
        if (text != NULL) {
            size_t length = (size_t)(end - text);

            if (out->size > start &&
                (int64_t)(out->size - start + length + 1) > max)
                break;
            buffer_add(out, text, length);
            if (whole)
                buffer_add_byte(out, '\n');
        }
        used += (size_t)(end - line) + 1;
    }
    return used;
}

static int
check_start(int fd, int64_t offset, struct error *err)
{
    char before = '\n';

    if (offset > 0 &&
        (pread(fd, &before, 1, offset - 1) != 1 || before != '\n'))
        return error_field(err, "/offset",
                           "offset is not one that a call gave back");
    return 0;
}

int
logfile_read(const char *path, int64_t offset, int64_t max, struct buffer *out,
             int64_t *next_out, bool *end_out, struct error *err)
{
    scoped_fd fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    size_t room = (size_t)max * 2 + LINE_MAX_BYTES;
    size_t used;
    ssize_t got;
    char *bytes;

    if (fd < 0 && errno == ENOENT && offset == 0) {
        *next_out = 0;
        *end_out = true;
        return 0;
    }
    if (fd < 0)
        return error_set(err, ERROR_NOT_FOUND, "there is no log");
    if (check_start(fd, offset, err) != 0)
        return -1;
    bytes = memory_new(room, 1);
    got = pread(fd, bytes, room, offset);
    used = got > 0 ? take_lines(bytes, (size_t)got, max, out) : 0;
    free(bytes);
    if (got < 0)
        return error_set(err, ERROR_INTERNAL, "read the log: %s",
                         strerror(errno));
    *next_out = offset + (int64_t)used;
    *end_out = (size_t)got == used && (size_t)got < room;
    return 0;
}

/* The monitor drops a line that would lead past the cap, and all after it. */
bool
logfile_is_cut(const char *path, int64_t cap)
{
    return logfile_size(path) + LINE_MAX_BYTES >= cap;
}
