/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/quota_private.h"

/* By whose guarantee?  See quota.h. */

/* --- levels: a subject's part of the project, the project, what is above --- */

struct level {
    struct ref node; /* none: behind the platform */
    bool own;        /* the quotas of one subject in the project */
};

static struct level
level_first(const struct demand *demand)
{
    return (struct level){ demand->project, !ref_is_none(demand->user) };
}

static struct level
level_next(const struct world *world, struct level level)
{
    if (level.own)
        return (struct level){ level.node, false };
    return (struct level){ world_parent(world, level.node), false };
}

static bool
level_has(struct level level, const struct quota *quota)
{
    return ref_is_none(quota->user) != level.own;
}

/* From the subject's level up to below an ancestor; none: all. */
static bool
level_is_below(struct level level, struct ref ancestor)
{
    return !ref_is_none(level.node) &&
           (level.own || !ref_equal(level.node, ancestor));
}

enum standing { STANDING_NONE, STANDING_WITHIN, STANDING_BEYOND };

/* Where would the demand put this level?  It has a guarantee when it has one
 * for cards (of any dimension, when no cards are asked for); then all its
 * guarantees count.  worst_out: the quota that is exceeded, or that of the
 * cards. */
static enum standing
standing_of(const struct world *world, const struct demand *demand,
            struct level level, const struct ledger *ledger,
            const struct quota **worst_out)
{
    bool any = false, cards = false, beyond = false;
    bool asks_cards = demand->of[DIMENSION_CARDS] > 0;

    world_each_child(world, KIND_QUOTA, level.node, ref) {
        const struct quota *quota = world_quota(world, ref);
        int64_t guaranteed = quota_guaranteed(world, quota, demand->now_ms);
        int64_t need, use;

        if (guaranteed == 0 || !level_has(level, quota))
            continue;
        need = quota_need(world, quota, demand);
        if (need == 0)
            continue;
        any = true;
        cards |= quota->dimension == DIMENSION_CARDS;
        use = quota_plus(quota->used, ledger_get(ledger, ref));
        if (quota_plus(use, need) >
                quota_claimable(world, quota, demand->now_ms) &&
            !beyond) {
            beyond = true;
            *worst_out = quota;
        } else if (!beyond && (quota->dimension == DIMENSION_CARDS ||
                               *worst_out == NULL)) {
            *worst_out = quota;
        }
    }
    if (!any || (asks_cards && !cards))
        return STANDING_NONE;
    return beyond ? STANDING_BEYOND : STANDING_WITHIN;
}

/* --- work that is not preemptible --- */

/* What of a guarantee is for nodes below that the demand does not come from:
 * all of it, and what they do not use yet. */
struct reserve {
    int64_t all, idle;
};

/* Takes in the guarantees that lean on the quota right at a node: those of a
 * node of the same scope, or of subjects in a project.  True: there is one
 * for the node as a whole, so nothing below it counts. */
static bool
reserve_at(const struct world *world, const struct quota *quota,
           const struct demand *demand, const struct ledger *promised,
           struct ref node, struct reserve *reserve)
{
    bool covered = false;

    world_each_child(world, KIND_QUOTA, node, ref) {
        const struct quota *other = world_quota(world, ref);
        int64_t all = quota_guaranteed(world, other, demand->now_ms);
        struct quota whole = *other;
        int64_t use;

        whole.user = quota->user;
        if (all == 0 || !scope_equal(&whole, quota) ||
            ref_equal(ref, quota->object.self))
            continue;
        covered |= ref_is_none(other->user);
        if (ref_equal(node, demand->project) &&
            (ref_is_none(other->user) ||
             ref_equal(other->user, demand->user)))
            continue;
        use = quota_plus(other->used, ledger_get(promised, ref));
        reserve->all = quota_plus(reserve->all, all);
        if (use < all)
            reserve->idle = quota_plus(reserve->idle, all - use);
    }
    return covered;
}

/* Below a node, apart from the way to the demand's project. */
static void
reserve_below(const struct world *world, const struct quota *quota,
              const struct demand *demand, const struct ledger *promised,
              struct ref node, struct reserve *reserve)
{
    static const enum kind kinds[] = { KIND_UNIT, KIND_PROJECT };

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        world_each_child(world, kinds[i], node, child) {
            bool way = world_is_below(world, demand->project, child);

            if (way || !reserve_at(world, quota, demand, promised, child,
                                   reserve))
                reserve_below(world, quota, demand, promised, child, reserve);
        }
}

static struct reserve
reserved_below(const struct world *world, const struct quota *quota,
               const struct demand *demand, const struct ledger *promised)
{
    struct reserve reserve = { 0 };

    if (!ref_is_none(quota->user))
        return reserve;
    if (ref_equal(quota->object.parent, demand->project))
        (void)reserve_at(world, quota, demand, promised, demand->project,
                         &reserve);
    else
        reserve_below(world, quota, demand, promised, quota->object.parent,
                      &reserve);
    return reserve;
}

static void
say_guarantee_full(struct verdict *verdict, const struct world *world,
                   const struct quota *quota, int64_t need, int64_t use,
                   int64_t guaranteed, int64_t most)
{
    char where[QUOTA_WHERE_MAX], asked[REASON_AMOUNT_MAX],
        all[REASON_AMOUNT_MAX], used[REASON_AMOUNT_MAX];
    bool never = need > most;

    verdict_set(verdict, never ? WORKLOAD_REJECTED : WORKLOAD_GATED,
                never ? REASON_LIMIT_NEVER : REASON_LIMIT,
                "%s needed by work that is not preemptible, %s has %s in use "
                "or promised below it of its guarantee of %s; it starts when "
                "enough of the guarantee is free",
                reason_amount(asked, quota->dimension, need),
                quota_where(where, world, quota),
                reason_amount(used, quota->dimension, use),
                reason_amount(all, quota->dimension, guaranteed));
    verdict_numbers(verdict, need, use, guaranteed);
    verdict->quota = quota->object.self;
}

/* At one level; lowest: the guarantee that the work itself would use, and not
 * that of a sibling.  Higher up the one below it has settled that. */
static bool
fits_guarantee_at(const struct world *world, const struct demand *demand,
                  struct level level, const struct ledger *promised,
                  bool lowest, struct verdict *verdict)
{
    world_each_child(world, KIND_QUOTA, level.node, ref) {
        const struct quota *quota = world_quota(world, ref);
        int64_t guaranteed = quota_claimable(world, quota, demand->now_ms);
        struct reserve reserve = { 0 };
        int64_t need, use;

        if (quota_guaranteed(world, quota, demand->now_ms) == 0 ||
            !level_has(level, quota))
            continue;
        need = quota_need(world, quota, demand);
        if (need == 0)
            continue;
        if (lowest)
            reserve = reserved_below(world, quota, demand, promised);
        use = quota_plus(quota_plus(quota->used, ledger_get(promised, ref)),
                         reserve.idle);
        if (quota_plus(use, need) <= guaranteed)
            continue;
        say_guarantee_full(verdict, world, quota, need, use, guaranteed,
                           guaranteed + quota->unmet - reserve.all);
        return false;
    }
    return true;
}

bool
quota_fits_guarantee(const struct world *world, const struct demand *demand,
                     const struct ledger *promised,
                     struct verdict *verdict_out)
{
    char asked[REASON_AMOUNT_MAX];
    bool some = false;

    for (struct level level = level_first(demand);
         !ref_is_none(level.node) && level.node.kind != KIND_PLATFORM;
         level = level_next(world, level)) {
        const struct quota *quota = NULL;

        if (standing_of(world, demand, level, promised, &quota) ==
            STANDING_NONE)
            continue;
        if (!fits_guarantee_at(world, demand, level, promised, !some,
                               verdict_out))
            return false;
        some = true;
    }
    if (some)
        return true;
    verdict_set(verdict_out, WORKLOAD_REJECTED, REASON_LIMIT_NEVER,
                "%s needed by work that is not preemptible, and no quota "
                "above it guarantees any: make it preemptible or get a "
                "guarantee",
                reason_amount(asked, DIMENSION_CARDS,
                              demand->of[DIMENSION_CARDS]));
    verdict_numbers(verdict_out, demand->of[DIMENSION_CARDS], 0, 0);
    return false;
}

/* --- rights --- */

enum quota_right
quota_right(const struct world *world, const struct demand *demand,
            const struct ledger *promised)
{
    bool within = false, beyond = false;

    for (struct level level = level_first(demand);
         !ref_is_none(level.node) && level.node.kind != KIND_PLATFORM;
         level = level_next(world, level)) {
        const struct quota *quota = NULL;
        enum standing standing =
            standing_of(world, demand, level, promised, &quota);

        within |= standing == STANDING_WITHIN;
        beyond |= standing == STANDING_BEYOND;
    }
    if (!within)
        return RIGHT_BURST;
    return beyond ? RIGHT_PART : RIGHT_FULL;
}

bool
quota_may_reclaim(const struct world *world, const struct demand *demand,
                  const struct ledger *promised, struct ref ancestor,
                  struct claim *claim_out)
{
    enum standing highest = STANDING_NONE;

    for (struct level level = level_first(demand);
         level_is_below(level, ancestor); level = level_next(world, level)) {
        const struct quota *quota = NULL;
        enum standing standing =
            standing_of(world, demand, level, promised, &quota);

        if (standing == STANDING_NONE)
            continue;
        highest = standing;
        claim_out->node = level.node;
        claim_out->used = quota->used;
        claim_out->guaranteed =
            quota_claimable(world, quota, demand->now_ms);
    }
    return highest == STANDING_WITHIN;
}

bool
quota_release_allowed(const struct world *world, const struct demand *release,
                      struct ref ancestor, const struct ledger *leaving)
{
    for (struct level level = level_first(release);
         level_is_below(level, ancestor); level = level_next(world, level))
        world_each_child(world, KIND_QUOTA, level.node, ref) {
            const struct quota *quota = world_quota(world, ref);
            int64_t kept = quota_kept(world, quota, release->now_ms);
            int64_t need;

            if (kept == 0 || quota->dimension >= DIMENSION_CARD_TIME ||
                !level_has(level, quota))
                continue;
            need = quota_need(world, quota, release);
            if (need > 0 &&
                quota->used + ledger_get(leaving, ref) - need < kept)
                return false;
        }
    return true;
}

int64_t
quota_over(const struct world *world, const struct demand *demand,
           struct ref ancestor, const struct ledger *leaving,
           struct claim *claim_out)
{
    /* What has no cards is over by the least: its CPU may be in the way. */
    int64_t over = demand->of[DIMENSION_CARDS] > 0
                       ? demand->of[DIMENSION_CARDS]
                       : 1;
    bool guarantee = false;

    for (struct level level = level_first(demand);
         level_is_below(level, ancestor); level = level_next(world, level))
        world_each_child(world, KIND_QUOTA, level.node, ref) {
            const struct quota *quota = world_quota(world, ref);
            bool any = quota_guaranteed(world, quota, demand->now_ms) > 0;
            int64_t kept = quota_kept(world, quota, demand->now_ms);

            if (quota->dimension != DIMENSION_CARDS ||
                !level_has(level, quota) || (guarantee && !any) ||
                quota_need(world, quota, demand) == 0)
                continue;
            guarantee |= any;
            over = quota->used + ledger_get(leaving, ref) - kept;
            if (claim_out != NULL)
                *claim_out =
                    (struct claim){ level.node, quota->used, kept };
        }
    return over;
}
