/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CARD_HEALTH_H
#define CORE_CARD_HEALTH_H

#include "core/model.h"
#include "core/xid.h"

/*
 * How is a card, after all that was heard of it?
 *
 * Who is believed, in this order: the action that the card itself asks for;
 * its flags (memory beyond repair, no spare row, a repair that waits for a
 * reset); what an error's number means; nothing is concluded from repetition.
 * A program's own faults leave no mark.  A fault of links hurts work on
 * several cards only.  What nobody can explain makes a card degraded and is
 * told; it never takes it away.
 *
 * The way back: what the card asked for, or its flags, end when it no longer
 * says so; what was heard of by number ends after CARD_HEALTH_CLEAN clean
 * looks, or when the card was reset.  The last reason and its time stay.
 */

#define CARD_HEALTH_CLEAN 3
/* The same error of the same process within this time is one. */
#define CARD_HEALTH_SAME_MS INT64_C(600000)
#define CARD_HEALTH_SEEN 32

/* -1: the card does not say. */
struct card_flags {
    int recovery; /* 0 none, 1 reset, 2 reboot, 3 drain links, 4 drain and
                     reset, 5 recover the fabric's domain */
    int remap_failed, remap_pending;
    int unrepairable, sram_exceeded;
};

struct card_health_seen {
    int64_t number, pid;
    int64_t first_ms, last_ms, count;
};

struct card_history {
    int health;       /* enum card_health: the verdict of all below */
    char reason[128]; /* of the verdict; after the way back: of the last */
    int64_t since_ms; /* the verdict stands since then */
    bool links;       /* not for work on several cards */
    /* by authority */
    struct card_flags flags;
    int heard; /* enum card_health, of errors by number */
    int64_t heard_number;
    int clean; /* looks without news */
    size_t seen_count;
    struct card_health_seen seen[CARD_HEALTH_SEEN]; /* newest last */
};

/* Nothing is known: HEALTH_UNKNOWN until the first flags. */
void card_health_init(struct card_history *health);
/* Returns true for news, false for one more of the same. */
bool card_health_error(struct card_history *health, const struct xid *xid,
                       int64_t now_ms);
/* A look at the card; clean: it did all that it was asked to do. */
void card_health_look(struct card_history *health,
                      const struct card_flags *flags, bool clean,
                      int64_t now_ms);
void card_health_reset(struct card_history *health, int64_t now_ms);

#endif
