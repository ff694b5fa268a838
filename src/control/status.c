/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "control/loop_private.h"

/* Timers, hooks, clock and health of the loop; see loop.h. */

void
loop_every(struct loop *loop, int64_t period_ms,
           void (*tick)(struct loop *loop, void *data), void *data)
{
    struct loop_timer *timer = &loop->timers[loop->timer_count];

    assert(loop->timer_count < LOOP_TIMERS && !loop->threaded);
    *timer = (struct loop_timer){ tick, data, period_ms,
                                  loop_mono_ms(loop) + period_ms, false };
    loop->timer_count++;
}

void
loop_hurry(struct loop *loop, void (*tick)(struct loop *loop, void *data))
{
    for (size_t i = 0; i < loop->timer_count; i++)
        if (loop->timers[i].tick == tick)
            loop->timers[i].due_ms = loop_mono_ms(loop);
}

void
loop_after_change(struct loop *loop,
                  void (*tick)(struct loop *loop, void *data))
{
    for (size_t i = 0; i < loop->timer_count; i++)
        if (loop->timers[i].tick == tick)
            loop->timers[i].after_change = true;
}

void
loop_on_durable(struct loop *loop,
                void (*hook)(void *data, const struct note *notes,
                             size_t count),
                void *data)
{
    assert(loop->hook_count < LOOP_HOOKS && !loop->threaded);
    loop->hooks[loop->hook_count++] = (struct loop_hook){ hook, data };
}

int64_t
loop_now(const struct loop *loop)
{
    return atomic_load(&loop->now_ms);
}

int64_t
loop_clock_held(const struct loop *loop)
{
    return atomic_load(&loop->held_ms);
}

bool
loop_clock_jumped(struct loop *loop)
{
    bool jumped = loop->jumped;

    loop->jumped = false;
    return jumped;
}

void
loop_clock_confirm(struct loop *loop)
{
    wallclock_confirm(&loop->clock, loop_wall_ms(loop));
    atomic_store(&loop->now_ms, loop->clock.now_ms);
    atomic_store(&loop->held_ms, 0);
}

/* The lock is not part of what const promises. */
static struct loop *
unlocked(const struct loop *loop)
{
    union {
        const struct loop *in;
        struct loop *out;
    } both = { loop };

    return both.out;
}

void
loop_set_reason(struct loop *loop, const char *part, const char *reason)
{
    struct loop_reason *place = NULL;

    (void)pthread_mutex_lock(&loop->lock);
    for (size_t i = 0; i < LOOP_REASONS; i++)
        if (strcmp(loop->reasons[i].part, part) == 0)
            place = &loop->reasons[i];
    for (size_t i = 0; place == NULL && i < LOOP_REASONS; i++)
        if (loop->reasons[i].part[0] == '\0')
            place = &loop->reasons[i];
    assert(place != NULL);
    (void)snprintf(place->part, sizeof(place->part), "%s", part);
    (void)snprintf(place->text, sizeof(place->text), "%s",
                   reason != NULL ? reason : "");
    (void)pthread_mutex_unlock(&loop->lock);
}

uint64_t
loop_set_full(struct loop *loop, const char *reason)
{
    uint64_t refused;

    (void)pthread_mutex_lock(&loop->lock);
    refused = loop->full_refused;
    loop->full_refused = 0;
    (void)snprintf(loop->full, sizeof(loop->full), "%s",
                   reason != NULL ? reason : "");
    (void)pthread_mutex_unlock(&loop->lock);
    loop_set_reason(loop, "space", reason);
    return refused;
}

bool
loop_is_full(struct loop *loop, char reason[LOOP_REASON_MAX])
{
    bool full;

    (void)pthread_mutex_lock(&loop->lock);
    full = loop->full[0] != '\0';
    if (full) {
        loop->full_refused++;
        memcpy(reason, loop->full, LOOP_REASON_MAX);
    }
    (void)pthread_mutex_unlock(&loop->lock);
    return full;
}

bool
loop_ready(const struct loop *loop, char reason[LOOP_REASON_MAX])
{
    struct loop *self = unlocked(loop);

    reason[0] = '\0';
    (void)pthread_mutex_lock(&self->lock);
    if (loop->failed)
        (void)snprintf(reason, LOOP_REASON_MAX, "a commit failed");
    else if (loop->stopping || !loop->threaded)
        (void)snprintf(reason, LOOP_REASON_MAX, "%s",
                       loop->stopping ? "stopping" : "starting");
    for (size_t i = 0; reason[0] == '\0' && i < LOOP_REASONS; i++)
        (void)snprintf(reason, LOOP_REASON_MAX, "%s", loop->reasons[i].text);
    (void)pthread_mutex_unlock(&self->lock);
    if (reason[0] == '\0' && loop_clock_held(loop) > 0)
        (void)snprintf(reason, LOOP_REASON_MAX,
                       "the clock jumped ahead by %lld ms and waits for "
                       "confirmation",
                       (long long)loop_clock_held(loop));
    return reason[0] == '\0';
}

bool
loop_failed(const struct loop *loop)
{
    struct loop *self = unlocked(loop);
    bool failed;

    (void)pthread_mutex_lock(&self->lock);
    failed = loop->failed;
    (void)pthread_mutex_unlock(&self->lock);
    return failed;
}

void
loop_stats(const struct loop *loop, struct loop_stats *out)
{
    struct loop *self = unlocked(loop);
    struct commit_stats commits = { 0 };

    if (loop->committer != NULL)
        committer_stats(loop->committer, &commits);
    (void)pthread_mutex_lock(&self->lock);
    *out = (struct loop_stats){
        .jobs = loop->jobs,
        .commits = commits.commits,
        .rows = commits.rows,
        .busy = loop->busy,
        .queued = loop->queued,
        .commit_us_last = commits.us_last,
        .commit_us_max = commits.us_max,
        .run_us_max = loop->run_us_max,
    };
    (void)pthread_mutex_unlock(&self->lock);
}
