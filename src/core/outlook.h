/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_OUTLOOK_H
#define CORE_OUTLOOK_H

#include "core/change.h"
#include "core/value.h"

/*
 * What work does this platform expect, and what are its nodes worth to it?
 *
 * All submissions are counted by shape, placed or not.  The counts, with the
 * kinds of nodes that there were, are kept on the platform object, so the same
 * durable state gives the same decisions.  They are made anew when as many
 * submissions have come as had been counted, at the latest after
 * OUTLOOK_MOST; until MIX_FIRST there is no outlook.
 */

#define OUTLOOK_MOST 4096
/* Classes and kinds of nodes that are kept. */
#define OUTLOOK_CLASSES 256

/* Are there enough new submissions? */
bool outlook_is_due(const struct world *world);
/* Counts them; the platform's `expected` becomes what is known then. */
void outlook_put(struct changes *changes);

struct outlook;

/* From the platform object alone; NULL while nothing is expected. */
struct outlook *outlook_read(const struct world *world, struct arena *arena);

const struct value *outlook_value(const struct outlook *outlook);
/* The kind of such a node, -1 when it is not known. */
int outlook_kind(const struct outlook *outlook, const struct card *card,
                 const struct node *node, int64_t cards);

#endif
