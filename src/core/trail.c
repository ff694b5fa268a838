/* SPDX-License-Identifier: Apache-2.0 */
#include "core/trail.h"

#include <assert.h>
#include <stdlib.h>

#include "core/world_private.h"

uint64_t
trail_end(const struct world *world)
{
    return world->trail.end;
}

uint64_t
trail_begin(const struct world *world)
{
    const struct trail *trail = &world->trail;

    return trail->end - trail->first > trail->room ? trail->end - trail->room
                                                   : trail->first;
}

const struct trail_step *
trail_at(const struct world *world, uint64_t position)
{
    assert(position >= trail_begin(world) && position < world->trail.end);
    return &world->trail.steps[position % world->trail.room];
}

/* A ring that grows to its full size before it begins to forget. */
static void
grow(struct trail *trail)
{
    size_t room = trail->room > 0 ? trail->room * 2 : 256;
    struct trail_step *steps = memory_new(room, sizeof(*steps));

    assert(trail->room > 0 || trail->first == trail->end);
    for (uint64_t at = trail->first; trail->room > 0 && at < trail->end; at++)
        steps[at % room] = trail->steps[at % trail->room];
    free(trail->steps);
    trail->steps = steps;
    trail->room = room;
}

void
trail_add(struct world *world, const struct object *object, enum trail_op op,
          bool quiet)
{
    const struct schema *schema = schema_get((enum kind)object->self.kind);
    struct trail *trail = &world->trail;
    struct trail_step step = { .ref = object->self,
                               .parent = object->parent,
                               .scope = object->scope,
                               .op = op,
                               .quiet = quiet };

    for (size_t i = 0; i < schema->field_count; i++)
        if ((schema->fields[i].flags & FIELD_INDEX) != 0) {
            step.target = *(const struct ref *)field_at(&schema->fields[i],
                                                        object);
            break;
        }
    if (trail->end - trail->first == trail->room && trail->room < TRAIL_ROOM)
        grow(trail);
    trail->steps[trail->end++ % trail->room] = step;
}

void
trail_cut(struct world *world)
{
    world->trail.steps = NULL;
    world->trail.room = 0;
    world->trail.first = world->trail.end;
}
