/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_RESOLVE_H
#define API_RESOLVE_H

#include "api/route.h"
#include "core/world.h"

/*
 * Which object does a path name?  Each segment is resolved inside the one
 * before: an id that lives elsewhere is not there.  A segment is an id or a
 * name; a name only finds an object, every decision is made on the object.
 */

/* The last object that the path names, the platform when it names none;
 * ref none when one of them is not there. */
struct ref resolve_path(const struct world *world, const char *path_template,
                        const struct url *url);

/* One segment below parent. */
struct ref resolve_segment(const struct world *world, struct ref parent,
                           enum kind kind, const char *text);

/* Is ref below parent with nothing but units (for nodes and cards: pools and
 * nodes) in between? */
bool resolve_inside(const struct world *world, struct ref ref,
                    struct ref parent);

#endif
