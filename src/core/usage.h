/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_USAGE_H
#define CORE_USAGE_H

#include "core/change.h"

/*
 * Where did each milli-card-millisecond go?
 *
 * Conservation: for every card and interval, bound time of its bindings plus
 * one remainder class (idle, reserved, scrub, maintenance, unhealthy or
 * unknown) is 1000 x the wall time.  It holds by construction: a card's time
 * line is cut before anything about the card changes, and each cut gives one
 * fact per live binding and one for what is left.
 *
 * Facts never cross an hour (so no day or month either): one price and one
 * period each.  quantity = milli x (to_ms - from_ms), in milli-card-ms; it
 * fits in 64 bits for any card and hour (1000 x 3.6e6).
 */

/* Emits the facts of the card from its last cut up to the context's time, in
 * pieces cut at hours and at price changes, and moves the cuts there.  Call
 * it BEFORE changing anything about the card or its bindings: bound, released,
 * held, health, handover, missing, or its node's state.  Calling it twice at
 * one time does nothing the second time. */
void usage_cut(struct changes *changes, struct ref card);

/* The same for all cards of a node. */
void usage_cut_node(struct changes *changes, struct ref node);

/* Starts the time line of a new card (image from change_create). */
void usage_start(struct changes *changes, struct card *card);

/* The class of what no binding holds, now. */
enum usage_class usage_remainder(const struct changes *changes,
                                 struct ref card);

#endif
