/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stddef.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"

/* Files: whole reads with a bound, durable atomic writes, and opening below a
 * directory that a hostile party may write to. */

static inline void
fd_closep(const int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
}

#define scoped_fd __attribute__((cleanup(fd_closep))) int

/* Appends the whole file to out; fails when it has more than max bytes. */
int file_read(const char *path, size_t max, struct buffer *out,
              struct error *err);

/* Writes a temporary file beside path, syncs it, renames it over path and
 * syncs the directory: after a crash either the old or the new content. */
int file_write(const char *path, const void *bytes, size_t size, mode_t mode,
               struct error *err);

/* mkdir -p; existing directories are left as they are. */
int file_make_directory(const char *path, mode_t mode, struct error *err);

/* openat2 with RESOLVE_BENEATH, NO_SYMLINKS and NO_MAGICLINKS: the only way
 * that tenant-owned trees are touched.  path is relative to directory_fd.
 * Returns the descriptor, or -1 with err. */
int file_open_beneath(int directory_fd, const char *path, int flags,
                      mode_t mode, struct error *err);

/* Reads or writes all, repeating after short counts and signals. */
int file_read_all(int fd, void *bytes, size_t size, struct error *err);
int file_write_all(int fd, const void *bytes, size_t size, struct error *err);

#endif
