/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/alarm.h"
#include "core/card_health.h"
#include "core/quota_private.h"
#include "core/reservation.h"

/* What are all tenants guaranteed, and what is there?  See quota.h. */

static bool
says(const char *wish, const char *have)
{
    return wish[0] == '\0' || strcmp(wish, have) == 0;
}

static bool
card_in(const struct quota_case *check, const struct quota_extent *extent,
        struct ref ref, const struct card *card)
{
    const struct class *class = world_class(check->world, extent->class);

    if (!ref_is_none(extent->pool) &&
        !ref_equal(world_ancestor(check->world, KIND_POOL, ref),
                   extent->pool))
        return false;
    if (!says(extent->vendor, card->vendor) ||
        !says(extent->model, card->model))
        return false;
    return class == NULL || (says(class->vendor, card->vendor) &&
                             says(class->model, card->model) &&
                             card->memory_mib >= class->min_memory_mib);
}

int64_t
quota_healthy(const struct quota_case *check, const struct quota_extent *extent)
{
    int64_t cards = 0;

    world_each(check->world, KIND_CARD, ref) {
        const struct card *card = change_get(check->changes, ref);

        cards += card != NULL && !card->missing &&
                 card_health_is_fit(card) &&
                 card_in(check, extent, ref, card);
    }
    return cards * 1000;
}

static const char *
either(const char *own, const char *of_class)
{
    return own[0] != '\0' ? own : of_class;
}

/* Can a card that the quota counts be none of the extent's? */
static bool
is_within(const struct quota_case *check, const struct quota *quota,
          const struct quota_extent *extent)
{
    const struct class *a = world_class(check->world, quota->class);
    const struct class *b = world_class(check->world, extent->class);
    const char *vendor = either(quota->vendor, a != NULL ? a->vendor : "");
    const char *model = either(quota->model, a != NULL ? a->model : "");

    if (!says(extent->vendor, vendor) || !says(extent->model, model))
        return false;
    if (b == NULL || ref_equal(quota->class, extent->class))
        return true;
    return says(b->vendor, vendor) && says(b->model, model) && a != NULL &&
           a->min_memory_mib >= b->min_memory_mib;
}

bool
quota_is_claim(const struct quota_case *check, const struct quota *quota,
         const struct quota_extent *extent, bool in_pool)
{
    return quota->dimension == DIMENSION_CARDS && ref_is_none(quota->user) &&
           (ref_equal(quota->pool, extent->pool) ||
            (!in_pool && ref_is_none(extent->pool))) &&
           is_within(check, quota, extent);
}

static int64_t claims_below(const struct quota_case *check, struct ref node,
                            const struct quota_extent *extent);

/* A guarantee that was given gives way, unless others lean on it. */
static bool
gives_way(const struct quota_case *check, const struct quota *quota)
{
    const struct quota_extent all = { .vendor = "", .model = "" };

    return quota->given && !check->given &&
           claims_below(check, quota->object.parent, &all) == 0;
}

/* The largest guarantee of cards at a node that only cards of the extent can
 * meet, self's new one counted. */
static int64_t
largest_within(const struct quota_case *check, struct ref node,
               const struct quota_extent *extent, bool in_pool)
{
    int64_t largest = 0;

    if (ref_equal(check->self->object.parent, node) &&
        quota_is_claim(check, check->self, extent, in_pool))
        largest = check->self->guaranteed;
    world_each_child(check->world, KIND_QUOTA, node, ref) {
        const struct quota *quota = change_get(check->changes, ref);

        if (quota != NULL && !ref_equal(ref, check->self->object.self) &&
            quota_is_claim(check, quota, extent, in_pool) &&
            quota->guaranteed > largest && !gives_way(check, quota))
            largest = quota->guaranteed;
    }
    return largest;
}

int64_t
quota_claim(const struct quota_case *check, struct ref node,
         const struct quota_extent *extent)
{
    int64_t claim = largest_within(check, node, extent, false);
    int64_t sum = 0;

    if (!ref_is_none(extent->pool))
        return claim;
    world_each(check->world, KIND_POOL, pool) {
        struct quota_extent part = *extent;

        part.pool = pool;
        sum = quota_plus(sum, largest_within(check, node, &part, true));
    }
    return sum > claim ? sum : claim;
}

/* The same of all nodes below one together. */
static int64_t
claims_below(const struct quota_case *check, struct ref node,
             const struct quota_extent *extent)
{
    static const enum kind kinds[] = { KIND_UNIT, KIND_PROJECT };
    int64_t sum = 0;

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        world_each_child(check->world, kinds[i], node, child) {
            int64_t own = quota_claim(check, child, extent);
            int64_t below = claims_below(check, child, extent);

            sum = quota_plus(sum, own > below ? own : below);
        }
    return sum;
}

static int
check_claims_on(const struct quota_case *check, const struct quota *above,
                struct error *err)
{
    const struct quota_extent extent = { above->pool, above->class, above->vendor,
                                   above->model };
    char where[QUOTA_WHERE_MAX], a[REASON_AMOUNT_MAX], b[REASON_AMOUNT_MAX];
    int64_t sum = claims_below(check, above->object.parent, &extent);

    if (sum <= above->guaranteed)
        return 0;
    return error_set(err, ERROR_QUOTA,
                     "the guarantees below %s would sum to %s, its own is %s",
                     quota_where(where, check->world, above),
                     reason_amount(a, DIMENSION_CARDS, sum),
                     reason_amount(b, DIMENSION_CARDS, above->guaranteed));
}

/* What is guaranteed of any scope below a tenant fits each guarantee of cards
 * above it that counts the same use. */
int
quota_claims_nested(const struct quota_case *check, struct error *err)
{
    struct ref node = check->self->object.parent;

    if (check->self->guaranteed == 0 || node.kind == KIND_PLATFORM ||
        !ref_is_none(check->self->user))
        return 0;
    if (check_claims_on(check, check->self, err) < 0)
        return -1;
    if (check->before != NULL &&
        check->self->guaranteed <= check->before->guaranteed)
        return 0;
    for (node = world_parent(check->world, node);
         !ref_is_none(node) && node.kind != KIND_PLATFORM;
         node = world_parent(check->world, node))
        world_each_child(check->world, KIND_QUOTA, node, ref) {
            const struct quota *above = change_get(check->changes, ref);

            if (above != NULL && above->dimension == DIMENSION_CARDS &&
                above->guaranteed > 0 &&
                check_claims_on(check, above, err) < 0)
                return -1;
        }
    return 0;
}

/* Every extent that the new guarantee lies in must hold what is claimed of it
 * by all tenants together. */
int
quota_claims_check(const struct quota_case *check, struct error *err)
{
    const struct quota *self = check->self;
    const struct ref none = { 0 };
    const struct quota_extent extents[] = {
        { self->pool, self->class, self->vendor, self->model },
        { self->pool, none, self->vendor, self->model },
        { none, none, self->vendor, self->model },
        { self->pool, self->class, "", "" },
        { self->pool, none, "", "" },
        { none, self->class, "", "" },
        { none, none, "", "" },
    };
    char a[REASON_AMOUNT_MAX], b[REASON_AMOUNT_MAX], c[REASON_AMOUNT_MAX];
    int64_t at_ms;

    for (size_t i = 0; i < sizeof(extents) / sizeof(extents[0]); i++) {
        int64_t have = quota_healthy(check, &extents[i]), sum = 0;
        int64_t own = quota_claim(check, self->object.parent, &extents[i]);

        world_each(check->world, KIND_TENANT, tenant)
            sum = quota_plus(sum, quota_claim(check, tenant, &extents[i]));
        if (world_get(check->world, self->object.parent) == NULL)
            sum = quota_plus(sum, own); /* a tenant that is being made */
        if (extents[i].vendor[0] == '\0' && extents[i].model[0] == '\0')
            have -= reservation_peak(check->changes, extents[i].pool,
                                     extents[i].class, NULL,
                                     check->changes->context.now_ms, &at_ms);
        if (sum <= have)
            continue;
        (void)error_set(err, ERROR_QUOTA,
                        "the guarantees of all tenants would sum to %s, %s "
                        "are healthy and not reserved",
                        reason_amount(a, self->dimension, sum),
                        reason_amount(b, self->dimension, have));
        return error_help(err, "at most %s can be guaranteed here now",
                          reason_amount(c, self->dimension,
                                        have - (sum - own) > 0
                                            ? have - (sum - own)
                                            : 0));
    }
    return 0;
}

static const struct quota nobodys = { .dimension = DIMENSION_CARDS };

/* --- what health broke --- */

#define AT_RISK "quota.at-risk"
#define ALARM_NAMES_MAX 300 /* bytes */

/* Names a tenant and what it could claim, while there is room for it. */
static void
name_one(struct buffer *names, const struct world *world, struct ref tenant,
         int64_t claim)
{
    char amount[REASON_AMOUNT_MAX];

    if (names->size > ALARM_NAMES_MAX)
        return;
    buffer_printf(names, "%s%s %s", names->size > 0 ? ", " : "",
                  world_tenant(world, tenant)->object.name,
                  reason_amount(amount, DIMENSION_CARDS, claim));
    if (names->size > ALARM_NAMES_MAX)
        buffer_printf(names, ", and others");
}

static void
look_at_extent(const struct quota_case *check, struct changes *changes,
               struct ref pool, struct ref about)
{
    const struct quota_extent extent = { .pool = pool, .vendor = "", .model = "" };
    const struct ref none = { 0 };
    char a[REASON_AMOUNT_MAX], b[REASON_AMOUNT_MAX], c[REASON_AMOUNT_MAX];
    scoped_buffer names = { 0 };
    int64_t at_ms, sum = 0, have, reserved;

    world_each(check->world, KIND_TENANT, tenant) {
        int64_t own = quota_claim(check, tenant, &extent);

        sum = quota_plus(sum, own);
        if (own > 0)
            name_one(&names, check->world, tenant, own);
    }
    reserved = reservation_peak(changes, pool, none, NULL,
                                changes->context.now_ms, &at_ms);
    have = sum + reserved > 0 ? quota_healthy(check, &extent) : 0;
    if (quota_plus(sum, reserved) <= have) {
        alarm_clear(changes, about, AT_RISK);
        return;
    }
    alarm_raise(changes, about, AT_RISK,
                "%s are healthy, %s are guaranteed and %s reserved at most: at "
                "risk are %s",
                reason_amount(a, DIMENSION_CARDS, have),
                reason_amount(b, DIMENSION_CARDS, sum),
                reason_amount(c, DIMENSION_CARDS, reserved),
                names.size > 0 ? buffer_text(&names) : "reservations");
}

void
quota_claims_watch(struct changes *changes)
{
    const struct quota_case check = { .changes = changes,
                                      .world = changes->world,
                                      .self = &nobodys };
    const struct ref none = { 0 };

    look_at_extent(&check, changes, none, world_platform_ref(check.world));
    world_each(check.world, KIND_POOL, pool)
        look_at_extent(&check, changes, pool, pool);
    quota_portions_watch(&check, changes);
}

/* --- what was given --- */

/* Milli-cards that all tenants are guaranteed, given ones included, beyond
 * what is healthy and not reserved: below 0 there is room. */
static int64_t
excess(const struct quota_case *check, const struct reservation *more)
{
    const struct quota_extent all = { .vendor = "", .model = "" };
    const struct ref none = { 0 };
    int64_t at_ms, sum = -quota_healthy(check, &all);

    sum += reservation_peak(check->changes, none, none, more,
                            check->changes->context.now_ms, &at_ms);
    if (more != NULL)
        sum += more->cards * 1000;
    world_each(check->world, KIND_TENANT, tenant)
        sum = quota_plus(sum, quota_claim(check, tenant, &all));
    return sum;
}

int64_t
quota_given_room(const struct changes *changes)
{
    const struct quota_case check = { .changes = changes,
                                 .world = changes->world,
                                 .self = &nobodys,
                                 .given = true };
    int64_t over = excess(&check, NULL);

    return over < 0 ? -over : 0;
}

/* The newest that was given and still gives way, before this one. */
static const struct quota *
newest_given(const struct quota_case *check, uint64_t before)
{
    const struct quota *newest = NULL;
    struct quota_case without = *check;

    without.given = false;
    world_each(check->world, KIND_QUOTA, ref) {
        const struct quota *quota = change_get(check->changes, ref);

        if (quota != NULL && quota->given && quota->guaranteed > 0 &&
            quota->object.seq < before &&
            !ref_equal(ref, check->self->object.self) &&
            gives_way(&without, quota) &&
            (newest == NULL || quota->object.seq > newest->object.seq))
            newest = quota;
    }
    return newest;
}

bool
quota_yield(struct changes *changes, const struct quota *quota,
            const struct reservation *reservation)
{
    const struct quota_case check = { .changes = changes,
                                 .world = changes->world,
                                 .self = quota != NULL ? quota : &nobodys,
                                 .given = true };
    const struct quota *next;
    uint64_t before = UINT64_MAX;

    while (excess(&check, reservation) > 0) {
        struct ref ref;

        if ((next = newest_given(&check, before)) == NULL)
            return false;
        ref = next->object.self;
        before = next->object.seq;
        ((struct quota *)change_update(changes, ref))->guaranteed = 0;
    }
    return true;
}
