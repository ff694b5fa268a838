/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_UNPACK_H
#define RUNNER_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "runner/layout.h"
#include "runner/tar.h"

/*
 * How do hostile layers become files?  In a child without privileges (its own
 * user, mount, network and IPC namespaces; root there is an unprivileged id
 * of the host), below one directory descriptor that every path is resolved
 * under without links, within bounds of bytes, entries, memory and time.
 *
 * Setuid and setgid bits, xattrs and times are dropped.  Device nodes and
 * fifos below dev/ are left out (instances get their own /dev); elsewhere
 * they refuse the image, as do absolute paths, "..", entries that pass
 * through a symlink, and hard links to what the image does not have.
 */

#define UNPACK_LAYERS_MAX 128

struct unpack_layer {
    struct layout_blob blob;
    char digest[72];
    bool gzip;
};

struct unpack_counts {
    int64_t bytes, entries, skipped;
};

/* Unpacks the layers, lowest first, into root_fd.  disk_uid_base: the host id
 * that is id 0 of the files.  Limits are the maxima of counts. */
int unpack_run(int root_fd, const struct unpack_layer *layers, size_t count,
               int64_t disk_uid_base, const struct unpack_counts *limits,
               int timeout_ms, struct unpack_counts *counts_out,
               struct error *err);

/* The child's side: `bulkhead-runner --unpack`.  Returns the exit status. */
int unpack_main(void);

/* One layer from a tar stream, in this process: what the child does.  ids:
 * give files the owners of the archive. */
int unpack_layer(int root_fd, struct tar *tar, bool ids,
                 const struct unpack_counts *limits,
                 struct unpack_counts *counts, struct error *err);

#endif
