/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_EXPECT_H
#define CORE_EXPECT_H

#include "core/change.h"
#include "core/trail.h"
#include "core/value.h"

/*
 * What work does this platform expect, and what are its nodes worth to it?
 *
 * All submissions are counted by shape, placed or not.  The counts, with the
 * kinds of nodes that there were, are kept on the platform object, so the same
 * durable state gives the same decisions.  They are made anew when as many
 * submissions have come as had been counted, at the latest after
 * EXPECT_MOST; until MIX_FIRST there is no expect.
 */

#define EXPECT_MOST 4096
/* Classes and kinds of nodes that are kept. */
#define EXPECT_CLASSES 256

/* The submissions that are not counted yet, kept in line with the world by its
 * trail; the caller frees flags. */
struct expect_news {
    uint8_t *flags; /* by index of the workload's ref */
    size_t room;
    int64_t count;
};
void expect_news_begin(struct expect_news *news, const struct world *world);
void expect_news_note(struct expect_news *news, const struct world *world,
                      const struct trail_step *step);
/* Are there enough of them? */
bool expect_is_due(const struct world *world, const struct expect_news *news);
/* Counts them; the platform's `expected` becomes what is known then. */
void expect_put(struct changes *changes);

struct expect;

/* From the platform object alone; NULL while nothing is expected. */
struct expect *expect_read(const struct world *world, struct arena *arena);

const struct value *expect_value(const struct expect *expect);
/* The kind of such a node, -1 when it is not known. */
int expect_kind(const struct expect *expect, const struct card *card,
                 const struct node *node, int64_t cards);

#endif
