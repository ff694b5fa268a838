/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/layout.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/digest.h"
#include "base/file.h"
#include "base/json.h"
#include "runner/tar.h"

#define MEMBERS_MAX 4096

static ssize_t
read_archive(void *source, void *bytes, size_t size, struct error *err)
{
    const int *fd = source;
    ssize_t got = read(*fd, bytes, size);

    if (got < 0)
        return error_set(err, ERROR_INTERNAL, "read archive: %s",
                         strerror(errno));
    return got;
}

/* Skips members without reading them: layers are large. */
static int
jump(struct tar *tar, int fd, struct error *err)
{
    off_t ahead = (off_t)(tar->left + tar->padding);

    if (lseek(fd, ahead, SEEK_CUR) < 0)
        return error_set(err, ERROR_INTERNAL, "seek archive: %s",
                         strerror(errno));
    tar->position += ahead;
    tar->left = 0;
    tar->padding = 0;
    return 0;
}

static int
scan_archive(struct arena *arena, struct layout *layout, int64_t size,
             struct error *err)
{
    struct tar tar = { .read = read_archive, .source = &layout->archive_fd };
    struct tar_entry *entry = arena_alloc(arena, sizeof(*entry));
    int got;

    layout->members =
        arena_alloc(arena, MEMBERS_MAX * sizeof(*layout->members));
    while ((got = tar_next(&tar, entry, err)) > 0) {
        const char *path = entry->path;

        if (layout->member_count == MEMBERS_MAX)
            return error_set(err, ERROR_TOO_LARGE,
                             "the archive has more than %d members",
                             MEMBERS_MAX);
        if (tar.position + entry->size > size)
            return error_set(err, ERROR_INVALID, "the archive ends early");
        if (strncmp(path, "./", 2) == 0)
            path += 2;
        if (entry->type == '0')
            layout->members[layout->member_count++] = (struct layout_member){
                .path = arena_strdup(arena, path),
                .offset = tar.position,
                .size = entry->size,
            };
        if (jump(&tar, layout->archive_fd, err) != 0)
            return -1;
    }
    return got;
}

static int
open_archive(struct arena *arena, int top, const char *name,
             struct layout *layout, struct error *err)
{
    struct stat file;

    layout->archive_fd =
        file_open_beneath(top, arena_printf(arena, "%s.tar", name),
                          O_RDONLY | O_NONBLOCK, 0, err);
    if (layout->archive_fd < 0)
        return error_set(err, ERROR_NOT_FOUND, "there is no image \"%s\"",
                         name);
    if (fstat(layout->archive_fd, &file) != 0 || !S_ISREG(file.st_mode))
        return error_set(err, ERROR_INVALID, "image \"%s\" is not a file",
                         name);
    return scan_archive(arena, layout, file.st_size, err);
}

int
layout_open(struct arena *arena, const char *image_dir, const char *name,
            struct layout *layout_out, struct error *err)
{
    scoped_fd top = open(image_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct layout layout = { .directory_fd = -1, .archive_fd = -1 };

    if (top < 0)
        return error_set(err, ERROR_NOT_FOUND, "the image directory: %s",
                         strerror(errno));
    layout.directory_fd =
        file_open_beneath(top, name, O_PATH | O_DIRECTORY, 0, err);
    if (layout.directory_fd < 0 &&
        open_archive(arena, top, name, &layout, err) != 0) {
        layout_close(&layout);
        return -1;
    }
    *layout_out = layout;
    return 0;
}

void
layout_close(struct layout *layout)
{
    if (layout->directory_fd >= 0)
        (void)close(layout->directory_fd);
    if (layout->archive_fd >= 0)
        (void)close(layout->archive_fd);
    layout->directory_fd = -1;
    layout->archive_fd = -1;
}

static int
open_member(const struct layout *layout, const char *path,
            struct layout_blob *out, struct error *err)
{
    for (size_t i = 0; i < layout->member_count; i++) {
        if (strcmp(layout->members[i].path, path) != 0)
            continue;
        out->offset = layout->members[i].offset;
        out->size = layout->members[i].size;
        out->fd = fcntl(layout->archive_fd, F_DUPFD_CLOEXEC, 3);
        return out->fd >= 0
                   ? 0
                   : error_set(err, ERROR_INTERNAL, "dup: %s", strerror(errno));
    }
    return error_set(err, ERROR_NOT_FOUND, "the image lacks a part");
}

static int
open_file(const struct layout *layout, const char *path,
          struct layout_blob *out, struct error *err)
{
    struct stat file;
    int fd;

    if (layout->directory_fd < 0)
        return open_member(layout, path, out, err);
    fd = file_open_beneath(layout->directory_fd, path, O_RDONLY | O_NONBLOCK, 0,
                           err);
    if (fd < 0)
        return error_set(err, ERROR_NOT_FOUND, "the image lacks a part");
    if (fstat(fd, &file) != 0 || !S_ISREG(file.st_mode)) {
        (void)close(fd);
        return error_set(err, ERROR_INVALID,
                         "a part of the image is not a file");
    }
    *out = (struct layout_blob){ .fd = fd, .size = file.st_size };
    return 0;
}

int
layout_blob_open(const struct layout *layout, const char *digest,
                 struct layout_blob *blob_out, struct error *err)
{
    char path[96];

    if (strncmp(digest, "sha256:", 7) != 0 || strlen(digest) != 71 ||
        strspn(digest + 7, "0123456789abcdef") != 64)
        return error_set(err, ERROR_UNSUPPORTED,
                         "a digest of the image is not sha256");
    (void)snprintf(path, sizeof(path), "blobs/sha256/%s", digest + 7);
    return open_file(layout, path, blob_out, err);
}

/* Parses a part; digest NULL: unchecked (the index, which has none). */
static json_t *
read_json(struct layout_blob *blob, const char *digest, struct error *err)
{
    scoped_fd fd = blob->fd;
    struct digest found;
    char text[DIGEST_TEXT_MAX];
    json_t *value = NULL;
    char *bytes;

    if (blob->size > (int64_t)LAYOUT_JSON_MAX) {
        (void)error_set(err, ERROR_TOO_LARGE,
                        "a description in the image is larger than %zu bytes",
                        LAYOUT_JSON_MAX);
        return NULL;
    }
    bytes = memory_new((size_t)blob->size + 1, 1);
    if (pread(fd, bytes, (size_t)blob->size, blob->offset) != blob->size) {
        (void)error_set(err, ERROR_INTERNAL, "read image: %s", strerror(errno));
    } else {
        digest_of(bytes, (size_t)blob->size, &found);
        digest_format(&found, text);
        if (digest != NULL && strcmp(digest + 7, text) != 0)
            (void)error_set(err, ERROR_VERIFY,
                            "a part of the image is not what its digest "
                            "says");
        else
            value = json_read(bytes, (size_t)blob->size, err);
    }
    free(bytes);
    if (value != NULL && !json_is_object(value)) {
        json_decref(value);
        value = NULL;
        (void)error_set(err, ERROR_INVALID,
                        "a description in the image is not an object");
    }
    return value;
}

json_t *
layout_index(const struct layout *layout, struct error *err)
{
    struct layout_blob blob;

    if (open_file(layout, "index.json", &blob, err) != 0)
        return NULL;
    return read_json(&blob, NULL, err);
}

json_t *
layout_json(const struct layout *layout, const char *digest, struct error *err)
{
    struct layout_blob blob;

    if (layout_blob_open(layout, digest, &blob, err) != 0)
        return NULL;
    return read_json(&blob, digest, err);
}
