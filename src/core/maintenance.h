/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_MAINTENANCE_H
#define CORE_MAINTENANCE_H

#include "core/estate.h"

/*
 * Planned maintenance of a node, or of all nodes of a pool.
 *
 * A maintenance has one window [from, to), or one each day or week, as a
 * reservation has.  No work is put on its nodes whose longest run, grace and
 * release would reach into the next window; with `lend` preemptible work may
 * start as long as it can run for a while before its notice.  Before the
 * window opens preemptible work that is in its way gets notice so that it is
 * gone in time (policy preempt), or what runs ends by itself (finish).  In the
 * window the nodes are in state maintenance, afterwards in the one before.
 *
 *   scheduled -> clearing -> open -> scheduled | over
 *
 * Work without a longest run starts where the next window is further away
 * than the horizon (a day).  That far ahead, too, who has work that reaches
 * into the window is told by an alarm about the work.  What the nodes' cards
 * say of drivers and firmware is noted when a window begins and ends.
 */

/* The alarm about work that a window is ahead of. */
#define MAINTENANCE_TOLD "maintenance.ahead"

/* Time stands still for those that set no bound. */
#define MAINTENANCE_NEVER INT64_MAX

/* What work without a longest run is taken to run, unless the platform says
 * otherwise (maintenance_horizon_ms). */
#define MAINTENANCE_HORIZON_MS (24 * INT64_C(3600000))

/* Longest run, grace and release of a workload, as a start looks at it. */
int64_t maintenance_span_ms(const struct world *world,
                            const struct workload *workload);
/* The same for work that may be told to go: a run that is worth its start. */
int64_t maintenance_loan_ms(const struct world *world,
                            const struct workload *workload);

/* When the node's next window begins: of those that lend nothing, of those
 * that do; MAINTENANCE_NEVER for none. */
void maintenance_stops(const struct world *world, struct ref node,
                       int64_t stops_out[2]);

/*
 * Rounds an end up to the next begin of any window: two ends between the same
 * begins are alike to every node.  0 when it comes before all of them, so that
 * nothing has to be looked at; MAINTENANCE_NEVER behind the last.
 */
int64_t maintenance_round(const struct world *world, int64_t end_ms);
/* When a start of the workload, by the passing of time alone, comes too late
 * for the next window of any; MAINTENANCE_NEVER: never. */
int64_t maintenance_look_ms(const struct world *world,
                            const struct workload *workload, int64_t now_ms);
/* The next window of a pool's node that a start at now would reach, for
 * people; false: none. */
bool maintenance_next(const struct world *world, struct ref pool,
                      int64_t *from_out);

/* Is the node in a window at some time in [from, to)? */
bool maintenance_meets(const struct world *world, struct ref node,
                       int64_t from_ms, int64_t to_ms);

/* Are its windows sound, and do they leave the cards that are reserved? */
int maintenance_check(const struct changes *changes,
                      const struct maintenance *maintenance, int64_t now_ms,
                      struct error *err);
/* Sets its next window, from now on. */
void maintenance_arm(struct maintenance *maintenance, int64_t now_ms);
/* Gives its nodes back; for one that is changed or goes. */
void maintenance_end(struct changes *changes, struct ref ref);

/* As for reservations. */
int64_t maintenance_due_ms(const struct world *world,
                           const struct maintenance *maintenance);
bool maintenance_step(struct changes *changes, struct ref ref,
                      size_t *victims_out);
/* The first that has something to do does it; else false.  due_ms is moved
 * back to when one has. */
bool maintenance_next_step(struct changes *changes, int64_t *due_ms,
                           struct ref *ref_out, size_t *victims_out);

#endif
