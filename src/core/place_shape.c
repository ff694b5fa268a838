/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/cut.h"
#include "core/place.h"

static int64_t
least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* What is asked for. */
struct place_amount {
    int64_t instances, cpu_milli, memory_mib;
};

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

/* Instances that an empty node takes. */
static int64_t
node_fit(const struct world *world, struct ref ref, const struct class *class,
         enum topology level, const struct place_amount *amount,
         int64_t *least_memory)
{
    const struct node *node = world_node(world, ref);
    int64_t fit = level == TOPOLOGY_ISLAND && class->form == FORM_WHOLE
                      ? island_fit(world, ref, class, least_memory)
                      : empty_fit(world, ref, NULL, class, least_memory);

    if (amount->cpu_milli > 0)
        fit = least(fit, node->cpu_milli / amount->cpu_milli);
    if (amount->memory_mib > 0)
        fit = least(fit, node->memory_mib / amount->memory_mib);
    return least(fit, amount->instances);
}

/* All nodes behind the leaf of this one, when it is the first of them; a node
 * behind none stands for itself. */
static int64_t
leaf_fit(const struct world *world, struct ref pool, struct ref first,
         const struct class *class, const struct place_amount *amount,
         int64_t *least_memory)
{
    const char *leaf = world_node(world, first)->leaf;
    int64_t fit = 0;
    bool begun = false;

    world_each_child(world, KIND_NODE, pool, ref) {
        bool self = ref_equal(ref, first);

        if (!self && (leaf[0] == '\0' ||
                      strcmp(leaf, world_node(world, ref)->leaf) != 0))
            continue;
        if (!self && !begun)
            return 0; /* counted at the first */
        begun = true;
        fit += node_fit(world, ref, class, TOPOLOGY_LEAF, amount,
                        least_memory);
    }
    return fit;
}

bool
place_shape(const struct world *world, struct ref pool,
            const struct class *class, enum topology level, int64_t instances,
            int64_t cpu_milli, int64_t memory_mib, int64_t *capacity_out,
            int64_t *least_memory_out)
{
    const struct place_amount amount = { instances, cpu_milli, memory_mib };
    int64_t capacity = 0, memory = 0;

    world_each_child(world, KIND_NODE, pool, ref) {
        int64_t fit =
            level == TOPOLOGY_LEAF
                ? leaf_fit(world, pool, ref, class, &amount, &memory)
                : node_fit(world, ref, class, level, &amount, &memory);

        if (level == TOPOLOGY_POOL)
            capacity += fit;
        else if (fit > capacity)
            capacity = fit;
    }
    *capacity_out = capacity;
    *least_memory_out = memory;
    return capacity >= instances;
}
