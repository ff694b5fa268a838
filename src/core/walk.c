/* SPDX-License-Identifier: Apache-2.0 */
#include "core/walk.h"

static void
go_to(struct walk *walk, const struct world *world, struct ref ref)
{
    const struct object *object = world_object(world, ref);

    walk->next = ref;
    walk->seq = object != NULL ? object->seq : 0;
}

void
walk_begin(struct walk *walk, const struct world *world, enum kind kind)
{
    walk->kind = kind;
    go_to(walk, world, world_first(world, kind));
}

bool
walk_next(struct walk *walk, const struct world *world, struct ref *ref_out)
{
    const struct object *object = world_object(world, walk->next);

    if (ref_is_none(walk->next))
        return false;
    if (object == NULL || object->seq != walk->seq)
        walk_begin(walk, world, walk->kind);
    if (ref_is_none(walk->next))
        return false;
    *ref_out = walk->next;
    go_to(walk, world, world_next(world, walk->next));
    return true;
}

bool
walk_is_over(const struct walk *walk)
{
    return ref_is_none(walk->next);
}
