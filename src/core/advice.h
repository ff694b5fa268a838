/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_ADVICE_H
#define CORE_ADVICE_H

#include "core/world.h"

/*
 * What should be changed, seeing how it was used?  Advice is a sentence, its
 * numbers and the one change that follows from it; whoever reviews it applies
 * it by the ordinary way, with the rights, checks and record of that change.
 *
 *   guarantee-unused  on average less than half of a guarantee was used:
 *                     lower it to use plus a quarter, rounded up to cards
 *   guarantee-short   use was above the guarantee on average: raise it to
 *                     that use, as far as the limit goes
 *   fragmented        cards are free, but no node has enough of them for the
 *                     largest class of the pool (told to the platform only)
 */

enum advice_kind { ADVICE_UNUSED, ADVICE_SHORT, ADVICE_FRAGMENTED };
const char *advice_kind_text(enum advice_kind kind);

/* Use is looked at over this long, and no quota that is younger than that. */
#define ADVICE_WINDOW_MS (INT64_C(90) * 24 * 3600000)
#define ADVICE_WINDOW_MIN_MS (INT64_C(7) * 24 * 3600000)

struct advice {
    enum advice_kind kind;
    int64_t guaranteed;  /* milli-cards, now */
    int64_t used;        /* milli-cards, on average */
    int64_t recommended; /* milli-cards */
    int64_t window_ms;
};

/* The window over which a quota's use says something about it, up to now:
 * since its last change, at most ADVICE_WINDOW_MS; 0: not long enough. */
int64_t advice_window(const struct quota *quota, int64_t now_ms);
/* card_time: bound milli-card-ms in the window.  False: leave it as it is. */
bool advice_guarantee(const struct quota *quota, int64_t limit,
                      int64_t card_time, int64_t window_ms,
                      struct advice *advice_out);

/* Free whole cards of a pool, and the most on one node. */
struct advice_room {
    int64_t free, largest, wanted; /* wanted: by the largest class there */
};
/* True when the pool's free cards could hold its largest class and no node
 * does. */
bool advice_fragmented(const struct world *world, struct ref pool,
                       struct advice_room *room_out);

#endif
