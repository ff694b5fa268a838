/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IDENTITY_FACTOR_H
#define IDENTITY_FACTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/seal.h"

/*
 * Does this person hold the device that was enrolled?
 *
 * Codes are TOTP (RFC 6238): HMAC-SHA-1, steps of 30 s, 6 digits; a code of
 * the step before or after counts too, for clocks that differ.  The step that
 * matched is told, so that the caller can refuse it a second time.
 *
 * The store keeps a seed only sealed (base/seal.h), for its user.  Recovery codes carry 80 random bits, so
 * a plain digest of them tells nothing.
 */

#define FACTOR_SEED_SIZE 20
#define FACTOR_STEP_S 30
#define FACTOR_DIGITS 6
#define FACTOR_SEALED_MAX SEAL_TEXT_MAX(FACTOR_SEED_SIZE)
#define FACTOR_URI_MAX 512
#define FACTOR_CODES 10
#define FACTOR_CODE_MAX 20 /* "abcd-efgh-ijkl-mnop", with the NUL */
#define FACTOR_CODE_DIGEST 16

struct factor_seed {
    uint8_t bytes[FACTOR_SEED_SIZE];
};

void factor_make(struct factor_seed *out);
/* label: of the user, as that of the others (seal_text). */
void factor_seal(const struct seal_key *key, const char *label,
                 const struct factor_seed *seed,
                 char out[FACTOR_SEALED_MAX]);
/* ERROR_INVALID when it was not sealed by this key for this user. */
int factor_open(const struct seal_key *key, const char *label,
                const char *sealed, struct factor_seed *out,
                struct error *err);

/* otpauth://totp/ISSUER:ACCOUNT?secret=...  account: "name" or
 * "tenant/name". */
void factor_uri(const struct factor_seed *seed, const char *account,
                char out[FACTOR_URI_MAX]);

/* Is it the code of a step around now?  step_out: which. */
bool factor_match(const struct factor_seed *seed, const char *code,
                  int64_t now_ms, int64_t *step_out);
/* The code of a time, as a device shows it. */
void factor_code(const struct factor_seed *seed, int64_t now_ms,
                 char out[FACTOR_DIGITS + 1]);

/* FACTOR_CODES further ways in, each for once, and what is kept of them. */
void factor_make_codes(char codes[FACTOR_CODES][FACTOR_CODE_MAX],
                       uint8_t digests[FACTOR_CODES][FACTOR_CODE_DIGEST]);
/* Case, blanks and hyphens do not count.  False when it is not one of the
 * form, which is none of the codes then. */
bool factor_code_digest(const char *code,
                        uint8_t digest[FACTOR_CODE_DIGEST]);

#endif
