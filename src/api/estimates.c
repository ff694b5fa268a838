/* SPDX-License-Identifier: Apache-2.0 */
#include "api/estimates.h"

#include <assert.h>

#include "api/state.h"
#include "base/clock.h"
#include "core/lifecycle.h"

#define TICK_MS 1000
/* Somebody who read will read again for so long. */
#define WANTED_MS INT64_C(300000)
/* In a world where nothing happens time passes all the same. */
#define STALE_MS INT64_C(60000)
/* One turn of a worker. */
#define TURN_US INT64_C(10000)
/* Rests: at least, and times what the world thread and the worker did. */
#define REST_MS INT64_C(2000)
#define REST_COPY 100
#define REST_STEPS 20

struct estimator {
    struct api *api;
    struct loop *loop;
    struct estimates *last;
    struct estimates *next; /* the worker's while busy */
    struct job job;
    bool busy, complete;
    uint64_t generation, next_generation; /* of the world that was copied */
    int64_t read_ms;                      /* last; 0: never */
    int64_t made_ms, rest_ms;             /* last copy; not before then */
    int64_t copy_us, steps_us;
};

/* --- a computation --- */

static void
take_turn(struct loop *loop, struct job *job)
{
    struct estimator *estimator = job->data;
    int64_t start_us = clock_mono_us(), now_us;
    struct error err;

    do {
        estimator->complete = !estimate_step(estimator->next);
        now_us = clock_mono_us();
    } while (!estimator->complete && now_us - start_us < TURN_US);
    estimator->steps_us += now_us - start_us;
    if (loop_post(loop, job, &err) != 0)
        loop_finish(loop, job, &err);
}

/* Between two turns, and after the last one. */
static void
run_turn(struct loop *loop, struct job *job)
{
    struct estimator *estimator = job->data;

    (void)loop;
    if (!estimator->complete) {
        job->to_work = true;
        return;
    }
    estimate_free(estimator->last);
    estimator->last = estimator->next;
    estimator->next = NULL;
    estimator->generation = estimator->next_generation;
    estimator->rest_ms = clock_mono_ms() + REST_MS +
                         (estimator->copy_us * REST_COPY +
                          estimator->steps_us * REST_STEPS) /
                             1000;
}

/* On any thread of the loop; the estimator looks at it in its next tick. */
static void
end_turns(struct job *job)
{
    struct estimator *estimator = job->data;
    struct api *api = estimator->api;

    (void)pthread_mutex_lock(&api->lock);
    estimator->busy = false;
    (void)pthread_mutex_unlock(&api->lock);
    state_task_end(api);
}

static bool
is_busy(struct estimator *estimator)
{
    bool busy;

    (void)pthread_mutex_lock(&estimator->api->lock);
    busy = estimator->busy;
    (void)pthread_mutex_unlock(&estimator->api->lock);
    return busy;
}

static void
begin(struct estimator *estimator, int64_t now_ms)
{
    const struct world *world = loop_world(estimator->loop);
    int64_t start_us = clock_mono_us();
    struct error err;

    if (state_task_begin(estimator->api, &err) != 0)
        return;
    estimate_free(estimator->next); /* of one that was broken off */
    estimator->next = estimate_new(world_clone(world),
                                   loop_context(estimator->loop).now_ms,
                                   ESTIMATE_DECISIONS_MAX);
    estimator->copy_us = clock_mono_us() - start_us;
    estimator->steps_us = 0;
    estimator->complete = false;
    estimator->busy = true;
    estimator->next_generation = world_generation(world);
    estimator->made_ms = now_ms;
    estimator->job = (struct job){ .run = run_turn,
                                   .work = take_turn,
                                   .done = end_turns,
                                   .data = estimator };
    if (loop_work(estimator->loop, &estimator->job, &err) != 0)
        end_turns(&estimator->job);
}

static void
tick(struct loop *loop, void *data)
{
    struct estimator *estimator = data;
    int64_t now_ms = clock_mono_ms();

    if (estimator->read_ms == 0 || now_ms - estimator->read_ms > WANTED_MS ||
        now_ms < estimator->rest_ms || is_busy(estimator))
        return;
    if (estimator->last != NULL && now_ms - estimator->made_ms < STALE_MS &&
        estimator->generation == world_generation(loop_world(loop)))
        return;
    begin(estimator, now_ms);
}

/* --- readers --- */

struct estimator *
estimates_new(struct api *api)
{
    struct estimator *estimator = memory_new(1, sizeof(*estimator));

    estimator->api = api;
    estimator->loop = api->loop;
    loop_every(api->loop, TICK_MS, tick, estimator);
    return estimator;
}

void
estimates_free(struct estimator *estimator)
{
    if (estimator == NULL)
        return;
    assert(!estimator->busy);
    estimate_free(estimator->last);
    estimate_free(estimator->next);
    free(estimator);
}

const struct estimates *
estimates_read(struct estimator *estimator)
{
    int64_t now_ms = clock_mono_ms();

    if (estimator->read_ms == 0 || now_ms - estimator->read_ms > TICK_MS)
        loop_hurry(estimator->loop, tick);
    estimator->read_ms = now_ms;
    return estimator->last;
}

void
estimates_add(struct estimator *estimator, const struct workload *workload,
              struct buffer *out)
{
    if (!lifecycle_is_waiting(workload->state))
        return;
    assert(out->size > 0 && out->bytes[out->size - 1] == '}');
    out->size--;
    buffer_add_text(out, ",\"estimate\":");
    estimate_write(estimates_read(estimator), workload, out);
    buffer_add_byte(out, '}');
}
