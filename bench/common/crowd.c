/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/common/crowd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"

#define CHUNK 65536

struct client {
    unsigned number;
    int fd;
    bool waits; /* for an answer */
    int64_t sent_us;
    struct buffer out;
    struct buffer in;
};

struct crowd {
    struct client *clients;
    unsigned count;
    unsigned waiting;
    int epoll;
    crowd_request *request;
    void *data;
    int64_t *times;
    size_t time_count, time_room;
    int64_t us;
    uint64_t bytes;
    char *chunk;
    char why[200];
};

static int
connect_to(const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    if (fd < 0 ||
        connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0)
        return -1;
    return fd;
}

struct crowd *
crowd_new(const char *socket_path, unsigned clients, crowd_request *request,
          void *data)
{
    struct crowd *crowd = memory_new(1, sizeof(*crowd));

    crowd->clients = memory_new(clients, sizeof(*crowd->clients));
    crowd->chunk = memory_new(1, CHUNK);
    crowd->count = clients;
    crowd->request = request;
    crowd->data = data;
    crowd->epoll = epoll_create1(EPOLL_CLOEXEC);
    for (unsigned i = 0; i < clients; i++) {
        struct client *client = &crowd->clients[i];
        struct epoll_event event = { .events = EPOLLIN, .data.ptr = client };

        client->number = i;
        client->fd = connect_to(socket_path);
        (void)epoll_ctl(crowd->epoll, EPOLL_CTL_ADD, client->fd, &event);
    }
    return crowd;
}

void
crowd_free(struct crowd *crowd)
{
    for (unsigned i = 0; i < crowd->count; i++) {
        (void)close(crowd->clients[i].fd);
        buffer_release(&crowd->clients[i].out);
        buffer_release(&crowd->clients[i].in);
    }
    (void)close(crowd->epoll);
    free(crowd->clients);
    free(crowd->chunk);
    free(crowd->times);
    free(crowd);
}

static int
fail(struct crowd *crowd, const char *what, const char *text)
{
    (void)snprintf(crowd->why, sizeof(crowd->why), "%s: %.150s", what, text);
    return -1;
}

/* A request is far smaller than a socket's buffer: one write takes it. */
static int
send_next(struct crowd *crowd, struct client *client)
{
    buffer_clear(&client->out);
    buffer_clear(&client->in);
    crowd->request(crowd->data, client->number, &client->out);
    client->sent_us = clock_mono_us();
    if (write(client->fd, client->out.bytes, client->out.size) !=
        (ssize_t)client->out.size)
        return fail(crowd, "write", strerror(errno));
    client->waits = true;
    crowd->waiting++;
    return 0;
}

/* The size of the whole answer, 0 while its head is not there. */
static size_t
answer_size(const struct buffer *in)
{
    const char *end = strstr(buffer_text(in), "\r\n\r\n");
    const char *length;

    if (end == NULL)
        return 0;
    length = strcasestr(in->bytes, "\r\nContent-Length:");
    if (length == NULL || length > end)
        return (size_t)(end - in->bytes) + 4;
    return (size_t)(end - in->bytes) + 4 + strtoul(length + 17, NULL, 10);
}

static void
note_time(struct crowd *crowd, int64_t us)
{
    if (crowd->time_count == crowd->time_room) {
        crowd->time_room = crowd->time_room * 2 + 1024;
        crowd->times =
            memory_grow(crowd->times, crowd->time_room, sizeof(*crowd->times));
    }
    crowd->times[crowd->time_count++] = us;
}

/* 1: answered, 0: not yet whole, -1: failed. */
static int
take(struct crowd *crowd, struct client *client)
{
    ssize_t got = read(client->fd, crowd->chunk, CHUNK);
    size_t whole;

    if (got <= 0)
        return fail(crowd, "read", got == 0 ? "closed" : strerror(errno));
    buffer_add(&client->in, crowd->chunk, (size_t)got);
    crowd->bytes += (size_t)got;
    whole = answer_size(&client->in);
    if (whole == 0 || client->in.size < whole)
        return 0;
    if (strncmp(client->in.bytes, "HTTP/1.1 20", 11) != 0)
        return fail(crowd, "answer", strstr(client->in.bytes, "\r\n\r\n") + 4);
    note_time(crowd, clock_mono_us() - client->sent_us);
    client->waits = false;
    crowd->waiting--;
    return 1;
}

static int
turn(struct crowd *crowd, bool go_on)
{
    struct epoll_event events[64];
    int count = epoll_wait(crowd->epoll, events, 64, 1000);

    for (int i = 0; i < count; i++) {
        struct client *client = events[i].data.ptr;
        int rc = take(crowd, client);

        if (rc < 0 || (rc > 0 && go_on && send_next(crowd, client) != 0))
            return -1;
    }
    return 0;
}

const char *
crowd_run(struct crowd *crowd, int64_t ms)
{
    int64_t start_us = clock_mono_us(), end_us = start_us + ms * 1000;

    for (unsigned i = 0; i < crowd->count; i++)
        if (send_next(crowd, &crowd->clients[i]) != 0)
            return crowd->why;
    while (crowd->waiting > 0)
        if (turn(crowd, clock_mono_us() < end_us) != 0)
            return crowd->why;
    crowd->us += clock_mono_us() - start_us;
    return NULL;
}

static int
compare_times(const void *a, const void *b)
{
    const int64_t *one = a, *two = b;

    return (*one > *two) - (*one < *two);
}

int64_t
crowd_percentile(int64_t *times, size_t count, unsigned percent)
{
    if (count == 0)
        return 0;
    qsort(times, count, sizeof(*times), compare_times);
    return times[(count - 1) * percent / 100];
}

void
crowd_result(struct crowd *crowd, struct crowd_result *out)
{
    out->answers = crowd->time_count;
    out->us = crowd->us;
    out->bytes = crowd->bytes;
    out->p50_us = crowd_percentile(crowd->times, crowd->time_count, 50);
    out->p99_us = crowd_percentile(crowd->times, crowd->time_count, 99);
    out->longest_us = crowd_percentile(crowd->times, crowd->time_count, 100);
}

bool
crowd_judge(const char *name, int64_t value, const char *unit, int64_t goal,
            bool at_least)
{
    bool passes = at_least ? value >= goal : value <= goal;

    (void)printf("%-34s %9lld %-6s goal %s %lld  %s\n", name, (long long)value,
                 unit, at_least ? ">=" : "<=", (long long)goal,
                 passes ? "PASS" : "FAIL");
    return passes;
}
