/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_WALK_H
#define CORE_WALK_H

#include "core/world.h"

/*
 * A walk over all objects of a kind, in the order of seq, that may pause while
 * the world changes.  When the object that would come next is gone it begins
 * anew: whoever walks must not mind to see an object twice.  Those that come
 * meanwhile may be seen or not.
 */

struct walk {
    enum kind kind;
    struct ref next; /* none: it is over */
    uint64_t seq;    /* of next */
};

void walk_begin(struct walk *walk, const struct world *world, enum kind kind);
/* The next object; false when there is none. */
bool walk_next(struct walk *walk, const struct world *world,
               struct ref *ref_out);
bool walk_is_over(const struct walk *walk);

#endif
