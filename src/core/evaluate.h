/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_EVALUATE_H
#define CORE_EVALUATE_H

#include "core/booking.h"
#include "core/reclaim.h"

/*
 * What can be done for this workload now?
 *
 * In this order: start it in the best pool that has a place; wait for what is
 * being given back already (held for it when a guarantee claims it); name
 * victims; take over the nomination of work of a lower priority; else tell
 * why it waits, and book a start when others passed it over for too long.
 */

/* What changes by itself is looked at that often. */
#define EVALUATE_LOOK_MS INT64_C(1000)

enum act {
    ACT_WAIT,
    ACT_ASSIGN,
    ACT_NOMINATE,
    ACT_BOOK,
    ACT_LATER, /* the slice ended before the answer: ask again in the next */
};

/* What is found out about one workload. */
struct evaluation {
    enum act act;
    struct verdict verdict; /* ACT_WAIT, ACT_BOOK */
    bool drop;              /* its nomination or booking is over */
    struct outlook outlook; /* ACT_WAIT */
    int64_t right;          /* enum quota_right */
    struct booking_plan booking; /* ACT_BOOK */
    struct ref from;        /* whose nomination moves to it, or none */
    struct demand demand;
    struct place_request request;
    struct reclaim_plan plan;
};

/* Fills the evaluation, in the arena, and decides nothing else: the estate is
 * as before. */
void evaluate_workload(struct gate *gate, struct estate *estate,
                       const struct workload *workload, struct arena *arena,
                       struct evaluation *evaluation_out);

#endif
