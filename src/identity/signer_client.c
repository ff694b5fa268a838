/* SPDX-License-Identifier: Apache-2.0 */
#include "identity/signer_client.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/clock.h"
#include "base/file.h"
#include "identity/signer.h"

static int
wait_for(int fd, short events, int64_t deadline_ms, struct error *err)
{
    struct pollfd poll_fd = { .fd = fd, .events = events };

    for (;;) {
        int64_t left = deadline_ms - clock_mono_ms();
        int ready = left <= 0 ? 0 : poll(&poll_fd, 1, (int)left);

        if (ready > 0)
            return 0;
        if (ready < 0 && errno == EINTR)
            continue;
        return error_set(err, ERROR_BUSY, "signer: no answer in time");
    }
}

static int
connect_to(const char *path, struct error *err)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd;

    if (strlen(path) >= sizeof(address.sun_path))
        return error_set(err, ERROR_INVALID,
                         "signer: the socket's path is too long");
    memcpy(address.sun_path, path, strlen(path) + 1);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&address,
                           sizeof(address)) == 0)
        return fd;
    (void)error_set(err, ERROR_BUSY, "signer: cannot connect: %s",
                    strerror(errno));
    if (fd >= 0)
        (void)close(fd);
    return -1;
}

static int
send_request(int fd, const struct buffer *request, int64_t deadline_ms,
             struct error *err)
{
    size_t sent = 0;

    while (sent < request->size) {
        ssize_t put = send(fd, request->bytes + sent, request->size - sent,
                           MSG_NOSIGNAL);

        if (put > 0)
            sent += (size_t)put;
        else if (errno == EAGAIN || errno == EINTR) {
            if (wait_for(fd, POLLOUT, deadline_ms, err) != 0)
                return -1;
        } else {
            return error_set(err, ERROR_BUSY, "signer: %s", strerror(errno));
        }
    }
    (void)shutdown(fd, SHUT_WR);
    return 0;
}

static int
receive_answer(int fd, int64_t deadline_ms, struct buffer *answer,
               struct error *err)
{
    char chunk[4096];

    for (;;) {
        ssize_t got = recv(fd, chunk, sizeof(chunk), 0);

        if (got == 0)
            return 0;
        if (got > 0) {
            buffer_add(answer, chunk, (size_t)got);
            if (answer->size > SIGNER_ANSWER_MAX)
                return error_set(err, ERROR_INTERNAL,
                                 "signer: the answer is too large");
        } else if (errno == EAGAIN || errno == EINTR) {
            if (wait_for(fd, POLLIN, deadline_ms, err) != 0)
                return -1;
        } else {
            return error_set(err, ERROR_BUSY, "signer: %s", strerror(errno));
        }
    }
}

/* "refused NAME\nSENTENCE\n" as an error. */
static int
refusal(const char *answer, struct error *err)
{
    static const struct {
        const char *name;
        enum error_code code;
    } codes[] = { { "rollback", ERROR_VERIFY }, { "fork", ERROR_VERIFY },
                  { "proof", ERROR_VERIFY },    { "stale", ERROR_CONFLICT },
                  { "superseded", ERROR_VERIFY },
                  { "full", ERROR_CONFLICT },
                  { "malformed", ERROR_INVALID } };
    enum error_code code = ERROR_INTERNAL;
    const char *name = answer + strlen("refused ");
    size_t size = strcspn(name, "\n");
    const char *text = name + size + (name[size] == '\n');

    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        if (strlen(codes[i].name) == size &&
            strncmp(codes[i].name, name, size) == 0)
            code = codes[i].code;
    }
    return error_set(err, code, "signer: refused: %.*s: %.*s", (int)size, name,
                     (int)strcspn(text, "\n"), text);
}

/* The answer must begin with the line `kind`. */
static int
ask(const char *socket_path, const struct buffer *request, int timeout_ms,
    const char *kind, struct buffer *answer, struct error *err)
{
    const int64_t deadline_ms = clock_mono_ms() + timeout_ms;
    scoped_fd fd = connect_to(socket_path, err);

    if (fd < 0 || send_request(fd, request, deadline_ms, err) != 0 ||
        receive_answer(fd, deadline_ms, answer, err) != 0)
        return -1;
    if (strncmp(buffer_text(answer), kind, strlen(kind)) == 0)
        return 0;
    if (strncmp(buffer_text(answer), "refused ", 8) == 0)
        return refusal(buffer_text(answer), err);
    return error_set(err, ERROR_BUSY, "signer: it hung up");
}

int
signer_sign(const char *socket_path, const struct checkpoint *head,
            uint64_t old_size, const struct digest *proof, size_t count,
            int timeout_ms, struct buffer *note_out, struct error *err)
{
    scoped_buffer request = { 0 }, answer = { 0 }, body = { 0 };
    struct checkpoint signed_head;
    size_t used;

    checkpoint_add_body(&body, head);
    buffer_printf(&request, "sign %" PRIu64 "\n", old_size);
    for (size_t i = 0; i < count; i++) {
        base64_encode(&request, proof[i].bytes, DIGEST_SIZE);
        buffer_add_byte(&request, '\n');
    }
    buffer_printf(&request, "\n%s", body.bytes);
    if (ask(socket_path, &request, timeout_ms, "ok\n", &answer, err) != 0)
        return -1;
    if (checkpoint_parse(answer.bytes + 3, answer.size - 3, &signed_head,
                         &used, err) != 0 ||
        used != answer.size - 3 ||
        strncmp(answer.bytes + 3, body.bytes, body.size) != 0)
        return error_set(err, ERROR_INTERNAL,
                         "signer: it signed something else");
    buffer_add(note_out, answer.bytes + 3, used);
    return 0;
}

int
signer_head(const char *socket_path, const char *origin, int timeout_ms,
            struct checkpoint *head_out, struct error *err)
{
    scoped_buffer request = { 0 }, answer = { 0 };
    struct checkpoint head;

    buffer_printf(&request, "head %s\n", origin);
    if (ask(socket_path, &request, timeout_ms, "head\n", &answer, err) != 0)
        return -1;
    if (checkpoint_parse_body(answer.bytes + 5, answer.size - 5, &head) !=
            answer.size - 5 ||
        strcmp(head.origin, origin) != 0)
        return error_set(err, ERROR_INTERNAL,
                         "signer: it told another log's head");
    *head_out = head;
    return 0;
}

static int
ask_keys(const char *socket_path, const char *request_text, int timeout_ms,
         uint8_t key_out[SIGN_PUBLIC_SIZE], struct buffer *rotations_out,
         struct error *err)
{
    scoped_buffer request = { 0 }, answer = { 0 };
    const char *key, *end;

    buffer_add_text(&request, request_text);
    if (ask(socket_path, &request, timeout_ms, "keys\n", &answer, err) != 0)
        return -1;
    key = buffer_text(&answer) + 5;
    end = answer.size > 5 ? memchr(key, '\n', answer.size - 5) : NULL;
    if (end == NULL ||
        base64_decode(key, (size_t)(end - key), key_out, SIGN_PUBLIC_SIZE) !=
            SIGN_PUBLIC_SIZE)
        return error_set(err, ERROR_INTERNAL, "signer: it told no key");
    buffer_add(rotations_out, end + 1,
               answer.size - 5 - (size_t)(end + 1 - key));
    return 0;
}

int
signer_keys(const char *socket_path, int timeout_ms,
            uint8_t key_out[SIGN_PUBLIC_SIZE], struct buffer *rotations_out,
            struct error *err)
{
    return ask_keys(socket_path, "keys\n", timeout_ms, key_out,
                    rotations_out, err);
}

int
signer_rotate(const char *socket_path, int timeout_ms,
              uint8_t key_out[SIGN_PUBLIC_SIZE],
              struct buffer *rotations_out, struct error *err)
{
    return ask_keys(socket_path, "rotate\n", timeout_ms, key_out,
                    rotations_out, err);
}
