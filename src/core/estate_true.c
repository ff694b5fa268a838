/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/ends.h"
#include "core/estate_private.h"
#include "core/reclaim_index.h"

/* The estate that followed the world against one that is made from it now. */

/* Layouts have no order, but room between their members. */
static bool
same_layout(const struct layout *a, const struct layout *b)
{
    struct layout none = { 0 }, left = *a, right = *b;

    geometry_part(&left, b);
    geometry_part(&right, a);
    return memcmp(&left, &none, sizeof(none)) == 0 &&
           memcmp(&right, &none, sizeof(none)) == 0;
}

static bool
same_cut(const struct cut *a, const struct cut *b)
{
    return a->card == b->card && a->on == b->on &&
           a->held_whole == b->held_whole && a->own_whole == b->own_whole &&
           same_layout(&a->used, &b->used) &&
           same_layout(&a->held, &b->held) &&
           same_layout(&a->leaving, &b->leaving) &&
           same_layout(&a->gain, &b->gain) && same_layout(&a->own, &b->own);
}

static bool
same_part(const struct part *a, const struct part *b, const struct site *at_a,
          const struct site *at_b)
{
    struct part left = *a, right = *b;

    /* Numbers of places are free to differ, their order is not. */
    left.site = right.site = 0;
    for (int i = 0; i < PLACE_GROUPS; i++) {
        left.groups[i] -= (uint32_t)at_a->first;
        right.groups[i] -= (uint32_t)at_b->first;
    }
#define SAME(member) (left.member == right.member)
    return SAME(memory_mib) && SAME(health) &&
           SAME(handover) && SAME(missing) && SAME(foreign) &&
           SAME(stale) && SAME(links_bad) &&
           SAME(model) && SAME(traits) &&
           memcmp(left.groups, right.groups, sizeof(left.groups)) == 0 &&
           SAME(used_milli) && SAME(used_memory_mib) && SAME(held_milli) &&
           SAME(held_memory_mib) && SAME(leaving_milli) &&
           SAME(leaving_memory_mib) && SAME(gain_milli) &&
           SAME(gain_memory_mib) && SAME(own_milli) && SAME(own_memory_mib) &&
           same_cut(&left.cut, &right.cut) &&
           ref_equal(left.card, right.card) &&
           ref_equal(left.last_tenant, right.last_tenant) &&
           ref_equal(left.tenant, right.tenant) &&
           ref_equal(left.hold_tenant, right.hold_tenant);
#undef SAME
}

static bool
same_site(const struct site *a, const struct site *b)
{
#define SAME(member) (a->member == b->member)
    return SAME(count) && SAME(state) && SAME(fresh) && SAME(cpu_milli) &&
           SAME(leaf) && SAME(facts) && SAME(stops_ms[0]) &&
           SAME(stops_ms[1]) &&
           SAME(memory_mib) && SAME(used_cpu) && SAME(used_memory) &&
           SAME(held_cpu) && SAME(held_memory) && SAME(leaving_cpu) &&
           SAME(leaving_memory) && SAME(shared) && SAME(secluded_more) &&
           SAME(gain_cpu) && SAME(gain_memory) && SAME(own_cpu) &&
           SAME(own_memory) && ref_equal(a->pool, b->pool) &&
           ref_equal(a->tenant, b->tenant) &&
           ref_equal(a->secluded, b->secluded);
#undef SAME
}

static const char *
compare_sites(const struct estate *estate, const struct estate *fresh)
{
    size_t live = 0;

    for (size_t i = 0; i < estate->site_count; i++) {
        const struct site *site = &estate->sites[i], *other;
        uint32_t number = estate_site(fresh, site->node);

        if (ref_is_none(site->node)) {
            if (site->count > 0)
                return "a site whose node is gone";
            continue;
        }
        if (number != live++)
            return "the order of sites";
        other = &fresh->sites[number];
        if (estate_site(estate, site->node) != i)
            return "the place of a site";
        if (!same_site(site, other))
            return "a site";
        for (size_t k = 0; k < site->count; k++) {
            const struct part *part = &estate->parts[site->first + k];

            if (part->site != i ||
                estate_part(estate, part->card) != site->first + k)
                return "the place of a part";
            if (!same_part(part, &fresh->parts[other->first + k], site, other))
                return "a part";
        }
    }
    return live == fresh->site_count ? NULL : "the number of sites";
}

/* Every use of the one is a use of the other; there is no order. */
static bool
same_uses(const struct estate *a, const struct run *run,
          const struct estate *b, const struct run *other)
{
    if (run->count != other->count)
        return false;
    for (size_t i = 0; i < run->count; i++) {
        const struct use *use = &run->uses[i];
        bool found = false;

        for (size_t k = 0; k < other->count && !found; k++) {
            const struct use *at = &other->uses[k];

            found = ref_equal(a->sites[use->site].node,
                              b->sites[at->site].node) &&
                    (use->part == ESTATE_NONE) == (at->part == ESTATE_NONE) &&
                    (use->part == ESTATE_NONE ||
                     ref_equal(a->parts[use->part].card,
                               b->parts[at->part].card)) &&
                    use->milli == at->milli &&
                    use->profile == at->profile && use->start == at->start &&
                    use->memory_mib == at->memory_mib &&
                    use->cpu_milli == at->cpu_milli;
        }
        if (!found)
            return false;
    }
    return true;
}

static bool
same_demand(const struct demand *a, const struct demand *b)
{
    return ref_equal(a->project, b->project) && ref_equal(a->pool, b->pool) &&
           ref_equal(a->class, b->class) &&
           ref_equal(a->asked_pool, b->asked_pool) &&
           ref_equal(a->user, b->user) &&
           memcmp(a->of, b->of, sizeof(a->of)) == 0;
}

static uint32_t
surplus_of(const struct estate *estate, uint32_t gang, struct ref instance)
{
    uint32_t at = estate->runs[gang].next_surplus;

    while (at != ESTATE_NONE &&
           !ref_equal(estate->runs[at].instance, instance))
        at = estate->runs[at].next_surplus;
    return at;
}

static const char *
compare_runs(const struct estate *estate, const struct estate *fresh)
{
    size_t count = 0, expected = 0;

    for (size_t i = 0; i < fresh->run_count; i++)
        expected += !ref_is_none(fresh->runs[i].workload);
    for (size_t i = 0; i < estate->run_count; i++) {
        const struct run *run = &estate->runs[i], *other;
        uint32_t number = estate_run(fresh, run->workload);

        if (ref_is_none(run->workload))
            continue;
        count++;
        if (number == ESTATE_NONE ||
            (estate_run(estate, run->workload) != i && !run->surplus))
            return "the place of a run";
        if (run->surplus)
            number = surplus_of(fresh, number, run->instance);
        if (number == ESTATE_NONE)
            return "a surplus instance";
        other = &fresh->runs[number];
        if (run->priority != other->priority || run->live != other->live ||
            run->leaving != other->leaving ||
            run->promised != other->promised ||
            run->gives_back != other->gives_back ||
            run->since_ms != other->since_ms ||
            run->young_ms != other->young_ms || run->kind != other->kind ||
            run->started_ms != other->started_ms ||
            run->end_ms != other->end_ms ||
            run->fixed != other->fixed || run->stays != other->stays ||
            run->surplus_count != other->surplus_count ||
            !ref_equal(run->first_hold, other->first_hold) ||
            !same_demand(&run->demand, &other->demand) ||
            !same_uses(estate, run, fresh, other))
            return "a run";
    }
    return count == expected ? NULL : "the number of runs";
}

static bool
same_ledger(const struct ledger *a, const struct ledger *b)
{
    for (size_t i = 0; i < a->room; i++) {
        struct ref quota = ledger_ref(a->lines[i].quota);

        if (quota.index != 0 && ledger_get(b, quota) != a->lines[i].amount)
            return false;
    }
    return true;
}

static bool
same_ledgers(const struct ledger *a, const struct ledger *b)
{
    return same_ledger(a, b) && same_ledger(b, a);
}

static bool
same_numbers(const struct numbers *a, const struct numbers *b)
{
    const struct ref none = { 0 };

    if (a->uids.used != b->uids.used ||
        numbers_uid(a, 0) != numbers_uid(b, 0))
        return false;
    for (uint32_t i = 1; i < a->tenant_room || i < b->tenant_room; i++) {
        struct ref tenant = none;

        tenant.kind = KIND_TENANT;
        tenant.index = i;
        if (numbers_address(a, tenant, 0) != numbers_address(b, tenant, 0))
            return false;
    }
    return true;
}

bool
estate_is_true(const struct estate *estate, const char **where_out)
{
    scoped_arena arena = arena_new();
    const struct estate *fresh =
        estate_new(arena, estate->world, estate->now_ms);

    *where_out = compare_sites(estate, fresh);
    if (*where_out == NULL)
        *where_out = compare_runs(estate, fresh);
    if (*where_out == NULL &&
        !same_ledgers(&estate->promised, &fresh->promised))
        *where_out = "what is promised";
    if (*where_out == NULL && !same_ledgers(&estate->leaving, &fresh->leaving))
        *where_out = "what is leaving";
    if (*where_out == NULL && !same_ledgers(&estate->balance, &fresh->balance))
        *where_out = "the balance";
    if (*where_out == NULL &&
        !same_numbers(&estate->numbers, &fresh->numbers))
        *where_out = "uids and addresses";
    if (*where_out == NULL && !ends_is_true(estate))
        *where_out = "the order of ends";
    if (*where_out == NULL && !reclaim_index_is_true(estate))
        *where_out = "the order of victims";
    return *where_out == NULL;
}
