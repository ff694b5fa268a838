/* SPDX-License-Identifier: Apache-2.0 */
#include "core/judge.h"

#include <string.h>

#include "core/approval.h"
#include "core/breakglass.h"
#include "core/guard.h"
#include "core/network.h"
#include "core/proof.h"
#include "core/reach.h"
#include "core/workorder.h"

static void
tell(const struct question *question, enum access_check check, struct ref ref,
     const char *why)
{
    if (question->trace != NULL)
        question->trace(question->context, check, ref, why[0] == '\0', why);
}

/* --- who --- */

static bool
session_is_alive(const struct world *world, const struct session *session,
                 struct ref subject, int64_t now_ms)
{
    return session != NULL && ref_equal(session->object.parent, subject) &&
           session->revoked_ms == 0 && session->held_ms == 0 &&
           now_ms < session->expires_ms &&
           proof_is_fresh(world, session, now_ms);
}

static bool
key_is_alive(const struct apikey *key, const struct actor *actor,
             int64_t now_ms)
{
    return key != NULL && ref_equal(key->object.parent, actor->subject) &&
           key->revoked_ms == 0 && key->held_ms == 0 &&
           now_ms < key->expires_ms &&
           (!actor->old_secret || now_ms < key->old_until_ms) &&
           network_match(key->sources, actor->source);
}

bool
judge_actor(const struct world *world, const struct actor *actor,
            int64_t now_ms)
{
    bool person = actor->kind == ACTOR_USER &&
                  actor->subject.kind == KIND_USER;
    bool program = actor->kind == ACTOR_SERVICEACCOUNT &&
                   actor->subject.kind == KIND_SERVICEACCOUNT;

    if (actor->kind == ACTOR_AGENT)
        return world_node(world, actor->subject) != NULL;
    if ((!person && !program) || !access_is_alive(world, actor->subject) ||
        !workorder_admits(world, actor->subject, now_ms))
        return false;
    return actor->supposed ||
           session_is_alive(world, world_session(world, actor->credential),
                            actor->subject, now_ms) ||
           key_is_alive(world_apikey(world, actor->credential), actor,
                        now_ms);
}

/* --- the path --- */

static bool
winds_down(enum verb verb)
{
    enum verb_op op = verb_op(verb);

    return verb_sense(verb) == VERB_METADATA &&
           (verb_is(verb, VERB_WINDS_DOWN) || op == VERB_OP_GET ||
            op == VERB_OP_LIST || op == VERB_OP_UPDATE ||
            op == VERB_OP_DELETE);
}

bool
judge_path(struct question *question)
{
    struct ref at = question->object;

    question->depth = 0;
    question->suspended = 0;
    while (!ref_is_none(at)) {
        const struct object *object = world_object(question->world, at);
        enum state state;

        if (object == NULL || question->depth == JUDGE_DEPTH_MAX)
            return false;
        state = judge_state(object);
        if (state == STATE_DELETED)
            return false;
        question->path[question->depth++] = at;
        if (state == STATE_SUSPENDED)
            question->suspended = question->depth;
        tell(question, ACCESS_CHECK_NODE, at,
             state == STATE_SUSPENDED ? "suspended" : "");
        at = object->parent;
    }
    return question->depth > 0 &&
           question->path[question->depth - 1].kind == KIND_PLATFORM;
}

unsigned
judge_place(const struct question *question, struct ref node)
{
    unsigned i = 0;

    while (i < question->depth && !ref_equal(question->path[i], node))
        i++;
    return i;
}

/* Where the node lies whose bounds a VERB_ABOVE verb sets. */
static unsigned
governed_place(const struct question *question)
{
    return verb_op(question->verb) == VERB_OP_CREATE ? 0 : 1;
}

static bool
is_node_kind(enum kind kind)
{
    return kind == KIND_PLATFORM || kind == KIND_TENANT ||
           kind == KIND_UNIT || kind == KIND_PROJECT;
}

/* --- what beats every grant --- */

static bool
is_denied(const struct question *question)
{
    if (world_count(question->world, KIND_DENY) == 0)
        return false;
    for (unsigned i = 0; i < question->depth; i++) {
        if (!is_node_kind((enum kind)question->path[i].kind))
            continue;
        world_each_child(question->world, KIND_DENY, question->path[i], ref) {
            const struct deny *deny = world_deny(question->world, ref);

            if (!verbs_have(&deny->verbs, question->verb))
                continue;
            tell(question, ACCESS_CHECK_DENY, ref, "denied here");
            question->verdict->deny = ref;
            return true;
        }
    }
    return false;
}

/* Is the verb outside some ceiling that binds it? */
static bool
is_over_ceiling(const struct question *question)
{
    unsigned first =
        verb_is(question->verb, VERB_ABOVE) ? governed_place(question) + 1 : 0;

    if (verb_level(question->verb) == VERB_LEVEL_PLATFORM)
        return false;
    for (unsigned i = first; i < question->depth; i++) {
        if (question->path[i].kind != KIND_TENANT &&
            question->path[i].kind != KIND_PROJECT)
            continue;
        world_each_child(question->world, KIND_CEILING, question->path[i],
                         ref) {
            const struct ceiling *ceiling = world_ceiling(question->world,
                                                          ref);

            if (verbs_have(&ceiling->verbs, question->verb))
                continue;
            tell(question, ACCESS_CHECK_CEILING, ref, "above the ceiling");
            question->verdict->ceiling = ref;
            return true;
        }
    }
    return false;
}

/* Listing by a key takes the verb that makes the list. */
static enum verb
key_verb(enum verb verb)
{
    int get;

    if (verb_op(verb) != VERB_OP_LIST)
        return verb;
    get = verb_of(verb_kind(verb), VERB_OP_GET);
    return get >= 0 ? (enum verb)get : verb;
}

static bool
is_outside_key(const struct question *question)
{
    const struct apikey *key = question->key;
    const char *why = "";

    if (key == NULL)
        return false;
    if (!verbs_have(&key->verbs, key_verb(question->verb)))
        why = "the key does not have the verb";
    else if (!ref_is_none(key->subtree) &&
             judge_place(question, key->subtree) == question->depth &&
             (verb_op(question->verb) != VERB_OP_LIST ||
              !world_is_below(question->world, key->subtree,
                              question->object)))
        why = "outside the key's subtree";
    tell(question, ACCESS_CHECK_KEY, question->actor->credential, why);
    return why[0] != '\0';
}

/* --- grants --- */

static bool
level_holds(enum verb verb, enum kind node)
{
    switch (verb_level(verb)) {
    case VERB_LEVEL_PLATFORM:
        return node == KIND_PLATFORM;
    case VERB_LEVEL_TENANT:
        return node != KIND_PROJECT;
    case VERB_LEVEL_PROJECT:
        break;
    }
    return true;
}

/* Must the grant's node lie higher than it does? */
static bool
is_too_low(const struct question *question, unsigned place)
{
    bool top = place + 1 == question->depth;

    if (place < question->suspended)
        return true;
    return verb_is(question->verb, VERB_ABOVE) &&
           place <= governed_place(question) && !top;
}

static bool
role_has(const struct world *world, struct ref ref, enum verb verb)
{
    const struct role *role = world_role(world, ref);

    return role != NULL && verbs_have(&role->verbs, verb);
}

static bool
grant_has(const struct world *world, const struct grant *grant,
          enum verb verb)
{
    return verbs_have(&grant->use, verb) &&
           role_has(world, grant->role, verb);
}

/* As judge_bounds; the node is there. */
static bool
is_at_home(const struct world *world, const struct reach *reach)
{
    struct ref home = world_object(world, reach->holder)->scope;

    return home.kind == KIND_PLATFORM ||
           ref_equal(home, world_object(world, reach->node)->scope);
}

/* The grant itself is looked at last: most fail before, or are whole. */
static const char *
grant_fails(const struct question *question, const struct reach *reach)
{
    unsigned place = judge_place(question, reach->node);
    const struct grant *grant = NULL;

    if (place == question->depth)
        return "not on the path";
    if (!role_has(question->world, reach->role, question->verb))
        return "without the verb";
    if (!reach->whole) {
        grant = world_grant(question->world, reach->grant);
        if (!verbs_have(&grant->use, question->verb))
            return "without the verb";
    }
    if (!level_holds(question->verb, (enum kind)reach->node.kind) ||
        !is_at_home(question->world, reach))
        return "does not count on this node";
    if (is_too_low(question, place))
        return "must sit above";
    return grant == NULL ? "" : judge_conditions(question, grant);
}

bool
judge_key_reaches(const struct question *question)
{
    const struct apikey *key = question->key;
    struct ref within;

    if (key == NULL || ref_is_none(key->minter) ||
        ref_equal(key->minter, key->object.parent))
        return true;
    within = ref_is_none(key->subtree)
                 ? world_parent(question->world, key->object.parent)
                 : key->subtree;
    return judge_place(question, within) < question->depth;
}

bool
judge_stands(const struct question *question, const struct grant *grant,
             enum verb verb)
{
    unsigned place = judge_place(question, grant->object.parent);
    enum kind node = (enum kind)grant->object.parent.kind;

    return place < question->depth &&
           grant_has(question->world, grant, verb) &&
           level_holds(verb, node) && level_holds(question->verb, node) &&
           judge_bounds(question->world, grant) &&
           !is_too_low(question, place) &&
           grant->from_ms <= question->now_ms &&
           (grant->to_ms == 0 || question->now_ms < grant->to_ms) &&
           ref_is_none(grant->workorder);
}

static bool is_seconded(const struct question *question, int64_t people);

/* What mends a lack of proof cannot ask for it: a first second factor, and a
 * new password before it, take the proof that the person can give. */
static int64_t
proved_for(const struct question *question)
{
    const struct world *world = question->world;
    const struct actor *actor = question->actor;
    const struct session *session = world_session(world, actor->credential);

    if ((question->verb != VERB_USER_FACTOR &&
         question->verb != VERB_USER_PASSWORD) ||
        session == NULL || !ref_equal(question->object, actor->subject) ||
        proof_is_enrolled(world, actor->subject) ||
        proof_need(world, actor->subject) == FACTOR_OFF)
        return actor->proved_ms;
    return session->proved_ms;
}

static bool
is_proved(const struct question *question, int64_t age_ms)
{
    int64_t proved_ms = proved_for(question);

    return proved_ms > 0 && proved_ms <= question->now_ms &&
           question->now_ms - proved_ms <= age_ms;
}

bool
judge_has_factor(const struct question *question)
{
    const struct actor *actor = question->actor;
    const struct session *session =
        world_session(question->world, actor->credential);

    return actor->supposed || (session != NULL && session->factor_ms != 0);
}

enum access_outcome
judge_missing(const struct question *question, const struct grant *grant)
{
    if (grant->approval && verb_writes(question->verb) &&
        !is_seconded(question, 1))
        return ACCESS_APPROVAL;
    if ((grant->proof_ms > 0 && !is_proved(question, grant->proof_ms)) ||
        (grant->factor && !judge_has_factor(question)))
        return ACCESS_STEP_UP;
    return ACCESS_ALLOWED;
}

/* Some grant has the verb; *missing_out: what is to be brought about first,
 * if no grant goes without. */
static bool
is_granted(const struct question *question,
           enum access_outcome *missing_out)
{
    bool found = false;

    if (!judge_key_reaches(question))
        return false;
    reach_each(question->world, question->actor->subject, question->now_ms,
               reach) {
        const char *why = grant_fails(question, &reach);
        enum access_outcome missing = ACCESS_ALLOWED;

        if (why[0] == '\0' && !reach.whole)
            missing =
                judge_missing(question,
                              world_grant(question->world, reach.grant));
        tell(question, ACCESS_CHECK_GRANT, reach.grant,
             missing == ACCESS_STEP_UP    ? "needs a recent proof"
             : missing == ACCESS_APPROVAL ? "needs an approval"
                                          : why);
        /* What is least to bring about counts, whichever comes first. */
        if (why[0] != '\0' || (found && missing >= *missing_out))
            continue;
        question->verdict->grant = reach.grant;
        *missing_out = missing;
        found = true;
        if (missing == ACCESS_ALLOWED)
            break;
    }
    return found;
}

/* --- rights without a grant --- */

static bool
is_own(const struct question *question)
{
    unsigned place = judge_place(question, question->actor->subject);

    if (!verb_is(question->verb, VERB_SELF) || place == question->depth ||
        question->suspended > 0)
        return false;
    tell(question, ACCESS_CHECK_SELF, question->actor->subject, "");
    return true;
}

static bool
is_public(const struct question *question)
{
    const struct world *world = question->world;
    struct ref parent;

    if (!verb_is(question->verb, VERB_PUBLIC) || question->depth < 2 ||
        question->object.kind != verb_kind(question->verb) ||
        workorder_has(world, question->actor->subject))
        return false;
    parent = question->path[1];
    if (!world_is_below(world, question->actor->subject, parent) ||
        !judge_is_published(world, question->object,
                         world_scope(world, question->actor->subject)))
        return false;
    tell(question, ACCESS_CHECK_PUBLIC, question->object, "");
    return true;
}

static bool
counts_now(const struct question *question, const struct grant *grant)
{
    return judge_bounds(question->world, grant) &&
           judge_conditions(question, grant)[0] == '\0';
}

/* Is the object where the subject lives, or the way to one of its grants?
 * Such nodes may be known to be there; what is in them may not. */
static bool
is_on_the_way(const struct question *question)
{
    const struct world *world = question->world;
    struct ref object = question->object;

    if (question->key != NULL && !ref_is_none(question->key->subtree) &&
        judge_place(question, question->key->subtree) == question->depth &&
        !world_is_below(world, question->key->subtree, object))
        return false;
    if (world_is_below(world, question->actor->subject, object))
        return true;
    if (!is_node_kind((enum kind)object.kind))
        return false; /* no grant is there or below */
    reach_each(world, question->actor->subject, question->now_ms, reach)
        if (world_is_below(world, reach.node, object) &&
            counts_now(question, world_grant(world, reach.grant)))
            return true;
    return false;
}

/* --- guards --- */

/* Have others approved exactly this, or was the glass broken? */
static bool
is_seconded(const struct question *question, int64_t people)
{
    const struct actor *actor = question->actor;
    struct ref glass;

    if (actor->asking)
        return true;
    if (approval_covers(question->world, actor, question->verb,
                        question->object, people, question->now_ms)) {
        question->verdict->approval = actor->approval;
        return true;
    }
    glass = breakglass_active(question->world, actor->subject,
                              question->now_ms);
    if (!ref_is_none(glass))
        question->verdict->approval = glass;
    return !ref_is_none(glass);
}

static enum access_outcome
guard_outcome(const struct question *question)
{
    int64_t people = guard_people(question->world, question->verb);

    if (people > 0 && !is_seconded(question, people)) {
        tell(question, ACCESS_CHECK_GUARD, question->object, "approval");
        return ACCESS_APPROVAL;
    }
    if (guard_step_up(question->world, question->verb) &&
        !is_proved(question, ACCESS_STEP_UP_MS)) {
        tell(question, ACCESS_CHECK_GUARD, question->object, "step-up");
        return ACCESS_STEP_UP;
    }
    return ACCESS_ALLOWED;
}

/* --- the decision --- */

static bool is_limited(const struct question *question);
static enum access_outcome judge_object(const struct question *question);

/* The decision on getting the object.  Who asks and the path are known. */
static enum access_outcome
judge_get(const struct question *question)
{
    struct access_verdict verdict = { .outcome = ACCESS_NO_OBJECT };
    struct question get = *question;
    int verb = verb_of((enum kind)question->object.kind, VERB_OP_GET);

    if (verb < 0)
        return ACCESS_NO_OBJECT;
    get.trace = NULL;
    get.verdict = &verdict;
    get.verb = (enum verb)verb;
    return is_limited(&get) ? ACCESS_LIMITED : judge_object(&get);
}

bool
judge_sees(const struct question *question)
{
    return judge_get(question) == ACCESS_ALLOWED || is_on_the_way(question);
}

bool
judge_would_see(const struct question *question)
{
    enum access_outcome outcome = judge_get(question);

    return outcome == ACCESS_ALLOWED || outcome == ACCESS_STEP_UP;
}

static enum access_outcome
judge_agent(const struct question *question)
{
    bool own = verb_is(question->verb, VERB_AGENT) &&
               ref_equal(question->object, question->actor->subject);

    tell(question, ACCESS_CHECK_SELF, question->object,
         own ? "" : "not the agent's");
    return own ? ACCESS_ALLOWED : ACCESS_NO_GRANT;
}

/* Who sees the container may list it.  A key has been asked already: whether
 * it could get the container itself does not matter. */
static enum access_outcome
judge_list(const struct question *question)
{
    struct question container = *question;

    container.key = NULL;
    return judge_sees(&container) ? ACCESS_ALLOWED : ACCESS_NO_GRANT;
}

/* Agents' verbs are for agents; the others need a right of their own. */
static enum access_outcome
judge_right(const struct question *question)
{
    enum access_outcome missing = ACCESS_ALLOWED;

    if (verb_is(question->verb, VERB_AGENT))
        return ACCESS_NO_GRANT;
    if (verb_op(question->verb) == VERB_OP_LIST)
        return judge_list(question);
    if (is_own(question))
        return verb_is(question->verb, VERB_SELF_FREE) &&
                       question->key == NULL
                   ? ACCESS_ALLOWED
                   : guard_outcome(question);
    if (is_granted(question, &missing))
        return missing != ACCESS_ALLOWED ? missing : guard_outcome(question);
    return is_public(question) ? ACCESS_ALLOWED : ACCESS_NO_GRANT;
}

/* With a session that lacks something one mends that, or leaves. */
static bool
is_limited(const struct question *question)
{
    const struct actor *actor = question->actor;
    enum verb verb = question->verb;
    bool mends = verb == VERB_USER_GET || verb == VERB_USER_PASSWORD ||
                 verb == VERB_USER_FACTOR || verb == VERB_SESSION_GET ||
                 verb == VERB_SESSION_DELETE || verb == VERB_SESSION_CREATE;

    return proof_limit(question->world, actor->credential,
                       question->now_ms) != PROOF_FREE &&
           !(mends && world_is_below(question->world, question->object,
                                     actor->subject));
}

enum access_outcome
judge_decide(struct question *question)
{
    world_fetch(question->world, question->actor->subject, question->object);
    if (!judge_actor(question->world, question->actor, question->now_ms)) {
        tell(question, ACCESS_CHECK_ACTOR, question->actor->subject,
             "not alive");
        return ACCESS_NO_ACTOR;
    }
    if (is_limited(question)) {
        tell(question, ACCESS_CHECK_ACTOR, question->actor->subject,
             "limited");
        return ACCESS_LIMITED;
    }
    tell(question, ACCESS_CHECK_ACTOR, question->actor->subject, "");
    return judge_path(question) ? judge_object(question) : ACCESS_NO_OBJECT;
}

static enum access_outcome
judge_object(const struct question *question)
{
    if (question->actor->kind == ACTOR_AGENT)
        return judge_agent(question);
    if (question->suspended > 0 && !winds_down(question->verb))
        return ACCESS_SUSPENDED;
    if (is_denied(question))
        return ACCESS_DENY;
    if (is_over_ceiling(question))
        return ACCESS_CEILING;
    if (is_outside_key(question))
        return ACCESS_KEY;
    return judge_right(question);
}

struct question
judge_ask(const struct world *world, const struct actor *actor,
          enum verb verb, struct ref object, int64_t now_ms,
          struct access_verdict *verdict)
{
    struct question question = {
        .world = world,
        .actor = actor,
        .key = world_apikey(world, actor->credential),
        .verb = verb,
        .object = object,
        .now_ms = now_ms,
        .verdict = verdict,
    };

    *verdict = (struct access_verdict){ .outcome = ACCESS_NO_ACTOR };
    return question;
}
