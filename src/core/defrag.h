/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_DEFRAG_H
#define CORE_DEFRAG_H

#include "base/json.h"
#include "core/access.h"
#include "core/change.h"

/*
 * Which work would have to move so that the largest class of a pool finds its
 * cards on one node?
 *
 * A plan is a list of moves with what they cost.  Only preemptible work that has
 * run for the platform's least time is moved, gangs over several nodes too;
 * of the nodes where that is enough the one whose work loses least (card time
 * since the last checkpoint that was seen).  A plan is proven on a copy of the
 * world: the scheduler itself stops the work, puts it elsewhere, and the node
 * has the room, or work that waited for it has started.  Whoever reviewed the
 * plan carries it out, as notice, grace and a new start through the gate; by
 * itself that happens only in pools whose policy is `auto`, within its limits.
 */

/* Candidates that are tried on a copy. */
#define DEFRAG_TRIES_MAX 4
#define DEFRAG_MOVES_MAX 64
/* Decisions of the scheduler in one of them. */
#define DEFRAG_DECISIONS_MAX 5000

struct defrag;

/* Copies the world. */
struct defrag *defrag_copy(const struct world *world, struct ref pool,
                           int64_t now_ms);
/* The same; granted: workload.whatif on the pool. */
struct defrag *defrag_new(const struct granted *granted);
/*
 * On any thread, once; a new reference:
 *   {pool, wanted, before: {free, largest}, after: {free, largest} | null,
 *    node | null, moves: [{workload, name, project, cards, lost_milli_card_ms,
 *    grace_ms}], lost_milli_card_ms, text}
 * without moves when nothing is fragmented, or nothing would help.
 */
json_t *defrag_answer(struct defrag *defrag);
void defrag_free(struct defrag *defrag);

/* Carries out moves (ids of workloads in the pool): all of them, or none when
 * one cannot be moved any more.  granted: instance.release on the pool. */
int defrag_apply(const struct granted *granted, struct changes *changes,
                 const json_t *moves, struct error *err);

/* --- by the pool's policy --- */

/* Moves that are left now: 0 outside of the window, when the hour's are used
 * up, or when the policy is another. */
int64_t defrag_left(const struct pool *pool, int64_t now_ms);
/* Is work that was moved still on its way?  What it leaves is no room yet, and
 * until it found its place nothing else goes. */
bool defrag_is_moving(const struct world *world, struct ref pool);
/* Carries out a plan (defrag_answer) by the policy: all of it, or nothing when
 * it is more than is left, gains too little, loses too much, or is old.  True:
 * it did. */
bool defrag_by_policy(struct changes *changes, struct ref pool,
                      const json_t *plan);

#endif
