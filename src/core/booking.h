/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_BOOKING_H
#define CORE_BOOKING_H

#include "core/place.h"

/*
 * When does work start that others pass over again and again?
 *
 * A waiting workload that was passed over `bypass_max` times, or waits for
 * `bypass_ms`, gets a booking: concrete parts of cards and the time when they
 * will be free.  From then on nothing starts that would delay it.  A later
 * workload may use the booked parts
 *
 *   when it ends before them by its longest run time, grace and all, or
 *   as a loan, when it is preemptible burst work: it is stopped in time, or
 *   when it goes first by right: within its guarantee where the booked work
 *   is not, or of higher priority in the same tenant.
 *
 * When nothing that runs has an end, the time is unknown: parts are kept as
 * they become free, and lent meanwhile.  Work that waits for a limit alone
 * books quota and no parts, so that it costs nobody else a card.
 */

/* Time for a release and its confirmation, and for a start. */
#define BOOKING_SLACK_MS INT64_C(60000)
/* Bookings in one pool, and of one tenant, at a time. */
#define BOOKING_POOL_MAX 16
#define BOOKING_TENANT_MAX 4

bool booking_has(const struct world *world, struct ref owner);
/* Has it parts, not only quota? */
bool booking_has_place(const struct world *world, struct ref owner);

/* When a workload that starts then has given all back at the latest, rounded
 * up; TIMELINE_OPEN without a longest run time. */
int64_t booking_end_ms(const struct world *world,
                       const struct workload *workload, int64_t start_ms);
/* The same of one that is live. */
int64_t booking_run_end_ms(const struct world *world,
                           const struct workload *workload, int64_t now_ms);

/* When a waiting workload is to be booked if nothing passes it before;
 * TIMELINE_NEVER: never.  Due when it is not in the future. */
int64_t booking_due_ms(const struct world *world,
                       const struct workload *workload);
/* When the loans on its parts are to be called in; TIMELINE_NEVER. */
int64_t booking_recall_ms(const struct world *world, struct ref owner);

/* --- who is in whose way --- */

/* Whom does a booking concern: work that may run in these pools (bit index %
 * 64 of each), or in this tenant; all work when the platform has quotas. */
uint64_t booking_pools(const struct world *world,
                       const struct booking *booking);
bool booking_concerns_all(const struct world *world);

/* Bookings that a workload has to respect. */
struct booking_bars {
    struct ref *owners;
    size_t count;
    uint64_t booked; /* seq of its own booking, 0: none */
    struct ref *near; /* those, and such that it goes before by right */
    size_t near_count;
    bool rights;     /* would fall if an owner's right got worse */
    int64_t next_ms; /* when time alone adds one, at the earliest;
                        TIMELINE_NEVER */
};
/* Whose end or other right could let the work start, as bits (booking_bit):
 * those of the near ones that keep something it could use.  copies: it with
 * each of its classes; pools: where it may run. */
uint64_t booking_bit(struct ref owner);
uint64_t booking_near(const struct world *world,
                      const struct workload *copies, size_t count,
                      uint64_t pools, const struct booking_bars *bars);
/* The right of booked work by the queue's order (enum quota_right). */
int64_t booking_right(const struct estate *estate,
                      const struct workload *workload,
                      const struct booking *booking);
/* When is it to start?  Soon: when what is being stopped, or what it would
 * stop, has given back; it ends later by that, and nothing is lent to it: by
 * then it may be within its guarantee, to whom nobody lends.  Later: at any
 * time, so its end does not help either. */
enum booking_when { BOOKING_NOW, BOOKING_SOON, BOOKING_LATER };
/* right: of the queue (core/quota.h). */
void booking_bars(const struct estate *estate,
                  const struct workload *workload, int64_t right,
                  enum booking_when when, struct arena *arena,
                  struct booking_bars *bars_out);
/* Takes the booked parts out of the estate (sign 1), or puts them back: a
 * trial. */
void booking_bar(struct estate *estate, const struct booking_bars *bars,
                 int sign);
/* Adds what the booked work will use.  What was nominated by then (seq of its
 * first hold) is promised in the ledger already. */
void booking_charge(const struct estate *estate,
                    const struct booking_bars *bars, uint64_t promised,
                    struct ledger *ledger);
/* Owners whose booked parts this start takes for longer than they can lend
 * them: their bookings end.  At most max. */
size_t booking_displaced(const struct estate *estate,
                         const struct workload *workload, int64_t right,
                         const struct placement *placement,
                         struct ref *owners_out, size_t max);

/* Could the booked parts still be had: cards healthy, nodes taking work? */
bool booking_stands(const struct estate *estate, struct ref owner);
bool booking_part_stands(const struct estate *estate, struct ref card);
/* Runs that are on loan on its parts and have to go now, indexes into the
 * estate; 0 when none has, or not yet. */
size_t booking_recalled(const struct estate *estate, struct ref owner,
                        struct arena *arena, uint32_t **runs_out);

/* --- where and when --- */

struct booking_ask {
    const struct workload *workload;
    const struct demand *demand;
    const struct place_request *request;
    const struct ledger *promised; /* what is in its way of quota */
    bool open;                     /* its limits let it start now */
};
struct booking_plan {
    int64_t from_ms; /* 0: unknown */
    struct placement placement; /* none: quota alone */
    struct ref pool;
};

/* The earliest start in one pool by the known ends of what runs; without
 * such, the parts that take the fewest ends.  Trials leave the estate as it
 * was. */
bool booking_find(struct estate *estate, const struct booking_ask *ask,
                  struct arena *arena, struct booking_plan *plan_out);
/* May one more be booked there? */
bool booking_has_room(const struct world *world,
                      const struct workload *workload, struct ref pool);
/* Replaces what the workload has booked. */
void booking_put(const struct estate *estate, struct changes *changes,
                 const struct workload *workload,
                 const struct class *class, const struct booking_plan *plan);

#endif
