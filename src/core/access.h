/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_ACCESS_H
#define CORE_ACCESS_H

#include "core/verb.h"
#include "core/world.h"

/*
 * May this actor do this to that object now?
 *
 *   allow(s, verb, o) =
 *         s and its credential are alive, and so is every node on path(o)
 *     and no deny on path(o) holds the verb
 *     and every ceiling on path(o) holds the verb
 *     and some one grant of s on path(o), whose own conditions hold, has it
 *     and the key's verbs and subtree hold it
 *     and the verb's guard is satisfied
 *
 * path(o) is o and everything above it.  Grants never merge: the conditions
 * of one stay with its verbs.  Besides grants, VERB_SELF verbs count on the
 * subject itself and what is below it, VERB_PUBLIC verbs on what lies right
 * below a node on the subject's own path.
 *
 * Below a suspended node only reading and winding down (get, list, update,
 * delete, VERB_WINDS_DOWN) is possible, by a grant from above it.  A ceiling
 * does not bind VERB_ABOVE verbs at its own node or platform verbs: else
 * nobody could ever raise it.
 *
 * Listing is no right of its own: who sees the container may list it and gets
 * the objects on which the kind's get verb is allowed (access_visible).
 *
 * Pure, no allocation; the cost is bounded by depth x grants of the subject.
 * Everything is looked at when it is used: nothing depends on a sweeper.
 */

#define ACCESS_STEP_UP_MS (5 * 60 * INT64_C(1000))

enum actor_kind {
    ACTOR_NONE, /* nobody proved anything */
    ACTOR_USER,
    ACTOR_SERVICEACCOUNT,
    ACTOR_AGENT,    /* subject: its node */
    ACTOR_PLATFORM, /* the control plane itself, in records; may nothing */
};

/* Who asks, as authenticated; valid for the one command. */
struct actor {
    enum actor_kind kind;
    struct ref subject;    /* user, serviceaccount or node */
    struct ref credential; /* session or apikey; none for agents */
    bool old_secret;       /* the key's secret from before a rotation */
    int64_t proved_ms;     /* last proof of identity, 0: none */
    char source[64];       /* address of the client, "" for local ones */
    /* The operation that is carried out, for core/approval.h. */
    struct ref target;     /* its object */
    uint8_t query_digest[32], body_digest[32];
    struct ref approval;   /* presented for it, or none */
    bool asking; /* a trial: what if it were approved?  Never applied */
    bool supposed; /* as if they were there: access_suppose */
};

/*
 * The proof that access_decide said yes, and the only way of a handler to the
 * world: what is inside is sealed.  Copy it freely; it holds as long as the
 * world is not changed.
 */
struct granted {
    _Alignas(16) unsigned char sealed[272];
};

const struct world *granted_world(const struct granted *granted);
const struct actor *granted_actor(const struct granted *granted);
enum verb granted_verb(const struct granted *granted);
struct ref granted_object(const struct granted *granted);
/* The grant that allowed it; none for self, public, list and agent verbs. */
struct ref granted_grant(const struct granted *granted);
/* What stands for a second person: an approval or a break-glass, or none. */
struct ref granted_approval(const struct granted *granted);
int64_t granted_now_ms(const struct granted *granted);
/* Does the actor belong to the platform itself (FIELD_PLATFORM fields)? */
bool granted_is_platform(const struct granted *granted);

/* --- who --- */

/* Finds the session or key by the SHA-256 of its token; the same work and the
 * same error (ERROR_UNAUTHENTICATED) whatever is wrong. */
int access_authenticate(const struct world *world,
                        const uint8_t token_digest[32], const char *source,
                        int64_t now_ms, struct actor *actor_out,
                        struct error *err);
/* The actor of a node's agent, whose signature the caller has checked. */
struct actor access_agent(struct ref node, const char *source);
/* The subject as if it were there now with a fresh proof of identity, from a
 * network that its grants allow: for questions (access_judge), never for a
 * decision. */
struct actor access_suppose(struct ref subject, int64_t now_ms);
/* Is the subject alive up to the platform: nothing deleted or suspended? */
bool access_is_alive(const struct world *world, struct ref subject);
/* May this user log in now?  A lock after failed logins counts here. */
bool access_may_log_in(const struct world *world, struct ref user,
                       int64_t now_ms);

/* --- the decision --- */

/*
 * For create and list verbs object is the parent.  0 and granted_out, or -1:
 * ERROR_UNAUTHENTICATED, ERROR_NOT_FOUND (the object is not there or not
 * visible to the actor: one text, the same as for an id that never was; also
 * for ref none), ERROR_DENIED, ERROR_STEP_UP, ERROR_APPROVAL.
 */
int access_decide(const struct world *world, const struct actor *actor,
                  enum verb verb, struct ref object, int64_t now_ms,
                  struct granted *granted_out, struct error *err);
/* The error of every object that is not there or not visible; returns -1. */
int access_not_found(struct error *err);

/* The same decision, as yes or no. */
bool access_can(const struct world *world, const struct actor *actor,
                enum verb verb, struct ref object, int64_t now_ms);
/* Does the actor see this object?  The filter of every list and reference. */
bool access_visible(const struct granted *granted, struct ref object);
bool access_sees(const struct world *world, const struct actor *actor,
                 struct ref object, int64_t now_ms);

/*
 * The same decisions for a long list: what was decided about an object holds
 * for its siblings of the same kind where nothing that a decision asks can
 * lie on the object itself.  Good as long as the world does not change.
 */
struct access_view {
    const struct world *world;
    const struct actor *actor;
    int64_t now_ms;
    struct access_known {
        struct ref parent;
        uint32_t kind;
        int verb;
        bool can;
    } known[4];
    unsigned next;
    uint32_t kind; /* whose get verb that is; 0: none was asked for */
    int get;
    bool alone; /* some right is for single devices: no sibling tells */
};

/* granted outlives it. */
struct access_view access_view(const struct granted *granted);
/* access_can and access_visible. */
bool access_view_can(struct access_view *view, enum verb verb,
                     struct ref object);
bool access_view_sees(struct access_view *view, struct ref object);

/*
 * Who sees a published object without a grant.  It is asked before a
 * deletion, since afterwards nobody could say who may be told of it.
 */
struct access_audience {
    bool known;           /* the kind is published at all */
    bool all;             /* to everybody below the parent */
    struct ref tenant;    /* else to this one */
    struct blob *tenants; /* or to those in this list; not owned */
};

struct access_audience access_audience(const struct world *world,
                                       struct ref object);
/* Could the asker see the object that was deleted below parent?  Rights that
 * lay on the object itself do not count: they went with it. */
bool access_saw(const struct granted *granted, enum kind kind,
                struct ref parent, struct id id,
                const struct access_audience *audience);

enum access_outcome {
    ACCESS_ALLOWED,
    ACCESS_NO_ACTOR,   /* no subject, or subject or credential not alive */
    ACCESS_NO_OBJECT,  /* gone, or deleted */
    ACCESS_SUSPENDED,  /* a node on the path is */
    ACCESS_DENY,
    ACCESS_CEILING,
    ACCESS_KEY,        /* outside the key's verbs, subtree */
    ACCESS_NO_GRANT,
    ACCESS_STEP_UP,    /* all holds but a recent proof of identity */
    ACCESS_APPROVAL,   /* all holds but the approval */
    ACCESS_LIMITED,    /* the session lacks something: core/proof.h */
};

/* What decided, for the audit record. */
struct access_verdict {
    enum access_outcome outcome;
    struct ref grant, ceiling, deny; /* the one that counted, or none */
    struct ref approval; /* or break-glass that stands for a second person */
};

const char *access_outcome_text(enum access_outcome outcome);

enum access_check {
    ACCESS_CHECK_ACTOR,
    ACCESS_CHECK_NODE,    /* ref: a node of the path */
    ACCESS_CHECK_DENY,    /* ref: the deny */
    ACCESS_CHECK_CEILING, /* ref: the ceiling */
    ACCESS_CHECK_KEY,     /* ref: the key */
    ACCESS_CHECK_SELF,
    ACCESS_CHECK_PUBLIC,
    ACCESS_CHECK_GRANT,   /* ref: the grant */
    ACCESS_CHECK_GUARD,
};

/* One step of the decision: passed, or why not ("" when it passed). */
typedef void access_trace(void *context, enum access_check check,
                          struct ref ref, bool passed, const char *why);

/* access_decide is made of this.  trace may be NULL. */
void access_judge(const struct world *world, const struct actor *actor,
                  enum verb verb, struct ref object, int64_t now_ms,
                  access_trace *trace, void *context,
                  struct access_verdict *verdict_out);
/*
 * access_judge for the eyes of viewer: steps about objects that it does not
 * see are told with ref none.  viewer's verb must be a get of the object.
 */
void access_explain(const struct granted *viewer, const struct actor *actor,
                    enum verb verb, access_trace *trace, void *context,
                    struct access_verdict *verdict_out);

/* --- handing out --- */

/* What somebody would get. */
struct offer {
    struct verbs verbs;
    int64_t from_ms, to_ms; /* [from, to); 0: open */
    const char *sources;    /* "": any */
    int64_t proof_ms;       /* 0: any age */
    bool approval;
    bool factor;
};

/*
 * Delegation: handing out verbs on a node needs verbs within give(s, node)
 * and every ceiling on its path, and window and networks within those of the
 * giving grant.  Every way to hand out verbs asks this.  ERROR_DENIED names
 * the first verb that is too much.
 */
int access_delegate_check(const struct world *world,
                          const struct actor *actor, struct ref node,
                          const struct offer *offer, int64_t now_ms,
                          struct error *err);
/*
 * Control: resetting a credential of a subject, minting a key for it and the
 * like need all that it may do within give(s), everywhere.  The subject
 * itself always may.
 */
int access_control_check(const struct world *world, const struct actor *actor,
                         struct ref target, int64_t now_ms,
                         struct error *err);
/*
 * Minting: a key for somebody else is in the hands of who makes it, so it
 * never has more than they may do themselves for as long and from where it can
 * be used, whatever the account is given later.  Its owner's rights count for
 * it on node and below alone: its subtree, or where the account lives.
 * The verbs that such a key may have; offer's are not looked at.
 */
struct verbs access_may_mint(const struct world *world,
                             const struct actor *actor, struct ref node,
                             const struct offer *offer, int64_t now_ms);
/* Does a grant of the actor's give it its role on the object now, by each of
 * its conditions: for rules that name roles, not verbs. */
bool access_has_role(const struct world *world, const struct actor *actor,
                     const struct grant *grant, struct ref object,
                     int64_t now_ms);
/* What the actor itself may do on node by grants, key and ceilings. */
struct verbs access_use(const struct world *world, const struct actor *actor,
                        struct ref node, int64_t now_ms);
struct verbs access_give(const struct world *world, const struct actor *actor,
                         struct ref node, int64_t now_ms);

#endif
