/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ACCEL_NEWS_H
#define ACCEL_NEWS_H

#include <stdbool.h>
#include <stdint.h>

#include "accel/accel.h"
#include "core/card_health.h"

/*
 * What was heard of the cards of this machine, each thing once?
 *
 * A storm of a hundred thousand lines is a few items: the same number of the
 * same process, on the same card or slice of it, is one for NEWS_SAME_MS after
 * it was heard last, with a count and the first and the last time.  The
 * driver's log and the vendor's library tell of the same thing: within
 * NEWS_TWICE_MS it is one.  Each card has room for NEWS_ITEMS; a program's own
 * faults make room first, and those of many processes become one of nobody's.
 *
 * What is heard before a card is known (the log begins with the machine, the
 * library may be slow) is kept until it is.
 *
 * Times are the machine's wall clock, ms UTC, and are given: this is pure.
 */

#define NEWS_ITEMS 16
#define NEWS_CARDS ACCEL_CARDS_MAX
#define NEWS_SAME_MS CARD_HEALTH_SAME_MS
#define NEWS_TWICE_MS INT64_C(5000)
#define NEWS_PROCESSES 6 /* of one number on one card, told apart */

enum news_source { NEWS_LOG = 1, NEWS_LIBRARY = 2 };

struct news_item {
    struct card_event event;
    enum news_source source; /* who told of it first, and counts it */
    bool both;
};

struct news_card {
    char uuid[ACCEL_ID_MAX + 1];
    char pci[24];
    size_t count;
    struct news_item items[NEWS_ITEMS]; /* newest last */
    int64_t weighty; /* things that leave a mark, so far */
    int64_t dropped; /* items that made room */
};

struct news {
    size_t count;
    size_t last; /* that something was heard of */
    struct news_card cards[NEWS_CARDS];
};

/* Makes the card known, or where it is: what was heard before of its UUID or
 * of its address is about it.  False: there is no more room. */
bool news_know(struct news *news, const char *uuid, const char *pci);
/* NULL: not known. */
struct news_card *news_find(struct news *news, const char *uuid);
struct news_card *news_find_pci(struct news *news, const char *pci);
/* Takes what was heard at that time. */
void news_hear(struct news_card *card, const struct xid *given,
               enum news_source source, int64_t at_ms);
/* A line of the kernel's log; true when it is about a card, also one that is
 * not known yet.  One that names no card is left to the looks. */
bool news_line(struct news *news, const char *line, int64_t at_ms);
/* An event of the library; false: it is none that leaves a trace. */
bool news_event(struct news *news, const struct accel_event *event,
                int64_t at_ms);

#endif
