/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_OBSERVE_CARDS_H
#define CORE_OBSERVE_CARDS_H

#include "core/change.h"
#include "core/report.h"

/*
 * What does a node's word about itself and its cards change?
 *
 * New cards are created below the node and wait for a scrub; cards that are
 * not listed are missing; health, foreign processes and quarantine stand with
 * an alarm about the card until they are over.  See observe.h for what is not
 * believed.  Both return how many facts were refused.
 */

size_t observe_cards_inventory(struct changes *changes, struct ref node,
                               const struct report_inventory *inventory);
/* A scrub counts only for a card of the node that nobody holds and whose
 * handover waits for it. */
size_t observe_cards_scrub(struct changes *changes, struct ref node,
                           const struct report_scrub *fact);
/* The node's card with that UUID, also one that this set creates; none: zero. */
struct ref observe_cards_find(const struct changes *changes, struct ref node,
                              const char *uuid);

#endif
