/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_SHARE_H
#define RUNNER_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Who uses how much of a card that is shared softly, and what follows?
 *
 * A soft share has no boundary: what counts is what the driver says about each
 * process, looked at from outside and told apart by control group.  The table
 * is made from that list whenever somebody begins to look, and is never read
 * from a file or from anything that an instance can write to.
 *
 * A slot belongs to one process, known by its number and the time of its
 * start, and is never moved; who keeps a slot's place and generation knows
 * whether it is still the same process.  Only slots of processes that are alive
 * count: the kernel says which are, not the table.
 *
 * Pure: times and facts come in as arguments.
 */

#define SHARE_SLOTS 256
#define SHARE_OWNER_MAX 64
#define SHARE_TEXT_MAX 200

/* One process as it was seen just now. */
struct share_seen {
    pid_t pid;
    int64_t born;      /* start time as the kernel counts; > 0 */
    const char *owner; /* the instance whose group it is in, "": nobody's */
    int64_t incarnation;
    int64_t used_mib; /* -1: not known */
    bool client;      /* of the sharing server */
};

struct share_slot {
    bool live;
    uint32_t generation; /* counts the processes that it belonged to */
    pid_t pid;
    int64_t born;
    char owner[SHARE_OWNER_MAX + 1];
    int64_t incarnation;
    int64_t used_mib;
    bool client;
};

struct share_table {
    struct share_slot slots[SHARE_SLOTS];
    size_t left_out; /* processes that found no slot the last time */
};

/* Sets the table to what is on the card. */
void share_look(struct share_table *table, const struct share_seen *seen,
                size_t count);
/* The card was not to be asked: ends the slots of processes that are gone.
 * born_of: the start time of a process, -1 when there is none. */
void share_reap(struct share_table *table,
                int64_t (*born_of)(void *context, pid_t pid), void *context);

struct share_use {
    int64_t used_mib; /* of what is known */
    size_t processes;
    size_t unknown; /* processes whose use is not known */
    size_t loose;   /* processes that are no clients of the server */
    pid_t first_loose;
};
struct share_use share_use_of(const struct share_table *table,
                              const char *owner, int64_t incarnation);

/* What may be done about it, of the node's policy. */
struct share_rule {
    int64_t limit_mib;
    bool stops;       /* else it only warns */
    int64_t grace_ms; /* between the warning and the stop */
    bool served;      /* there is a sharing server: clients only */
    int64_t attach_ms; /* so long a process may be without it */
};

enum share_act { SHARE_NOTHING, SHARE_WARN, SHARE_STOP, SHARE_CALM };

/* Of one incarnation; all zeros at first. */
struct share_state {
    int64_t over_ms;  /* over its limit since; 0: it is not */
    int64_t loose_ms; /* has a process beside the server since; 0: none */
};

/* CALM: what was warned of is over.  text_out: one sentence for a warning or a
 * stop. */
enum share_act share_judge(struct share_state *state,
                           const struct share_rule *rule,
                           const struct share_use *use, int64_t now_ms,
                           char text_out[SHARE_TEXT_MAX]);

#endif
