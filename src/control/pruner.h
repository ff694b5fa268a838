/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_PRUNER_H
#define CONTROL_PRUNER_H

#include "control/journal.h"
#include "control/loop.h"
#include "identity/audit_dir.h"

/*
 * Which records are no longer kept, and how do they go?  core/retention.h has
 * the rules.  In three steps, each of which may be the last before a crash:
 *
 *   look   once an hour: up to where are entries old enough?  Then a record,
 *          audit.prune, and the counter "prune:LOG" in its transaction
 *   step   once the signer vouched for that record, some bundles at a time:
 *          the hashes of their leaves become a counter, the rows go, and
 *          "pruned:LOG" moves up, in one transaction
 *   files  of what is gone from the store the bundles are removed
 *
 * Each step asks again whether the policy of now still allows it: a hold, or a
 * longer time, stops a pruning under way.
 */

/* World thread: sets a log's own policy, which is a record of its own. */
void pruner_set(struct loop *loop, struct arena *arena, struct ref scope,
                const struct retention_policy *policy);
/* What applies to a log. */
struct retention_rule pruner_rule(struct loop *loop, const char *log);

/* At start: takes a counter that is about this; false: it is not. */
bool pruner_load(struct journal *journal, const struct store_counter *counter);

struct pruner;
/* look_ms: 0: an hour. */
struct pruner *pruner_new(struct loop *loop, int64_t look_ms);
/* A job under way keeps it until that ends. */
void pruner_free(struct pruner *pruner);
/* The rest is for one thread.  Before the counters of a pass are read: what
 * ends behind that is not in them, so nothing is done until the next one. */
void pruner_begin(struct pruner *pruner);
/* Notes a counter that is about this. */
void pruner_note(struct pruner *pruner, const struct store_counter *counter);

struct pruner_log {
    const char *id;
    const char *platform; /* id of the platform's log */
    struct audit_dir *files;
    uint64_t vouched;          /* entries that the signer vouched for */
    uint64_t platform_vouched; /* the same of the platform's log */
};
/* Does one step of what is due for this log. */
int pruner_step(struct pruner *pruner, struct store_reader *reader,
                const struct pruner_log *log, struct error *err);

#endif
