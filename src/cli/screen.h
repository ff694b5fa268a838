/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_SCREEN_H
#define CLI_SCREEN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"

/*
 * What of a foreign text may reach a terminal?  Tenants choose names, logs
 * and sentences; a terminal obeys control characters (C0, DEL, and C1, which
 * is U+0080 to U+009F), and readers are misled by characters that turn the
 * direction of what follows or break lines.  None of these passes, nor does
 * what is not UTF-8.
 */

/* Text on one line: newline and tab become a space, the rest of the above
 * '?' each. */
void screen_clean(struct buffer *out, const char *text);

/* The same for a stream in pieces; newline and tab stay.  A character cut by
 * the end of a piece is held for the next.  Zero-initialise. */
struct screen_stream {
    unsigned char held[4];
    size_t held_size;
};
void screen_pass(struct screen_stream *stream, const char *bytes, size_t size,
                 struct buffer *out);

/* JSON or YAML as a serializer wrote it: such characters stand in quotes
 * only, so each becomes \uXXXX there and the value stays the same. */
void screen_escape(struct buffer *out, const char *text, size_t size);

#endif
