/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does the time of an answer tell that an id is another tenant's?
 *
 * A developer of one tenant asks a real bulkheadd for objects of the other
 * tenant, and for ids that never were: pairs over one connection on loopback,
 * in random order within each pair.  For each route the median of the
 * differences is told, with the interval that holds it in 99 of 100 runs.  The
 * goal is that the interval lies within 5 us of zero.  What is visible is
 * asked for as well: that this differs shows that the bench can tell.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/id.h"
#include "bench/common/crowd.h"
#include "bench/common/daemon.h"

#define PAIRS 6000
#define WARM 400
#define GOAL_NS 5000
#define OBJECTS 64 /* of each kind, hidden ones */

struct bench {
    struct daemon daemon;
    char token[160]; /* of the developer who asks */
    int fd;
    uint64_t dice;
    char own[64];                   /* the asker's tenant */
    char projects[OBJECTS][64], users[OBJECTS][64], tenant[64];
    struct buffer request;
};

static uint64_t
roll(struct bench *bench)
{
    bench->dice += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t z = bench->dice;
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* --- the estate --- */

static void
make(struct bench *bench, const char *path, const char *body, char id[64])
{
    json_t *made = daemon_ask(&bench->daemon, "POST", path, body, 201);

    (void)snprintf(id, 64, "%s",
                   json_string_value(json_object_get(made, "id")));
    json_decref(made);
}

static void
fill(struct bench *bench)
{
    char body[256], user[64], ignored[64], path[128];
    json_t *login;

    make(bench, "/tenants", "{\"name\":\"hidden\"}", bench->tenant);
    make(bench, "/tenants", "{\"name\":\"asking\"}", bench->own);
    make(bench, "/tenants/asking/projects", "{\"name\":\"work\"}", ignored);
    for (int i = 0; i < OBJECTS; i++) {
        (void)snprintf(body, sizeof(body), "{\"name\":\"x%d\"}", i);
        make(bench, "/tenants/hidden/projects", body, bench->projects[i]);
        make(bench, "/tenants/hidden/users", body, bench->users[i]);
    }
    make(bench, "/tenants/asking/users", "{\"name\":\"dev\"}", user);
    (void)snprintf(path, sizeof(path), "/tenants/asking/users/%s/password",
                   user);
    json_decref(daemon_ask(&bench->daemon, "POST", path,
                           "{\"password\":\"a developer's long word\","
                           "\"temporary\":false}",
                           204));
    (void)snprintf(body, sizeof(body),
                   "{\"subject\":\"%s\",\"role\":\"developer\"}", user);
    make(bench, "/tenants/asking/projects/work/grants", body, ignored);
    login = daemon_ask(&bench->daemon, "POST", "/login",
                       "{\"name\":\"dev\",\"tenant\":\"asking\","
                       "\"password\":\"a developer's long word\"}",
                       201);
    (void)snprintf(bench->token, sizeof(bench->token), "%s",
                   json_string_value(json_object_get(login, "token")));
    json_decref(login);
}

/* --- one question --- */

static void
dial(struct bench *bench)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };

    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%.107s",
                   bench->daemon.socket);
    bench->fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (bench->fd < 0 || connect(bench->fd, (struct sockaddr *)&address,
                                 sizeof(address)) != 0)
        daemon_give_up(&bench->daemon, "the socket cannot be reached");
}

/* The status; the answer is read to its end. */
static int
read_answer(struct bench *bench)
{
    char bytes[16384];
    size_t size = 0;

    for (;;) {
        ssize_t got = read(bench->fd, bytes + size, sizeof(bytes) - 1 - size);
        const char *end, *length;

        if (got <= 0)
            daemon_give_up(&bench->daemon, "the connection was lost");
        size += (size_t)got;
        bytes[size] = '\0';
        end = strstr(bytes, "\r\n\r\n");
        if (end == NULL)
            continue;
        length = strstr(bytes, "Content-Length: ");
        if (length == NULL ||
            size >= (size_t)(end + 4 - bytes) +
                        (size_t)strtoll(length + 16, NULL, 10))
            return (int)strtol(bytes + 9, NULL, 10);
    }
}

static int64_t
now_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int64_t
ask(struct bench *bench, const char *method, const char *path, int status)
{
    int64_t start_ns;
    int got;

    buffer_clear(&bench->request);
    buffer_printf(&bench->request,
                  "%s /api/v1%s HTTP/1.1\r\nHost: bulkhead\r\n"
                  "Authorization: Bearer %s\r\n%s\r\n",
                  method, path, bench->token,
                  method[0] == 'D' ? "If-Match: *\r\n" : "");
    start_ns = now_ns();
    if (write(bench->fd, bench->request.bytes, bench->request.size) !=
        (ssize_t)bench->request.size)
        daemon_give_up(&bench->daemon, "the connection was lost");
    got = read_answer(bench);
    if (got != status)
        daemon_give_up(&bench->daemon, "%s %s: %d in place of %d", method,
                       path, got, status);
    return now_ns() - start_ns;
}

/* --- routes --- */

struct route {
    const char *name, *method;
    const char *path; /* %t: the tenant, %p: a project, %u: a user */
    int status;
};

static const struct route routes[] = {
    { "a tenant", "GET", "/tenants/%t", 404 },
    { "a project by the asker's tenant", "GET", "/tenants/asking/projects/%p",
      404 },
    { "a project by its tenant", "GET", "/tenants/%t/projects/%p", 404 },
    { "a user", "GET", "/tenants/%t/users/%u", 404 },
    { "a list of workloads", "GET", "/tenants/%t/projects/%p/workloads", 404 },
    { "an audit log", "GET", "/tenants/%t/audit", 404 },
    { "the deletion of a project", "DELETE", "/tenants/%t/projects/%p", 404 },
    { "may I", "GET", "/can-i?verb=project.get&object=%p", 404 },
};

static void
write_path(struct bench *bench, const struct route *route, bool hidden,
           char out[256])
{
    size_t size = 0;
    size_t pick = roll(bench) % OBJECTS;

    for (const char *at = route->path; *at != '\0'; at++) {
        char text[ID_TEXT_MAX];
        const char *id;
        char prefix[3] = { 0 };

        if (*at != '%') {
            out[size++] = *at;
            continue;
        }
        at++;
        id = *at == 't'   ? bench->tenant
             : *at == 'p' ? bench->projects[pick]
                          : bench->users[pick];
        memcpy(prefix, id, 2);
        id_format(prefix, (struct id){ roll(bench), roll(bench) }, text);
        size += (size_t)snprintf(out + size, 256 - size, "%s",
                                 hidden ? id : text);
    }
    out[size] = '\0';
}

static int
compare(const void *a, const void *b)
{
    const int64_t *one = a, *two = b;

    return (*one > *two) - (*one < *two);
}

/* Differences of pairs, sorted. */
static void
measure(struct bench *bench, const struct route *route, int64_t *differences)
{
    char paths[2][256];

    for (int i = -WARM; i < PAIRS; i++) {
        int first = (int)(roll(bench) % 2);
        int64_t took[2];

        write_path(bench, route, false, paths[0]);
        write_path(bench, route, true, paths[1]);
        took[first] = ask(bench, route->method, paths[first], route->status);
        took[!first] =
            ask(bench, route->method, paths[!first], route->status);
        if (i >= 0)
            differences[i] = took[1] - took[0];
    }
    qsort(differences, PAIRS, sizeof(*differences), compare);
}

/* Of the median the ranks that hold it in 99 of 100: half of n, 2.576 times
 * the root of n over two to each side. */
static bool
judge(const struct route *route, const int64_t *differences)
{
    int64_t half = 1;
    int64_t low, high;
    bool good;

    while (half * half < PAIRS)
        half++;
    half = half * 2576 / 2000 + 1;
    low = differences[PAIRS / 2 - half];
    high = differences[PAIRS / 2 + half];
    good = low >= -GOAL_NS && high <= GOAL_NS;
    (void)printf("%-34s %8.2f us  [%.2f, %.2f]  goal within 5 us  %s\n",
                 route->name, (double)differences[PAIRS / 2] / 1000,
                 (double)low / 1000, (double)high / 1000,
                 good ? "PASS" : "FAIL");
    return good;
}

/* What may be seen takes another way: the bench tells it apart. */
static bool
tells(struct bench *bench, int64_t *differences)
{
    char never[256];
    const struct route route = { "", "GET", "/tenants/%t", 404 };

    for (int i = 0; i < PAIRS; i++) {
        int64_t seen, unseen;

        write_path(bench, &route, false, never);
        if (roll(bench) % 2 == 0) {
            seen = ask(bench, "GET", "/whoami", 200);
            unseen = ask(bench, "GET", never, 404);
        } else {
            unseen = ask(bench, "GET", never, 404);
            seen = ask(bench, "GET", "/whoami", 200);
        }
        differences[i] = seen - unseen;
    }
    qsort(differences, PAIRS, sizeof(*differences), compare);
    (void)printf("%-34s %8.2f us\n", "beside them: what may be seen",
                 (double)differences[PAIRS / 2] / 1000);
    return differences[PAIRS / 2] > GOAL_NS ||
           differences[PAIRS / 2] < -GOAL_NS;
}

int
main(int argc, char **argv)
{
    struct bench bench = { .dice = 1 };
    static int64_t differences[PAIRS];
    bool passes = true;

    (void)argc;
    daemon_prepare(&bench.daemon, argv[0]);
    (void)daemon_start(&bench.daemon);
    daemon_log_in(&bench.daemon);
    fill(&bench);
    dial(&bench);
    for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
        measure(&bench, &routes[i], differences);
        passes &= judge(&routes[i], differences);
    }
    if (!tells(&bench, differences))
        (void)printf("this machine is too restless to tell differences\n");
    (void)close(bench.fd);
    buffer_release(&bench.request);
    daemon_stop(&bench.daemon);
    (void)printf("%d pairs each\nbench-timing: %s\n", PAIRS,
                 passes ? "PASS" : "FAIL");
    daemon_remove(&bench.daemon);
    return passes ? 0 : 1;
}
