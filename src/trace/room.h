/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRACE_ROOM_H
#define TRACE_ROOM_H

#include "base/arena.h"
#include "core/value.h"

/*
 * Which of many shapes have room on a node?  Per need a table has the sets of
 * shapes that so much of it lets through; what all let through has room.
 */

struct room;

struct room *room_new(struct arena *arena, const struct shape *shapes,
                      size_t count);
/* Bit i % 64 of out[i / 64]: value_fits(node, shapes[i]). */
void room_of(const struct room *room, const struct value_node *node,
             uint64_t *out);

#endif
