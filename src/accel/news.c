/* SPDX-License-Identifier: Apache-2.0 */
#include "accel/news.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* --- cards --- */

static struct news_card *
add(struct news *news, const char *uuid, const char *pci)
{
    struct news_card *card;

    if (news->count == NEWS_CARDS)
        return NULL;
    card = &news->cards[news->count++];
    *card = (struct news_card){ .count = 0 };
    (void)snprintf(card->uuid, sizeof(card->uuid), "%.64s", uuid);
    (void)snprintf(card->pci, sizeof(card->pci), "%.23s", pci);
    return card;
}

/* Heard by address before the card was known by name; nothing is left there. */
static void
take_over(struct news_card *card, struct news_card *from)
{
    for (size_t i = 0; i < from->count && card->count < NEWS_ITEMS; i++)
        card->items[card->count++] = from->items[i];
    card->weighty += from->weighty;
    from->count = 0;
    from->pci[0] = '\0';
}

bool
news_know(struct news *news, const char *uuid, const char *pci)
{
    struct news_card *card = news_find(news, uuid);
    struct news_card *here = news_find_pci(news, pci);

    if (card == NULL && here != NULL && here->uuid[0] == '\0')
        card = here;
    if (card == NULL)
        card = add(news, uuid, pci);
    if (card == NULL)
        return false;
    if (here != NULL && here != card && here->uuid[0] == '\0')
        take_over(card, here);
    (void)snprintf(card->uuid, sizeof(card->uuid), "%.64s", uuid);
    (void)snprintf(card->pci, sizeof(card->pci), "%.23s", pci);
    return true;
}

static struct news_card *
find(struct news *news, const char *key, size_t offset)
{
    for (size_t i = 0; i < news->count; i++) {
        size_t at = (news->last + i) % news->count;

        if (strcasecmp((const char *)&news->cards[at] + offset, key) == 0) {
            news->last = at;
            return &news->cards[at];
        }
    }
    return NULL;
}

struct news_card *
news_find(struct news *news, const char *uuid)
{
    return uuid[0] == '\0' ? NULL : find(news, uuid, offsetof(struct news_card, uuid));
}

struct news_card *
news_find_pci(struct news *news, const char *pci)
{
    return pci[0] == '\0' ? NULL
                          : find(news, pci, offsetof(struct news_card, pci));
}

/* --- one thing that was heard --- */

/* The library names no process, the log sometimes no slice. */
static bool
is_same(const struct news_item *item, const struct xid *xid,
        enum news_source source, int64_t at_ms)
{
    const struct xid *known = &item->event.xid;
    int64_t past_ms = at_ms - item->event.last_ms;

    if (known->number != xid->number || past_ms > NEWS_SAME_MS)
        return false;
    if (item->source == source && !item->both)
        return known->pid == xid->pid && known->instance == xid->instance;
    return (item->both || past_ms <= NEWS_TWICE_MS) &&
           (known->pid == xid->pid || known->pid < 0 || xid->pid < 0) &&
           (known->instance == xid->instance || known->instance < 0 ||
            xid->instance < 0);
}

static void
join(struct news_item *item, const struct xid *xid, enum news_source source,
     int64_t at_ms)
{
    /* The other source's word about the same is not one more. */
    item->event.count += item->source == source;
    item->both = item->both || item->source != source;
    if (item->event.xid.pid < 0)
        item->event.xid.pid = xid->pid;
    if (item->event.xid.instance < 0)
        item->event.xid.instance = xid->instance;
    if (at_ms > item->event.last_ms)
        item->event.last_ms = at_ms;
    if (at_ms < item->event.first_ms)
        item->event.first_ms = at_ms;
}

static void
make_room(struct news_card *card)
{
    size_t at = 0;

    for (size_t i = 0; i < card->count; i++)
        if (!card_health_is_weighty(&card->items[i].event.xid)) {
            at = i;
            break;
        }
    memmove(&card->items[at], &card->items[at + 1],
            (card->count - at - 1) * sizeof(card->items[0]));
    card->count--;
    card->dropped++;
}

static struct news_item *
find_item(struct news_card *card, const struct xid *xid,
          enum news_source source, int64_t at_ms)
{
    for (size_t i = card->count; i-- > 0;)
        if (is_same(&card->items[i], xid, source, at_ms))
            return &card->items[i];
    return NULL;
}

static size_t
count_processes(const struct news_card *card, int64_t number)
{
    size_t count = 0;

    for (size_t i = 0; i < card->count; i++)
        count += card->items[i].event.xid.number == number;
    return count;
}

void
news_hear(struct news_card *card, const struct xid *given,
          enum news_source source, int64_t at_ms)
{
    struct xid xid = *given;
    struct news_item *item = find_item(card, &xid, source, at_ms);

    if (item == NULL && xid.pid >= 0 &&
        count_processes(card, xid.number) >= NEWS_PROCESSES) {
        xid.pid = -1;
        item = find_item(card, &xid, source, at_ms);
    }
    card->weighty += card_health_is_weighty(&xid);
    if (item != NULL) {
        join(item, &xid, source, at_ms);
        return;
    }
    if (card->count == NEWS_ITEMS)
        make_room(card);
    card->items[card->count++] =
        (struct news_item){ .event = { xid, at_ms, at_ms, 1, NULL },
                            .source = source };
}

bool
news_line(struct news *news, const char *line, int64_t at_ms)
{
    struct news_card *card;
    struct xid xid;

    if (!xid_parse(line, &xid))
        return false;
    if (xid.card[0] == '\0')
        return true;
    card = news_find_pci(news, xid.card);
    if (card == NULL)
        card = add(news, "", xid.card);
    if (card == NULL)
        return false;
    news_hear(card, &xid, NEWS_LOG, at_ms);
    return true;
}

/* The number that the vendor's driver gives the same thing in its log; -1:
 * what it did is in the card's flags, which are read at each look. */
static int64_t
number_of(const struct accel_event *event)
{
    switch (event->kind) {
    case ACCEL_EVENT_XID:
        return event->number;
    case ACCEL_EVENT_LOST:
        return XID_LOST;
    case ACCEL_EVENT_REMAP:
        return event->number == 2 ? 64 : 63;
    case ACCEL_EVENT_POISON:
        return event->number == 2 ? 95 : 94;
    case ACCEL_EVENT_ECC:
    case ACCEL_EVENT_RECOVERY:
    case ACCEL_EVENT_SLICES:
    case ACCEL_EVENT_THERMAL:
    case ACCEL_EVENT_FAULT:
        return -1;
    }
    return -1;
}

bool
news_event(struct news *news, const struct accel_event *event, int64_t at_ms)
{
    struct xid xid = { .number = number_of(event),
                       .pid = -1,
                       .instance = event->instance };
    struct news_card *card = news_find(news, event->uuid);

    if (event->uuid[0] == '\0' || xid.number < 0)
        return false;
    if (card == NULL)
        card = add(news, event->uuid, "");
    if (card == NULL)
        return false;
    (void)snprintf(xid.card, sizeof(xid.card), "%s", card->pci);
    news_hear(card, &xid, NEWS_LIBRARY, at_ms);
    return true;
}
