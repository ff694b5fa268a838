/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_EXPECT_H
#define CORE_EXPECT_H

#include "core/budget.h"
#include "core/change.h"
#include "core/trail.h"
#include "core/value.h"
#include "core/walk.h"

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
 * trail. */
struct expect_news {
    uint8_t *flags; /* by index of the workload's ref */
    size_t room;
    int64_t count; /* of flags */
    struct expect_new {
        uint64_t seq;
        uint32_t index;
    } *list; /* each that was flagged since */
    size_t list_count, list_room;
    int64_t upto; /* the platform's, when it was read */
    struct walk load;
};
void expect_news_begin(struct expect_news *news, const struct world *world);
/* Those that are there already; false when the slice ended before that. */
bool expect_news_load(struct expect_news *news, const struct world *world,
                      struct budget *budget);
void expect_news_note(struct expect_news *news, const struct world *world,
                      const struct trail_step *step);
void expect_news_release(struct expect_news *news);
/* Are there enough of them? */
bool expect_is_due(const struct world *world, const struct expect_news *news);

/* Counts them, in slices; zeroed when it begins. */
struct expect_learning {
    struct arena *arena; /* NULL: it has not begun */
    struct notes *notes;
    int64_t from, upto, count;
    struct walk work;
    size_t type; /* of nodes, the next one */
    struct sight *sights; /* kinds of nodes that there are */
    size_t sight_count, sight_room, sight_left;
    struct walk cards;
    struct ref last; /* card */
};
/* The platform's `expected` becomes what is known then; false when the slice
 * ended before that. */
bool expect_learn(struct expect_learning *learning, struct changes *changes,
                  struct budget *budget);
void expect_learning_release(struct expect_learning *learning);

/* A digest of all that the platform says besides: who follows it has to look
 * at nothing anew when something was learnt. */
uint64_t expect_rest(const struct world *world);

struct expect;

/* From the platform object alone; NULL while nothing is expected. */
struct expect *expect_read(const struct world *world, struct arena *arena);

const struct value *expect_value(const struct expect *expect);
/* The kind of such a node, -1 when it is not known. */
int expect_kind(const struct expect *expect, const struct card *card,
                 const struct node *node, int64_t cards);

#endif
