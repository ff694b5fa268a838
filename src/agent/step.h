/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_STEP_H
#define AGENT_STEP_H

#include "agent/logs.h"
#include "agent/roster.h"

/*
 * How is a step done?  Carries one step of the roster out on the engine; may
 * take as long as the engine does.  The log of what is removed is kept first.
 */
int step_do(struct engine *engine, struct logs *logs,
            struct roster_step *step, struct error *err);

/* What the step is called in the log. */
const char *step_name(const struct roster_step *step);

#endif
