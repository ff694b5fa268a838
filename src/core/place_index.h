/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_PLACE_INDEX_H
#define CORE_PLACE_INDEX_H

#include "core/place_option.h"

/*
 * The best node for a request, and what is filtered out where, without looking
 * at all nodes.
 *
 * Per shape of requests a tree keeps what each site is to it, the best one on
 * top, and the sum of what is counted; it follows the estate's log of touched
 * sites.  A shape is asked for by many tenants: the tree says what a site is
 * to a tenant that has nothing there.  The few sites that are something else
 * to the one who asks (its cards in part, its holds, cards that wait for their
 * handover, its last failure, trials) are looked at anew for each request.  A
 * tenant with many such sites gets trees of its own.
 *
 * What is found is what a scan of all sites finds.
 */

/* Lets the estate's placements use an index from now on. */
void place_index_on(struct estate *estate);

enum place_index_answer {
    PLACE_INDEX_FOUND,
    PLACE_INDEX_NONE,  /* it does not answer: all sites have to be looked at */
    PLACE_INDEX_LATER, /* it is not whole yet, and the slice is over */
};

/* best_out: the site that takes all instances, ESTATE_NONE when none does. */
enum place_index_answer
place_index_find(const struct estate *of,
                 const struct place_request *request, enum place_when when,
                 struct arena *arena, uint32_t *best_out,
                 struct place_tally *tally_out);

/* What is asked for from here on stays in the index until this is called
 * again, so that a look that needs several slices comes to an end. */
void place_index_keep(struct estate *estate);

#endif
