/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRACE_SCENARIO_H
#define TRACE_SCENARIO_H

#include "base/json.h"
#include "core/access.h"
#include "core/change.h"

/*
 * Which estate and which tenants does a simulation have?  A JSON file:
 *
 *   {"platform": {fields of the platform},
 *    "pools": [{"name": "a", ...}],
 *    "nodes": [{"pool": "a", "count": 100, "cards": 8, "vendor": "nvidia",
 *               "model": "h100-80g", "memory_mib": 81920, "cpu_milli":
 *               128000, "node_memory_mib": 1048576}],
 *    "classes": [{"name": "h100.1", ...}],
 *    "priorities": [{"name": "urgent", ...}],
 *    "tenants": [{"name": "t1", ..., "quotas": [{"dimension": "cards",
 *                 "guaranteed": 8000, "limit": 16000}],
 *                 "projects": [{"name": "p1", ..., "quotas": [...]}]}]}
 *
 * Everything but nodes is created as an operator would by the API: the same
 * fields, rules and refusals.  The platform begins with the policy and the
 * priorities of a new installation.
 */

/* When every simulation begins: 2030-01-01, midnight UTC. */
#define SCENARIO_START_MS INT64_C(1893456000000)

struct scenario {
    struct world *world;    /* the caller frees it, or hands it on */
    struct actor operator_; /* may submit work everywhere */
};

/* Error texts begin with where in the file they arose. */
int scenario_build(const json_t *file, struct scenario *out,
                   struct error *err);

#endif
