/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "api/handlers.h"
#include "core/drain.h"
#include "core/fence.h"
#include "core/object.h"

/*
 * What operators do with a node that has work: draining it, and giving it up.
 * Both answers, and what dry_run says, tell what becomes of each instance.
 */

const struct body_field node_drain_body[] = {
    {"policy", BODY_TEXT, false,
     "\"finish\", \"preempt\" (default) or \"move\""},
    {"reason", BODY_TEXT, true, "why, for the owners of the work"},
    {NULL, BODY_TEXT, false, NULL},
};
const struct body_field fence_body[] = {
    {"reason", BODY_TEXT, true, "how it is known that nothing runs there"},
    {NULL, BODY_TEXT, false, NULL},
};

static const char *
word(const struct exchange *exchange, const char *key)
{
    return json_string_value(json_object_get(exchange->body, key));
}

static int
read_policy(const char *text, enum drain_policy *out, struct error *err)
{
    static const char *const words[] = {"finish", "preempt", "move"};
    *out = DRAIN_PREEMPT;
    for (int i = 0; text != NULL && i < 3; i++)
        if (strcmp(text, words[i]) == 0) {
            *out = (enum drain_policy)i;
            return 0;
        }
    if (text == NULL)
        return 0;
    return error_field(err, "/policy",
                       "\"%.32s\" is not finish, preempt or move", text);
}

int
nodes_drain(const struct granted *granted, struct changes *changes,
            struct exchange *exchange, struct error *err)
{
    enum drain_policy policy;
    if (read_policy(word(exchange, "policy"), &policy, err) != 0)
        return -1;
    return drain_machine(granted, changes, granted_object(granted), policy,
                         word(exchange, "reason"), err);
}

int
nodes_fence(const struct granted *granted, struct changes *changes,
            struct exchange *exchange, struct error *err)
{
    return fence_node(changes, granted_object(granted),
                      word(exchange, "reason"), err);
}

/* --- what becomes of it --- */

static bool
is_touched(const struct changes *changes, struct ref ref)
{
    for (size_t i = 0; i < changes->count; i++)
        if (ref_equal(changes->list[i].ref, ref))
            return true;
    return false;
}

static void
add_id(json_t *item, const char *key, const struct world *world,
       struct ref ref)
{
    char text[ID_TEXT_MAX];
    object_id_text(world, ref, text);
    json_object_set_new(item, key, json_string(text));
}

static json_t *
describe_instance(const struct changes *changes, struct ref ref,
                  const struct instance *instance)
{
    const struct world *world = changes->world;
    const struct workload *workload =
        change_get(changes, instance->object.parent);
    json_t *item = json_object();
    add_id(item, "instance", world, ref);
    add_id(item, "workload", world, instance->object.parent);
    add_id(item, "project", world, world_parent(world,
                                                instance->object.parent));
    add_id(item, "tenant", world, world_scope(world, ref));
    json_object_set_new(item, "name", json_string(workload->object.name));
    json_object_set_new(
        item, "state",
        json_string(schema_field(KIND_WORKLOAD, "state")
                        ->names[workload->state]));
    json_object_set_new(item, "text", json_string(workload->reason_text));
    return item;
}

/* What was there, and what becomes of it. */
void
nodes_answer(const struct granted *granted, const struct changes *changes,
             struct exchange *exchange)
{
    struct ref ref = granted_object(granted);
    const struct node *node = change_get(changes, ref);
    json_t *list = json_array();
    world_each_index(changes->world, KIND_INSTANCE, 0, ref, at) {
        const struct instance *instance = change_get(changes, at);
        if (instance != NULL && (instance->state != INSTANCE_RELEASED ||
                                 is_touched(changes, at)))
            json_array_append_new(list,
                                  describe_instance(changes, at, instance));
    }
    answer_json(&exchange->answer, 200,
                json_pack("{s:s, s:s, s:o}", "node", node->object.name,
                          "state",
                          schema_field(KIND_NODE, "state")->names[node->state],
                          "items", list));
}
