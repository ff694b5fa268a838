/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ACCEL_REMOTE_H
#define ACCEL_REMOTE_H

#include "accel/wire.h"

/*
 * How is a vendor's library asked by somebody who must not hang?
 *
 * In a process of its own (accel/worker.h), with a deadline for each request.
 * A process that overruns it is killed and another one is started, which is
 * told what not to ask: the card that hung, or the one call between two cards
 * that did.  After a while that grows with each try (60 s to 10 min) it is
 * asked again.  A process that cannot be killed, since the driver holds it in
 * the kernel, is left behind; when there are too many of those no more is
 * started.
 *
 * When three requests in a row get no answer the library as such is not asked
 * for a while, so that a driver that is dead as a whole costs three deadlines
 * and not one for each card.
 *
 * Errors of its own are ERROR_BUSY: no answer within the deadline, or not
 * asked because of an earlier one.  Thread-safe.
 */

struct remote;

struct remote_options {
    const char *program; /* bulkhead-cards */
    const char *backend;
    const char *source; /* NULL: none */
    const char *state_dir;
    int deadline_ms; /* of one request; 0: REMOTE_DEADLINE_MS */
    int change_ms;   /* of one that changes a card; 0: ten times as long */
};

#define REMOTE_DEADLINE_MS 3000

struct remote *remote_new(const struct remote_options *options);
void remote_free(struct remote *remote);

/* payload: what the answer holds, at most size bytes; *got_out says how many
 * there are.  Both may be NULL. */
int remote_call(struct remote *remote, const struct wire_request *request,
                void *payload, size_t size, size_t *got_out, struct error *err);
/* Ends the worker; the next request starts another. */
void remote_end(struct remote *remote);
/* Ends the worker, so that this process has nothing of the cards open, and
 * lets every request wait until remote_go. */
void remote_hold(struct remote *remote);
void remote_go(struct remote *remote);
/* Would a request wait long: for remote_go, or for a card to be changed? */
bool remote_is_held(const struct remote *remote);
/* Is the card one that does not answer? */
bool remote_is_mute(struct remote *remote, const char *uuid);
/* Are there cards that did not even give their names? */
bool remote_has_nameless(struct remote *remote);
/* The worker's process, -1: none; for tests. */
pid_t remote_pid(struct remote *remote);

#endif
