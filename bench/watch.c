/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What do 5,000 watchers cost everybody else?
 *
 * 16 clients read and change projects of one tenant, first alone and then
 * while 5,000 connections watch 50 other tenants, in which something changes
 * ten times a second (a thousand events a second go out).  Rounds with and
 * without watchers alternate.  Ends with 1 when answers come more than 20 %
 * later, or so many fewer of them.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/file.h"
#include "bench/common/crowd.h"
#include "bench/common/daemon.h"

#define WATCHERS 5000
#define TENANTS 50
#define CLIENTS 16
#define ROUNDS 4
#define ROUND_MS 3000
#define EVENTS 256
#define SETTLE_MS 20000

struct watching {
    struct daemon *daemon;
    int *fds;
    int epoll;
    atomic_bool stop;
    atomic_ullong bytes;
    pthread_t reader, writer;
    unsigned changes;
};

static int
open_watch(struct daemon *daemon, unsigned number)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char request[512];
    int size = snprintf(request, sizeof(request),
                        "GET /api/v1/tenants/w%u/projects?watch=1 HTTP/1.1\r\n"
                        "Host: bulkhead\r\nAuthorization: Bearer %s\r\n\r\n",
                        number % TENANTS, daemon->token);

    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%.100s",
                   daemon->stream);
    if (fd < 0 ||
        connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0 ||
        write(fd, request, (size_t)size) != size ||
        read(fd, request, sizeof(request)) <= 0)
        daemon_give_up(daemon, "watch %u: %s", number, strerror(errno));
    if (strncmp(request, "HTTP/1.1 200", 12) != 0)
        daemon_give_up(daemon, "watch %u: %.200s", number, request);
    return fd;
}

/* Takes what comes, so that nobody is cut off as too slow; with epoll, since
 * poll over so many would take a processor for itself. */
static void *
read_all(void *data)
{
    struct watching *watching = data;
    struct epoll_event events[EVENTS];
    char bytes[65536];

    while (!watching->stop) {
        int ready = epoll_wait(watching->epoll, events, EVENTS, 200);

        for (int i = 0; i < ready; i++) {
            ssize_t got = read(events[i].data.fd, bytes, sizeof(bytes));

            if (got <= 0)
                daemon_give_up(watching->daemon, "a watch was cut off");
            watching->bytes += (unsigned long long)got;
        }
    }
    return NULL;
}

static void
change_one(struct daemon *daemon, unsigned number)
{
    char path[64], body[64];

    (void)snprintf(path, sizeof(path), "/tenants/w%u/projects/p",
                   number % TENANTS);
    (void)snprintf(body, sizeof(body), "{\"display\":\"%u\"}", number);
    json_decref(daemon_ask(daemon, "PATCH", path, body, 200));
}

static void *
change_some(void *data)
{
    struct watching *watching = data;
    struct daemon daemon = *watching->daemon;

    while (!watching->stop) {
        change_one(&daemon, watching->changes++);
        (void)usleep(100000);
    }
    return NULL;
}

static void
start_watching(struct watching *watching)
{
    watching->stop = false;
    watching->epoll = epoll_create1(EPOLL_CLOEXEC);
    for (unsigned i = 0; i < WATCHERS; i++) {
        struct epoll_event event = { .events = EPOLLIN };

        watching->fds[i] = open_watch(watching->daemon, i);
        event.data.fd = watching->fds[i];
        (void)epoll_ctl(watching->epoll, EPOLL_CTL_ADD, watching->fds[i],
                        &event);
    }
    (void)pthread_create(&watching->reader, NULL, read_all, watching);
    (void)pthread_create(&watching->writer, NULL, change_some, watching);
}

/* Until the daemon has noticed, which is when it has something to tell them:
 * nothing of them is left for the next round. */
static void
stop_watching(struct watching *watching)
{
    int64_t end_ms = clock_mono_ms() + SETTLE_MS;

    watching->stop = true;
    (void)pthread_join(watching->writer, NULL);
    (void)pthread_join(watching->reader, NULL);
    for (unsigned i = 0; i < WATCHERS; i++)
        (void)close(watching->fds[i]);
    (void)close(watching->epoll);
    for (unsigned i = 0; i < TENANTS; i++)
        change_one(watching->daemon, watching->changes + i);
    while (daemon_metric(watching->daemon, "bulkhead_streams") > 0) {
        if (clock_mono_ms() > end_ms)
            daemon_give_up(watching->daemon, "streams are left");
        (void)usleep(50000);
    }
}

struct asking {
    const struct daemon *daemon;
    unsigned number;
};

/* Three reads, then a change. */
static void
write_request(void *data, unsigned client, struct buffer *out)
{
    struct asking *asking = data;
    bool change = asking->number++ % 4 == 3;

    buffer_printf(out,
                  "%s /api/v1/tenants/bench/projects/p%u HTTP/1.1\r\n"
                  "Host: bulkhead\r\nAuthorization: Bearer %s\r\n",
                  change ? "PATCH" : "GET", client, asking->daemon->token);
    if (change)
        buffer_printf(out,
                      "If-Match: *\r\nContent-Type: application/json\r\n"
                      "Content-Length: 23\r\n\r\n{\"display\":\"%09u\"}",
                      asking->number % 1000000000);
    else
        buffer_add_text(out, "\r\n");
}

static void
make_tenants(struct daemon *daemon)
{
    char body[64], path[64];

    json_decref(
        daemon_ask(daemon, "POST", "/tenants", "{\"name\":\"bench\"}", 201));
    for (unsigned i = 0; i < CLIENTS; i++) {
        (void)snprintf(body, sizeof(body), "{\"name\":\"p%u\"}", i);
        json_decref(
            daemon_ask(daemon, "POST", "/tenants/bench/projects", body, 201));
    }
    for (unsigned i = 0; i < TENANTS; i++) {
        (void)snprintf(body, sizeof(body), "{\"name\":\"w%u\"}", i);
        json_decref(daemon_ask(daemon, "POST", "/tenants", body, 201));
        (void)snprintf(path, sizeof(path), "/tenants/w%u/projects", i);
        json_decref(
            daemon_ask(daemon, "POST", path, "{\"name\":\"p\"}", 201));
    }
}

/* Room for so many connections, on both sides. */
static void
prepare(struct daemon *daemon)
{
    static const char settings[] =
        "{\"connections_max\":6000,\"streams_max\":100000}\n";
    struct rlimit limit;
    struct error err;

    (void)getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_max < WATCHERS + 200)
        daemon_give_up(NULL, "ulimit -n is below %d", WATCHERS + 200);
    (void)snprintf(daemon->config, sizeof(daemon->config), "%s/config",
                   daemon->home);
    if (file_write(daemon->config, settings, sizeof(settings) - 1, 0600,
                   &err) != 0)
        daemon_give_up(NULL, "%s", err.text);
}

static void
run_round(struct daemon *daemon, struct crowd *crowd)
{
    const char *why = crowd_run(crowd, ROUND_MS);

    if (why != NULL)
        daemon_give_up(daemon, "%s", why);
}

static int
report(struct crowd *alone, struct crowd *beside,
       const struct watching *watching)
{
    struct crowd_result one, two;
    int64_t rate_one, rate_two;
    bool passes = true;

    crowd_result(alone, &one);
    crowd_result(beside, &two);
    rate_one = (int64_t)one.answers * 1000000 / one.us;
    rate_two = (int64_t)two.answers * 1000000 / two.us;
    (void)printf("%d watchers of %d tenants, %u changes there, %llu KiB of "
                 "events\n",
                 WATCHERS, TENANTS, watching->changes,
                 (unsigned long long)watching->bytes / 1024);
    (void)printf("alone:  %lld answers/s, p50 %lld us, p99 %lld us\n"
                 "beside: %lld answers/s, p50 %lld us, p99 %lld us\n",
                 (long long)rate_one, (long long)one.p50_us,
                 (long long)one.p99_us, (long long)rate_two,
                 (long long)two.p50_us, (long long)two.p99_us);
    passes &= crowd_judge("answers, of those alone", rate_two * 100 / rate_one,
                          "%", 80, true);
    passes &= crowd_judge("p50, of that alone",
                          two.p50_us * 100 / (one.p50_us + 1), "%", 120,
                          false);
    passes &= crowd_judge("p99, of that alone",
                          two.p99_us * 100 / (one.p99_us + 1), "%", 120,
                          false);
    (void)printf("bench-watch: %s\n", passes ? "PASS" : "FAIL");
    return passes ? 0 : 1;
}

int
main(int argc, char **argv)
{
    struct daemon daemon;
    struct watching watching = { .daemon = &daemon };
    struct asking asking = { &daemon, 0 };
    struct crowd *alone, *beside;
    int rc;

    (void)argc;
    daemon_prepare(&daemon, argv[0]);
    prepare(&daemon);
    (void)daemon_start(&daemon);
    daemon_log_in(&daemon);
    make_tenants(&daemon);
    watching.fds = memory_new(WATCHERS, sizeof(*watching.fds));
    alone = crowd_new(daemon.socket, CLIENTS, write_request, &asking);
    beside = crowd_new(daemon.socket, CLIENTS, write_request, &asking);
    for (int i = 0; i < ROUNDS; i++) {
        run_round(&daemon, alone);
        start_watching(&watching);
        run_round(&daemon, beside);
        stop_watching(&watching);
    }
    daemon_stop(&daemon);
    rc = report(alone, beside, &watching);
    crowd_free(alone);
    crowd_free(beside);
    free(watching.fds);
    daemon_remove(&daemon);
    return rc;
}
