/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_LAYOUT_H
#define RUNNER_LAYOUT_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

/*
 * Where are the blobs of an OCI image?  In a layout directory NAME or an
 * uncompressed archive NAME.tar of one, in the policy's image directory.
 * Links are not followed.  What is read whole is checked against its digest;
 * layers are left to whoever unpacks them.
 */

#define LAYOUT_JSON_MAX ((size_t)1024 * 1024)

struct layout_member {
    const char *path;
    int64_t offset, size;
};

struct layout {
    int directory_fd; /* -1: an archive */
    int archive_fd;   /* -1: a directory */
    size_t member_count;
    struct layout_member *members; /* of an archive, in the arena */
};

/* Bytes [offset, offset + size) of fd, which the caller closes. */
struct layout_blob {
    int fd;
    int64_t offset, size;
};

/* ERROR_NOT_FOUND when there is neither directory nor archive. */
int layout_open(struct arena *arena, const char *image_dir, const char *name,
                struct layout *layout_out, struct error *err);
void layout_close(struct layout *layout);
#define scoped_layout __attribute__((cleanup(layout_close))) struct layout

/* index.json; the caller owns the value. */
json_t *layout_index(const struct layout *layout, struct error *err);
int layout_blob_open(const struct layout *layout, const char *digest,
                     struct layout_blob *blob_out, struct error *err);
/* A JSON blob of at most LAYOUT_JSON_MAX bytes, digest checked. */
json_t *layout_json(const struct layout *layout, const char *digest,
                    struct error *err);

#endif
