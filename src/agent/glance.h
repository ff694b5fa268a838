/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_GLANCE_H
#define AGENT_GLANCE_H

#include <stdbool.h>

#include "base/arena.h"
#include "core/report.h"

/*
 * How were the cards at the last look, and is that news?
 *
 * Values that change all the time, ages, and how often the same was heard go
 * along with every report and make none: a storm of errors costs one message
 * for each kind of it, and one with each heartbeat.
 */

struct glance;

/* A copy of its own. */
struct glance *glance_new(const struct report_look *looks, size_t count);
void glance_free(struct glance *glance); /* NULL is nothing */
/* old: NULL is none. */
bool glance_is_news(const struct glance *glance, const struct glance *old);
/* Puts them into the report, with their age; nothing for NULL. */
void glance_say(const struct glance *glance, struct arena *arena,
                struct report *report);
/* Takes out of a report what is never news. */
void glance_steady(struct arena *arena, struct report *report);

#endif
