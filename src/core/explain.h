/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_EXPLAIN_H
#define CORE_EXPLAIN_H

#include "base/json.h"
#include "core/world.h"

/*
 * Why does it not start, in full, and what is the nearest change that would
 * let it?  Per pool: what each filter threw out, what is left, how large the
 * largest place is; the quotas on the way up with need, use and limit; the
 * place in the queue; and the nearest change, tried on a copy of the world
 * where that is possible ("verified").
 */

/* A new reference. */
json_t *explain_workload(const struct world *world, struct ref ref,
                         int64_t now_ms, struct arena *arena);

#endif
