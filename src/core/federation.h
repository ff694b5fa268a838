/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_FEDERATION_H
#define CORE_FEDERATION_H

#include "base/json.h"
#include "core/change.h"

/*
 * What follows when an identity provider has said who somebody is?  (Whether
 * it really said so is checked before: identity/jwt.h.)
 *
 * - A person is provider and subject, never a name or an e-mail address.  A
 *   provider speaks for users of its own parent alone, a tenant or the
 *   platform, so a tenant's provider asserts nobody else.
 * - The mapping is a list of {"claim", "value", "role", "node"} and of
 *   {"claim", "value", "group"}: whoever has the value in the claim, which is a
 *   text or a list of texts, has the role there, or is in the group.  Each
 *   login makes grants and memberships of the mapping equal to what the claims
 *   say: a claim that is missing or empty says "in no group" and takes them
 *   all away.  They name their provider and end fresh_ms after the login, so
 *   what the provider takes back ends too when the person stays away, for API
 *   keys as well.
 * - Writing an entry is handing out its role, or all that the group has
 *   (rules_provider.c); being in grants it is bounded by ceilings and denies
 *   like every other.  A group that is full takes in nobody more, and whom
 *   somebody put into it by hand stays.  Nobody
 *   gains by a mapping that they wrote last.
 */

#define FEDERATION_FRESH_MS (12 * 3600 * INT64_C(1000))
#define FEDERATION_FRESH_MAX (31 * 24 * 3600 * INT64_C(1000))
#define FEDERATION_ENTRIES_MAX 256
#define FEDERATION_CLAIM_MAX 128
#define FEDERATION_LOGOUT_SKEW_MS (60 * INT64_C(1000))

/* What a token said, checked. */
struct federation_person {
    const char *subject;
    const char *name;    /* wished for a new user; NULL: none */
    const char *display; /* NULL: none */
    const char *sid;     /* the provider's session; NULL: none */
    const char *acr;     /* NULL: none */
    int64_t auth_ms;     /* when the person proved itself; 0: not said */
    const json_t *claims;
};

struct federation_login {
    struct ref user;
    struct ref session;
    bool created; /* the user */
};

/* Unique among all: provider's id and subject. */
void federation_digest(const struct world *world, struct ref provider,
                       const char *subject, uint8_t digest[32]);
/* Is the provider there and open, and everything above it? */
bool federation_is_open(const struct world *world, struct ref provider);

/* A session with this token digest.  The proof of identity is the provider's:
 * none when its acr is not one of those that count.  ERROR_UNAUTHENTICATED
 * with a reason for the log. */
int federation_log_in(struct changes *changes, struct ref provider,
                      const struct federation_person *person,
                      const uint8_t digest[32], struct federation_login *out,
                      struct error *err);
/* The same person proved itself again: step-up of its session.
 * ERROR_UNAUTHENTICATED. */
int federation_prove(struct changes *changes, struct ref session,
                     struct ref provider,
                     const struct federation_person *person,
                     struct error *err);
/* Ends sessions that came by the provider and began up to iat_ms: those of the
 * sid, or all of the subject; both NULL: all.  Returns how many. */
size_t federation_log_out(struct changes *changes, struct ref provider,
                          const char *subject, const char *sid,
                          int64_t iat_ms);

/* --- for rules_provider.c --- */

/* The provider's image in the set was changed: takes back what its mapping
 * gives no more, all when it is closed, and ends its sessions then. */
void federation_settle(struct changes *changes,
                       const struct identityprovider *provider);
/* Takes back all that the provider gave this subject, none: everybody, with
 * the sessions. */
void federation_forget(struct changes *changes, struct ref provider,
                       struct ref subject);

#endif
