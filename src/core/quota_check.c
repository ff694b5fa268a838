/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "core/quota.h"

/* Are the numbers of a quota consistent with the tree?  See quota.h. */

static int64_t
plus(int64_t a, int64_t b)
{
    int64_t sum;

    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* Milli-cards that one tenant may get; AMOUNT_MAX before there are cards. */
static int64_t
most_of(const struct world *world, struct ref pool)
{
    const struct platform *platform =
        world_platform(world, world_platform_ref(world));
    int64_t cards = 0;

    world_each(world, KIND_CARD, ref)
        cards += ref_is_none(pool) ||
                 ref_equal(world_ancestor(world, KIND_POOL, ref), pool);
    return cards > 0 ? cards * platform->tenant_limit_permille : AMOUNT_MAX;
}

static bool
same_scope(const struct quota *a, const struct quota *b)
{
    return a->dimension == b->dimension && ref_equal(a->pool, b->pool) &&
           ref_equal(a->class, b->class);
}

/* The quota of the same scope at a node, but not self; NULL without one. */
static const struct quota *
peer_at(const struct changes *changes, struct ref node,
        const struct quota *self)
{
    world_each_child(changes->world, KIND_QUOTA, node, ref) {
        const struct quota *quota = change_get(changes, ref);

        if (quota != NULL && !ref_equal(ref, self->object.self) &&
            same_scope(quota, self))
            return quota;
    }
    return NULL;
}

/* The nearest quota of the same scope above a node. */
static const struct quota *
peer_above(const struct changes *changes, struct ref node,
           const struct quota *self)
{
    const struct quota *quota = NULL;

    while (quota == NULL && !ref_is_none(node)) {
        node = world_parent(changes->world, node);
        if (!ref_is_none(node))
            quota = peer_at(changes, node, self);
    }
    return quota;
}

/* Where the quota at a node leans: the node of the nearest one of the same
 * scope above it, self's counted; none without one. */
static struct ref
leans_on(const struct changes *changes, struct ref node,
         const struct quota *self)
{
    do
        node = world_parent(changes->world, node);
    while (!ref_is_none(node) &&
           !ref_equal(node, self->object.parent) &&
           peer_at(changes, node, self) == NULL);
    return node;
}

/* Guarantees of the same scope right below a node, self's new one counted:
 * those that lean on it (on the platform: those of tenants too). */
static int64_t
guaranteed_below(const struct changes *changes, struct ref node,
                 const struct quota *self)
{
    int64_t sum = self->guaranteed;

    world_each(changes->world, KIND_QUOTA, ref) {
        const struct quota *quota = change_get(changes, ref);
        struct ref above;

        if (quota == NULL || ref_equal(ref, self->object.self) ||
            !same_scope(quota, self) ||
            ref_equal(quota->object.parent, node) ||
            !world_is_below(changes->world, quota->object.parent, node))
            continue;
        above = leans_on(changes, quota->object.parent, self);
        if (ref_is_none(above) ? quota->object.parent.kind == KIND_TENANT
                               : ref_equal(above, node))
            sum = plus(sum, quota->guaranteed);
    }
    return sum;
}

/* --- what all tenants are guaranteed, and what there is --- */

/* Cards of one pool (none: of all) that match a class (none: any). */
struct scope {
    struct ref pool, class;
};

static bool
card_in(const struct changes *changes, const struct scope *scope,
        struct ref ref, const struct card *card)
{
    const struct class *class = world_class(changes->world, scope->class);

    if (!ref_is_none(scope->pool) &&
        !ref_equal(world_ancestor(changes->world, KIND_POOL, ref),
                   scope->pool))
        return false;
    return class == NULL ||
           ((class->vendor[0] == '\0' ||
             strcmp(class->vendor, card->vendor) == 0) &&
            (class->model[0] == '\0' ||
             strcmp(class->model, card->model) == 0) &&
            card->memory_mib >= class->min_memory_mib);
}

/* Milli-cards that guarantees in the scope can be met with. */
static int64_t
healthy_capacity(const struct changes *changes, const struct scope *scope)
{
    int64_t cards = 0;

    world_each(changes->world, KIND_CARD, ref) {
        const struct card *card = change_get(changes, ref);

        cards += card != NULL && !card->missing &&
                 card->health == HEALTH_HEALTHY &&
                 card_in(changes, scope, ref, card);
    }
    return cards * 1000;
}

/* Can a card of the inner class be none of the outer one? */
static bool
class_within(const struct world *world, struct ref inner, struct ref outer)
{
    const struct class *a = world_class(world, inner);
    const struct class *b = world_class(world, outer);

    if (b == NULL || ref_equal(inner, outer))
        return true;
    return a != NULL &&
           (b->vendor[0] == '\0' || strcmp(a->vendor, b->vendor) == 0) &&
           (b->model[0] == '\0' || strcmp(a->model, b->model) == 0) &&
           a->min_memory_mib >= b->min_memory_mib;
}

/* The largest guarantee of cards at a node that only cards of the scope can
 * meet, self's new one counted; in_pool: of those for one pool alone. */
static int64_t
largest_within(const struct changes *changes, struct ref node,
               const struct quota *self, const struct scope *scope,
               bool in_pool)
{
    int64_t largest = 0;

    if (ref_equal(self->object.parent, node) &&
        (in_pool ? ref_equal(self->pool, scope->pool)
                 : ref_is_none(scope->pool) ||
                       ref_equal(self->pool, scope->pool)) &&
        class_within(changes->world, self->class, scope->class))
        largest = self->guaranteed;
    world_each_child(changes->world, KIND_QUOTA, node, ref) {
        const struct quota *quota = change_get(changes, ref);

        if (quota != NULL && !ref_equal(ref, self->object.self) &&
            quota->dimension == DIMENSION_CARDS &&
            (ref_equal(quota->pool, scope->pool) ||
             (!in_pool && ref_is_none(scope->pool))) &&
            class_within(changes->world, quota->class, scope->class) &&
            quota->guaranteed > largest)
            largest = quota->guaranteed;
    }
    return largest;
}

/* What one node can claim of the scope's cards at least: its guarantees count
 * the same use when they overlap, but those of two pools do not. */
static int64_t
claim_of(const struct changes *changes, struct ref node,
         const struct quota *self, const struct scope *scope)
{
    int64_t claim = largest_within(changes, node, self, scope, false);
    int64_t sum = 0;

    if (!ref_is_none(scope->pool))
        return claim;
    world_each(changes->world, KIND_POOL, pool) {
        struct scope part = { pool, scope->class };

        sum = plus(sum, largest_within(changes, node, self, &part, true));
    }
    return sum > claim ? sum : claim;
}

/* The same of all nodes below one together. */
static int64_t
claims_below(const struct changes *changes, struct ref node,
             const struct quota *self, const struct scope *scope)
{
    static const enum kind kinds[] = { KIND_UNIT, KIND_PROJECT };
    int64_t sum = 0;

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        world_each_child(changes->world, kinds[i], node, child) {
            int64_t own = claim_of(changes, child, self, scope);
            int64_t below = claims_below(changes, child, self, scope);

            sum = plus(sum, own > below ? own : below);
        }
    return sum;
}

static int
check_claims_on(const struct changes *changes, const struct quota *above,
                const struct quota *self, struct error *err)
{
    const struct scope scope = { above->pool, above->class };
    char node[NAME_MAX_SIZE + 16], a[REASON_AMOUNT_MAX],
        b[REASON_AMOUNT_MAX];
    int64_t sum =
        claims_below(changes, above->object.parent, self, &scope);

    if (sum <= above->guaranteed)
        return 0;
    return error_set(err, ERROR_QUOTA,
                     "the guarantees below %s would sum to %s, its own is %s",
                     reason_node(node, changes->world, above->object.parent),
                     reason_amount(a, DIMENSION_CARDS, sum),
                     reason_amount(b, DIMENSION_CARDS, above->guaranteed));
}

/* What is guaranteed of any scope below a tenant fits each guarantee of cards
 * above it that counts the same use. */
static int
check_nested(const struct changes *changes, const struct quota *quota,
             struct error *err)
{
    const struct quota *before = world_quota(changes->world,
                                             quota->object.self);
    struct ref node = quota->object.parent;

    if (quota->guaranteed == 0 || node.kind == KIND_PLATFORM)
        return 0;
    if (check_claims_on(changes, quota, quota, err) < 0)
        return -1;
    if (before != NULL && quota->guaranteed <= before->guaranteed)
        return 0;
    for (node = world_parent(changes->world, node);
         !ref_is_none(node) && node.kind != KIND_PLATFORM;
         node = world_parent(changes->world, node))
        world_each_child(changes->world, KIND_QUOTA, node, ref) {
            const struct quota *above = change_get(changes, ref);

            if (above != NULL && above->dimension == DIMENSION_CARDS &&
                above->guaranteed > 0 &&
                check_claims_on(changes, above, quota, err) < 0)
                return -1;
        }
    return 0;
}

/* Every scope that the new guarantee lies in must hold what is claimed of it
 * by all tenants together. */
static int
check_claims(const struct changes *changes, const struct quota *quota,
             struct error *err)
{
    const struct ref none = { 0 };
    const struct scope scopes[] = { { quota->pool, quota->class },
                                    { quota->pool, none },
                                    { none, quota->class },
                                    { none, none } };
    char a[REASON_AMOUNT_MAX], b[REASON_AMOUNT_MAX];

    for (size_t i = 0; i < sizeof(scopes) / sizeof(scopes[0]); i++) {
        int64_t have = healthy_capacity(changes, &scopes[i]), sum = 0;

        world_each(changes->world, KIND_TENANT, tenant)
            sum = plus(sum, claim_of(changes, tenant, quota, &scopes[i]));
        if (sum > have)
            return error_set(err, ERROR_QUOTA,
                             "the guarantees of all tenants would sum to %s, "
                             "%s are healthy",
                             reason_amount(a, quota->dimension, sum),
                             reason_amount(b, quota->dimension, have));
    }
    return 0;
}

static int
check_parent(const struct changes *changes, const struct quota *quota,
             struct error *err)
{
    char node[NAME_MAX_SIZE + 16], a[REASON_AMOUNT_MAX],
        b[REASON_AMOUNT_MAX];
    const struct quota *above =
        peer_above(changes, quota->object.parent, quota);
    int64_t sum;

    if (above == NULL) {
        if (quota->guaranteed > 0 &&
            quota->object.parent.kind != KIND_TENANT &&
            quota->object.parent.kind != KIND_PLATFORM)
            return error_set(err, ERROR_QUOTA,
                             "%s would be guaranteed, and nothing above "
                             "guarantees %s in this scope",
                             reason_amount(a, quota->dimension,
                                           quota->guaranteed),
                             reason_dimension(quota->dimension));
        return 0;
    }
    reason_node(node, changes->world, above->object.parent);
    if (above->limit != AMOUNT_NONE && quota->limit != AMOUNT_NONE &&
        quota->limit > above->limit)
        return error_set(err, ERROR_QUOTA,
                         "the limit would be %s, that of %s is %s",
                         reason_amount(a, quota->dimension, quota->limit),
                         node,
                         reason_amount(b, quota->dimension, above->limit));
    /* The platform's own quota guarantees nothing unless it says so. */
    if (above->object.parent.kind == KIND_PLATFORM && above->guaranteed == 0)
        return 0;
    sum = guaranteed_below(changes, above->object.parent, quota);
    if (quota->guaranteed > 0 && sum > above->guaranteed)
        return error_set(err, ERROR_QUOTA,
                         "the guarantees below %s would sum to %s, its own "
                         "is %s",
                         node, reason_amount(a, quota->dimension, sum),
                         reason_amount(b, quota->dimension,
                                       above->guaranteed));
    return 0;
}

/* The limit that is new must not be below one that leans on it. */
static int
check_limits_below(const struct changes *changes, const struct quota *quota,
                   struct error *err)
{
    char node[NAME_MAX_SIZE + 16], a[REASON_AMOUNT_MAX],
        b[REASON_AMOUNT_MAX];

    if (quota->limit == AMOUNT_NONE)
        return 0;
    world_each(changes->world, KIND_QUOTA, ref) {
        const struct quota *below = change_get(changes, ref);

        if (below == NULL || ref_equal(ref, quota->object.self) ||
            !same_scope(below, quota) || below->limit <= quota->limit ||
            !world_is_below(changes->world, below->object.parent,
                            quota->object.parent))
            continue;
        reason_node(node, changes->world, below->object.parent);
        return error_set(err, ERROR_QUOTA,
                         "the limit would be %s, that of %s below is %s",
                         reason_amount(a, quota->dimension, quota->limit),
                         node,
                         reason_amount(b, quota->dimension, below->limit));
    }
    return 0;
}

static int
check_children(const struct changes *changes, const struct quota *quota,
               struct error *err)
{
    char a[REASON_AMOUNT_MAX], b[REASON_AMOUNT_MAX];
    int64_t sum;

    if (quota->object.parent.kind == KIND_PLATFORM && quota->guaranteed == 0)
        return 0;
    sum = guaranteed_below(changes, quota->object.parent, quota) -
          quota->guaranteed;
    if (sum > quota->guaranteed)
        return error_set(err, ERROR_QUOTA,
                         "the guarantee would be %s, those below it sum to "
                         "%s",
                         reason_amount(a, quota->dimension,
                                       quota->guaranteed),
                         reason_amount(b, quota->dimension, sum));
    return 0;
}

static int
check_capacity(const struct changes *changes, const struct quota *quota,
               struct error *err)
{
    char a[REASON_AMOUNT_MAX], b[REASON_AMOUNT_MAX];
    int64_t most;
    const struct quota *before = world_quota(changes->world,
                                             quota->object.self);

    if (quota->guaranteed > 0 &&
        (before == NULL || quota->guaranteed > before->guaranteed) &&
        check_claims(changes, quota, err) < 0)
        return -1;
    most = most_of(changes->world, quota->pool);
    if (quota->limit != AMOUNT_NONE && ref_is_none(quota->class) &&
        (before == NULL || quota->limit > before->limit) &&
        quota->limit > most)
        return error_set(err, ERROR_QUOTA,
                         "the limit would be %s, one tenant may get at most "
                         "%s",
                         reason_amount(a, quota->dimension, quota->limit),
                         reason_amount(b, quota->dimension, most));
    return 0;
}

int
quota_check(const struct changes *changes, const struct quota *quota,
            struct error *err)
{
    bool usage = quota->dimension >= DIMENSION_CARD_TIME;
    bool counted = quota->dimension == DIMENSION_WORKLOADS ||
                   quota->dimension == DIMENSION_INSTANCES;

    if (quota->dimension == DIMENSION_TOKENS ||
        quota->dimension == DIMENSION_COST)
        return error_field(err, "/dimension",
                           "a limit on %s a month is not enforced, so none "
                           "can be set: limit card_time",
                           reason_dimension(quota->dimension));
    if (quota->guaranteed > 0 && (usage || counted))
        return error_field(err, "/guaranteed",
                           "/guaranteed is for capacity, %s has limits only",
                           reason_dimension(quota->dimension));
    if (quota->limit != AMOUNT_NONE && quota->guaranteed > quota->limit)
        return error_field(err, "/guaranteed",
                           "/guaranteed is %" PRId64
                           ", above the limit of %" PRId64,
                           quota->guaranteed, quota->limit);
    if (peer_at(changes, quota->object.parent, quota) != NULL)
        return error_set(err, ERROR_CONFLICT,
                         "there is a quota for %s of this pool and class "
                         "here already",
                         reason_dimension(quota->dimension));
    if (check_parent(changes, quota, err) < 0 ||
        check_children(changes, quota, err) < 0 ||
        check_limits_below(changes, quota, err) < 0)
        return -1;
    if (quota->dimension != DIMENSION_CARDS)
        return 0;
    if (check_nested(changes, quota, err) < 0)
        return -1;
    if (quota->object.parent.kind == KIND_TENANT)
        return check_capacity(changes, quota, err);
    return 0;
}
