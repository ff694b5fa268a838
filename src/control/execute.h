/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_EXECUTE_H
#define CONTROL_EXECUTE_H

#include "control/loop.h"
#include "core/access.h"
#include "core/record.h"

/*
 * How does a command become a change with a record?  On the world thread:
 *
 *   access_decide -> decide(granted, changes) -> apply + audit record, queued
 *   for one transaction
 *
 * A refusal is recorded too (above a rate folded into one record with a
 * count).  A dry run does everything but apply and record.
 */

/* Who asks and how, for the record; texts may be NULL. */
struct request {
    const char *id;           /* of the request */
    const char *route;        /* template */
    const char *method;
    const char *ip;           /* of the socket */
    const char *proxy;        /* what configured proxies forwarded */
    const char *agent_digest; /* of the user agent */
    const char *params;       /* redacted JSON, never a secret */
};

struct command {
    const struct actor *actor;
    const struct request *request;
    enum verb verb;
    struct ref object; /* resolved, never what a body claims */
    bool dry_run;
    /* A read has changes == NULL.  Returns 0, or -1 with err: refused. NULL:
     * nothing but the decision and, for content verbs, the record. */
    int (*decide)(const struct granted *granted, struct changes *changes,
                  void *data, struct error *err);
    /* After apply (dry run: before nothing was applied; look at changes with
     * change_get), still on the world thread: makes the answer.  May be
     * NULL. */
    void (*answer)(const struct granted *granted,
                   const struct changes *changes, void *data);
    void *data;
    bool read_only;
    const char *intent; /* id of the intent that this ends; NULL: none */
};

/* Before an effect outside of the store, after a dry run that was allowed: a
 * record that says what is about to be done (control/intent.h).  The command
 * itself, with this id as its intent, is the record of the outcome. */
void execute_intent(struct loop *loop, struct arena *arena,
                    const struct command *command, char id_out[ID_TEXT_MAX]);
/* The outcome when the command will not come: the effect failed (failure), or
 * it happened and the command was refused (partial). */
void execute_outcome(struct loop *loop, struct arena *arena,
                     const struct command *command,
                     enum record_outcome outcome, const char *code);

/* 0: allowed, applied unless dry run.  -1: refused with err. */
int execute(struct loop *loop, struct arena *arena,
            const struct command *command, struct error *err);

/*
 * What the platform does by itself or on an agent's word (ticks, reports).
 * Nothing is recorded when decide leaves the set empty.  object may be none:
 * the platform.  node names the agent's node or is NULL.  decide may set
 * verb, object and reason of its own deed through data: the record is made
 * afterwards.
 */
struct deed {
    const char *verb; /* "schedule", "node.report", ... */
    struct ref object;
    const char *component; /* "scheduler", "agent", ... */
    const char *node;
    const char *reason; /* may be NULL */
    int (*decide)(struct changes *changes, void *data, struct error *err);
    void *data;
};
/* 1: something was applied, 0: nothing to do, -1: decide failed. */
int execute_deed(struct loop *loop, struct arena *arena,
                 const struct deed *deed, struct error *err);

/* A failed login or an unknown credential: no subject, so no tenant.  Folded
 * into one record a second. */
void execute_anonymous(struct loop *loop, const struct request *request,
                       const char *verb, const char *reason);

/* How many answers are kept: of one subject (16,384), of all (131,072: about
 * 180 MB), and of a subject before its own give way when all is full. */
#define EXECUTE_RECEIPTS_OF_ONE 16384
#define EXECUTE_RECEIPTS 131072
#define EXECUTE_RECEIPTS_SPARED 256

/* Keeps an answer for its Idempotency-Key (receipt.key) in the job's
 * transaction, for 24 h or until it gives way to newer ones, the oldest
 * first. */
void execute_receipt(struct loop *loop, struct arena *arena,
                     struct ref subject, const uint8_t key[32],
                     const uint8_t digest[32], int status,
                     const char *answer);

#endif
