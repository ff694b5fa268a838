/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_RESOURCE_H
#define CORE_RESOURCE_H

#include "base/json.h"
#include "core/access.h"
#include "core/change.h"

/*
 * What does creating, changing or deleting an object take?  One way for all
 * kinds that clients write, by the schema's tables, with the rules of each
 * kind in a table (rules_*.c).  Workloads are created and deleted by
 * core/submit.h.
 *
 * granted must be for the kind's create verb on the parent, its update verb
 * or its delete verb on the object: a right is per object.  References in a
 * body that the actor may not see read like ids that never were.  When a
 * function fails the set is to be dropped.  If-Match is the caller's business.
 *
 * Errors: ERROR_INVALID (field named), ERROR_CONFLICT (name taken, objects in
 * the way, named), ERROR_QUOTA (with the numbers), ERROR_DENIED (delegation
 * and control), ERROR_NOT_FOUND, ERROR_UNSUPPORTED (kinds that only the
 * platform itself makes).
 */

int resource_create(const struct granted *granted, struct changes *changes,
                    enum kind kind, struct ref parent, const json_t *body,
                    struct ref *out, struct error *err);
/* May an object of the kind be made by clients below one of that kind? */
bool resource_lies_below(enum kind kind, enum kind parent);
/* Must one have a name? */
bool resource_is_named(enum kind kind);
/* patch: JSON merge patch of the fields that may be changed. */
int resource_update(const struct granted *granted, struct changes *changes,
                    struct ref ref, const json_t *patch, struct error *err);
/* Tenants, projects, users and service accounts stay as deleted, for bills
 * and audit; their names are free again.  Credentials and rights go. */
int resource_delete(const struct granted *granted, struct changes *changes,
                    struct ref ref, struct error *err);

/* --- secrets: made outside, only digests and hashes come in --- */

/* An apikey, jointoken or invitation that resource_create has just put into the set. */
void resource_set_digest(struct changes *changes, struct ref ref,
                         const uint8_t digest[32]);
/* granted: user.password on the user.  password: Argon2id string.  Ends the
 * user's other sessions; control rule for somebody else's, who has to change
 * it first. */
int resource_set_password(const struct granted *granted,
                          struct changes *changes, const char *password,
                          struct error *err);
/* What was just set for somebody else may be kept by them. */
void resource_keep_password(struct changes *changes, struct ref user);
/* The first password of a user. */
void resource_first_password(struct changes *changes, struct ref user,
                             const char *password);

/* --- logins (the caller has checked the password) --- */

/* A session with a proof of identity now.
 * ERROR_UNAUTHENTICATED when the user may not log in. */
int resource_log_in(struct changes *changes, struct ref user,
                    const uint8_t digest[32], struct ref *session_out,
                    struct error *err);
/* The password was proved again in an open session: step-up. */
void resource_prove(struct changes *changes, struct ref session);
/* A wrong password: after 5 in a row the account is locked for a time that
 * doubles from 1 s up to 15 min. */
void resource_log_in_failed(struct changes *changes, struct ref user);

#endif
