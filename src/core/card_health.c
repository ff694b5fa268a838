/* SPDX-License-Identifier: Apache-2.0 */
#include "core/card_health.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void
card_health_init(struct card_history *health)
{
    *health = (struct card_history){
        .health = HEALTH_UNKNOWN,
        .flags = { -1, -1, -1, -1, -1 },
        .heard = HEALTH_HEALTHY,
    };
}

/* --- the verdict --- */

struct verdict {
    int health;
    const char *reason;
};

/* What the card asks for; nothing asked for is an answer too. */
static struct verdict
of_recovery(const struct card_flags *flags)
{
    static const struct verdict actions[] = {
        { HEALTH_HEALTHY, "" },
        { HEALTH_FAILED, "the card asks for a reset" },
        { HEALTH_FAILED, "the card asks for a reboot of the node" },
        { HEALTH_DEGRADED, "the card asks for its links to be drained" },
        { HEALTH_SUSPECT, "the card asks to be drained and reset" },
        { HEALTH_DEGRADED, "the fabric's domain has to be recovered" },
    };
    static const struct verdict other = {
        HEALTH_DEGRADED, "the card asks for something unknown"
    };

    if (flags->recovery < 0)
        return actions[0];
    return (size_t)flags->recovery < sizeof(actions) / sizeof(actions[0])
               ? actions[flags->recovery]
               : other;
}

/* A repair that failed is for good, whatever was reset. */
static struct verdict
of_flags(const struct card_flags *flags)
{
    if (flags->remap_failed > 0)
        return (struct verdict){ HEALTH_FAILED,
                                 "memory rows could not be replaced: replace "
                                 "the card" };
    if (flags->unrepairable > 0)
        return (struct verdict){ HEALTH_FAILED,
                                 "its memory is beyond repair: replace the "
                                 "card" };
    if (flags->sram_exceeded > 0)
        return (struct verdict){ HEALTH_FAILED,
                                 "SRAM errors are beyond the vendor's bound: "
                                 "replace the card" };
    if (flags->remap_pending > 0)
        return (struct verdict){ HEALTH_SUSPECT,
                                 "a memory repair waits for a reset of the "
                                 "card" };
    return (struct verdict){ HEALTH_HEALTHY, "" };
}

/* A card that says itself that nothing has to be done is not condemned by a
 * number. */
static struct verdict
of_errors(const struct card_history *health, char text[128])
{
    int heard = health->heard;

    if (heard == HEALTH_FAILED && health->flags.recovery == 0)
        heard = HEALTH_SUSPECT;
    (void)snprintf(text, 128, "Xid %" PRId64 ": %.100s", health->heard_number,
                   xid_meaning(health->heard_number));
    return (struct verdict){ heard, text };
}

static void
judge(struct card_history *health, int64_t now_ms)
{
    char text[128];
    const struct verdict by[] = { of_recovery(&health->flags),
                                  of_flags(&health->flags),
                                  of_errors(health, text) };
    struct verdict worst = { HEALTH_HEALTHY, "" };

    /* The more weighty one gives the reason where both say the same. */
    for (size_t i = 0; i < 3; i++)
        if (by[i].health > worst.health)
            worst = by[i];
    if (worst.health != health->health)
        health->since_ms = now_ms;
    health->health = worst.health;
    if (worst.reason[0] != '\0')
        (void)snprintf(health->reason, sizeof(health->reason), "%s",
                       worst.reason);
}

/* --- what is heard --- */

static struct card_health_seen *
find_seen(struct card_history *health, const struct xid *xid, int64_t now_ms)
{
    for (size_t i = health->seen_count; i-- > 0;) {
        struct card_health_seen *seen = &health->seen[i];

        if (seen->number == xid->number && seen->pid == xid->pid &&
            now_ms - seen->last_ms <= CARD_HEALTH_SAME_MS)
            return seen;
    }
    return NULL;
}

static void
add_seen(struct card_history *health, const struct xid *xid, int64_t now_ms)
{
    if (health->seen_count == CARD_HEALTH_SEEN) {
        memmove(&health->seen[0], &health->seen[1],
                sizeof(health->seen) - sizeof(health->seen[0]));
        health->seen_count--;
    }
    health->seen[health->seen_count++] =
        (struct card_health_seen){ xid->number, xid->pid, now_ms, now_ms, 1 };
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
    if ((xid->number == 63 && health->flags.remap_pending >= 0) ||
        (xid->number == 64 && health->flags.remap_failed >= 0))
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
card_health_error(struct card_history *health, const struct xid *xid,
                  int64_t now_ms)
{
    struct card_health_seen *seen = find_seen(health, xid, now_ms);
    int heard;

    if (seen != NULL) {
        seen->count++;
        seen->last_ms = now_ms;
        return false;
    }
    add_seen(health, xid, now_ms);
    if (xid_ends(xid->number, health->heard_number)) {
        health->heard = HEALTH_HEALTHY;
        judge(health, now_ms);
        return true;
    }
    heard = of_number(health, xid);
    if (heard > HEALTH_HEALTHY)
        health->clean = 0;
    if (heard > health->heard) {
        health->heard = heard;
        health->heard_number = xid->number;
    }
    if (health->health != HEALTH_UNKNOWN || heard > HEALTH_HEALTHY)
        judge(health, now_ms);
    return true;
}

void
card_health_look(struct card_history *health, const struct card_flags *flags,
                 bool clean, int64_t now_ms)
{
    health->flags = *flags;
    health->clean = clean ? health->clean + 1 : 0;
    if (health->clean >= CARD_HEALTH_CLEAN) {
        health->heard = HEALTH_HEALTHY;
        health->links = false;
    }
    judge(health, now_ms);
}

void
card_health_reset(struct card_history *health, int64_t now_ms)
{
    health->heard = HEALTH_HEALTHY;
    health->links = false;
    health->clean = 0;
    judge(health, now_ms);
}
