/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_BUDGET_H
#define API_BUDGET_H

#include "base/error.h"
#include "base/id.h"

/*
 * How much costly thinking (what-if, explain) may one tenant ask for?
 *
 * Each tenant, and the platform's own people together, has an account of time.
 * What a question took is taken off it, at least BUDGET_LEAST_US, and it fills
 * up again at a steady rate.  Who has spent it waits; no other tenant's
 * account changes.  An account that is full again is forgotten, so the list
 * is as long as there are tenants that asked lately.  The caller locks.
 */

#define BUDGET_LEAST_US INT64_C(20000)
/* Microseconds that come back in a millisecond: a quarter of one core. */
#define BUDGET_REFILL_US INT64_C(250)
/* Questions of one tenant at a time. */
#define BUDGET_FLIGHT_MAX 4

struct budget_line {
    struct id scope;
    int64_t left_us; /* below 0: overdrawn */
    int64_t at_ms;
    unsigned flight;
};

struct budget {
    int64_t full_us;
    struct budget_line *lines;
    size_t count, room;
};

void budget_init(struct budget *budget, int64_t full_us);
void budget_release(struct budget *budget);

/* May the tenant ask now?  ERROR_RATE with the way out; wait_s_out: seconds
 * until it may. */
int budget_enter(struct budget *budget, struct id scope, int64_t now_ms,
                 unsigned *wait_s_out, struct error *err);
/* For each that entered: what it took. */
void budget_leave(struct budget *budget, struct id scope, int64_t spent_us,
                  int64_t now_ms);

#endif
