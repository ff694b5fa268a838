/* SPDX-License-Identifier: Apache-2.0 */
#include "core/card_health.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/model.h"

static const char *const health_texts[] = { "unknown", "healthy", "suspect",
                                            "degraded", "failed" };

#define HEALTHS (sizeof(health_texts) / sizeof(health_texts[0]))

const char *
card_health_text(int health)
{
    return health >= 0 && (size_t)health < HEALTHS ? health_texts[health]
                                                   : health_texts[0];
}

int
card_health_parse(const char *text)
{
    for (size_t i = 0; i < HEALTHS; i++)
        if (strcmp(health_texts[i], text) == 0)
            return (int)i;
    return -1;
}

bool
card_health_is_fit(const struct card *card)
{
    return (card->health == HEALTH_HEALTHY || card->tolerated) && !card->stale;
}

void
card_health_init(struct card_history *health)
{
    *health = (struct card_history){ .health = HEALTH_UNKNOWN,
                                     .heard = HEALTH_HEALTHY };
}

static void
put(char text[128], const char *value)
{
    (void)snprintf(text, 128, "%.127s", value);
}

/* --- what flags say --- */

void
card_flags_clear(struct card_flags *flags)
{
    *flags = (struct card_flags){ .recovery = -1,
                                  .remap_failed = -1,
                                  .remap_pending = -1,
                                  .unrepairable = -1,
                                  .sram_exceeded = -1,
                                  .pages_spent = -1,
                                  .banks_spent = -1,
                                  .attention = -1,
                                  .clock_reasons = -1,
                                  .lanes_missing = -1 };
}

static const struct card_verdict fine = { HEALTH_HEALTHY, "" };

/* What the card asks for; nothing asked for is an answer too. */
static struct card_verdict
of_recovery(const struct card_flags *flags)
{
    static const struct card_verdict actions[] = {
        { HEALTH_HEALTHY, "" },
        { HEALTH_FAILED, "the card asks for a reset" },
        { HEALTH_FAILED, "the card asks for a reboot of the node" },
        { HEALTH_DEGRADED, "the card asks for its links to be drained" },
        { HEALTH_SUSPECT, "the card asks to be drained and reset" },
        { HEALTH_DEGRADED, "the fabric's domain has to be recovered" },
    };
    static const struct card_verdict other = {
        HEALTH_DEGRADED, "the card asks for something unknown"
    };

    if (flags->recovery < 0)
        return fine;
    return (size_t)flags->recovery < sizeof(actions) / sizeof(actions[0])
               ? actions[flags->recovery]
               : other;
}

/* A repair that failed is for good, whatever was reset. */
static struct card_verdict
of_memory(const struct card_flags *flags)
{
    if (flags->remap_failed > 0)
        return (struct card_verdict){
            HEALTH_FAILED, "memory rows could not be replaced: replace the card"
        };
    if (flags->unrepairable > 0)
        return (struct card_verdict){
            HEALTH_FAILED, "its memory is beyond repair: replace the card"
        };
    if (flags->sram_exceeded > 0)
        return (struct card_verdict){ HEALTH_FAILED,
                                      "SRAM errors are beyond the vendor's "
                                      "bound: replace the card" };
    if (flags->pages_spent > 0)
        return (struct card_verdict){
            HEALTH_FAILED, "64 memory pages are given up: replace the card"
        };
    if (flags->banks_spent > 0)
        return (struct card_verdict){ HEALTH_DEGRADED,
                                      "a memory bank has no spare row left" };
    if (flags->remap_pending > 0)
        return (struct card_verdict){
            HEALTH_SUSPECT, "a memory repair waits for a reset of the card"
        };
    return fine;
}

static struct card_verdict
of_vendor(const struct card_flags *flags)
{
    if (flags->attention >= 4)
        return (struct card_verdict){ HEALTH_FAILED,
                                      "the vendor says: replace the card" };
    if (flags->attention == 3)
        return (struct card_verdict){ HEALTH_DEGRADED,
                                      "the vendor says: it is in a bad way" };
    if (flags->attention == 2)
        return (struct card_verdict){ HEALTH_SUSPECT,
                                      "the vendor says: it is worn" };
    return fine;
}

/* Heat and power are the room's fault, not the card's; what is left is its
 * own.  Limits by software are no fault at all. */
static struct card_verdict
of_clocks(const struct card_flags *flags)
{
    int reasons = flags->clock_reasons < 0 ? 0 : flags->clock_reasons;

    if ((reasons & CARD_CLOCK_HEAT) != 0)
        return (struct card_verdict){ HEALTH_SUSPECT,
                                      "hardware holds its clocks down for "
                                      "heat: look at the cooling" };
    if ((reasons & CARD_CLOCK_BRAKE) != 0)
        return (struct card_verdict){ HEALTH_SUSPECT,
                                      "hardware holds its clocks down by the "
                                      "power brake: look at the power supply" };
    if ((reasons & CARD_CLOCK_HARDWARE) != 0)
        return (struct card_verdict){ HEALTH_SUSPECT,
                                      "hardware holds its clocks down" };
    return fine;
}

/* Fewer lanes than both ends can is a fault also of an idle card; a lower
 * generation is not. */
static struct card_verdict
of_bus(const struct card_flags *flags)
{
    if (flags->lanes_missing > 0)
        return (struct card_verdict){
            HEALTH_SUSPECT, "its bus has fewer lanes than it could"
        };
    return fine;
}

/* The more weighty one gives the reason where several say the same. */
static struct card_verdict
worst_of(const struct card_verdict *list, size_t count)
{
    struct card_verdict worst = fine;

    for (size_t i = 0; i < count; i++)
        if (list[i].health > worst.health)
            worst = list[i];
    return worst;
}

struct card_verdict
card_health_flags(const struct card_flags *flags)
{
    const struct card_verdict by[] = { of_recovery(flags), of_memory(flags),
                                       of_vendor(flags), of_clocks(flags),
                                       of_bus(flags) };

    return worst_of(by, sizeof(by) / sizeof(by[0]));
}

/* --- the verdict --- */

/* A card that says itself that nothing has to be done is not condemned by a
 * number. */
static struct card_verdict
of_errors(const struct card_history *health, char text[128])
{
    int heard = health->heard;

    if (heard == HEALTH_FAILED && health->asks_nothing)
        heard = HEALTH_SUSPECT;
    (void)snprintf(text, 128, "Xid %" PRId64 ": %.100s", health->heard_number,
                   xid_meaning(health->heard_number));
    return (struct card_verdict){ heard, text };
}

static void
note_past(struct card_history *health, int64_t now_ms)
{
    struct card_health_past *at;

    if (health->past_count == CARD_HEALTH_PAST) {
        memmove(&health->past[0], &health->past[1],
                sizeof(health->past) - sizeof(health->past[0]));
        health->past_count--;
    }
    at = &health->past[health->past_count++];
    at->at_ms = now_ms;
    at->health = health->health;
    put(at->reason, health->reason);
}

/* What is not known is not healthy, and no better than it was. */
static struct card_verdict
verdict_of(const struct card_history *health, char text[128])
{
    const struct card_verdict by[] = {
        { health->manual, health->manual_reason },
        { health->said, health->said_reason },
        of_errors(health, text),
    };
    struct card_verdict worst = worst_of(by, 3);

    if (worst.health > HEALTH_HEALTHY)
        return worst;
    if (health->blind)
        return (struct card_verdict){ HEALTH_UNKNOWN, health->blind_reason };
    if (health->said == HEALTH_UNKNOWN)
        return (struct card_verdict){ HEALTH_UNKNOWN, "" };
    return worst;
}

static void
judge(struct card_history *health, int64_t now_ms)
{
    char text[128];
    struct card_verdict verdict = verdict_of(health, text);
    bool other = verdict.health != health->health;

    health->health = verdict.health;
    if (verdict.reason[0] != '\0')
        put(health->reason, verdict.reason);
    if (!other)
        return;
    health->since_ms = now_ms;
    note_past(health, now_ms);
}

/* --- what is heard --- */

static struct card_health_seen *
find_seen(struct card_history *health, const struct card_event *event)
{
    for (size_t i = health->seen_count; i-- > 0;) {
        struct card_health_seen *seen = &health->seen[i];

        if (seen->number == event->xid.number && seen->pid == event->xid.pid &&
            seen->instance == event->xid.instance &&
            event->first_ms - seen->last_ms <= CARD_HEALTH_SAME_MS)
            return seen;
    }
    return NULL;
}

/* What leaves no mark goes first, then the oldest. */
static void
make_room(struct card_history *health)
{
    size_t at = 0;

    for (size_t i = 0; i < health->seen_count; i++) {
        const struct xid xid = { .number = health->seen[i].number };

        if (!card_health_is_weighty(&xid)) {
            at = i;
            break;
        }
    }
    memmove(&health->seen[at], &health->seen[at + 1],
            (health->seen_count - at - 1) * sizeof(health->seen[0]));
    health->seen_count--;
}

static void
add_seen(struct card_history *health, const struct card_event *event)
{
    if (health->seen_count == CARD_HEALTH_SEEN)
        make_room(health);
    health->seen[health->seen_count++] = (struct card_health_seen){
        event->xid.number, event->xid.pid,  event->xid.instance,
        event->first_ms,   event->last_ms, event->count
    };
}

static int
of_link(struct card_history *health, const struct xid *xid)
{
    if (!xid->has_words) {
        health->links = true;
        return HEALTH_DEGRADED;
    }
    switch (xid_link(xid->number, xid->word, xid->status)) {
    case XID_IGNORED:
        return HEALTH_HEALTHY;
    case XID_NOTED:
        return HEALTH_SUSPECT;
    case XID_LINK_DOWN:
        health->links = true;
        return HEALTH_HEALTHY;
    case XID_RESET:
        health->links = true;
        return HEALTH_FAILED;
    }
    return HEALTH_DEGRADED;
}

static int
of_number(struct card_history *health, const struct xid *xid)
{
    /* A card that tells of its rows by flags is asked for those. */
    if ((xid->number == 63 || xid->number == 64) && health->has_rows)
        return HEALTH_HEALTHY;
    switch (xid_class(xid->number)) {
    case XID_CLASS_APPLICATION:
    case XID_CLASS_INFORMATION:
    case XID_CLASS_DETAIL:
    case XID_CLASS_META: /* the next look reads what it asks for */
        return HEALTH_HEALTHY;
    case XID_CLASS_FATAL:
    case XID_CLASS_NODE:
        return HEALTH_FAILED;
    case XID_CLASS_LINKS:
        health->links = true;
        return HEALTH_HEALTHY;
    case XID_CLASS_SETUP:
        return HEALTH_SUSPECT;
    case XID_CLASS_DECODE:
        return of_link(health, xid);
    case XID_CLASS_DEGRADED:
    case XID_CLASS_UNUSED:
    case XID_CLASS_UNKNOWN:
        return HEALTH_DEGRADED;
    }
    return HEALTH_DEGRADED;
}

bool
card_health_is_weighty(const struct xid *xid)
{
    struct card_history health;

    card_health_init(&health);
    return of_number(&health, xid) > HEALTH_HEALTHY || health.links;
}

/* A node's clock may be wrong, its order of things is not. */
static struct card_event
settle_times(const struct card_event *event, int64_t now_ms)
{
    struct card_event out = *event;

    if (out.last_ms > now_ms)
        out.last_ms = now_ms;
    if (out.first_ms > out.last_ms)
        out.first_ms = out.last_ms;
    return out;
}

/* True when it happened again since. */
static bool
add_again(struct card_health_seen *seen, const struct card_event *event)
{
    bool whole = event->first_ms - seen->first_ms <= CARD_HEALTH_MOMENT_MS;
    bool again = event->last_ms - seen->last_ms > CARD_HEALTH_MOMENT_MS ||
                 (whole && event->count > seen->count);

    if (whole && event->count > seen->count)
        seen->count = event->count;
    else if (!whole && again)
        seen->count += event->count;
    if (event->last_ms > seen->last_ms)
        seen->last_ms = event->last_ms;
    return again;
}

/* The slice alone is ill when it can be named; else the card is looked at. */
static int
take_slice(struct card_history *health, const struct card_event *event,
           int heard)
{
    struct card_health_slice *slice = NULL;

    if (event->slice == NULL || event->slice[0] == '\0' ||
        strchr(event->slice, ' ') != NULL)
        return HEALTH_SUSPECT;
    for (size_t i = 0; i < health->slice_count && slice == NULL; i++)
        if (strcmp(health->slices[i].name, event->slice) == 0)
            slice = &health->slices[i];
    if (slice == NULL && health->slice_count == CARD_HEALTH_SLICES)
        return heard;
    if (slice == NULL) {
        slice = &health->slices[health->slice_count++];
        *slice = (struct card_health_slice){ .health = HEALTH_HEALTHY };
        (void)snprintf(slice->name, sizeof(slice->name), "%.39s",
                       event->slice);
    }
    if (heard > slice->health) {
        slice->health = heard;
        slice->number = event->xid.number;
    }
    health->clean = 0;
    return HEALTH_HEALTHY;
}

static void
conclude(struct card_history *health, const struct card_event *event,
         int64_t now_ms)
{
    const struct xid *xid = &event->xid;
    bool links = health->links;
    int heard;

    if (xid_ends(xid->number, health->heard_number)) {
        health->heard = HEALTH_HEALTHY;
        judge(health, now_ms);
        return;
    }
    heard = of_number(health, xid);
    if (heard > HEALTH_HEALTHY && xid->instance >= 0)
        heard = take_slice(health, event, heard);
    if (heard > HEALTH_HEALTHY || health->links != links)
        health->clean = 0;
    if (heard > health->heard) {
        health->heard = heard;
        health->heard_number = xid->number;
    }
    if (health->health != HEALTH_UNKNOWN || heard > HEALTH_HEALTHY)
        judge(health, now_ms);
}

bool
card_health_heard(struct card_history *health, const struct card_event *given,
                  int64_t now_ms)
{
    const struct card_event event = settle_times(given, now_ms);
    struct card_health_seen *seen = find_seen(health, &event);
    bool news = seen == NULL;

    if (news) {
        if (event.last_ms <= health->settled_ms)
            return false;
        add_seen(health, &event);
    } else if (!add_again(seen, &event)) {
        return false;
    }
    conclude(health, &event, now_ms);
    return news;
}

/* --- looks --- */

/* What was heard so far counts no more, should it be told again. */
static void
settle(struct card_history *health)
{
    health->heard = HEALTH_HEALTHY;
    health->links = false;
    health->slice_count = 0;
    for (size_t i = 0; i < health->seen_count; i++)
        if (health->seen[i].last_ms > health->settled_ms)
            health->settled_ms = health->seen[i].last_ms;
}

static void
say(struct card_history *health, const struct card_look *look)
{
    health->said = look->health;
    put(health->said_reason, look->reason);
}

static bool
is_marked(const struct card_history *health)
{
    return health->said > HEALTH_HEALTHY || health->heard > HEALTH_HEALTHY ||
           health->links || health->slice_count > 0;
}

/* Worse counts at once, and so does less bad; well again only after some
 * looks. */
static void
take_clean(struct card_history *health, const struct card_look *look,
           int64_t probes)
{
    health->clean = look->clean;
    if (!is_marked(health)) {
        say(health, look);
        return;
    }
    if (look->clean < probes)
        return;
    say(health, look);
    settle(health);
}

void
card_health_look(struct card_history *health, const struct card_look *look,
                 int64_t probes, int64_t now_ms)
{
    health->blind = look->health == HEALTH_UNKNOWN;
    if (health->blind) {
        health->clean = 0;
        put(health->blind_reason, look->reason);
        judge(health, now_ms);
        return;
    }
    health->asks_nothing = look->asks_nothing;
    health->has_rows = look->has_rows;
    health->said_now = look->health;
    if (look->health == HEALTH_HEALTHY) {
        take_clean(health, look, probes);
    } else {
        health->clean = 0;
        say(health, look);
    }
    judge(health, now_ms);
}

void
card_health_reset(struct card_history *health, int64_t now_ms)
{
    settle(health);
    health->clean = 0;
    judge(health, now_ms);
}

void
card_health_set(struct card_history *health, int verdict, const char *reason,
                int64_t now_ms)
{
    health->clean = 0;
    if (verdict > HEALTH_HEALTHY) {
        health->manual = verdict;
        put(health->manual_reason, reason);
    } else {
        health->manual = HEALTH_UNKNOWN;
        health->manual_reason[0] = '\0';
        health->said = health->said_now;
        settle(health);
    }
    judge(health, now_ms);
}
