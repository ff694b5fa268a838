/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_URL_H
#define API_URL_H

#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"

/*
 * What does a request target name?  Its path as decoded segments and its
 * query as decoded parameters.  Decoding is per segment and strict, so that
 * an encoded slash, dot, NUL or control character never changes the shape of
 * a path between a proxy and here.
 */

#define URL_SIZE_MAX 4096
#define URL_SEGMENTS_MAX 14
#define URL_PARAMETERS_MAX 16

struct url_parameter {
    const char *name;
    const char *value;
};

struct url {
    const char *segments[URL_SEGMENTS_MAX];
    size_t segment_count;
    struct url_parameter parameters[URL_PARAMETERS_MAX];
    size_t parameter_count;
};

/* target: as in the request line, "/a/b?c=d".  Texts belong to the arena.
 * Fails with ERROR_INVALID or ERROR_TOO_LARGE. */
int url_parse(struct arena *arena, const char *target, struct url *out,
              struct error *err);

/* The value of a parameter ("" when it has none), NULL when it is absent. */
const char *url_get(const struct url *url, const char *name);

#endif
