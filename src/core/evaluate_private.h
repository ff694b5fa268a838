/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_EVALUATE_PRIVATE_H
#define CORE_EVALUATE_PRIVATE_H

#include "core/evaluate.h"

/* What the parts of evaluate share. */

/* One class that it may have, in one pool where it may run. */
struct option {
    struct ref pool;
    size_t alternative;
    bool open; /* it passes the gate now */
    bool soon; /* it does when releases under way are done, or a release
                  within its own limits could make it pass */
    struct demand demand;
    struct place_request request;
    struct place_tally tally;
};

struct look {
    struct gate *gate; /* what is used and promised to earlier ones */
    struct ledger promised;
    struct gate soon; /* the same, releases under way taken off */
    struct ledger balance;
    struct estate *estate;
    struct arena *arena;
    const struct workload *workload;
    bool nominated, booked;
    int64_t right;
    struct booking_bars bars; /* bookings that it has to respect */
    const struct workload *alternatives; /* it with each of its classes */
    size_t alternative_count;
    struct ref pools[GATE_POOLS_MAX];
    size_t pool_count;
    struct option *options; /* of the first class, of the second, ... */
    size_t count;
    /* of each alternative the nearest verdict of the gate; "": none yet */
    struct verdict *closed;
    struct outlook *outlook;
    bool any_open;
};

/* Right, bookings that bar it and limits, as they are without a bar yet: bars
 * it, and looks at each pool. */
void evaluate_all(struct look *look);
/* Is there a place now, with the best class in the best pool that has one? */
bool evaluate_now(struct look *look, struct evaluation *evaluation);
/* Will there be a place when everything under way has given back? */
struct option *evaluate_soon(struct look *look, struct placement *placement);
/* The same for a nomination, which has to stand whatever else its right and its
 * end are when it starts. */
struct option *evaluate_nominee(struct look *look,
                                struct placement *placement);

/* The end of these bookings, or another right of their owners, is for it. */
void evaluate_near(struct look *look, const struct booking_bars *bars);

/* What is on loan from a booked workload goes when its start is near
 * (evaluate_book.c). */
bool evaluate_book_loans(struct look *look, struct evaluation *evaluation);
/* It waits: books a start for it when it is time, and gives up a booking that
 * cannot be had any more. */
void evaluate_book(struct look *look, struct evaluation *evaluation);

/* A nomination moves to work that could preempt the nominee
 * (evaluate_transfer.c). */
bool evaluate_transfer(struct look *look, struct evaluation *evaluation);

#endif
