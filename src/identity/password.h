/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IDENTITY_PASSWORD_H
#define IDENTITY_PASSWORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/*
 * Does this person know the password?
 *
 * Hashes are Argon2id in the PHC text form (libsodium's crypto_pwhash_str), so
 * each carries its own cost.  A verification costs the same work whether or
 * not the user exists.  No function keeps, prints or reports a password.
 */

#define PASSWORD_CHARACTERS_MIN 12
#define PASSWORD_SIZE_MAX 1024 /* bytes */
#define PASSWORD_HASH_MAX 128  /* with the NUL */

struct password_cost {
    uint64_t passes;       /* 1 or more */
    uint64_t memory_bytes; /* 8192 or more; this much for each verification */
};

/* 3 passes over 64 MiB: about 0.2 s of one core. */
extern const struct password_cost password_cost_default;

/* Whether a new password may be used by that user: its length, at least
 * `characters` and never fewer than the shipped number; at least five
 * different bytes; neither the user's name nor around it; none of those that
 * everybody tries first, whatever follows them.  Fails with ERROR_INVALID at
 * /password. */
int password_check(const char *password, const char *user_name,
                   int64_t characters, struct error *err);
/* One that everybody tries first, with digits and signs around it? */
bool password_is_common(const char *password);

/* The password has passed password_check.  Fails with ERROR_BUSY when the
 * memory is not to be had. */
int password_hash(const char *password, const struct password_cost *cost,
                  char hash_out[PASSWORD_HASH_MAX], struct error *err);

/* hash: NULL when there is no such user, or no password of theirs; then the
 * work is done with `cost` and the answer is false. */
bool password_verify(const char *hash, const char *password,
                     const struct password_cost *cost);

/* Whether the hash was made at another cost: hash anew at the next login, so
 * that all users take the same time. */
bool password_is_stale(const char *hash, const struct password_cost *cost);

#endif
