/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/clock.h"
#include "control/agents_private.h"
#include "control/enrol.h"
#include "control/execute.h"
#include "control/intent.h"
#include "core/observe.h"
#include "engine/sync.h"

/* The two routes of the agents: enrol and sync. */

static void
fail(struct agents_job *job, const struct error *err)
{
    agents_fail(job->agents, job->call, err);
    agents_answer(job, job->call);
}

/* Who cannot be told to be a node leaves its trace in the bounded stream. */
static void
fail_unknown(struct agents_job *job, const char *verb,
             const struct error *err)
{
    struct request request = { .route = MESSAGE_SYNC_PATH,
                               .method = "POST",
                               .ip = job->call->source };

    if (err->code == ERROR_UNAUTHENTICATED)
        execute_anonymous(job->agents->loop, &request, verb, err->text);
    fail(job, err);
}

static void
call_done(struct job *base)
{
    struct agents_job *job = base->data;

    agents_finish_calls(job);
    agents_finish_logs(job->finished);
    agents_job_free(job);
}

static void
submit(struct agents *agents, struct agents_call *call,
       void (*run)(struct loop *loop, struct job *job))
{
    struct agents_job *job = agents_job_new(agents);
    struct error err;

    call->next = NULL;
    job->call = call;
    job->job.run = run;
    job->job.done = call_done;
    if (loop_post(agents->loop, &job->job, &err) == 0)
        return;
    agents_job_free(job);
    agents_fail(agents, call, &err);
    call->done(call);
}

/* --- enrol --- */

struct enrolment {
    struct message_enrol message;
    const struct message_envelope *envelope;
    struct ref node;
    struct id id;
    int64_t epoch;
};

static int
decide_enrol(struct changes *changes, void *data, struct error *err)
{
    struct enrolment *enrolment = data;
    const struct node *node;

    if (enrol_node(changes, &enrolment->message, enrolment->envelope,
                   &enrolment->node, err) != 0)
        return -1;
    node = change_get(changes, enrolment->node);
    enrolment->id = node->object.id;
    enrolment->epoch = node->epoch;
    return 0;
}

/* Whoever enrols proves that the key is its own. */
static int
read_enrolment(struct agents_job *job, struct enrolment *enrolment,
               struct error *err)
{
    struct agents_call *call = job->call;
    uint8_t signature[SIGN_SIZE];

    if (message_envelope_parse(&call->headers, &call->envelope, signature,
                               err) != 0 ||
        message_enrol_parse(job->job.arena, call->body, call->body_size,
                            &enrolment->message, err) != 0)
        return -1;
    enrolment->envelope = &call->envelope;
    return message_check_request(enrolment->message.public_key,
                                 MESSAGE_ENROL_PATH, &call->envelope,
                                 call->body, call->body_size, signature,
                                 err);
}

static void
answer_enrolment(struct agents_job *job, const struct enrolment *enrolment)
{
    struct agents *agents = job->agents;
    struct agents_call *call = job->call;
    struct message_enrolled enrolled = { .epoch = enrolment->epoch };
    char text[ID_TEXT_MAX];

    id_format(schema_get(KIND_NODE)->prefix, enrolment->id, text);
    enrolled.node = text;
    memcpy(enrolled.public_key, agents->key.public_key, SIGN_PUBLIC_SIZE);
    call->status = 200;
    message_enrolled_write(&call->answer, &enrolled);
    message_sign_answer(&agents->key, call->status, &call->envelope,
                        call->answer.bytes, call->answer.size,
                        call->signature);
    agents_answer(job, call);
}

static void
enrol_run(struct loop *loop, struct job *base)
{
    struct agents_job *job = base->data;
    struct enrolment enrolment = { 0 };
    struct deed deed = { .verb = "node.enrol",
                         .component = "agent",
                         .decide = decide_enrol,
                         .data = &enrolment };
    struct error err;

    if (read_enrolment(job, &enrolment, &err) != 0) {
        fail_unknown(job, "node.enrol", &err);
        return;
    }
    deed.node = enrolment.message.node;
    if (execute_deed(loop, base->arena, &deed, &err) < 0)
        fail_unknown(job, "node.enrol", &err);
    else
        answer_enrolment(job, &enrolment);
}

void
agents_enrol(struct agents *agents, struct agents_call *call)
{
    submit(agents, call, enrol_run);
}

/* --- sync --- */

struct sighting {
    struct ref node;
    const struct message_envelope *envelope;
    const struct report *report;
};

static int
decide_sync(struct changes *changes, void *data, struct error *err)
{
    struct sighting *sighting = data;
    const struct node *node = change_get(changes, sighting->node);

    (void)err;
    if (presence_is_due(node, sighting->envelope))
        presence_store(change_update(changes, sighting->node),
                       sighting->envelope);
    (void)observe_report(changes, sighting->node, sighting->report);
    return 0;
}

/* The node that signed the call, or none with err. */
static struct ref
authenticate(struct agents_job *job, struct error *err)
{
    const struct world *world = loop_world(job->agents->loop);
    struct agents_call *call = job->call;
    uint8_t signature[SIGN_SIZE];
    const struct node *node = NULL;
    struct ref ref = { 0 };
    struct id id;

    if (message_envelope_parse(&call->headers, &call->envelope, signature,
                               err) != 0)
        return ref;
    if (id_parse(schema_get(KIND_NODE)->prefix, call->envelope.node, &id) ==
        0)
        ref = world_find(world, KIND_NODE, id);
    node = world_node(world, ref);
    if (node == NULL || node->epoch == 0) {
        (void)error_set(err, ERROR_UNAUTHENTICATED,
                        "the signature is not by the node's key");
        return (struct ref){ 0 };
    }
    if (message_check_request(node->public_key, MESSAGE_SYNC_PATH,
                              &call->envelope, call->body, call->body_size,
                              signature, err) != 0)
        return (struct ref){ 0 };
    return ref;
}

static int
take_report(struct agents_job *job, const struct sync *sync,
            struct error *err)
{
    struct agents *agents = job->agents;
    const struct node *node =
        world_node(loop_world(agents->loop), job->call->node);
    struct sighting sighting = { job->call->node, &job->call->envelope,
                                 &sync->report };
    struct deed deed = { .verb = "node.report",
                         .object = job->call->node,
                         .component = "agent",
                         .node = arena_strdup(job->job.arena,
                                              node->object.name),
                         .decide = decide_sync,
                         .data = &sighting };

    if (execute_deed(agents->loop, job->job.arena, &deed, err) < 0)
        return -1;
    intents_heard(agents->loop, job->job.arena, job->call->node);
    return 0;
}

/* Work is put only on nodes that have said what they have. */
static void
note_alive(struct agents *agents, struct presence *presence, struct ref node,
           bool ready)
{
    presence->ready = presence->ready || ready;
    if (presence->ready)
        loop_touch(agents->loop, node);
    presence->seen_ms = loop_context(agents->loop).now_ms;
    presence->alive_ms = clock_mono_ms();
}

/* One call waits for a node at a time: an older one is answered now. */
static void
answer_older(struct agents_job *job)
{
    struct agents *agents = job->agents;
    struct agents_call *older = agents_take_parked(agents, job->call->node);
    struct agents_call *next;

    for (; older != NULL; older = next) {
        next = older->next;
        (void)agents_order(agents, older, job->job.arena, true);
        agents_answer(job, older);
    }
}

static void
answer_sync(struct agents_job *job, const struct sync *sync)
{
    struct agents *agents = job->agents;
    struct agents_call *call = job->call;

    if (sync->wait_ms > 0)
        answer_older(job);
    (void)memcpy(call->known, sync->known, strlen(sync->known) + 1);
    call->deadline_ms = clock_mono_ms() + sync->wait_ms;
    if (agents_order(agents, call, job->job.arena, sync->wait_ms == 0))
        agents_answer(job, call);
    else
        agents_park(agents, job, call);
}

static void
sync_run(struct loop *loop, struct job *base)
{
    struct agents_job *job = base->data;
    struct agents_call *call = job->call;
    struct order_refusal refusal;
    struct post *post;
    struct sync sync;
    struct error err;

    call->node = authenticate(job, &err);
    if (ref_is_none(call->node)) {
        fail_unknown(job, "node.report", &err);
        return;
    }
    if (sync_parse(base->arena, call->body, call->body_size, &sync, &err) !=
        0) {
        fail(job, &err);
        return;
    }
    post = agents_post(job->agents,
                       world_node(loop_world(loop), call->node));
    if (presence_admit(&post->presence,
                       world_node(loop_world(loop), call->node),
                       &call->envelope, sync.challenge, &refusal) != 0) {
        agents_refuse(job->agents, call, &refusal);
        agents_answer(job, call);
        return;
    }
    note_alive(job->agents, &post->presence, call->node, sync.report.ready);
    if (take_report(job, &sync, &err) != 0) {
        fail(job, &err);
        return;
    }
    agents_note_looks(job->agents, call->node, &sync.report);
    agents_give_logs(job->agents, job, call->node, &sync.report);
    answer_sync(job, &sync);
}

void
agents_sync(struct agents *agents, struct agents_call *call)
{
    submit(agents, call, sync_run);
}
