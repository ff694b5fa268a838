/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_LIFECYCLE_H
#define CORE_LIFECYCLE_H

#include "core/change.h"

/*
 * What does an event do to a workload and its instances?
 *
 *   instance  assigned -> starting -> running -> exited -> released
 *             any live one -> lost -> running again | exited | released
 *   workload  assigned -> starting -> running -> succeeded | failed
 *             running -> preempting | lost -> waiting again, through the gate
 *             running -> cancelling -> cancelled
 *
 * Every function may be called twice for the same event, late, or for an
 * instance of an earlier attempt: terminal states absorb.  Cards and quota
 * come back only by lifecycle_released, keyed by the instance, once.  The
 * caller has checked that the event comes from the instance's own node and
 * incarnation.
 */

/* What the notice says when an operator takes work off its cards. */
#define LIFECYCLE_BY_HAND "released"
/* ... and when its quota takes it off. */
#define LIFECYCLE_QUOTA "quota"

/* ... and when its node was given up. */
#define LIFECYCLE_FENCED "fenced"

/* ... and when an elastic gang becomes smaller. */
#define LIFECYCLE_SHRUNK "shrunk"

#define EXIT_CHECKPOINTED 75 /* sysexits EX_TEMPFAIL: saved, run me again */

/* ref is the instance.  The runner is at it; then the process runs. */
void lifecycle_starting(struct changes *changes, struct ref ref);
void lifecycle_started(struct changes *changes, struct ref ref);
/* It could not be started; release is still to be confirmed. */
void lifecycle_start_failed(struct changes *changes, struct ref ref,
                            const char *why);
/* The process is gone.  exit_code 0..255 (128 + signal when killed). */
void lifecycle_exited(struct changes *changes, struct ref ref,
                      int64_t exit_code, bool oom);
/* Nothing of it is left on node and cards: bindings close, cards wait for
 * their handover, and with the last instance the workload moves on. */
void lifecycle_released(struct changes *changes, struct ref ref);
/* The node's lease is over: its instances are lost, their cards stay bound. */
void lifecycle_lost(struct changes *changes, struct ref node);
/* The node is off for good, or cut off from all: what was on it has given back
 * what it had, and work that may not recover has failed. */
void lifecycle_fenced(struct changes *changes, struct ref node);
/* A lost instance was seen alive again. */
void lifecycle_back(struct changes *changes, struct ref ref);
/* The platform saw a checkpoint; time is the observer's, ms UTC. */
void lifecycle_checkpoint(struct changes *changes, struct ref ref,
                          int64_t step, int64_t time_ms);

/* Stops a live workload with notice (reason goes to the process) and moves it
 * to state: WORKLOAD_PREEMPTING or WORKLOAD_CANCELLING.  proof: JSON text or
 * NULL.  Instances that were not started yet are stopped at once. */
void lifecycle_stop(struct changes *changes, struct ref ref, int state,
                    const char *reason, const char *proof);
/*
 * An elastic gang has members (number < instances), which are there together
 * or not at all, and surplus: one of those leaves with notice, the rest go
 * on.  ref is the instance; what is no running surplus is left alone.  proof:
 * JSON text or NULL.
 */
void lifecycle_shrink(struct changes *changes, struct ref ref,
                      const char *proof);
bool lifecycle_can_shrink(const struct workload *workload,
                          const struct instance *instance);
bool lifecycle_is_elastic(const struct workload *workload);
bool lifecycle_is_surplus(const struct workload *workload,
                          const struct instance *instance);
/* Has it left its gang, which goes on without it? */
bool lifecycle_has_left(const struct instance *instance);

/*
 * The card is failed for good: surplus of elastic gangs on it leaves, and grows
 * again elsewhere.  Members and other work run on as long as they can.  What
 * ends with an error on a failed card, or in a gang that has one, is run again
 * at once, where the card is not: that counts as nobody's failure, and until it
 * has started again it goes first (replacing_ms).  What ended so up to a minute
 * before the card was known to have failed is treated the same.
 */
void lifecycle_card_failed(struct changes *changes, struct ref card);
/* Was it on a card that is failed? */
bool lifecycle_card_was_bad(const struct changes *changes,
                            const struct instance *instance);

/* Deletes what is held for a workload; its booking stays. */
void lifecycle_drop_nomination(struct changes *changes,
                               struct ref workload);
/* Deletes what is held and booked for it. */
void lifecycle_drop_holds(struct changes *changes, struct ref workload);

/* Grace in force for a workload, ms: its own, capped, or the platform's. */
int64_t lifecycle_grace(const struct world *world,
                        const struct workload *workload);
/* Of a workload's state. */
bool lifecycle_is_waiting(int state); /* held, gated, queued */
bool lifecycle_is_live(int state);    /* assigned .. lost */
bool lifecycle_is_stopping(int state); /* preempting, cancelling */
bool lifecycle_is_over(int state);    /* terminal */

/* Is the instance of the attempt that is going on? */
bool lifecycle_is_current(const struct workload *workload,
                          const struct instance *instance);

#endif
