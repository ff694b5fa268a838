/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_TWOWORLDS_INJECT_H
#define TESTS_TWOWORLDS_INJECT_H

#include <semaphore.h>
#include <sodium.h>

#include "api/estimates.h"
#include "api/hub.h"
#include "api/state.h"
#include "api/stream.h"
#include "base/clock.h"
#include "base/id.h"
#include "control/journal.h"
#include "core/change.h"
#include "core/record.h"
#include "tests/unit/control/harness.h"

/*
 * What a world takes from outside: randomness, ids, clocks and turns.  The
 * linker puts these functions in the place of the platform's own (--wrap), so
 * that two worlds which are asked the same draw the same: the bytes follow
 * from the number of the turn, whose object or record is made, and the number
 * of the draw for that tenant, never from how much was drawn before or for
 * others.  What a tenant does moves no other's.
 *
 * Ticks run when the test says so (inject_run_ticks), not by a timer, and
 * what they hand to workers is done at once.  A watch says what it has to say
 * at the time, and ends.
 */

#define INJECT_OWNERS 16

static _Atomic uint64_t inject_turn;
static pthread_mutex_t inject_lock = PTHREAD_MUTEX_INITIALIZER;
static struct inject_owner {
    uint64_t key, draws;
} inject_owners[INJECT_OWNERS];
static size_t inject_owner_count;
static _Thread_local uint64_t inject_owner; /* 0: nobody in particular */
static sem_t inject_finished; /* a request without a socket has ended */

static inline void
inject_begin(uint64_t turn)
{
    inject_turn = turn;
    inject_owner_count = 0;
}

static inline uint64_t
inject_count(void)
{
    uint64_t draw;
    size_t i = 0;

    (void)pthread_mutex_lock(&inject_lock);
    while (i < inject_owner_count && inject_owners[i].key != inject_owner)
        i++;
    assert_true(i < INJECT_OWNERS);
    if (i == inject_owner_count)
        inject_owners[inject_owner_count++] =
            (struct inject_owner){ inject_owner, 0 };
    draw = ++inject_owners[i].draws;
    (void)pthread_mutex_unlock(&inject_lock);
    return draw;
}

static inline uint64_t
inject_mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static inline uint64_t
inject_next(void)
{
    uint64_t draw = inject_count();

    return inject_mix(inject_mix(inject_turn + UINT64_C(0x9E3779B97F4A7C15)) +
                      inject_owner + draw * UINT64_C(0xD1B54A32D192ED03));
}

void __wrap_random_bytes(void *bytes, size_t size);
struct id __wrap_id_next(struct id_source *source);
void *__real_change_create(struct changes *changes, enum kind kind,
                           struct ref parent, const char *name);
void *__wrap_change_create(struct changes *changes, enum kind kind,
                           struct ref parent, const char *name);
void __real_journal_append(struct loop *loop, struct arena *arena,
                           struct ref scope, struct record *record,
                           char id_out[ID_TEXT_MAX]);
void __wrap_journal_append(struct loop *loop, struct arena *arena,
                           struct ref scope, struct record *record,
                           char id_out[ID_TEXT_MAX]);
int64_t __wrap_clock_mono_ms(void);
int64_t __wrap_clock_wall_ms(void);
void __wrap_loop_every(struct loop *loop, int64_t period_ms,
                       void (*tick)(struct loop *loop, void *data),
                       void *data);
void __wrap_loop_after_change(struct loop *loop,
                              void (*tick)(struct loop *loop, void *data));
void __wrap_loop_hurry(struct loop *loop,
                       void (*tick)(struct loop *loop, void *data));
int64_t __wrap_clock_mono_us(void);
int __real_loop_work(struct loop *loop, struct job *job, struct error *err);
int __wrap_loop_work(struct loop *loop, struct job *job, struct error *err);
struct estimator *__real_estimates_new(struct api *api);
struct estimator *__wrap_estimates_new(struct api *api);
int __real_hub_add(struct hub *hub, struct watcher *watcher,
                   struct exchange *exchange, struct error *err);
int __wrap_hub_add(struct hub *hub, struct watcher *watcher,
                   struct exchange *exchange, struct error *err);
void __real_hub_wake(struct hub *hub, const struct watcher *watcher);
void __wrap_hub_wake(struct hub *hub, const struct watcher *watcher);
bool __real_stream_add(struct stream *stream, const void *bytes, size_t size);
bool __wrap_stream_add(struct stream *stream, const void *bytes, size_t size);
void __real_exchange_finish(struct exchange *exchange);
void __wrap_exchange_finish(struct exchange *exchange);

void
__wrap_random_bytes(void *bytes, size_t size)
{
    unsigned char *at = bytes;

    while (size > 0) {
        uint64_t drawn = inject_next();
        size_t part = size < sizeof(drawn) ? size : sizeof(drawn);

        memcpy(at, &drawn, part);
        at += part;
        size -= part;
    }
}

/* The salts of passwords are drawn inside libsodium. */
static inline const char *
inject_name(void)
{
    return "inject";
}

static inline uint32_t
inject_random(void)
{
    return (uint32_t)inject_next();
}

static inline void
inject_bytes(void *const bytes, const size_t size)
{
    __wrap_random_bytes(bytes, size);
}

static randombytes_implementation inject_sodium = {
    .implementation_name = inject_name,
    .random = inject_random,
    .buf = inject_bytes,
};

struct id
__wrap_id_next(struct id_source *source)
{
    (void)source;
    return (struct id){ inject_next(), inject_next() | 1 };
}

/* --- whose --- */

static inline uint64_t
inject_key(const struct object *scope)
{
    return scope == NULL || scope->self.kind != KIND_TENANT ? 0
                                                            : scope->id.hi | 1;
}

void *
__wrap_change_create(struct changes *changes, enum kind kind,
                     struct ref parent, const char *name)
{
    const uint64_t kept = inject_owner;
    const struct object *above =
        ref_is_none(parent) ? NULL : change_get(changes, parent);
    void *made;

    if (above != NULL)
        inject_owner = inject_key(above->self.kind == KIND_TENANT
                                      ? above
                                      : change_get(changes, above->scope));
    made = __real_change_create(changes, kind, parent, name);
    inject_owner = kept;
    return made;
}

void
__wrap_journal_append(struct loop *loop, struct arena *arena,
                      struct ref scope, struct record *record,
                      char id_out[ID_TEXT_MAX])
{
    const uint64_t kept = inject_owner;

    inject_owner = inject_key(world_object(loop_world(loop), scope));
    __real_journal_append(loop, arena, scope, record, id_out);
    inject_owner = kept;
}

/* --- clocks --- */

int64_t
__wrap_clock_mono_ms(void)
{
    return harness_mono_ms();
}

int64_t
__wrap_clock_wall_ms(void)
{
    return harness_wall_ms();
}

/* Nothing takes time: what is rested from is no part of the question. */
int64_t
__wrap_clock_mono_us(void)
{
    return harness_mono_ms() * 1000;
}

/* --- ticks --- */

#define INJECT_TICKS 32
#define INJECT_ESTIMATES_MS 10000

struct inject_tick {
    struct loop *loop;
    int64_t period_ms, due_ms;
    bool after_change;
    void (*tick)(struct loop *loop, void *data);
    void *data;
};

static struct inject_tick inject_ticks[INJECT_TICKS];
static size_t inject_tick_count;
static bool inject_takes; /* else ticks are left out */

void
__wrap_loop_every(struct loop *loop, int64_t period_ms,
                  void (*tick)(struct loop *loop, void *data), void *data)
{
    if (!inject_takes)
        return;
    assert_true(inject_tick_count < INJECT_TICKS);
    inject_ticks[inject_tick_count++] = (struct inject_tick){
        loop, period_ms, harness_mono_ms() + period_ms, false, tick, data
    };
}

static inline struct inject_tick *
inject_find(const struct loop *loop,
            void (*tick)(struct loop *loop, void *data))
{
    for (size_t i = 0; i < inject_tick_count; i++)
        if (inject_ticks[i].loop == loop && inject_ticks[i].tick == tick)
            return &inject_ticks[i];
    return NULL;
}

void
__wrap_loop_after_change(struct loop *loop,
                         void (*tick)(struct loop *loop, void *data))
{
    struct inject_tick *known = inject_find(loop, tick);

    if (known != NULL)
        known->after_change = true;
}

void
__wrap_loop_hurry(struct loop *loop,
                  void (*tick)(struct loop *loop, void *data))
{
    struct inject_tick *known = inject_find(loop, tick);

    if (known != NULL)
        known->due_ms = 0;
}

/* Start estimates are made by a tick, too; each costs more than all the rest
 * of a step, so there are fewer. */
struct estimator *
__wrap_estimates_new(struct api *api)
{
    struct estimator *made;

    inject_takes = true;
    made = __real_estimates_new(api);
    inject_takes = false;
    inject_ticks[inject_tick_count - 1].period_ms = INJECT_ESTIMATES_MS;
    return made;
}

static bool inject_ticking;

int
__wrap_loop_work(struct loop *loop, struct job *job, struct error *err)
{
    if (!inject_ticking)
        return __real_loop_work(loop, job, err);
    job->work(loop, job);
    return 0;
}

/* On the world thread: what is due, and each behind a change. */
static inline void
inject_run_ticks(struct loop *loop, struct arena *arena, void *data)
{
    (void)arena;
    (void)data;
    inject_ticking = true;
    for (size_t i = 0; i < inject_tick_count; i++) {
        struct inject_tick *at = &inject_ticks[i];

        if (at->loop != loop ||
            (!at->after_change && at->due_ms > harness_mono_ms()))
            continue;
        do {
            at->due_ms = harness_mono_ms() + at->period_ms;
            at->tick(loop, at->data);
        } while (at->due_ms == 0);
    }
    inject_ticking = false;
}

static inline void
inject_start(void)
{
    assert_int_equal(randombytes_set_implementation(&inject_sodium), 0);
    assert_int_equal(sodium_init(), 0); /* it draws for itself */
    assert_int_equal(sem_init(&inject_finished, 0, 0), 0);
}

static inline void
inject_forget(void)
{
    inject_tick_count = 0;
}

/* --- requests without a socket --- */

void
__wrap_exchange_finish(struct exchange *exchange)
{
    if (exchange->connection != NULL)
        __real_exchange_finish(exchange);
    else
        (void)sem_post(&inject_finished);
}

/* --- watches without a socket --- */

static struct buffer inject_watched; /* what the watch said */
static struct watcher *inject_watcher; /* it is looked at behind hub_add */

int
__wrap_hub_add(struct hub *hub, struct watcher *watcher,
               struct exchange *exchange, struct error *err)
{
    if (exchange->connection != NULL)
        return __real_hub_add(hub, watcher, exchange, err);
    if (inject_watcher != NULL)
        buffer_release(&inject_watcher->pending);
    free(inject_watcher);
    inject_watcher = watcher;
    if (watcher->feed != NULL)
        watcher->feed(watcher, exchange->api->loop, true);
    buffer_add(&inject_watched, watcher->pending.bytes,
               watcher->pending.size);
    return 0;
}

void
__wrap_hub_wake(struct hub *hub, const struct watcher *watcher)
{
    if (watcher != inject_watcher)
        __real_hub_wake(hub, watcher);
}

bool
__wrap_stream_add(struct stream *stream, const void *bytes, size_t size)
{
    return stream == NULL || __real_stream_add(stream, bytes, size);
}

#endif
