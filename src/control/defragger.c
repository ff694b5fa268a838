/* SPDX-License-Identifier: Apache-2.0 */
#include "control/defragger.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "control/execute.h"
#include "core/advice.h"
#include "core/alarm.h"
#include "core/defrag.h"

#define TICK_MS 60000
#define PAUSE_MS INT64_C(600000)
#define ALARM "pool.fragmented"

struct defragger {
    struct loop *loop;
    struct job job;
    atomic_bool busy;
    struct ref pool; /* of the plan that is made; then the last one */
    struct defrag *defrag; /* the worker's while busy */
    json_t *plan;
    int64_t *pauses; /* by index of the pool: no plan before then, monotonic */
    size_t pause_count;
};

static void
pause_pool(struct defragger *defragger)
{
    size_t old = defragger->pause_count, at = defragger->pool.index;

    if (at >= old) {
        defragger->pause_count = at + 1;
        defragger->pauses = memory_grow(defragger->pauses, at + 1,
                                        sizeof(*defragger->pauses));
        memset(defragger->pauses + old, 0,
               (at + 1 - old) * sizeof(*defragger->pauses));
    }
    defragger->pauses[at] = clock_mono_ms() + PAUSE_MS;
}

static bool
is_paused(const struct defragger *defragger, struct ref pool)
{
    return pool.index < defragger->pause_count &&
           clock_mono_ms() < defragger->pauses[pool.index];
}

/* --- the alarm --- */

struct telling {
    struct ref pool;
    struct advice_room room;
    bool fragmented;
};

static int
tell(struct changes *changes, void *data, struct error *err)
{
    const struct telling *telling = data;

    (void)err;
    if (!telling->fragmented)
        alarm_clear(changes, telling->pool, ALARM);
    else
        alarm_raise(changes, telling->pool, ALARM,
                    "%" PRId64 " cards are free, at most %" PRId64
                    " of them on one node; the largest class needs %" PRId64
                    ": `bulkhead advise defragment %s` plans moves",
                    telling->room.free, telling->room.largest,
                    telling->room.wanted,
                    world_pool(changes->world, telling->pool)->object.name);
    return 0;
}

static bool
look_at(struct loop *loop, struct ref pool)
{
    const struct world *world = loop_world(loop);
    scoped_arena arena = arena_new();
    struct telling telling = { .pool = pool };
    struct deed deed = { .verb = "pool.watch",
                         .object = pool,
                         .component = "defragmenter",
                         .decide = tell,
                         .data = &telling };
    struct error err;

    telling.fragmented =
        world_pool(world, pool)->defrag != DEFRAG_NEVER &&
        advice_fragmented(world, pool, &telling.room);
    (void)execute_deed(loop, arena, &deed, &err);
    return telling.fragmented;
}

/* --- a plan --- */

static int
carry_out(struct changes *changes, void *data, struct error *err)
{
    struct defragger *defragger = data;

    (void)err;
    if (!defrag_by_policy(changes, defragger->pool, defragger->plan))
        pause_pool(defragger);
    return 0;
}

static void
run_plan(struct loop *loop, struct job *job)
{
    struct defragger *defragger = job->data;
    scoped_arena arena = arena_new();
    struct deed deed = { .verb = "pool.defragment",
                         .object = defragger->pool,
                         .component = "defragmenter",
                         .reason = "the pool's policy is auto",
                         .decide = carry_out,
                         .data = defragger };
    struct error err;

    (void)execute_deed(loop, arena, &deed, &err);
}

static void
make_plan(struct loop *loop, struct job *job)
{
    struct defragger *defragger = job->data;
    struct error err;

    defragger->plan = defrag_answer(defragger->defrag);
    if (loop_post(loop, job, &err) != 0)
        loop_finish(loop, job, &err);
}

static void
end_plan(struct job *job)
{
    struct defragger *defragger = job->data;

    defrag_free(defragger->defrag);
    json_decref(defragger->plan);
    defragger->defrag = NULL;
    defragger->plan = NULL;
    atomic_store(&defragger->busy, false);
}

static void
begin(struct loop *loop, struct defragger *defragger, struct ref pool)
{
    struct error err;

    defragger->pool = pool;
    defragger->defrag =
        defrag_copy(loop_world(loop), pool, loop_context(loop).now_ms);
    defragger->job = (struct job){ .run = run_plan,
                                   .work = make_plan,
                                   .done = end_plan,
                                   .data = defragger };
    atomic_store(&defragger->busy, true);
    if (loop_work(loop, &defragger->job, &err) != 0)
        end_plan(&defragger->job);
}

void
defragger_tick(struct loop *loop, void *data)
{
    struct defragger *defragger = data;
    const struct world *world = loop_world(loop);
    const struct platform *platform =
        world_platform(world, world_platform_ref(world));
    struct ref first = { 0 };

    if (platform == NULL || platform->observing)
        return;
    world_each(world, KIND_POOL, ref) {
        bool due = look_at(loop, ref) &&
                   defrag_left(world_pool(world, ref),
                               loop_context(loop).now_ms) > 0 &&
                   !is_paused(defragger, ref) &&
                   !defrag_is_moving(world, ref);

        /* The one after the last, so that each has its turn. */
        if (due && (ref_is_none(first) ||
                    (first.index <= defragger->pool.index &&
                     ref.index > defragger->pool.index)))
            first = ref;
    }
    if (!ref_is_none(first) && !atomic_load(&defragger->busy))
        begin(loop, defragger, first);
}

struct defragger *
defragger_start(struct loop *loop)
{
    struct defragger *defragger = memory_new(1, sizeof(*defragger));

    defragger->loop = loop;
    atomic_init(&defragger->busy, false);
    loop_every(loop, TICK_MS, defragger_tick, defragger);
    return defragger;
}

void
defragger_free(struct defragger *defragger)
{
    if (defragger == NULL)
        return;
    defrag_free(defragger->defrag);
    json_decref(defragger->plan);
    free(defragger->pauses);
    free(defragger);
}
