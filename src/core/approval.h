/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_APPROVAL_H
#define CORE_APPROVAL_H

#include "base/json.h"
#include "core/access.h"
#include "core/change.h"

/*
 * Have other people approved exactly this, and are they others?
 *
 * An approval lies below the person who asks.  It is for one operation: the
 * method, route and query, the object as resolved with its version, and the
 * canonical body.  It is used once, by who asked, within APPROVAL_LIFE_MS of
 * being asked for, and all of it is looked at again when it is used: who has
 * lost the right to approve meanwhile does not count.
 *
 * An approver is a person (never a key or a service account) with
 * approval.decide by a grant that sits where the operation's own right would
 * have to, who is
 *   - not who asks, nor whom the operation is for,
 *   - not made by who asks, nor by somebody whom they made, and whose password
 *     was not set by them,
 *   - not given that right by who asks or by somebody whom they made.
 * The approvers of one approval are that independent of each other, too.
 */

#define APPROVAL_LIFE_MS (3600 * INT64_C(1000))
#define APPROVAL_BODY_MAX 16384
#define APPROVAL_OPEN_MAX 20 /* of one person */

/* The error of a guarded verb without an approval, with the way to ask;
 * returns -1. */
int approval_needed(const struct world *world, enum verb verb,
                    struct error *err);

/* Are a and b two people of whom neither stands behind the other? */
bool approval_independent(const struct world *world, struct ref a,
                          struct ref b);

/* May approver be a second person when requester does verb on object?  For
 * what they answer for later too (break-glass).  "" or why not. */
const char *approval_bar(const struct world *world, struct ref approver,
                         struct ref requester, enum verb verb,
                         struct ref object, int64_t now_ms);

/* Does the approval that the actor presents stand for the people that verb
 * needs on object?  Part of the decision. */
bool approval_covers(const struct world *world, const struct actor *actor,
                     enum verb verb, struct ref object, int64_t people,
                     int64_t now_ms);
/* Is what the actor presents an approval of what it does?  ERROR_NOT_FOUND
 * when it is not its own, ERROR_APPROVAL when it is not approved or no longer
 * good, ERROR_CONDITION when something differs, which is named. */
int approval_check(const struct world *world, const struct actor *actor,
                   int64_t now_ms, struct error *err);

/* What somebody asks to be approved; texts are copied. */
struct approval_wish {
    enum verb verb; /* whose guard it is for */
    const char *method, *path, *body; /* body NULL: none, or a secret */
    const char *reason;
};
/* The verb whose guard a route meets: mostly its own. */
enum verb approval_verb(const struct world *world, enum verb verb);
/* actor.target and the digests say what for. */
int approval_ask(struct changes *changes, const struct actor *actor,
                 const struct approval_wish *wish, struct ref *out,
                 struct error *err);
/* granted: approval.decide on it.  note: needed to deny. */
int approval_decide(const struct granted *granted, struct changes *changes,
                    bool approve, const char *note, struct error *err);
/* granted: approval.drop on it.  It is consumed: nobody approves it any
 * more. */
int approval_drop(const struct granted *granted, struct changes *changes,
                  const char *note, struct error *err);
/* The operation was carried out: what the actor presented is used up. */
void approval_use(struct changes *changes, const struct actor *actor);
/* Latches what has expired; takes out what was settled KEEP ago, since the
 * log has it. */
#define APPROVAL_KEEP_MS (30 * 24 * 3600 * INT64_C(1000))
void approval_sweep(struct changes *changes);

/* The ids of those who approved, separated by commas. */
void approval_names(const struct approval *approval, struct buffer *out);

#endif
