/* SPDX-License-Identifier: Apache-2.0 */
#include "api/objects.h"

#include <assert.h>
#include <string.h>

#include "api/handlers.h"
#include "api/resolve.h"
#include "api/state.h"
#include "api/watch.h"
#include "base/sign.h"
#include "core/object.h"
#include "core/resource.h"

json_t *
objects_json(const struct granted *granted, struct ref ref, const void *image)
{
    const struct world *world = granted_world(granted);
    if (image == NULL)
        image = world_get(world, ref);
    assert(image != NULL);
    json_t *value =
        object_json(world, image, granted_is_platform(granted));
    if (ref.kind == KIND_WORKLOAD) {
        const struct object *head = image;
        struct ref at = head->version == 0 ? head->parent : ref;
        if (!access_can(world, granted_actor(granted), VERB_WORKLOAD_SPEC, at,
                        granted_now_ms(granted)))
            (void)json_object_del(value, "spec");
    }
    return value;
}

void
objects_add_names(const struct granted *granted, const json_t *item,
                  json_t *names)
{
    const struct world *world = granted_world(granted);
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)item, key, value) {
        const char *text = json_string_value(value);
        if (text == NULL || strcmp(key, "id") == 0 ||
            json_object_get(names, text) != NULL)
            continue;
        struct ref ref = object_find_text(world, text);
        const struct object *object = world_object(world, ref);
        if (object != NULL && object->name[0] != '\0' &&
            access_visible(granted, ref))
            json_object_set_new(names, text, json_string(object->name));
    }
}

/* --- lists --- */

int
page_begin(struct page *page, const struct granted *granted,
           struct exchange *exchange, struct error *err)
{
    const char *cursor = url_get(&exchange->url, "cursor");
    *page = (struct page){.granted = granted, .exchange = exchange};
    page->name = url_get(&exchange->url, "name");
    page->state = url_get(&exchange->url, "state");
    if (exchange_int(exchange, "limit", 1, PAGE_LIMIT_MAX, PAGE_LIMIT_DEFAULT,
                     &page->limit, err) != 0)
        return -1;
    if (cursor != NULL && cursor_parse(&exchange->api->cursor_key, cursor,
                                       &page->after, err) != 0)
        return -1;
    page->items = json_array();
    page->names = json_object();
    return 0;
}

/* The name of the object's state, NULL when its kind has none. */
static const char *
state_of(struct ref ref, const void *image)
{
    const struct field *field = schema_field((enum kind)ref.kind, "state");
    if (field == NULL || field->type != FIELD_ENUM)
        return NULL;
    const int *state = field_at(field, image);
    return field->names[*state];
}

static bool
passes_filters(const struct page *page, struct ref ref,
               const struct object *object)
{
    if (page->name != NULL && strcmp(page->name, object->name) != 0)
        return false;
    const char *state = state_of(ref, object);
    if (page->state != NULL)
        return state != NULL && strcmp(state, page->state) == 0;
    return state == NULL || strcmp(state, "deleted") != 0;
}

bool
page_takes(struct page *page, struct ref ref)
{
    const struct world *world = granted_world(page->granted);
    const struct object *object = world_object(world, ref);
    if (object->seq <= page->after || page->more ||
        !passes_filters(page, ref, object) ||
        !access_visible(page->granted, ref))
        return false;
    page->more = page->count == page->limit;
    return !page->more;
}

void
page_add(struct page *page, struct ref ref, json_t *item)
{
    page->last = world_object(granted_world(page->granted), ref)->seq;
    page->count++;
    objects_add_names(page->granted, item, page->names);
    json_array_append_new(page->items, item);
}

/* The newest revision among what the asker sees of the kind below parent
 * (none: anywhere). */
static uint64_t
visible_revision(const struct granted *granted, enum kind kind,
                 struct ref parent)
{
    const struct world *world = granted_world(granted);
    uint64_t newest = 0;
    if (ref_is_none(parent)) {
        world_each(world, kind, ref)
            if (world_object(world, ref)->revision > newest &&
                access_visible(granted, ref))
                newest = world_object(world, ref)->revision;
    } else {
        world_each_child(world, kind, parent, ref)
            if (world_object(world, ref)->revision > newest &&
                access_visible(granted, ref))
                newest = world_object(world, ref)->revision;
    }
    return newest;
}

uint64_t
objects_revision(const struct granted *granted, enum kind kind,
                 struct ref parent)
{
    const struct world *world = granted_world(granted);
    struct ref scope = ref_is_none(parent) ? world_platform_ref(world)
                                           : world_scope(world, parent);
    if (scope.kind == KIND_TENANT || granted_is_platform(granted))
        return world_revision(world, scope);
    return visible_revision(granted, kind, parent);
}

void
page_end(struct page *page, struct ref parent)
{
    struct exchange *exchange = page->exchange;
    enum kind kind = exchange->route->kind;
    json_t *next = json_null();
    if (page->more) {
        char text[CURSOR_TEXT_MAX];
        uint64_t nonce;
        random_bytes(&nonce, sizeof nonce);
        cursor_format(&exchange->api->cursor_key, nonce, page->last, text);
        next = json_string(text);
    }
    answer_json(&exchange->answer, 200,
                json_pack("{s:o, s:o, s:o, s:I}", "items", page->items,
                          "names", page->names, "next", next, "revision",
                          (json_int_t)objects_revision(page->granted, kind,
                                                       parent)));
}

static void
list_children(struct page *page, const struct world *world, enum kind kind,
              struct ref parent)
{
    world_each_child(world, kind, parent, ref) {
        if (page_takes(page, ref))
            page_add(page, ref, objects_json(page->granted, ref, NULL));
        if (page->more)
            return;
    }
}

/* A tenant's list holds the projects of its units too. */
static void
list_projects(struct page *page, const struct world *world,
              struct ref parent)
{
    world_each(world, KIND_PROJECT, ref) {
        if (resolve_inside(world, ref, parent) && page_takes(page, ref))
            page_add(page, ref, objects_json(page->granted, ref, NULL));
        if (page->more)
            return;
    }
}

int
objects_list(const struct granted *granted, struct exchange *exchange,
             struct error *err)
{
    const struct world *world = granted_world(granted);
    enum kind kind = exchange->route->kind;
    struct ref parent = exchange->object;
    struct page page;
    if (watch_wanted(exchange))
        return watch_start(granted, exchange, kind, parent, err);
    if (page_begin(&page, granted, exchange, err) != 0)
        return -1;
    if (kind == KIND_PROJECT)
        list_projects(&page, world, parent);
    else
        list_children(&page, world, kind, parent);
    page_end(&page, parent);
    return 0;
}

int
objects_list_all(const struct granted *granted, struct exchange *exchange,
                 struct error *err)
{
    const struct world *world = granted_world(granted);
    enum kind kind = exchange->route->kind;
    struct page page;
    if (watch_wanted(exchange))
        return watch_start(granted, exchange, kind, (struct ref){0}, err);
    if (page_begin(&page, granted, exchange, err) != 0)
        return -1;
    world_each(world, kind, ref) {
        if (page_takes(&page, ref))
            page_add(&page, ref, objects_json(granted, ref, NULL));
        if (page.more)
            break;
    }
    page_end(&page, (struct ref){0});
    return 0;
}

int
objects_get(const struct granted *granted, struct exchange *exchange,
            struct error *err)
{
    struct ref ref = granted_object(granted);
    json_t *object = objects_json(granted, ref, NULL);
    int64_t wish;
    if (exchange_int(exchange, "names", 0, 1, 0, &wish, err) != 0) {
        json_decref(object);
        return -1;
    }
    if (wish == 1) {
        json_t *names = json_object();
        objects_add_names(granted, object, names);
        json_object_set_new(object, "names", names);
    }
    answer_json(&exchange->answer, 200, object);
    answer_etag(&exchange->answer,
                world_object(granted_world(granted), ref)->version);
    return 0;
}

/* --- changes --- */

int
objects_create(const struct granted *granted, struct changes *changes,
               struct exchange *exchange, struct error *err)
{
    return resource_create(granted, changes, exchange->route->kind,
                           granted_object(granted), exchange->body,
                           &exchange->created, err);
}

int
objects_update(const struct granted *granted, struct changes *changes,
               struct exchange *exchange, struct error *err)
{
    return resource_update(granted, changes, granted_object(granted),
                           exchange->body, err);
}

int
objects_delete(const struct granted *granted, struct changes *changes,
               struct exchange *exchange, struct error *err)
{
    (void)exchange;
    return resource_delete(granted, changes, granted_object(granted), err);
}

void
objects_location(const struct exchange *exchange, const char *id,
                 char out[512])
{
    size_t path = strcspn(exchange->target, "?");
    while (path > 0 && exchange->target[path - 1] == '/')
        path--;
    int size = snprintf(out, 512, "%.*s/%s", (int)path, exchange->target, id);
    if (size < 0 || size >= 512)
        out[0] = '\0';
}

void
objects_answer(const struct granted *granted, const struct changes *changes,
               struct exchange *exchange)
{
    struct answer *answer = &exchange->answer;
    bool made = !ref_is_none(exchange->created);
    struct ref ref = made ? exchange->created : granted_object(granted);
    const struct object *image = change_get(changes, ref);
    answer_json(answer, made ? 201 : 200, objects_json(granted, ref, image));
    answer_etag(answer, image->version);
    if (made) {
        char id[ID_TEXT_MAX];
        id_format(schema_get((enum kind)ref.kind)->prefix, image->id, id);
        objects_location(exchange, id, answer->location);
    }
}

void
objects_gone(const struct granted *granted, const struct changes *changes,
             struct exchange *exchange)
{
    (void)granted;
    (void)changes;
    exchange->answer.status = 204;
    exchange->answer.type = NULL;
    buffer_clear(&exchange->answer.body);
}
