/* SPDX-License-Identifier: Apache-2.0 */
#include "core/place_apart.h"

#include <stdlib.h>

#include "core/lifecycle.h"

bool
place_apart_is_on(const struct place_request *request)
{
    return request->per_node > 0 || request->per_leaf > 0;
}

/* Is it one of the gang that goes on? */
static bool
stays(const struct workload *workload, const struct instance *instance)
{
    return instance->attempt == workload->attempt &&
           instance->state != INSTANCE_RELEASED &&
           !lifecycle_has_left(instance);
}

static int64_t
count_there(const struct estate *estate, const struct place_request *request,
            const struct site *site, bool leaf)
{
    const struct world *world = estate->world;
    const struct workload *workload = world_workload(world, request->workload);
    int64_t count = 0;

    if (workload == NULL || !lifecycle_is_live(workload->state))
        return 0;
    world_each_child(world, KIND_INSTANCE, request->workload, ref) {
        const struct instance *instance = world_instance(world, ref);
        uint32_t at = estate_site(estate, instance->node);

        if (at == ESTATE_NONE || !stays(workload, instance))
            continue;
        count += leaf && site->leaf != 0
                     ? estate->sites[at].leaf == site->leaf
                     : ref_equal(instance->node, site->node);
    }
    return count;
}

int64_t
place_apart_there(const struct estate *estate,
                  const struct place_request *request,
                  const struct site *site)
{
    return count_there(estate, request, site, false);
}

/* --- leaves --- */

struct behind {
    uint64_t leaf;
    int64_t fit;
    uint32_t option;
};

static int
behind_order(const void *left, const void *right)
{
    const struct behind *a = left, *b = right;

    if (a->leaf != b->leaf)
        return a->leaf < b->leaf ? -1 : 1;
    if (a->fit != b->fit)
        return a->fit > b->fit ? -1 : 1;
    return (a->option > b->option) - (a->option < b->option);
}

void
place_apart_leaves(const struct estate *estate,
                   const struct place_request *request, struct arena *arena,
                   struct option *options, size_t count,
                   struct place_tally *tally)
{
    struct behind *list;
    int64_t left = 0;

    if (request->per_leaf == 0 || count == 0)
        return;
    list = arena_alloc(arena, count * sizeof(*list));
    for (size_t i = 0; i < count; i++)
        list[i] = (struct behind){ estate->sites[options[i].site].leaf,
                                   options[i].fit, (uint32_t)i };
    qsort(list, count, sizeof(*list), behind_order);
    for (size_t i = 0; i < count; i++) {
        struct option *option = &options[list[i].option];
        const struct site *site = &estate->sites[option->site];

        if (i == 0 || list[i].leaf == 0 || list[i].leaf != list[i - 1].leaf)
            left = request->per_leaf -
                   count_there(estate, request, site, true);
        if (left < 0)
            left = 0;
        if (option->fit > left) {
            tally->close += option->fit - left;
            tally->fit -= option->fit - left;
            tally->out_nodes[FILTER_SPREAD]++;
            option->fit = left;
        }
        left -= option->fit;
    }
}
