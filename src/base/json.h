/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

/*
 * JSON at the edges, on top of jansson: strict reading with bounds, and
 * readers of typed fields that name the field, the rule and the value.
 */

#define JSON_DEPTH_MAX 16
#define JSON_SIZE_MAX ((size_t)1024 * 1024)

#define scoped_json __attribute__((cleanup(json_freep))) json_t *

static inline void
json_freep(json_t **value)
{
    json_decref(*value);
}

/* Parses one JSON value.  Refuses duplicate keys, invalid UTF-8, NUL in text,
 * more than JSON_DEPTH_MAX levels, more than JSON_SIZE_MAX bytes, and bytes
 * behind the value.  Reals are refused: the platform has integers only. */
json_t *json_read(const char *bytes, size_t size, struct error *err);

/* Fails when object is another value, or has a key that is not in the
 * NULL-terminated list.  NULL passes. */
int json_only(const json_t *object, const char *const *keys,
              struct error *err);

/* Typed readers.  A missing or null key leaves *out alone and succeeds, unless
 * required is true.  Strings stay owned by the object. */
int json_text(const json_t *object, const char *key, bool required,
              size_t max_size, const char **out, struct error *err);
int json_int(const json_t *object, const char *key, bool required, int64_t min,
             int64_t max, int64_t *out, struct error *err);
int json_bool(const json_t *object, const char *key, bool required, bool *out,
              struct error *err);

/* A moment as text (clock_format), null for 0; a new reference. */
json_t *json_time(int64_t wall_ms);

/* Appends text as a JSON string with quotes; control bytes escaped, bytes
 * that are not UTF-8 replaced by U+FFFD. */
void json_quote(struct buffer *buffer, const char *text);

/* Writing by hand what would be too many values: the name of a member, with a
 * comma unless it is the first behind { or [; nothing for a text of NULL. */
void json_member(struct buffer *buffer, const char *name);
void json_member_text(struct buffer *buffer, const char *name,
                      const char *text);
void json_member_int(struct buffer *buffer, const char *name, int64_t value);

/* Appends the value in compact form with sorted keys: the canonical bytes
 * that digests are taken over. */
void json_write(struct buffer *buffer, const json_t *value);

#endif
