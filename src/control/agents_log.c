/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/clock.h"
#include "control/agents_private.h"
#include "core/object.h"
#include "store/row.h"

/* Reads of logs: they wait for the node's next order, go with it, and come
 * back with its next report. */

/* For the way to the node and back, beside the wait that was asked for. */
#define LOG_SLACK_MS 6000
#define LOG_WAIT_MAX_MS 8000

void
agents_finish_logs(struct agents_log *logs)
{
    struct agents_log *next;

    for (struct agents_log *log = logs; log != NULL; log = next) {
        next = log->next_log;
        log->done(log);
    }
}

static void
fail_log(struct agents_log *log, enum error_code code, const char *text)
{
    log->failed = true;
    (void)error_set(&log->error, code, "%s", text);
}

/* --- where is it? --- */

/* The instance is over and out of the world: the store knows its node. */
static int
take_row(void *context, const struct value *values, struct error *err)
{
    struct agents_job *job = context;
    const char *node = row_text(KIND_INSTANCE, values, "node");

    (void)err;
    job->log->incarnation = row_int(KIND_INSTANCE, values, "incarnation");
    if (node != NULL && strlen(node) < sizeof(job->log_node))
        memcpy(job->log_node, node, strlen(node) + 1);
    return 1;
}

static void
find_read(struct job *base, struct store_reader *reader)
{
    struct agents_job *job = base->data;
    struct store_query query = { .kind = KIND_INSTANCE, .limit = 1 };
    char text[ID_TEXT_MAX];
    struct error err;

    id_format(schema_get(KIND_INSTANCE)->prefix, job->log->instance, text);
    store_where_text(&query, "id", STORE_EQUAL, text);
    if (store_select(reader, &query, take_row, job, &err) != 0)
        fail_log(job->log, ERROR_BUSY, err.text);
}

static void
find_run(struct loop *loop, struct job *base)
{
    struct agents_job *job = base->data;
    const struct world *world = loop_world(loop);
    const struct instance *instance = world_instance(
        world, world_find(world, KIND_INSTANCE, job->log->instance));

    if (instance == NULL) {
        base->read = find_read;
        return;
    }
    job->log->incarnation = instance->incarnation;
    object_id_text(world, instance->node, job->log_node);
}

/* --- queue --- */

static void
enqueue(struct agents *agents, struct agents_log *log)
{
    bool stopping;

    (void)pthread_mutex_lock(&agents->lock);
    stopping = agents->stopping;
    if (!stopping) {
        log->number = ++agents->log_number;
        log->next_log = agents->logs;
        agents->logs = log;
    }
    (void)pthread_mutex_unlock(&agents->lock);
    if (!stopping) {
        agents_serve(agents);
        return;
    }
    fail_log(log, ERROR_BUSY, "the control plane is stopping");
    log->done(log);
}

/* The node's slot is looked up by the world thread, since it may be gone. */
static void
route_run(struct loop *loop, struct job *base)
{
    struct agents_job *job = base->data;
    const struct world *world = loop_world(loop);
    struct ref ref = object_find_text(world, job->log_node);
    const struct node *node = world_node(world, ref);

    if (node == NULL)
        fail_log(job->log, ERROR_GONE, "its node is no longer there");
    else if (node->state == NODE_LOST)
        fail_log(job->log, ERROR_BUSY, "its node does not answer");
    else
        job->log->node = ref;
}

static void
route_done(struct job *base)
{
    struct agents_job *job = base->data;
    struct agents_log *log = job->log;

    if (base->failed)
        fail_log(log, base->error.code, base->error.text);
    if (log->failed)
        log->done(log);
    else
        enqueue(job->agents, log);
    agents_job_free(job);
}

static void
find_done(struct job *base)
{
    struct agents_job *job = base->data;
    struct agents_log *log = job->log;

    if (base->failed)
        fail_log(log, base->error.code, base->error.text);
    else if (!log->failed && job->log_node[0] == '\0')
        fail_log(log, ERROR_NOT_FOUND, "not found");
    if (!log->failed) {
        struct agents_job *route = agents_job_new(job->agents);

        route->log = log;
        memcpy(route->log_node, job->log_node, sizeof(route->log_node));
        route->job.run = route_run;
        route->job.done = route_done;
        if (loop_post(job->agents->loop, &route->job, &log->error) != 0) {
            log->failed = true;
            agents_job_free(route);
        }
    }
    if (log->failed)
        log->done(log);
    agents_job_free(job);
}

void
agents_request_log(struct agents *agents, struct agents_log *log)
{
    struct agents_job *job = agents_job_new(agents);

    log->failed = false;
    log->sent = false;
    if (log->max > REPORT_LOG_BYTES_MAX)
        log->max = REPORT_LOG_BYTES_MAX;
    if (log->wait_ms > LOG_WAIT_MAX_MS)
        log->wait_ms = LOG_WAIT_MAX_MS;
    log->deadline_ms = clock_mono_ms() + log->wait_ms + LOG_SLACK_MS;
    job->log = log;
    job->job.run = find_run;
    job->job.done = find_done;
    if (loop_post(agents->loop, &job->job, &log->error) == 0)
        return;
    agents_job_free(job);
    log->failed = true;
    log->done(log);
}

/* --- with orders and reports --- */

bool
agents_has_logs(struct agents *agents, struct ref node)
{
    bool any = false;

    (void)pthread_mutex_lock(&agents->lock);
    for (const struct agents_log *log = agents->logs; log != NULL && !any;
         log = log->next_log)
        any = !log->sent && ref_equal(log->node, node);
    (void)pthread_mutex_unlock(&agents->lock);
    return any;
}

const struct order_log *
agents_take_logs(struct agents *agents, struct ref node, struct arena *arena,
                 size_t *count_out)
{
    struct order_log *list = arena_alloc(arena,
                                         ORDER_LOGS_MAX * sizeof(*list));
    size_t count = 0;

    (void)pthread_mutex_lock(&agents->lock);
    for (struct agents_log *log = agents->logs;
         log != NULL && count < ORDER_LOGS_MAX; log = log->next_log) {
        char text[ID_TEXT_MAX];

        if (log->sent || !ref_equal(log->node, node))
            continue;
        id_format(schema_get(KIND_INSTANCE)->prefix, log->instance, text);
        list[count++] = (struct order_log){
            .request = log->number,
            .instance = arena_strdup(arena, text),
            .incarnation = log->incarnation,
            .offset = log->offset,
            .max = log->max,
            .wait_ms = log->wait_ms,
        };
        log->sent = true;
    }
    (void)pthread_mutex_unlock(&agents->lock);
    *count_out = count;
    return list;
}

static void
fill(struct agents_log *log, const struct report_log *fact)
{
    if (fact->failure[0] != '\0') {
        fail_log(log, ERROR_GONE, fact->failure);
        return;
    }
    buffer_add(&log->bytes, fact->bytes, fact->size);
    log->next = fact->next;
    log->complete = fact->complete;
    log->truncated = fact->truncated;
}

/* A piece is taken only by a read that asked this node for it, and only as
 * much as was asked for. */
static bool
is_answer_to(const struct agents_log *log, struct ref node,
             const struct report_log *fact)
{
    return log->sent && log->number == fact->request &&
           ref_equal(log->node, node) && fact->size <= (size_t)log->max &&
           fact->next >= log->offset;
}

void
agents_give_logs(struct agents *agents, struct agents_job *job,
                 struct ref node, const struct report *report)
{
    (void)pthread_mutex_lock(&agents->lock);
    for (size_t i = 0; i < report->log_count; i++) {
        struct agents_log **at = &agents->logs;
        struct agents_log *log;

        while ((log = *at) != NULL &&
               !is_answer_to(log, node, &report->logs[i]))
            at = &log->next_log;
        if (log == NULL)
            continue;
        *at = log->next_log;
        fill(log, &report->logs[i]);
        log->next_log = job->finished;
        job->finished = log;
    }
    (void)pthread_mutex_unlock(&agents->lock);
}

void
agents_expire_logs(struct agents *agents, struct agents_job *job,
                   int64_t mono_ms)
{
    struct agents_log **at = &agents->logs;
    struct agents_log *log;

    (void)pthread_mutex_lock(&agents->lock);
    while ((log = *at) != NULL) {
        if (mono_ms < log->deadline_ms) {
            at = &log->next_log;
            continue;
        }
        *at = log->next_log;
        fail_log(log, ERROR_BUSY, "the node did not answer in time");
        log->next_log = job->finished;
        job->finished = log;
    }
    (void)pthread_mutex_unlock(&agents->lock);
}
