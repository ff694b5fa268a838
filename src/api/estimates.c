/* SPDX-License-Identifier: Apache-2.0 */
#include "api/estimates.h"

#include <assert.h>
#include <string.h>

#include "api/state.h"
#include "base/clock.h"
#include "core/lifecycle.h"

#define TICK_MS 1000
/* Somebody who read will read again for so long. */
#define WANTED_MS INT64_C(300000)
/* One turn of a worker. */
#define TURN_US INT64_C(10000)
/* Rests: times what the world thread and the worker did. */
#define REST_COPY 100
#define REST_STEPS 20

/* When a tenant reads is its own affair: it is shown what was begun after it
 * asked first, whether others read before or not. */
struct reader {
    struct id scope; /* slots are used again, ids are not */
    int64_t read_ms; /* last; 0: never */
    uint64_t asked;  /* what was begun when it asked first */
};

struct estimator {
    struct api *api;
    struct loop *loop;
    struct estimates *last;
    struct estimates *next; /* the worker's while busy */
    struct job job;
    bool busy, complete;
    uint64_t begun, shown; /* number of the newest copy, and of `last` */
    int64_t read_ms;       /* by anybody; 0: never */
    int64_t rest_ms;       /* no copy before then */
    int64_t copy_us, steps_us;
    struct reader *readers; /* by slot of the tenant; 0: the platform */
    size_t reader_room;
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
    estimator->shown = estimator->begun;
    estimator->rest_ms =
        loop_mono_ms(estimator->loop) +
        (estimator->copy_us * REST_COPY + estimator->steps_us * REST_STEPS) /
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
begin(struct estimator *estimator)
{
    const struct world *world = loop_world(estimator->loop);
    int64_t start_us = clock_mono_us();
    struct error err;

    if (state_task_begin(estimator->api, &err) != 0)
        return;
    estimate_free(estimator->next); /* of one that was broken off */
    estimator->next = estimate_new(world_clone_to_plan(world),
                                   loop_context(estimator->loop).now_ms,
                                   ESTIMATE_DECISIONS_MAX);
    estimator->copy_us = clock_mono_us() - start_us;
    estimator->steps_us = 0;
    estimator->complete = false;
    estimator->busy = true;
    estimator->begun++;
    estimator->job = (struct job){
        .run = run_turn, .work = take_turn, .done = end_turns, .data = estimator
    };
    if (loop_work(estimator->loop, &estimator->job, &err) != 0)
        end_turns(&estimator->job);
}

static bool
is_wanted(int64_t read_ms, int64_t now_ms)
{
    return read_ms != 0 && now_ms - read_ms <= WANTED_MS;
}

/* Neither a reader nor a change sets it off at once: either may be another
 * tenant's, and as_of would tell of it. */
static void
tick(struct loop *loop, void *data)
{
    struct estimator *estimator = data;
    int64_t now_ms = loop_mono_ms(estimator->loop);

    (void)loop;
    if (is_wanted(estimator->read_ms, now_ms) && now_ms >= estimator->rest_ms &&
        !is_busy(estimator))
        begin(estimator);
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
    free(estimator->readers);
    free(estimator);
}

static struct reader *
reader_of(struct estimator *estimator, struct ref scope)
{
    const struct world *world = loop_world(estimator->loop);
    size_t slot = scope.kind == KIND_TENANT ? scope.index : 0;
    struct reader *reader;

    if (slot >= estimator->reader_room) {
        size_t room = slot * 2 + 16;

        estimator->readers =
            memory_grow(estimator->readers, room, sizeof(*estimator->readers));
        memset(estimator->readers + estimator->reader_room, 0,
               (room - estimator->reader_room) * sizeof(*estimator->readers));
        estimator->reader_room = room;
    }
    reader = &estimator->readers[slot];
    if (slot > 0 && !id_equal(reader->scope, world_object(world, scope)->id))
        *reader = (struct reader){ world_object(world, scope)->id, 0, 0 };
    return reader;
}

const struct estimates *
estimates_read(struct estimator *estimator, struct ref subject)
{
    const struct world *world = loop_world(estimator->loop);
    struct reader *reader = reader_of(estimator, world_scope(world, subject));
    int64_t now_ms = loop_mono_ms(estimator->loop);

    if (!is_wanted(reader->read_ms, now_ms))
        reader->asked = estimator->begun;
    reader->read_ms = estimator->read_ms = now_ms;
    return estimator->shown > reader->asked ? estimator->last : NULL;
}

void
estimates_add(struct estimator *estimator, struct ref subject,
              const struct workload *workload, struct buffer *out)
{
    if (!lifecycle_is_waiting(workload->state))
        return;
    assert(out->size > 0 && out->bytes[out->size - 1] == '}');
    out->size--;
    buffer_add_text(out, ",\"estimate\":");
    estimate_write(estimates_read(estimator, subject), workload, out);
    buffer_add_byte(out, '}');
}
