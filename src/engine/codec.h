/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_CODEC_H
#define ENGINE_CODEC_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

/*
 * How does a record look as a JSON object?  One table per record says it for
 * both directions, so that a writer and a reader cannot disagree.
 *
 * Reading is strict: every field of the table must be there with its type and
 * within its bounds, and no other.  Errors are ERROR_INVALID with the JSON
 * pointer of the field.
 */

enum codec_type {
    CODEC_TEXT, /* const char *: at most max bytes, no control characters */
    CODEC_ID,   /* const char *: 1..max of [A-Za-z0-9._:-_] */
    CODEC_PART, /* a card or a slice of it */
    CODEC_INT,  /* int64_t in [min, max] */
    CODEC_BOOL, /* bool */
    CODEC_ENUM, /* an enum, by its name in names */
    CODEC_HEX,  /* uint8_t[max], as 2 * max digits */
    CODEC_MINE, /* the caller reads and writes it */
};

struct codec_field {
    const char *name;
    enum codec_type type;
    size_t offset;
    int64_t min, max;
    const char *const *names; /* NULL-terminated */
};

struct codec {
    const struct codec_field *fields;
    size_t count;
    size_t size; /* of the record */
};

#define CODEC(record, table)                                                  \
    { .fields = (table),                                                      \
      .count = sizeof(table) / sizeof((table)[0]),                            \
      .size = sizeof(record) }

#define CODEC_FIELD(record, member, kind, low, high)                          \
    { .name = #member, .type = (kind), .offset = offsetof(record, member),    \
      .min = (low), .max = (high) }
#define CODEC_WORDS(record, member, words)                                    \
    { .name = #member, .type = CODEC_ENUM,                                    \
      .offset = offsetof(record, member), .names = (words) }

/* Texts are copied into the arena. */
int codec_read(struct arena *arena, const struct codec *codec,
               const json_t *object, void *record, struct error *err);
/* A new reference; CODEC_MINE fields are left out.  Control characters in
 * texts become spaces, and texts that are too long are cut. */
json_t *codec_write(const struct codec *codec, const void *record);

/* A list of records under a key. */
struct codec_list {
    const char *key;
    const struct codec *codec;
    size_t max; /* items */
    /* For CODEC_MINE fields, after the record was read; NULL: none. */
    int (*read)(struct arena *arena, const json_t *item, void *record,
                struct error *err);
};

/* The records live in the arena.  A missing or null key is an empty list. */
int codec_read_list(struct arena *arena, const struct codec_list *list,
                    const json_t *parent, void **records_out,
                    size_t *count_out, struct error *err);
json_t *codec_write_list(const struct codec *codec, const void *list,
                         size_t count,
                         void (*write)(json_t *item, const void *record));

/* A list of CODEC_ID texts. */
int codec_read_ids(struct arena *arena, const json_t *parent,
                   const char *key, size_t max, size_t text_max,
                   const char *const **list_out, size_t *count_out,
                   struct error *err);
json_t *codec_write_ids(const char *const *list, size_t count);

#endif
