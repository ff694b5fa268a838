/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_MODEL_PLAN_H
#define CORE_MODEL_PLAN_H

/* More of the nouns: what operators plan and rule; part of model.h. */

enum maintenance_policy {
    MAINTENANCE_PREEMPT, /* preemptible work gets notice in time */
    MAINTENANCE_FINISH,  /* what runs ends by itself */
};
enum maintenance_state {
    MAINTENANCE_SCHEDULED,
    MAINTENANCE_CLEARING, /* work that is in its way gets notice */
    MAINTENANCE_OPEN,
    MAINTENANCE_OVER,
};
/* Below a node or a pool (all its nodes): no work is put there that would run
 * into [opens, closes). */
struct maintenance {
    struct object object;
    int64_t from_ms, to_ms; /* the first window, [from, to) */
    int every;              /* enum reservation_every */
    int64_t until_ms;       /* recurring: no window begins from then on */
    int policy;             /* enum maintenance_policy */
    bool lend; /* preemptible work may run into it, and gets notice in time */
    char reason[TEXT_MAX_SIZE];
    int state;                   /* enum maintenance_state */
    int64_t opens_ms, closes_ms; /* the window that is next or open */
    struct ref workorder;        /* that it is for, or none */
    int64_t told_ms; /* opens_ms of the window that tenants were told of */
    /* What the cards of its nodes said of themselves when its last window
     * began, and at its end (maintenance_firmware.h). */
    struct blob *firmware_before, *firmware_after;
};

#define VERSION_TEXT_MAX 64
/* Below the platform: what a node or card must say of itself for work of this
 * class or image. */
struct requirement {
    struct object object;
    struct ref class;          /* none: any */
    char image[TEXT_MAX_SIZE]; /* names that begin so; "": any */
    char fact[NAME_MAX_SIZE];  /* core/require.h */
    char at_least[VERSION_TEXT_MAX];
    char below[VERSION_TEXT_MAX];
    char equals[VERSION_TEXT_MAX];
    char reason[TEXT_MAX_SIZE];
};

/* Below a tenant: cards that it pays whether it uses them or not. */
struct commitment {
    struct object object;
    char model[64]; /* of the cards; "": any */
    int64_t cards;
    int64_t nano; /* per card-hour */
    int64_t from_ms, to_ms; /* [from, to) */
};

#endif
