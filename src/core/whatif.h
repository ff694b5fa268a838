/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_WHATIF_H
#define CORE_WHATIF_H

#include "base/json.h"
#include "core/access.h"

/*
 * What starts when, and who is preempted, if this were changed?  The scheduler
 * itself runs on a copy of the world (core/forecast.h); nothing is changed.
 *
 *   {"horizon_ms": 86400000,            1 s .. 30 days, left out: a day
 *    "change": [                         at most 32, in this order
 *      {"set_quota": quota id, "guaranteed": 4000, "limit": 8000},
 *      {"add_nodes": 2, "pool": P, "class": C, "cards": 8},
 *      {"reserve": node id, "reservation": {pool, cards, to_ms, ...}},
 *      {"set_node": node id, "state": "cordoned"},
 *      {"cancel": workload id}],
 *    "submit": [                         at most 1,000 workloads in all
 *      {"project": project id, "count": 3, "run_ms": 3600000,
 *       "workload": {...}}],             as for a submission; name, image and
 *                                        spec may be left out
 *    "watch": [workload id]}             at most 100: told about although
 *                                        nothing happens to them
 *
 * The question is asked on a project, a unit, a tenant or the platform and
 * concerns what lies there.  Somebody of a tenant may try changes only of what
 * lies there and sees nobody else's work in the answer; that the others' work
 * shows in the times is the shared signal "start estimate".  Nodes of the
 * platform are for its own people to set.
 *
 * The answer is
 *   {now, until, end: "reached" | "quiet" | "budget",
 *    starts, preempted, ended: [{workload, name, project, at, waits_ms?,
 *                                tried}],
 *    waiting: [{workload, name, project, state, reason, text, tried}],
 *    refused: [{submit: index, count, code, text}],
 *    more: was something left out, assumptions: [text]}
 */

#define WHATIF_HORIZON_MS_MAX (INT64_C(30) * 24 * 3600000)
#define WHATIF_CHANGES_MAX 32
#define WHATIF_SUBMIT_MAX 1000
#define WHATIF_WATCH_MAX 100
/* Decisions in one forecast; with more the answer's end is "budget". */
#define WHATIF_DECISIONS_MAX 20000
/* Entries in each list of the answer. */
#define WHATIF_LIST_MAX 1000

struct whatif;

/* Copies the world and carries the question into the copy.  granted:
 * workload.whatif on the node of the question.  NULL with ERROR_INVALID and
 * the field; what the actor may not see reads like what never was. */
struct whatif *whatif_new(const struct granted *granted, const json_t *body,
                          struct error *err);
/* Runs the copy, on any thread: it shares nothing with the world.  A new
 * reference; once. */
json_t *whatif_answer(struct whatif *whatif);
void whatif_free(struct whatif *whatif);

#endif
