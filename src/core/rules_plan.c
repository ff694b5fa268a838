/* SPDX-License-Identifier: Apache-2.0 */
#include "core/rules.h"

#include <string.h>

#include "core/maintenance.h"
#include "core/require.h"
#include "core/trait.h"

/* What operators plan and rule: maintenances, requirements, commitments. */

/* --- maintenances --- */

int
rules_create_maintenance(const struct edit *edit, void *image,
                         struct error *err)
{
    struct maintenance *maintenance = image;

    if (maintenance->from_ms == 0)
        maintenance->from_ms = edit->now_ms;
    if (maintenance->from_ms < edit->now_ms)
        return error_field(err, "/from_ms",
                           "a maintenance begins now or later");
    if (maintenance_check(edit->changes, maintenance, edit->now_ms, err) != 0)
        return -1;
    maintenance_arm(maintenance, edit->now_ms);
    return 0;
}

int
rules_update_maintenance(const struct edit *edit, const void *before,
                         void *image, struct error *err)
{
    const struct maintenance *old = before;
    struct maintenance *maintenance = image;

    if (old->state == MAINTENANCE_OVER)
        return error_set(err, ERROR_CONFLICT,
                         "the maintenance is over: make a new one");
    if (maintenance_check(edit->changes, maintenance, edit->now_ms, err) != 0)
        return -1;
    if (old->state == MAINTENANCE_OPEN || maintenance->to_ms == old->to_ms)
        maintenance->closes_ms += maintenance->to_ms - old->to_ms;
    else
        maintenance_arm(maintenance, edit->now_ms);
    return 0;
}

int
rules_delete_maintenance(const struct edit *edit, struct ref ref,
                         struct error *err)
{
    (void)err;
    maintenance_end(edit->changes, ref);
    return 0;
}

/* --- requirements --- */

/* Which of its fields would have to be another. */
static const char *
bad_field(const struct requirement *rule)
{
    if (trait_kind_of(rule->fact) == TRAIT_NONE)
        return "/fact";
    return rule->at_least[0] != '\0' && rule->below[0] != '\0' ? "/below"
                                                                : "/at_least";
}

static int
check_requirement(const struct requirement *rule, struct error *err)
{
    const char *field = bad_field(rule);
    struct need need = { .card = false };

    memcpy(need.fact, rule->fact, sizeof(need.fact));
    memcpy(need.at_least, rule->at_least, sizeof(need.at_least));
    memcpy(need.below, rule->below, sizeof(need.below));
    memcpy(need.equals, rule->equals, sizeof(need.equals));
    return require_check(&need, field, err);
}

int
rules_create_requirement(const struct edit *edit, void *image,
                         struct error *err)
{
    if (world_count(edit->world, KIND_REQUIREMENT) >= REQUIRE_RULES_MAX)
        return error_set(err, ERROR_QUOTA,
                         "there are %d requirements already, as many as can "
                         "be",
                         REQUIRE_RULES_MAX);
    return check_requirement(image, err);
}

int
rules_update_requirement(const struct edit *edit, const void *before,
                         void *image, struct error *err)
{
    (void)edit;
    (void)before;
    return check_requirement(image, err);
}

/* --- commitments --- */

static int
check_commitment(const struct commitment *commitment, struct error *err)
{
    if (commitment->to_ms <= commitment->from_ms)
        return error_field(err, "/to_ms",
                           "a commitment ends after it begins");
    return 0;
}

int
rules_create_commitment(const struct edit *edit, void *image,
                        struct error *err)
{
    struct commitment *commitment = image;

    if (commitment->from_ms == 0)
        commitment->from_ms = edit->now_ms;
    if (commitment->from_ms < edit->now_ms)
        return error_field(err, "/from_ms",
                           "a commitment begins now or later: what was used "
                           "is charged as it was");
    return check_commitment(commitment, err);
}

/* Only its end moves, and not into what was charged. */
int
rules_update_commitment(const struct edit *edit, const void *before,
                        void *image, struct error *err)
{
    const struct commitment *old = before;
    const struct commitment *commitment = image;

    if (old->to_ms <= edit->now_ms)
        return error_set(err, ERROR_CONFLICT, "the commitment has ended");
    if (commitment->to_ms < edit->now_ms)
        return error_field(err, "/to_ms", "a commitment ends now or later");
    return check_commitment(commitment, err);
}

int
rules_delete_commitment(const struct edit *edit, struct ref ref,
                        struct error *err)
{
    if (world_commitment(edit->world, ref)->from_ms > edit->now_ms)
        return 0;
    return error_set(err, ERROR_CONFLICT,
                     "the commitment is or was in force; set its end "
                     "instead");
}
