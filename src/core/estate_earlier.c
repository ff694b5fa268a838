/* SPDX-License-Identifier: Apache-2.0 */
#include "core/estate_private.h"

/* What was promised before: see estate_earlier. */

static void
take_off(const struct run *run, struct ledger *ledger)
{
    for (size_t i = 0; i < run->share_count; i++) {
        const struct share *share = &run->shares[i];

        if (!share->leaving)
            ledger_add(ledger, ledger_ref(share->quota), -share->amount);
    }
}

/* Others than of its tenant have none of its quotas but the platform's. */
static void
take_off_later(const struct estate *estate, struct ref tenant, uint64_t seq,
               struct ledger *ledger)
{
    const struct world *world = estate->world;

    for (uint32_t at = estate_first_held(estate, tenant); at != ESTATE_NONE;
         at = estate->runs[at].next_held) {
        const struct run *run = &estate->runs[at];

        if (world_object(world, run->first_hold)->seq > seq)
            take_off(run, ledger);
    }
}

void
estate_earlier(const struct estate *estate, struct ref workload,
               struct arena *arena, struct ledger *ledger_out)
{
    const struct world *world = estate->world;
    struct ref hold = world_first_child(world, KIND_HOLD, workload);
    struct ref platform = world_platform_ref(world);

    ledger_copy(ledger_out, &estate->promised, arena);
    if (ref_is_none(hold))
        return;
    if (ref_is_none(world_first_child(world, KIND_QUOTA, platform))) {
        take_off_later(estate, world_object(world, hold)->scope,
                       world_object(world, hold)->seq, ledger_out);
        return;
    }
    while (!ref_is_none(hold = world_next(world, hold))) {
        struct ref other = world_parent(world, hold);
        uint32_t number = estate_run(estate, other);

        if (number != ESTATE_NONE && !ref_equal(other, workload) &&
            ref_equal(hold, estate->runs[number].first_hold))
            take_off(&estate->runs[number], ledger_out);
    }
}
