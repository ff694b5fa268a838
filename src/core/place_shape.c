/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/cut.h"
#include "core/place.h"

static int64_t
least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* On the cards of a node, or only those of one of its islands. */
static int64_t
empty_fit(const struct world *world, struct ref node, const char *island,
          const struct class *class, int64_t *least_memory)
{
    int64_t fit = 0, matching = 0;

    world_each_child(world, KIND_CARD, node, ref) {
        const struct card *card = world_card(world, ref);

        if (island != NULL && strcmp(card->island, island) != 0)
            continue;
        if (!place_matches(class, card) ||
            (class->form == FORM_HARD && cut_empty_room(class, card) == 0))
            continue;
        if (*least_memory == 0 || card->memory_mib < *least_memory)
            *least_memory = card->memory_mib;
        matching++;
        if (class->form == FORM_HARD)
            fit += cut_empty_room(class, card);
        if (class->form == FORM_SOFT && class->milli > 0)
            fit += class->memory_mib > 0
                       ? least(1000 / class->milli,
                               card->memory_mib / class->memory_mib)
                       : 1000 / class->milli;
    }
    if (class->form != FORM_WHOLE)
        return fit;
    return class->count > 0 ? matching / class->count : INT64_MAX;
}

/* Of the island of the node that takes most. */
static int64_t
island_fit(const struct world *world, struct ref node,
           const struct class *class, int64_t *least_memory)
{
    int64_t most = 0;

    world_each_child(world, KIND_CARD, node, ref) {
        int64_t fit = empty_fit(world, node, world_card(world, ref)->island,
                                class, least_memory);

        if (fit > most)
            most = fit;
    }
    return most;
}

bool
place_shape(const struct world *world, struct ref pool,
            const struct class *class, enum topology level, int64_t instances,
            int64_t cpu_milli, int64_t memory_mib, int64_t *capacity_out,
            int64_t *least_memory_out)
{
    int64_t capacity = 0, memory = 0;

    world_each_child(world, KIND_NODE, pool, ref) {
        const struct node *node = world_node(world, ref);
        int64_t fit = level == TOPOLOGY_ISLAND && class->form == FORM_WHOLE
                          ? island_fit(world, ref, class, &memory)
                          : empty_fit(world, ref, NULL, class, &memory);

        if (cpu_milli > 0)
            fit = least(fit, node->cpu_milli / cpu_milli);
        if (memory_mib > 0)
            fit = least(fit, node->memory_mib / memory_mib);
        fit = least(fit, instances);
        if (level == TOPOLOGY_POOL)
            capacity += fit;
        else if (fit > capacity)
            capacity = fit;
    }
    *capacity_out = capacity;
    *least_memory_out = memory;
    return capacity >= instances;
}
