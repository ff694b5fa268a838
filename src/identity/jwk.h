/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IDENTITY_JWK_H
#define IDENTITY_JWK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/json.h"

/*
 * Did one of these keys make this signature?  The public keys of an identity
 * provider (RFC 7517), for the algorithms that are taken: RS256, ES256, EdDSA
 * with Ed25519.  An algorithm goes with one type of key, so a public key is
 * never taken for a secret of HS256, and there is no "none".
 */

enum jwk_algorithm { JWK_RS256, JWK_ES256, JWK_EDDSA };

#define JWK_KEYS_MAX 64
#define JWK_RSA_BITS_MIN 2048
#define JWK_RSA_BITS_MAX 8192

struct jwk_set;

/* The algorithm with that name ("RS256"), -1: not taken. */
int jwk_algorithm(const char *name);

/* Keys that cannot be used here (other types, for encryption, too small) are
 * passed over; ERROR_INVALID when the document is no set of keys. */
int jwk_set_parse(const json_t *document, struct jwk_set **out,
                  struct error *err);
void jwk_set_free(struct jwk_set *set); /* NULL is nothing */
size_t jwk_set_count(const struct jwk_set *set);

enum jwk_verdict {
    JWK_GOOD,
    JWK_BAD,     /* the signature */
    JWK_UNKNOWN, /* no key of that id and algorithm: the keys may be old */
};
/* kid NULL or "": the only key of the algorithm, if there is one alone. */
enum jwk_verdict jwk_set_verify(const struct jwk_set *set, const char *kid,
                                enum jwk_algorithm algorithm,
                                const void *bytes, size_t size,
                                const uint8_t *signature,
                                size_t signature_size);

#endif
