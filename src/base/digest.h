/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_DIGEST_H
#define BASE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

/* SHA-256 (libcrypto) and the text forms of bytes. */

#define DIGEST_SIZE 32
#define DIGEST_TEXT_MAX 65

struct digest {
    uint8_t bytes[DIGEST_SIZE];
};

void digest_of(const void *bytes, size_t size, struct digest *out);
/* Over two strings behind each other, without copying. */
void digest_of_two(const void *a, size_t a_size, const void *b, size_t b_size,
                   struct digest *out);
int digest_compare(const struct digest *a, const struct digest *b);
void digest_format(const struct digest *digest, char text[DIGEST_TEXT_MAX]);
int digest_parse(const char *text, struct digest *out);

/* Lower-case hexadecimal; text has room for 2 * size + 1. */
void hex_encode(const void *bytes, size_t size, char *text);
/* Exactly 2 * size digits; -1 otherwise. */
int hex_decode(const char *text, void *bytes, size_t size);

/* RFC 4648 base64 with padding. */
void base64_encode(struct buffer *out, const void *bytes, size_t size);
/* Strict: padding, no other characters, canonical.  Returns the number of
 * bytes, -1 when text is not base64 or needs more than room. */
int base64_decode(const char *text, size_t text_size, void *bytes,
                  size_t room);
/* The same in the alphabet for URLs, without padding (RFC 4648 5). */
void base64url_encode(struct buffer *out, const void *bytes, size_t size);
int base64url_decode(const char *text, size_t text_size, void *bytes,
                     size_t room);

#endif
