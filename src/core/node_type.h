/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_NODE_TYPE_H
#define CORE_NODE_TYPE_H

#include "core/world.h"

/*
 * Which types of nodes does a pool have, and how many are there of each?
 *
 * Nodes are of one type when no request could tell them apart, were both empty
 * and healthy: same pool, CPU, memory and facts, and the same cards in their
 * order (vendor, model, driver, memory, and which of them share an island).  The world keeps
 * the types in line with each change, so that whether a request could ever fit
 * is asked of a few types and not of all nodes.
 */

struct node_type {
    struct ref pool;
    struct ref first; /* one of its nodes; none: the place is not in use */
    int64_t count;
};

/* The nodes of a pool behind one leaf switch; leaf: a digest of its name, 0:
 * those behind none. */
struct node_leaf {
    struct ref pool;
    uint64_t leaf;
    uint32_t part; /* first of its parts; NODE_TYPE_NONE: not in use */
};
struct node_leaf_part {
    uint32_t type;
    uint32_t next; /* of the leaf; NODE_TYPE_NONE */
    int64_t count; /* nodes of this type behind this leaf */
};
#define NODE_TYPE_NONE UINT32_MAX

/* All, at 0 .. count - 1, places that are not in use among them. */
const struct node_type *node_type_list(const struct world *world,
                                       size_t *count_out);
const struct node_leaf *node_type_leaves(const struct world *world,
                                         size_t *count_out);
const struct node_leaf_part *node_type_part(const struct world *world,
                                            uint32_t part);

#endif
