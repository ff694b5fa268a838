/* SPDX-License-Identifier: Apache-2.0 */
#include "core/submit.h"

#include <inttypes.h>
#include <string.h>

#include "core/alternative.h"
#include "core/gate.h"
#include "core/governance.h"
#include "core/image.h"
#include "core/lifecycle.h"
#include "core/manifest.h"
#include "core/object.h"
#include "core/recovery.h"
#include "core/request.h"
#include "core/want.h"

/* What an instance gets when the request does not say. */
#define CPU_DEFAULT_MILLI 1000
#define MEMORY_DEFAULT_MIB 1024

static const struct platform *
platform_of(const struct world *world)
{
    return world_platform(world, world_platform_ref(world));
}

static void
set_defaults(const struct world *world, struct workload *workload)
{
    const struct platform *platform = platform_of(world);

    workload->instances = 1;
    workload->cpu_milli = CPU_DEFAULT_MILLI;
    workload->memory_mib = MEMORY_DEFAULT_MIB;
    workload->preemptible = true;
    workload->max_run_ms = platform->max_run_default_ms;
}

/* The platform's bounds on what a workload may claim for itself. */
static int
check_bounds(const struct world *world, const struct workload *workload,
             struct error *err)
{
    const struct platform *platform = platform_of(world);

    if (workload->grace_ms > platform->grace_max_ms)
        return error_field(err, "/grace_ms",
                           "/grace_ms is %" PRId64
                           ", the platform allows at most %" PRId64,
                           workload->grace_ms, platform->grace_max_ms);
    if (workload->restarts > platform->restart_max)
        return error_field(err, "/restarts",
                           "/restarts is %" PRId64
                           ", the platform allows at most %" PRId64,
                           workload->restarts, platform->restart_max);
    return recovery_check(world, workload, err);
}

/* A gang that grows and shrinks, with the place that it asks for. */
static int
check_elastic(const struct workload *workload, struct error *err)
{
    if (workload->instances_max == 0 ||
        workload->instances_max == workload->instances)
        return 0;
    if (workload->instances_max < workload->instances)
        return error_field(err, "/instances_max",
                           "/instances_max is %" PRId64
                           ", less than /instances, which is %" PRId64
                           ": it is the most that it grows to, or 0",
                           workload->instances_max, workload->instances);
    if (manifest_topology(workload->spec) > TOPOLOGY_NODE)
        return error_field(err, "/instances_max",
                           "/instances_max is %" PRId64
                           " and /spec/topology requires a part of a node: a "
                           "gang that grows takes the level node, or prefers "
                           "the part",
                           workload->instances_max);
    return 0;
}

/* Whole cores are whole CPUs, as far as quotas count. */
static int
check_pinning(const struct workload *workload, struct error *err)
{
    if (manifest_pinning(workload->spec) != PINNING_CORES ||
        (workload->cpu_milli >= 1000 && workload->cpu_milli % 1000 == 0))
        return 0;
    return error_field(err, "/cpu_milli",
                       "/cpu_milli is %" PRId64
                       " and /spec/pinning is cores: whole cores are asked "
                       "for in whole CPUs, 1000, 2000, ...",
                       workload->cpu_milli);
}

/* Volumes lie on one node, so instances that mount them cannot be kept apart. */
static int
check_spread(const struct world *world, const struct workload *workload,
             struct error *err)
{
    struct spread spread = manifest_spread(workload->spec);
    int64_t all = workload->instances_max > workload->instances
                      ? workload->instances_max
                      : workload->instances;
    struct ref volume;

    if (spread.level == TOPOLOGY_POOL || !spread.required ||
        spread.most >= all ||
        manifest_volumes(world, workload->spec, &volume, 1) == 0)
        return 0;
    return error_field(err, "/spec/spread",
                       "/spec/spread keeps instances apart, and its volumes "
                       "lie on one node: leave one of the two out, or prefer "
                       "the spread");
}

/* The longest run that the levels above allow: what asks for none gets it. */
static int
check_ceilings(const struct world *world, struct workload *workload,
               struct error *err)
{
    char node[NAME_MAX_SIZE + 16];

    for (struct ref at = workload->object.parent; !ref_is_none(at);
         at = world_parent(world, at))
        world_each_child(world, KIND_CEILING, at, ref) {
            int64_t most = world_ceiling(world, ref)->max_run_ms;

            if (most > 0 && workload->max_run_ms > most)
                return error_field(err, "/max_run_ms",
                                   "/max_run_ms is %" PRId64
                                   ", the ceiling of %s is %" PRId64,
                                   workload->max_run_ms,
                                   reason_node(node, world, at), most);
            if (most > 0 && workload->max_run_ms == 0)
                workload->max_run_ms = most;
        }
    return 0;
}

/* Which priority, by which rule, and whether somebody has to approve it. */
static int
settle_priority(const struct granted *granted, struct workload *workload,
                struct error *err)
{
    const struct world *world = granted_world(granted);
    const struct actor *actor = granted_actor(granted);
    int64_t now_ms = granted_now_ms(granted);

    if (ref_is_none(workload->priority))
        workload->priority =
            governance_default(world, actor, workload, now_ms);
    return governance_check(world, actor, workload, now_ms,
                            workload->priority_rule, err);
}

static int
check_spec(struct changes *changes, struct workload *workload,
           struct error *err)
{
    scoped_json spec = NULL;
    scoped_json canonical = NULL;
    scoped_buffer text = { 0 };

    if (workload->spec == NULL)
        return error_field(err, "/spec", "/spec is missing");
    spec = json_read(workload->spec->bytes, workload->spec->size, err);
    if (spec == NULL)
        return -1;
    if (manifest_check(changes->world, workload->object.parent, spec, "/spec",
                       &canonical, err) < 0)
        return -1;
    json_write(&text, canonical);
    change_doc(changes, &workload->spec, buffer_text(&text));
    return 0;
}

/* What the actor does not see was never there: the same words as for an id
 * that nobody ever made, and before all other checks of the body. */
static int
check_targets(const struct granted *granted, const struct changes *changes,
              const json_t *body, const struct workload *workload,
              struct error *err)
{
    static const char *const names[] = { "class", "pool", "priority" };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const struct field *field = schema_field(KIND_WORKLOAD, names[i]);
        const char *text =
            json_string_value(json_object_get(body, names[i]));
        struct ref target;

        if (text == NULL)
            continue;
        target = object_find_target(changes, field, &workload->object, text);
        if (!access_visible(granted, target))
            return object_no_target(field, text, err);
    }
    return 0;
}

/* One item of /classes as the id of a class that the actor sees, not yet in
 * the list. */
static int
add_class(const struct granted *granted, const struct changes *changes,
          const struct workload *workload, const json_t *item, json_t *ids,
          struct error *err)
{
    const struct field *field = schema_field(KIND_WORKLOAD, "class");
    const char *text = json_string_value(item);
    char id[ID_TEXT_MAX];
    struct ref ref;

    if (text == NULL)
        return error_field(err, "/classes",
                           "/classes must be a list of names or ids");
    ref = object_find_target(changes, field, &workload->object, text);
    if (!access_visible(granted, ref))
        return object_no_target(field, text, err);
    object_id_text(changes->world, ref, id);
    for (size_t i = 0; i < json_array_size(ids); i++)
        if (strcmp(json_string_value(json_array_get(ids, i)), id) == 0)
            return error_field(err, "/classes",
                               "/classes names %.63s twice", text);
    (void)json_array_append_new(ids, json_string(id));
    return 0;
}

/* The first of the list is the class until another one has a place. */
static int
check_first(const struct changes *changes, const struct workload *workload,
            const json_t *body, const char *first, struct error *err)
{
    const struct field *field = schema_field(KIND_WORKLOAD, "class");
    const char *text = json_string_value(json_object_get(body, "class"));
    char id[ID_TEXT_MAX];

    if (text == NULL)
        return 0;
    object_id_text(changes->world,
                   object_find_target(changes, field, &workload->object, text),
                   id);
    if (strcmp(id, first) == 0)
        return 0;
    return error_field(err, "/class",
                       "/class is not the first of /classes: leave it out, "
                       "or put it there");
}

/* In place of a class: those that give that much memory, best first. */
static int
settle_memory(const struct changes *changes, const struct workload *workload,
              const json_t *body, json_t *ids, struct error *err)
{
    static const char *const field = "/min_accel_memory_mib";
    const json_t *memory = json_object_get(body, field + 1);
    const char *pool = json_string_value(json_object_get(body, "pool"));
    struct workload one = *workload;

    if (memory == NULL || json_is_null(memory) ||
        (json_is_integer(memory) && json_integer_value(memory) == 0))
        return 0;
    if (!json_is_integer(memory) || json_integer_value(memory) < 0)
        return error_field(err, field, "%s must be a number of MiB", field);
    if (json_string_value(json_object_get(body, "class")) != NULL ||
        json_is_array(json_object_get(body, "classes")))
        return error_field(err, field,
                           "%s is given in place of a class: leave out the "
                           "one or the other",
                           field);
    if (pool != NULL)
        one.pool = object_find_target(
            changes, schema_field(KIND_WORKLOAD, "pool"), &one.object, pool);
    return want_classes(changes->world, &one, json_integer_value(memory),
                        changes->context.now_ms, ids, err);
}

static int
settle_list(const struct granted *granted, const struct changes *changes,
            const struct workload *workload, const json_t *body, json_t *ids,
            struct error *err)
{
    const json_t *list = json_object_get(body, "classes");
    size_t count = json_array_size(list);

    if (list == NULL || json_is_null(list))
        return 0;
    if (count < 1 || count > ALTERNATIVE_MAX)
        return error_field(err, "/classes",
                           "/classes must be a list of 1 to %d classes",
                           ALTERNATIVE_MAX);
    for (size_t i = 0; i < count; i++)
        if (add_class(granted, changes, workload, json_array_get(list, i),
                      ids, err) < 0)
            return -1;
    return check_first(changes, workload, body,
                       json_string_value(json_array_get(ids, 0)), err);
}

/* The body with its list of classes as ids and the first one as its class. */
static int
settle_classes(const struct granted *granted, const struct changes *changes,
               const struct workload *workload, const json_t *body,
               json_t **settled_out, struct error *err)
{
    scoped_json settled = json_copy((json_t *)(uintptr_t)body);
    scoped_json ids = json_array();

    if (settle_list(granted, changes, workload, body, ids, err) < 0 ||
        settle_memory(changes, workload, body, ids, err) < 0)
        return -1;
    if (json_array_size(ids) > 0) {
        (void)json_object_set(settled, "class", json_array_get(ids, 0));
        (void)json_object_set(settled, "classes", ids);
    }
    *settled_out = json_incref(settled);
    return 0;
}

/* What no node has would only fail when it starts. */
static int
check_image(const struct world *world, const struct workload *workload,
            struct error *err)
{
    if (!image_is_nowhere(world, workload->image))
        return 0;
    (void)error_field(err, "/image", IMAGE_NOWHERE,
                      image_name_size(workload->image), workload->image);
    return error_help(err, IMAGE_HELP);
}

/* A new name below the project. */
static int
check_name(const struct changes *changes, const struct workload *workload,
           struct error *err)
{
    const struct object *object = &workload->object;

    if (object->name[0] == '\0')
        return error_field(err, "/name", "/name is missing");
    if (!ref_is_none(world_find_name(changes->world, KIND_WORKLOAD,
                                     object->parent, object->name)))
        return error_set(err, ERROR_CONFLICT,
                         "the project has a workload named %s already",
                         object->name);
    return 0;
}

/* What the gate says: refused for good, or the first state and reason. */
static int
pass_gate(struct changes *changes, struct workload *workload,
          struct error *err)
{
    int64_t now_ms = changes->context.now_ms;
    struct verdict verdict;
    struct gate gate;

    gate_init(&gate, changes->world, NULL, now_ms, changes->arena);
    if (gate_check(&gate, workload, &verdict))
        verdict_set(&verdict, WORKLOAD_QUEUED, REASON_NOT_EVALUATED,
                    "submitted; not yet evaluated");
    else if (verdict.state == WORKLOAD_REJECTED)
        return error_set(err,
                         verdict.reason == REASON_POLICY ? ERROR_DENIED
                                                         : ERROR_QUOTA,
                         "%s", verdict.text);
    reason_put(workload, &verdict, now_ms);
    if (governance_needs_approval(changes->world, workload->priority)) {
        verdict_set(&verdict, WORKLOAD_HELD, REASON_APPROVAL,
                    "its priority needs an approval by somebody above the "
                    "project; it competes when its request is granted");
        reason_put(workload, &verdict, now_ms);
        request_approval(changes, workload);
    }
    workload->state_ms = now_ms;
    workload->submitted_ms = now_ms;
    return 0;
}

/* What has no boundary says so wherever it shows. */
static void
set_form(const struct world *world, struct workload *workload)
{
    const struct class *class = world_class(world, workload->class);

    if (class != NULL)
        workload->form = class->form;
}

int
submit_workload(const struct granted *granted, struct changes *changes,
                struct ref project, const json_t *body,
                struct ref *workload_out, struct error *err)
{
    const struct world *world = granted_world(granted);
    scoped_json settled = NULL;
    struct workload *workload;

    if (world_project(world, project) == NULL)
        return error_set(err, ERROR_INVALID,
                         "a workload is submitted to a project");
    workload = change_create(changes, KIND_WORKLOAD, project, "");
    set_defaults(world, workload);
    if (check_targets(granted, changes, body, workload, err) < 0 ||
        settle_classes(granted, changes, workload, body, &settled, err) < 0 ||
        object_read_json(changes, KIND_WORKLOAD, settled, true, workload,
                         err) < 0 ||
        check_name(changes, workload, err) < 0 ||
        check_image(world, workload, err) < 0 ||
        check_bounds(world, workload, err) < 0 ||
        check_ceilings(world, workload, err) < 0 ||
        settle_priority(granted, workload, err) < 0 ||
        check_spec(changes, workload, err) < 0 ||
        check_elastic(workload, err) < 0 ||
        check_pinning(workload, err) < 0 ||
        check_spread(world, workload, err) < 0)
        return -1;
    workload->user = granted_actor(granted)->subject;
    set_form(world, workload);
    if (pass_gate(changes, workload, err) < 0)
        return -1;
    *workload_out = workload->object.self;
    return 0;
}

/* --- what can be done with it later --- */

static const struct workload *
find(const struct granted *granted, struct ref ref, struct error *err)
{
    const struct workload *workload =
        world_workload(granted_world(granted), ref);

    if (workload == NULL)
        (void)access_not_found(err);
    return workload;
}

static int
refuse_state(const struct workload *workload, const char *verb,
             struct error *err)
{
    return error_set(err, ERROR_CONFLICT, "a workload that is %s cannot be %s",
                     reason_state(workload->state), verb);
}

int
submit_cancel(const struct granted *granted, struct changes *changes,
              struct ref ref, struct error *err)
{
    const struct workload *present = find(granted, ref, err);
    struct workload *workload;

    if (present == NULL)
        return -1;
    if (present->state == WORKLOAD_CANCELLED ||
        present->state == WORKLOAD_CANCELLING)
        return 0;
    if (lifecycle_is_over(present->state))
        return refuse_state(present, "cancelled", err);
    if (lifecycle_is_live(present->state)) {
        lifecycle_stop(changes, ref, WORKLOAD_CANCELLING, "cancelled", NULL);
        return 0;
    }
    workload = change_update(changes, ref);
    reason_clear(workload);
    workload->state = WORKLOAD_CANCELLED;
    workload->state_ms = changes->context.now_ms;
    workload->ended_ms = changes->context.now_ms;
    lifecycle_drop_holds(changes, ref);
    request_drop(changes, ref);
    return 0;
}

int
submit_hold(const struct granted *granted, struct changes *changes,
            struct ref ref, struct error *err)
{
    const struct workload *present = find(granted, ref, err);
    struct verdict verdict;

    if (present == NULL)
        return -1;
    if (present->state == WORKLOAD_HELD)
        return 0;
    if (!lifecycle_is_waiting(present->state))
        return refuse_state(present, "held", err);
    verdict_set(&verdict, WORKLOAD_HELD, REASON_HELD_BY_USER,
                "held by a user; it competes again when it is released");
    reason_put(change_update(changes, ref), &verdict,
               changes->context.now_ms);
    lifecycle_drop_holds(changes, ref);
    return 0;
}

int
submit_release(const struct granted *granted, struct changes *changes,
               struct ref ref, struct error *err)
{
    const struct workload *present = find(granted, ref, err);
    struct verdict verdict;

    if (present == NULL)
        return -1;
    if (present->state == WORKLOAD_GATED || present->state == WORKLOAD_QUEUED)
        return 0;
    if (present->state != WORKLOAD_HELD)
        return refuse_state(present, "released", err);
    if (present->reason == REASON_APPROVAL)
        return error_set(err, ERROR_DENIED,
                         "its priority needs an approval: a request for it "
                         "is open, and nobody grants their own");
    verdict_set(&verdict, WORKLOAD_QUEUED, REASON_NOT_EVALUATED,
                "released by a user; not yet evaluated");
    reason_put(change_update(changes, ref), &verdict,
               changes->context.now_ms);
    return 0;
}

/* What the owner may know: the rule, why, and what it cost. */
static void
prove_taken_off(struct changes *changes, const struct workload *workload,
                const char *reason, struct buffer *text)
{
    scoped_json proof = json_pack(
        "{s:s, s:s, s:I, s:I}", "rule", "manual-release", "reason", reason,
        "checkpoint_ms", (json_int_t)workload->checkpoint_ms, "time_ms",
        (json_int_t)changes->context.now_ms);

    json_write(text, proof);
}

int
submit_take_off(const struct granted *granted, struct changes *changes,
                struct ref ref, const char *reason, struct error *err)
{
    const struct workload *present = find(granted, ref, err);
    scoped_buffer proof = { 0 };

    if (present == NULL)
        return -1;
    if (reason[0] == '\0')
        return error_field(err, "/reason",
                           "/reason is empty: its owner has to know why");
    if (schema_check_text("/reason", reason, 201, err) < 0)
        return -1;
    if (present->state == WORKLOAD_PREEMPTING ||
        present->state == WORKLOAD_CANCELLING)
        return error_set(err, ERROR_CONFLICT,
                         "it is being stopped already: its cards come back "
                         "when that is confirmed");
    if (!lifecycle_is_live(present->state))
        return refuse_state(present, "released: it holds no cards", err);
    prove_taken_off(changes, present, reason, &proof);
    lifecycle_stop(changes, ref, WORKLOAD_PREEMPTING, LIFECYCLE_BY_HAND,
                   buffer_text(&proof));
    return 0;
}

/* Bindings and instances are history: they leave the memory, not the store. */
static void
retire_instance(struct changes *changes, struct ref instance)
{
    world_each_child(changes->world, KIND_BINDING, instance, binding)
        change_evict(changes, binding);
    change_evict(changes, instance);
}

int
submit_delete(const struct granted *granted, struct changes *changes,
              struct ref ref, struct error *err)
{
    const struct workload *present = find(granted, ref, err);

    if (present == NULL)
        return -1;
    if (!lifecycle_is_over(present->state))
        return refuse_state(present, "deleted; cancel it first", err);
    world_each_child(changes->world, KIND_INSTANCE, ref, instance)
        if (world_instance(changes->world, instance)->state !=
            INSTANCE_RELEASED)
            return error_set(err, ERROR_CONFLICT,
                             "an instance of it is not confirmed as gone");
    world_each_child(changes->world, KIND_INSTANCE, ref, instance)
        retire_instance(changes, instance);
    lifecycle_drop_holds(changes, ref);
    world_each_child(changes->world, KIND_ALARM, ref, alarm)
        change_delete(changes, alarm);
    change_delete(changes, ref);
    return 0;
}
