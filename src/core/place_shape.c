/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/cut.h"
#include "core/node_type.h"
#include "core/place.h"
#include "core/place_group.h"

static int64_t
least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static bool
is_usable(const struct class *class, const struct place_amount *amount,
          const struct card *card)
{
    return place_matches(class, card) &&
           require_card(amount->needs, amount->need_count, card) &&
           (class->form != FORM_HARD || cut_empty_room(class, card) > 0);
}

/* What parts of cards take. */
static int64_t
parts_fit(const struct class *class, const struct card *card)
{
    int64_t shares;

    if (class->form == FORM_HARD)
        return cut_empty_room(class, card);
    shares = class->milli > 0 ? 1000 / class->milli : 0;
    return class->memory_mib > 0
               ? least(shares, card->memory_mib / class->memory_mib)
               : shares;
}

/* On the cards of a node. */
static int64_t
empty_fit(const struct world *world, struct ref node,
          const struct class *class, const struct place_amount *amount,
          int64_t *least_memory)
{
    int64_t fit = 0, matching = 0;

    world_each_child(world, KIND_CARD, node, ref) {
        const struct card *card = world_card(world, ref);

        if (!is_usable(class, amount, card))
            continue;
        if (*least_memory == 0 || card->memory_mib < *least_memory)
            *least_memory = card->memory_mib;
        matching++;
        if (class->form != FORM_WHOLE)
            fit += parts_fit(class, card);
    }
    if (class->form != FORM_WHOLE)
        return fit;
    return class->count > 0 ? matching / class->count : INT64_MAX;
}

/* Usable cards close to one of them; 0 when an earlier one is of them too. */
static int64_t
count_group(const struct world *world, struct ref node, struct ref one,
            enum place_group group, const struct class *class,
            const struct place_amount *amount)
{
    const struct card *card = world_card(world, one);
    bool before = true;
    int64_t count = 0;

    world_each_child(world, KIND_CARD, node, ref) {
        const struct card *other = world_card(world, ref);

        before = before && !ref_equal(ref, one);
        if (!place_group_is_same(group, other, card) ||
            !is_usable(class, amount, other))
            continue;
        if (before)
            return 0;
        count++;
    }
    return count;
}

/* The group of the node that takes most, or the sum over all of them. */
static int64_t
group_fit(const struct world *world, struct ref node, enum place_group group,
          bool all, const struct class *class,
          const struct place_amount *amount)
{
    int64_t most = 0, sum = 0;

    world_each_child(world, KIND_CARD, node, ref) {
        int64_t fit =
            count_group(world, node, ref, group, class, amount) /
            class->count;

        sum += fit;
        if (fit > most)
            most = fit;
    }
    return all ? sum : most;
}

static int64_t
cards_fit(const struct world *world, struct ref node,
          const struct class *class, enum topology level,
          const struct place_amount *amount, int64_t *least_memory)
{
    int64_t fit = empty_fit(world, node, class, amount, least_memory);
    enum place_group group;

    if (class->form != FORM_WHOLE || class->count == 0 || fit == 0)
        return fit;
    if (place_group_of_level(level, &group))
        return group_fit(world, node, group, false, class, amount);
    if (place_group_of_class(class, &group))
        return group_fit(world, node, group, true, class, amount);
    return fit;
}

/* Instances that an empty node takes. */
static int64_t
node_fit(const struct world *world, struct ref ref, const struct class *class,
         enum topology level, const struct place_amount *amount,
         int64_t *least_memory)
{
    const struct node *node = world_node(world, ref);
    int64_t fit;

    if (!require_node(amount->needs, amount->need_count, node))
        return 0;
    fit = cards_fit(world, ref, class, level, amount, least_memory);
    if (amount->cpu_milli > 0)
        fit = least(fit, node->cpu_milli / amount->cpu_milli);
    if (amount->memory_mib > 0)
        fit = least(fit, node->memory_mib / amount->memory_mib);
    return least(fit, amount->instances);
}

/* All nodes behind a leaf; those behind none stand for themselves. */
static int64_t
leaf_fit(const struct world *world, const struct node_leaf *leaf,
         const struct class *class, const struct place_amount *amount,
         int64_t *least_memory)
{
    const struct node_type *types;
    int64_t sum = 0, most = 0;
    size_t count;

    types = node_type_list(world, &count);
    for (uint32_t part = leaf->part; part != NODE_TYPE_NONE;) {
        const struct node_leaf_part *at = node_type_part(world, part);
        int64_t fit = node_fit(world, types[at->type].first, class,
                               TOPOLOGY_LEAF, amount, least_memory);

        sum += fit * at->count;
        if (fit > most)
            most = fit;
        part = at->next;
    }
    return leaf->leaf != 0 ? sum : most;
}

static int64_t
best_leaf(const struct world *world, struct ref pool,
          const struct class *class, const struct place_amount *amount,
          int64_t *least_memory)
{
    const struct node_leaf *leaves;
    int64_t most = 0;
    size_t count;

    leaves = node_type_leaves(world, &count);
    for (size_t i = 0; i < count; i++) {
        int64_t fit;

        if (!ref_equal(leaves[i].pool, pool))
            continue;
        fit = leaf_fit(world, &leaves[i], class, amount, least_memory);
        if (fit > most)
            most = fit;
    }
    return most;
}

/* Of the type of node that takes most; of all nodes, when the level is the
 * pool. */
static int64_t
types_fit(const struct world *world, struct ref pool,
          const struct class *class, enum topology level,
          const struct place_amount *amount, int64_t *least_memory)
{
    const struct node_type *types;
    int64_t sum = 0, most = 0;
    size_t count;

    types = node_type_list(world, &count);
    for (size_t i = 0; i < count; i++) {
        int64_t fit;

        if (types[i].count == 0 || !ref_equal(types[i].pool, pool))
            continue;
        fit = node_fit(world, types[i].first, class, level, amount,
                       least_memory);
        sum += fit * types[i].count;
        if (fit > most)
            most = fit;
    }
    return level == TOPOLOGY_POOL ? sum : most;
}

int64_t
place_shape_apart(const struct world *world, struct ref pool,
                  const struct class *class,
                  const struct place_amount *amount)
{
    int64_t most = amount->instances;
    const struct node_leaf *leaves;
    const struct node_type *types;
    int64_t sum = 0, ignored = 0;
    size_t count, type_count;

    types = node_type_list(world, &type_count);
    leaves = node_type_leaves(world, &count);
    for (size_t i = 0; i < count; i++) {
        if (!ref_equal(leaves[i].pool, pool))
            continue;
        if (leaves[i].leaf != 0) {
            sum += least(most, leaf_fit(world, &leaves[i], class, amount,
                                        &ignored));
            continue;
        }
        for (uint32_t part = leaves[i].part; part != NODE_TYPE_NONE;) {
            const struct node_leaf_part *at = node_type_part(world, part);

            sum += at->count * node_fit(world, types[at->type].first, class,
                                        TOPOLOGY_LEAF, amount, &ignored);
            part = at->next;
        }
    }
    return sum;
}

bool
place_shape(const struct world *world, struct ref pool,
            const struct class *class, enum topology level,
            const struct place_amount *amount, int64_t *capacity_out,
            int64_t *least_memory_out)
{
    *least_memory_out = 0;
    *capacity_out =
        level == TOPOLOGY_LEAF
            ? best_leaf(world, pool, class, amount, least_memory_out)
            : types_fit(world, pool, class, level, amount, least_memory_out);
    return *capacity_out >= amount->instances;
}
