/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_ARCHIVE_H
#define BASE_ARCHIVE_H

#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/error.h"
#include "base/json.h"

/*
 * What is in one file of named parts, and is it whole?
 *
 *   KIND 1 SIZE\n   SIZE bytes of JSON   \n   the parts behind each other
 *
 * The JSON is {"facts": the writer's own, "parts": [{name, size, sha256}]}, so
 * its digest stands for all of the file.  A file that was cut, or that has a
 * byte more or another one, is told from a whole one.
 */

#define ARCHIVE_PARTS 8
#define ARCHIVE_NAME_MAX 32

struct archive_part {
    char name[ARCHIVE_NAME_MAX];
    int64_t offset; /* in the archive */
    int64_t size;
    struct digest digest;
};

struct archive {
    json_t *facts; /* owned */
    char digest[DIGEST_TEXT_MAX];
    struct archive_part parts[ARCHIVE_PARTS];
    size_t count;
};

/* Where a part comes from: all of a file. */
struct archive_source {
    const char *name;
    int fd;
};

/* Writes to fd at its place; facts stay the caller's. */
int archive_write(int fd, const char *kind, const json_t *facts,
                  const struct archive_source *sources, size_t count,
                  char digest_out[DIGEST_TEXT_MAX], struct error *err);

/* Reads what is in front of the parts and compares the sizes; facts keep
 * being there until archive_release.  ERROR_VERIFY: cut or damaged;
 * ERROR_UNSUPPORTED: another kind, or made by a newer version. */
int archive_open(int fd, const char *kind, struct archive *archive_out,
                 struct error *err);
/* Reads all parts: ERROR_VERIFY when one is not the one that was written. */
int archive_check(int fd, const struct archive *archive, struct error *err);
/* Copies a part to another file and checks it on the way. */
int archive_extract(int fd, const struct archive *archive, const char *name,
                    int to, struct error *err);
void archive_release(struct archive *archive);

#endif
