/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IDENTITY_TOKEN_H
#define IDENTITY_TOKEN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/error.h"

/*
 * Is this text one of our tokens, and of which kind?
 *
 * A token is 47 characters: "bh_", three letters for the type, "_", 160 random
 * bits as 32 characters of lower-case base32, and 8 characters of checksum
 * (the first 40 bits of SHA-256 over all before).  There is one spelling of
 * each token and one length, so a cut, lengthened or altered token is refused
 * here, before any lookup.  The checksum is no secret: what proves the holder
 * is that the store knows the digest of the whole text.  The text itself is
 * shown once and never stored.
 */

enum token_type {
    TOKEN_KEY,     /* "key": an API key */
    TOKEN_INFERENCE, /* "inf": an API key for inference alone */
    TOKEN_SESSION, /* "ses": a login session */
    TOKEN_ENROL,   /* "enr": lets one node join, once */
    TOKEN_FIRST,   /* "one": makes the first administrator, once */
    TOKEN_INVITE,  /* "inv": lets one new user set a password, once */
    TOKEN_TYPE_COUNT
};

#define TOKEN_RANDOM_SIZE 20
#define TOKEN_SIZE 47
#define TOKEN_TEXT_MAX (TOKEN_SIZE + 1)

void token_make(enum token_type type, char text[TOKEN_TEXT_MAX]);

/* token_make with given bits in place of random ones. */
void token_format(enum token_type type,
                  const uint8_t bits[TOKEN_RANDOM_SIZE],
                  char text[TOKEN_TEXT_MAX]);

/* Takes any text.  Fails with ERROR_UNAUTHENTICATED and the same words for
 * every fault. */
int token_parse(const char *text, enum token_type *type_out,
                struct error *err);

/* What is stored and looked up; text has passed token_parse. */
void token_digest(const char *text, struct digest *out);

/* In constant time. */
bool token_matches(const struct digest *stored, const struct digest *given);

#endif
