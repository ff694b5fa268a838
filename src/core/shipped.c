/* SPDX-License-Identifier: Apache-2.0 */
#include "core/shipped.h"

#include <stdio.h>

#define SECOND_MS INT64_C(1000)
#define MINUTE_MS (60 * SECOND_MS)

static void
set_policy(struct platform *platform, const char *currency)
{
    (void)snprintf(platform->currency, sizeof(platform->currency), "%s",
                   currency != NULL ? currency : "EUR");
    platform->grace_batch_ms = 120 * SECOND_MS;
    platform->grace_service_ms = 30 * SECOND_MS;
    platform->grace_max_ms = 10 * MINUTE_MS;
    platform->hold_ms = 15 * MINUTE_MS;
    platform->lease_ms = 30 * SECOND_MS;
    platform->tenant_limit_permille = 500;
    platform->burst_factor_permille = 2000;
    platform->free_limit_milli = 1000;
    platform->tenant_guarantee_milli = 1000;
    platform->min_run_ms = MINUTE_MS;
    platform->restart_max = 10;
    platform->bypass_max = 20;
    platform->bypass_ms = 60 * MINUTE_MS;
    platform->share_half_life_ms = SHARE_HALF_LIFE_MS;
    platform->password_min = 12;
    platform->session_ms = 12 * 60 * MINUTE_MS;
    platform->session_idle_ms = 4 * 60 * MINUTE_MS;
}

struct ref
shipped_platform(struct changes *changes, const char *currency)
{
    struct ref none = { 0 };
    struct platform *platform =
        change_create(changes, KIND_PLATFORM, none, "platform");

    set_policy(platform, currency);
    return platform->object.self;
}

void
shipped_priorities(struct changes *changes, struct ref platform)
{
    static const struct {
        const char *name;
        int64_t value;
        bool across;
        const char *roles, *classes; /* NULL: all */
        int64_t share_permille;
    } shipped[] = {
        { "incident", 1000, true,
          "[\"platform-admin\",\"operations-engineer\",\"tenant-admin\","
          "\"project-admin\"]",
          "[\"production\"]", 250 },
        { "production", 800, false, NULL, "[\"production\"]", 0 },
        { "development", 500, false, NULL,
          "[\"production\",\"development\"]", 0 },
        { "research", 200, false, NULL, NULL, 0 },
    };

    for (size_t i = 0; i < sizeof(shipped) / sizeof(shipped[0]); i++) {
        struct priority *priority = change_create(
            changes, KIND_PRIORITY, platform, shipped[i].name);

        priority->value = shipped[i].value;
        priority->preempt_across = shipped[i].across;
        priority->share_permille = shipped[i].share_permille;
        change_doc(changes, &priority->roles, shipped[i].roles);
        change_doc(changes, &priority->project_classes, shipped[i].classes);
    }
}
