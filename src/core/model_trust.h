/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_MODEL_TRUST_H
#define CORE_MODEL_TRUST_H

/* More of the nouns: second persons, emergencies and vendors; part of
 * model.h. */

#define APPROVAL_PEOPLE_MAX 8
enum approval_state {
    APPROVAL_OPEN,     /* waits for people */
    APPROVAL_APPROVED, /* enough of them: the operation may be carried out */
    APPROVAL_DENIED,
    APPROVAL_DROPPED, /* given up by who asked */
    APPROVAL_USED,    /* carried out, once */
    APPROVAL_EXPIRED,
};
/* Below the user who asks: one exact operation, to be carried out once. */
struct approval {
    struct object object;
    int state;                 /* enum approval_state */
    char verb[NAME_MAX_SIZE];  /* whose guard it is for */
    char method[8];
    char path[TEXT_MAX_SIZE];  /* with its query, as it was asked for */
    char target[ID_TEXT_MAX];  /* id of the object as resolved */
    int64_t target_version;
    struct blob *body;         /* null: none, or it holds a secret */
    uint8_t query_digest[32];  /* of method, route and query */
    uint8_t body_digest[32];   /* of the canonical body */
    char reason[TEXT_MAX_SIZE];
    int64_t needed;            /* people */
    struct blob *approvers;    /* [{"user": id, "at": time, "note": text}] */
    struct ref decider;        /* who denied or dropped it */
    char note[TEXT_MAX_SIZE];  /* of the decider */
    int64_t expires_ms;
    int64_t decided_ms;        /* approved, denied, dropped, used or expired */
};

/* Below the platform, named like the verb: what it needs besides a grant, on
 * top of what it needs as shipped. */
struct guard {
    struct object object;
    bool step_up;
    int64_t approvers; /* second persons; 0: none */
};

/* Below the user who broke the glass: guarded verbs without an approval for a
 * time, and a review that somebody else owes. */
struct breakglass {
    struct object object;
    char reason[TEXT_MAX_SIZE];
    int64_t from_ms, to_ms; /* [from, to) */
    struct blob *actions;   /* [{"verb": v, "object": id, "at": time}] */
    int64_t count;          /* of what was done, also beyond the list */
    struct ref reviewer;    /* none: not reviewed */
    int64_t reviewed_ms;
    char review[TEXT_MAX_SIZE];
};

enum workorder_state {
    WORKORDER_SCHEDULED, /* approved; its window has not begun */
    WORKORDER_DRAINING,  /* waits until nothing runs on the devices */
    WORKORDER_OPEN,
    WORKORDER_CLOSED,  /* by somebody */
    WORKORDER_OVER,    /* its window has ended */
    WORKORDER_DROPPED, /* closed before it was open: it never opens */
};
/* Below the platform: a vendor's work on devices.  The vendor's user is below
 * it and ends with it. */
struct workorder {
    struct object object;
    char reason[TEXT_MAX_SIZE];
    char vendor[NAME_MAX_SIZE]; /* name of the vendor's user */
    struct ref subject;         /* that user */
    struct ref sponsor;         /* who answers for it */
    struct blob *devices;       /* JSON list of ids of nodes and cards */
    struct verbs verbs;
    int64_t from_ms, to_ms; /* [from, to) */
    bool drain;             /* nothing runs on the devices meanwhile */
    int state;              /* enum workorder_state */
    int64_t opened_ms, closed_ms;
    struct blob *firmware_before, *firmware_after; /* as reported */
    struct blob *actions; /* of the vendor */
    int64_t count;
};

enum audience { AUDIENCE_OPERATORS, AUDIENCE_VENDOR };
/* Below a work order: a text that goes with it. */
struct opdocument {
    struct object object;
    int audience; /* enum audience */
    struct blob *content; /* JSON text */
    struct ref author;
};

/* Below a tenant: a vendor worked on cards that it held. */
struct visit {
    struct object object;
    struct ref workorder;
    char vendor[NAME_MAX_SIZE];
    char reason[TEXT_MAX_SIZE];
    struct blob *cards; /* aliases, as in the tenant's bindings */
    int64_t from_ms, to_ms;
    int64_t ended_ms;
    struct blob *actions; /* on devices that it held */
    int64_t count;
};

#endif
