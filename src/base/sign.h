/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_SIGN_H
#define BASE_SIGN_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Ed25519 keys in files, signatures, and the operating system's randomness
 * (libsodium). */

#define SIGN_PUBLIC_SIZE 32
#define SIGN_SIZE 64

struct sign_key {
    uint8_t public_key[SIGN_PUBLIC_SIZE];
    uint8_t secret_key[64];
};

/* Reads the key in path (hex seed, mode 0600), or makes it when the file does
 * not exist.  A file that others may read is refused. */
int sign_key_open(const char *path, struct sign_key *key_out,
                  struct error *err);
void sign_bytes(const struct sign_key *key, const void *bytes, size_t size,
                uint8_t signature[SIGN_SIZE]);
/* 0 when the signature is of these bytes by that key, else -1. */
int sign_check(const uint8_t public_key[SIGN_PUBLIC_SIZE], const void *bytes,
               size_t size, const uint8_t signature[SIGN_SIZE]);

/* Random bytes for keys and tokens; cannot fail. */
void random_bytes(void *bytes, size_t size);
/* Constant-time comparison: 0 when equal. */
int secret_compare(const void *a, const void *b, size_t size);
/* Zeroes memory that held a secret; the compiler cannot leave it out. */
void secret_clear(void *bytes, size_t size);

#endif
