/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_DUTY_H
#define AGENT_DUTY_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/engine.h"
#include "engine/part.h"

/*
 * What must the agent do next for one incarnation of one instance?
 *
 * A duty holds what is ordered, what the engine shows, and what was done so
 * far; the next step is a function of these and the time.  Nothing in it must
 * survive the agent: after a kill it is made again from the order and the
 * engine, and every step may be repeated.
 *
 *   run     start -> (runs) -> the end is reported -> remove -> release;
 *           what runs is told when its gang is another, and capped
 *   notice  notice -> at the deadline as stop
 *   stop    terminate -> kill -> the end is reported -> remove -> release
 *
 * An instance is removed only after the control plane has taken its end: exit
 * code and log outlive any crash until then.
 */

#define DUTY_TERM_MS 5000       /* from TERM to KILL */
#define DUTY_CONFLICT_TRIES 40  /* starts refused for a conflict */
#define DUTY_RETRY_MIN_MS 100
#define DUTY_RETRY_MAX_MS 5000

enum duty_step {
    DUTY_NOTHING,
    DUTY_START,
    DUTY_NOTICE,
    DUTY_GANG,
    DUTY_CAP,
    DUTY_TERMINATE,
    DUTY_KILL,
    DUTY_REMOVE, /* keeps the log first */
    DUTY_RELEASE,
};

struct duty {
    char instance[ID_TEXT_MAX];
    int64_t incarnation;

    /* the order */
    bool ordered;  /* in the last one */
    bool stale;    /* a newer incarnation of the instance is ordered */
    enum order_want want;
    char reason[64];
    int64_t tenant;
    int64_t order_deadline_ms; /* control plane's time, as ordered */
    int64_t deadline_ms;       /* this machine's time */
    char (*cards)[PART_TEXT_MAX]; /* owned */
    size_t card_count;
    json_t *start;             /* owned; NULL: not seen yet */
    json_t *gang;              /* owned; NULL: it does not change */
    struct report_cap cap;     /* that it is held to */

    /* the engine */
    bool present;
    enum report_state state;
    char failure[128];
    int64_t exit_code;
    bool oom;
    int64_t cpu_us;
    char cpus[256], mems[64], nics[256];
    bool pinned;
    struct report_cap capped; /* that is in force */
    int64_t checkpoint_step;
    int64_t checkpoint_ms;
    char (*seen)[64];          /* cards that it has; owned */
    size_t seen_count;

    /* so far */
    bool busy;          /* a step is on its way */
    bool begun;         /* a start was tried */
    bool ended;         /* state, exit_code, failure say how */
    bool acknowledged;  /* the control plane has taken the end */
    bool removed;
    bool released;
    int64_t noticed_ms; /* order_deadline_ms of the notice that was given */
    json_t *told;       /* owned; the gang that it knows */
    json_t *telling;    /* owned; the one that is on its way */
    struct report_cap capping; /* the one that is on its way */
    bool cap_refused;   /* the machine does not allow `capping` */
    int64_t term_ms;    /* when TERM was sent; 0: not */
    int64_t retry_ms;   /* nothing before */
    int tries;          /* failures in a row */
};

/* The step is DUTY_GANG: a new reference to what is told now. */
json_t *duty_tell(struct duty *duty);

/* The step is DUTY_CAP: what it is held to now. */
struct report_cap duty_cap(struct duty *duty);

enum duty_step duty_next(const struct duty *duty, int64_t now_ms);

/* What came of a step; err is NULL when it succeeded.  Clears busy. */
void duty_result(struct duty *duty, enum duty_step step,
                 const struct error *err, int64_t now_ms);

/* What the engine shows; NULL: it does not have the instance. */
void duty_observe(struct duty *duty, const struct report_instance *shown);

/* The fact for a report; false when there is nothing to say. */
bool duty_report(const struct duty *duty, struct report_instance *fact_out);

/* Has it nothing more to do, so that it can be forgotten? */
bool duty_is_over(const struct duty *duty);

/* Does the part have anything in common with a card or slice of it? */
bool duty_has_card(const struct duty *duty, const char *part);
/* Takes its part of an order; distance_ms: this machine's time minus the
 * control plane's. */
void duty_order(struct duty *duty, const struct order_instance *item,
                int64_t distance_ms);
/* Frees what it owns. */
void duty_release(struct duty *duty);

#endif
