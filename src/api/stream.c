/* SPDX-License-Identifier: Apache-2.0 */
#include "api/stream.h"

#include <microhttpd.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/arena.h"
#include "base/buffer.h"

#define STREAM_BLOCK 16384

struct stream {
    atomic_uint holds;
    pthread_mutex_t lock;
    struct MHD_Connection *connection; /* NULL: gone */
    struct buffer bytes;
    size_t sent;
    bool waits; /* the connection is suspended */
    bool closed;
};

struct stream *
stream_new(struct MHD_Connection *connection)
{
    struct stream *stream = memory_new(1, sizeof *stream);
    atomic_init(&stream->holds, 1);
    (void)pthread_mutex_init(&stream->lock, NULL);
    stream->connection = connection;
    return stream;
}

struct stream *
stream_hold(struct stream *stream)
{
    atomic_fetch_add(&stream->holds, 1);
    return stream;
}

void
stream_drop(struct stream *stream)
{
    if (atomic_fetch_sub(&stream->holds, 1) != 1)
        return;
    (void)pthread_mutex_destroy(&stream->lock);
    buffer_release(&stream->bytes);
    free(stream);
}

void
stream_leave(struct stream *stream)
{
    (void)pthread_mutex_lock(&stream->lock);
    stream->connection = NULL;
    stream->closed = true;
    (void)pthread_mutex_unlock(&stream->lock);
    stream_drop(stream);
}

static void
wake(struct stream *stream)
{
    if (!stream->waits || stream->connection == NULL)
        return;
    stream->waits = false;
    MHD_resume_connection(stream->connection);
}

bool
stream_add(struct stream *stream, const void *bytes, size_t size)
{
    (void)pthread_mutex_lock(&stream->lock);
    if (stream->bytes.size - stream->sent + size > STREAM_ROOM)
        stream->closed = true;
    bool open = !stream->closed;
    if (open)
        buffer_add(&stream->bytes, bytes, size);
    wake(stream);
    (void)pthread_mutex_unlock(&stream->lock);
    return open;
}

void
stream_close(struct stream *stream)
{
    (void)pthread_mutex_lock(&stream->lock);
    stream->closed = true;
    wake(stream);
    (void)pthread_mutex_unlock(&stream->lock);
}

bool
stream_ended(struct stream *stream)
{
    (void)pthread_mutex_lock(&stream->lock);
    bool ended = stream->closed;
    (void)pthread_mutex_unlock(&stream->lock);
    return ended;
}

/* With the lock held. */
static bool
client_is_gone(const struct stream *stream)
{
    const union MHD_ConnectionInfo *info;
    struct pollfd at = {.events = POLLRDHUP};

    if (stream->connection == NULL)
        return false;
    info = MHD_get_connection_info(stream->connection,
                                   MHD_CONNECTION_INFO_CONNECTION_FD);
    if (info == NULL)
        return false;
    at.fd = info->connect_fd;
    return poll(&at, 1, 0) == 1;
}

bool
stream_left(struct stream *stream)
{
    (void)pthread_mutex_lock(&stream->lock);
    if (!stream->closed && client_is_gone(stream)) {
        stream->closed = true;
        wake(stream);
    }
    bool ended = stream->closed;
    (void)pthread_mutex_unlock(&stream->lock);
    return ended;
}

static ssize_t
take_bytes(struct stream *stream, char *out, size_t room)
{
    size_t size = stream->bytes.size - stream->sent;
    if (size > room)
        size = room;
    memcpy(out, stream->bytes.bytes + stream->sent, size);
    stream->sent += size;
    if (stream->sent == stream->bytes.size) {
        buffer_clear(&stream->bytes);
        stream->sent = 0;
    }
    return (ssize_t)size;
}

static ssize_t
on_room(void *data, uint64_t position, char *out, size_t room)
{
    (void)position;
    struct stream *stream = data;
    ssize_t result = 0;
    (void)pthread_mutex_lock(&stream->lock);
    if (stream->sent < stream->bytes.size)
        result = take_bytes(stream, out, room);
    else if (stream->closed || stream->connection == NULL)
        result = MHD_CONTENT_READER_END_OF_STREAM;
    else {
        stream->waits = true;
        MHD_suspend_connection(stream->connection);
    }
    (void)pthread_mutex_unlock(&stream->lock);
    return result;
}

static void
on_response_end(void *data)
{
    stream_drop(data);
}

struct MHD_Response *
stream_response(struct stream *stream)
{
    return MHD_create_response_from_callback(
        MHD_SIZE_UNKNOWN, STREAM_BLOCK, on_room, stream_hold(stream),
        on_response_end);
}
