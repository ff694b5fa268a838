/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SHORTAGE_H
#define CORE_SHORTAGE_H

#include "core/place.h"

/*
 * What is short, when no place was found now?  Turns the counts of the
 * filters into one verdict: fragmented, not healthy, being cleaned, kept for
 * others, CPU or memory of the nodes, or simply in use.
 */

void shortage_say(const struct world *world,
                  const struct place_request *request,
                  const struct place_tally *tally,
                  struct verdict *verdict_out);

#endif
