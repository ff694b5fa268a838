/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_INTERFERENCE_ACT_H
#define CORE_INTERFERENCE_ACT_H

#include "core/interference.h"

/* What a node's instances do to each other, for interference.c,
 * interference_observe.c and interference_act.c. */

/* One instance that runs and was reported. */
struct interference_seat {
    struct ref ref;
    struct ref workload;
    const struct report_use *use;
    int64_t amount[INTERFERENCE_RESOURCES];
    struct interference_track tracks[INTERFERENCE_RESOURCES];
    bool changed; /* its tracks, so that they are kept */
};

struct interference_room {
    struct changes *changes;
    struct ref node;
    const struct pool *pool;
    int64_t threshold_milli, window_ms, hold_ms, fair_permille;
    struct interference_seat *seats;
    size_t count;
};

/* What it used, in the resource's unit: milli-CPU, KiB a second, permille. */
int64_t interference_amount(enum interference_resource resource,
                            const struct report_use *use);
/* The text that is kept; the caller owns it. */
json_t *interference_write(const struct interference_track *tracks);
/* Do they have parts of one card? */
bool interference_share_card(const struct changes *changes, struct ref left,
                             struct ref right);

/* Tells the owners and does what the pool says, for all that are slowed. */
void interference_act(struct interference_room *room);
/* Lifts caps whose time is over. */
void interference_lift(struct interference_room *room);

#endif
