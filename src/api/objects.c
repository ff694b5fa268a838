/* SPDX-License-Identifier: Apache-2.0 */
#include "api/objects.h"

#include <assert.h>
#include <string.h>

#include "api/estimates.h"
#include "api/handlers.h"
#include "api/resolve.h"
#include "api/state.h"
#include "api/watch.h"
#include "base/sign.h"
#include "core/object.h"
#include "core/printer.h"
#include "core/resource.h"

/* The member that the asker has no right to, NULL: all are shown. */
static const char *
hidden_member(struct access_view *view, struct ref ref,
              const struct object *image)
{
    if (ref.kind != KIND_WORKLOAD)
        return NULL;
    struct ref at = image->version == 0 ? image->parent : ref;
    return access_view_can(view, VERB_WORKLOAD_SPEC, at) ? NULL : "spec";
}

json_t *
objects_json(const struct granted *granted, struct ref ref, const void *image)
{
    const struct world *world = granted_world(granted);
    struct access_view view = access_view(granted);
    if (image == NULL)
        image = world_get(world, ref);
    assert(image != NULL);
    json_t *value =
        object_json(world, image, granted_is_platform(granted));
    const char *hidden = hidden_member(&view, ref, image);
    if (hidden != NULL)
        (void)json_object_del(value, hidden);
    return value;
}

void
objects_write(const struct granted *granted, const struct api *api,
              struct ref ref, const void *image, struct buffer *out)
{
    const struct world *world = granted_world(granted);
    struct access_view view = access_view(granted);
    if (image == NULL)
        image = world_get(world, ref);
    assert(image != NULL);
    printer_add(state_printer(api, (enum kind)ref.kind,
                              granted_is_platform(granted)),
                out, world, image, hidden_member(&view, ref, image), NULL,
                NULL);
}

/* What is no part of the object, behind its fields. */
static void
add_more(const struct exchange *exchange, struct ref ref, const void *image,
         struct buffer *out)
{
    if (ref.kind == KIND_WORKLOAD)
        estimates_add(exchange->api->estimator, exchange->actor.subject,
                      image, out);
}

/* --- lists --- */

int
page_begin(struct page *page, const struct granted *granted,
           struct exchange *exchange, struct error *err)
{
    const char *cursor = url_get(&exchange->url, "cursor");
    *page = (struct page){.granted = granted,
                          .exchange = exchange,
                          .out = &exchange->answer.body,
                          .view = access_view(granted)};
    page->name = url_get(&exchange->url, "name");
    page->state = url_get(&exchange->url, "state");
    if (exchange_int(exchange, "limit", 1, PAGE_LIMIT_MAX, PAGE_LIMIT_DEFAULT,
                     &page->limit, err) != 0)
        return -1;
    if (cursor != NULL && cursor_parse(&exchange->api->cursor_key, cursor,
                                       &page->after, err) != 0)
        return -1;
    page->names = names_new(exchange->arena, granted);
    buffer_clear(page->out);
    buffer_add_text(page->out, "{\"items\":[");
    return 0;
}

struct ref
page_first(const struct page *page, enum kind kind, struct ref parent)
{
    const struct world *world = granted_world(page->granted);
    struct ref last = {kind, (uint32_t)page->after.slot};
    const struct object *object = world_object(world, last);
    bool there = object != NULL && object->seq == page->after.seq;
    if (ref_is_none(parent))
        return there ? world_next(world, last) : world_first(world, kind);
    return there && ref_equal(object->parent, parent)
               ? world_next_child(world, last)
               : world_first_child(world, kind, parent);
}

/* The name of the object's state, NULL when its kind has none. */
static const char *
state_of(struct page *page, struct ref ref, const void *image)
{
    if (page->state_kind != (enum kind)ref.kind) {
        page->state_kind = (enum kind)ref.kind;
        page->state_field = schema_field(page->state_kind, "state");
    }
    const struct field *field = page->state_field;
    if (field == NULL || field->type != FIELD_ENUM)
        return NULL;
    const int *state = field_at(field, image);
    return field->names[*state];
}

static bool
passes_filters(struct page *page, struct ref ref, const struct object *object)
{
    if (page->name != NULL && strcmp(page->name, object->name) != 0)
        return false;
    const char *state = state_of(page, ref, object);
    if (page->state != NULL)
        return state != NULL && strcmp(state, page->state) == 0;
    return state == NULL || strcmp(state, "deleted") != 0;
}

bool
page_takes(struct page *page, struct ref ref)
{
    const struct world *world = granted_world(page->granted);
    const struct object *object = world_object(world, ref);
    if (object->seq <= page->after.seq || page->more ||
        !passes_filters(page, ref, object) ||
        !access_view_sees(&page->view, ref))
        return false;
    page->more = page->count == page->limit;
    return !page->more;
}

static void
begin_item(struct page *page, struct ref ref)
{
    page->last = ref;
    if (page->count++ > 0)
        buffer_add_byte(page->out, ',');
}

void
page_add(struct page *page, struct ref ref)
{
    const struct world *world = granted_world(page->granted);
    const void *image = world_get(world, ref);
    begin_item(page, ref);
    printer_add(state_printer(page->exchange->api, (enum kind)ref.kind,
                              granted_is_platform(page->granted)),
                page->out, world, image,
                hidden_member(&page->view, ref, image), names_add,
                page->names);
    add_more(page->exchange, ref, image, page->out);
}

void
page_put(struct page *page, struct ref ref, json_t *item)
{
    begin_item(page, ref);
    names_add_all(page->names, item);
    json_write(page->out, item);
    json_decref(item);
}

/* The newest revision among what the asker sees, or saw before it was deleted,
 * of the kind below parent (none: anywhere). */
static uint64_t
visible_revision(const struct granted *granted, const struct loop *loop,
                 enum kind kind, struct ref parent)
{
    const struct world *world = granted_world(granted);
    uint64_t newest = loop_deleted(loop, kind);
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
objects_revision(const struct granted *granted, const struct loop *loop,
                 enum kind kind, struct ref parent)
{
    const struct world *world = granted_world(granted);
    struct ref scope = ref_is_none(parent) ? world_platform_ref(world)
                                           : world_scope(world, parent);
    if (scope.kind == KIND_TENANT || granted_is_platform(granted))
        return world_revision(world, scope);
    return visible_revision(granted, loop, kind, parent);
}

static void
add_cursor(struct page *page)
{
    char text[CURSOR_TEXT_MAX];
    uint64_t nonce;
    struct cursor_place place = {
        world_object(granted_world(page->granted), page->last)->seq,
        page->last.index};
    random_bytes(&nonce, sizeof nonce);
    cursor_format(&page->exchange->api->cursor_key, nonce, &place, text);
    buffer_printf(page->out, "\"%s\"", text);
}

void
page_end(struct page *page, struct ref parent)
{
    struct answer *answer = &page->exchange->answer;
    buffer_add_text(page->out, "],\"names\":");
    names_write(page->names, page->out);
    buffer_add_text(page->out, ",\"next\":");
    if (page->more)
        add_cursor(page);
    else
        buffer_add_text(page->out, "null");
    buffer_printf(page->out, ",\"revision\":%llu}\n",
                  (unsigned long long)objects_revision(
                      page->granted, page->exchange->api->loop,
                      page->exchange->route->kind, parent));
    answer->status = 200;
    answer->type = "application/json";
}

static void
list_children(struct page *page, const struct world *world, enum kind kind,
              struct ref parent)
{
    for (struct ref ref = page_first(page, kind, parent); !ref_is_none(ref);
         ref = world_next_child(world, ref)) {
        if (page_takes(page, ref))
            page_add(page, ref);
        if (page->more)
            return;
    }
}

/* A tenant's list holds the projects of its units too. */
static void
list_projects(struct page *page, const struct world *world,
              struct ref parent)
{
    for (struct ref ref = page_first(page, KIND_PROJECT, (struct ref){0});
         !ref_is_none(ref); ref = world_next(world, ref)) {
        if (resolve_inside(world, ref, parent) && page_takes(page, ref))
            page_add(page, ref);
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
    for (struct ref ref = page_first(&page, kind, (struct ref){0});
         !ref_is_none(ref); ref = world_next(world, ref)) {
        if (page_takes(&page, ref))
            page_add(&page, ref);
        if (page.more)
            break;
    }
    page_end(&page, (struct ref){0});
    return 0;
}

/* "names" stands among the members of the object itself. */
static void
answer_with_names(const struct granted *granted, struct exchange *exchange,
                  struct ref ref)
{
    scoped_buffer text = {0};
    const struct workload *workload =
        world_workload(granted_world(granted), ref);
    json_t *object = objects_json(granted, ref, NULL);
    struct names *names = names_new(exchange->arena, granted);
    names_add_all(names, object);
    names_write(names, &text);
    json_object_set_new(object, "names",
                        json_loadb(text.bytes, text.size, 0, NULL));
    if (workload != NULL)
        json_object_set_new(
            object, "estimate",
            estimate_json(estimates_read(exchange->api->estimator,
                                         exchange->actor.subject),
                          workload));
    answer_json(&exchange->answer, 200, object);
}

static void
answer_object(const struct granted *granted, struct exchange *exchange,
              int status, struct ref ref, const struct object *image)
{
    struct answer *answer = &exchange->answer;
    buffer_clear(&answer->body);
    if (image == NULL)
        image = world_get(granted_world(granted), ref);
    objects_write(granted, exchange->api, ref, image, &answer->body);
    add_more(exchange, ref, image, &answer->body);
    buffer_add_byte(&answer->body, '\n');
    answer->status = status;
    answer->type = "application/json";
}

int
objects_get(const struct granted *granted, struct exchange *exchange,
            struct error *err)
{
    struct ref ref = granted_object(granted);
    int64_t wish;
    if (exchange_int(exchange, "names", 0, 1, 0, &wish, err) != 0)
        return -1;
    if (wish == 1)
        answer_with_names(granted, exchange, ref);
    else
        answer_object(granted, exchange, 200, ref, NULL);
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
    answer_object(granted, exchange, made ? 201 : 200, ref, image);
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
