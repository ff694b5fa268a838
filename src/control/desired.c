/* SPDX-License-Identifier: Apache-2.0 */
#include "control/desired.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "engine/gang.h"
#include "core/cut.h"
#include "core/lifecycle.h"
#include "core/manifest.h"
#include "core/object.h"
#include "core/fence.h"
#include "core/orphan.h"

/* The runner hands out host numbers up to here; above it, it picks one. */
#define ADDRESS_MAX 4093
#define PIDS_MAX 1024
/* The runner takes no larger request. */
#define START_SIZE_MAX ((size_t)250 * 1024)
/* The last range of the runners' default policy; above it, they pick. */
#define UID_BASE_MAX INT64_C(1268383744)

static void
set_text(json_t *object, const char *key, const char *text)
{
    (void)json_object_set_new(object, key, json_string(text));
}

static void
set_int(json_t *object, const char *key, int64_t value)
{
    (void)json_object_set_new(object, key, json_integer(value));
}

/* --- the start of one instance --- */

/* "name@sha256:..." or "name". */
static json_t *
make_image(const char *image)
{
    json_t *object = json_object();
    const char *at = strchr(image, '@');
    size_t size = at != NULL ? (size_t)(at - image) : strlen(image);

    (void)json_object_set_new(object, "name", json_stringn(image, size));
    if (at != NULL)
        set_text(object, "digest", at + 1);
    return object;
}

/* The cards that it holds, at most ORDER_CARDS_MAX. */
static const char *const *
cards_of(const struct world *world, struct ref instance, struct arena *arena,
         size_t *count_out)
{
    const char **list = arena_alloc(arena, ORDER_CARDS_MAX * sizeof(*list));
    size_t count = 0;

    world_each_child(world, KIND_BINDING, instance, ref) {
        const struct binding *binding = world_binding(world, ref);
        const struct card *card = world_card(world, binding->card);
        char part[CUT_PART_MAX];

        if (binding->to_ms == 0 && card != NULL && count < ORDER_CARDS_MAX)
            list[count++] = arena_strdup(
                arena, cut_part(part, card->uuid, binding->slice));
    }
    *count_out = count;
    return list;
}

/* Whole cards are given without an amount: all of their memory. */
static void
set_cards(const struct world *world, struct ref instance, json_t *start)
{
    const struct instance *image = world_instance(world, instance);
    const struct class *class = world_class(world, image->class);
    scoped_arena arena = arena_new();
    json_t *cards = json_array();
    int64_t memory_mib = 0;
    int64_t milli = 0;
    const char *const *list;
    size_t count;

    list = cards_of(world, instance, arena, &count);
    for (size_t i = 0; i < count; i++)
        (void)json_array_append_new(cards, json_string(list[i]));
    world_each_child(world, KIND_BINDING, instance, ref) {
        const struct binding *binding = world_binding(world, ref);

        if (binding->to_ms == 0 &&
            (binding->slice[0] != '\0' ||
             (class != NULL && class->form == FORM_SOFT)))
            memory_mib = binding->memory_mib;
        if (binding->to_ms == 0 && class != NULL && class->form == FORM_SOFT)
            milli = binding->milli;
    }
    (void)json_object_set_new(start, "cards", cards);
    set_int(start, "card_memory_mib", memory_mib);
    if (milli > 0)
        set_int(start, "card_milli", milli);
}

static void
set_volumes(json_t *start, const json_t *spec)
{
    const json_t *list = json_object_get(spec, "volumes");
    json_t *volumes = json_array();
    const char *checkpoint =
        json_string_value(json_object_get(spec, "checkpoint"));

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        bool read_only = json_is_true(json_object_get(item, "read_only"));
        const char *path = json_string_value(json_object_get(item, "path"));
        json_t *volume = json_object();

        (void)json_object_set(volume, "id", json_object_get(item, "volume"));
        (void)json_object_set(volume, "path", json_object_get(item, "path"));
        (void)json_object_set_new(volume, "read_only",
                                  json_boolean(read_only));
        (void)json_array_append_new(volumes, volume);
        /* Unless it says where, checkpoints go to the first volume that can
         * be written. */
        if (checkpoint == NULL && !read_only)
            checkpoint = path;
    }
    (void)json_object_set_new(start, "volumes", volumes);
    if (checkpoint != NULL)
        set_text(start, "checkpoint_dir", checkpoint);
}

static bool
is_label(const char *text)
{
    size_t size = strlen(text);

    return size > 0 && size < 60 &&
           strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-") == size &&
           text[0] != '-' && text[size - 1] != '-';
}

static void
set_name(const struct world *world, const struct instance *instance,
         json_t *start)
{
    const struct object *workload =
        world_object(world, instance->object.parent);
    char name[NAME_MAX_SIZE + 24];

    if (workload == NULL || !is_label(workload->name))
        return;
    (void)snprintf(name, sizeof(name), "%s-%lld", workload->name,
                   (long long)instance->number);
    if (strlen(name) < NAME_MAX_SIZE)
        set_text(start, "hostname", name);
}

/* What an orphan has, the platform may give out again: beside one the runner
 * picks, which knows what is free. */
static void
set_limits(const struct world *world, const struct instance *instance,
           json_t *start)
{
    bool picks = world_node(world, instance->node)->orphans != NULL;
    json_t *network = json_object();

    set_int(network, "address",
            !picks && instance->address <= ADDRESS_MAX ? instance->address
                                                       : 0);
    (void)json_object_set_new(start, "network", network);
    set_int(start, "uid_base",
            !picks && instance->uid_base <= UID_BASE_MAX ? instance->uid_base
                                                         : 0);
    set_int(start, "cpu_milli", instance->cpu_milli);
    set_int(start, "memory_mib", instance->memory_mib);
    set_int(start, "pids_max", PIDS_MAX);
}

/* What the instance is told about its gang. */
static json_t *
make_gang(const struct workload *workload, const struct instance *instance)
{
    int64_t least = workload->instances;
    struct gang gang = {
        .number = instance->number,
        .instances = workload->instances_now > 0 ? workload->instances_now
                                                 : least,
        .least = least,
        .most = workload->instances_max > least ? workload->instances_max
                                                : least,
    };

    return gang_write(&gang);
}

json_t *
desired_start(const struct world *world, struct ref ref)
{
    const struct instance *instance = world_instance(world, ref);
    const struct workload *workload =
        world_workload(world, instance->object.parent);
    json_t *start = json_object();
    struct error ignored;
    scoped_json spec = NULL;

    assert(start != NULL && workload != NULL);
    if (workload->spec != NULL)
        spec = json_read(workload->spec->bytes, workload->spec->size,
                         &ignored);
    (void)json_object_set_new(start, "image", make_image(workload->image));
    if (json_object_get(spec, "command") != NULL)
        (void)json_object_set(start, "argv",
                              json_object_get(spec, "command"));
    if (json_object_get(spec, "env") != NULL)
        (void)json_object_set(start, "env", json_object_get(spec, "env"));
    if (json_object_get(spec, "workdir") != NULL)
        (void)json_object_set(start, "cwd", json_object_get(spec, "workdir"));
    set_cards(world, ref, start);
    set_volumes(start, spec);
    set_name(world, instance, start);
    set_limits(world, instance, start);
    set_text(start, "pin",
             manifest_pinning_text(manifest_pinning(workload->spec)));
    (void)json_object_set_new(start, "gang", make_gang(workload, instance));
    return start;
}

/* --- the node --- */

static int64_t
tenant_number(const struct world *world, struct ref ref)
{
    const struct tenant *tenant =
        world_tenant(world, world_scope(world, ref));

    return tenant != NULL ? tenant->number : 0;
}

static enum order_want
want_of(const struct instance *instance)
{
    if (instance->state == INSTANCE_EXITED)
        return ORDER_STOP;
    switch ((enum instance_want)instance->want) {
    case WANT_RUN:
        return ORDER_RUN;
    case WANT_NOTICE:
        return ORDER_NOTICE;
    case WANT_STOP:
        return ORDER_STOP;
    }
    return ORDER_STOP;
}

/* What runs needs no start.  The rest shares one order's room: what does not
 * fit comes when earlier ones run, and what could never fit is left empty, for
 * the runner to refuse. */
static json_t *
add_start(const struct world *world, struct ref ref, struct desired *desired)
{
    const struct instance *instance = world_instance(world, ref);
    scoped_buffer bytes = { 0 };
    json_t *start;

    if (instance->started_ms != 0 || want_of(instance) == ORDER_STOP)
        return NULL;
    start = desired_start(world, ref);
    json_write(&bytes, start);
    if (bytes.size > START_SIZE_MAX) {
        json_decref(start);
        start = json_object();
        bytes.size = 2;
    }
    if (desired->start_bytes + bytes.size > ORDER_STARTS_MAX) {
        json_decref(start);
        return NULL;
    }
    desired->start_bytes += bytes.size;
    (void)json_array_append_new(desired->starts, start);
    return start;
}

/* Only an elastic gang is told again.  The list of starts owns it. */
static const json_t *
add_gang(const struct world *world, const struct instance *instance,
         struct desired *desired)
{
    const struct workload *workload =
        world_workload(world, instance->object.parent);
    json_t *gang;

    if (workload == NULL || !lifecycle_is_elastic(workload) ||
        instance->attempt != workload->attempt)
        return NULL;
    gang = make_gang(workload, instance);
    (void)json_array_append_new(desired->starts, gang);
    return gang;
}

static void
add_instances(const struct world *world, struct ref node,
              struct arena *arena, struct desired *desired)
{
    struct order_instance *list;
    size_t count = 0;

    world_each_index(world, KIND_INSTANCE, 0, node, ref)
        count++;
    list = arena_alloc(arena, count * sizeof(*list));
    count = 0;
    world_each_index(world, KIND_INSTANCE, 0, node, ref) {
        const struct instance *instance = world_instance(world, ref);
        struct order_instance *item = &list[count];

        if (instance->state == INSTANCE_RELEASED ||
            count == ORDER_INSTANCES_MAX)
            continue;
        *item = (struct order_instance){
            .instance = object_id_copy(world, ref, arena),
            .incarnation = instance->incarnation,
            .tenant = tenant_number(world, ref),
            .want = want_of(instance),
            .reason = arena_strdup(arena, instance->want_reason),
            .deadline_ms = instance->deadline_ms,
            .cap = { instance->cap_cpu_milli, instance->cap_io_kib,
                     instance->cap_network_kib },
            .gang = add_gang(world, instance, desired),
            .start = add_start(world, ref, desired),
        };
        item->cards = cards_of(world, ref, arena, &item->card_count);
        count++;
    }
    desired->order.instances = list;
    desired->order.instance_count = count;
}

static struct order_instance
stop_unknown(const json_t *item, struct arena *arena)
{
    const json_t *cards = json_object_get(item, "cards");
    const char **list =
        arena_alloc(arena, (json_array_size(cards) + 1) * sizeof(*list));
    struct order_instance order = {
        .instance = arena_strdup(
            arena, json_string_value(json_object_get(item, "instance"))),
        .incarnation =
            json_integer_value(json_object_get(item, "incarnation")),
        .want = ORDER_STOP,
        .reason = "unknown",
        .cards = list,
    };

    for (size_t i = 0; i < json_array_size(cards) && i < ORDER_CARDS_MAX;
         i++)
        list[order.card_count++] = arena_strdup(
            arena, json_string_value(json_array_get(cards, i)));
    return order;
}

/* What is to be killed though the platform has no instance of it any more. */
static void
add_stops(const json_t *list, struct arena *arena, struct order *order)
{
    size_t count = order->instance_count;
    struct order_instance *all = arena_alloc(
        arena, (count + json_array_size(list) + 1) * sizeof(*all));

    if (count > 0)
        memcpy(all, order->instances, count * sizeof(*all));
    for (size_t i = 0;
         i < json_array_size(list) && count < ORDER_INSTANCES_MAX; i++)
        all[count++] = stop_unknown(json_array_get(list, i), arena);
    order->instances = all;
    order->instance_count = count;
}

/* Orphans that somebody decided to stop, and what was given up with the
 * node. */
static void
add_unknown(const struct world *world, struct ref ref, struct arena *arena,
            struct desired *desired)
{
    const struct node *node = world_node(world, ref);
    scoped_json orphans = orphan_list(node);
    scoped_json stops = fence_list(node);

    for (size_t i = 0; i < json_array_size(orphans); i++) {
        json_t *item = json_array_get(orphans, i);

        if (json_is_true(json_object_get(item, "stop")))
            (void)json_array_append(stops, item);
    }
    add_stops(stops, arena, &desired->order);
}

static void
add_volumes(const struct world *world, struct ref node, struct arena *arena,
            struct order *order)
{
    struct order_volume *list;
    size_t count = 0;

    world_each_index(world, KIND_VOLUME, 0, node, ref)
        count++;
    list = arena_alloc(arena, count * sizeof(*list));
    count = 0;
    world_each_index(world, KIND_VOLUME, 0, node, ref) {
        const struct volume *volume = world_volume(world, ref);

        if (volume->state == VOLUME_FAILED || count == ORDER_VOLUMES_MAX)
            continue;
        list[count++] = (struct order_volume){
            .volume = object_id_copy(world, ref, arena),
            .tenant = tenant_number(world, ref),
            .size_mib = volume->size_mib,
            .remove = volume->state == VOLUME_DELETING,
        };
    }
    order->volumes = list;
    order->volume_count = count;
}

/* The released slices of a card, each by itself. */
static size_t
add_dirty(const struct card *card, struct arena *arena, const char **list,
          size_t count)
{
    for (const char *at = card->dirty; *at != '\0';) {
        size_t size = strcspn(at, " ");

        if (count < ORDER_SCRUBS_MAX)
            list[count++] = arena_printf(arena, "%s/%.*s", card->uuid,
                                         (int)size, at);
        at += size + (at[size] == ' ');
    }
    return count;
}

/* Only a card that nobody holds can be cleaned; it is left as it is wanted
 * next. */
static void
add_scrubs(const struct world *world, struct ref node, struct arena *arena,
           struct order *order)
{
    const char **list = arena_alloc(arena, ORDER_SCRUBS_MAX * sizeof(*list));
    size_t count = 0;

    world_each_child(world, KIND_CARD, node, ref) {
        const struct card *card = world_card(world, ref);

        char part[CUT_PART_MAX];

        if (card->missing || (card->foreign && !card->clear_foreign) ||
            fence_holds(world_node(world, node), card->uuid))
            continue;
        if (card->handover == HANDOVER_CLEAN)
            count = add_dirty(card, arena, list, count);
        if (card->handover != HANDOVER_PENDING || card->used_milli != 0 ||
            count == ORDER_SCRUBS_MAX)
            continue;
        list[count++] = arena_strdup(
            arena,
            cut_part(part, card->uuid,
                     card->clear_foreign ? CUT_CLEARED
                     : card->sliced      ? CUT_SLICED
                                         : ""));
    }
    order->scrubs = list;
    order->scrub_count = count;
}

void
desired_build(const struct world *world, struct ref node,
              struct arena *arena, struct desired *desired_out)
{
    const struct platform *platform =
        world_platform(world, world_platform_ref(world));
    char *revision = arena_alloc(arena, ORDER_REVISION_MAX);

    *desired_out = (struct desired){ .starts = json_array() };
    desired_out->order.node = object_id_copy(world, node, arena);
    /* While the platform looks on, nodes go on with what they have. */
    if (!platform->observing) {
        add_instances(world, node, arena, desired_out);
        add_unknown(world, node, arena, desired_out);
        add_volumes(world, node, arena, &desired_out->order);
        add_scrubs(world, node, arena, &desired_out->order);
    }
    order_revision(&desired_out->order, revision);
    desired_out->order.revision = revision;
}

void
desired_release(struct desired *desired)
{
    json_decref(desired->starts);
    desired->starts = NULL;
}
