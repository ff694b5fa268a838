/* SPDX-License-Identifier: Apache-2.0 */
#include "api/watch.h"

#include <string.h>

#include "api/hub.h"
#include "api/objects.h"
#include "api/state.h"
#include "api/stream.h"
#include "core/object.h"

struct watch {
    struct watcher watcher; /* first; the hub's */
    const struct api *api;
    uint8_t token[DIGEST_SIZE];
    char source[64];
    enum verb verb;
    enum kind kind;
    struct ref parent;
    struct id parent_id; /* slots are used again, ids are not */
    uint64_t since;
};

/* --- one watch's part of a slice; world thread --- */

static void
write_event(struct buffer *out, const char *event, json_t *data)
{
    buffer_printf(out, "event: %s\ndata: ", event);
    json_write(out, data);
    buffer_add_text(out, "\n\n");
    json_decref(data);
}

static void
end_with(struct watch *watch, const struct error *err)
{
    write_event(&watch->watcher.pending, "end",
                json_pack("{s:s, s:i}", "code", error_code_text(err->code),
                          "status", error_http_status(err->code)));
    watch->watcher.last = true;
}

/* One change set may touch many objects at one revision, which is the id of
 * the last of these events alone: who has seen an id has seen all of it. */
struct feed {
    struct watch *watch;
    const struct granted *granted;
    struct buffer event; /* the newest one */
    uint64_t revision;   /* of it */
};

static void
send_event(struct feed *feed, bool is_last)
{
    struct buffer *out = &feed->watch->watcher.pending;
    if (feed->event.size == 0)
        return;
    if (is_last)
        buffer_printf(out, "id: %llu\n", (unsigned long long)feed->revision);
    buffer_add(out, feed->event.bytes, feed->event.size);
    buffer_clear(&feed->event);
}

static void
begin_event(struct feed *feed, uint64_t revision)
{
    send_event(feed, revision != feed->revision);
    feed->revision = revision;
}

/* None when it is gone: its slot may be another's by now.  Alarms go with what
 * they are about: then who watches above it may know. */
static struct ref
parent_of(const struct world *world, const struct watch *watch,
          const struct note *note)
{
    const struct object *parent = world_object(world, note->parent);
    if (parent != NULL && id_equal(parent->id, note->parent_id))
        return note->parent;
    return watch->kind == KIND_ALARM && note->deleted ? watch->parent
                                                      : (struct ref){0};
}

/* The same objects as the list that the watch goes on from. */
static bool
concerns(const struct world *world, const struct watch *watch,
         const struct note *note)
{
    if (note->kind != (uint32_t)watch->kind)
        return false;
    if (ref_is_none(watch->parent) ||
        id_equal(note->parent_id, watch->parent_id))
        return true;
    struct ref parent = parent_of(world, watch, note);
    return !ref_is_none(parent) &&
           (watch->kind == KIND_ALARM ||
            (watch->kind == KIND_PROJECT && parent.kind == KIND_UNIT)) &&
           world_is_below(world, parent, watch->parent);
}

/* Gone from every list: deleted, or kept for the books in that state. */
static bool
is_gone(const struct world *world, const struct note *note)
{
    const struct object *object = world_object(world, note->ref);
    const struct field *field = schema_field((enum kind)note->kind, "state");
    if (note->deleted || object == NULL || !id_equal(object->id, note->id))
        return true;
    if (field == NULL || field->type != FIELD_ENUM)
        return false;
    return strcmp(field->names[*(const int *)field_at(field, object)],
                  "deleted") == 0;
}

/* Told to those who could see it: by a right that comes from above the object,
 * since what lay on the object itself went with it, or because it was
 * published to them. */
static void
feed_deletion(struct feed *feed, const struct note *note)
{
    char id[ID_TEXT_MAX];
    struct ref parent = parent_of(granted_world(feed->granted), feed->watch,
                                  note);
    if (!access_saw(feed->granted, feed->watch->kind, parent, note->id,
                    &note->audience))
        return;
    id_format(schema_get(feed->watch->kind)->prefix, note->id, id);
    begin_event(feed, note->revision);
    write_event(&feed->event, "delete", json_pack("{s:s}", "id", id));
}

static void
feed_object(struct feed *feed, const struct note *note)
{
    begin_event(feed, note->revision);
    buffer_add_text(&feed->event, "event: put\ndata: ");
    objects_write(feed->granted, feed->watch->api, note->ref, NULL,
                  &feed->event);
    buffer_add_text(&feed->event, "\n\n");
}

static bool
feed_note(void *data, const struct note *note)
{
    struct feed *feed = data;
    struct watch *watch = feed->watch;
    const struct world *world = granted_world(feed->granted);
    watch->since = note->revision;
    if (!concerns(world, watch, note))
        return true;
    if (is_gone(world, note))
        feed_deletion(feed, note);
    else if (access_visible(feed->granted, note->ref))
        feed_object(feed, note);
    return true;
}

static int
allow(struct loop *loop, const struct watch *watch,
      struct granted *granted_out, struct error *err)
{
    const struct world *world = loop_world(loop);
    int64_t now_ms = loop_context(loop).now_ms;
    struct actor actor;
    struct ref at = watch->parent;
    if (ref_is_none(at))
        at = world_platform_ref(world);
    const struct object *object = world_object(world, at);
    if (access_authenticate(world, watch->token, watch->source, now_ms,
                            &actor, err) != 0)
        return -1;
    if (object == NULL || !id_equal(object->id, watch->parent_id))
        return access_not_found(err);
    return access_decide(world, &actor, watch->verb, at, now_ms,
                         granted_out, err);
}

static void
feed_news(struct watch *watch, struct loop *loop,
          const struct granted *granted)
{
    struct watcher *watcher = &watch->watcher;
    uint64_t now = world_revision(loop_world(loop), watcher->scope);
    struct feed feed = {.watch = watch, .granted = granted};
    struct error err;
    if (watch->since >= now)
        return;
    if (loop_notes(loop, watcher->scope, watch->kind, watch->since, feed_note,
                   &feed, &err) != 0)
        end_with(watch, &err);
    send_event(&feed, true);
    buffer_release(&feed.event);
    watch->since = now;
}

/* Nothing new in the scope: nothing to tell, but rights may end by time. */
static void
feed_watch(struct watcher *watcher, struct loop *loop, bool again)
{
    struct watch *watch = (struct watch *)watcher;
    struct granted granted;
    struct error err;
    if (!again && watch->since >= world_revision(loop_world(loop),
                                                 watcher->scope))
        return;
    if (allow(loop, watch, &granted, &err) != 0)
        end_with(watch, &err);
    else
        feed_news(watch, loop, &granted);
}

/* --- starting --- */

bool
watch_wanted(const struct exchange *exchange)
{
    const char *watch = url_get(&exchange->url, "watch");
    return watch != NULL && strcmp(watch, "1") == 0;
}

static bool
take_nothing(void *data, const struct note *note)
{
    (void)data;
    (void)note;
    return false;
}

/* Where the watch begins.  People of a tenant who watch the platform's objects
 * know its revision only as that of what they saw; from there on nothing may
 * tell them how far it is.  What is no longer kept matters to them only when
 * it was visible. */
static int
read_since(const struct granted *granted, struct exchange *exchange,
           const struct watch *watch, uint64_t *since_out, struct error *err)
{
    struct loop *loop = exchange->api->loop;
    int64_t now = (int64_t)world_revision(granted_world(granted),
                                          watch->watcher.scope);
    bool blind = watch->watcher.scope.kind != KIND_TENANT &&
                 !granted_is_platform(granted);
    int64_t since;
    if (exchange_int(exchange, "since", 0, blind ? INT64_MAX : now, now,
                     &since, err) != 0)
        return -1;
    *since_out = (uint64_t)(since < now ? since : now);
    if (since >= now ||
        loop_notes(loop, watch->watcher.scope, watch->kind, (uint64_t)since,
                   take_nothing, NULL, err) == 0)
        return 0;
    if (!blind || objects_revision(granted, loop, watch->kind,
                                   watch->parent) > (uint64_t)since)
        return -1;
    *since_out = loop_notes_from(loop, watch->watcher.scope, watch->kind);
    return 0;
}

static struct watch *
make_watch(const struct granted *granted, const struct exchange *exchange,
           enum kind kind, struct ref parent)
{
    const struct world *world = granted_world(granted);
    struct watch *watch = memory_new(1, sizeof *watch);
    struct ref at = ref_is_none(parent) ? world_platform_ref(world) : parent;
    memcpy(watch->token, exchange->token, sizeof watch->token);
    memcpy(watch->source, exchange->source, sizeof watch->source);
    watch->api = exchange->api;
    watch->verb = exchange->route->verb;
    watch->kind = kind;
    watch->parent = parent;
    watch->parent_id = world_object(world, at)->id;
    watch->watcher.scope = world_scope(world, at);
    watch->watcher.feed = feed_watch;
    return watch;
}

int
watch_start(const struct granted *granted, struct exchange *exchange,
            enum kind kind, struct ref parent, struct error *err)
{
    if (kind == KIND_TENANT)
        return error_set(err, ERROR_UNSUPPORTED,
                         "tenants have revisions of their own and cannot be "
                         "watched together");
    struct hub *hub = exchange->api->hub;
    struct watch *watch = make_watch(granted, exchange, kind, parent);
    if (read_since(granted, exchange, watch, &watch->since, err) != 0 ||
        hub_add(hub, &watch->watcher, exchange, err) != 0) {
        free(watch);
        return -1;
    }
    static const char hello[] = ": watching\n\n";
    (void)stream_add(exchange->stream, hello, sizeof hello - 1);
    answer_text(&exchange->answer, 200, "text/event-stream", "");
    if (watch->since <
        world_revision(granted_world(granted), watch->watcher.scope))
        hub_wake(hub, &watch->watcher);
    return 0;
}
