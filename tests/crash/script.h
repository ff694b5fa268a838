/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_CRASH_SCRIPT_H
#define TESTS_CRASH_SCRIPT_H

#include "control/loop.h"

/*
 * What is played while the power goes?  Audited commands of a tenant's
 * administrator and deeds of the platform, each with a receipt in its
 * transaction: tenant red works on the only card and is cancelled, tenant blue
 * waits for it; projects come and go.  All of it is found again by name, in
 * whatever process.
 */

#define SCRIPT_STEPS 23

/* Is the step posted together with its neighbours? */
bool script_is_burst(int number);
/* World thread.  A step that has its receipt is not done again. */
int script_run(struct loop *loop, struct arena *arena, int number,
               struct error *err);
/* How many of the first steps are done; -1 when there is a gap. */
int script_done(const struct world *world);
/* What is wrong after the first `done` steps, NULL: nothing; and after the last
 * one. */
const char *script_look(const struct world *world, int done);
const char *script_look_at_end(const struct world *world);

#endif
