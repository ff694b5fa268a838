/* SPDX-License-Identifier: Apache-2.0 */
#include "core/access.h"

#include "core/judge.h"
#include "core/network.h"
#include "core/reach.h"

/* Who may hand out what, and control whom; see access.h. */

static bool
ends_within(const struct reach *reach, int64_t to_ms)
{
    int64_t end_ms = reach_end(reach);

    return end_ms == 0 || (to_ms != 0 && to_ms <= end_ms);
}

/* use: what the grant lets do; else what it lets hand out. */
static struct verbs
grant_verbs(const struct world *world, const struct grant *grant, bool use)
{
    const struct role *role = world_role(world, grant->role);
    struct verbs none = { { 0 } };

    if (role == NULL)
        return none;
    return use ? verbs_and(role->verbs, grant->use)
               : verbs_and(role->give, grant->give);
}

/* Does an offer keep to all conditions of the grant that it would come from?
 * One that is bound to devices or to a work order gives nothing away. */
static bool
is_within(const struct question *question, const struct reach *reach,
          const struct offer *offer)
{
    const struct grant *grant = world_grant(question->world, reach->grant);
    int64_t age_ms = question->now_ms - question->actor->proved_ms;

    if (!ends_within(reach, offer->to_ms) || grant->devices != NULL ||
        !ref_is_none(grant->workorder) ||
        !network_within(offer->sources, grant->sources))
        return false;
    if (grant->proof_ms > 0 &&
        (offer->proof_ms == 0 || offer->proof_ms > grant->proof_ms ||
         question->actor->proved_ms == 0 || age_ms > grant->proof_ms))
        return false;
    if (grant->factor && (!offer->factor || !judge_has_factor(question)))
        return false;
    return !grant->approval || offer->approval;
}

/*
 * Verbs that the actor's grants on the path of a node have, by those grants
 * alone that hold now and, for an offer, bound it.
 */
static struct verbs
collect(const struct question *question, bool use, const struct offer *offer)
{
    struct verbs sum = { { 0 } };

    reach_each(question->world, question->actor->subject, question->now_ms,
               reach) {
        unsigned place = judge_place(question, reach.node);
        const struct grant *grant;

        if (place == question->depth || place < question->suspended)
            continue;
        grant = world_grant(question->world, reach.grant);
        if (!judge_bounds(question->world, grant) ||
            judge_conditions(question, grant)[0] != '\0')
            continue;
        if (offer != NULL && !is_within(question, &reach, offer))
            continue;
        sum = verbs_or(sum, verbs_and(grant_verbs(question->world, grant, use),
                                      verbs_for((enum kind)grant->object
                                                    .parent.kind)));
    }
    return sum;
}

static struct verbs
ceiling_of(const struct question *question)
{
    struct verbs all = verbs_all();

    for (unsigned i = 0; i < question->depth; i++)
        world_each_child(question->world, KIND_CEILING, question->path[i], ref)
            all = verbs_and(all,
                            world_ceiling(question->world, ref)->verbs);
    return all;
}

/* What the actor's key leaves, on this node. */
static struct verbs
key_leaves(const struct question *question)
{
    const struct apikey *key = question->key;
    struct verbs none = { { 0 } };

    if (key == NULL)
        return verbs_all();
    if (!ref_is_none(key->subtree) &&
        judge_place(question, key->subtree) == question->depth)
        return none;
    if (!judge_key_reaches(question))
        return none;
    return key->verbs;
}

static struct verbs
rights(const struct world *world, const struct actor *actor, struct ref node,
       bool use, const struct offer *offer, int64_t now_ms)
{
    struct access_verdict verdict;
    struct question question = judge_ask(world, actor, VERB_GRANT_CREATE,
                                         node, now_ms, &verdict);
    struct verbs none = { { 0 } };

    if (!judge_actor(world, actor, now_ms) || !judge_path(&question) ||
        actor->kind == ACTOR_AGENT)
        return none;
    return verbs_and(collect(&question, use, offer), key_leaves(&question));
}

static struct verbs
ceiling_on(const struct world *world, struct ref node)
{
    struct access_verdict verdict;
    struct actor nobody = { .kind = ACTOR_NONE };
    struct question question = judge_ask(world, &nobody, VERB_GRANT_CREATE,
                                         node, 0, &verdict);
    struct verbs none = { { 0 } };

    return judge_path(&question) ? ceiling_of(&question) : none;
}

struct verbs
access_use(const struct world *world, const struct actor *actor,
           struct ref node, int64_t now_ms)
{
    return verbs_and(rights(world, actor, node, true, NULL, now_ms),
                     ceiling_on(world, node));
}

struct verbs
access_give(const struct world *world, const struct actor *actor,
            struct ref node, int64_t now_ms)
{
    return verbs_and(rights(world, actor, node, false, NULL, now_ms),
                     ceiling_on(world, node));
}

struct verbs
access_may_mint(const struct world *world, const struct actor *actor,
                struct ref node, const struct offer *offer,
                int64_t now_ms)
{
    struct verbs may = rights(world, actor, node, true, offer, now_ms);

    /* What is published takes no right, and to list takes that to get. */
    for (unsigned i = 0; i < VERB_COUNT; i++) {
        int get = verb_of(verb_kind((enum verb)i), VERB_OP_GET);

        if (verb_is((enum verb)i, VERB_PUBLIC) ||
            (verb_op((enum verb)i) == VERB_OP_LIST && get >= 0 &&
             verbs_have(&may, (enum verb)get)))
            verbs_add(&may, (enum verb)i);
    }
    return verbs_and(may, ceiling_on(world, node));
}

int
access_delegate_check(const struct world *world, const struct actor *actor,
                      struct ref node, const struct offer *offer,
                      int64_t now_ms, struct error *err)
{
    struct verbs may = rights(world, actor, node, false, offer, now_ms);
    struct verbs over = verbs_minus(offer->verbs, may);

    if (!verbs_empty(over))
        return error_set(err, ERROR_DENIED,
                         "%s is not yours to hand out here for that long "
                         "and from there",
                         verb_name(verbs_first(over)));
    over = verbs_minus(offer->verbs, ceiling_on(world, node));
    if (!verbs_empty(over))
        return error_set(err, ERROR_DENIED, "%s is above the ceiling here",
                         verb_name(verbs_first(over)));
    return 0;
}

/* What a subject may do and hand out by one grant, as an offer. */
static struct offer
grant_offer(const struct world *world, const struct reach *reach)
{
    const struct grant *grant = world_grant(world, reach->grant);
    int64_t left_ms = reach_end(reach);
    struct verbs verbs = verbs_or(grant_verbs(world, grant, true),
                                  grant_verbs(world, grant, false));

    return (struct offer){ .verbs = verbs,
                           .from_ms = grant->from_ms,
                           .to_ms = left_ms,
                           .sources = grant->sources,
                           .proof_ms = grant->proof_ms,
                           .approval = grant->approval,
                           .factor = grant->factor };
}

int
access_control_check(const struct world *world, const struct actor *actor,
                     struct ref target, int64_t now_ms, struct error *err)
{
    if (ref_equal(actor->subject, target))
        return 0;
    reach_each(world, target, now_ms, reach) {
        const struct grant *grant = world_grant(world, reach.grant);
        struct offer offer = grant_offer(world, &reach);
        struct verbs may;

        if (grant->to_ms != 0 && grant->to_ms <= now_ms)
            continue;
        may = rights(world, actor, grant->object.parent, false, &offer,
                     now_ms);
        if (!verbs_within(offer.verbs, may))
            return error_set(err, ERROR_DENIED,
                             "this subject holds rights that are not yours "
                             "to hand out");
    }
    return 0;
}
