/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CREDENTIAL_H
#define CORE_CREDENTIAL_H

#include "core/access.h"
#include "core/change.h"

/*
 * How do credentials change after they were made?  New secrets for keys,
 * second factors with their recovery codes, locks, invitations.  Codes and
 * passwords are checked outside; here are the rules that hold whoever calls.
 */

/* --- keys --- */

#define CREDENTIAL_OVERLAP_MS (24 * 3600 * INT64_C(1000))
#define CREDENTIAL_OVERLAP_MAX_MS (7 * 24 * 3600 * INT64_C(1000))

/* granted: apikey.rotate on the key.  It gets another secret; the one before
 * works for overlap_ms more (but no longer than the key), the one before that
 * no more.  For somebody else's key what minting asks. */
int credential_rotate(const struct granted *granted, struct changes *changes,
                      int64_t overlap_ms, const uint8_t digest[32],
                      struct error *err);

/* --- second factors --- */

#define CREDENTIAL_CODES 10
#define CREDENTIAL_CODE_SIZE 16 /* bytes of a code's digest */

/* granted: user.factor on oneself.  ERROR_CONFLICT when one is enrolled. */
int credential_enrol(const struct granted *granted, struct changes *changes,
                     const char *sealed, struct error *err);
/* A code of that step was right: the factor counts, and the session has
 * proved it.  digests: of the recovery codes that are shown now. */
int credential_confirm(
    const struct granted *granted, struct changes *changes, int64_t step,
    const uint8_t digests[CREDENTIAL_CODES][CREDENTIAL_CODE_SIZE],
    struct error *err);
/* New recovery codes in place of all before. */
int credential_renew_codes(
    const struct granted *granted, struct changes *changes,
    const uint8_t digests[CREDENTIAL_CODES][CREDENTIAL_CODE_SIZE],
    struct error *err);
int credential_drop_factor(const struct granted *granted,
                           struct changes *changes, struct error *err);
/* granted: user.factor-reset on somebody else, with the control rule; ends
 * their sessions. */
int credential_reset_factor(const struct granted *granted,
                            struct changes *changes, struct error *err);

/* The session has proved the factor by a code of that step; false, and nothing
 * changes, when a code of that step or a later one was taken before. */
bool credential_take_step(struct changes *changes, struct ref session,
                          int64_t step);
/* The same by a recovery code, which is used up. */
bool credential_take_recovery(struct changes *changes, struct ref session,
                              const uint8_t digest[CREDENTIAL_CODE_SIZE]);

/* --- locks --- */

/* granted: user.unlock.  Failed logins are forgotten. */
void credential_unlock(const struct granted *granted,
                       struct changes *changes);

/* --- invitations --- */

/* Finds the invitation of a token that can be accepted now, or none. */
struct ref credential_invitation(const struct world *world,
                                 const uint8_t digest[32], int64_t now_ms);
/* Sets the first password and uses the invitation up. */
int credential_accept(struct changes *changes, struct ref invitation,
                      const char *password, struct error *err);

#endif
