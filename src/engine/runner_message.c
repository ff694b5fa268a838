/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/runner_message.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "engine/runner_request.h"

json_t *
runner_message_answer(json_t *result)
{
    json_t *answer = json_object();

    (void)json_object_set_new(answer, "ok", json_true());
    (void)json_object_set_new(answer, "result", result);
    return answer;
}

/* json_string refuses bytes that are not UTF-8; an error may quote some. */
static json_t *
text_of(const char *text)
{
    json_t *value = json_string(text);

    return value != NULL ? value : json_string("(text that is not UTF-8)");
}

json_t *
runner_message_failure(const struct error *failure)
{
    json_t *answer = json_object();
    json_t *error = json_object();

    (void)json_object_set_new(error, "code",
                              json_string(error_code_text(failure->code)));
    (void)json_object_set_new(error, "text", text_of(failure->text));
    (void)json_object_set_new(error, "field", text_of(failure->field));
    (void)json_object_set_new(error, "help", text_of(failure->help));
    (void)json_object_set_new(answer, "ok", json_false());
    (void)json_object_set_new(answer, "error", error);
    return answer;
}

int
runner_message_send(int fd, const json_t *message, size_t max,
                    struct error *err)
{
    scoped_buffer bytes = { 0 };
    size_t size;

    buffer_add(&bytes, "\0\0\0\0", 4);
    json_write(&bytes, message);
    size = bytes.size - 4;
    if (size > max)
        return error_set(err, ERROR_TOO_LARGE,
                         "a message of %zu bytes is larger than %zu", size,
                         max);
    for (int i = 0; i < 4; i++)
        bytes.bytes[i] = (char)(unsigned char)(size >> (24 - 8 * i));
    for (size_t at = 0; at < bytes.size;) {
        ssize_t put = send(fd, bytes.bytes + at, bytes.size - at, MSG_NOSIGNAL);

        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return error_set(err, ERROR_BUSY, "send to peer: %s",
                             strerror(errno));
        at += (size_t)put;
    }
    return 0;
}

/* 1 when all came, 0 when the stream ended before the first byte. */
static int
receive_all(int fd, void *bytes, size_t size, struct error *err)
{
    char *at = bytes;
    size_t left = size;

    while (left > 0) {
        ssize_t got = recv(fd, at, left, 0);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return error_set(err, ERROR_BUSY, "receive from peer: %s",
                             strerror(errno));
        if (got == 0 && left == size)
            return 0;
        if (got == 0)
            return error_set(err, ERROR_BUSY, "the peer broke off");
        at += got;
        left -= (size_t)got;
    }
    return 1;
}

int
runner_message_receive(int fd, size_t max, struct buffer *out,
                       struct error *err)
{
    unsigned char head[4];
    size_t size;
    int got = receive_all(fd, head, sizeof(head), err);
    char *bytes;

    if (got != 1)
        return got;
    size = (size_t)head[0] << 24 | (size_t)head[1] << 16 |
           (size_t)head[2] << 8 | head[3];
    if (size == 0 || size > max)
        return error_set(err, ERROR_TOO_LARGE,
                         "a message of %zu bytes, must be 1 to %zu", size, max);
    bytes = memory_new(size, 1);
    got = receive_all(fd, bytes, size, err);
    if (got == 1)
        buffer_add(out, bytes, size);
    free(bytes);
    if (got == 0)
        return error_set(err, ERROR_BUSY, "the peer broke off");
    return got;
}

int
runner_message_connect(const char *socket_path, struct error *err)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd;

    if (strlen(socket_path) >= sizeof(address.sun_path))
        return error_set(err, ERROR_INVALID, "the socket's path is too long");
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s",
                   socket_path);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return error_set(err, ERROR_BUSY, "socket: %s", strerror(errno));
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
        int code = errno;

        (void)close(fd);
        return error_set(err, ERROR_BUSY, "the runner does not answer: %s",
                         strerror(code));
    }
    return fd;
}

/* Waits until an answer begins to arrive. */
static int
await(int fd, int timeout_ms, struct error *err)
{
    int64_t end = clock_mono_ms() + timeout_ms;
    struct pollfd item = { .fd = fd, .events = POLLIN };

    for (;;) {
        int64_t left = timeout_ms == 0 ? -1 : end - clock_mono_ms();
        int got = timeout_ms != 0 && left <= 0 ? 0 : poll(&item, 1, (int)left);

        if (got > 0)
            return 0;
        if (got < 0 && errno == EINTR)
            continue;
        return error_set(err, ERROR_BUSY, "the runner did not answer in time");
    }
}

/* Turns an answer into its result, or its error into err. */
static int
open_answer(const json_t *answer, json_t **result_out, struct error *err)
{
    json_t *result = json_object_get(answer, "result");
    const json_t *error = json_object_get(answer, "error");
    const char *text = json_string_value(json_object_get(error, "text"));
    const char *code = json_string_value(json_object_get(error, "code"));
    const char *field = json_string_value(json_object_get(error, "field"));
    const char *help = json_string_value(json_object_get(error, "help"));

    if (json_is_true(json_object_get(answer, "ok")) && result != NULL) {
        *result_out = json_incref(result);
        return 0;
    }
    if (text == NULL || code == NULL)
        return error_set(err, ERROR_INTERNAL,
                         "the runner's answer is not understood");
    (void)error_set(err, error_code_parse(code), "%s", text);
    (void)snprintf(err->field, sizeof(err->field), "%s",
                   field != NULL ? field : "");
    (void)snprintf(err->help, sizeof(err->help), "%s",
                   help != NULL ? help : "");
    return -1;
}

int
runner_message_call(int fd, json_t *request, int timeout_ms,
                    json_t **result_out, struct error *err)
{
    scoped_json owned = request;
    scoped_json answer = NULL;
    scoped_buffer bytes = { 0 };
    int got;

    (void)json_object_set_new(owned, "protocol", json_integer(RUNNER_PROTOCOL));
    if (runner_message_send(fd, owned, RUNNER_REQUEST_SIZE_MAX, err) != 0 ||
        await(fd, timeout_ms, err) != 0)
        return -1;
    got = runner_message_receive(fd, RUNNER_ANSWER_SIZE_MAX, &bytes, err);
    if (got == 0)
        return error_set(err, ERROR_BUSY, "the runner closed the connection");
    if (got < 0)
        return -1;
    answer = json_read(bytes.bytes, bytes.size, err);
    if (answer == NULL)
        return -1;
    return open_answer(answer, result_out, err);
}
