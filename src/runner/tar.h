/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_TAR_H
#define RUNNER_TAR_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/*
 * What is in a tar stream?  ustar with GNU long names and the path, linkpath,
 * size, uid and gid records of pax; nothing is believed: sizes and numbers
 * are bounded, checksums checked, sparse files refused.
 */

#define TAR_PATH_MAX 4096

struct tar_entry {
    char type; /* '0' file, '1' hard link, '2' symlink, '3' '4' device,
                  '5' directory, '6' fifo */
    int64_t size;
    int64_t mode, uid, gid;
    char path[TAR_PATH_MAX];
    char link[TAR_PATH_MAX];
};

/* Reads up to size bytes; 0 at the end, -1 with err. */
typedef ssize_t tar_read(void *source, void *bytes, size_t size,
                         struct error *err);

struct tar {
    tar_read *read;
    void *source;
    int64_t position; /* bytes read so far */
    int64_t left;     /* of the present entry */
    int64_t padding;
};

/* 1 with the next entry, 0 at the end, -1 on a malformed stream. */
int tar_next(struct tar *tar, struct tar_entry *entry_out, struct error *err);
/* Reads from the present entry; 0 at its end. */
ssize_t tar_data(struct tar *tar, void *bytes, size_t size, struct error *err);

#endif
