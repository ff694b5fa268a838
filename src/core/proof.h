/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_PROOF_H
#define CORE_PROOF_H

#include "core/world.h"

/*
 * Has a person proved who they are, and is it enough?
 *
 * What is asked follows from the policies of the platform and of the person's
 * tenant each time, so a stricter policy counts at once, in open sessions too.
 * A session that lacks something is not refused but limited: with it one can
 * mend what is missing, log out, and nothing else.
 */

#define PROOF_SESSION_MS (12 * 3600 * INT64_C(1000)) /* when none is set */
#define PROOF_PASSWORD_MIN 12

enum proof_limit {
    PROOF_FREE,
    PROOF_PASSWORD, /* set by somebody else, or too old: change it */
    PROOF_ENROL,    /* a second factor is required and there is none */
    PROOF_CODE,     /* ... and this session has not shown it yet */
};

/* The stricter of the platform's and the tenant's policy. */
enum second_factor proof_need(const struct world *world, struct ref user);
/* Has the user confirmed a second factor? */
bool proof_is_enrolled(const struct world *world, struct ref user);
/* The last proof of identity that counts for guarded verbs, 0: none: by the
 * second factor where one is enrolled or required. */
int64_t proof_ms(const struct world *world, struct ref session);
/* What limits what can be done with the credential; PROOF_FREE of keys. */
enum proof_limit proof_limit(const struct world *world, struct ref credential,
                             int64_t now_ms);
/* "none", "password", "enrol", "code" */
const char *proof_limit_text(enum proof_limit limit);

/* Not idle for longer than the platform's policy allows. */
bool proof_is_fresh(const struct world *world, const struct session *session,
                    int64_t now_ms);
int64_t proof_session_life(const struct world *world);
int64_t proof_password_min(const struct world *world);

#endif
