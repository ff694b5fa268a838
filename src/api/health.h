/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_HEALTH_H
#define API_HEALTH_H

#include "base/buffer.h"
#include "core/world.h"

/* Cards by state, and what was measured of each, for /metrics. */
void health_metrics(struct buffer *out, const struct world *world);

#endif
