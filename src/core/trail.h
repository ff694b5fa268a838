/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_TRAIL_H
#define CORE_TRAIL_H

#include "core/world.h"

/*
 * What has changed since I last looked?  The world remembers its newest
 * changes, one step for each object that a set put or took out, so that a
 * cache follows it without reading all of it again.  A cache keeps a position
 * (trail_end when it was made) and reads from there; when the trail does not
 * reach back that far it is made anew.
 *
 * A clone's trail begins with the clone.  Objects loaded at start and soft
 * state (when a node was heard of) leave no step.
 */

enum trail_op { TRAIL_CREATED, TRAIL_CHANGED, TRAIL_GONE };

struct trail_step {
    struct ref ref;    /* may be gone, and its slot in use again */
    struct ref parent; /* as it was */
    struct ref target; /* its first FIELD_INDEX member, or none */
    struct ref scope;
    enum trail_op op;
    bool quiet; /* of a user, and nothing changed but what its logins are
                   about: neither right nor use */
};

/* Steps that are remembered at least. */
#define TRAIL_ROOM 65536

/* The position behind the newest step. */
uint64_t trail_end(const struct world *world);
/* The oldest position that can be read; the same as the end when none can. */
uint64_t trail_begin(const struct world *world);
/* The step at a position from trail_begin to below trail_end. */
const struct trail_step *trail_at(const struct world *world,
                                  uint64_t position);

#endif
