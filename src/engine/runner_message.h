/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_RUNNER_MESSAGE_H
#define ENGINE_RUNNER_MESSAGE_H

#include <jansson.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"

/*
 * How do requests to bulkhead-runner and its answers travel?  The framing of
 * both sides and the client's call; what the messages say is in
 * runner_request.h.
 */

/* The answers.  result is taken over. */
json_t *runner_message_answer(json_t *result);
json_t *runner_message_failure(const struct error *failure);

/* One message out or in.  receive returns 1 with a buffer of the message in
 * out, 0 at a clean end of the stream, -1 on failure or above max bytes. */
int runner_message_send(int fd, const json_t *message, size_t max,
                        struct error *err);
int runner_message_receive(int fd, size_t max, struct buffer *out,
                           struct error *err);

/* Client.  connect returns a descriptor, or -1 (ERROR_BUSY when nobody
 * listens). */
int runner_message_connect(const char *socket_path, struct error *err);
/* Sends request (with "op" and its fields; "protocol" is added) and gives its
 * result; a failure answer becomes err.  ERROR_BUSY when the connection broke
 * or timeout_ms passed (0: none): the outcome is unknown, repeat it on a new
 * connection.  request is taken over; the caller owns *result_out. */
int runner_message_call(int fd, json_t *request, int timeout_ms,
                        json_t **result_out, struct error *err);

#endif
