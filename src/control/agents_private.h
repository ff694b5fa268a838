/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_AGENTS_PRIVATE_H
#define CONTROL_AGENTS_PRIVATE_H

#include <pthread.h>

#include "control/agents.h"
#include "control/loop.h"
#include "control/presence.h"
#include "core/report.h"

/* The inside of control/agents, for agents.c, agents_sync.c and
 * agents_log.c only. */

#define AGENTS_TICK_MS 250
#define AGENTS_TOUCHED 256

/* What the control plane keeps in memory about one node. */
struct post {
    struct presence presence;
    bool dirty; /* its desired state may have changed */
};

struct agents {
    struct loop *loop;
    struct sign_key key;
    int64_t started_ms; /* monotonic */

    /* world thread only */
    struct post *posts; /* by the node's slot */
    size_t post_count;
    int64_t serial; /* of the newest order */

    pthread_mutex_t lock; /* of all below */
    bool stopping;
    bool serving; /* a service job is on its way */
    struct agents_call *parked;
    struct agents_log *logs;
    int64_t log_number;
    struct ref touched[AGENTS_TOUCHED];
    size_t touched_count;
    bool touched_all;
};

/* A job with the calls and log reads that it answers when it is durable. */
struct agents_job {
    struct job job;
    struct agents *agents;
    struct agents_call *call; /* the one that it came with; NULL: parked */
    struct agents_call *answered;
    struct agents_log *finished;
    struct agents_log *log;
    char log_node[ID_TEXT_MAX]; /* from the store */
};

struct agents_job *agents_job_new(struct agents *agents);
void agents_job_free(struct agents_job *job);

/* World thread: the node's post, made when there is none. */
struct post *agents_post(struct agents *agents, const struct node *node);

/* Waiting calls: of one node, or of all when node is none. */
struct agents_call *agents_take_parked(struct agents *agents,
                                       struct ref node);
void agents_park(struct agents *agents, struct agents_job *job,
                 struct agents_call *call);
/* The call's answer, which is filled, leaves when the job is durable. */
void agents_answer(struct agents_job *job, struct agents_call *call);
/* From done: what did not become durable leaves as a failure. */
void agents_finish_calls(struct agents_job *job);

/* Fill the call's answer. */
void agents_refuse(struct agents *agents, struct agents_call *call,
                   const struct order_refusal *refusal);
void agents_fail(struct agents *agents, struct agents_call *call,
                 const struct error *err);
/* World thread: the node's order. always: also when nothing is new; returns
 * false when it did not answer. */
bool agents_order(struct agents *agents, struct agents_call *call,
                  struct arena *arena, bool always);

/* World thread: log reads for a node that go with its next order. */
const struct order_log *agents_take_logs(struct agents *agents, struct ref node,
                                   struct arena *arena, size_t *count_out);
bool agents_has_logs(struct agents *agents, struct ref node);
/* Hands what the node read to the reads that asked; done is called when the
 * job ends. */
void agents_give_logs(struct agents *agents, struct agents_job *job,
                      struct ref node, const struct report *report);
/* Takes reads off whose time is over, or all. */
void agents_expire_logs(struct agents *agents, struct agents_job *job,
                        int64_t mono_ms);
void agents_finish_logs(struct agents_log *logs);

/* World thread: what was measured of a node's cards; and whose health was not
 * told of for too long. */
void agents_note_looks(struct agents *agents, struct ref node,
                       const struct report *report);
void agents_check_looks(struct agents *agents, struct arena *arena);

/* Any thread: has the world thread look at parked calls soon. */
void agents_serve(struct agents *agents);

#endif
