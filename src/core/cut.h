/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CUT_H
#define CORE_CUT_H

#include "core/place.h"

/*
 * Where do hard slices go?  The part of placement that knows about layouts:
 * whether a card can take a slice now, how many, on which start; and what a
 * card has to become before it can.
 */

/* The profile of the class on this card, NULL when it has none, or one that is
 * charged more than the class asks of quotas. */
const struct geometry_profile *cut_profile(const struct part *part,
                                           const struct class *class);
/* Accelerator memory and milli-cards of a slice on this card. */
int64_t cut_memory(const struct part *part, const struct class *class);
int64_t cut_milli(const struct part *part, const struct class *class);

/* For a request of hard slices on a card that is healthy and of the class. */
enum place_filter cut_filter(const struct part *part,
                             const struct place_request *request,
                             enum place_when when);
/* Will no slice be on it, bound or kept for others? */
bool cut_is_empty(const struct part *part, enum place_when when);
/* Slices of the class that fit. */
int64_t cut_room(const struct part *part, const struct class *class,
                 enum place_when when);
/* On a new card. */
/* How the card can be cut here, NULL: not at all.  Real cards of AMD are not:
 * their partitions are devices of their own, which the backend does not make.
 */
const struct geometry_card *cut_table(const struct card *card);
int64_t cut_empty_room(const struct class *class, const struct card *card);
/* Memory units left: few are filled first, and a card that would have to be
 * cut comes after all that are. */
int64_t cut_left(const struct part *part, enum place_when when);
/* Keeps the larger of what fits on the part and what is there. */
void cut_note(const struct part *part,
              const struct geometry_profile **largest);

/* Seats instances on these parts, the fullest first; they have room. */
struct cut_parts {
    uint32_t site;
    const uint32_t *parts;
    size_t count;
};
void cut_seat(const struct estate *estate, const struct place_request *request,
              enum place_when when, const struct cut_parts *parts,
              int64_t instances, struct arena *arena,
              struct placement *placement);

/* Does the placement want a card in its other mode that nobody has: one that
 * can be cut, or made whole, at once? */
bool cut_is_due(const struct estate *estate, const struct class *class,
                const struct placement *placement);

/* "UUID" or "UUID/3g.40gb@4": the name of a part in orders and reports. */
#define CUT_PART_MAX (NAME_MAX_SIZE + GEOMETRY_NAME_MAX)
#define CUT_CLEARED "cleared" /* the same: slices of others may go */
#define CUT_SLICED "sliced" /* in the place of a slice: scrub and leave cut */
const char *cut_part(char text[CUT_PART_MAX], const char *uuid,
                     const char *slice);

#endif
