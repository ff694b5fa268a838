/* SPDX-License-Identifier: Apache-2.0 */
#include "core/access.h"

#include <assert.h>
#include <string.h>

#include "core/approval.h"
#include "core/judge.h"
#include "core/proof.h"
#include "core/reach.h"
#include "core/workorder.h"

/* --- the sealed proof --- */

#define SEAL UINT64_C(0x6772616e7465642e)

/* may_alias: it lies in the bytes of struct granted. */
struct __attribute__((may_alias)) seal {
    uint64_t mark;
    const struct world *world;
    struct actor actor;
    enum verb verb;
    struct ref object;
    struct ref grant;
    struct ref approval;
    int64_t now_ms;
};
_Static_assert(sizeof(struct seal) <= sizeof(struct granted),
               "the seal fits");

static const struct seal *
unseal(const struct granted *granted)
{
    const struct seal *seal = (const void *)granted->sealed;

    assert(seal->mark == SEAL);
    return seal;
}

const struct world *
granted_world(const struct granted *granted)
{
    return unseal(granted)->world;
}

const struct actor *
granted_actor(const struct granted *granted)
{
    const struct seal *seal = unseal(granted);

    return (const struct actor *)&seal->actor;
}

enum verb
granted_verb(const struct granted *granted)
{
    return unseal(granted)->verb;
}

struct ref
granted_object(const struct granted *granted)
{
    return unseal(granted)->object;
}

struct ref
granted_grant(const struct granted *granted)
{
    return unseal(granted)->grant;
}

struct ref
granted_approval(const struct granted *granted)
{
    return unseal(granted)->approval;
}

int64_t
granted_now_ms(const struct granted *granted)
{
    return unseal(granted)->now_ms;
}

bool
granted_is_platform(const struct granted *granted)
{
    const struct seal *seal = unseal(granted);

    return world_scope(seal->world, seal->actor.subject).kind ==
               KIND_PLATFORM &&
           !workorder_has(seal->world, seal->actor.subject);
}

/* --- who --- */

bool
access_is_alive(const struct world *world, struct ref subject)
{
    const struct object *object = world_object(world, subject);

    while (object != NULL && judge_state(object) == STATE_ACTIVE) {
        if (ref_is_none(object->parent))
            return true;
        object = world_object(world, object->parent);
    }
    return false;
}

bool
access_may_log_in(const struct world *world, struct ref user, int64_t now_ms)
{
    const struct user *person = world_user(world, user);

    return person != NULL && access_is_alive(world, user) &&
           workorder_admits(world, user, now_ms) &&
           person->locked_ms <= now_ms;
}

struct actor
access_agent(struct ref node, const char *source)
{
    struct actor actor = { .kind = ACTOR_AGENT, .subject = node };

    (void)snprintf(actor.source, sizeof(actor.source), "%s", source);
    return actor;
}

struct actor
access_suppose(struct ref subject, int64_t now_ms)
{
    return (struct actor){ .kind = subject.kind == KIND_SERVICEACCOUNT
                                       ? ACTOR_SERVICEACCOUNT
                                       : ACTOR_USER,
                           .subject = subject,
                           .proved_ms = now_ms,
                           .supposed = true };
}

/* Both tables are always asked, so that the time does not tell which kind of
 * token was tried. */
int
access_authenticate(const struct world *world, const uint8_t token_digest[32],
                    const char *source, int64_t now_ms,
                    struct actor *actor_out, struct error *err)
{
    struct ref at = world_find_digest(world, KIND_SESSION, token_digest);
    struct ref key = world_find_digest(world, KIND_APIKEY, token_digest);
    const struct apikey *minted = world_apikey(world, key);
    struct actor actor = { .credential = ref_is_none(key) ? at : key };

    actor.subject = world_parent(world, actor.credential);
    actor.kind = actor.subject.kind == KIND_SERVICEACCOUNT
                     ? ACTOR_SERVICEACCOUNT
                     : ACTOR_USER;
    actor.proved_ms = proof_ms(world, actor.credential);
    actor.old_secret =
        minted != NULL && memcmp(minted->digest, token_digest,
                                 sizeof(minted->digest)) != 0;
    (void)snprintf(actor.source, sizeof(actor.source), "%s", source);
    if (!judge_actor(world, &actor, now_ms))
        return error_set(err, ERROR_UNAUTHENTICATED,
                         "the credential is not valid");
    *actor_out = actor;
    return 0;
}

/* --- the decision --- */

void
access_judge(const struct world *world, const struct actor *actor,
             enum verb verb, struct ref object, int64_t now_ms,
             access_trace *trace, void *context,
             struct access_verdict *verdict_out)
{
    struct question question = judge_ask(world, actor, verb, object, now_ms,
                                         verdict_out);

    question.trace = trace;
    question.context = context;
    verdict_out->outcome = judge_decide(&question);
}

int
access_not_found(struct error *err)
{
    return error_set(err, ERROR_NOT_FOUND, "there is no such object");
}

/* What somebody lacks who may do nothing else yet. */
static int
refuse_limited(const struct question *question, struct error *err)
{
    switch (proof_limit(question->world, question->actor->credential,
                        question->now_ms)) {
    case PROOF_FREE:
        break;
    case PROOF_PASSWORD:
        error_set(err, ERROR_STEP_UP,
                  "the password has to be changed before anything else");
        return error_help(err, "set one of your own: `bulkhead passwd NAME`, "
                               "POST /users/{user}/password");
    case PROOF_ENROL:
        error_set(err, ERROR_STEP_UP,
                  "a second factor is required here, and you have none");
        return error_help(err, "`bulkhead enrol factor`, POST /factor");
    case PROOF_CODE:
        break;
    }
    error_set(err, ERROR_STEP_UP,
              "this session has not shown the second factor yet");
    return error_help(err, "`bulkhead stepup`, POST /stepup with a code");
}

/* The grant that has the verb is for sessions with a second factor. */
static int
refuse_without_factor(const struct question *question, struct error *err)
{
    error_set(err, ERROR_STEP_UP,
              "%s is yours in a session that has shown a second factor",
              verb_name(question->verb));
    if (!proof_is_enrolled(question->world, question->actor->subject))
        return error_help(err, "enrol one, then show it: `bulkhead enrol "
                               "factor`, `bulkhead stepup`");
    return error_help(err, "show it and repeat: `bulkhead stepup`, POST "
                           "/stepup with a code");
}

static int
refuse_unproved(const struct question *question, struct error *err)
{
    const struct world *world = question->world;
    struct ref subject = question->actor->subject;
    const struct grant *grant = world_grant(world, question->verdict->grant);

    if (grant != NULL && grant->factor && !judge_has_factor(question))
        return refuse_without_factor(question, err);
    error_set(err, ERROR_STEP_UP,
              "%s needs a proof of identity within the last 5 minutes",
              verb_name(question->verb));
    if (proof_need(world, subject) != FACTOR_OFF &&
        !proof_is_enrolled(world, subject))
        return error_help(err, "a second factor is required for it: "
                               "`bulkhead enrol factor`, then repeat");
    return error_help(err, "prove your identity again and repeat: "
                           "`bulkhead stepup`, POST /stepup");
}

/* Who would see the object after a proof of identity may know that. */
static bool
is_proof_missing(const struct question *question, enum access_outcome outcome)
{
    return outcome == ACCESS_STEP_UP && judge_would_see(question);
}

/* Says no: what is not visible was never there. */
static int
refuse(const struct question *question, enum access_outcome outcome,
       struct error *err)
{
    const char *name = verb_name(question->verb);

    if (outcome == ACCESS_NO_ACTOR)
        return error_set(err, ERROR_UNAUTHENTICATED,
                         "the credential is not valid");
    if (outcome == ACCESS_LIMITED)
        return refuse_limited(question, err);
    if (outcome == ACCESS_NO_OBJECT ||
        (!is_proof_missing(question, outcome) && !judge_sees(question)))
        return access_not_found(err);
    if (outcome == ACCESS_STEP_UP)
        return refuse_unproved(question, err);
    if (outcome == ACCESS_APPROVAL)
        return approval_needed(question->world, question->verb, err);
    if (outcome == ACCESS_SUSPENDED)
        return error_set(err, ERROR_DENIED,
                         "%s is not possible while this is suspended", name);
    return error_set(err, ERROR_DENIED, "%s is not permitted here", name);
}

static void
seal_up(const struct question *question, struct granted *out)
{
    struct seal *seal = (void *)out->sealed;

    memset(out, 0, sizeof(*out));
    seal->mark = SEAL;
    seal->world = question->world;
    memcpy(&seal->actor, question->actor, sizeof(seal->actor));
    seal->verb = question->verb;
    seal->object = question->object;
    seal->grant = question->verdict->grant;
    seal->approval = question->verdict->approval;
    seal->now_ms = question->now_ms;
}

int
access_decide(const struct world *world, const struct actor *actor,
              enum verb verb, struct ref object, int64_t now_ms,
              struct granted *granted_out, struct error *err)
{
    struct access_verdict verdict;
    struct question question = judge_ask(world, actor, verb, object, now_ms,
                                         &verdict);

    assert(!actor->supposed);
    verdict.outcome = judge_decide(&question);
    if (verdict.outcome != ACCESS_ALLOWED)
        return refuse(&question, verdict.outcome, err);
    seal_up(&question, granted_out);
    return 0;
}

bool
access_can(const struct world *world, const struct actor *actor,
           enum verb verb, struct ref object, int64_t now_ms)
{
    struct access_verdict verdict;

    access_judge(world, actor, verb, object, now_ms, NULL, NULL, &verdict);
    return verdict.outcome == ACCESS_ALLOWED;
}

bool
access_sees(const struct world *world, const struct actor *actor,
            struct ref object, int64_t now_ms)
{
    int verb = verb_of((enum kind)object.kind, VERB_OP_GET);

    return verb >= 0 &&
           access_can(world, actor, (enum verb)verb, object, now_ms);
}

bool
access_visible(const struct granted *granted, struct ref object)
{
    return access_sees(granted_world(granted), granted_actor(granted), object,
                       granted_now_ms(granted));
}

struct access_audience
access_audience(const struct world *world, struct ref object)
{
    return judge_audience(world, object);
}

/* Asked of the parent, the decision says ACCESS_NO_GRANT when only a grant is
 * missing; a published object needs none. */
bool
access_saw(const struct granted *granted, enum kind kind, struct ref parent,
           struct id id, const struct access_audience *audience)
{
    const struct world *world = granted_world(granted);
    const struct actor *actor = granted_actor(granted);
    int verb = verb_of(kind, VERB_OP_GET);
    struct access_verdict verdict;

    if (verb < 0)
        return false;
    access_judge(world, actor, (enum verb)verb, parent,
                 granted_now_ms(granted), NULL, NULL, &verdict);
    if (verdict.outcome != ACCESS_NO_GRANT || !audience->known)
        return verdict.outcome == ACCESS_ALLOWED;
    return world_is_below(world, actor->subject, parent) &&
           judge_reaches(world, kind, id, audience,
                         world_scope(world, actor->subject));
}

/* --- long lists --- */

/* Does some grant of the actor tell one device from its siblings? */
static bool
has_devices(const struct world *world, const struct actor *actor,
            int64_t now_ms)
{
    reach_each(world, actor->subject, now_ms, reach)
        if (world_grant(world, reach.grant)->devices != NULL)
            return true;
    return false;
}

struct access_view
access_view(const struct granted *granted)
{
    const struct world *world = granted_world(granted);
    const struct actor *actor = granted_actor(granted);

    return (struct access_view){ .world = world,
                                 .actor = actor,
                                 .now_ms = granted_now_ms(granted),
                                 .alone = has_devices(
                                     world, actor,
                                     granted_now_ms(granted)) };
}

/* No state, grant, deny or ceiling lies on these, no subject is one, and they
 * are not published to some only.  Only a key may end at one of them. */
static bool
decides_as_siblings(const struct access_view *view, struct ref object)
{
    const struct apikey *key =
        world_apikey(view->world, view->actor->credential);

    if (view->alone)
        return false;
    if (object.kind != KIND_WORKLOAD && object.kind != KIND_INSTANCE &&
        object.kind != KIND_BINDING && object.kind != KIND_CARD &&
        object.kind != KIND_VOLUME && object.kind != KIND_ALARM)
        return false;
    return (key == NULL || key->subtree.kind != object.kind) &&
           world_get(view->world, object) != NULL;
}

bool
access_view_can(struct access_view *view, enum verb verb, struct ref object)
{
    const size_t room = sizeof(view->known) / sizeof(*view->known);
    struct access_known *known;
    struct ref parent;

    if (!decides_as_siblings(view, object))
        return access_can(view->world, view->actor, verb, object,
                          view->now_ms);
    parent = world_parent(view->world, object);
    for (size_t i = 0; i < room; i++) {
        known = &view->known[i];
        if (known->kind == object.kind && known->verb == (int)verb &&
            ref_equal(known->parent, parent))
            return known->can;
    }
    known = &view->known[view->next++ % room];
    *known = (struct access_known){
        parent, object.kind, (int)verb,
        access_can(view->world, view->actor, verb, object, view->now_ms)
    };
    return known->can;
}

bool
access_view_sees(struct access_view *view, struct ref object)
{
    if (view->kind != object.kind) {
        view->kind = object.kind;
        view->get = verb_of((enum kind)object.kind, VERB_OP_GET);
    }
    return view->get >= 0 &&
           access_view_can(view, (enum verb)view->get, object);
}

const char *
access_outcome_text(enum access_outcome outcome)
{
    static const char *const texts[] = {
        [ACCESS_ALLOWED] = "allowed",     [ACCESS_NO_ACTOR] = "no actor",
        [ACCESS_NO_OBJECT] = "no object", [ACCESS_SUSPENDED] = "suspended",
        [ACCESS_DENY] = "deny",           [ACCESS_CEILING] = "ceiling",
        [ACCESS_KEY] = "key",             [ACCESS_NO_GRANT] = "no grant",
        [ACCESS_STEP_UP] = "step-up",     [ACCESS_APPROVAL] = "approval",
        [ACCESS_LIMITED] = "limited",
    };

    return texts[outcome];
}

/* --- explaining --- */

struct viewing {
    const struct granted *viewer;
    access_trace *trace;
    void *context;
};

static void
tell_viewer(void *context, enum access_check check, struct ref ref,
            bool passed, const char *why)
{
    const struct viewing *viewing = context;
    struct ref none = { 0 };

    viewing->trace(viewing->context, check,
                   access_visible(viewing->viewer, ref) ? ref : none, passed,
                   why);
}

void
access_explain(const struct granted *viewer, const struct actor *actor,
               enum verb verb, access_trace *trace, void *context,
               struct access_verdict *verdict_out)
{
    struct viewing viewing = { viewer, trace, context };

    access_judge(granted_world(viewer), actor, verb, granted_object(viewer),
                 granted_now_ms(viewer), tell_viewer, &viewing, verdict_out);
}

bool
access_has_role(const struct world *world, const struct actor *actor,
                const struct grant *grant, struct ref object, int64_t now_ms)
{
    struct access_verdict verdict = { 0 };
    struct question question = judge_ask(
        world, actor, VERB_WORKLOAD_CREATE, object, now_ms, &verdict);

    return judge_path(&question) &&
           judge_place(&question, grant->object.parent) < question.depth &&
           judge_key_reaches(&question) && judge_bounds(world, grant) &&
           judge_conditions(&question, grant)[0] == '\0' &&
           judge_missing(&question, grant) == ACCESS_ALLOWED;
}
