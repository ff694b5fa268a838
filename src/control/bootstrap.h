/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_BOOTSTRAP_H
#define CONTROL_BOOTSTRAP_H

#include "control/loop.h"

/*
 * What is there before anybody came?  The platform with its policy, the
 * shipped roles, priorities and the pool "default"; put right again where an
 * upgrade ships other roles.
 */

struct bootstrap {
    const char *currency;    /* NULL: "EUR" */
    const char *secret_path; /* of the first-admin secret; NULL: none */
};

/* After loop_open (before loop_start: ahead of all requests), from a thread
 * that is not the loop's.  While the platform
 * has no user, a fresh one-time secret lies in secret_path (mode 0600); an
 * existing one is kept. */
int bootstrap_run(struct loop *loop, const struct bootstrap *bootstrap,
                  struct error *err);

#endif
