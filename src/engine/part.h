/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_PART_H
#define ENGINE_PART_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Which part of a card does a name mean?
 *
 *   UUID               the whole card
 *   UUID/3g.40gb@4     a hard slice: the vendor's profile at its start
 *   UUID/sliced        in a scrub: the whole card, and leave it cut
 *   UUID/cleared       in a scrub: the whole card, and slices that somebody
 *                      else made may go: an operator said so
 */

#define PART_TEXT_MAX 128 /* with its NUL */

/* The bytes of the UUID in it. */
size_t part_uuid_size(const char *part);
/* "3g.40gb@4", "sliced", "cleared" or "". */
const char *part_slice(const char *part);
/* Does the name ask to leave the card cut? */
bool part_is_sliced(const char *part);
bool part_is_cleared(const char *part);
/* Does it mean one slice, and not a card? */
bool part_is_slice(const char *part);
bool part_is_valid(const char *part);
/* Do they have anything in common?  Two slices of one card have not: where
 * they lie is for the scheduler and the driver. */
bool part_overlap(const char *a, const char *b);

#endif
