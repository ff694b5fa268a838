/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IDENTITY_JWT_H
#define IDENTITY_JWT_H

#include "identity/jwk.h"

/*
 * Does this token say what it says, and to us?  ID tokens of OpenID Connect
 * Core 1.0 (3.1.3.7) and logout tokens of Back-Channel Logout 1.0 (2.4-2.6):
 * compact JWS, one signature by one of the provider's keys, then the claims.
 * Times are compared with JWT_SKEW_MS of leave, no more.
 */

#define JWT_SIZE_MAX ((size_t)32 * 1024)
#define JWT_SKEW_MS (60 * INT64_C(1000))
#define JWT_AGE_MS (10 * 60 * INT64_C(1000)) /* of an iat, at most */
#define JWT_SUBJECT_MAX 255

struct jwt_expectation {
    const char *issuer;
    const char *client_id;
    const char *nonce; /* NULL: a logout token, which has none */
    int64_t now_ms;
};

enum jwt_verdict {
    JWT_GOOD,
    JWT_BAD,     /* err says which check */
    JWT_UNKNOWN, /* the key is not among these: they may be old */
};

/* *claims_out: a new reference, only when the token is good. */
enum jwt_verdict jwt_check_id(const struct jwk_set *keys, const char *token,
                              const struct jwt_expectation *expected,
                              json_t **claims_out, struct error *err);
enum jwt_verdict jwt_check_logout(const struct jwk_set *keys,
                                  const char *token,
                                  const struct jwt_expectation *expected,
                                  json_t **claims_out, struct error *err);

#endif
