/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "api/dispatch.h"
#include "api/handlers.h"
#include "api/hub.h"
#include "api/resolve.h"
#include "api/state.h"
#include "control/agents.h"

/*
 * What an instance wrote, read from its node piece by piece.  A followed log
 * is a chain of pieces; the right to it is decided again before each.
 */

#define PIECE_BYTES 65536
#define FOLLOW_WAIT_MS 2000

/* --- one piece --- */

struct piece {
    struct exchange *exchange;
    struct agents_log log;
};

static void
on_piece(struct agents_log *log)
{
    struct piece *piece = log->data;
    struct exchange *exchange = piece->exchange;
    struct answer *answer = &exchange->answer;
    if (log->failed) {
        exchange->error = log->error;
        exchange_fail(exchange);
    } else {
        answer->status = 200;
        answer->type = "application/octet-stream";
        buffer_release(&answer->body);
        answer->body = log->bytes;
        answer->log_next = log->next;
        answer->log_complete = log->complete;
    }
    exchange_finish(exchange);
}

/* The decision is durable: off to the node. */
static void
ask_node(struct job *job)
{
    struct exchange *exchange = job->data;
    struct piece *piece = exchange->data;
    if (job->failed) {
        exchange->error = job->error;
        exchange_fail(exchange);
    }
    if (exchange->answer.status != 0) {
        exchange_finish(exchange);
        return;
    }
    agents_request_log(exchange->api->options.agents, &piece->log);
}

/* --- following --- */

struct follow {
    struct api *api;
    struct arena *arena;
    struct stream *stream;
    struct job job;
    struct agents_log log;
    struct request request;
    char id[EXCHANGE_ID_MAX];
    uint8_t token[DIGEST_SIZE];
    char source[64];
    struct ref workload;
    struct id workload_id;
    bool allowed;
};

static void
end_follow(struct follow *follow)
{
    struct api *api = follow->api;
    stream_close(follow->stream);
    stream_drop(follow->stream);
    arena_free(follow->arena);
    state_task_end(api);
}

static void
decide_again(struct loop *loop, struct job *job)
{
    struct follow *follow = job->data;
    const struct world *world = loop_world(loop);
    const struct object *workload = world_object(world, follow->workload);
    struct actor actor;
    struct error ignored;
    int64_t now_ms = loop_context(loop).now_ms;
    follow->allowed =
        workload != NULL && id_equal(workload->id, follow->workload_id) &&
        access_authenticate(world, follow->token, follow->source, now_ms,
                            &actor, &ignored) == 0 &&
        access_can(world, &actor, VERB_WORKLOAD_LOGS, follow->workload,
                   now_ms);
}

static void
next_piece(struct job *job)
{
    struct follow *follow = job->data;
    if (job->failed || !follow->allowed || stream_ended(follow->stream)) {
        end_follow(follow);
        return;
    }
    agents_request_log(follow->api->options.agents, &follow->log);
}

static void
on_followed(struct agents_log *log)
{
    struct follow *follow = log->data;
    struct error ignored;
    bool more = !log->failed && !log->complete;
    if (log->bytes.size > 0)
        more = stream_add(follow->stream, log->bytes.bytes,
                          log->bytes.size) &&
               more;
    buffer_release(&log->bytes);
    struct agents_log again = {.instance = log->instance,
                               .offset = log->failed ? log->offset
                                                     : log->next,
                               .max = PIECE_BYTES,
                               .wait_ms = FOLLOW_WAIT_MS,
                               .done = on_followed,
                               .data = follow};
    follow->log = again;
    follow->job = (struct job){.run = decide_again,
                               .done = next_piece,
                               .arena = follow->arena,
                               .data = follow};
    if (!more || stream_ended(follow->stream) ||
        loop_post(follow->api->loop, &follow->job, &ignored) != 0)
        end_follow(follow);
}

static int
start_follow(const struct granted *granted, struct exchange *exchange,
             const struct agents_log *first, struct error *err)
{
    struct ref workload = granted_object(granted);
    if (state_task_begin(exchange->api, err) != 0)
        return -1;
    if (hub_open(exchange->api->hub, exchange, err) != 0) {
        state_task_end(exchange->api);
        return -1;
    }
    struct arena *arena = arena_new();
    struct follow *follow = arena_alloc(arena, sizeof *follow);
    follow->api = exchange->api;
    follow->arena = arena;
    follow->stream = stream_hold(exchange->stream);
    memcpy(follow->token, exchange->token, sizeof follow->token);
    memcpy(follow->source, exchange->source, sizeof follow->source);
    follow->workload = workload;
    follow->workload_id =
        world_object(granted_world(granted), workload)->id;
    follow->allowed = true;
    follow->log = *first;
    follow->log.done = on_followed;
    follow->log.data = follow;
    follow->log.wait_ms = FOLLOW_WAIT_MS;
    follow->job = (struct job){.done = next_piece, .data = follow};
    exchange->data = follow;
    answer_text(&exchange->answer, 200, "application/octet-stream", "");
    return 0;
}

/* The first decision is durable: the stream may begin. */
static void
begin_follow(struct job *job)
{
    struct exchange *exchange = job->data;
    struct follow *follow = exchange->data;
    bool started = exchange->stream != NULL;
    if (job->failed) {
        exchange->error = job->error;
        exchange_fail(exchange);
    }
    exchange_finish(exchange);
    if (!started)
        return;
    if (job->failed)
        end_follow(follow);
    else
        agents_request_log(follow->api->options.agents, &follow->log);
}

/* --- the route --- */

/* The instance that is asked for, or the workload's newest one. */
static struct ref
choose_instance(const struct world *world, struct ref workload,
                const char *text)
{
    struct ref found = {0};
    if (text != NULL)
        return resolve_segment(world, workload, KIND_INSTANCE, text);
    world_each_child(world, KIND_INSTANCE, workload, ref) {
        const struct instance *instance = world_instance(world, ref);
        const struct instance *best = world_instance(world, found);
        if (best == NULL || instance->attempt > best->attempt)
            found = ref;
    }
    return found;
}

static int
find_log(const struct granted *granted, const struct exchange *exchange,
         struct agents_log *log_out, struct error *err)
{
    const struct world *world = granted_world(granted);
    struct ref instance =
        choose_instance(world, granted_object(granted),
                        url_get(&exchange->url, "instance"));
    if (exchange_int(exchange, "offset", 0, INT64_MAX / 2, 0,
                     &log_out->offset, err) != 0)
        return -1;
    if (ref_is_none(instance))
        return url_get(&exchange->url, "instance") != NULL
                   ? access_not_found(err)
                   : error_set(err, ERROR_CONFLICT,
                               "the workload has no instance yet");
    log_out->instance = world_object(world, instance)->id;
    log_out->max = PIECE_BYTES;
    return 0;
}

int
logs_read(const struct granted *granted, struct exchange *exchange,
          struct error *err)
{
    struct agents_log log = {0};
    int64_t follow;
    if (exchange->api->options.agents == NULL)
        return error_set(err, ERROR_UNSUPPORTED, "no node can be asked");
    if (exchange_int(exchange, "follow", 0, 1, 0, &follow, err) != 0 ||
        find_log(granted, exchange, &log, err) != 0)
        return -1;
    if (follow == 1) {
        exchange->job.done = begin_follow;
        return start_follow(granted, exchange, &log, err);
    }
    struct piece *piece = arena_alloc(exchange->arena, sizeof *piece);
    piece->exchange = exchange;
    piece->log = log;
    piece->log.done = on_piece;
    piece->log.data = piece;
    exchange->data = piece;
    exchange->job.done = ask_node;
    return 0;
}
