/* SPDX-License-Identifier: Apache-2.0 */
#include "control/agents.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/crash.h"
#include "base/log.h"
#include "control/agents_private.h"
#include "control/desired.h"
#include "control/execute.h"
#include "core/object.h"
#include "core/observe.h"

/* --- jobs --- */

struct agents_job *
agents_job_new(struct agents *agents)
{
    struct agents_job *job = memory_new(1, sizeof(*job));

    job->agents = agents;
    job->job.arena = arena_new();
    job->job.data = job;
    return job;
}

void
agents_job_free(struct agents_job *job)
{
    arena_free(job->job.arena);
    free(job);
}

/* --- what became durable --- */

static bool
is_about_nodes(const struct note *note)
{
    switch ((int)note->kind) {
    case KIND_NODE:
    case KIND_CARD:
    case KIND_INSTANCE:
    case KIND_BINDING:
    case KIND_VOLUME:
        return true;
    default:
        return false;
    }
}

/* Committer thread: only remembers; the world is another thread's. */
static void
on_durable(void *data, const struct note *notes, size_t count)
{
    struct agents *agents = data;
    bool any = false;

    (void)pthread_mutex_lock(&agents->lock);
    for (size_t i = 0; i < count; i++) {
        struct ref ref = notes[i].kind == KIND_CARD ||
                                 notes[i].kind == KIND_BINDING
                             ? notes[i].parent
                             : notes[i].ref;

        if (!is_about_nodes(&notes[i]))
            continue;
        any = true;
        if (notes[i].deleted || agents->touched_count == AGENTS_TOUCHED)
            agents->touched_all = true;
        else
            agents->touched[agents->touched_count++] = ref;
    }
    any = any && agents->parked != NULL;
    (void)pthread_mutex_unlock(&agents->lock);
    if (any)
        agents_serve(agents);
}

static void
mark(struct agents *agents, struct ref ref)
{
    const struct world *world = loop_world(agents->loop);
    const struct instance *instance = world_instance(world, ref);
    const struct volume *volume = world_volume(world, ref);
    struct ref node = ref;

    if (instance != NULL)
        node = instance->node;
    else if (volume != NULL)
        node = volume->node;
    if (node.kind == KIND_NODE && node.index < agents->post_count)
        agents->posts[node.index].dirty = true;
}

static void
mark_touched(struct agents *agents)
{
    struct ref touched[AGENTS_TOUCHED];
    size_t count;
    bool all;

    (void)pthread_mutex_lock(&agents->lock);
    count = agents->touched_count;
    all = agents->touched_all;
    memcpy(touched, agents->touched, count * sizeof(touched[0]));
    agents->touched_count = 0;
    agents->touched_all = false;
    (void)pthread_mutex_unlock(&agents->lock);
    for (size_t i = 0; i < agents->post_count && all; i++)
        agents->posts[i].dirty = true;
    for (size_t i = 0; i < count && !all; i++)
        mark(agents, touched[i]);
}

/* --- leases --- */

struct loss {
    struct ref node;
};

static int
decide_lost(struct changes *changes, void *data, struct error *err)
{
    struct loss *loss = data;

    (void)err;
    observe_lost(changes, loss->node);
    return 0;
}

static void
lose(struct agents *agents, struct arena *arena, struct ref node)
{
    const struct object *object =
        world_object(loop_world(agents->loop), node);
    struct loss loss = { node };
    struct deed deed = { .verb = "node.lost",
                         .object = node,
                         .component = "agents",
                         .node = arena_strdup(arena, object->name),
                         .reason = "lease over",
                         .decide = decide_lost,
                         .data = &loss };
    struct error err;

    if (execute_deed(agents->loop, arena, &deed, &err) < 0)
        log_error("node %s: %s", deed.node, err.text);
}

/* No lease ends before the control plane has been up for one: nodes could
 * not report before. */
static void
check_leases(struct agents *agents, struct arena *arena)
{
    const struct world *world = loop_world(agents->loop);
    const struct platform *platform =
        world_platform(world, world_platform_ref(world));
    int64_t now = clock_mono_ms();

    if (platform == NULL || now - agents->started_ms < platform->lease_ms)
        return;
    world_each(world, KIND_NODE, ref) {
        const struct node *node = world_node(world, ref);
        int64_t alive = agents_post(agents, node)->presence.alive_ms;

        if (node->epoch > 0 && node->state != NODE_LOST &&
            now - (alive > 0 ? alive : agents->started_ms) >=
                platform->lease_ms)
            lose(agents, arena, ref);
    }
}

/* --- parked calls --- */

struct agents_call *
agents_take_parked(struct agents *agents, struct ref node)
{
    struct agents_call **at = &agents->parked;
    struct agents_call *taken = NULL, *call;

    (void)pthread_mutex_lock(&agents->lock);
    while ((call = *at) != NULL) {
        if (!ref_is_none(node) && !ref_equal(call->node, node)) {
            at = &call->next;
            continue;
        }
        *at = call->next;
        call->next = taken;
        taken = call;
    }
    (void)pthread_mutex_unlock(&agents->lock);
    return taken;
}

void
agents_park(struct agents *agents, struct agents_job *job,
            struct agents_call *call)
{
    struct error err;
    bool stopping;

    (void)pthread_mutex_lock(&agents->lock);
    stopping = agents->stopping;
    if (!stopping) {
        call->next = agents->parked;
        agents->parked = call;
    }
    (void)pthread_mutex_unlock(&agents->lock);
    if (!stopping)
        return;
    (void)error_set(&err, ERROR_BUSY, "the control plane is stopping");
    agents_fail(agents, call, &err);
    agents_answer(job, call);
}

void
agents_answer(struct agents_job *job, struct agents_call *call)
{
    call->next = job->answered;
    job->answered = call;
}

/* Answers a parked call when its node has news or its time is over. */
static bool
try_answer(struct agents *agents, struct agents_job *job,
           struct agents_call *call, int64_t now)
{
    const struct node *node =
        world_node(loop_world(agents->loop), call->node);
    struct error err;
    bool over = now >= call->deadline_ms;

    if (node == NULL) {
        (void)error_set(&err, ERROR_UNAUTHENTICATED, "the node was removed");
        agents_fail(agents, call, &err);
        return true;
    }
    if (!over && !agents_post(agents, node)->dirty &&
        !agents_has_logs(agents, call->node))
        return false;
    return agents_order(agents, call, job->job.arena, over);
}

static void
serve_run(struct loop *loop, struct job *base)
{
    struct agents_job *job = base->data;
    struct agents *agents = job->agents;
    int64_t now = clock_mono_ms();
    struct agents_call *call, *next;

    (void)loop;
    (void)pthread_mutex_lock(&agents->lock);
    agents->serving = false;
    (void)pthread_mutex_unlock(&agents->lock);
    check_leases(agents, base->arena);
    agents_check_looks(agents, base->arena);
    mark_touched(agents);
    agents_expire_logs(agents, job, now);
    call = agents_take_parked(agents, (struct ref){ 0 });
    for (; call != NULL; call = next) {
        next = call->next;
        if (try_answer(agents, job, call, now))
            agents_answer(job, call);
        else
            agents_park(agents, job, call);
    }
    for (size_t i = 0; i < agents->post_count; i++)
        agents->posts[i].dirty = false;
}

void
agents_finish_calls(struct agents_job *job)
{
    struct agents_call *next;

    for (struct agents_call *call = job->answered; call != NULL;
         call = next) {
        next = call->next;
        if (job->job.failed)
            agents_fail(job->agents, call, &job->job.error);
        CRASH_POINT("bulkheadd.ordering");
        call->done(call);
        CRASH_POINT("bulkheadd.ordered");
    }
}

static void
serve_done(struct job *base)
{
    struct agents_job *job = base->data;

    agents_finish_calls(job);
    agents_finish_logs(job->finished);
    agents_job_free(job);
}

void
agents_serve(struct agents *agents)
{
    struct agents_job *job;
    struct error ignored;
    bool needed;

    (void)pthread_mutex_lock(&agents->lock);
    needed = !agents->serving && !agents->stopping;
    agents->serving = agents->serving || needed;
    (void)pthread_mutex_unlock(&agents->lock);
    if (!needed)
        return;
    job = agents_job_new(agents);
    job->job.run = serve_run;
    job->job.done = serve_done;
    if (loop_post(agents->loop, &job->job, &ignored) == 0)
        return;
    /* The next tick tries again. */
    agents_job_free(job);
    (void)pthread_mutex_lock(&agents->lock);
    agents->serving = false;
    (void)pthread_mutex_unlock(&agents->lock);
}

static void
on_tick(struct loop *loop, void *data)
{
    (void)loop;
    agents_serve(data);
}

/* --- answers --- */

static void
sign_answer(struct agents *agents, struct agents_call *call)
{
    message_sign_answer(&agents->key, call->status, &call->envelope,
                        call->answer.bytes, call->answer.size,
                        call->signature);
}

void
agents_refuse(struct agents *agents, struct agents_call *call,
              const struct order_refusal *refusal)
{
    if (call->envelope.node == NULL)
        call->envelope = (struct message_envelope){ "", "", 0, 0 };
    call->status = error_http_status(refusal->code);
    buffer_clear(&call->answer);
    order_refusal_write(&call->answer, refusal);
    sign_answer(agents, call);
}

void
agents_fail(struct agents *agents, struct agents_call *call,
            const struct error *err)
{
    struct order_refusal refusal = { .code = err->code,
                                     .text = err->text,
                                     .floor = -1,
                                     .challenge = "" };

    agents_refuse(agents, call, &refusal);
}

bool
agents_order(struct agents *agents, struct agents_call *call,
             struct arena *arena, bool always)
{
    struct desired desired;
    struct order *order = &desired.order;

    desired_build(loop_world(agents->loop), call->node, arena, &desired);
    order->same = strcmp(order->revision, call->known) == 0;
    order->logs = agents_take_logs(agents, call->node, arena,
                                   &order->log_count);
    if (order->same && order->log_count == 0 && !always) {
        desired_release(&desired);
        return false;
    }
    if (order->same)
        order->instance_count = order->volume_count = order->scrub_count = 0;
    order->now_ms = loop_context(agents->loop).now_ms;
    order->serial = ++agents->serial;
    call->status = 200;
    buffer_clear(&call->answer);
    order_write(&call->answer, order);
    sign_answer(agents, call);
    desired_release(&desired);
    return true;
}

/* --- the posts --- */

struct post *
agents_post(struct agents *agents, const struct node *node)
{
    uint32_t slot = node->object.self.index;
    struct post *post;

    if (slot >= agents->post_count) {
        size_t count = (size_t)slot + 64;

        agents->posts =
            memory_grow(agents->posts, count, sizeof(*agents->posts));
        memset(agents->posts + agents->post_count, 0,
               (count - agents->post_count) * sizeof(*agents->posts));
        agents->post_count = count;
    }
    post = &agents->posts[slot];
    if (!id_equal(post->presence.node, node->object.id)) {
        memset(post, 0, sizeof(*post));
        post->presence.node = node->object.id;
        post->dirty = true;
    }
    return post;
}

int64_t
agents_seen_ms(const struct agents *agents, struct ref node)
{
    return node.index < agents->post_count
               ? agents->posts[node.index].presence.seen_ms
               : 0;
}

/* --- life --- */

int
agents_start(struct loop *loop, const struct agents_options *options,
             struct agents **agents_out, struct error *err)
{
    struct agents *agents;
    struct sign_key key;

    if (sign_key_open(options->key_path, &key, err) != 0)
        return error_prefix(err, "control plane");
    agents = memory_new(1, sizeof(*agents));
    agents->loop = loop;
    agents->key = key;
    agents->started_ms = clock_mono_ms();
    /* Numbers of an earlier run are never met again. */
    agents->log_number = clock_wall_ms() * 1000;
    (void)pthread_mutex_init(&agents->lock, NULL);
    loop_on_durable(loop, on_durable, agents);
    loop_every(loop, AGENTS_TICK_MS, on_tick, agents);
    *agents_out = agents;
    return 0;
}

static void
stop_logs(struct agents_log *logs)
{
    for (struct agents_log *log = logs; log != NULL; log = log->next_log) {
        log->failed = true;
        (void)error_set(&log->error, ERROR_BUSY,
                        "the control plane is stopping");
    }
    agents_finish_logs(logs);
}

void
agents_stop(struct agents *agents)
{
    struct agents_call *calls, *next;
    struct agents_log *logs;
    struct error err;

    (void)pthread_mutex_lock(&agents->lock);
    agents->stopping = true;
    calls = agents->parked;
    logs = agents->logs;
    agents->parked = NULL;
    agents->logs = NULL;
    (void)pthread_mutex_unlock(&agents->lock);
    (void)error_set(&err, ERROR_BUSY, "the control plane is stopping");
    for (struct agents_call *call = calls; call != NULL; call = next) {
        next = call->next;
        agents_fail(agents, call, &err);
        call->done(call);
    }
    stop_logs(logs);
}

void
agents_free(struct agents *agents)
{
    if (agents == NULL)
        return;
    (void)pthread_mutex_destroy(&agents->lock);
    free(agents->posts);
    free(agents);
}
