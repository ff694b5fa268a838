/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SIMULATE_FORMULA_H
#define TESTS_SIMULATE_FORMULA_H

#include "core/network.h"
#include "tests/simulate/hits.h"
#include "tests/simulate/lab.h"

/*
 * The formula of access.h once more, slow and straight from the words: it
 * looks at every grant, deny, ceiling and membership of the world, and shares
 * nothing with the code but what a verb is and how networks are written.
 */

static inline enum state
state_of(const struct world *world, struct ref ref)
{
    const struct field *field =
        schema_field((enum kind)ref.kind, "state");

    if (ref.kind != KIND_TENANT && ref.kind != KIND_UNIT &&
        ref.kind != KIND_PROJECT && ref.kind != KIND_USER &&
        ref.kind != KIND_SERVICEACCOUNT)
        return STATE_ACTIVE;
    return *(const enum state *)field_at(field, world_get(world, ref));
}

static inline bool
alive(const struct world *world, struct ref ref, enum state worst)
{
    for (; !ref_is_none(ref); ref = world_parent(world, ref))
        if (world_get(world, ref) == NULL || state_of(world, ref) > worst)
            return false;
    return true;
}

static inline struct ref
governed(const struct world *world, enum verb verb, struct ref object)
{
    return verb_op(verb) == VERB_OP_CREATE ? object
                                           : world_parent(world, object);
}

static inline bool
denied_or_capped(const struct world *world, enum verb verb, struct ref object)
{
    bool above = verb_is(verb, VERB_ABOVE);

    world_each(world, KIND_DENY, ref)
        if (world_is_below(world, object, world_parent(world, ref)) &&
            verbs_have(&world_deny(world, ref)->verbs, verb)) {
            hit(HIT_DENY);
            return true;
        }
    if (verb_level(verb) == VERB_LEVEL_PLATFORM)
        return false;
    world_each(world, KIND_CEILING, ref) {
        struct ref node = world_parent(world, ref);
        struct ref bound = governed(world, verb, object);

        if (!world_is_below(world, object, node) ||
            verbs_have(&world_ceiling(world, ref)->verbs, verb))
            continue;
        if (!above || (world_is_below(world, bound, node) &&
                       !ref_equal(bound, node))) {
            hit(HIT_CEILING);
            return true;
        }
        hit(HIT_ABOVE);
    }
    return false;
}

/* Of the subject itself, or of a group with it in. */
static inline bool
is_of(const struct lab *lab, const struct grant *grant, struct ref subject)
{
    const struct world *world = lab->p.world;

    if (ref_equal(grant->subject, subject))
        return true;
    world_each(world, KIND_MEMBER, ref) {
        const struct membership *member = world_membership(world, ref);

        if (!ref_equal(member->subject, subject) ||
            !ref_equal(member->object.parent, grant->subject))
            continue;
        if (member->to_ms == 0 || lab->p.now_ms < member->to_ms)
            return true;
        hit(HIT_MEMBER_OVER);
    }
    return false;
}

static inline bool
miss(enum hit why)
{
    hit(why);
    return false;
}

static inline bool
is_alone(const struct lab *lab, const struct actor *actor)
{
    world_each_child(lab->p.world, KIND_BREAKGLASS, actor->subject, ref)
        if (world_breakglass(lab->p.world, ref)->to_ms > lab->p.now_ms)
            return true;
    return false; /* there are no approvals here */
}

static inline bool
is_proved(const struct lab *lab, const struct actor *actor, int64_t age_ms)
{
    return actor->proved_ms > 0 && lab->p.now_ms - actor->proved_ms <= age_ms;
}

/* All of a grant's own conditions. */
static inline bool
conditions_hold(const struct lab *lab, const struct actor *actor,
                const struct grant *grant, enum verb verb)
{
    const struct session *session =
        world_session(lab->p.world, actor->credential);

    if (lab->p.now_ms < grant->from_ms)
        return miss(HIT_GRANT_EARLY);
    if (grant->to_ms != 0 && lab->p.now_ms >= grant->to_ms)
        return miss(HIT_GRANT_LATE);
    if (!network_match(grant->sources, actor->source))
        return miss(HIT_GRANT_NETWORK);
    if (grant->proof_ms > 0 && !is_proved(lab, actor, grant->proof_ms))
        return miss(HIT_GRANT_PROOF);
    if (grant->factor && (session == NULL || session->factor_ms == 0))
        return miss(HIT_GRANT_FACTOR);
    if (grant->approval && verb_writes(verb) && !is_alone(lab, actor))
        return miss(HIT_GRANT_APPROVAL);
    return true;
}

/* Where the grant sits, seen from the object. */
static inline bool
place_holds(const struct lab *lab, const struct actor *actor,
            const struct grant *grant, enum verb verb, struct ref object)
{
    const struct world *world = lab->p.world;
    struct ref node = grant->object.parent;
    struct ref home = world_scope(world, actor->subject);
    struct ref bound = governed(world, verb, object);

    if (home.kind == KIND_TENANT && !ref_equal(world_scope(world, node), home))
        return miss(HIT_GRANT_HOME);
    for (struct ref at = object; !ref_is_none(at);
         at = world_parent(world, at))
        if (state_of(world, at) == STATE_SUSPENDED &&
            world_is_below(world, node, at))
            return miss(HIT_GRANT_BELOW);
    if (verb_is(verb, VERB_ABOVE) && node.kind != KIND_PLATFORM &&
        (!world_is_below(world, bound, node) || ref_equal(bound, node)))
        return miss(HIT_GRANT_ABOVE);
    return true;
}

static inline bool
grant_counts(const struct lab *lab, const struct actor *actor,
             const struct grant *grant, enum verb verb, struct ref object)
{
    const struct role *role = world_role(lab->p.world, grant->role);
    struct verbs level = verbs_for((enum kind)grant->object.parent.kind);

    if (!is_of(lab, grant, actor->subject))
        return false;
    if (!world_is_below(lab->p.world, object, grant->object.parent))
        return miss(HIT_GRANT_PLACE);
    if (!verbs_have(&role->verbs, verb))
        return miss(HIT_GRANT_VERB);
    if (!verbs_have(&grant->use, verb))
        return miss(HIT_GRANT_MASK);
    if (!verbs_have(&level, verb))
        return miss(HIT_GRANT_LEVEL);
    return place_holds(lab, actor, grant, verb, object) &&
           conditions_hold(lab, actor, grant, verb);
}

/* Some grant that has the verb here and now, or none. */
static inline struct ref
oracle_grant(const struct lab *lab, const struct actor *actor, enum verb verb,
             struct ref object)
{
    world_each(lab->p.world, KIND_GRANT, ref)
        if (grant_counts(lab, actor, world_grant(lab->p.world, ref), verb,
                         object))
            return ref;
    return (struct ref){ 0 };
}

static inline bool
guard_holds(const struct lab *lab, const struct actor *actor, enum verb verb)
{
    enum verb_guard guard = verb_guard(verb);

    if ((guard == VERB_GUARD_STEP_UP || guard == VERB_GUARD_BOTH) &&
        !is_proved(lab, actor, ACCESS_STEP_UP_MS))
        return miss(HIT_STEP_UP);
    if ((guard == VERB_GUARD_SECOND || guard == VERB_GUARD_BOTH) &&
        !is_alone(lab, actor))
        return miss(HIT_SECOND);
    return true;
}

static inline bool
key_holds(const struct lab *lab, const struct actor *actor, enum verb verb,
          struct ref object)
{
    const struct apikey *key = world_apikey(lab->p.world, actor->credential);

    if (key == NULL)
        return true;
    if (!verbs_have(&key->verbs, verb))
        return miss(HIT_KEY_VERB);
    if (!ref_is_none(key->subtree) &&
        !world_is_below(lab->p.world, object, key->subtree))
        return miss(HIT_KEY_SUBTREE);
    return true;
}

/* For verbs that a grant is needed for: not self, public, list or agent. */
static inline bool
oracle(const struct lab *lab, const struct actor *actor, enum verb verb,
       struct ref object)
{
    const struct world *world = lab->p.world;
    enum verb_op op = verb_op(verb);
    bool down = op == VERB_OP_GET || op == VERB_OP_UPDATE ||
                op == VERB_OP_DELETE || verb_is(verb, VERB_WINDS_DOWN);
    struct ref grant;

    if (!alive(world, actor->subject, STATE_ACTIVE))
        return miss(HIT_DEAD_SUBJECT);
    if (!alive(world, object, down ? STATE_SUSPENDED : STATE_ACTIVE))
        return miss(HIT_DEAD_NODE);
    if (!key_holds(lab, actor, verb, object) ||
        denied_or_capped(world, verb, object))
        return false;
    grant = oracle_grant(lab, actor, verb, object);
    if (ref_is_none(grant) || !guard_holds(lab, actor, verb))
        return false;
    if (world_grant(world, grant)->subject.kind == KIND_GROUP)
        hit(HIT_BY_GROUP);
    hit(HIT_ALLOWED);
    return true;
}

static inline bool
needs_a_grant(enum verb verb)
{
    return !verb_is(verb, VERB_SELF) && !verb_is(verb, VERB_PUBLIC) &&
           !verb_is(verb, VERB_AGENT) && verb_op(verb) != VERB_OP_LIST;
}

#endif
