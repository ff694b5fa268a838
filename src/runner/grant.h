/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_GRANT_H
#define RUNNER_GRANT_H

#include <stdbool.h>
#include <stddef.h>

#include "accel/accel.h"
#include "base/arena.h"
#include "base/error.h"

struct instance;
struct node;

/*
 * What of the machine's cards does an instance get, and where does it find
 * it?  Made from the cards of the start alone: each is looked up by its UUID
 * now, so no number of a device is older than the start, and nothing that an
 * image says adds to it.
 *
 *   /dev/bulkhead/cardN, deviceN   simulated cards, by their place in the list
 *   /dev/nvidia0, /dev/kfd ..      others, where their libraries look
 *   /usr/local/nvidia/lib64        the driver's own libraries, read-only
 *
 * Who has only a soft share gets nothing that shows more of the card than the
 * work on it needs.
 */

#define GRANT_LIBRARIES "/usr/local/nvidia/lib64"

struct grant_item {
    enum accel_node_kind kind;
    const char *path;      /* inside */
    const char *host_path; /* of a file or library */
    unsigned major, minor; /* of a device */
};

struct grant {
    size_t count;
    const struct grant_item *items;
};

/* Each path once. */
int grant_of(struct node *node, const struct instance *instance,
             struct arena *arena, struct grant *out, struct error *err);
bool grant_has_libraries(const struct grant *grant);

/* Does this "NAME=text" choose cards for whoever starts or runs programs?  An
 * image may not; of a start only what its own libraries read may. */
bool grant_is_selector(const char *entry, bool of_image);
/* "NVIDIA_VISIBLE_DEVICES=..": the UUIDs, "void" without any. */
const char *grant_selector(struct node *node, const struct instance *instance,
                           struct arena *arena);

#endif
