/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_AGENTS_H
#define CONTROL_AGENTS_H

#include "base/buffer.h"
#include "base/error.h"
#include "base/id.h"
#include "core/schema.h"
#include "engine/message.h"
#include "engine/order.h"

/*
 * What do the nodes say, and what should they do?
 *
 * Takes the agents' messages, checks who sent them, commits what they
 * observed, and answers with the node's desired state once that is durable.
 * Keeps the nodes' leases, and relays reads of logs.
 *
 * All functions may be called from any thread.
 */

struct loop;
struct agents;

struct agents_options {
    const char *key_path; /* the control plane's signing key; made if absent */
};

/* Starts the lease timer on the loop; the loop must live longer. */
int agents_start(struct loop *loop, const struct agents_options *options,
                 struct agents **agents_out, struct error *err);
/* Answers every waiting call and log read (ERROR_BUSY), and each later one at
 * once.  Before loop_stop. */
void agents_stop(struct agents *agents);
/* After loop_stop.  NULL is nothing. */
void agents_free(struct agents *agents);

/* One request of an agent.  The caller owns it and everything in it until
 * done is called, exactly once, from another thread or the calling one. */
struct agents_call {
    /* in */
    struct message_headers headers; /* X-Bulkhead-*, NULL when absent */
    const char *body;
    size_t body_size;
    const char *source; /* address of the socket, for the audit record */
    void (*done)(struct agents_call *call);
    void *data;
    /* out; the caller releases answer */
    int status;
    struct buffer answer; /* application/json */
    char signature[MESSAGE_SIGNATURE_TEXT]; /* header X-Bulkhead-Signature */
    /* private */
    struct agents_call *next;
    struct message_envelope envelope;
    struct ref node;
    char known[ORDER_REVISION_MAX];
    int64_t deadline_ms; /* monotonic: answered then, news or not */
};

void agents_enrol(struct agents *agents, struct agents_call *call);
/* Long poll: done may come MESSAGE_WAIT_MAX_MS later. */
void agents_sync(struct agents *agents, struct agents_call *call);

/*
 * Reads a piece of an instance's log from its node.  The caller has decided
 * that the reader may (and decides again for each piece).  done is called
 * exactly once.
 */
struct agents_log {
    /* in */
    struct id instance;
    int64_t offset;
    int64_t max;     /* bytes wanted, 1..65536 */
    int64_t wait_ms; /* 0: at once; else wait so long for a first byte, at
                        most 8000 */
    void (*done)(struct agents_log *log);
    void *data;
    /* out; the caller releases bytes */
    bool failed; /* error holds: ERROR_NOT_FOUND, ERROR_GONE, ERROR_BUSY */
    struct error error;
    struct buffer bytes;
    int64_t next;   /* offset of the next piece */
    bool complete;  /* the instance has ended and nothing follows */
    bool truncated; /* the size cap cut the rest off */
    /* private */
    struct agents_log *next_log;
    struct ref node;
    int64_t incarnation;
    int64_t number;
    int64_t deadline_ms; /* monotonic */
    bool sent;
};

void agents_request_log(struct agents *agents, struct agents_log *log);

/* World thread: when the node's agent was heard last, ms UTC; 0: not since
 * the start. */
int64_t agents_seen_ms(const struct agents *agents, struct ref node);

#endif
