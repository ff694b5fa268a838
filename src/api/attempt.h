/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_ATTEMPT_H
#define API_ATTEMPT_H

#include "api/exchange.h"

/*
 * May somebody there try to prove who he is?
 *
 * What failed is counted, and makes wait (tries.h), so that nobody else waits
 * for it if it can be helped:
 *
 *   a login         the address and the tenant that is named.  Who named many
 *                   tenants waits up to 2 s at a time for the address alone.
 *   where the account has logged in before, and behind a proxy of this
 *                   machine, whose address is everybody's: the address and the
 *                   account, whatever others do there
 *   a login by an identity provider: the address and the provider
 *   a step-up       the session
 *   a secret of nobody in particular: the address
 *   a credential    the address, behind a proxy the credential.  One that is
 *                   valid is taken in any case: nobody locks out another's
 *                   key.
 *
 * IPv6 addresses count as their /64.  All functions may be called from any
 * thread.
 */

#define ATTEMPT_MANY 300 /* of an address, whatever tenants are named */
#define ATTEMPT_SHARED_MS INT64_C(2000) /* where many wait together */
#define ATTEMPT_TOKEN_MS (60 * INT64_C(1000))

/* Whose secret is tried; NULL in its place: nobody's in particular. */
struct attempt {
    const char *place;   /* tenant or work order, as it was named, or identity
                            provider; NULL: the platform */
    const char *account; /* the name there; NULL: as the provider says */
    const char *session; /* else, of a step-up: which */
};

/* ERROR_RATE, and Retry-After is set, while it waits. */
int attempt_check(struct exchange *exchange, const struct attempt *attempt,
                  struct error *err);
void attempt_failed(struct exchange *exchange, const struct attempt *attempt);
/* The account logged in from there. */
void attempt_worked(struct exchange *exchange, const struct attempt *attempt);
/* The exchange's credential is not valid.  -1 with err: ERROR_RATE when there
 * were too many from there, else it stays as it is. */
int attempt_token_failed(struct exchange *exchange, struct error *err);

#endif
