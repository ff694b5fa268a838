/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CARD_HEALTH_H
#define CORE_CARD_HEALTH_H

#include "core/health.h"
#include "core/xid.h"

struct card;

/*
 * How is a card, after all that was heard of it?
 *
 * Who is believed, in this order: a person's word; the action that the card
 * itself asks for; its flags (memory beyond repair, no spare row, a repair
 * that waits for a reset, clocks that hardware holds down); what an error's
 * number means.  Nothing is concluded from repetition.  A program's own faults
 * leave no mark.  A fault of links hurts work on several cards only.  What
 * nobody can explain makes a card degraded and is told; it never takes it
 * away.  What is about one hard slice is that slice's alone.
 *
 * The way back: whatever it was, the card is healthy again after clean looks,
 * one after the other, or for what was heard of by number when it was reset.
 * What a person said ends by a person's word.  Reasons and times are kept.
 */

#define CARD_HEALTH_CLEAN 3
#define CARD_HEALTH_CLEAN_MAX 10
/* The same error of the same process within this time is one. */
#define CARD_HEALTH_SAME_MS INT64_C(600000)
/* Times of one moment that were taken twice differ by less. */
#define CARD_HEALTH_MOMENT_MS 1000
#define CARD_HEALTH_SEEN 32
#define CARD_HEALTH_PAST 16
#define CARD_HEALTH_SLICES 8

/* -1: the card does not say. */
struct card_flags {
    int recovery; /* 0 none, 1 reset, 2 reboot, 3 drain links, 4 drain and
                     reset, 5 recover the fabric's domain */
    int remap_failed, remap_pending;
    int unrepairable, sram_exceeded;
    int pages_spent;   /* too many memory pages are given up */
    int banks_spent;   /* a bank without a spare row */
    int attention;     /* the vendor's verdict: 1 fine, 2 worn, 3 bad, 4
                          replace */
    int clock_reasons; /* CARD_CLOCK_* */
    int lanes_missing; /* of its bus */
};

#define CARD_CLOCK_HARDWARE 8
#define CARD_CLOCK_HEAT 64 /* by hardware */
#define CARD_CLOCK_BRAKE 128

struct card_verdict {
    int health; /* enum card_health */
    const char *reason;
};

/* All -1. */
void card_flags_clear(struct card_flags *flags);
/* What the flags say; "" for HEALTH_HEALTHY. */
struct card_verdict card_health_flags(const struct card_flags *flags);

/* One look at the card, as its node tells of it. */
struct card_look {
    int health;         /* by its flags; HEALTH_UNKNOWN: it cannot be told */
    const char *reason;
    bool asks_nothing;  /* it can ask for an action, and asks for none */
    bool has_rows;      /* it tells of its memory rows by flags */
    int64_t clean;      /* looks without fault one after the other, so far */
};

/* Something that was heard, once or many times. */
struct card_event {
    struct xid xid;
    int64_t first_ms, last_ms, count;
    const char *slice; /* with xid.instance: its name; NULL, "": not known */
};

struct card_health_seen {
    int64_t number, pid, instance;
    int64_t first_ms, last_ms, count;
};

/* A hard slice that is ill while its card is not. */
struct card_health_slice {
    char name[40]; /* "3g.40gb@4" */
    int health;
    int64_t number;
};

struct card_health_past {
    int64_t at_ms;
    int health;
    char reason[128];
};

struct card_history {
    int health;       /* enum card_health: the verdict of all below */
    char reason[128]; /* of the verdict; after the way back: of the last */
    int64_t since_ms; /* the verdict stands since then */
    bool links;       /* not for work on several cards */
    /* by authority */
    int manual; /* HEALTH_UNKNOWN: nobody said anything */
    char manual_reason[128];
    int said, said_now; /* by flags: the worst until the way back; last */
    char said_reason[128];
    bool blind;         /* the last look could not tell */
    char blind_reason[128];
    bool asks_nothing, has_rows;
    int heard; /* of errors by number */
    int64_t heard_number;
    size_t slice_count;
    struct card_health_slice slices[CARD_HEALTH_SLICES];
    int64_t settled_ms; /* what happened up to then counts no more */
    int64_t clean;
    size_t seen_count;
    struct card_health_seen seen[CARD_HEALTH_SEEN]; /* newest last */
    size_t past_count;
    struct card_health_past past[CARD_HEALTH_PAST]; /* newest last */
};

/* Nothing is known: HEALTH_UNKNOWN until the first look. */
void card_health_init(struct card_history *health);
/* Returns true for news, false for one more of the same. */
bool card_health_heard(struct card_history *health,
                       const struct card_event *event, int64_t now_ms);
/* probes: clean looks that lead back. */
void card_health_look(struct card_history *health,
                      const struct card_look *look, int64_t probes,
                      int64_t now_ms);
void card_health_reset(struct card_history *health, int64_t now_ms);
/* A person's word; HEALTH_HEALTHY takes back what a person said and settles
 * what was heard: what the card itself says stays. */
void card_health_set(struct card_history *health, int verdict,
                     const char *reason, int64_t now_ms);

/* Could it be worse by itself, or is it a program's own fault or only told?
 * For whoever counts clean looks. */
bool card_health_is_weighty(const struct xid *xid);

/* Does the card take work: its state is one that the policy takes work in, and
 * it was heard of lately? */
bool card_health_is_fit(const struct card *card);
const char *card_health_text(int health);
/* -1: it is no state. */
int card_health_parse(const char *text);

#endif
