/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IDENTITY_OIDC_H
#define IDENTITY_OIDC_H

#include <stdbool.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/json.h"

/*
 * What is said to an identity provider, and what does it say about itself?
 * OpenID Connect Discovery 1.0, the authorization code flow with PKCE
 * (RFC 7636, S256 alone).  Texts only: who asks is control/sso.h.
 */

#define OIDC_URL_MAX 1024
#define OIDC_SECRET_MAX 64 /* of state, nonce, verifier: 43 and a NUL */

struct oidc_metadata {
    char authorization[OIDC_URL_MAX];
    char token[OIDC_URL_MAX];
    char jwks[OIDC_URL_MAX];
    char userinfo[OIDC_URL_MAX]; /* "": it has none */
    bool basic; /* the client's secret goes into a header, else a form */
    bool names_issuer; /* its redirects carry iss (RFC 9207) */
};

/* One login under way: random, so that it is nobody else's. */
struct oidc_attempt {
    char state[OIDC_SECRET_MAX];
    char nonce[OIDC_SECRET_MAX];
    char verifier[OIDC_SECRET_MAX];
};

struct oidc_client {
    const char *id;
    const char *secret; /* "": a public client */
    const char *scopes; /* beside openid */
    const char *redirect;
};

/* Appends the address of the issuer's document. */
void oidc_discovery_url(const char *issuer, struct buffer *out);
/* ERROR_INVALID: it is another issuer's, or lacks what is needed. */
int oidc_metadata_parse(const json_t *document, const char *issuer,
                        struct oidc_metadata *out, struct error *err);

/* May this token stand in a header: RFC 6750's characters, not too long? */
bool oidc_is_bearer(const char *token);
/* Adds to the claims of a good ID token those that only the userinfo endpoint
 * has.  What the token says stands, and only the token says how and when
 * somebody proved who he is.  ERROR_UNAUTHENTICATED: it is about somebody
 * else (OpenID Connect Core 5.3.2). */
int oidc_add_userinfo(json_t *claims, const json_t *info, struct error *err);

void oidc_attempt_make(struct oidc_attempt *out);
/* Is this a redirect to loopback (RFC 8252 7.3): http, 127.0.0.1 or [::1], a
 * port, a plain path?  Or, to the letter, one of those that an operator lists
 * (comma separated, NULL: none)? */
int oidc_check_redirect(const char *redirect, const char *listed,
                        struct error *err);
/* Is every entry of such a list an https URL with a host, without user name,
 * query, fragment or blanks in it? */
int oidc_check_redirects(const char *list, struct error *err);
/* Where the browser goes.  acr: values to ask for, NULL: none; again: the
 * person has to prove itself anew. */
void oidc_authorization_url(const struct oidc_metadata *metadata,
                            const struct oidc_client *client,
                            const struct oidc_attempt *attempt,
                            const json_t *acr, bool again,
                            struct buffer *out);
/* The form and, when the secret goes into a header, "user:password". */
void oidc_token_request(const struct oidc_metadata *metadata,
                        const struct oidc_client *client,
                        const struct oidc_attempt *attempt, const char *code,
                        struct buffer *form, struct buffer *basic);

#endif
