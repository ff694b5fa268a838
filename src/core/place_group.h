/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_PLACE_GROUP_H
#define CORE_PLACE_GROUP_H

#include "core/manifest.h"

/*
 * Which cards of a node are close to each other?
 *
 * Those that are linked directly, those whose memory is beside one part of the
 * CPUs, those behind one PCIe switch.  Each is asked by itself: an island may
 * reach over several NUMA nodes, and a switch has links of its own.  A card
 * that does not say where it is is close to none.
 */

enum place_group { GROUP_ISLAND, GROUP_NUMA, GROUP_SWITCH };
#define PLACE_GROUPS 3

/* The same card, or two of one group. */
bool place_group_is_same(enum place_group group, const struct card *a,
                         const struct card *b);
/* Does it say itself what it is close to in another way? */
bool place_group_differs(const struct card *a, const struct card *b);

/* The group that a level asks for; false for a level above the node. */
bool place_group_of_level(enum topology level, enum place_group *group_out);
/* The same of what a class asks of the cards of one instance. */
bool place_group_of_class(const struct class *class,
                          enum place_group *group_out);
/* "island", "NUMA node", "PCIe switch" */
const char *place_group_text(enum place_group group);

#endif
