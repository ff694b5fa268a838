/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_RETENTION_H
#define CORE_RETENTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "core/record.h"

/*
 * How long does an audit log keep what its records say?
 *
 * Of a record that is pruned the leaf's hash stays, so every proof, signature
 * and checkpoint holds; entry and personal part go.  What may be pruned is a
 * policy, and both the policy and each pruning are records of the log:
 *
 *   audit.keep   what applies from here on
 *   audit.prune  "below this index, as that policy allows", with the head of
 *                what is pruned; written, signed and only then carried out
 *
 * A pruning ends where a bundle ends, and only at an entry that is old enough
 * itself and stays: so whoever verifies sees that nothing newer is gone.
 */

#define RETENTION_DAY_MS (24 * INT64_C(3600000))
/* The least that may be set, and the most. */
#define RETENTION_DAYS_MIN 90
#define RETENTION_DAYS_MAX 36500

/* action.verb of the records above. */
#define RETENTION_VERB_KEEP "audit.keep"
#define RETENTION_VERB_PRUNE "audit.prune"

struct retention_policy {
    int64_t keep_ms; /* 0: for ever; RETENTION_AS_PLATFORM */
    bool hold;       /* nothing is pruned until that is lifted */
};
#define RETENTION_AS_PLATFORM INT64_C(-1)

/* What applies to a log: its own policy and that of the platform. */
struct retention_rule {
    int64_t keep_ms; /* 0: nothing may be pruned */
    bool platform;   /* the platform's policy says so */
};
struct retention_rule retention_rule(const struct retention_policy *own,
                                     const struct retention_policy *platform);

/* May an entry of that time go? */
bool retention_allows(const struct retention_rule *rule, int64_t time_ms,
                      int64_t now_ms);

/* facts of an audit.keep. */
void retention_add_policy(struct buffer *facts,
                          const struct retention_policy *policy);
bool retention_read_policy(const char *facts,
                           struct retention_policy *policy_out);

/* facts of an audit.prune. */
struct retention_pruning {
    char origin[RECORD_ORIGIN_MAX]; /* of the log that is pruned */
    uint64_t below;                 /* a multiple of MERKLE_TILE_WIDTH */
    struct digest root;             /* of the entries below */
    struct retention_rule rule;
};
void retention_add_pruning(struct buffer *facts,
                           const struct retention_pruning *pruning);
bool retention_read_pruning(const char *facts,
                            struct retention_pruning *pruning_out);

#endif
