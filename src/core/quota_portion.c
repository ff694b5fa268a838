/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "core/quota_private.h"
#include "core/share.h"

/*
 * Who gets what while too few cards are healthy for all guarantees?
 *
 * Each tenant's portion is its guarantee in proportion, in whole cards: first
 * what is whole of the exact part, then one card more by the largest rest (of
 * equal ones the smaller guarantee, then the older tenant), so the portions sum
 * to what is healthy.  What is above is `unmet`: it claims nothing, so new work
 * in it waits, or takes what nobody else wants.
 *
 * Nobody is stopped because a card broke: what a tenant used when it did is
 * kept up to the guarantee.  As that ends less is kept, down to the portion;
 * what is not (`unkept`) goes to whoever claims it by a portion.
 *
 * What was given to new tenants gives way: it gets what is left.
 */

#define CARD INT64_C(1000)

/* A quota that guarantees cards to a tenant. */
struct entry {
    struct ref quota, tenant;
    int64_t unmet;
};
struct part {
    int64_t claim, portion, rest;
    struct ref tenant;
    uint64_t seq;
};
struct portions {
    const struct quota_case *check;
    struct changes *changes;
    struct entry *entries;
    size_t entry_count;
    struct part *parts; /* room for one of each tenant */
};

/* --- in proportion --- */

static int
part_order(const void *left, const void *right)
{
    const struct part *a = left, *b = right;

    if (a->rest != b->rest)
        return a->rest > b->rest ? -1 : 1;
    if (a->claim != b->claim)
        return a->claim < b->claim ? -1 : 1;
    return a->seq < b->seq ? -1 : a->seq > b->seq;
}

/* Gives each part its portion; sum: of the claims, more than there is. */
static void
share_out(struct part *parts, size_t count, int64_t sum, int64_t have)
{
    int64_t left = have;

    for (size_t i = 0; i < count; i++) {
        share_sum exact = (share_sum)parts[i].claim * have;

        parts[i].portion = (int64_t)(exact / sum / CARD) * CARD;
        parts[i].rest = (int64_t)(exact / sum) - parts[i].portion;
        left -= parts[i].portion;
    }
    qsort(parts, count, sizeof(*parts), part_order);
    for (size_t i = 0; left > 0 && i < count; i++) {
        int64_t more = parts[i].claim - parts[i].portion;

        more = more < CARD ? more : CARD;
        more = more < left ? more : left;
        parts[i].portion += more;
        left -= more;
    }
}

/* --- what there is --- */

static bool
is_typed(const struct quota_extent *extent)
{
    return !ref_is_none(extent->class) || extent->vendor[0] != '\0' ||
           extent->model[0] != '\0';
}

/* An open window has its cards already. */
static int64_t
open_windows(const struct world *world, const struct quota_extent *extent)
{
    int64_t cards = 0;

    world_each(world, KIND_RESERVATION, ref) {
        const struct reservation *one = world_reservation(world, ref);

        if (one->state == RESERVATION_OPEN && !is_typed(extent) &&
            (ref_is_none(extent->pool) || ref_equal(extent->pool, one->pool)))
            cards += one->cards;
    }
    return cards * CARD;
}

/* The tenants' claims; returns their sum.  given: of what was given alone. */
static int64_t
list_parts(struct portions *portions, const struct quota_extent *extent,
           bool given, size_t *count_out)
{
    struct quota_case check = *portions->check;
    const struct world *world = check.world;
    int64_t sum = 0;
    size_t count = 0;

    world_each(world, KIND_TENANT, tenant) {
        struct part *part = &portions->parts[count];

        check.given = false;
        part->claim = quota_claim(&check, tenant, extent);
        check.given = true;
        if (given)
            part->claim =
                quota_claim(&check, tenant, extent) - part->claim;
        if (part->claim == 0)
            continue;
        part->tenant = tenant;
        part->seq = world_object(world, tenant)->seq;
        part->portion = part->claim;
        sum = quota_plus(sum, part->claim);
        count++;
    }
    *count_out = count;
    return sum;
}

static void
note_unmet(struct portions *portions, const struct quota_extent *extent,
           const struct part *part, bool given)
{
    int64_t unmet = part->claim - part->portion;

    for (size_t i = 0; i < portions->entry_count; i++) {
        struct entry *entry = &portions->entries[i];
        const struct quota *quota =
            world_quota(portions->check->world, entry->quota);

        if (ref_equal(entry->tenant, part->tenant) &&
            quota->given == given && unmet > entry->unmet &&
            quota_is_claim(portions->check, quota, extent, false))
            entry->unmet =
                unmet < quota->guaranteed ? unmet : quota->guaranteed;
    }
}

static void
look_at(struct portions *portions, const struct quota_extent *extent)
{
    int64_t have = -1;

    for (int given = 0; given <= 1; given++) {
        size_t count;
        int64_t sum = list_parts(portions, extent, given != 0, &count);

        if (sum == 0)
            continue;
        if (have < 0) {
            have = quota_healthy(portions->check, extent) -
                   open_windows(portions->check->world, extent);
            have = have > 0 ? have : 0;
        }
        if (sum > have) {
            share_out(portions->parts, count, sum, have);
            for (size_t i = 0; i < count; i++)
                note_unmet(portions, extent, &portions->parts[i],
                           given != 0);
        }
        have -= sum < have ? sum : have;
    }
}

/* --- all of it --- */

static void
list_entries(struct portions *portions)
{
    const struct world *world = portions->check->world;

    portions->entries = arena_alloc(portions->changes->arena,
                                    (world_count(world, KIND_QUOTA) + 1) *
                                        sizeof(*portions->entries));
    world_each(world, KIND_TENANT, tenant)
        world_each_child(world, KIND_QUOTA, tenant, ref) {
            const struct quota *quota = world_quota(world, ref);

            if (quota->dimension == DIMENSION_CARDS &&
                (quota->guaranteed > 0 || quota->unmet > 0))
                portions->entries[portions->entry_count++] =
                    (struct entry){ .quota = ref, .tenant = tenant };
        }
    portions->parts = arena_alloc(portions->changes->arena,
                                  (world_count(world, KIND_TENANT) + 1) *
                                      sizeof(*portions->parts));
}

/* Was the quota's scope looked at already, for another tenant? */
static bool
is_seen(const struct portions *portions, size_t end)
{
    const struct world *world = portions->check->world;
    const struct quota *self =
        world_quota(world, portions->entries[end].quota);

    for (size_t i = 0; i < end; i++)
        if (scope_equal(world_quota(world, portions->entries[i].quota), self))
            return true;
    return false;
}

/* What was used when it broke is kept while it lasts, up to the guarantee. */
static void
settle(const struct portions *portions, const struct entry *entry)
{
    const struct quota *quota =
        world_quota(portions->check->world, entry->quota);
    int64_t portion = quota->guaranteed - entry->unmet;
    int64_t kept = quota->used;

    if (quota->unmet > 0 && kept > quota->guaranteed - quota->unkept)
        kept = quota->guaranteed - quota->unkept;
    if (kept > quota->guaranteed)
        kept = quota->guaranteed;
    if (kept < portion)
        kept = portion;
    if (quota->unmet != entry->unmet ||
        quota->unkept != quota->guaranteed - kept) {
        struct quota *image = change_update(portions->changes, entry->quota);

        image->unmet = entry->unmet;
        image->unkept = image->guaranteed - kept;
    }
}

void
quota_portions_watch(const struct quota_case *check, struct changes *changes)
{
    struct portions portions = { .check = check, .changes = changes };
    const struct quota_extent all = { .vendor = "", .model = "" };

    list_entries(&portions);
    if (portions.entry_count == 0)
        return;
    look_at(&portions, &all);
    for (size_t i = 0; i < portions.entry_count; i++) {
        const struct quota *quota =
            world_quota(check->world, portions.entries[i].quota);
        const struct quota_extent extent = { quota->pool, quota->class,
                                             quota->vendor, quota->model };

        if ((is_typed(&extent) || !ref_is_none(extent.pool)) &&
            !is_seen(&portions, i))
            look_at(&portions, &extent);
    }
    for (size_t i = 0; i < portions.entry_count; i++)
        settle(&portions, &portions.entries[i]);
}

/* --- what it says --- */

bool
quota_say_unmet(const struct world *world, const struct demand *demand,
                const struct ledger *promised, struct verdict *verdict)
{
    struct ref tenant = world_ancestor(world, KIND_TENANT, demand->project);
    char where[QUOTA_WHERE_MAX], need_text[REASON_AMOUNT_MAX],
        all[REASON_AMOUNT_MAX], part[REASON_AMOUNT_MAX],
        used[REASON_AMOUNT_MAX];

    if (verdict->reason != REASON_CAPACITY &&
        verdict->reason != REASON_HEALTH)
        return false;
    world_each_child(world, KIND_QUOTA, tenant, ref) {
        const struct quota *quota = world_quota(world, ref);
        int64_t guaranteed = quota_guaranteed(world, quota, demand->now_ms);
        int64_t need = quota_need(world, quota, demand);
        int64_t use = quota_plus(quota->used, ledger_get(promised, ref));

        if (quota->unmet == 0 || need == 0 ||
            quota_plus(use, need) > guaranteed)
            continue;
        verdict_set(verdict, WORKLOAD_QUEUED, REASON_AT_RISK,
                    "%s needed, too few cards are healthy for all "
                    "guarantees: of its guarantee of %s %s gets %s for now "
                    "and uses %s; it starts when cards are healthy again or "
                    "enough is given back",
                    reason_amount(need_text, DIMENSION_CARDS, need),
                    reason_amount(all, DIMENSION_CARDS, guaranteed),
                    quota_where(where, world, quota),
                    reason_amount(part, DIMENSION_CARDS,
                                  guaranteed - quota->unmet),
                    reason_amount(used, DIMENSION_CARDS, use));
        verdict_numbers(verdict, need, use, guaranteed - quota->unmet);
        verdict->quota = quota->object.self;
        return true;
    }
    return false;
}
