/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_USES_H
#define CONTROL_USES_H

#include "control/loop.h"

/*
 * When was a key or session last used, and from where?  Each use is noted in
 * memory; what is stored is at most some minutes older, written for all that
 * were used in one change set: a request costs no write of its own.
 */

#define USES_STALE_MS (10 * 60 * INT64_C(1000))

/* World thread.  credential: what the asker was authenticated by. */
void uses_note(struct loop *loop, struct ref credential, const char *from);
/* Stores what was noted since the last call; world thread, by a timer. */
void uses_store(struct loop *loop);

#endif
