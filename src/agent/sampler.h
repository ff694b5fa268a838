/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_SAMPLER_H
#define AGENT_SAMPLER_H

#include "core/report.h"
#include "engine/engine.h"

/*
 * What did each instance use in the last window?
 *
 * Looks at counters come every second; a window is ten seconds of them.  Only
 * the last window that is over is kept, so the memory is bounded by the number
 * of instances.  No I/O and no threads: the agent calls it under its lock.
 */

#define SAMPLER_WINDOW_MS 10000
/* One that came late into a window is told of when it has this much of it. */
#define SAMPLER_LEAST_MS 5000

struct sampler;

struct sampler *sampler_new(void);
void sampler_free(struct sampler *sampler);
/* One look at all that runs. */
void sampler_take(struct sampler *sampler,
                  const struct engine_samples *samples);
/* Adds the last window to a report that was not told of it yet, in the arena;
 * returns its number, 0 when there is nothing new. */
int64_t sampler_tell(const struct sampler *sampler, struct arena *arena,
                     struct report *report);
/* That window has arrived. */
void sampler_told(struct sampler *sampler, int64_t number);

#endif
