/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_SEAL_H
#define BASE_SEAL_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

/*
 * How is a secret kept that has to be used again (so that a digest would not
 * do)?  Encrypted with a key in a file of its own, which backups leave out:
 * XChaCha20-Poly1305 (libsodium), as base64url text.  The label says what the
 * secret is of, so that one row's ciphertext opens nothing in another row.
 */

#define SEAL_KEY_SIZE 32
/* Of the sealed text of `size` bytes, with its NUL: nonce and tag of 40
 * bytes, four characters for each three. */
#define SEAL_TEXT_MAX(size) (((size) + 40 + 2) / 3 * 4 + 1)

struct seal_key {
    uint8_t bytes[SEAL_KEY_SIZE];
};

/* Reads the key in path (hexadecimal, mode 0600), or makes it when the file
 * is not there.  A file that others may read is refused. */
int seal_key_open(const char *path, struct seal_key *key_out,
                  struct error *err);
/* Appends the sealed text. */
void seal_text(const struct seal_key *key, const char *label, const void *bytes,
               size_t size, struct buffer *out);
/* Appends what was sealed; the caller clears it (secret_clear).  -1
 * (ERROR_INVALID) when it was not sealed by this key for this label. */
int seal_open(const struct seal_key *key, const char *label, const char *text,
              struct buffer *out, struct error *err);

#endif
