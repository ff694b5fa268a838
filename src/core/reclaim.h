/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_RECLAIM_H
#define CORE_RECLAIM_H

#include "core/booking.h"
#include "core/gate.h"

/*
 * Who has to make room for this workload, and by which rule?
 *
 *   guarantee  a tenant, unit or project below its guarantee takes back burst
 *              use of others
 *   priority   higher over lower in the same tenant
 *   across     higher over lower across tenants, for priority classes that
 *              may, on burst use only
 *   loan       booked work over what was lent its parts (core/booking.h)
 *   owner      those to whom a pool is dedicated over all who were lent its
 *              cards, whatever those are guaranteed: that is met elsewhere.
 *              There nobody else names work of an owner
 *
 * Every node from a victim up to the common ancestor keeps its guarantee
 * after the release, other releases under way counted.  Work that is not
 * preemptible is never named.  The victims are named for one placement that
 * is proven first, and none of them can be left out.  Of an elastic gang the
 * surplus goes first, instance by instance and before any whole workload; the
 * gang itself is named only with all of its surplus.
 */

enum reclaim_rule {
    RECLAIM_GUARANTEE,
    RECLAIM_PRIORITY,
    RECLAIM_ACROSS,
    RECLAIM_LOAN,
    RECLAIM_OWNER,
};
const char *reclaim_rule_text(enum reclaim_rule rule);

/*
 * What could end the waiting, or be its end?  Always: what gets better in its
 * pools, what is set anew in its tenant or for all, and the start of work of a
 * lower priority in its tenant.
 */
struct outlook {
    uint64_t pools; /* where it may run: bit index % 64 of each pool */
    uint64_t barred; /* the end of one of these bookings (booking_bit) */
    bool change;    /* anything that changes there */
    bool kin;       /* anything that changes about work of its tenant */
    bool limits;    /* what that is sure to give back; a limit is in the way */
    bool held;      /* parts are held for it: what is given back does not help
                       unless a limit is in its way */
    bool claims;    /* any start in its tenant */
    bool rivals;    /* more use of anybody's, which could be taken back */
    bool abroad;    /* anything that changes about anybody's work */
    bool timed;     /* whatever is metered in its tenant */
    int64_t due_ms; /* time alone; 0: not */
    struct outlook_place { /* what changes there: it is kept for it */
        uint32_t site;
        uint64_t parts; /* estate_part_bit */
    } *places;
    size_t place_count;
};

struct reclaim_victim {
    uint32_t run; /* index into the estate */
    enum reclaim_rule rule;
    struct claim over;  /* the victim's node, with its use before */
    struct claim claim; /* the beneficiary's node (rule guarantee) */
    int64_t lost_work;  /* milli-card-ms since the last checkpoint seen */
};

struct reclaim_plan {
    struct reclaim_victim *victims;
    size_t count;
    struct placement placement; /* of the beneficiary, in the future */
    bool cut; /* nobody is stopped: a card is cut, or made whole */
};

/* May the workload reclaim from anybody at all by right of a guarantee? */
bool reclaim_is_claimant(const struct estate *estate,
                         const struct demand *demand);
/*
 * The estate counts the beneficiary's own holds as its own, and is without the
 * parts of bookings that it has to respect (bars).  True with a plan
 * of at least one victim; false when no allowed set of victims makes room.
 * Trials leave the estate as it was.  Adds to the outlook what could bring a
 * set.
 */
bool reclaim_find(struct estate *estate, const struct workload *workload,
                  const struct demand *demand,
                  const struct place_request *request,
                  const struct booking_bars *bars, struct arena *arena,
                  struct reclaim_plan *plan_out, struct outlook *outlook);

/* The same among these runs alone, which are on loan from the workload. */
bool reclaim_loans(struct estate *estate, const struct workload *workload,
                   const struct demand *demand,
                   const struct place_request *request,
                   const struct booking_bars *bars, const uint32_t *runs,
                   size_t count, struct arena *arena,
                   struct reclaim_plan *plan_out);

#endif
