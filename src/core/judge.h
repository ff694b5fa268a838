/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_JUDGE_H
#define CORE_JUDGE_H

#include "core/access.h"

/*
 * How is the question of access.h answered?  The inside of access, for
 * access.c and delegate.c only.
 */

/* Platform, tenant, 3 units, project, workload, instance, binding, alarm. */
#define JUDGE_DEPTH_MAX 12

/* One question and what is known about it. */
struct question {
    const struct world *world;
    const struct actor *actor;
    const struct apikey *key; /* the credential, when it is a key */
    enum verb verb;
    struct ref object;
    int64_t now_ms;
    access_trace *trace;
    void *context;
    struct ref path[JUDGE_DEPTH_MAX]; /* object first, platform last */
    unsigned depth;
    unsigned suspended; /* path[i] for i < this is at or below one */
    struct access_verdict *verdict;
};

/* A question with an empty verdict; verdict outlives it. */
struct question judge_ask(const struct world *world,
                          const struct actor *actor, enum verb verb,
                          struct ref object, int64_t now_ms,
                          struct access_verdict *verdict);
/* Answers it: fills the path, and the refs of the verdict. */
enum access_outcome judge_decide(struct question *question);
/* Does the actor see the object, by a get verb or as a node on its way?  After
 * judge_decide, when that found both. */
bool judge_sees(const struct question *question);
/* The same by a get verb alone, if what the actor can prove were proved. */
bool judge_would_see(const struct question *question);

/* The state of what has one, STATE_ACTIVE for the rest. */
enum state judge_state(const struct object *object);
/* Subject and credential alive?  A request carries its own credential; there
 * is no identity without one. */
bool judge_actor(const struct world *world, const struct actor *actor,
                 int64_t now_ms);
/* Fills the path; false when something on it is gone or deleted. */
bool judge_path(struct question *question);
/* The place of a node on the path, depth when it is not there. */
unsigned judge_place(const struct question *question, struct ref node);
/* Does a grant of some approver have `verb` now, and sit where the question's
 * own verb would have to?  Conditions of place and proof were looked at when
 * they approved. */
bool judge_stands(const struct question *question, const struct grant *grant,
                  enum verb verb);
/* "" when the grant's own conditions hold. */
const char *judge_conditions(const struct question *question,
                             const struct grant *grant);
/* Which of its conditions the actor has still to bring about; allowed: none. */
enum access_outcome judge_missing(const struct question *question,
                                  const struct grant *grant);
/* Has the session shown a second factor, ever? */
bool judge_has_factor(const struct question *question);
/* Where the rights of a key's owner count for it: anywhere when the owner made
 * it, else below the subtree or where the owner lives, since whoever made it
 * may have kept it (access_may_mint). */
bool judge_key_reaches(const struct question *question);
/* A tenant's subject has rights in its tenant alone, whatever a grant says. */
bool judge_bounds(const struct world *world, const struct grant *grant);

/* For whom a published object is there, and whether that holds for those who
 * live in home. */
struct access_audience judge_audience(const struct world *world,
                                      struct ref object);
bool judge_reaches(const struct world *world, enum kind kind, struct id id,
                   const struct access_audience *audience, struct ref home);
bool judge_is_published(const struct world *world, struct ref object,
                        struct ref home);

#endif
