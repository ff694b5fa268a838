/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_IMAGE_H
#define CORE_IMAGE_H

#include "core/world.h"

/*
 * Which nodes could have the image?  A node says in its facts which images it
 * has, {"images": ["base", "demo"]}; one that says nothing may have any.
 */

/* image: "name" or "name@sha256:...".  False while there is no node: one that
 * joins may have it. */
bool image_is_nowhere(const struct world *world, const char *image);
/* Is it on every node, or not known to be missing on any? */
bool image_is_everywhere(const struct world *world, const char *image);
/* Has the node the image of this name, or does it not say what it has? */
bool image_may_be_on(const struct node *node, const char *name, size_t size);
/* The sentence for no node at all, and what would help. */
#define IMAGE_NOWHERE "no node has the image \"%.*s\""
#define IMAGE_HELP                                                            \
    "look at the name; an operator puts images into the nodes' image "        \
    "directory, and `bulkhead get nodes -o json` shows what they have"
/* Stands for an image that a what-if leaves open: any node could have it. */
#define IMAGE_OPEN "what-if"
/* The bytes of the name in it. */
int image_name_size(const char *image);

#endif
