/* SPDX-License-Identifier: Apache-2.0 */
#include "core/interference.h"

#include <string.h>

#include "api/handlers.h"
#include "core/object.h"

/*
 * How much slower each instance is than alone, in each resource.  Owners see
 * their own, the platform's people see all and by whom.
 */

#define ROWS_MAX 5000

static json_t *
cap_of(const struct instance *instance)
{
    if (instance->cap_until_ms == 0)
        return json_null();
    return json_pack("{s:I, s:I, s:I, s:o, s:I}", "cpu_milli",
                     (json_int_t)instance->cap_cpu_milli, "io_kib",
                     (json_int_t)instance->cap_io_kib, "network_kib",
                     (json_int_t)instance->cap_network_kib, "until",
                     json_time(instance->cap_until_ms), "times",
                     (json_int_t)instance->caps);
}

static void
add_rows(const struct granted *granted, const struct instance *instance,
         json_t *items)
{
    const struct world *world = granted_world(granted);
    bool platform = granted_is_platform(granted);
    scoped_json tracks = interference_json(instance, platform);
    const struct object *workload =
        world_object(world, instance->object.parent);
    const char *resource;
    json_t *row;

    json_object_foreach(tracks, resource, row)
    {
        (void)json_object_set_new(row, "resource", json_string(resource));
        (void)json_object_set_new(
            row, "instance", object_id_json(world, instance->object.self));
        (void)json_object_set_new(row, "workload",
                                  workload != NULL
                                      ? json_string(workload->name)
                                      : json_null());
        (void)json_object_set_new(row, "cap", cap_of(instance));
        if (platform)
            (void)json_object_set_new(
                row, "node",
                json_string(world_object(world, instance->node)->name));
        (void)json_array_append(items, row);
    }
}

int
interference_list(const struct granted *granted, struct exchange *exchange,
                  struct error *err)
{
    const struct world *world = granted_world(granted);
    struct ref level = granted_object(granted);
    json_t *items = json_array();
    bool complete = true;

    (void)err;
    world_each(world, KIND_INSTANCE, ref) {
        const struct instance *instance = world_instance(world, ref);

        if (instance->interference == NULL ||
            instance->state == INSTANCE_EXITED ||
            instance->state == INSTANCE_RELEASED ||
            (level.kind != KIND_PLATFORM &&
             !world_is_below(world, ref, level)) ||
            !access_visible(granted, ref))
            continue;
        if (json_array_size(items) >= ROWS_MAX) {
            complete = false;
            break;
        }
        add_rows(granted, instance, items);
    }
    answer_json(&exchange->answer, 200,
                json_pack("{s:o, s:b}", "items", items, "complete",
                          complete));
    return 0;
}
