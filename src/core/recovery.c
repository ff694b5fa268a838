/* SPDX-License-Identifier: Apache-2.0 */
#include "core/recovery.h"

#include <inttypes.h>

#define WAIT_FIRST_MS INT64_C(5000)
#define WAIT_MAX_MS INT64_C(600000)

static const struct tenant *
tenant_of(const struct world *world, const struct workload *workload)
{
    return world_tenant(world, world_ancestor(world, KIND_TENANT,
                                              workload->object.parent));
}

static const struct platform *
platform_of(const struct world *world)
{
    return world_platform(world, world_platform_ref(world));
}

/* --- ceilings --- */

static enum recovery
at_most(enum recovery wanted, int most)
{
    switch ((enum recovery_most)most) {
    case MOST_ANY:
        return wanted;
    case MOST_SAME_POOL:
        return wanted == RECOVERY_ANY ? RECOVERY_SAME_POOL : wanted;
    case MOST_NEVER:
        break;
    }
    return RECOVERY_NEVER;
}

/* 0: there is no such rule. */
static int64_t
smaller(int64_t a, int64_t b)
{
    return b > 0 && b < a ? b : a;
}

enum recovery
recovery_policy(const struct world *world, const struct workload *workload)
{
    const struct tenant *tenant = tenant_of(world, workload);
    const struct platform *platform = platform_of(world);
    enum recovery policy = (enum recovery)workload->recovery;

    if (tenant != NULL)
        policy = at_most(policy, tenant->recovery_most);
    return platform != NULL ? at_most(policy, platform->recovery_most)
                            : policy;
}

int64_t
recovery_limit(const struct world *world, const struct workload *workload)
{
    const struct tenant *tenant = tenant_of(world, workload);
    const struct platform *platform = platform_of(world);
    int64_t limit = workload->recovery_limit > 0 ? workload->recovery_limit
                                                 : RECOVERY_LIMIT;

    if (tenant != NULL)
        limit = smaller(limit, tenant->recovery_limit);
    return platform != NULL ? smaller(limit, platform->recovery_limit)
                            : limit;
}

bool
recovery_may(const struct world *world, const struct workload *workload)
{
    return recovery_policy(world, workload) != RECOVERY_NEVER &&
           workload->recoveries < recovery_limit(world, workload);
}

const char *
recovery_why_not(const struct world *world, const struct workload *workload)
{
    if (workload->recovery == RECOVERY_NEVER)
        return "its recovery policy is never";
    if (recovery_policy(world, workload) == RECOVERY_NEVER)
        return "its tenant or the platform allows no recovery";
    return "it has recovered as often as it may";
}

int64_t
recovery_wait_ms(int64_t count)
{
    int64_t wait_ms = WAIT_FIRST_MS;

    if (count <= 1)
        return 0;
    while (--count > 1 && wait_ms < WAIT_MAX_MS)
        wait_ms *= 2;
    return wait_ms < WAIT_MAX_MS ? wait_ms : WAIT_MAX_MS;
}

/* --- places --- */

struct ref
recovery_pool(const struct world *world, const struct workload *workload)
{
    struct ref pool = { 0 };

    if (workload->recoveries == 0 ||
        recovery_policy(world, workload) != RECOVERY_SAME_POOL)
        return pool;
    world_each_child(world, KIND_INSTANCE, workload->object.self, ref)
        if (world_instance(world, ref)->lost_ms != 0)
            pool = world_instance(world, ref)->pool;
    return pool;
}

bool
recovery_was_lost(const struct world *world, struct ref workload,
                  struct ref node)
{
    const struct workload *present = world_workload(world, workload);

    if (present == NULL || present->recoveries == 0)
        return false;
    world_each_child(world, KIND_INSTANCE, workload, ref) {
        const struct instance *instance = world_instance(world, ref);

        if (instance->lost_ms != 0 && ref_equal(instance->node, node))
            return true;
    }
    return false;
}

/* --- may it ask for that? --- */

static int
check_most(const struct workload *workload, int most, const char *whose,
           struct error *err)
{
    static const char *const words[] = { "any", "same-pool", "never" };
    enum recovery wanted = (enum recovery)workload->recovery;

    if (at_most(wanted, most) == wanted)
        return 0;
    (void)error_field(err, "/recovery",
                      "/recovery goes further than %s allows, which is %s",
                      whose, words[most]);
    return error_help(err, "ask for \"%s\", or leave it out: never",
                      words[most]);
}

static int
check_limit(const struct workload *workload, int64_t limit,
            const char *whose, struct error *err)
{
    if (limit == 0 || workload->recovery_limit <= limit)
        return 0;
    return error_field(err, "/recovery_limit",
                       "/recovery_limit is %" PRId64 ", %s allows at most "
                       "%" PRId64,
                       workload->recovery_limit, whose, limit);
}

int
recovery_check(const struct world *world, const struct workload *workload,
               struct error *err)
{
    const struct tenant *tenant = tenant_of(world, workload);
    const struct platform *platform = platform_of(world);

    if (tenant == NULL || platform == NULL)
        return 0;
    if (check_most(workload, tenant->recovery_most, "the tenant", err) != 0 ||
        check_most(workload, platform->recovery_most, "the platform", err) !=
            0 ||
        check_limit(workload, tenant->recovery_limit, "the tenant", err) !=
            0)
        return -1;
    return check_limit(workload, platform->recovery_limit, "the platform",
                       err);
}
