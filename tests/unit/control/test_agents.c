/* SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"

#include <pthread.h>

#include "base/clock.h"
#include "base/json.h"
#include "control/agents.h"
#include "control/intent.h"
#include "control/tick.h"
#include "control/presence.h"
#include "core/alarm.h"
#include "core/fence.h"
#include "core/object.h"
#include "core/observe.h"
#include "core/usage.h"
#include "engine/sync.h"
#include "identity/token.h"
#include "store/row.h"

/* A control plane with one enrolled node, spoken to as an agent would. */

static struct agents *agents;

struct plane {
    struct harness harness;
    char key_path[96];
    char token[TOKEN_TEXT_MAX];
    struct sign_key key; /* the agent's */
    struct message_enrolled enrolled;
    struct arena *arena;
    const char *boot;
    int64_t epoch;
    int64_t sequence;
};

static char key_file[96];

static void
prepare(struct loop *loop)
{
    struct agents_options options = { key_file };
    struct error err;

    harness_must(agents_start(loop, &options, &agents, &err), &err);
}

/* --- calls --- */

struct waiting {
    pthread_mutex_t lock;
    pthread_cond_t done;
    bool over;
};

static void
on_done(struct agents_call *call)
{
    struct waiting *waiting = call->data;

    (void)pthread_mutex_lock(&waiting->lock);
    waiting->over = true;
    (void)pthread_cond_signal(&waiting->done);
    (void)pthread_mutex_unlock(&waiting->lock);
}

struct talk {
    struct waiting waiting;
    struct agents_call call;
    struct message_envelope envelope;
    char epoch[24], sequence[24], signature[MESSAGE_SIGNATURE_TEXT];
    struct buffer body;
};

static void
talk_begin(struct plane *plane, struct talk *talk, const char *path,
           const struct buffer *body)
{
    memset(talk, 0, sizeof(*talk));
    (void)pthread_mutex_init(&talk->waiting.lock, NULL);
    (void)pthread_cond_init(&talk->waiting.done, NULL);
    buffer_add(&talk->body, body->bytes, body->size);
    talk->envelope = (struct message_envelope){
        plane->enrolled.node != NULL ? plane->enrolled.node : "",
        plane->boot, plane->epoch, plane->sequence
    };
    (void)snprintf(talk->epoch, sizeof(talk->epoch), "%lld",
                   (long long)plane->epoch);
    (void)snprintf(talk->sequence, sizeof(talk->sequence), "%lld",
                   (long long)plane->sequence);
    message_sign_request(&plane->key, path, &talk->envelope, body->bytes,
                         body->size, talk->signature);
    talk->call.headers = (struct message_headers){
        talk->envelope.node, plane->boot, talk->epoch, talk->sequence,
        talk->signature
    };
    talk->call.body = talk->body.bytes;
    talk->call.body_size = talk->body.size;
    talk->call.source = "unix";
    talk->call.done = on_done;
    talk->call.data = &talk->waiting;
}

static bool
talk_is_over(struct talk *talk)
{
    bool over;

    (void)pthread_mutex_lock(&talk->waiting.lock);
    over = talk->waiting.over;
    (void)pthread_mutex_unlock(&talk->waiting.lock);
    return over;
}

static void
talk_wait(struct talk *talk)
{
    (void)pthread_mutex_lock(&talk->waiting.lock);
    while (!talk->waiting.over)
        (void)pthread_cond_wait(&talk->waiting.done, &talk->waiting.lock);
    (void)pthread_mutex_unlock(&talk->waiting.lock);
}

static void
talk_end(struct talk *talk)
{
    buffer_release(&talk->body);
    buffer_release(&talk->call.answer);
}

/* The answer must be the control plane's, for this request. */
static void
check_signed(const struct plane *plane, const struct talk *talk)
{
    struct error err;

    harness_must(message_check_answer(
                     plane->enrolled.public_key, talk->call.status,
                     &talk->envelope, talk->call.answer.bytes,
                     talk->call.answer.size, talk->call.signature, &err),
                 &err);
}

static void
begin_sync(struct plane *plane, struct talk *talk, const struct sync *sync)
{
    scoped_buffer body = { 0 };

    plane->sequence++;
    sync_write(&body, sync);
    talk_begin(plane, talk, MESSAGE_SYNC_PATH, &body);
    agents_sync(agents, &talk->call);
}

static int
finish_sync(struct plane *plane, struct talk *talk, struct order *order,
            struct order_refusal *refusal)
{
    json_t *document = NULL;
    struct error err;
    int status;

    talk_wait(talk);
    check_signed(plane, talk);
    status = talk->call.status;
    if (status == 200)
        harness_must(order_parse(plane->arena, talk->call.answer.bytes,
                                 talk->call.answer.size, &document, order,
                                 &err),
                     &err);
    else
        harness_must(order_refusal_parse(plane->arena,
                                         talk->call.answer.bytes,
                                         talk->call.answer.size, refusal,
                                         &err),
                     &err);
    talk_end(talk);
    json_decref(document);
    return status;
}

static int
sync_now(struct plane *plane, const struct report *report, const char *known,
         struct order *order, struct order_refusal *refusal)
{
    struct sync sync = { .known = known, .challenge = "" };
    struct order ignored;
    struct order_refusal refused;
    struct talk talk;

    if (report != NULL)
        sync.report = *report;
    begin_sync(plane, &talk, &sync);
    return finish_sync(plane, &talk, order != NULL ? order : &ignored,
                       refusal != NULL ? refusal : &refused);
}

/* --- set up --- */

static void
add_token(struct loop *loop, struct arena *arena, void *data)
{
    struct plane *plane = data;
    struct changes *changes = loop_changes(loop, arena);
    const struct world *world = loop_world(loop);
    struct ref pool = world_first(world, KIND_POOL);
    struct jointoken *token = change_create(changes, KIND_JOINTOKEN, pool,
                                            "join");
    struct digest digest;

    token_make(TOKEN_ENROL, plane->token);
    token_digest(plane->token, &digest);
    memcpy(token->digest, digest.bytes, sizeof(token->digest));
    (void)snprintf(token->node, sizeof(token->node), "n1");
    token->expires_ms = loop_context(loop).now_ms + 60000;
    loop_apply(loop, changes);
}

static int
enrol_as(struct plane *plane, const char *token, const char *name,
         struct message_enrolled *out)
{
    struct message_enrol message = { .token = token, .node = name };
    scoped_buffer body = { 0 };
    struct talk talk;
    struct error err;
    int status;

    memcpy(message.public_key, plane->key.public_key, SIGN_PUBLIC_SIZE);
    plane->sequence++;
    plane->epoch = 0;
    message_enrol_write(&body, &message);
    plane->enrolled.node = NULL;
    talk_begin(plane, &talk, MESSAGE_ENROL_PATH, &body);
    agents_enrol(agents, &talk.call);
    talk_wait(&talk);
    status = talk.call.status;
    if (status == 200) {
        harness_must(message_enrolled_parse(plane->arena,
                                            talk.call.answer.bytes,
                                            talk.call.answer.size, out,
                                            &err),
                     &err);
        plane->enrolled = *out;
        plane->epoch = out->epoch;
        check_signed(plane, &talk);
    }
    talk_end(&talk);
    return status;
}

static void
new_key(struct plane *plane, const char *name)
{
    char path[160];
    struct error err;

    (void)snprintf(path, sizeof(path), "%s/%s", plane->harness.where, name);
    harness_must(sign_key_open(path, &plane->key, &err), &err);
}

static int
open_plane(void **state)
{
    struct plane *plane = memory_new(1, sizeof(*plane));
    struct message_enrolled enrolled;

    plane->arena = arena_new();
    plane->boot = "boot-1";
    plane->sequence = 1000;
    (void)snprintf(key_file, sizeof(key_file), "/tmp/bulkhead-agents-%d.key",
                   (int)getpid());
    plane->harness.prepare = prepare;
    harness_open(&plane->harness);
    new_key(plane, "agent.key");
    harness_run(&plane->harness, add_token, plane);
    assert_int_equal(enrol_as(plane, plane->token, "n1", &enrolled), 200);
    *state = plane;
    return 0;
}

static int
close_plane(void **state)
{
    struct plane *plane = *state;

    agents_stop(agents);
    loop_stop(plane->harness.loop);
    agents_free(agents);
    harness_close(&plane->harness);
    (void)unlink(key_file);
    arena_free(plane->arena);
    free(plane);
    return 0;
}

static void
restart(struct plane *plane)
{
    agents_stop(agents);
    loop_stop(plane->harness.loop);
    agents_free(agents);
    harness_restart(&plane->harness);
}

/* --- what is there --- */

struct look {
    struct ref node;
    struct ref instance;
    char instance_id[ID_TEXT_MAX];
    int value;
    size_t count;
    bool flag;
};

static void
look_nodes(struct loop *loop, struct arena *arena, void *data)
{
    struct look *look = data;

    (void)arena;
    look->count = world_count(loop_world(loop), KIND_NODE);
    look->node = world_first(loop_world(loop), KIND_NODE);
    look->value = world_node(loop_world(loop), look->node)->state;
}

static void
look_instance(struct loop *loop, struct arena *arena, void *data)
{
    struct look *look = data;

    (void)arena;
    look->value = world_instance(loop_world(loop), look->instance)->state;
}

static void
look_alarm(struct loop *loop, struct arena *arena, void *data)
{
    struct look *look = data;

    look->flag = alarm_stands(loop_changes(loop, arena), look->node,
                              "report.instance");
}

/* An instance that the scheduler would have assigned to the node. */
static void
assign(struct loop *loop, struct arena *arena, void *data)
{
    struct look *look = data;
    struct changes *changes = loop_changes(loop, arena);
    const struct world *world = loop_world(loop);
    struct ref node = world_first(world, KIND_NODE);
    struct tenant *tenant = change_create(
        changes, KIND_TENANT, world_platform_ref(world), "research");
    struct object *project = change_create(changes, KIND_PROJECT,
                                           tenant->object.self, "train");
    struct workload *workload = change_create(changes, KIND_WORKLOAD,
                                              project->self, "job");
    struct instance *instance = change_create(
        changes, KIND_INSTANCE, workload->object.self, "0");

    tenant->number = 7;
    workload->state = WORKLOAD_ASSIGNED;
    workload->instances = workload->attempt = instance->attempt = 1;
    (void)snprintf(workload->image, sizeof(workload->image),
                   "tool@sha256:%064d", 1);
    change_doc(changes, &workload->spec,
               "{\"command\":[\"/bin/true\"],\"env\":{\"A\":\"b\"}}");
    instance->node = node;
    instance->incarnation = 1;
    instance->project = project->self;
    instance->pool = world_parent(world, node);
    instance->assigned_ms = changes->context.now_ms;
    instance->cpu_milli = 100;
    instance->memory_mib = 64;
    instance->address = 2;
    instance->uid_base = 1048576;
    look->instance = instance->object.self;
    id_format(schema_get(KIND_INSTANCE)->prefix, instance->object.id,
              look->instance_id);
    loop_apply(loop, changes);
}

/* --- enrolment --- */

static void
a_join_token_enrols_one_machine_once(void **state)
{
    struct plane *plane = *state;
    struct message_enrolled again;
    struct look look;

    harness_run(&plane->harness, look_nodes, &look);
    assert_int_equal(look.count, 1);
    /* The same machine may repeat it, another may not. */
    assert_int_equal(enrol_as(plane, plane->token, "n1", &again), 200);
    assert_int_equal(again.epoch, 1);
    new_key(plane, "thief.key");
    assert_int_equal(enrol_as(plane, plane->token, "n1", &again), 401);
    harness_run(&plane->harness, look_nodes, &look);
    assert_int_equal(look.count, 1);
}

static void
a_join_token_is_for_its_node_and_its_time(void **state)
{
    struct plane *plane = *state;
    struct message_enrolled enrolled;
    char other[TOKEN_TEXT_MAX];

    harness_run(&plane->harness, add_token, plane);
    new_key(plane, "second.key");
    token_make(TOKEN_ENROL, other);
    assert_int_equal(enrol_as(plane, plane->token, "n2", &enrolled), 401);
    assert_int_equal(enrol_as(plane, other, "n1", &enrolled), 401);
    assert_int_equal(enrol_as(plane, "", "n1", &enrolled), 401);
    harness_pass(59000);
    harness_pass(2000);
    assert_int_equal(enrol_as(plane, plane->token, "n1", &enrolled), 401);
}

/* [A24] */
static void
a_node_that_is_enrolled_anew_leaves_its_old_key_worthless(void **state)
{
    struct plane *plane = *state;
    struct sign_key old = plane->key;
    struct message_enrolled enrolled;
    struct order_refusal refusal;

    harness_run(&plane->harness, add_token, plane);
    new_key(plane, "new.key");
    assert_int_equal(enrol_as(plane, plane->token, "n1", &enrolled), 200);
    assert_int_equal(enrolled.epoch, 2);
    assert_int_equal(sync_now(plane, NULL, "", NULL, NULL), 200);
    plane->key = old;
    assert_int_equal(sync_now(plane, NULL, "", NULL, &refusal), 401);
    plane->epoch = 1;
    assert_int_equal(sync_now(plane, NULL, "", NULL, &refusal), 401);
}

/* --- who and when --- */

static void
a_replayed_message_is_refused(void **state)
{
    struct plane *plane = *state;
    struct order_refusal refusal;

    assert_int_equal(sync_now(plane, NULL, "", NULL, NULL), 200);
    plane->sequence--;
    assert_int_equal(sync_now(plane, NULL, "", NULL, &refusal), 409);
    assert_int_equal(refusal.floor, plane->sequence);
}

static void
a_replay_is_refused_also_after_a_restart(void **state)
{
    struct plane *plane = *state;
    struct order_refusal refusal;

    assert_int_equal(sync_now(plane, NULL, "", NULL, NULL), 200);
    assert_int_equal(sync_now(plane, NULL, "", NULL, NULL), 200);
    restart(plane);
    plane->sequence--;
    assert_int_equal(sync_now(plane, NULL, "", NULL, &refusal), 409);
    assert_true(refusal.floor >= plane->sequence);
    plane->sequence = refusal.floor;
    assert_int_equal(sync_now(plane, NULL, "", NULL, NULL), 200);
}

static void
a_forged_signature_or_epoch_is_refused(void **state)
{
    struct plane *plane = *state;

    plane->epoch = 2;
    assert_int_equal(sync_now(plane, NULL, "", NULL, NULL), 401);
    plane->epoch = 1;
    new_key(plane, "forger.key");
    assert_int_equal(sync_now(plane, NULL, "", NULL, NULL), 401);
}

static void
a_body_that_was_changed_on_the_way_is_refused(void **state)
{
    struct plane *plane = *state;
    struct sync sync = { .known = "", .challenge = "" };
    scoped_buffer body = { 0 };
    struct talk talk;

    plane->sequence++;
    sync_write(&body, &sync);
    talk_begin(plane, &talk, MESSAGE_SYNC_PATH, &body);
    talk.body.bytes[talk.body.size - 2] ^= 1;
    agents_sync(agents, &talk.call);
    talk_wait(&talk);
    assert_int_equal(talk.call.status, 401);
    talk_end(&talk);
}

static void
a_new_boot_is_taken_only_after_its_challenge(void **state)
{
    struct plane *plane = *state;
    struct sync sync = { .known = "", .challenge = "" };
    struct order_refusal refusal;
    struct order order;
    struct talk talk;

    plane->boot = "boot-2";
    plane->sequence = 5;
    assert_int_equal(sync_now(plane, NULL, "", NULL, &refusal), 401);
    assert_true(strlen(refusal.challenge) >= 32);
    sync.challenge = "0123456789abcdef0123456789abcdef";
    begin_sync(plane, &talk, &sync);
    assert_int_equal(finish_sync(plane, &talk, &order, &refusal), 401);
    sync.challenge = refusal.challenge;
    begin_sync(plane, &talk, &sync);
    assert_int_equal(finish_sync(plane, &talk, &order, &refusal), 200);
    /* From now on it is the node's boot, and the former one is not. */
    assert_int_equal(sync_now(plane, NULL, "", NULL, NULL), 200);
    plane->boot = "boot-1";
    plane->sequence = 900000;
    assert_int_equal(sync_now(plane, NULL, "", NULL, &refusal), 401);
}

/* --- orders --- */

static void
an_assignment_ends_the_wait_with_the_order(void **state)
{
    struct plane *plane = *state;
    struct sync sync = { .wait_ms = 10000, .challenge = "" };
    struct order_refusal refusal;
    struct order order;
    struct look look;
    struct talk talk;
    int64_t began;

    assert_int_equal(sync_now(plane, NULL, "", &order, NULL), 200);
    assert_int_equal(order.instance_count, 0);
    sync.known = order.revision;
    begin_sync(plane, &talk, &sync);
    (void)usleep(50000);
    assert_false(talk_is_over(&talk));
    began = clock_mono_ms();
    harness_run(&plane->harness, assign, &look);
    assert_int_equal(finish_sync(plane, &talk, &order, &refusal), 200);
    assert_true(clock_mono_ms() - began < 3000);
    assert_int_equal(order.instance_count, 1);
    assert_string_equal(order.instances[0].instance, look.instance_id);
    assert_int_equal(order.instances[0].tenant, 7);
    assert_int_equal(order.instances[0].want, ORDER_RUN);
}

static void
an_order_that_is_known_is_not_repeated(void **state)
{
    struct plane *plane = *state;
    struct order first, second;
    struct look look;

    harness_run(&plane->harness, assign, &look);
    assert_int_equal(sync_now(plane, NULL, "", &first, NULL), 200);
    assert_int_equal(sync_now(plane, NULL, first.revision, &second, NULL),
                     200);
    assert_true(second.same);
    assert_int_equal(second.instance_count, 0);
    assert_true(second.serial > first.serial);
}

static void
a_start_says_all_that_the_runner_needs(void **state)
{
    struct plane *plane = *state;
    struct sync sync = { .known = "", .challenge = "" };
    json_t *document = NULL;
    const json_t *start;
    struct order order;
    struct look look;
    struct talk talk;
    struct error err;

    harness_run(&plane->harness, assign, &look);
    begin_sync(plane, &talk, &sync);
    talk_wait(&talk);
    harness_must(order_parse(plane->arena, talk.call.answer.bytes,
                             talk.call.answer.size, &document, &order, &err),
                 &err);
    start = order.instances[0].start;
    assert_string_equal(
        json_string_value(
            json_object_get(json_object_get(start, "image"), "name")),
        "tool");
    assert_string_equal(json_string_value(json_array_get(
                            json_object_get(start, "argv"), 0)),
                        "/bin/true");
    assert_int_equal(json_integer_value(json_object_get(start, "uid_base")),
                     1048576);
    json_decref(document);
    talk_end(&talk);
}

/* A tenant's huge manifests must not make its node deaf. */
static void
assign_huge(struct loop *loop, struct arena *arena, void *data)
{
    struct look *look = data;
    struct changes *changes;
    const struct world *world = loop_world(loop);
    struct ref first = world_first(world, KIND_INSTANCE);
    struct workload *workload;
    size_t size = look->count;
    char *spec = arena_alloc(arena, size + 64);

    (void)snprintf(spec, size, "{\"command\":[\"");
    memset(spec + strlen(spec), 'x', size - 32);
    memcpy(spec + size - 20, "\"]}", 4);
    changes = loop_changes(loop, arena);
    workload = change_update(changes, world_parent(world, first));
    change_doc(changes, &workload->spec, spec);
    for (int i = 1; i < look->value; i++) {
        struct instance *instance =
            change_create(changes, KIND_INSTANCE, workload->object.self, "");
        struct object head = instance->object;

        *instance = *world_instance(world, first);
        instance->object = head;
        instance->number = i;
    }
    loop_apply(loop, changes);
}

static size_t
count_starts(const struct order *order)
{
    size_t count = 0;

    for (size_t i = 0; i < order->instance_count; i++)
        count += order->instances[i].start != NULL;
    return count;
}

static void
huge_manifests_share_the_room_of_an_order(void **state)
{
    struct plane *plane = *state;
    struct order order;
    struct look look;

    harness_run(&plane->harness, assign, &look);
    look.count = 200000;
    look.value = 6;
    harness_run(&plane->harness, assign_huge, &look);
    assert_int_equal(sync_now(plane, NULL, "", &order, NULL), 200);
    assert_int_equal(order.instance_count, 6);
    assert_int_equal(count_starts(&order), 2);
}

static void
a_manifest_that_no_runner_takes_leaves_room_for_others(void **state)
{
    struct plane *plane = *state;
    struct order order;
    struct look look;

    harness_run(&plane->harness, assign, &look);
    look.count = 900000;
    look.value = 6;
    harness_run(&plane->harness, assign_huge, &look);
    assert_int_equal(sync_now(plane, NULL, "", &order, NULL), 200);
    assert_int_equal(count_starts(&order), 6);
}

static void
what_an_agent_reports_is_in_the_world_when_it_is_answered(void **state)
{
    struct plane *plane = *state;
    struct look look;
    struct report_instance running = { .incarnation = 1,
                                       .state = REPORT_RUNNING,
                                       .failure = "",
                                       .checkpoint_step = -1 };
    struct report report = { .instances_known = true,
                             .instances = &running,
                             .instance_count = 1 };

    harness_run(&plane->harness, assign, &look);
    running.instance = look.instance_id;
    assert_int_equal(sync_now(plane, &report, "", NULL, NULL), 200);
    restart(plane); /* what was answered is durable */
    harness_run(&plane->harness, look_nodes, &look);
    harness_run(&plane->harness, look_instance, &look);
    assert_int_equal(look.value, INSTANCE_RUNNING);
}

static void
look_seen(struct loop *loop, struct arena *arena, void *data)
{
    struct look *look = data;

    (void)arena;
    look->node = world_first(loop_world(loop), KIND_NODE);
    look->flag = world_node(loop_world(loop), look->node)->seen_ms > 0;
}

/* [N26] A node that has not read what it has is heard, and takes no work. */
static void
a_node_is_at_its_post_when_its_agent_is_ready(void **state)
{
    struct plane *plane = *state;
    struct report report = { .instances_known = true };
    struct look look = { 0 };

    assert_int_equal(sync_now(plane, &report, "", NULL, NULL), 200);
    harness_run(&plane->harness, look_seen, &look);
    assert_false(look.flag);
    report.ready = true;
    assert_int_equal(sync_now(plane, &report, "", NULL, NULL), 200);
    harness_run(&plane->harness, look_seen, &look);
    assert_true(look.flag);
}

static void
give_up(struct loop *loop, struct arena *arena, void *data)
{
    struct look *look = data;
    struct changes *changes = loop_changes(loop, arena);
    struct error err;

    observe_lost(changes, look->node);
    loop_apply(loop, changes);
    changes = loop_changes(loop, arena);
    assert_int_equal(fence_node(changes, look->node, "it is off", &err), 0);
    loop_apply(loop, changes);
}

/* It runs all the same, also after a restart of the control plane: it is to be
 * killed, and only then the node is back. */
static void
what_was_given_up_with_a_node_is_ordered_to_be_killed(void **state)
{
    struct plane *plane = *state;
    struct report_instance running = { .incarnation = 1,
                                       .state = REPORT_RUNNING,
                                       .failure = "",
                                       .checkpoint_step = -1 };
    struct report report = { .ready = true,
                             .instances_known = true,
                             .instances = &running,
                             .instance_count = 1 };
    struct order order;
    struct look look;

    harness_run(&plane->harness, assign, &look);
    running.instance = look.instance_id;
    harness_run(&plane->harness, look_nodes, &look);
    assert_int_equal(sync_now(plane, &report, "", NULL, NULL), 200);
    harness_run(&plane->harness, give_up, &look);
    restart(plane);
    plane->sequence += PRESENCE_RESERVE;
    assert_int_equal(sync_now(plane, &report, "", &order, NULL), 200);
    assert_int_equal(order.instance_count, 1);
    assert_string_equal(order.instances[0].instance, look.instance_id);
    assert_int_equal(order.instances[0].want, ORDER_STOP);
    harness_run(&plane->harness, look_nodes, &look);
    assert_int_equal(look.value, NODE_LOST);
    report.instance_count = 0;
    assert_int_equal(sync_now(plane, &report, "", &order, NULL), 200);
    assert_int_equal(order.instance_count, 0);
    harness_run(&plane->harness, look_nodes, &look);
    assert_int_equal(look.value, NODE_CORDONED);
}

static int
count_resumes(void *context, const struct value *values, struct error *err)
{
    const char *verb = row_text(KIND_EVENT, values, "verb");

    (void)err;
    *(size_t *)context += strcmp(verb, INTENT_VERB_RESUME) == 0;
    return 0;
}

static size_t
resumes(struct plane *plane)
{
    struct store_reader *reader;
    char platform[ID_TEXT_MAX];
    struct error err;
    size_t count = 0;

    object_id_text(loop_world(plane->harness.loop),
                   world_platform_ref(loop_world(plane->harness.loop)),
                   platform);
    harness_must(loop_reader(plane->harness.loop, &reader, &err), &err);
    harness_must(store_events(reader, platform, 0, 0, count_resumes, &count,
                              &err),
                 &err);
    store_reader_close(reader);
    return count;
}

static void
a_report_ends_what_was_under_way_at_the_start(void **state)
{
    struct plane *plane = *state;
    struct report report = { .instances_known = true };
    struct look look;
    struct error err;

    harness_run(&plane->harness, assign, &look);
    restart(plane);
    harness_must(tick_record_start(plane->harness.loop, &err), &err);
    assert_int_equal(resumes(plane), 1);
    assert_int_equal(sync_now(plane, &report, "", NULL, NULL), 200);
    assert_int_equal(resumes(plane), 2);
    assert_int_equal(sync_now(plane, &report, "", NULL, NULL), 200);
    assert_int_equal(resumes(plane), 2);
}

static void
a_fact_that_is_not_believed_raises_an_alarm_in_the_world(void **state)
{
    struct plane *plane = *state;
    struct report_instance ghost = {
        .instance = "in_aaaaaaaaaaaaaaaaaaaaaaaaaa",
        .incarnation = 1,
        .state = REPORT_RUNNING,
        .failure = "",
        .checkpoint_step = -1
    };
    struct report report = { .instances_known = true,
                             .instances = &ghost,
                             .instance_count = 1 };
    struct look look;

    assert_int_equal(sync_now(plane, &report, "", NULL, NULL), 200);
    harness_run(&plane->harness, look_nodes, &look);
    harness_run(&plane->harness, look_alarm, &look);
    assert_true(look.flag);
}

/* --- logs --- */

static void
on_log(struct agents_log *log)
{
    struct waiting *waiting = log->data;

    (void)pthread_mutex_lock(&waiting->lock);
    waiting->over = true;
    (void)pthread_cond_signal(&waiting->done);
    (void)pthread_mutex_unlock(&waiting->lock);
}

static void
a_log_read_goes_to_the_node_and_comes_back(void **state)
{
    struct plane *plane = *state;
    struct talk wait = { 0 };
    struct agents_log log = { .max = 100, .offset = 4, .done = on_log,
                              .data = &wait.waiting };
    struct report_log piece = { .bytes = "hello", .size = 5, .next = 9,
                                .complete = true, .failure = "" };
    struct report_log stranger = piece;
    struct report report = { .logs = &stranger, .log_count = 1 };
    struct order order = { 0 };
    struct look look;

    (void)pthread_mutex_init(&wait.waiting.lock, NULL);
    (void)pthread_cond_init(&wait.waiting.done, NULL);
    harness_run(&plane->harness, assign, &look);
    assert_int_equal(id_parse(schema_get(KIND_INSTANCE)->prefix,
                              look.instance_id, &log.instance),
                     0);
    agents_request_log(agents, &log);
    while (order.log_count == 0)
        assert_int_equal(sync_now(plane, NULL, "", &order, NULL), 200);
    assert_string_equal(order.logs[0].instance, look.instance_id);
    assert_int_equal(order.logs[0].offset, 4);
    piece.request = order.logs[0].request;
    stranger.request = piece.request + 1;
    (void)sync_now(plane, &report, "", NULL, NULL);
    assert_false(talk_is_over(&wait));
    report.logs = &piece;
    (void)sync_now(plane, &report, "", NULL, NULL);
    talk_wait(&wait);
    assert_false(log.failed);
    assert_string_equal(buffer_text(&log.bytes), "hello");
    assert_int_equal(log.next, 9);
    assert_true(log.complete);
    buffer_release(&log.bytes);
}

static void
a_log_of_nothing_is_not_found(void **state)
{
    struct talk wait = { 0 };
    struct agents_log log = { .max = 100, .done = on_log,
                              .data = &wait.waiting,
                              .instance = { 1, 2 } };

    (void)state;
    (void)pthread_mutex_init(&wait.waiting.lock, NULL);
    (void)pthread_cond_init(&wait.waiting.done, NULL);
    agents_request_log(agents, &log);
    talk_wait(&wait);
    assert_true(log.failed);
    assert_int_equal(log.error.code, ERROR_NOT_FOUND);
}

/* --- life --- */

static void
a_stop_answers_whoever_waits(void **state)
{
    struct plane *plane = *state;
    struct sync sync = { .wait_ms = 10000, .challenge = "" };
    struct order_refusal refusal;
    struct order order;
    struct talk talk;

    assert_int_equal(sync_now(plane, NULL, "", &order, NULL), 200);
    sync.known = order.revision;
    begin_sync(plane, &talk, &sync);
    (void)usleep(50000);
    agents_stop(agents);
    assert_int_equal(finish_sync(plane, &talk, &order, &refusal), 503);
    assert_int_equal(refusal.code, ERROR_BUSY);
}

static void
a_second_wait_answers_the_first(void **state)
{
    struct plane *plane = *state;
    struct sync sync = { .wait_ms = 10000, .challenge = "" };
    struct order_refusal refusal;
    struct order order;
    struct talk first, second;

    assert_int_equal(sync_now(plane, NULL, "", &order, NULL), 200);
    sync.known = order.revision;
    begin_sync(plane, &first, &sync);
    begin_sync(plane, &second, &sync);
    assert_int_equal(finish_sync(plane, &first, &order, &refusal), 200);
    assert_true(order.same);
    assert_false(talk_is_over(&second));
    agents_stop(agents);
    assert_int_equal(finish_sync(plane, &second, &order, &refusal), 503);
}

#define TEST(name)                                                            \
    cmocka_unit_test_setup_teardown(name, open_plane, close_plane)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_join_token_enrols_one_machine_once),
        TEST(a_join_token_is_for_its_node_and_its_time),
        TEST(a_node_that_is_enrolled_anew_leaves_its_old_key_worthless),
        TEST(a_replayed_message_is_refused),
        TEST(a_replay_is_refused_also_after_a_restart),
        TEST(a_report_ends_what_was_under_way_at_the_start),
        TEST(a_forged_signature_or_epoch_is_refused),
        TEST(a_body_that_was_changed_on_the_way_is_refused),
        TEST(a_new_boot_is_taken_only_after_its_challenge),
        TEST(an_assignment_ends_the_wait_with_the_order),
        TEST(an_order_that_is_known_is_not_repeated),
        TEST(a_start_says_all_that_the_runner_needs),
        TEST(huge_manifests_share_the_room_of_an_order),
        TEST(a_manifest_that_no_runner_takes_leaves_room_for_others),
        TEST(what_an_agent_reports_is_in_the_world_when_it_is_answered),
        TEST(a_node_is_at_its_post_when_its_agent_is_ready),
        TEST(what_was_given_up_with_a_node_is_ordered_to_be_killed),
        TEST(a_fact_that_is_not_believed_raises_an_alarm_in_the_world),
        TEST(a_log_read_goes_to_the_node_and_comes_back),
        TEST(a_log_of_nothing_is_not_found),
        TEST(a_stop_answers_whoever_waits),
        TEST(a_second_wait_answers_the_first),
    };

    return cmocka_run_group_tests_name("agents", tests, NULL, NULL);
}
