/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "core/quota_private.h"

/* Are the numbers of a quota consistent with the tree?  See quota.h. */

/* Milli-cards that one tenant may get; AMOUNT_MAX before there are cards. */
static int64_t
most_of(const struct world *world, struct ref pool)
{
    const struct platform *platform =
        world_platform(world, world_platform_ref(world));
    const struct pool *one = world_pool(world, pool);
    int64_t cards = one != NULL ? one->cards
                                : (int64_t)world_count(world, KIND_CARD);

    return cards > 0 ? cards * platform->tenant_limit_permille : AMOUNT_MAX;
}

/* --- what leans on what --- */

/* The same but for whose use it is: all of the node's? */
static bool
is_whole(const struct quota *quota, const struct quota *self)
{
    struct quota whole = *self;

    whole.user = (struct ref){ 0 };
    return ref_is_none(quota->user) && scope_equal(quota, &whole);
}

/* The quota of self's scope for a node as a whole, self's new image
 * included; NULL without one. */
static const struct quota *
whole_at(const struct quota_case *check, struct ref node)
{
    if (ref_equal(check->self->object.parent, node) &&
        ref_is_none(check->self->user))
        return check->self;
    world_each_child(check->world, KIND_QUOTA, node, ref) {
        const struct quota *quota = change_get(check->changes, ref);

        if (quota != NULL && is_whole(quota, check->self))
            return quota;
    }
    return NULL;
}

/* What a quota of self's scope leans on: the nearest one above it.  That of a
 * subject leans on its project's. */
static const struct quota *
above_of(const struct quota_case *check, const struct quota *quota)
{
    struct ref node = quota->object.parent;
    const struct quota *above = NULL;

    if (ref_is_none(quota->user))
        node = world_parent(check->world, node);
    for (; above == NULL && !ref_is_none(node);
         node = world_parent(check->world, node))
        above = whole_at(check, node);
    return above;
}

/* Is the quota another one of self's scope, of a node or of a subject? */
static bool
is_akin(const struct quota_case *check, const struct quota *quota)
{
    struct quota whole;

    if (quota == NULL ||
        ref_equal(quota->object.self, check->self->object.self))
        return false;
    whole = *quota;
    whole.user = (struct ref){ 0 };
    return is_whole(&whole, check->self);
}

static bool
leans(const struct quota_case *check, const struct quota *quota,
      const struct quota *above)
{
    const struct quota *at = above_of(check, quota);

    return at != NULL && ref_equal(at->object.self, above->object.self);
}

/* Who holds what of a guarantee, as far as the viewer sees it. */
struct holders {
    int64_t sum;
    size_t hidden;
    char text[TEXT_MAX_SIZE];
};

static void
add_holder(const struct quota_case *check, const struct quota *quota,
           struct holders *holders)
{
    char name[QUOTA_WHERE_MAX], amount[REASON_AMOUNT_MAX];
    char piece[QUOTA_WHERE_MAX + REASON_AMOUNT_MAX + 8];
    size_t used = strlen(holders->text);

    holders->sum = quota_plus(holders->sum, quota->guaranteed);
    if (quota->guaranteed == 0 || quota == check->self)
        return;
    (void)snprintf(piece, sizeof(piece), "%s%s has %s",
                   used > 0 ? ", " : ": ",
                   quota_where(name, check->world, quota),
                   reason_amount(amount, quota->dimension,
                                 quota->guaranteed));
    if (check->viewer == NULL ||
        !access_visible(check->viewer, quota->object.self) ||
        used + strlen(piece) + 40 > sizeof(holders->text))
        holders->hidden++;
    else
        memcpy(holders->text + used, piece, strlen(piece) + 1);
}

/* Guarantees that lean on a quota, self's new one counted. */
static struct holders
holders_of(const struct quota_case *check, const struct quota *above)
{
    struct holders holders = { 0 };
    size_t used;

    world_each(check->world, KIND_QUOTA, ref) {
        const struct quota *quota = change_get(check->changes, ref);

        if (is_akin(check, quota) && leans(check, quota, above))
            add_holder(check, quota, &holders);
    }
    if (leans(check, check->self, above))
        add_holder(check, check->self, &holders);
    used = strlen(holders.text);
    if (holders.hidden > 0)
        (void)snprintf(holders.text + used, sizeof(holders.text) - used,
                       "%s%zu more", used > 0 ? " and " : ": ",
                       holders.hidden);
    return holders;
}

/* --- against what is above and below --- */

static int
check_guaranteed(const struct quota_case *check, const struct quota *above,
                 struct error *err)
{
    char where[QUOTA_WHERE_MAX], a[REASON_AMOUNT_MAX], b[REASON_AMOUNT_MAX];
    struct holders holders;

    /* The platform's own quota guarantees nothing unless it says so. */
    if (above->object.parent.kind == KIND_PLATFORM && above->guaranteed == 0)
        return 0;
    holders = holders_of(check, above);
    if (check->self->guaranteed == 0 || holders.sum <= above->guaranteed)
        return 0;
    return error_set(err, ERROR_QUOTA,
                     "the guarantees below %s would sum to %s, its own is "
                     "%s%s",
                     quota_where(where, check->world, above),
                     reason_amount(a, above->dimension, holders.sum),
                     reason_amount(b, above->dimension, above->guaranteed),
                     holders.text);
}

static int
check_parent(const struct quota_case *check, struct error *err)
{
    const struct quota *self = check->self;
    const struct quota *above = above_of(check, self);
    bool below = !ref_is_none(self->user) ||
                 (self->object.parent.kind != KIND_TENANT &&
                  self->object.parent.kind != KIND_PLATFORM);
    char where[QUOTA_WHERE_MAX], a[REASON_AMOUNT_MAX], b[REASON_AMOUNT_MAX];

    if (above == NULL && self->guaranteed > 0 && below)
        return error_set(err, ERROR_QUOTA,
                         "%s would be guaranteed, and nothing above "
                         "guarantees %s in this scope",
                         reason_amount(a, self->dimension, self->guaranteed),
                         reason_dimension(self->dimension));
    if (above == NULL)
        return 0;
    if (above->limit != AMOUNT_NONE && self->limit != AMOUNT_NONE &&
        self->limit > above->limit)
        return error_set(err, ERROR_QUOTA,
                         "the limit would be %s, that of %s is %s",
                         reason_amount(a, self->dimension, self->limit),
                         quota_where(where, check->world, above),
                         reason_amount(b, self->dimension, above->limit));
    return check_guaranteed(check, above, err);
}

/* The limit that is new must not be below one that leans on it. */
static int
check_limits_below(const struct quota_case *check, struct error *err)
{
    const struct quota *self = check->self;
    char where[QUOTA_WHERE_MAX], a[REASON_AMOUNT_MAX], b[REASON_AMOUNT_MAX];

    if (self->limit == AMOUNT_NONE || !ref_is_none(self->user))
        return 0;
    world_each(check->world, KIND_QUOTA, ref) {
        const struct quota *below = change_get(check->changes, ref);

        if (!is_akin(check, below) || below->limit <= self->limit ||
            !world_is_below(check->world, below->object.parent,
                            self->object.parent))
            continue;
        return error_set(err, ERROR_QUOTA,
                         "the limit would be %s, that of %s below is %s",
                         reason_amount(a, self->dimension, self->limit),
                         quota_where(where, check->world, below),
                         reason_amount(b, self->dimension, below->limit));
    }
    return 0;
}

static int
check_children(const struct quota_case *check, struct error *err)
{
    const struct quota *self = check->self;
    char a[REASON_AMOUNT_MAX], b[REASON_AMOUNT_MAX];
    struct holders holders;

    if (!ref_is_none(self->user) ||
        (self->object.parent.kind == KIND_PLATFORM && self->guaranteed == 0))
        return 0;
    holders = holders_of(check, self);
    if (holders.sum <= self->guaranteed)
        return 0;
    return error_set(err, ERROR_QUOTA,
                     "the guarantee would be %s, those below it sum to %s%s",
                     reason_amount(a, self->dimension, self->guaranteed),
                     reason_amount(b, self->dimension, holders.sum),
                     holders.text);
}

static int
check_capacity(const struct quota_case *check, struct error *err)
{
    const struct quota *self = check->self, *before = check->before;
    char a[REASON_AMOUNT_MAX], b[REASON_AMOUNT_MAX];
    int64_t most = most_of(check->world, self->pool);

    if (self->guaranteed > 0 &&
        (before == NULL || self->guaranteed > before->guaranteed) &&
        quota_claims_check(check, err) < 0)
        return -1;
    if (self->limit == AMOUNT_NONE || !ref_is_none(self->class) ||
        (before != NULL && self->limit <= before->limit) ||
        self->limit <= most)
        return 0;
    return error_set(err, ERROR_QUOTA,
                     "the limit would be %s, one tenant may get at most %s",
                     reason_amount(a, self->dimension, self->limit),
                     reason_amount(b, self->dimension, most));
}

/* The numbers that the level above has put on a node or on one above it. */
static int
check_ceilings(const struct quota_case *check, struct error *err)
{
    const struct quota *self = check->self;
    int64_t most = self->guaranteed > self->limit ? self->guaranteed
                                                  : self->limit;
    char node[NAME_MAX_SIZE + 16], a[REASON_AMOUNT_MAX],
        b[REASON_AMOUNT_MAX];

    for (struct ref at = self->object.parent;
         self->dimension == DIMENSION_CARDS && !ref_is_none(at);
         at = world_parent(check->world, at))
        world_each_child(check->world, KIND_CEILING, at, ref) {
            int64_t bound = world_ceiling(check->world, ref)->cards_milli;

            if (bound > 0 && most > bound)
                return error_set(err, ERROR_QUOTA,
                                 "%s would be allowed, the ceiling of %s is "
                                 "%s",
                                 reason_amount(a, DIMENSION_CARDS, most),
                                 reason_node(node, check->world, at),
                                 reason_amount(b, DIMENSION_CARDS, bound));
        }
    return 0;
}

/* --- the quota by itself --- */

static int
check_amounts(const struct quota *quota, struct error *err)
{
    bool usage = quota->dimension >= DIMENSION_CARD_TIME;
    bool counted = quota->dimension == DIMENSION_WORKLOADS ||
                   quota->dimension == DIMENSION_INSTANCES;

    if (quota->guaranteed > 0 && (usage || counted))
        return error_field(err, "/guaranteed",
                           "/guaranteed is for capacity, %s has limits only",
                           reason_dimension(quota->dimension));
    if (quota->limit > AMOUNT_MAX && !usage)
        return error_field(err, "/limit",
                           "/limit is %" PRId64 ", %s count up to %" PRId64,
                           quota->limit, reason_dimension(quota->dimension),
                           AMOUNT_MAX);
    if (quota->limit != AMOUNT_NONE && quota->guaranteed > quota->limit)
        return error_field(err, "/guaranteed",
                           "/guaranteed is %" PRId64
                           ", above the limit of %" PRId64,
                           quota->guaranteed, quota->limit);
    if (quota->limit != AMOUNT_NONE && quota->soft > quota->limit)
        return error_field(err, "/soft",
                           "/soft is %" PRId64 ", above the limit of %" PRId64
                           ": it would never be told in time",
                           quota->soft, quota->limit);
    if (quota->action == QUOTA_STOP && !usage)
        return error_field(err, "/action",
                           "/action is for what is counted by the month; "
                           "/reclaim stops what is above a limit of %s",
                           reason_dimension(quota->dimension));
    if (quota->reclaim && usage)
        return error_field(err, "/reclaim",
                           "/reclaim is for capacity; /action says what a "
                           "used up month does");
    return 0;
}

static int
check_scope(const struct quota_case *check, struct error *err)
{
    const struct quota *self = check->self;
    bool of_cards = self->dimension == DIMENSION_CARDS ||
                    self->dimension == DIMENSION_ACCEL_MEMORY ||
                    self->dimension == DIMENSION_CARD_TIME ||
                    self->dimension == DIMENSION_COST;

    if (scope_is_typed(self) && !of_cards)
        return error_field(err,
                           self->model[0] != '\0' ? "/model" : "/vendor",
                           "a vendor or model narrows quotas of cards, their "
                           "memory, time and cost, not of %s",
                           reason_dimension(self->dimension));
    if (!ref_is_none(self->user) &&
        self->object.parent.kind != KIND_PROJECT)
        return error_field(err, "/user",
                           "a subject's quota sits in a project");
    if (!ref_is_none(self->user) && self->user.kind != KIND_USER &&
        self->user.kind != KIND_SERVICEACCOUNT)
        return error_field(err, "/user",
                           "/user is a user or a service account");
    if (!ref_is_none(self->user) && self->dimension == DIMENSION_STORAGE)
        return error_field(err, "/user",
                           "volumes belong to the project, not to a user");
    return 0;
}

static bool
has_twin(const struct quota_case *check)
{
    world_each_child(check->world, KIND_QUOTA, check->self->object.parent,
                     ref) {
        const struct quota *quota = change_get(check->changes, ref);

        if (quota != NULL && !ref_equal(ref, check->self->object.self) &&
            scope_equal(quota, check->self))
            return true;
    }
    return false;
}

int
quota_check(const struct granted *viewer, const struct changes *changes,
            const struct quota *quota, struct error *err)
{
    const struct quota_case check = { .viewer = viewer,
                                 .changes = changes,
                                 .world = changes->world,
                                 .self = quota,
                                 .before = world_quota(changes->world,
                                                       quota->object.self) };

    if (check_amounts(quota, err) < 0 || check_scope(&check, err) < 0)
        return -1;
    if (has_twin(&check))
        return error_set(err, ERROR_CONFLICT,
                         "there is a quota for %s of this pool, class, type "
                         "and user here already",
                         reason_dimension(quota->dimension));
    if (check_ceilings(&check, err) < 0 || check_parent(&check, err) < 0 ||
        check_children(&check, err) < 0 ||
        check_limits_below(&check, err) < 0)
        return -1;
    if (quota->dimension != DIMENSION_CARDS)
        return 0;
    if (quota_claims_nested(&check, err) < 0)
        return -1;
    if (quota->object.parent.kind == KIND_TENANT)
        return check_capacity(&check, err);
    return 0;
}
