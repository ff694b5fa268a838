/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_PLACE_LEAF_H
#define CORE_PLACE_LEAF_H

#include <stddef.h>
#include <stdint.h>

/* Which leaf switch could a gang be put behind? */

/* What one node takes.  Nodes of leaf 0 are behind none that is known. */
struct place_fit {
    uint64_t leaf;
    int64_t fit;   /* instances */
    int64_t units; /* cards or shares */
};

/* The leaf that takes all instances and has least left then, the first of
 * equals; 0: none does. */
uint64_t place_leaf_choose(const struct place_fit *fits, size_t count,
                           int64_t instances);
/* Most units behind one leaf; a node without one stands for itself. */
int64_t place_leaf_largest(const struct place_fit *fits, size_t count);

#endif
