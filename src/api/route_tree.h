/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The paths of all routes as a tree of segments: a request walks down its own
 * path and looks at no other.  Made at first use, never changed.
 */
#ifndef BULKHEAD_API_ROUTE_TREE_H
#define BULKHEAD_API_ROUTE_TREE_H

#include <stdint.h>

#include "api/url.h"

/* More routes than any path has. */
#define ROUTE_TREE_FOUND_MAX 32

/* Indexes in route_table of the routes whose path fits, ascending; a segment
 * in braces fits any.  Their number is returned. */
size_t route_tree_find(const struct url *url,
                       uint16_t found[ROUTE_TREE_FOUND_MAX]);

#endif
