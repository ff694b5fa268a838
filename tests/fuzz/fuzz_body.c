/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "api/dispatch.h"
#include "core/object.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A world with little in it, that bodies may refer to. */
static struct world *world;
static struct ref parents[KIND_COUNT];

static struct ref
make(struct changes *changes, enum kind kind, struct ref parent)
{
    struct object *object = change_create(changes, kind, parent, "a");

    return parents[kind] = object->self;
}

static void
make_world(struct id_source *ids)
{
    static const struct hash_key key = { 3, 4 };
    scoped_arena arena = arena_new();
    struct changes *changes;
    struct ref platform, tenant, project;

    world = world_new(&key);
    ids->key = key;
    changes = change_begin(arena, world, (struct context){ 1, ids });
    platform = make(changes, KIND_PLATFORM, (struct ref){ 0 });
    (void)make(changes, KIND_POOL, platform);
    (void)make(changes, KIND_CLASS, platform);
    (void)make(changes, KIND_PRIORITY, platform);
    tenant = make(changes, KIND_TENANT, platform);
    (void)make(changes, KIND_USER, tenant);
    project = make(changes, KIND_PROJECT, tenant);
    (void)make(changes, KIND_VOLUME, project);
    world_apply(world, changes);
}

/* The body into an object of the route's kind, as a handler reads it; what is
 * taken can be shown. */
static void
read_object(struct exchange *exchange, struct id_source *ids)
{
    struct changes *changes = change_begin(exchange->arena, world,
                                           (struct context){ 2, ids });
    enum kind kind = exchange->route->kind;
    bool create = strcmp(exchange->route->method, "POST") == 0;
    struct object *image =
        change_create(changes, kind, parents[KIND_PROJECT], "b");
    struct error err = { 0 };

    if (object_read_json(changes, kind, exchange->body, create, image,
                         &err) != 0) {
        if (err.code == ERROR_NONE || err.text[0] == '\0')
            __builtin_trap();
        return;
    }
    json_decref(object_json(world, image, true));
}

/* The first byte chooses the route. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct id_source ids;
    scoped_arena arena = arena_new();
    struct exchange exchange = { .arena = arena,
                                 .content_type = "application/json" };
    struct error err = { 0 };

    if (world == NULL)
        make_world(&ids);
    if (size == 0)
        return 0;
    exchange.route = &route_table[data[0] % route_count];
    exchange.method = exchange.route->method;
    buffer_add(&exchange.raw, data + 1, size - 1);
    if (dispatch_body(&exchange, &err) != 0) {
        if (err.code == ERROR_NONE || err.text[0] == '\0' ||
            error_http_status(err.code) / 100 != 4)
            __builtin_trap();
    } else if ((exchange.route->flags & ROUTE_CONTENT) != 0 &&
               exchange.body != NULL) {
        read_object(&exchange, &ids);
    }
    json_decref(exchange.body);
    buffer_release(&exchange.raw);
    return 0;
}
