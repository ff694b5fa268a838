/* SPDX-License-Identifier: Apache-2.0 */
#include "wire.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"

#define ANSWER_SECONDS 20

static int
connect_tcp(const char *where)
{
    struct sockaddr_in address = { .sin_family = AF_INET };
    const char *colon = strrchr(where, ':');
    char host[64];
    int fd;

    (void)snprintf(host, sizeof(host), "%.*s", (int)(colon - where), where);
    address.sin_port = htons((uint16_t)strtoul(colon + 1, NULL, 10));
    if (inet_pton(AF_INET, host, &address.sin_addr) != 1)
        return -1;
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 &&
        connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
        return fd;
    (void)close(fd);
    return -1;
}

static int
connect_unix(const char *where)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", where);
    if (fd >= 0 &&
        connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
        return fd;
    (void)close(fd);
    return -1;
}

int
wire_connect(const char *where)
{
    const struct timeval patience = { .tv_sec = ANSWER_SECONDS };
    int fd = where[0] == '/' ? connect_unix(where) : connect_tcp(where);

    if (fd >= 0)
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience,
                         sizeof(patience));
    return fd;
}

/* What was refused early may be answered before all of it was sent. */
static void
send_all(int fd, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t sent = send(fd, bytes, size, MSG_NOSIGNAL);

        if (sent <= 0)
            return;
        bytes += sent;
        size -= (size_t)sent;
    }
}

static size_t
length_of(const struct buffer *head)
{
    const char *at = strcasestr(buffer_text(head), "\r\nContent-Length:");

    return at == NULL ? 0 : strtoul(at + 17, NULL, 10);
}

static bool
read_more(int fd, struct buffer *out)
{
    char bytes[16384];
    ssize_t got = recv(fd, bytes, sizeof(bytes), 0);

    if (got <= 0)
        return false;
    buffer_add(out, bytes, (size_t)got);
    return true;
}

static bool
read_answer(int fd, struct wire_answer *answer)
{
    scoped_buffer all = { 0 };
    const char *end;
    size_t head;

    while ((end = strstr(buffer_text(&all), "\r\n\r\n")) == NULL)
        if (!read_more(fd, &all))
            return false;
    head = (size_t)(end - all.bytes) + 4;
    buffer_add(&answer->head, all.bytes, head);
    if (strncmp(answer->head.bytes, "HTTP/1.", 7) != 0)
        return false;
    while (all.size < head + length_of(&answer->head))
        if (!read_more(fd, &all))
            return false;
    buffer_add(&answer->body, all.bytes + head, all.size - head);
    answer->status = (int)strtol(answer->head.bytes + 9, NULL, 10);
    return true;
}

void
wire_ask(struct wire *wire, const struct buffer *request,
         struct wire_answer *answer)
{
    int64_t began = clock_mono_ms();

    wire_answer_release(answer);
    for (int try = 0; try < 2 && answer->status == 0; try++) {
        bool fresh = wire->fd < 0;

        if (fresh)
            wire->fd = wire_connect(wire->where);
        if (wire->fd < 0)
            break;
        send_all(wire->fd, request->bytes, request->size);
        if (!read_answer(wire->fd, answer) ||
            wire_has(answer, "Connection: close")) {
            (void)close(wire->fd);
            wire->fd = -1;
        }
        /* One that was kept may have been ended in the meantime. */
        if (fresh)
            break;
    }
    answer->ms = (long)(clock_mono_ms() - began);
}

void
wire_answer_release(struct wire_answer *answer)
{
    buffer_release(&answer->head);
    buffer_release(&answer->body);
    *answer = (struct wire_answer){ 0 };
}

bool
wire_has(const struct wire_answer *answer, const char *line)
{
    size_t size = strlen(line);
    const char *at = buffer_text(&answer->head);

    while ((at = strstr(at, "\r\n")) != NULL) {
        at += 2;
        if (strncasecmp(at, line, size) == 0)
            return true;
    }
    return false;
}
