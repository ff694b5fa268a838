/* SPDX-License-Identifier: Apache-2.0 */
#include "core/forecast.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/lifecycle.h"
#include "core/usage.h"

/* Nodes are heard of anew this often, so that no lease runs out. */
#define HEARD_MS INT64_C(1000)
/* A scheduler that only wants to look again is let wait so long at most. */
#define PATIENCE_MS INT64_C(60000)
#define NEVER INT64_MAX

/* What a node does at a known time. */
enum moment_what { MOMENT_START, MOMENT_GONE, MOMENT_END, MOMENT_SCRUB };
struct moment {
    int64_t at_ms;
    uint64_t order; /* of two at one time the older first */
    enum moment_what what;
    struct ref ref;
    int64_t attempt; /* END: of the workload; START: incarnation */
};

/* What is known about a workload's length, by index of its ref. */
struct length {
    uint64_t seq; /* of the object that it is about */
    int64_t left_ms;
    int64_t checkpoint_ms;
};

struct forecast {
    struct world *world;
    struct scheduler *scheduler;
    struct forecast_options options;
    struct id_source ids;
    int64_t now_ms;
    struct arena *arena; /* of the open set */
    struct moment *heap;
    size_t count, room;
    uint64_t order;
    struct length *lengths;
    size_t length_room;
    struct ref *posts; /* nodes that are heard of */
    size_t post_count, post_room;
    forecast_sink *sink;
    void *context;
    forecast_audit *audit;
    void *audit_context;
};

/* --- moments --- */

static bool
is_before(const struct moment *a, const struct moment *b)
{
    return a->at_ms != b->at_ms ? a->at_ms < b->at_ms : a->order < b->order;
}

static void
swap(struct moment *a, struct moment *b)
{
    struct moment kept = *a;

    *a = *b;
    *b = kept;
}

static void
add(struct forecast *forecast, int64_t at_ms, enum moment_what what,
    struct ref ref, int64_t attempt)
{
    size_t at = forecast->count++;

    if (forecast->count > forecast->room) {
        forecast->room = 2 * forecast->count + 64;
        forecast->heap =
            memory_grow(forecast->heap, forecast->room, sizeof(struct moment));
    }
    if (at_ms < forecast->now_ms)
        at_ms = forecast->now_ms;
    forecast->heap[at] = (struct moment){ at_ms, forecast->order++, what, ref,
                                          attempt };
    for (; at > 0 &&
           is_before(&forecast->heap[at], &forecast->heap[(at - 1) / 2]);
         at = (at - 1) / 2)
        swap(&forecast->heap[at], &forecast->heap[(at - 1) / 2]);
}

static struct moment
take(struct forecast *forecast)
{
    struct moment first = forecast->heap[0];
    size_t at = 0;

    forecast->heap[0] = forecast->heap[--forecast->count];
    for (;;) {
        size_t least = at;

        for (size_t child = 2 * at + 1;
             child < 2 * at + 3 && child < forecast->count; child++)
            if (is_before(&forecast->heap[child], &forecast->heap[least]))
                least = child;
        if (least == at)
            return first;
        swap(&forecast->heap[at], &forecast->heap[least]);
        at = least;
    }
}

/* --- lengths --- */

/* What is left of a workload's run, NEVER when it has no known end. */
static struct length *
length_of(struct forecast *forecast, const struct workload *workload)
{
    size_t index = workload->object.self.index;
    struct length *length;

    if (index >= forecast->length_room) {
        size_t room = 2 * index + 64;

        forecast->lengths =
            memory_grow(forecast->lengths, room, sizeof(struct length));
        memset(forecast->lengths + forecast->length_room, 0,
               (room - forecast->length_room) * sizeof(struct length));
        forecast->length_room = room;
    }
    length = &forecast->lengths[index];
    if (length->seq != workload->object.seq)
        *length = (struct length){ workload->object.seq,
                                   workload->max_run_ms > 0
                                       ? workload->max_run_ms
                                       : NEVER,
                                   0 };
    return length;
}

/* A run ended early: what was saved need not be done again. */
static void
keep_work(struct forecast *forecast, const struct workload *workload,
          int64_t started_ms)
{
    struct length *length = length_of(forecast, workload);
    int64_t done = forecast->now_ms - started_ms;

    if (length->left_ms == NEVER || length->checkpoint_ms <= 0 ||
        started_ms == 0 || done <= 0)
        return;
    done -= done % length->checkpoint_ms;
    length->left_ms = done < length->left_ms ? length->left_ms - done : 0;
}

/* --- sets --- */

struct changes *
forecast_begin(struct forecast *forecast)
{
    assert(forecast->arena == NULL);
    forecast->arena = arena_new();
    return change_begin(forecast->arena, forecast->world,
                        (struct context){ forecast->now_ms, &forecast->ids });
}

void
forecast_drop(struct forecast *forecast, struct changes *changes)
{
    (void)changes;
    arena_free(forecast->arena);
    forecast->arena = NULL;
}

static void
tell(const struct forecast *forecast, enum forecast_what what,
     const struct workload *workload)
{
    struct forecast_event event = { what, forecast->now_ms,
                                    workload->object.self, workload->state };

    if (forecast->sink != NULL)
        forecast->sink(forecast->context, forecast->world, &event);
}

/* What a node will do about an instance as it is now. */
static void
expect_instance(struct forecast *forecast, const struct instance *instance)
{
    struct ref ref = instance->object.self;
    const struct forecast_options *options = &forecast->options;
    int64_t deadline_ms = options->stop_ms < 0
                              ? instance->deadline_ms
                              : forecast->now_ms + options->stop_ms;

    if (instance->state == INSTANCE_RELEASED ||
        instance->state == INSTANCE_LOST)
        return;
    if (instance->want == WANT_STOP || instance->state == INSTANCE_EXITED)
        add(forecast, forecast->now_ms, MOMENT_GONE, ref, 0);
    else if (instance->want == WANT_NOTICE)
        add(forecast, deadline_ms, MOMENT_GONE, ref, 0);
    else if (instance->state != INSTANCE_RUNNING)
        add(forecast, forecast->now_ms + options->start_ms, MOMENT_START, ref,
            instance->incarnation);
}

static void
expect_card(struct forecast *forecast, const struct card *card)
{
    if (card->handover == HANDOVER_PENDING && card->used_milli == 0)
        add(forecast, forecast->now_ms + forecast->options.scrub_ms,
            MOMENT_SCRUB, card->object.self, 0);
}

static void
expect_end(struct forecast *forecast, const struct workload *workload)
{
    int64_t left_ms = length_of(forecast, workload)->left_ms;

    if (workload->state == WORKLOAD_RUNNING && left_ms != NEVER)
        add(forecast, workload->started_ms + left_ms, MOMENT_END,
            workload->object.self, workload->attempt);
}

void
forecast_duration(struct forecast *forecast, struct ref ref, int64_t run_ms,
                  int64_t checkpoint_ms)
{
    const struct workload *workload = world_workload(forecast->world, ref);
    struct length *length = length_of(forecast, workload);

    length->left_ms = run_ms;
    length->checkpoint_ms = checkpoint_ms;
    expect_end(forecast, workload);
}

/* The workloads of a set, as they were before it. */
struct before {
    struct ref ref;
    int state;
    int64_t started_ms;
};

static size_t
note_before(const struct forecast *forecast, const struct changes *changes,
            struct before *list)
{
    size_t count = 0;

    for (size_t i = 0; i < changes->count; i++) {
        const struct change *change = &changes->list[i];
        const struct workload *workload =
            world_workload(forecast->world, change->ref);

        if (change->ref.kind != KIND_WORKLOAD || change->op != CHANGE_PUT)
            continue;
        list[count++] = (struct before){
            change->ref, workload != NULL ? workload->state : WORKLOAD_QUEUED,
            workload != NULL ? workload->started_ms : 0
        };
    }
    return count;
}

static void
follow_workload(struct forecast *forecast, const struct before *before)
{
    const struct workload *workload =
        world_workload(forecast->world, before->ref);

    if (workload == NULL || workload->state == before->state)
        return;
    if (workload->state == WORKLOAD_ASSIGNED) {
        tell(forecast, FORECAST_START, workload);
    } else if (workload->state == WORKLOAD_PREEMPTING) {
        keep_work(forecast, workload, before->started_ms);
        tell(forecast, FORECAST_PREEMPT, workload);
    } else if (lifecycle_is_over(workload->state)) {
        tell(forecast, FORECAST_END, workload);
    } else {
        expect_end(forecast, workload);
    }
}

void
forecast_apply(struct forecast *forecast, struct changes *changes)
{
    struct before *before =
        arena_alloc(forecast->arena, (changes->count + 1) * sizeof(*before));
    size_t count = note_before(forecast, changes, before);

    world_apply(forecast->world, changes);
    if (forecast->audit != NULL)
        forecast->audit(forecast->audit_context, forecast->world, changes);
    for (size_t i = 0; i < changes->count; i++) {
        struct ref ref = changes->list[i].ref;
        const struct instance *instance =
            world_instance(forecast->world, ref);
        const struct card *card = world_card(forecast->world, ref);

        if (instance != NULL)
            expect_instance(forecast, instance);
        if (card != NULL)
            expect_card(forecast, card);
    }
    for (size_t i = 0; i < count; i++)
        follow_workload(forecast, &before[i]);
    arena_free(forecast->arena);
    forecast->arena = NULL;
}

/* --- the nodes do as they are told --- */

static void
start(struct forecast *forecast, const struct moment *moment)
{
    const struct instance *instance =
        world_instance(forecast->world, moment->ref);
    struct changes *changes;

    if (instance == NULL || instance->want != WANT_RUN ||
        instance->incarnation != moment->attempt ||
        (instance->state != INSTANCE_ASSIGNED &&
         instance->state != INSTANCE_STARTING))
        return;
    changes = forecast_begin(forecast);
    lifecycle_started(changes, moment->ref);
    forecast_apply(forecast, changes);
}

static void
release(struct forecast *forecast, struct ref ref, int64_t exit_code)
{
    const struct instance *instance = world_instance(forecast->world, ref);
    struct changes *changes;

    if (instance == NULL || instance->state == INSTANCE_RELEASED)
        return;
    if (instance->state != INSTANCE_EXITED) {
        changes = forecast_begin(forecast);
        lifecycle_exited(changes, ref, exit_code, false);
        forecast_apply(forecast, changes);
    }
    instance = world_instance(forecast->world, ref);
    if (instance == NULL || instance->state != INSTANCE_EXITED)
        return;
    changes = forecast_begin(forecast);
    lifecycle_released(changes, ref);
    forecast_apply(forecast, changes);
}

static void
end(struct forecast *forecast, const struct moment *moment)
{
    const struct workload *workload =
        world_workload(forecast->world, moment->ref);
    struct ref next;

    if (workload == NULL || workload->attempt != moment->attempt ||
        workload->state != WORKLOAD_RUNNING)
        return;
    for (struct ref ref = world_first_child(forecast->world, KIND_INSTANCE,
                                            moment->ref);
         !ref_is_none(ref); ref = next) {
        const struct instance *instance =
            world_instance(forecast->world, ref);

        next = world_next_child(forecast->world, ref);
        if (instance->attempt == moment->attempt)
            release(forecast, ref, 0);
    }
}

static void
scrub(struct forecast *forecast, struct ref ref)
{
    const struct card *card = world_card(forecast->world, ref);
    struct changes *changes;

    if (card == NULL || card->handover != HANDOVER_PENDING ||
        card->used_milli > 0)
        return;
    changes = forecast_begin(forecast);
    usage_cut(changes, ref);
    ((struct card *)change_update(changes, ref))->handover = HANDOVER_CLEAN;
    forecast_apply(forecast, changes);
}

static void
carry_out(struct forecast *forecast, const struct moment *moment)
{
    switch (moment->what) {
    case MOMENT_START:
        start(forecast, moment);
        return;
    case MOMENT_GONE:
        release(forecast, moment->ref, 143);
        return;
    case MOMENT_END:
        end(forecast, moment);
        return;
    case MOMENT_SCRUB:
        scrub(forecast, moment->ref);
        return;
    }
}

/* --- the beginning --- */

void
forecast_node(struct forecast *forecast, struct ref node)
{
    if (forecast->post_count == forecast->post_room) {
        forecast->post_room = 2 * forecast->post_room + 64;
        forecast->posts = memory_grow(forecast->posts, forecast->post_room,
                                      sizeof(struct ref));
    }
    forecast->posts[forecast->post_count++] = node;
    world_touch_node(forecast->world, node, forecast->now_ms);
}

static void
find_posts(struct forecast *forecast)
{
    const struct world *world = forecast->world;
    const struct platform *platform =
        world_platform(world, world_platform_ref(world));
    int64_t lease_ms = platform != NULL ? platform->lease_ms : 0;

    world_each(world, KIND_NODE, ref) {
        const struct node *node = world_node(world, ref);

        if (lease_ms == 0 || (node->seen_ms > 0 && forecast->now_ms -
                                                       node->seen_ms <=
                                                       lease_ms))
            forecast_node(forecast, ref);
    }
}

struct forecast *
forecast_new(struct world *world, int64_t now_ms,
             const struct forecast_options *options)
{
    struct forecast *forecast = memory_new(1, sizeof(*forecast));

    forecast->world = world;
    forecast->scheduler = scheduler_new();
    forecast->options = *options;
    forecast->now_ms = now_ms;
    forecast->ids = (struct id_source){ { 0, 1 }, 0 };
    find_posts(forecast);
    world_each(world, KIND_INSTANCE, ref)
        expect_instance(forecast, world_instance(world, ref));
    world_each(world, KIND_CARD, ref)
        expect_card(forecast, world_card(world, ref));
    world_each(world, KIND_WORKLOAD, ref)
        expect_end(forecast, world_workload(world, ref));
    return forecast;
}

void
forecast_free(struct forecast *forecast)
{
    if (forecast == NULL)
        return;
    assert(forecast->arena == NULL);
    scheduler_free(forecast->scheduler);
    world_free(forecast->world);
    free(forecast->heap);
    free(forecast->lengths);
    free(forecast->posts);
    free(forecast);
}

const struct world *
forecast_world(const struct forecast *forecast)
{
    return forecast->world;
}

int64_t
forecast_now_ms(const struct forecast *forecast)
{
    return forecast->now_ms;
}

void
forecast_listen(struct forecast *forecast, forecast_sink *sink, void *context)
{
    forecast->sink = sink;
    forecast->context = context;
}

void
forecast_inspect(struct forecast *forecast, forecast_audit *audit,
                 void *context)
{
    forecast->audit = audit;
    forecast->audit_context = context;
}

json_t *
forecast_assumptions(const char *length)
{
    return json_pack(
        "[s, s, s, s]",
        "nothing else is submitted, cancelled, changed or broken meanwhile",
        length, "what is told to stop takes its whole grace",
        "starting and scrubbing take no time");
}

/* --- time --- */

/* All that can be decided now; false when the budget is used up. */
static bool
decide(struct forecast *forecast, int64_t *budget)
{
    for (;;) {
        struct changes *changes = forecast_begin(forecast);

        if (!schedule_step(forecast->scheduler, changes)) {
            forecast_drop(forecast, changes);
            if (schedule_has_more(forecast->scheduler))
                continue;
            return true;
        }
        forecast_apply(forecast, changes);
        if (--*budget <= 0)
            return false;
    }
}

/* When something can happen next: a node's deed, or time for the scheduler.
 * That it only wants to hear of the nodes is no reason to wake it each
 * second. */
static int64_t
next_time(const struct forecast *forecast)
{
    int64_t due_ms = schedule_due_ms(forecast->scheduler);
    int64_t at_ms = forecast->count > 0 ? forecast->heap[0].at_ms : NEVER;

    if (due_ms <= forecast->now_ms + HEARD_MS)
        due_ms = forecast->now_ms + PATIENCE_MS;
    return at_ms < due_ms ? at_ms : due_ms;
}

static bool
is_waiting(const struct world *world)
{
    world_each(world, KIND_WORKLOAD, ref) {
        int state = world_workload(world, ref)->state;

        if (state == WORKLOAD_GATED || state == WORKLOAD_QUEUED)
            return true;
    }
    return false;
}

static void
move_clock(struct forecast *forecast, int64_t at_ms)
{
    forecast->now_ms = at_ms;
    for (size_t i = 0; i < forecast->post_count; i++)
        world_touch_node(forecast->world, forecast->posts[i], at_ms);
}

enum forecast_end
forecast_run(struct forecast *forecast, int64_t until_ms, int64_t decisions)
{
    int64_t budget = decisions;

    for (;;) {
        int64_t at_ms;

        if (!decide(forecast, &budget))
            return FORECAST_BUDGET;
        at_ms = next_time(forecast);
        if (forecast->count == 0 && !is_waiting(forecast->world))
            return FORECAST_QUIET;
        if (at_ms > until_ms) {
            move_clock(forecast, until_ms);
            return FORECAST_REACHED;
        }
        move_clock(forecast, at_ms);
        while (forecast->count > 0 && forecast->heap[0].at_ms <= at_ms) {
            struct moment moment = take(forecast);

            carry_out(forecast, &moment);
        }
    }
}
