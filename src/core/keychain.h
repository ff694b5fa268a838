/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_KEYCHAIN_H
#define CORE_KEYCHAIN_H

#include "core/checkpoint.h"

/*
 * Whom did the signer's key hand over to?
 *
 * A rotation is a signed note (C2SP signed-note) of four lines
 *
 *   bulkhead key rotation v1
 *   NUMBER                    from 1
 *   BASE64 of the old key
 *   BASE64 of the new key
 *
 * signed by both keys: the old one vouches for the new one, the new one shows
 * that somebody has it.  Its first line has spaces, which no origin has, so it
 * is never taken for a checkpoint.  From the next head on the new key signs,
 * and never again the old one.
 */

#define KEYCHAIN_MAX 64 /* rotations of one signer */
#define KEYCHAIN_SIZE_MAX ((size_t)32 * 1024)
#define KEYCHAIN_NAME "bulkhead-signer"

struct keychain_rotation {
    unsigned number;
    uint8_t old_key[SIGN_PUBLIC_SIZE];
    uint8_t new_key[SIGN_PUBLIC_SIZE];
};

void keychain_add(struct buffer *out, unsigned number,
                  const struct sign_key *old_key,
                  const struct sign_key *new_key);

/* Reads the note at the beginning of text; *used_out is its length.
 * ERROR_VERIFY when it is not one that both keys signed. */
int keychain_read(const char *text, size_t size,
                  struct keychain_rotation *rotation_out, size_t *used_out,
                  struct error *err);

/* Follows rotations that stand behind each other, first to last, from the keys
 * that are trusted: whom a trusted key handed over to is added behind them.
 * Rotations among keys that nobody trusts are passed over.  ERROR_VERIFY when
 * a note does not hold, when numbers are not in order or when a key handed
 * over twice; ERROR_TOO_LARGE when there is no room. */
int keychain_follow(const char *notes, size_t size,
                    struct checkpoint_key *keys, size_t *count, size_t room,
                    struct error *err);

#endif
