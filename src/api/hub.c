/* SPDX-License-Identifier: Apache-2.0 */
#include "api/hub.h"

#include <pthread.h>
#include <string.h>

#include "api/state.h"
#include "api/stream.h"
#include "base/clock.h"

#define TICK_MS 5000
#define BEAT_MS 15000
#define SWEEP_MS 100 /* least time between two looks at all */
#define CHAINS 1024 /* of watchers by their scope; a power of two */
/* Of the streams, those of one subject. */
#define SUBJECT_SHARE 8

enum mark { MARK_NONE, MARK_NEWS, MARK_AGAIN };

struct hub {
    struct api *api;
    struct job job; /* one slice at a time */
    struct arena *arena;

    pthread_mutex_t lock; /* for what follows */
    pthread_cond_t idle;
    bool running; /* a slice is posted and not done */
    bool ended;
    size_t count;
    unsigned held[CHAINS];
    uint8_t marks[CHAINS]; /* enum mark: of those that are due */
    size_t marked;

    pthread_mutex_t list_lock; /* for the chains and what follows */
    struct watcher *chains[CHAINS];
    unsigned owners[CHAINS]; /* streams by a hash of their subject */
    struct watcher *at;      /* the next one of the chain that is due */
    size_t chain;            /* that chain, or the last one that was */
    bool again;              /* its mark */
    int64_t swept_ms;

    struct watcher *slice[HUB_SLICE_MAX]; /* the running slice's own */
    size_t slice_count;
};

/* --- chains; with the list lock --- */

static size_t
chain_of(struct ref scope)
{
    return (scope.index * 31 + scope.kind) & (CHAINS - 1);
}

static unsigned *
owners_of(struct hub *hub, struct id owner)
{
    return &hub->owners[owner.lo & (CHAINS - 1)];
}

static void
count(struct hub *hub, const struct watcher *watcher, int more)
{
    *owners_of(hub, watcher->owner) += (unsigned)more;
    (void)pthread_mutex_lock(&hub->lock);
    hub->held[chain_of(watcher->scope)] += (unsigned)more;
    hub->count += (size_t)more;
    (void)pthread_mutex_unlock(&hub->lock);
}

static void
chain(struct hub *hub, struct watcher *watcher)
{
    struct watcher **first = &hub->chains[chain_of(watcher->scope)];
    watcher->next = *first;
    watcher->link = first;
    if (watcher->next != NULL)
        watcher->next->link = &watcher->next;
    *first = watcher;
    count(hub, watcher, 1);
}

static void
free_watcher(struct watcher *watcher)
{
    stream_drop(watcher->stream);
    buffer_release(&watcher->pending);
    free(watcher);
}

static void
drop(struct hub *hub, struct watcher *watcher)
{
    if (hub->at == watcher)
        hub->at = watcher->next;
    *watcher->link = watcher->next;
    if (watcher->next != NULL)
        watcher->next->link = watcher->link;
    count(hub, watcher, -1);
    free_watcher(watcher);
}

/* --- a slice on the world thread --- */

/* The next chain that is due, in turn; false when none is. */
static bool
next_chain(struct hub *hub)
{
    enum mark mark = MARK_NONE;
    (void)pthread_mutex_lock(&hub->lock);
    if (hub->marked > 0) {
        do
            hub->chain = (hub->chain + 1) & (CHAINS - 1);
        while (hub->marks[hub->chain] == MARK_NONE);
        mark = hub->marks[hub->chain];
        hub->marks[hub->chain] = MARK_NONE;
        hub->marked--;
    }
    (void)pthread_mutex_unlock(&hub->lock);
    hub->again = mark == MARK_AGAIN;
    return mark != MARK_NONE;
}

static struct watcher *
next_watcher(struct hub *hub)
{
    while (hub->at == NULL) {
        if (!next_chain(hub))
            return NULL;
        hub->at = hub->chains[hub->chain];
    }
    struct watcher *watcher = hub->at;
    hub->at = watcher->next;
    return watcher;
}

static void
visit(struct hub *hub, struct loop *loop, struct watcher *watcher,
      int64_t now_ms)
{
    bool ended = hub->again ? stream_left(watcher->stream)
                            : stream_ended(watcher->stream);
    if (!ended && watcher->feed != NULL && !watcher->last) {
        watcher->feed(watcher, loop, hub->again);
        if (watcher->pending.size == 0 && now_ms - watcher->sent_ms > BEAT_MS)
            buffer_add_text(&watcher->pending, ": still here\n\n");
    }
    if (watcher->taken ||
        (!ended && !watcher->last && watcher->pending.size == 0))
        return;
    watcher->taken = true;
    hub->slice[hub->slice_count++] = watcher;
}

static void
run_slice(struct loop *loop, struct job *job)
{
    struct hub *hub = job->data;
    int64_t begin_us = clock_mono_us(), now_us = begin_us;
    struct watcher *watcher;
    (void)pthread_mutex_lock(&hub->list_lock);
    while (hub->slice_count < HUB_SLICE_MAX &&
           now_us - begin_us < HUB_SLICE_US &&
           (watcher = next_watcher(hub)) != NULL) {
        visit(hub, loop, watcher, now_us / 1000);
        now_us = clock_mono_us();
    }
    (void)pthread_mutex_unlock(&hub->list_lock);
}

/* --- its end on the committer thread --- */

static void
send_pending(struct watcher *watcher)
{
    if (watcher->pending.size > 0) {
        (void)stream_add(watcher->stream, watcher->pending.bytes,
                         watcher->pending.size);
        buffer_clear(&watcher->pending);
        watcher->sent_ms = clock_mono_ms();
    }
    if (watcher->last)
        stream_close(watcher->stream);
}

/* True when more is due. */
static bool
finish_slice(struct hub *hub, bool failed)
{
    for (size_t i = 0; i < hub->slice_count; i++)
        if (failed)
            stream_close(hub->slice[i]->stream);
        else
            send_pending(hub->slice[i]);
    (void)pthread_mutex_lock(&hub->list_lock);
    for (size_t i = 0; i < hub->slice_count; i++) {
        hub->slice[i]->taken = false;
        if (stream_ended(hub->slice[i]->stream))
            drop(hub, hub->slice[i]);
    }
    hub->slice_count = 0;
    bool more = hub->at != NULL;
    (void)pthread_mutex_unlock(&hub->list_lock);
    return more;
}

static void post_slice(struct hub *hub);

static void
end_slice(struct job *job)
{
    struct hub *hub = job->data;
    bool more = finish_slice(hub, job->failed);
    arena_free(hub->arena);
    hub->arena = NULL;
    (void)pthread_mutex_lock(&hub->lock);
    hub->running = false;
    if (more || hub->marked > 0)
        post_slice(hub);
    if (!hub->running)
        (void)pthread_cond_broadcast(&hub->idle);
    (void)pthread_mutex_unlock(&hub->lock);
}

/* With the lock held. */
static void
post_slice(struct hub *hub)
{
    struct error ignored;
    if (hub->running || hub->ended || hub->count == 0)
        return;
    hub->arena = arena_new();
    hub->job = (struct job){.run = run_slice,
                            .done = end_slice,
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

/* --- what makes watchers due --- */

/* With the lock held. */
static void
mark(struct hub *hub, size_t chain, enum mark mark)
{
    if (hub->held[chain] == 0)
        return;
    hub->marked += hub->marks[chain] == MARK_NONE;
    if (hub->marks[chain] < mark)
        hub->marks[chain] = (uint8_t)mark;
}

/* Most of what changes is watched by nobody. */
static void
on_durable(void *data, const struct note *notes, size_t count)
{
    struct hub *hub = data;
    (void)pthread_mutex_lock(&hub->lock);
    for (size_t i = 0; i < count; i++)
        mark(hub, chain_of(notes[i].scope), MARK_NEWS);
    if (hub->marked > 0)
        post_slice(hub);
    (void)pthread_mutex_unlock(&hub->lock);
}

static void
on_tick(struct loop *loop, void *data)
{
    struct hub *hub = data;
    (void)loop;
    (void)pthread_mutex_lock(&hub->lock);
    for (size_t i = 0; i < CHAINS; i++)
        mark(hub, i, MARK_AGAIN);
    post_slice(hub);
    (void)pthread_mutex_unlock(&hub->lock);
}

void
hub_wake(struct hub *hub, const struct watcher *watcher)
{
    (void)pthread_mutex_lock(&hub->lock);
    mark(hub, chain_of(watcher->scope), MARK_NEWS);
    post_slice(hub);
    (void)pthread_mutex_unlock(&hub->lock);
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
    for (size_t i = 0; i < CHAINS; i++)
        for (struct watcher *at = hub->chains[i]; at != NULL; at = at->next)
            stream_close(at->stream);
    (void)pthread_mutex_unlock(&hub->list_lock);
}

void
hub_free(struct hub *hub)
{
    for (size_t i = 0; i < CHAINS; i++)
        while (hub->chains[i] != NULL) {
            struct watcher *next = hub->chains[i]->next;
            free_watcher(hub->chains[i]);
            hub->chains[i] = next;
        }
    (void)pthread_cond_destroy(&hub->idle);
    (void)pthread_mutex_destroy(&hub->list_lock);
    (void)pthread_mutex_destroy(&hub->lock);
    free(hub);
}

size_t
hub_count(struct hub *hub)
{
    (void)pthread_mutex_lock(&hub->lock);
    size_t count = hub->count;
    (void)pthread_mutex_unlock(&hub->lock);
    return count;
}

/* --- adding; with the list lock --- */

/* Streams that ended and were not visited since hold no room: those of the
 * owner, or all (NULL).  Whoever asks again and again while all is full does
 * not make the world thread look at all again and again. */
static void
sweep(struct hub *hub, const struct id *owner)
{
    int64_t now_ms = clock_mono_ms();
    if (owner == NULL && now_ms - hub->swept_ms < SWEEP_MS)
        return;
    if (owner == NULL)
        hub->swept_ms = now_ms;
    for (size_t i = 0; i < CHAINS; i++)
        for (struct watcher *at = hub->chains[i], *next; at != NULL;
             at = next) {
            next = at->next;
            if ((owner == NULL || id_equal(at->owner, *owner)) &&
                stream_left(at->stream) && !at->taken)
                drop(hub, at);
        }
}

/* Without those that have ended and only wait for the running slice. */
static unsigned
count_owned(const struct hub *hub, struct id owner)
{
    unsigned count = 0;
    for (size_t i = 0; i < CHAINS; i++)
        for (const struct watcher *at = hub->chains[i]; at != NULL;
             at = at->next)
            count += id_equal(at->owner, owner) && !stream_ended(at->stream);
    return count;
}

static int
check_room(struct hub *hub, struct id owner, struct error *err)
{
    unsigned max = hub->api->options.streams_max;
    unsigned share = max / SUBJECT_SHARE == 0 ? 1 : max / SUBJECT_SHARE;
    if (*owners_of(hub, owner) >= share)
        sweep(hub, &owner);
    if (hub_count(hub) >= max)
        sweep(hub, NULL);
    (void)pthread_mutex_lock(&hub->lock);
    bool full = hub->ended || hub->count >= max;
    (void)pthread_mutex_unlock(&hub->lock);
    if (full)
        return error_set(err, ERROR_BUSY,
                         "the server has as many streams as it takes");
    if (*owners_of(hub, owner) >= share && count_owned(hub, owner) >= share)
        return error_set(err, ERROR_RATE,
                         "you have as many streams as one may; end some");
    return 0;
}

int
hub_add(struct hub *hub, struct watcher *watcher, struct exchange *exchange,
        struct error *err)
{
    watcher->owner = world_object(loop_world(exchange->api->loop),
                                  exchange->actor.subject)
                         ->id;
    (void)pthread_mutex_lock(&hub->list_lock);
    int result = check_room(hub, watcher->owner, err);
    if (result == 0) {
        watcher->stream = stream_new(exchange->connection);
        watcher->sent_ms = clock_mono_ms();
        exchange->stream = stream_hold(watcher->stream);
        chain(hub, watcher);
    }
    (void)pthread_mutex_unlock(&hub->list_lock);
    return result;
}

int
hub_open(struct hub *hub, struct exchange *exchange, struct error *err)
{
    struct watcher *watcher = memory_new(1, sizeof *watcher);
    if (hub_add(hub, watcher, exchange, err) == 0)
        return 0;
    free(watcher);
    return -1;
}
