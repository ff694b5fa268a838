/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_NODE_PIN_H
#define RUNNER_NODE_PIN_H

#include "runner/node.h"

/*
 * Which CPUs do the instances of this node have?
 *
 * Cores that are somebody's own are taken from all others as long as that one
 * is here, those that run already too.  An instance that is busy is changed by
 * its own thread alone: it follows when it is given back.
 */

/* Reads the machine, and what the cards' backend describes. */
int node_pin_open(struct node *node, struct error *err);
void node_pin_close(struct node *node);

/* Where the card is. */
void node_pin_locate(struct node *node, const struct accel_card *card,
                     struct topology_place *place_out);

/* Under lock, below here. */

/* Chooses for an instance that is not in the table yet.  ERROR_BUSY: there are
 * not enough cores just now; ERROR_UNSUPPORTED: the kernel keeps nobody to
 * cores. */
int node_pin_choose(struct node *node, struct instance *instance,
                    struct error *err);
/* Looks again what the instance may use beside the others, and tells the
 * kernel; by its own thread, or while it is not busy. */
void node_pin_follow(struct node *node, struct instance *instance);
/* The same for all that are not busy. */
void node_pin_spread(struct node *node);

#endif
