/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_DESIRED_H
#define CONTROL_DESIRED_H

#include "core/world.h"
#include "engine/order.h"

/*
 * What should a node be doing, as the world has it?
 *
 * The order holds every instance that is bound to the node and not released,
 * the volumes that lie there or are to, and the cards whose memory must be
 * cleaned.  It is a function of the world alone, so the same world gives the
 * same revision.
 */

struct desired {
    struct order order; /* node and revision are set, logs are empty */
    json_t *starts;     /* owns the start objects */
    size_t start_bytes; /* of them all */
};

/* Texts live in the arena.  node must be in the world. */
void desired_build(const struct world *world, struct ref node,
                   struct arena *arena, struct desired *desired_out);
void desired_release(struct desired *desired);

/* The start of one instance, ref: the fields of the runner's start.  A new
 * reference. */
json_t *desired_start(const struct world *world, struct ref ref);

#endif
