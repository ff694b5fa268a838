/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_STREAM_H
#define API_STREAM_H

#include <stdbool.h>
#include <stddef.h>

/*
 * How does an answer go on for as long as the client stays?  A stream is a
 * bounded pipe from the platform to one connection.  It is counted: the
 * connection holds it, and so does whoever writes.  All functions may be
 * called from any thread.
 */

#define STREAM_ROOM ((size_t)1024 * 1024)

struct stream;
struct MHD_Connection;
struct MHD_Response;

/* Held once, for the connection. */
struct stream *stream_new(struct MHD_Connection *connection);
struct stream *stream_hold(struct stream *stream);
void stream_drop(struct stream *stream);
/* The connection is gone: nothing more is sent; drops its hold. */
void stream_leave(struct stream *stream);

/* False when the client has gone or reads too slowly (then it is closed). */
bool stream_add(struct stream *stream, const void *bytes, size_t size);
/* Ends the answer behind what was added. */
void stream_close(struct stream *stream);
/* Nobody reads any more. */
bool stream_ended(struct stream *stream);
/* The same; also looks whether the client has left since (a system call):
 * a connection that has nothing to send does not notice by itself. */
bool stream_left(struct stream *stream);

/* A response that sends what is added. */
struct MHD_Response *stream_response(struct stream *stream);

#endif
