/* SPDX-License-Identifier: Apache-2.0 */
#include "api/resolve.h"

#include <string.h>

#include "core/object.h"

/* May an object of the kind be addressed past such a node? */
static bool
is_passed(enum kind kind, uint32_t between)
{
    if (kind == KIND_NODE)
        return between == KIND_POOL;
    if (kind == KIND_REQUEST)
        return between == KIND_TENANT || between == KIND_UNIT ||
               between == KIND_PROJECT;
    if (kind == KIND_APPROVAL || kind == KIND_BREAKGLASS)
        return between == KIND_USER || between == KIND_TENANT;
    if (kind == KIND_VISIT)
        return between == KIND_TENANT;
    if (kind == KIND_ALARM)
        return between != KIND_TENANT;
    if (kind == KIND_CARD || kind == KIND_MAINTENANCE)
        return between == KIND_POOL || between == KIND_NODE;
    return between == KIND_UNIT;
}

bool
resolve_inside(const struct world *world, struct ref ref, struct ref parent)
{
    enum kind kind = (enum kind)ref.kind;
    struct ref above = world_parent(world, ref);
    while (!ref_is_none(above) && !ref_equal(above, parent)) {
        if (!is_passed(kind, above.kind))
            return false;
        above = world_parent(world, above);
    }
    return !ref_is_none(above);
}

static bool
lies_deeper(enum kind kind)
{
    return kind == KIND_PROJECT || kind == KIND_UNIT || kind == KIND_NODE ||
           kind == KIND_CARD || kind == KIND_MAINTENANCE;
}

/* A name below parent; deeper ones only when there is a single one. */
static struct ref
find_name(const struct world *world, struct ref parent, enum kind kind,
          const char *name)
{
    struct ref found = world_find_name(world, kind, parent, name);
    if (!ref_is_none(found) || !lies_deeper(kind))
        return found;
    world_each(world, kind, ref) {
        if (strcmp(world_object(world, ref)->name, name) != 0 ||
            !resolve_inside(world, ref, parent))
            continue;
        if (!ref_is_none(found))
            return (struct ref){0};
        found = ref;
    }
    return found;
}

struct ref
resolve_segment(const struct world *world, struct ref parent, enum kind kind,
                const char *text)
{
    struct id id;
    if (id_parse(schema_get(kind)->prefix, text, &id) != 0)
        return find_name(world, parent, kind, text);
    struct ref ref = world_find(world, kind, id);
    if (ref_is_none(ref) || !resolve_inside(world, ref, parent))
        return (struct ref){0};
    return ref;
}

/* The kind that a template segment names, KIND_NONE for a literal. */
static enum kind
segment_kind(const char *segment, size_t size)
{
    char name[32];
    if (size < 3 || segment[0] != '{' || size - 2 >= sizeof name)
        return KIND_NONE;
    memcpy(name, segment + 1, size - 2);
    name[size - 2] = '\0';
    return schema_find(name);
}

struct ref
resolve_path(const struct world *world, const char *path_template,
             const struct url *url)
{
    struct ref ref = world_platform_ref(world);
    size_t i = 0;
    for (const char *at = path_template; *at == '/'; i++) {
        size_t size = strcspn(at + 1, "/");
        enum kind kind = segment_kind(at + 1, size);
        if (kind != KIND_NONE)
            ref = resolve_segment(world, ref, kind, url->segments[i]);
        if (ref_is_none(ref))
            return ref;
        at += 1 + size;
    }
    return ref;
}
