/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/quota.h"

/* Limits above quota for a time.  See quota.h. */

static int
check(const struct world *world, const struct quota *quota, int64_t limit,
      int64_t for_ms, const char *reason, struct error *err)
{
    int64_t lasting = quota_limit(world, quota);
    int64_t most =
        quota->dimension >= DIMENSION_CARD_TIME ? USAGE_MAX : AMOUNT_MAX;
    char text[REASON_AMOUNT_MAX];

    if (for_ms < 0 || for_ms > QUOTA_RAISE_MS_MAX)
        return error_field(err, "/for_ms",
                           "/for_ms is %" PRId64 ", must be 0 to %" PRId64
                           " (7 days)",
                           for_ms, QUOTA_RAISE_MS_MAX);
    if (reason[0] == '\0')
        return error_field(err, "/reason", "/reason is empty: it is shown to "
                                           "everybody whom it concerns");
    if (schema_check_text("/reason", reason, sizeof(quota->raised_reason),
                          err) != 0)
        return -1;
    if (lasting == AMOUNT_NONE)
        return error_set(err, ERROR_CONFLICT,
                         "the quota has no limit that could be raised");
    if (for_ms > 0 && (limit <= lasting || limit > most))
        return error_field(err, "/limit",
                           "/limit is %" PRId64 ", above the lasting limit "
                           "of %s it must be, and at most %" PRId64,
                           limit,
                           reason_amount(text, quota->dimension, lasting),
                           most);
    return 0;
}

int
quota_raise(const struct granted *granted, struct changes *changes,
            int64_t limit, int64_t for_ms, const char *reason,
            struct error *err)
{
    const struct world *world = granted_world(granted);
    const struct quota *present = world_quota(world, granted_object(granted));
    struct quota *quota;

    assert(granted_verb(granted) == VERB_QUOTA_RAISE && present != NULL);
    if (check(world, present, limit, for_ms, reason, err) != 0)
        return -1;
    quota = change_update(changes, present->object.self);
    quota->raised_limit = for_ms > 0 ? limit : 0;
    quota->raised_until_ms =
        for_ms > 0 ? granted_now_ms(granted) + for_ms : 0;
    quota->raised_by = granted_actor(granted)->subject;
    (void)snprintf(quota->raised_reason, sizeof(quota->raised_reason), "%s",
                   reason);
    return 0;
}
