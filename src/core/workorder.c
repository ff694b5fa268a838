/* SPDX-License-Identifier: Apache-2.0 */
#include "core/workorder.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/alarm.h"
#include "core/deeds.h"
#include "core/maintenance.h"
#include "core/object.h"
#include "core/role.h"
#include "core/rules.h"

/* --- who --- */

struct ref
workorder_of(const struct world *world, struct ref subject)
{
    struct ref parent = { 0 };

    if (world_count(world, KIND_WORKORDER) > 0 && subject.kind == KIND_USER &&
        world_get(world, subject) != NULL)
        parent = world_parent(world, subject);
    return parent.kind == KIND_WORKORDER ? parent : (struct ref){ 0 };
}

bool
workorder_has(const struct world *world, struct ref subject)
{
    return !ref_is_none(workorder_of(world, subject));
}

bool
workorder_is_open(const struct world *world, struct ref order, int64_t now_ms)
{
    const struct workorder *image = world_workorder(world, order);

    return image != NULL && image->state == WORKORDER_OPEN &&
           image->from_ms <= now_ms && now_ms < image->to_ms;
}

bool
workorder_admits(const struct world *world, struct ref subject,
                 int64_t now_ms)
{
    struct ref order = workorder_of(world, subject);

    return ref_is_none(order) || workorder_is_open(world, order, now_ms);
}

/* --- the devices --- */

static json_t *
read_list(const struct blob *list)
{
    struct error ignored;
    json_t *ids =
        list == NULL ? NULL : json_read(list->bytes, list->size, &ignored);

    return json_is_array(ids) ? ids : json_array();
}

static struct ref
device_at(const struct world *world, const json_t *ids, size_t i)
{
    return object_find_text(world,
                            json_string_value(json_array_get(ids, i)));
}

static struct ref
node_of(const struct world *world, struct ref device)
{
    return world_ancestor(world, KIND_NODE, device);
}

/* Calls tell for each card of the devices, on the nodes of the devices. */
static void
each_card(struct changes *changes, const struct workorder *order,
          void (*tell)(struct changes *changes, struct ref card, void *data),
          void *data)
{
    const struct world *world = changes->world;
    scoped_json ids = read_list(order->devices);

    for (size_t i = 0; i < json_array_size(ids); i++) {
        struct ref device = device_at(world, ids, i);

        if (device.kind == KIND_CARD && !ref_is_none(device) &&
            !schema_lists_id(order->devices, KIND_NODE,
                             world_object(world, world_parent(world, device))
                                 ->id))
            tell(changes, device, data);
        if (device.kind == KIND_NODE && !ref_is_none(device))
            world_each_child(world, KIND_CARD, device, card)
                tell(changes, card, data);
    }
}

static void
count_bound(struct changes *changes, struct ref card, void *data)
{
    world_each_index(changes->world, KIND_BINDING, 0, card, ref)
        *(int *)data += world_binding(changes->world, ref)->to_ms == 0;
}

static bool
is_drained(struct changes *changes, const struct workorder *order)
{
    int bound = 0;

    each_card(changes, order, count_bound, &bound);
    return bound == 0;
}

/* --- making one --- */

static const struct platform *
policy_of(const struct world *world)
{
    return world_platform(world, world_platform_ref(world));
}

static int
settle_window(const struct changes *changes, struct workorder *order,
              struct error *err)
{
    int64_t most = policy_of(changes->world)->workorder_max_ms;
    int64_t now_ms = changes->context.now_ms;

    if (most == 0)
        most = WORKORDER_MS;
    if (order->from_ms < now_ms)
        order->from_ms = now_ms;
    if (order->to_ms <= order->from_ms)
        return error_field(err, "/to_ms",
                           "a work order ends after it begins and after now");
    if (order->to_ms - order->from_ms <= most)
        return 0;
    return error_field(err, "/to_ms",
                       "a work order is open for at most %" PRId64 " s here, "
                       "not %" PRId64,
                       most / 1000, (order->to_ms - order->from_ms) / 1000);
}

/* Within the shipped role; looking at the order and its texts comes with it. */
static int
settle_verbs(struct workorder *order, struct error *err)
{
    struct verbs role = role_use(ROLE_VENDOR);
    struct verbs over = verbs_minus(order->verbs, role);

    if (!verbs_empty(over))
        return error_field(err, "/verbs", "%s is nothing for a vendor",
                           verb_name(verbs_first(over)));
    if (verbs_empty(order->verbs)) {
        verbs_add(&order->verbs, VERB_NODE_GET);
        verbs_add(&order->verbs, VERB_CARD_GET);
    }
    verbs_add(&order->verbs, VERB_WORKORDER_GET);
    verbs_add(&order->verbs, VERB_WORKORDER_REPORT);
    verbs_add(&order->verbs, VERB_OPDOCUMENT_GET);
    return 0;
}

static int
check_devices(const struct workorder *order, struct error *err)
{
    scoped_json ids = read_list(order->devices);
    size_t count = json_array_size(ids);

    if (count == 0 || count > WORKORDER_DEVICES_MAX)
        return error_field(err, "/devices",
                           "a work order names 1 to %d nodes or cards, not "
                           "%zu",
                           WORKORDER_DEVICES_MAX, count);
    return 0;
}

static void
make_vendor(const struct actor *actor, struct changes *changes,
            struct workorder *order)
{
    struct user *user = change_create(changes, KIND_USER, order->object.self,
                                      order->vendor);
    struct grant *grant = change_create(
        changes, KIND_GRANT, world_platform_ref(changes->world), "");

    user->creator = actor->subject;
    order->subject = user->object.self;
    grant->subject = user->object.self;
    grant->role = role_find(changes->world, ROLE_VENDOR);
    grant->use = order->verbs;
    grant->from_ms = order->from_ms;
    grant->to_ms = order->to_ms;
    grant->granter = actor->subject;
    grant->workorder = order->object.self;
    change_doc(changes, &grant->devices, order->devices->bytes);
}

/* Work is off the node before the window begins, and none comes in it. */
static int
plan_drain(struct changes *changes, const struct workorder *order,
           struct ref node, struct error *err)
{
    char name[NAME_MAX_SIZE];
    struct maintenance *maintenance;

    (void)snprintf(name, sizeof(name), "order-%" PRIu64, order->object.seq);
    maintenance = change_create(changes, KIND_MAINTENANCE, node, name);
    maintenance->from_ms = order->from_ms;
    maintenance->to_ms = order->to_ms;
    maintenance->policy = MAINTENANCE_PREEMPT;
    maintenance->workorder = order->object.self;
    (void)snprintf(maintenance->reason, sizeof(maintenance->reason), "%s",
                   order->reason);
    if (maintenance_check(changes, maintenance, changes->context.now_ms,
                          err) != 0)
        return error_prefix(err, "draining the devices");
    maintenance_arm(maintenance, changes->context.now_ms);
    return 0;
}

static int
plan_drains(struct changes *changes, const struct workorder *order,
            struct error *err)
{
    const struct world *world = changes->world;
    scoped_json ids = read_list(order->devices);

    for (size_t i = 0; i < json_array_size(ids); i++) {
        struct ref node = node_of(world, device_at(world, ids, i));
        bool seen = false;

        for (size_t k = 0; k < i; k++)
            seen = seen || ref_equal(node, node_of(world, device_at(world, ids,
                                                                    k)));
        if (!seen && plan_drain(changes, order, node, err) != 0)
            return -1;
    }
    return 0;
}

int
workorder_make(const struct actor *actor, struct changes *changes,
               struct workorder *order, struct error *err)
{
    if (order->reason[0] == '\0')
        return error_field(err, "/reason",
                           "/reason is empty: the tenants concerned are told");
    if (ref_is_none(order->sponsor))
        order->sponsor = actor->subject;
    if (workorder_has(changes->world, order->sponsor))
        return error_field(err, "/sponsor", "no vendor answers for a vendor");
    if (policy_of(changes->world)->workorder_drain)
        order->drain = true;
    if (settle_window(changes, order, err) != 0 ||
        settle_verbs(order, err) != 0 ||
        check_devices(order, err) != 0)
        return -1;
    make_vendor(actor, changes, order);
    return order->drain ? plan_drains(changes, order, err) : 0;
}

/* --- visits --- */

static struct ref
find_visit(const struct changes *changes, struct ref order, struct ref tenant)
{
    for (size_t i = 0; i < changes->count; i++) {
        const struct change *change = &changes->list[i];
        const struct visit *visit = change->image;

        if (change->ref.kind == KIND_VISIT && visit != NULL &&
            ref_equal(visit->workorder, order) &&
            ref_equal(visit->object.parent, tenant))
            return change->ref;
    }
    world_each_child(changes->world, KIND_VISIT, tenant, ref)
        if (ref_equal(world_visit(changes->world, ref)->workorder, order))
            return ref;
    return (struct ref){ 0 };
}

static void
describe_visit(struct visit *visit, const struct workorder *order)
{
    visit->workorder = order->object.self;
    (void)snprintf(visit->vendor, sizeof(visit->vendor), "%s", order->vendor);
    (void)snprintf(visit->reason, sizeof(visit->reason), "%s", order->reason);
    visit->from_ms = order->from_ms;
    visit->to_ms = order->to_ms;
}

/* The tenant's own name of the card, and the binding that has it. */
static void
add_card(struct changes *changes, struct visit *visit,
         const struct binding *binding)
{
    scoped_json cards = read_list(visit->cards);
    scoped_buffer text = { 0 };
    char alias[ID_TEXT_MAX];

    object_alias(binding->object.id, alias);
    (void)json_array_append_new(
        cards, json_pack("{s:s, s:o, s:o}", "card", alias, "binding",
                         object_id_json(changes->world,
                                        binding->object.self),
                         "workload",
                         object_id_json(changes->world, binding->workload)));
    json_write(&text, cards);
    change_doc(changes, &visit->cards, buffer_text(&text));
}

static bool
has_binding(const struct visit *visit, const struct binding *binding)
{
    return visit != NULL &&
           schema_lists_id(visit->cards, KIND_BINDING, binding->object.id);
}

static void
tell_holder(struct changes *changes, struct ref card, void *data)
{
    const struct workorder *order = *(const struct workorder *const *)data;
    const struct world *world = changes->world;

    world_each_index(world, KIND_BINDING, 0, card, ref) {
        const struct binding *binding = world_binding(world, ref);
        struct ref tenant = world_scope(world, ref);
        struct ref at;
        struct visit *visit;

        if (binding->to_ms != 0 || tenant.kind != KIND_TENANT)
            continue;
        at = find_visit(changes, order->object.self, tenant);
        if (has_binding(ref_is_none(at) ? NULL : change_get(changes, at),
                        binding))
            continue;
        visit = ref_is_none(at)
                    ? change_create(changes, KIND_VISIT, tenant, "")
                    : change_update(changes, at);
        if (ref_is_none(at))
            describe_visit(visit, order);
        add_card(changes, visit, binding);
        alarm_raise(changes, tenant, "vendor.visit",
                    "a vendor (%s) works on cards that you hold: %.120s",
                    order->vendor, order->reason);
    }
}

/* Other visits of the tenant keep its alarm. */
static bool
is_visited(const struct changes *changes, struct ref tenant)
{
    world_each_child(changes->world, KIND_VISIT, tenant, ref) {
        const struct visit *visit = change_get(changes, ref);

        if (visit != NULL && visit->ended_ms == 0)
            return true;
    }
    return false;
}

static void
end_visits(struct changes *changes, struct ref order)
{
    world_each(changes->world, KIND_VISIT, ref) {
        const struct visit *present = world_visit(changes->world, ref);
        struct visit *visit;

        if (present->ended_ms != 0 || !ref_equal(present->workorder, order))
            continue;
        visit = change_update(changes, ref);
        visit->ended_ms = changes->context.now_ms;
        if (!is_visited(changes, visit->object.parent))
            alarm_clear(changes, visit->object.parent, "vendor.visit");
    }
}

/* --- ending --- */

static void
end_drains(struct changes *changes, const struct workorder *order)
{
    const struct world *world = changes->world;
    scoped_json ids = read_list(order->devices);
    char name[NAME_MAX_SIZE];

    (void)snprintf(name, sizeof(name), "order-%" PRIu64, order->object.seq);
    for (size_t i = 0; i < json_array_size(ids); i++) {
        struct ref node = node_of(world, device_at(world, ids, i));
        struct ref at;

        if (ref_is_none(node))
            continue;
        at = world_find_name(world, KIND_MAINTENANCE, node, name);
        if (ref_is_none(at) || change_get(changes, at) == NULL)
            continue;
        maintenance_end(changes, at);
        rules_drop(changes, at);
    }
}

static void
end(struct changes *changes, struct ref ref, enum workorder_state state)
{
    struct workorder *order = change_update(changes, ref);

    order->state = (int)state;
    order->closed_ms = changes->context.now_ms;
    if (world_get(changes->world, order->subject) != NULL)
        rules_drop_subject(changes, order->subject);
    end_drains(changes, order);
    end_visits(changes, ref);
}

int
workorder_close(const struct granted *granted, struct changes *changes,
                struct error *err)
{
    struct ref ref = granted_object(granted);
    const struct workorder *order =
        world_workorder(granted_world(granted), ref);

    if (order->state > WORKORDER_OPEN)
        return error_set(err, ERROR_CONFLICT, "the work order is over");
    end(changes, ref,
        order->state == WORKORDER_OPEN ? WORKORDER_CLOSED
                                       : WORKORDER_DROPPED);
    return 0;
}

/* --- what is reported and done --- */

static int
check_firmware(json_t *values, struct error *err)
{
    const char *name;
    json_t *value;

    if (json_object_size(values) == 0)
        return error_field(err, "/values", "/values names no firmware");
    json_object_foreach(values, name, value)
        if (!json_is_string(value))
            return error_field(err, "/values",
                               "/values/%.60s is no text: firmware and its "
                               "digest",
                               name);
    return 0;
}

int
workorder_report(const struct granted *granted, struct changes *changes,
                 bool after, json_t *values, struct error *err)
{
    struct ref ref = granted_object(granted);
    const struct workorder *present =
        world_workorder(granted_world(granted), ref);
    scoped_buffer text = { 0 };
    struct workorder *order;

    if (present->state == WORKORDER_DROPPED)
        return error_set(err, ERROR_CONFLICT,
                         "the work order was dropped: nothing was done");
    if (!after && present->firmware_before != NULL)
        return error_set(err, ERROR_CONFLICT,
                         "what was there before was reported already");
    if (check_firmware(values, err) != 0)
        return -1;
    json_write(&text, values);
    if (text.size > WORKORDER_FIRMWARE_MAX)
        return error_field(err, "/values", "/values is longer than %d bytes",
                           WORKORDER_FIRMWARE_MAX);
    order = change_update(changes, ref);
    change_doc(changes,
               after ? &order->firmware_after : &order->firmware_before,
               buffer_text(&text));
    return 0;
}

static bool
is_touched(const struct world *world, const struct visit *visit,
           struct ref device)
{
    world_each(world, KIND_BINDING, ref)
        if (schema_lists_id(visit->cards, KIND_BINDING,
                            world_object(world, ref)->id) &&
            world_is_below(world, world_binding(world, ref)->card, device))
            return true;
    return false;
}

void
workorder_note(struct changes *changes, const struct actor *actor,
               enum verb verb, struct ref object)
{
    const struct world *world = changes->world;
    struct ref ref = workorder_of(world, actor->subject);
    struct workorder *order;

    if (ref_is_none(ref))
        return;
    order = change_update(changes, ref);
    deeds_add(changes, &order->actions, &order->count, verb, object);
    if (object.kind != KIND_NODE && object.kind != KIND_CARD)
        return;
    world_each(world, KIND_VISIT, at) {
        const struct visit *present = world_visit(world, at);
        struct visit *visit;

        if (!ref_equal(present->workorder, ref) || present->ended_ms != 0 ||
            !is_touched(world, present, object))
            continue;
        visit = change_update(changes, at);
        deeds_add(changes, &visit->actions, &visit->count, verb,
                  (struct ref){ 0 });
    }
}

/* --- time --- */

static void
open_order(struct changes *changes, struct ref ref)
{
    struct workorder *order = change_update(changes, ref);

    order->state = WORKORDER_OPEN;
    order->opened_ms = changes->context.now_ms;
}

static void
step_one(struct changes *changes, struct ref ref)
{
    const struct workorder *order = world_workorder(changes->world, ref);
    int64_t now_ms = changes->context.now_ms;

    if (order->state > WORKORDER_OPEN)
        return;
    if (now_ms >= order->to_ms) {
        end(changes, ref, WORKORDER_OVER);
        return;
    }
    each_card(changes, order, tell_holder, &order);
    if (now_ms < order->from_ms || order->state == WORKORDER_OPEN)
        return;
    if (!order->drain || is_drained(changes, order))
        open_order(changes, ref);
    else if (order->state == WORKORDER_SCHEDULED)
        ((struct workorder *)change_update(changes, ref))->state =
            WORKORDER_DRAINING;
}

void
workorder_step(struct changes *changes)
{
    world_each(changes->world, KIND_WORKORDER, ref)
        step_one(changes, ref);
}
