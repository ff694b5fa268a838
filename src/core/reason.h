/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_REASON_H
#define CORE_REASON_H

#include "core/change.h"

/*
 * Why does this workload wait?  A verdict holds the machine-readable reason,
 * its numbers and one full sentence: what is short, how much is needed, there
 * and allowed, and what would unblock it.  A sentence names the workload's
 * own quota nodes and the platform, never another tenant's objects.
 */

struct verdict {
    int state;         /* enum workload_state: gated, queued or rejected */
    enum reason reason;
    struct ref quota;  /* the quota that is full, or none */
    int64_t need, have, limit; /* limit AMOUNT_NONE: no limit in it */
    char text[TEXT_MAX_SIZE];
};

void verdict_set(struct verdict *verdict, int state, enum reason reason,
                 const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void verdict_numbers(struct verdict *verdict, int64_t need, int64_t have,
                     int64_t limit);

/* Does the workload's stored reason differ from the verdict? */
bool reason_differs(const struct workload *workload,
                    const struct verdict *verdict);
/* Do two verdicts say something else, not the same with other numbers? */
bool verdict_is_other(const struct verdict *a, const struct verdict *b);
bool reason_is_other(const struct workload *workload,
                     const struct verdict *verdict);
/* Puts state, reason, numbers and sentence into a pending image; state_ms
 * moves when the state does. */
void reason_put(struct workload *workload, const struct verdict *verdict,
                int64_t now_ms);
/* Clears the reason: the workload waits for nothing. */
void reason_clear(struct workload *workload);

/* An amount as people read it: "2 cards", "1.5 cards", "512 MiB",
 * "250 milli-CPU", "3 workloads", "2.5 card-hours". */
#define REASON_AMOUNT_MAX 48
const char *reason_amount(char text[REASON_AMOUNT_MAX], int dimension,
                          int64_t amount);
const char *reason_dimension(int dimension);
/* "tenant vision", "project p1", "the platform". */
const char *reason_node(char text[NAME_MAX_SIZE + 16],
                        const struct world *world, struct ref node);
/* The stable name of a workload state, "queued". */
const char *reason_state(int state);

#endif
