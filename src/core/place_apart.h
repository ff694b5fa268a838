/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_PLACE_APART_H
#define CORE_PLACE_APART_H

#include "core/place_option.h"

/* How are instances kept apart: so many on one node, behind one leaf switch? */

/* Instances of the request's workload that are on the node already: it grows,
 * or replaces one. */
int64_t place_apart_there(const struct estate *estate,
                          const struct place_request *request,
                          const struct site *site);
/* Cuts what nodes behind one leaf take to what may be there together, the
 * nodes that take most first; a node behind no leaf stands for itself. */
void place_apart_leaves(const struct estate *estate,
                        const struct place_request *request,
                        struct arena *arena, struct option *options,
                        size_t count, struct place_tally *tally);
/* Is it asked for, so that all sites have to be looked at? */
bool place_apart_is_on(const struct place_request *request);

#endif
