/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOSTILE_ATTACKS_H
#define HOSTILE_ATTACKS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

/*
 * What is put where a value belongs, as the bytes on the wire.
 */

enum attack_type { /* what the value is, as JSON has it */
    ATTACK_BROKEN, /* no JSON at all: always refused */
    ATTACK_NULL,
    ATTACK_BOOLEAN,
    ATTACK_INTEGER,
    ATTACK_STRING,
    ATTACK_ARRAY,
    ATTACK_OBJECT,
};

struct attack {
    const char *name;
    enum attack_type type;
    const char *text;   /* of the value */
    const char *repeat; /* NULL, or what comes `times` times behind it, */
    size_t times;
    const char *tail; /* and then this */
};

extern const struct attack attack_values[];
extern const size_t attack_value_count;
/* Whole bodies that are no JSON object. */
extern const struct attack attack_bodies[];
extern const size_t attack_body_count;
/* Segments of a path, and values in a query: not encoded further. */
extern const struct attack attack_segments[];
extern const size_t attack_segment_count;
extern const struct attack attack_queries[];
extern const size_t attack_query_count;

void attack_write(struct buffer *out, const struct attack *attack);
/* "string", "integer", "boolean", ... */
const char *attack_type_name(enum attack_type type);

#endif
