/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_ROSTER_H
#define AGENT_ROSTER_H

#include "agent/duty.h"

/*
 * What is to be done on this node, and what is to be told about it?
 *
 * Holds the last order, the last view of the engine and what came of every
 * step; gives the next steps and the report.  It does no I/O and knows no
 * threads: the agent calls it under its lock.
 *
 * No step of a thing begins while one of the same thing is on its way, so
 * steps may take as long as they need.
 */

enum roster_kind { ROSTER_DUTY, ROSTER_VOLUME, ROSTER_SCRUB };

/* A step with all that it needs, apart from the roster. */
struct roster_step {
    enum roster_kind kind;
    enum duty_step step; /* duty */
    char id[PART_TEXT_MAX]; /* instance, volume or part of a card */
    int64_t incarnation;
    int64_t deadline_ms; /* notice: this machine's time */
    char reason[64];
    int64_t tenant;
    int64_t size_mib;
    bool remove;      /* volume */
    json_t *start;    /* a reference of the step's own, or NULL */
    json_t *gang;     /* the same, or NULL */
    struct report_cap cap;
    struct engine_scrub scrub; /* what came of a scrub */
};

struct roster;

struct roster *roster_new(void);
void roster_free(struct roster *roster);

/* Takes a new order; with order->same only the clock's distance is noted.
 * wall_ms: this machine's time when the order came. */
void roster_order(struct roster *roster, const struct order *order,
                  int64_t wall_ms);
/* Revision of the last order, "" before the first. */
const char *roster_revision(const struct roster *roster);
/* Takes what the engine shows: everything that it has. */
void roster_observe(struct roster *roster, const struct engine_view *view);

/* Was there a view? */
bool roster_is_viewed(const struct roster *roster);

/* The next step that can begin now; false when there is none.  The caller
 * does it and then calls roster_result, which releases it. */
bool roster_next(struct roster *roster, int64_t now_ms,
                 struct roster_step *step_out);
void roster_result(struct roster *roster, struct roster_step *step,
                   const struct error *err, int64_t now_ms);

/* Fills the lists of the report but inventory and logs, in the arena. */
void roster_report(struct roster *roster, struct arena *arena,
                   struct report *report);
/* The control plane has taken that report durably. */
void roster_acknowledge(struct roster *roster, const struct report *report);

#endif
