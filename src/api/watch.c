/* SPDX-License-Identifier: Apache-2.0 */
#include "api/watch.h"

#include <pthread.h>
#include <string.h>

#include "api/objects.h"
#include "api/state.h"
#include "base/clock.h"
#include "core/object.h"

#define TICK_MS 5000
#define BEAT_MS 15000
#define SCOPES 1024 /* counters of watches; a power of two */
/* Of the streams, those of one subject. */
#define SUBJECT_SHARE 8

struct watcher {
    struct watcher *next;
    const struct api *api;
    struct stream *stream;
    struct buffer pending; /* made in this round, sent when it is durable */
    bool last;             /* the stream ends behind pending */
    bool fed;              /* false: a log, fed by others */
    struct id owner;       /* the subject */
    uint8_t token[DIGEST_SIZE];
    char source[64];
    enum verb verb;
    enum kind kind;
    struct ref parent;
    struct id parent_id; /* slots are used again, ids are not */
    struct ref scope;
    uint64_t since;
    int64_t sent_ms; /* monotonic */
};

struct hub {
    struct api *api;
    struct job job; /* one round at a time */
    struct arena *arena;
    pthread_mutex_t lock; /* flags and count */
    pthread_cond_t idle;
    bool running;
    bool wanted;
    bool ended;
    bool ticked; /* rights are asked again in the next round */
    size_t count;
    unsigned watched[SCOPES]; /* watches by their scope */
    pthread_mutex_t list_lock;
    struct watcher *list;
};

/* --- one watcher's part of a round; world thread --- */

static void
write_event(struct buffer *out, const char *event, json_t *data)
{
    buffer_printf(out, "event: %s\ndata: ", event);
    json_write(out, data);
    buffer_add_text(out, "\n\n");
    json_decref(data);
}

static void
end_with(struct watcher *watcher, const struct error *err)
{
    write_event(&watcher->pending, "end",
                json_pack("{s:s, s:i}", "code", error_code_text(err->code),
                          "status", error_http_status(err->code)));
    watcher->last = true;
}

/* One change set may touch many objects at one revision, which is the id of
 * the last of these events alone: who has seen an id has seen all of it. */
struct feed {
    struct watcher *watcher;
    const struct granted *granted;
    struct buffer event; /* the newest one */
    uint64_t revision;   /* of it */
};

static void
send_event(struct feed *feed, bool is_last)
{
    struct buffer *out = &feed->watcher->pending;
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

/* The same objects as the list that the watch goes on from. */
static bool
concerns(const struct world *world, const struct watcher *watcher,
         const struct note *note)
{
    if (note->kind != (uint32_t)watcher->kind)
        return false;
    if (ref_is_none(watcher->parent) ||
        ref_equal(note->parent, watcher->parent))
        return true;
    return watcher->kind == KIND_PROJECT && note->parent.kind == KIND_UNIT &&
           world_is_below(world, note->parent, watcher->parent);
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
    if (!access_saw(feed->granted, feed->watcher->kind, note->parent,
                    note->id, &note->audience))
        return;
    id_format(schema_get(feed->watcher->kind)->prefix, note->id, id);
    begin_event(feed, note->revision);
    write_event(&feed->event, "delete", json_pack("{s:s}", "id", id));
}

static void
feed_object(struct feed *feed, const struct note *note)
{
    begin_event(feed, note->revision);
    buffer_add_text(&feed->event, "event: put\ndata: ");
    objects_write(feed->granted, feed->watcher->api, note->ref, NULL,
                  &feed->event);
    buffer_add_text(&feed->event, "\n\n");
}

static bool
feed_note(void *data, const struct note *note)
{
    struct feed *feed = data;
    struct watcher *watcher = feed->watcher;
    const struct world *world = granted_world(feed->granted);
    watcher->since = note->revision;
    if (!concerns(world, watcher, note))
        return true;
    if (is_gone(world, note))
        feed_deletion(feed, note);
    else if (access_visible(feed->granted, note->ref))
        feed_object(feed, note);
    return true;
}

static int
allow(struct loop *loop, const struct watcher *watcher,
      struct granted *granted_out, struct error *err)
{
    const struct world *world = loop_world(loop);
    int64_t now_ms = loop_context(loop).now_ms;
    struct actor actor;
    struct ref at = watcher->parent;
    if (ref_is_none(at))
        at = world_platform_ref(world);
    const struct object *object = world_object(world, at);
    if (access_authenticate(world, watcher->token, watcher->source, now_ms,
                            &actor, err) != 0)
        return -1;
    if (object == NULL || !id_equal(object->id, watcher->parent_id))
        return access_not_found(err);
    return access_decide(world, &actor, watcher->verb, at, now_ms,
                         granted_out, err);
}

/* Nothing new in the scope: nothing to tell, but rights may end by time. */
static void
feed_watcher(struct loop *loop, struct watcher *watcher, bool ticked)
{
    struct error err;
    struct granted granted;
    if (!watcher->fed || watcher->last ||
        (!ticked && watcher->since >= world_revision(loop_world(loop),
                                                     watcher->scope)) ||
        stream_ended(watcher->stream))
        return;
    if (allow(loop, watcher, &granted, &err) != 0) {
        end_with(watcher, &err);
        return;
    }
    uint64_t now = world_revision(loop_world(loop), watcher->scope);
    if (watcher->since < now) {
        struct feed feed = {.watcher = watcher, .granted = &granted};
        if (loop_notes(loop, watcher->scope, watcher->since, feed_note, &feed,
                       &err) != 0)
            end_with(watcher, &err);
        send_event(&feed, true);
        buffer_release(&feed.event);
        watcher->since = now;
    }
}

/* --- rounds --- */

static void post_round(struct hub *hub);
static void count_watched(struct hub *hub, const struct watcher *watcher,
                          bool more);

static void
run_round(struct loop *loop, struct job *job)
{
    struct hub *hub = job->data;
    (void)pthread_mutex_lock(&hub->lock);
    bool ticked = hub->ticked;
    hub->ticked = false;
    (void)pthread_mutex_unlock(&hub->lock);
    (void)pthread_mutex_lock(&hub->list_lock);
    for (struct watcher *at = hub->list; at != NULL; at = at->next)
        feed_watcher(loop, at, ticked);
    (void)pthread_mutex_unlock(&hub->list_lock);
}

static void
send_pending(struct watcher *watcher)
{
    int64_t now_ms = clock_mono_ms();
    if (watcher->pending.size == 0 && now_ms - watcher->sent_ms > BEAT_MS &&
        watcher->fed)
        buffer_add_text(&watcher->pending, ": still here\n\n");
    if (watcher->pending.size > 0) {
        (void)stream_add(watcher->stream, watcher->pending.bytes,
                         watcher->pending.size);
        buffer_clear(&watcher->pending);
        watcher->sent_ms = now_ms;
    }
    if (watcher->last)
        stream_close(watcher->stream);
}

static void
free_watcher(struct watcher *watcher)
{
    stream_drop(watcher->stream);
    buffer_release(&watcher->pending);
    free(watcher);
}

/* Sends what the round made and takes out the watches that ended. */
static size_t
finish_round(struct hub *hub, bool failed)
{
    size_t gone = 0;
    (void)pthread_mutex_lock(&hub->list_lock);
    for (struct watcher **at = &hub->list; *at != NULL;) {
        struct watcher *watcher = *at;
        if (failed)
            stream_close(watcher->stream);
        else
            send_pending(watcher);
        if (!stream_ended(watcher->stream)) {
            at = &watcher->next;
            continue;
        }
        *at = watcher->next;
        count_watched(hub, watcher, false);
        free_watcher(watcher);
        gone++;
    }
    (void)pthread_mutex_unlock(&hub->list_lock);
    return gone;
}

static void
end_round(struct job *job)
{
    struct hub *hub = job->data;
    size_t gone = finish_round(hub, job->failed);
    arena_free(hub->arena);
    hub->arena = NULL;
    (void)pthread_mutex_lock(&hub->lock);
    hub->count -= gone;
    hub->running = false;
    if (hub->wanted && !hub->ended)
        post_round(hub);
    if (!hub->running)
        (void)pthread_cond_broadcast(&hub->idle);
    (void)pthread_mutex_unlock(&hub->lock);
}

/* With the lock held. */
static void
post_round(struct hub *hub)
{
    struct error ignored;
    hub->wanted = false;
    if (hub->count == 0)
        return;
    hub->arena = arena_new();
    hub->job = (struct job){.run = run_round,
                            .done = end_round,
                            .data = hub,
                            .arena = hub->arena};
    hub->running = true;
    if (loop_post(hub->api->loop, &hub->job, &ignored) == 0)
        return;
    /* The queue is full; the next tick tries again. */
    hub->running = false;
    arena_free(hub->arena);
    hub->arena = NULL;
}

static void
want_round(struct hub *hub)
{
    (void)pthread_mutex_lock(&hub->lock);
    if (hub->running)
        hub->wanted = true;
    else if (!hub->ended)
        post_round(hub);
    (void)pthread_mutex_unlock(&hub->lock);
}

static unsigned *
watched_of(struct hub *hub, struct ref scope)
{
    return &hub->watched[(scope.index * 31 + scope.kind) & (SCOPES - 1)];
}

static void
count_watched(struct hub *hub, const struct watcher *watcher, bool more)
{
    if (!watcher->fed)
        return;
    (void)pthread_mutex_lock(&hub->lock);
    *watched_of(hub, watcher->scope) += more ? 1U : -1U;
    (void)pthread_mutex_unlock(&hub->lock);
}

/* Most of what changes is watched by nobody. */
static void
on_durable(void *data, const struct note *notes, size_t count)
{
    struct hub *hub = data;
    bool watched = false;
    (void)pthread_mutex_lock(&hub->lock);
    for (size_t i = 0; i < count && !watched; i++)
        watched = *watched_of(hub, notes[i].scope) > 0;
    (void)pthread_mutex_unlock(&hub->lock);
    if (watched)
        want_round(hub);
}

static void
on_tick(struct loop *loop, void *data)
{
    struct hub *hub = data;
    (void)loop;
    (void)pthread_mutex_lock(&hub->lock);
    hub->ticked = true;
    (void)pthread_mutex_unlock(&hub->lock);
    want_round(hub);
}

/* --- life --- */

struct hub *
hub_new(struct api *api)
{
    struct hub *hub = memory_new(1, sizeof *hub);
    hub->api = api;
    (void)pthread_mutex_init(&hub->lock, NULL);
    (void)pthread_mutex_init(&hub->list_lock, NULL);
    (void)pthread_cond_init(&hub->idle, NULL);
    loop_on_durable(api->loop, on_durable, hub);
    loop_every(api->loop, TICK_MS, on_tick, hub);
    return hub;
}

void
hub_end(struct hub *hub)
{
    (void)pthread_mutex_lock(&hub->lock);
    hub->ended = true;
    while (hub->running)
        (void)pthread_cond_wait(&hub->idle, &hub->lock);
    (void)pthread_mutex_unlock(&hub->lock);
    (void)pthread_mutex_lock(&hub->list_lock);
    for (struct watcher *at = hub->list; at != NULL; at = at->next)
        stream_close(at->stream);
    (void)pthread_mutex_unlock(&hub->list_lock);
}

void
hub_free(struct hub *hub)
{
    while (hub->list != NULL) {
        struct watcher *next = hub->list->next;
        free_watcher(hub->list);
        hub->list = next;
    }
    (void)pthread_cond_destroy(&hub->idle);
    (void)pthread_mutex_destroy(&hub->list_lock);
    (void)pthread_mutex_destroy(&hub->lock);
    free(hub);
}

static bool
take_room(struct hub *hub)
{
    (void)pthread_mutex_lock(&hub->lock);
    bool room = !hub->ended && hub->count < hub->api->options.streams_max;
    hub->count += room;
    (void)pthread_mutex_unlock(&hub->lock);
    return room;
}

static void
give_room(struct hub *hub)
{
    (void)pthread_mutex_lock(&hub->lock);
    hub->count--;
    (void)pthread_mutex_unlock(&hub->lock);
}

/* Into the list, unless the subject has its share of it already. */
static bool
enlist(struct hub *hub, struct watcher *watcher)
{
    unsigned share = hub->api->options.streams_max / SUBJECT_SHARE;
    unsigned count = 0;
    (void)pthread_mutex_lock(&hub->list_lock);
    for (const struct watcher *at = hub->list; at != NULL; at = at->next)
        count += id_equal(at->owner, watcher->owner);
    bool room = count < (share == 0 ? 1 : share);
    if (room) {
        watcher->next = hub->list;
        hub->list = watcher;
    }
    (void)pthread_mutex_unlock(&hub->list_lock);
    if (room)
        count_watched(hub, watcher, true);
    return room;
}

/* World thread. */
static int
add_watcher(struct hub *hub, struct watcher *watcher,
            struct exchange *exchange, struct error *err)
{
    if (!take_room(hub))
        return error_set(err, ERROR_BUSY,
                         "the server has as many streams as it takes");
    watcher->owner = world_object(loop_world(exchange->api->loop),
                                  exchange->actor.subject)
                         ->id;
    watcher->stream = stream_new(exchange->connection);
    watcher->sent_ms = clock_mono_ms();
    exchange->stream = stream_hold(watcher->stream);
    if (enlist(hub, watcher))
        return 0;
    give_room(hub);
    stream_leave(exchange->stream);
    stream_drop(watcher->stream);
    exchange->stream = NULL;
    return error_set(err, ERROR_RATE,
                     "you have as many streams as one may; end some");
}

int
hub_open(struct hub *hub, struct exchange *exchange, struct error *err)
{
    struct watcher *watcher = memory_new(1, sizeof *watcher);
    if (add_watcher(hub, watcher, exchange, err) == 0)
        return 0;
    free(watcher);
    return -1;
}

size_t
watch_count(struct hub *hub)
{
    (void)pthread_mutex_lock(&hub->lock);
    size_t count = hub->count;
    (void)pthread_mutex_unlock(&hub->lock);
    return count;
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
 * tell them how far it is.  What the ring has lost matters to them only when
 * it was visible. */
static int
read_since(const struct granted *granted, struct exchange *exchange,
           const struct watcher *watcher, uint64_t *since_out,
           struct error *err)
{
    struct loop *loop = exchange->api->loop;
    int64_t now = (int64_t)world_revision(granted_world(granted),
                                          watcher->scope);
    bool blind = watcher->scope.kind != KIND_TENANT &&
                 !granted_is_platform(granted);
    int64_t since;
    if (exchange_int(exchange, "since", 0, blind ? INT64_MAX : now, now,
                     &since, err) != 0)
        return -1;
    *since_out = (uint64_t)(since < now ? since : now);
    if (since >= now || loop_notes(loop, watcher->scope, (uint64_t)since,
                                   take_nothing, NULL, err) == 0)
        return 0;
    if (!blind || objects_revision(granted, loop, watcher->kind,
                                   watcher->parent) > (uint64_t)since)
        return -1;
    *since_out = loop_notes_from(loop, watcher->scope);
    return 0;
}

static struct watcher *
make_watcher(const struct granted *granted, const struct exchange *exchange,
             enum kind kind, struct ref parent)
{
    const struct world *world = granted_world(granted);
    struct watcher *watcher = memory_new(1, sizeof *watcher);
    struct ref at = ref_is_none(parent) ? world_platform_ref(world) : parent;
    memcpy(watcher->token, exchange->token, sizeof watcher->token);
    memcpy(watcher->source, exchange->source, sizeof watcher->source);
    watcher->api = exchange->api;
    watcher->fed = true;
    watcher->verb = exchange->route->verb;
    watcher->kind = kind;
    watcher->parent = parent;
    watcher->parent_id = world_object(world, at)->id;
    watcher->scope = world_scope(world, at);
    return watcher;
}

int
watch_start(const struct granted *granted, struct exchange *exchange,
            enum kind kind, struct ref parent, struct error *err)
{
    if (kind == KIND_TENANT)
        return error_set(err, ERROR_UNSUPPORTED,
                         "tenants have revisions of their own and cannot be "
                         "watched together");
    struct watcher *watcher = make_watcher(granted, exchange, kind, parent);
    if (read_since(granted, exchange, watcher, &watcher->since, err) != 0 ||
        add_watcher(exchange->api->hub, watcher, exchange, err) != 0) {
        free(watcher);
        return -1;
    }
    static const char hello[] = ": watching\n\n";
    (void)stream_add(exchange->stream, hello, sizeof hello - 1);
    answer_text(&exchange->answer, 200, "text/event-stream", "");
    want_round(exchange->api->hub);
    return 0;
}
