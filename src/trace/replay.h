/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRACE_REPLAY_H
#define TRACE_REPLAY_H

#include "core/forecast.h"
#include "trace/arrivals.h"
#include "trace/scenario.h"

/*
 * How does the platform do with this work?  The scheduler, ledger and rules of
 * the control plane run on a clock that is moved by hand, and every applied
 * set is looked at for what must never happen.
 *
 * The report:
 *   {"ends", "simulated_ms", "decisions",
 *    "work": {submitted, refused, finished, waiting, preemptions},
 *    "cards": {total, used_permille, idle_permille, other_permille},
 *    "wait_ms": {p50, p95, p99, max},        of first starts
 *    "fairness_permille": Jain's index of card time over weight, among
 *                         tenants that were ever refused a wish at once
 *    "tenants": [{tenant, submitted, refused, finished, waiting, preempted,
 *                 wait_p50_ms, wait_p95_ms, card_hours_milli, guaranteed}],
 *    "violations": [text], "violation_count",
 *    "digest": of every event, equal for equal input}
 */

struct replay_options {
    struct forecast_options nodes;
    int64_t until_ms;  /* from the beginning; 0: until all is quiet, or a
                          year */
    int64_t decisions; /* at most */
};

/* Takes the scenario's world over.  ERROR_INVALID names the line of work that
 * cannot be understood; work that is refused is counted, not an error. */
int replay_run(struct scenario *scenario, const struct arrivals *arrivals,
               const struct replay_options *options, json_t **report_out,
               struct error *err);

#endif
