/* SPDX-License-Identifier: Apache-2.0 */
#include "core/estate_private.h"

/* Trials: what would be, were holds somebody's own. */

void
estate_trial(struct estate *estate, uint32_t site)
{
    struct estate_trials *trials = estate->trials;

    trials->flags = estate_grow(estate, trials->flags, &trials->flag_room,
                                (size_t)site + 1, 1);
    if (trials->flags[site] != 0)
        return;
    trials->flags[site] = 1;
    trials->sites = estate_grow(estate, trials->sites, &trials->room,
                                trials->count + 1, sizeof(*trials->sites));
    trials->sites[trials->count++] = site;
}

static bool
is_tried(const struct estate *estate, uint32_t number)
{
    const struct site *site = &estate->sites[number];

    if (site->own_cpu != 0 || site->own_memory != 0 || site->gain_cpu != 0 ||
        site->gain_memory != 0)
        return true;
    for (size_t i = site->first; i < site->first + site->count; i++) {
        const struct part *part = &estate->parts[i];

        if (part->own_milli != 0 || part->own_memory_mib != 0 ||
            part->gain_milli != 0 || part->gain_memory_mib != 0 ||
            part->cut.own.count != 0 || part->cut.gain.count != 0)
            return true;
    }
    return false;
}

const uint32_t *
estate_tried(const struct estate *estate, size_t *count_out)
{
    struct estate_trials *trials = estate->trials;
    size_t kept = 0;

    for (size_t i = 0; i < trials->count; i++) {
        uint32_t site = trials->sites[i];

        if (is_tried(estate, site))
            trials->sites[kept++] = site;
        else
            trials->flags[site] = 0;
    }
    trials->count = kept;
    *count_out = kept;
    return trials->sites;
}

void
estate_own(struct estate *estate, struct ref ref, bool on)
{
    const struct world *world = estate->world;
    const struct workload *workload = world_workload(world, ref);
    const struct class *class =
        workload != NULL ? world_class(world, workload->class) : NULL;
    uint32_t run = estate_run(estate, ref);
    int64_t count = 1, number = 0, sign = on ? 1 : -1;

    if (class != NULL && class->form == FORM_WHOLE && class->count > 0)
        count = class->count;
    world_each_child(world, KIND_HOLD, ref, child) {
        const struct hold *hold = world_hold(world, child);
        uint32_t at = estate_part(estate, hold->card);
        struct part *part = &estate->parts[at];
        struct site *site;

        if (at == ESTATE_NONE)
            continue;
        estate_trial(estate, part->site);
        part->own_milli += sign * hold->milli;
        part->own_memory_mib += sign * hold->memory_mib;
        estate_cut_add(part, &part->cut.own, hold->slice, (int)sign);
        part->cut.own_whole += hold->slice[0] == '\0' ? sign : 0;
        if (number++ % count != 0 || workload == NULL)
            continue;
        site = &estate->sites[part->site];
        site->own_cpu += sign * workload->cpu_milli;
        site->own_memory += sign * workload->memory_mib;
    }
    for (size_t i = 0; run != ESTATE_NONE && i < estate->runs[run].share_count;
         i++) {
        const struct share *share = &estate->runs[run].shares[i];
        struct ref quota = ledger_ref(share->quota);

        if (share->leaving)
            continue;
        ledger_add(&estate->promised, quota, -sign * share->amount);
        ledger_add(&estate->balance, quota, -sign * share->amount);
    }
}
