/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_LOGFILE_H
#define RUNNER_LOGFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

/*
 * What did an instance say?  conmon writes lines "TIME STREAM F|P TEXT" (P: a
 * part without its newline); reading gives the text back as it was written.
 * Offsets are of the file and stand at the beginning of a line.
 */

/* Appends at most max bytes of text read from offset on; *next_out is where to
 * go on, *end_out whether that is the present end of the file.  A file that
 * is not there is empty.  An offset inside a line or behind the end is
 * ERROR_INVALID. */
int logfile_read(const char *path, int64_t offset, int64_t max,
                 struct buffer *out, int64_t *next_out, bool *end_out,
                 struct error *err);
/* Bytes of the file, 0 when there is none. */
int64_t logfile_size(const char *path);

/* Whether the size cap was reached, so that the end may be missing. */
bool logfile_is_cut(const char *path, int64_t cap);

#endif
