/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flood WHERE hold COUNT [ADDRESS]: opens so many connections, each with the
 *     beginning of a request; says how many the server keeps, for a minute.
 * flood WHERE pipe COUNT: as many requests as that in one go on one
 *     connection, and nothing read before all are sent.
 * flood WHERE deaf COUNT: asks for a large answer and never reads it.
 * flood WHERE ask TOKEN METHOD PATH BODY SECONDS THREADS: asks that, one
 *     request after the other by so many processes.
 * flood WHERE probe TOKEN PATH COUNT: one request after the other, 5 ms
 *     apart; says median, 99th percentile and longest in ms.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "wire.h"

#define HELD_MAX 4000

static const char *where;

static long
number(const char *text)
{
    return strtol(text, NULL, 10);
}

/* From another address of the loopback, as another source would. */
static int
connect_from(const char *address)
{
    struct sockaddr_in from = { .sin_family = AF_INET };
    struct sockaddr_in to = { .sin_family = AF_INET };
    const char *colon = strrchr(where, ':');
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    to.sin_port = htons((uint16_t)number(colon + 1));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (inet_pton(AF_INET, address, &from.sin_addr) == 1 &&
        bind(fd, (struct sockaddr *)&from, sizeof(from)) == 0 &&
        connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0)
        return fd;
    (void)close(fd);
    return -1;
}

static void
hold(long count, const char *address)
{
    static int sockets[HELD_MAX];
    static const char text[] = "GET /healthz HTTP/1.1\r\nX-Slow: ";
    const struct rlimit files = { HELD_MAX + 64, HELD_MAX + 64 };

    (void)setrlimit(RLIMIT_NOFILE, &files);
    for (long i = 0; i < count && i < HELD_MAX; i++) {
        sockets[i] = address != NULL ? connect_from(address)
                                     : wire_connect(where);
        (void)send(sockets[i], text, sizeof(text) - 1, MSG_NOSIGNAL);
    }
    for (int second = 0; second < 60; second++) {
        int left = 0;

        sleep(1);
        for (long i = 0; i < count && i < HELD_MAX; i++) {
            char byte;

            if (sockets[i] >= 0 &&
                (send(sockets[i], "x", 1, MSG_NOSIGNAL) != 1 ||
                 recv(sockets[i], &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0)) {
                (void)close(sockets[i]);
                sockets[i] = -1;
            }
            left += sockets[i] >= 0;
        }
        printf("held: %d\n", left);
        (void)fflush(stdout);
    }
}

static void
pipeline(long count, const char *text)
{
    int fd = wire_connect(where);
    size_t size = strlen(text), got = 0;
    char bytes[65536];
    ssize_t more;

    for (long i = 0; i < count; i++)
        if (send(fd, text, size, MSG_NOSIGNAL | MSG_DONTWAIT) !=
            (ssize_t)size) {
            printf("sent: %ld\n", i);
            break;
        }
    (void)shutdown(fd, SHUT_WR);
    while ((more = recv(fd, bytes, sizeof(bytes), 0)) > 0)
        got += (size_t)more;
    printf("read: %zu\n", got);
}

static void
deaf(long count)
{
    static const char text[] =
        "GET /api/v1/openapi.json HTTP/1.1\r\nHost: x\r\n\r\n";
    const int small = 1024;

    for (long i = 0; i < count && i < HELD_MAX; i++) {
        int fd = wire_connect(where);

        (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
        (void)send(fd, text, sizeof(text) - 1, MSG_NOSIGNAL);
    }
    printf("asked\n");
    (void)fflush(stdout);
    sleep(60);
}

static void
write_request(struct buffer *out, const char *token, const char *method,
              const char *path, const char *body)
{
    buffer_printf(out, "%s %s HTTP/1.1\r\nHost: x\r\n", method, path);
    buffer_printf(out, "Authorization: Bearer %s\r\n", token);
    if (body[0] != '\0')
        buffer_printf(out,
                      "Content-Type: application/json\r\n"
                      "Content-Length: %zu\r\n",
                      strlen(body));
    buffer_printf(out, "\r\n%s", body);
}

static void
ask_for(const struct buffer *request, long seconds)
{
    struct wire wire = { where, -1 };
    struct wire_answer answer = { 0 };
    int64_t end = clock_mono_ms() + seconds * 1000;
    long count = 0, classes[6] = { 0 };

    while (clock_mono_ms() < end) {
        wire_ask(&wire, request, &answer);
        classes[(answer.status / 100) % 6]++;
        count++;
    }
    printf("asked %ld: %ld taken, %ld refused, %ld faults, %ld unanswered\n",
           count, classes[2], classes[4], classes[5], classes[0]);
}

static void
ask(char **argv)
{
    scoped_buffer token = { 0 };
    scoped_buffer request = { 0 };
    long processes = number(argv[5]);
    struct error err;

    if (file_read(argv[0], 512, &token, &err) != 0)
        return;
    token.bytes[strcspn(token.bytes, "\n")] = '\0';
    write_request(&request, token.bytes, argv[1], argv[2], argv[3]);
    for (long i = 0; i < processes; i++)
        if (fork() == 0) {
            ask_for(&request, number(argv[4]));
            (void)fflush(stdout);
            _exit(0);
        }
    while (wait(NULL) > 0)
        ;
}

static int
compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static int
probe(char **argv)
{
    static int64_t times_us[HELD_MAX];
    struct wire wire = { where, -1 };
    struct wire_answer answer = { 0 };
    scoped_buffer token = { 0 };
    scoped_buffer request = { 0 };
    long count = number(argv[2]), failed = 0;
    struct error err;

    if (file_read(argv[0], 512, &token, &err) != 0 || count > HELD_MAX)
        return 2;
    token.bytes[strcspn(token.bytes, "\n")] = '\0';
    write_request(&request, token.bytes, "GET", argv[1], "");
    for (long i = 0; i < count; i++) {
        int64_t began = clock_mono_us();

        wire_ask(&wire, &request, &answer);
        times_us[i] = clock_mono_us() - began;
        failed += answer.status != 200;
        usleep(5000);
    }
    qsort(times_us, (size_t)count, sizeof(times_us[0]), compare);
    printf("{\"p50_ms\": %.1f, \"p99_ms\": %.1f, \"max_ms\": %.1f, "
           "\"failed\": %ld}\n",
           (double)times_us[count / 2] / 1000,
           (double)times_us[count * 99 / 100] / 1000,
           (double)times_us[count - 1] / 1000, failed);
    return 0;
}

int
main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    where = argv[1];
    if (strcmp(argv[2], "hold") == 0)
        hold(number(argv[3]), argc > 4 ? argv[4] : NULL);
    else if (strcmp(argv[2], "pipe") == 0)
        pipeline(number(argv[3]), "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
    else if (strcmp(argv[2], "deaf") == 0)
        deaf(number(argv[3]));
    else if (strcmp(argv[2], "ask") == 0 && argc == 9)
        ask(argv + 3);
    else if (strcmp(argv[2], "probe") == 0 && argc == 6)
        return probe(argv + 3);
    return 0;
}
