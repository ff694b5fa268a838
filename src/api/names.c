/* SPDX-License-Identifier: Apache-2.0 */
#include "api/names.h"

#include <stdlib.h>
#include <string.h>

#include "base/canon.h"
#include "core/object.h"

struct name {
    char id[ID_TEXT_MAX];
    const char *name; /* in the world */
};

struct names {
    struct arena *arena;
    const struct granted *granted;
    struct ref *seen; /* open addressing; none: free */
    size_t seen_room, seen_count;
    struct name *list;
    size_t count, room;
};

struct names *
names_new(struct arena *arena, const struct granted *granted)
{
    struct names *names = arena_alloc(arena, sizeof *names);
    names->arena = arena;
    names->granted = granted;
    names->seen_room = 64;
    names->seen = arena_alloc(arena, names->seen_room * sizeof *names->seen);
    return names;
}

static struct ref *
place_of(struct ref *seen, size_t room, struct ref ref)
{
    size_t at = (ref.index * UINT32_C(0x9e3779b1) + ref.kind) & (room - 1);
    while (!ref_is_none(seen[at]) && !ref_equal(seen[at], ref))
        at = (at + 1) & (room - 1);
    return &seen[at];
}

static void
make_room(struct names *names)
{
    size_t room = names->seen_room * 2;
    struct ref *seen = arena_alloc(names->arena, room * sizeof *seen);
    for (size_t i = 0; i < names->seen_room; i++)
        if (!ref_is_none(names->seen[i]))
            *place_of(seen, room, names->seen[i]) = names->seen[i];
    names->seen = seen;
    names->seen_room = room;
}

static void
keep(struct names *names, struct ref ref, const struct object *object)
{
    if (names->count == names->room) {
        struct name *list = names->list;
        names->room = names->room * 2 + 16;
        names->list =
            arena_alloc(names->arena, names->room * sizeof *names->list);
        if (names->count > 0)
            memcpy(names->list, list, names->count * sizeof *list);
    }
    struct name *name = &names->list[names->count++];
    id_format(schema_get((enum kind)ref.kind)->prefix, object->id, name->id);
    name->name = object->name;
}

void
names_add(void *context, struct ref ref)
{
    struct names *names = context;
    struct ref *place = place_of(names->seen, names->seen_room, ref);
    if (!ref_is_none(*place))
        return;
    *place = ref;
    if (++names->seen_count * 2 > names->seen_room)
        make_room(names);
    const struct object *object =
        world_object(granted_world(names->granted), ref);
    if (object != NULL && object->name[0] != '\0' &&
        access_visible(names->granted, ref))
        keep(names, ref, object);
}

void
names_add_all(struct names *names, const json_t *item)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)item, key, value) {
        const char *text = json_string_value(value);
        if (text == NULL || strcmp(key, "id") == 0)
            continue;
        struct ref ref =
            object_find_text(granted_world(names->granted), text);
        if (!ref_is_none(ref))
            names_add(names, ref);
    }
}

static int
compare_names(const void *a, const void *b)
{
    const struct name *one = a, *two = b;
    return strcmp(one->id, two->id);
}

void
names_write(struct names *names, struct buffer *out)
{
    if (names->count > 0)
        qsort(names->list, names->count, sizeof *names->list, compare_names);
    buffer_add_byte(out, '{');
    for (size_t i = 0; i < names->count; i++) {
        if (i > 0)
            buffer_add_byte(out, ',');
        (void)canon_text(out, names->list[i].id);
        buffer_add_byte(out, ':');
        (void)canon_text(out, names->list[i].name);
    }
    buffer_add_byte(out, '}');
}
