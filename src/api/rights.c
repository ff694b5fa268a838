/* SPDX-License-Identifier: Apache-2.0 */
#include "api/rights.h"

#include "api/handlers.h"
#include "core/object.h"
#include "core/reach.h"

static json_t *
name_of(const struct world *world, struct ref ref)
{
    const struct object *object = world_object(world, ref);
    return object == NULL ? json_null() : json_string(object->name);
}

static json_t *
line(const struct world *world, const struct reach *reach, bool named)
{
    const struct grant *grant = world_grant(world, reach->grant);
    struct ref node = grant->object.parent;
    const struct object *at = world_object(world, node);
    struct ref group = reach_group(reach);
    json_t *item = json_object();
    json_object_set_new(item, "grant", object_id_json(world, reach->grant));
    json_object_set_new(item, "node", object_id_json(world, node));
    json_object_set_new(item, "role", name_of(world, grant->role));
    json_object_set_new(item, "to", json_time(reach_end(reach)));
    json_object_set_new(item, "at",
                        json_pack("s++", schema_get((enum kind)node.kind)->name,
                                  " ", at == NULL ? "" : at->name));
    json_object_set_new(item, "group", object_id_json(world, group));
    json_object_set_new(item, "group_name",
                        named ? name_of(world, group) : json_null());
    return item;
}

/* Everybody may know their own. */
json_t *
rights_list(const struct granted *granted, struct ref subject)
{
    const struct world *world = granted_world(granted);
    bool own = ref_equal(subject, granted_actor(granted)->subject);
    json_t *list = json_array();
    reach_each(world, subject, granted_now_ms(granted), reach)
        if (own || access_visible(granted, reach.grant))
            json_array_append_new(
                list, line(world, &reach,
                           own || access_visible(granted,
                                                 reach_group(&reach))));
    return list;
}

int
rights_read(const struct granted *granted, struct exchange *exchange,
            struct error *err)
{
    (void)err;
    answer_json(&exchange->answer, 200,
                json_pack("{s:o}", "items",
                          rights_list(granted, granted_object(granted))));
    return 0;
}
