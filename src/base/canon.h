/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_CANON_H
#define BASE_CANON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

/*
 * How does one write the bytes of json_write without a tree of values?  Long
 * lists are made this way.  Each function appends what json_write appends for
 * the same value.
 */

/* Nothing is appended, and false returned, when text is not UTF-8. */
bool canon_text(struct buffer *buffer, const char *text);
void canon_int(struct buffer *buffer, int64_t value);
/* The same at a place with CANON_INT_MAX bytes of room; returns the end. */
#define CANON_INT_MAX 20
char *canon_int_at(char *at, int64_t value);
/* As json_time: RFC 3339, null for 0. */
void canon_time(struct buffer *buffer, int64_t wall_ms);

/* Is it what json_write makes of some value?  May say no of what has other
 * than ASCII, escapes or more than JSON_DEPTH_MAX levels: then parse it. */
bool canon_check(const char *bytes, size_t size);

/* The order of members: of two keys of these sizes, as memcmp. */
int canon_compare(const char *a, size_t a_size, const char *b, size_t b_size);

#endif
