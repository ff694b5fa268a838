/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/egress.h"

/*
 * A server on loopback, both families where there are two, that counts who
 * connects: what is refused must never get that far.  What it answers is in
 * the path.
 */
struct server {
    int fds[2];
    int stop[2];
    uint16_t port;
    pthread_t thread;
    unsigned connections;
    char request[4096]; /* the last one */
};

static struct server server;

static void
say(int fd, const char *text)
{
    (void)!write(fd, text, strlen(text));
}

static void
redirect(int fd, const char *to)
{
    char text[600];

    (void)snprintf(text, sizeof(text),
                   "HTTP/1.1 302 Found\r\nLocation: %s\r\n"
                   "Content-Length: 0\r\nConnection: close\r\n\r\n",
                   to);
    say(fd, text);
}

static void
answer_huge(int fd, bool length)
{
    char block[4096];

    memset(block, 'x', sizeof(block));
    say(fd, length ? "HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n"
                   : "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
    for (int i = 0; i < 1000; i++)
        if (write(fd, block, sizeof(block)) <= 0)
            return;
}

static void
answer_slow(int fd)
{
    say(fd, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
    for (int i = 0; i < 100; i++) {
        struct pollfd gone = { .fd = fd, .events = POLLRDHUP };

        if (send(fd, "x", 1, MSG_NOSIGNAL) <= 0 || poll(&gone, 1, 50) > 0)
            return;
    }
}

static void
answer_headers(int fd)
{
    char line[1100];

    (void)snprintf(line, sizeof(line), "X-Filler: %01000d\r\n", 0);
    say(fd, "HTTP/1.1 200 OK\r\n");
    for (int i = 0; i < 200; i++)
        if (send(fd, line, strlen(line), MSG_NOSIGNAL) <= 0)
            return;
    say(fd, "Content-Length: 0\r\n\r\n");
}

static void
answer(int fd, const char *path)
{
    char to[300];

    if (strncmp(path, "/to/", 4) == 0)
        redirect(fd, path + 4);
    else if (strncmp(path, "/again/", 7) == 0) {
        (void)snprintf(to, sizeof(to), "/again/%s",
                       path[7] == '0' ? "0" : path + 8);
        redirect(fd, path[7] == '\0' ? "/plain" : to);
    } else if (strcmp(path, "/huge") == 0)
        answer_huge(fd, false);
    else if (strcmp(path, "/huge-length") == 0)
        answer_huge(fd, true);
    else if (strcmp(path, "/slow") == 0)
        answer_slow(fd);
    else if (strcmp(path, "/headers") == 0)
        answer_headers(fd);
    else
        say(fd, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
                "Content-Length: 5\r\nConnection: close\r\n\r\nhello");
}

static void
talk(int fd)
{
    size_t used = 0;
    char path[256] = "";

    while (used < sizeof(server.request) - 1) {
        ssize_t size = read(fd, server.request + used,
                            sizeof(server.request) - 1 - used);
        if (size <= 0)
            break;
        used += (size_t)size;
        server.request[used] = '\0';
        if (strstr(server.request, "\r\n\r\n") != NULL)
            break;
    }
    if (sscanf(server.request, "%*s %255s", path) == 1)
        answer(fd, path);
}

static void *
serve(void *data)
{
    (void)data;
    for (;;) {
        struct pollfd fds[3] = { { .fd = server.fds[0], .events = POLLIN },
                                 { .fd = server.fds[1], .events = POLLIN },
                                 { .fd = server.stop[0], .events = POLLIN } };

        if (poll(fds, 3, -1) <= 0)
            continue;
        if (fds[2].revents != 0)
            return NULL;
        for (int i = 0; i < 2; i++) {
            int fd = fds[i].revents != 0 ? accept(fds[i].fd, NULL, NULL) : -1;

            if (fd < 0)
                continue;
            server.connections++;
            talk(fd);
            (void)close(fd);
        }
    }
}

static int
listen_at(int family)
{
    union {
        struct sockaddr any;
        struct sockaddr_in four;
        struct sockaddr_in6 six;
    } at = { .six = { 0 } };
    socklen_t size = sizeof(at.six);
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int one = 1;

    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (family == AF_INET6) {
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
        at.six.sin6_family = AF_INET6;
        at.six.sin6_addr = in6addr_any;
        at.six.sin6_port = htons(server.port);
    } else {
        at.four.sin_family = AF_INET;
        at.four.sin_addr.s_addr = htonl(INADDR_ANY);
        size = sizeof(at.four);
    }
    if (fd < 0 || bind(fd, &at.any, size) != 0 || listen(fd, 64) != 0)
        return -1;
    (void)getsockname(fd, &at.any, &size);
    server.port = ntohs(at.four.sin_port);
    return fd;
}

static int
start(void **state)
{
    (void)state;
    server.fds[0] = listen_at(AF_INET);
    server.fds[1] = listen_at(AF_INET6); /* -1: no IPv6 here; poll skips it */
    if (server.fds[0] < 0 || pipe(server.stop) != 0)
        return -1;
    return pthread_create(&server.thread, NULL, serve, NULL);
}

static int
stop(void **state)
{
    (void)state;
    (void)!write(server.stop[1], "x", 1);
    return pthread_join(server.thread, NULL);
}

/* %P in a URL is the server's port. */
static void
spell(const char *pattern, char *out, size_t room)
{
    const char *at = strstr(pattern, "%P");

    if (at == NULL)
        (void)snprintf(out, room, "%s", pattern);
    else
        (void)snprintf(out, room, "%.*s%u%s", (int)(at - pattern), pattern,
                       (unsigned)server.port, at + 2);
}

static const struct egress_policy open_policy = { .loopback = true,
                                                  .timeout_ms = 3000 };

static int
fetch(const struct egress_policy *policy, const char *pattern,
      struct egress_answer *answer_out, struct error *err)
{
    char url[EGRESS_URL_MAX];
    struct egress_request request = { .url = url, .max = 65536 };

    spell(pattern, url, sizeof(url));
    err->code = ERROR_NONE;
    return egress_fetch(policy, &request, answer_out, err);
}

/* --- the matrix --- */

/* Without the operator's leave none of these gets a connection. */
static const struct {
    const char *url;
    enum error_code code;
} refused[] = {
    /* schemes and shapes */
    { "http://example.org/", ERROR_INVALID },
    { "http://127.0.0.1:%P/plain", ERROR_INVALID },
    { "ftp://127.0.0.1:%P/", ERROR_INVALID },
    { "file:///etc/passwd", ERROR_INVALID },
    { "gopher://127.0.0.1:%P/", ERROR_INVALID },
    { "dict://127.0.0.1:%P/", ERROR_INVALID },
    { "//127.0.0.1:%P/", ERROR_INVALID },
    { "127.0.0.1:%P/", ERROR_INVALID },
    { "https:127.0.0.1:%P", ERROR_INVALID },
    { "https://", ERROR_INVALID },
    { "https://user@127.0.0.1:%P/", ERROR_INVALID },
    { "https://user:password@example.org/", ERROR_INVALID },
    { "https://example.org@127.0.0.1:%P/", ERROR_INVALID },
    { "https://127.0.0.1:%P\\@example.org/", ERROR_INVALID },
    { "https://127.0.0.1:%P /", ERROR_INVALID },
    { "https://127.0.0.1:%P/\r\nHost: other", ERROR_INVALID },
    { "https://ex\xc3\xa4mple.org/", ERROR_INVALID },
    { "https://127.0.0.1:22/", ERROR_DENIED },
    { "https://127.0.0.1:80/", ERROR_DENIED },
    /* loopback in every spelling */
    { "https://127.0.0.1:%P/", ERROR_DENIED },
    { "https://127.0.0.1.:%P/", ERROR_DENIED },
    { "https://127.1:%P/", ERROR_DENIED },
    { "https://2130706433:%P/", ERROR_DENIED },
    { "https://0x7f000001:%P/", ERROR_DENIED },
    { "https://0x7f.0.0.1:%P/", ERROR_DENIED },
    { "https://0177.0.0.1:%P/", ERROR_DENIED },
    { "https://017700000001:%P/", ERROR_DENIED },
    { "https://localhost:%P/", ERROR_DENIED },
    { "https://LOCALHOST:%P/", ERROR_DENIED },
    { "https://%31%32%37.0.0.1:%P/", ERROR_DENIED },
    { "https://[::1]:%P/", ERROR_DENIED },
    { "https://[0:0:0:0:0:0:0:1]:%P/", ERROR_DENIED },
    { "https://[::ffff:127.0.0.1]:%P/", ERROR_DENIED },
    { "https://[::ffff:7f00:1]:%P/", ERROR_DENIED },
    { "https://[::127.0.0.1]:%P/", ERROR_DENIED },
    { "https://[64:ff9b::7f00:1]:%P/", ERROR_DENIED },
    { "https://[2002:7f00:1::]:%P/", ERROR_DENIED },
    { "https://[::1%25lo]:%P/", ERROR_INVALID },
    { "https://0.0.0.0:%P/", ERROR_DENIED },
    { "https://0:%P/", ERROR_DENIED },
    { "https://[::]:%P/", ERROR_DENIED },
    /* an organization's own, link-local, multicast, metadata */
    { "https://10.0.0.1/", ERROR_DENIED },
    { "https://172.16.0.1/", ERROR_DENIED },
    { "https://192.168.1.1/", ERROR_DENIED },
    { "https://100.64.0.1/", ERROR_DENIED },
    { "https://169.254.169.254/", ERROR_DENIED },
    { "https://2852039166/", ERROR_DENIED }, /* the same */
    { "https://[::ffff:a9fe:a9fe]/", ERROR_DENIED },
    { "https://[fe80::1]/", ERROR_DENIED },
    { "https://[fd00:ec2::254]/", ERROR_DENIED },
    { "https://[fc00::1]/", ERROR_DENIED },
    { "https://100.100.100.200/", ERROR_DENIED },
    { "https://168.63.129.16/", ERROR_DENIED },
    { "https://224.0.0.1/", ERROR_DENIED },
    { "https://255.255.255.255/", ERROR_DENIED },
    { "https://[ff02::1]/", ERROR_DENIED },
};

static void
nothing_but_public_https_gets_a_connection(void **state)
{
    const struct egress_policy policy = { .timeout_ms = 3000 };
    unsigned before = server.connections;

    (void)state;
    for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
        scoped_egress answer = { 0 };
        struct error err;
        int rc = fetch(&policy, refused[i].url, &answer, &err);

        if (rc != -1 || err.code != refused[i].code)
            fail_msg("%s: %d, code %d, %s", refused[i].url, rc, (int)err.code,
                     rc == -1 ? err.text : "");
    }
    assert_int_equal(server.connections, before);
}

/* Metadata and link-local addresses are not to be opened by anybody. */
static void
what_is_never_asked_stays_so_when_all_networks_are_open(void **state)
{
    static const char *const urls[] = {
        "https://169.254.169.254/", "https://100.100.100.200/",
        "https://0.0.0.0:%P/",      "https://127.0.0.1:%P/",
        "https://[fd00:ec2::254]/", "https://[::1]:%P/",
        "https://[fe80::1]/",       "https://224.0.0.1/",
    };
    const struct egress_policy policy = { .networks = "0.0.0.0/0, ::/0",
                                          .timeout_ms = 3000 };
    unsigned before = server.connections;

    (void)state;
    for (size_t i = 0; i < sizeof(urls) / sizeof(*urls); i++) {
        scoped_egress answer = { 0 };
        struct error err;

        assert_int_equal(fetch(&policy, urls[i], &answer, &err), -1);
        assert_int_equal(err.code, ERROR_DENIED);
    }
    assert_int_equal(server.connections, before);
}

static void
a_private_network_that_the_operator_names_may_be_asked(void **state)
{
    const struct egress_policy policy = { .networks = "10.1.0.0/16" };
    struct error err;

    (void)state;
    assert_int_equal(egress_check(&policy, "https://10.1.2.3/", &err), 0);
    assert_int_equal(egress_check(&policy, "https://10.2.2.3/", &err), -1);
    assert_int_equal(err.code, ERROR_DENIED);
    assert_int_equal(egress_check(&policy, "http://10.1.2.3:8080/", &err), -1);
}

static void
only_hosts_of_the_list_are_asked(void **state)
{
    const struct egress_policy policy = {
        .hosts = "sso.example.org, *.corp.example", .loopback = true
    };
    static const struct {
        const char *url;
        int rc;
    } cases[] = {
        { "https://sso.example.org/x", 0 },
        { "https://SSO.example.org/x", 0 },
        { "https://sso.example.org./x", 0 },
        { "https://a.corp.example/", 0 },
        { "https://a.b.corp.example/", 0 },
        { "https://corp.example/", -1 },
        { "https://evilcorp.example/", -1 },
        { "https://sso.example.org.evil.example/", -1 },
        { "https://example.org/", -1 },
        { "https://127.0.0.1:8443/", -1 },
    };
    struct error err;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        assert_int_equal(egress_check(&policy, cases[i].url, &err),
                         cases[i].rc);
    assert_int_equal(egress_check_policy(&policy, &err), 0);
    assert_int_equal(
        egress_check_policy(
            &(struct egress_policy){ .hosts = "https://x.example/" }, &err),
        -1);
}

/* --- names --- */

struct names {
    const char *const *answers; /* in the order of questions; NULL ends */
    unsigned asked;
};

static const char *
resolve(void *data, const char *host)
{
    struct names *names = data;

    (void)host;
    return names->answers[names->asked++];
}

static void
a_name_is_judged_by_the_address_that_is_connected_to(void **state)
{
    static const char *const bad[] = { "127.0.0.1",       "10.0.0.1",
                                       "169.254.169.254", "::1",
                                       "::ffff:10.0.0.1", "0.0.0.0" };
    unsigned before = server.connections;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        const char *const answers[] = { bad[i], NULL };
        struct names names = { .answers = answers };
        const struct egress_policy policy = { .timeout_ms = 3000,
                                              .resolve = resolve,
                                              .data = &names };
        scoped_egress answer = { 0 };
        struct error err;

        assert_int_equal(
            fetch(&policy, "https://sso.example:%P/", &answer, &err), -1);
        assert_int_equal(err.code, ERROR_DENIED);
        assert_int_equal(names.asked, 1);
    }
    assert_int_equal(server.connections, before);
}

/* The name server says another address each time it is asked: only the first
 * answer counts, for the judgement and for the connection alike. */
static void
a_name_that_moves_is_asked_once_for_each_hop(void **state)
{
    static const char *const answers[] = { "127.0.0.1", "169.254.169.254",
                                           NULL };
    struct names names = { .answers = answers };
    struct egress_policy policy = open_policy;
    scoped_egress answer = { 0 };
    struct error err;

    (void)state;
    policy.resolve = resolve;
    policy.data = &names;
    assert_int_equal(
        fetch(&policy, "http://moving.example:%P/plain", &answer, &err), 0);
    assert_int_equal(answer.status, 200);
    assert_int_equal(names.asked, 1);
}

/* The redirect leads to the same name, which lies elsewhere by then. */
static void
a_name_that_moves_between_hops_is_judged_anew(void **state)
{
    static const char *const answers[] = { "127.0.0.1", "169.254.169.254",
                                           NULL };
    struct names names = { .answers = answers };
    struct egress_policy policy = open_policy;
    unsigned before = server.connections;
    scoped_egress answer = { 0 };
    struct error err;

    (void)state;
    policy.resolve = resolve;
    policy.data = &names;
    assert_int_equal(
        fetch(&policy, "http://moving.example:%P/again/1", &answer, &err), -1);
    assert_int_equal(err.code, ERROR_DENIED);
    assert_int_equal(names.asked, 2);
    assert_int_equal(server.connections, before + 1);
}

/* http is for loopback alone, whatever the name says. */
static void
plain_http_never_leaves_loopback(void **state)
{
    static const char *const answers[] = { "8.8.8.8", NULL };
    struct names names = { .answers = answers };
    struct egress_policy policy = open_policy;
    scoped_egress answer = { 0 };
    struct error err;

    (void)state;
    policy.resolve = resolve;
    policy.data = &names;
    assert_int_equal(fetch(&policy, "http://sso.example:%P/", &answer, &err),
                     -1);
    assert_int_equal(err.code, ERROR_DENIED);
    assert_int_equal(
        egress_check(&open_policy, "http://8.8.8.8:8080/", &err), -1);
}

/* --- redirects --- */

static void
redirects_are_judged_like_the_first_url(void **state)
{
    static const struct {
        const char *url;
        enum error_code code;
    } cases[] = {
        { "http://127.0.0.1:%P/to/http://169.254.169.254:8080/latest",
          ERROR_DENIED },
        { "http://127.0.0.1:%P/to/https://169.254.169.254/", ERROR_DENIED },
        { "http://127.0.0.1:%P/to/https://10.0.0.1/", ERROR_DENIED },
        { "http://127.0.0.1:%P/to/file:///etc/passwd", ERROR_INVALID },
        { "http://127.0.0.1:%P/to/ftp://127.0.0.1:9999/", ERROR_INVALID },
        { "http://127.0.0.1:%P/to/https://a:b@example.org/", ERROR_INVALID },
        { "http://127.0.0.1:%P/to/https://127.0.0.1:22/", ERROR_DENIED },
        { "http://127.0.0.1:%P/again/0", ERROR_DENIED }, /* for ever */
        { "http://127.0.0.1:%P/again/1111", ERROR_DENIED },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        scoped_egress answer = { 0 };
        struct error err;
        int rc = fetch(&open_policy, cases[i].url, &answer, &err);

        if (rc != -1 || err.code != cases[i].code)
            fail_msg("%s: %d, code %d", cases[i].url, rc, (int)err.code);
    }
}

static void
three_redirects_are_followed(void **state)
{
    scoped_egress answer = { 0 };
    unsigned before = server.connections;
    struct error err;

    (void)state;
    assert_int_equal(
        fetch(&open_policy, "http://127.0.0.1:%P/again/11", &answer, &err), 0);
    assert_int_equal(answer.status, 200);
    assert_string_equal(buffer_text(&answer.body), "hello");
    assert_string_equal(answer.type, "text/plain");
    assert_int_equal(server.connections, before + 4);
}

static void
a_post_is_not_redirected(void **state)
{
    char url[256];
    struct egress_request request = { .url = url,
                                      .form = "a=b",
                                      .basic = "client:secret",
                                      .max = 1000 };
    scoped_egress answer = { 0 };
    unsigned before = server.connections;
    struct error err;

    (void)state;
    spell("http://127.0.0.1:%P/to/http://127.0.0.1:%P/plain", url,
          sizeof(url));
    assert_int_equal(egress_fetch(&open_policy, &request, &answer, &err), 0);
    assert_int_equal(answer.status, 302);
    assert_int_equal(server.connections, before + 1);
    assert_non_null(strstr(server.request, "POST /to/"));
    /* base64 of "client:secret", by coreutils. */
    assert_non_null(
        strstr(server.request, "Authorization: Basic Y2xpZW50OnNlY3JldA=="));
}

/* --- bounds --- */

static void
an_answer_without_end_is_cut_off(void **state)
{
    static const char *const urls[] = { "http://127.0.0.1:%P/huge",
                                        "http://127.0.0.1:%P/huge-length",
                                        "http://127.0.0.1:%P/headers" };

    (void)state;
    for (size_t i = 0; i < sizeof(urls) / sizeof(*urls); i++) {
        scoped_egress answer = { 0 };
        struct error err;

        assert_int_equal(fetch(&open_policy, urls[i], &answer, &err), -1);
        assert_int_equal(err.code, ERROR_TOO_LARGE);
        assert_true(answer.body.size <= 65536);
    }
}

static void
a_slow_answer_ends_with_the_time(void **state)
{
    const struct egress_policy policy = { .loopback = true,
                                          .timeout_ms = 400 };
    int64_t from_ms = clock_mono_ms();
    scoped_egress answer = { 0 };
    struct error err;

    (void)state;
    assert_int_equal(
        fetch(&policy, "http://127.0.0.1:%P/slow", &answer, &err), -1);
    assert_int_equal(err.code, ERROR_BUSY);
    assert_true(clock_mono_ms() - from_ms < 2500);
}

static void
a_proxy_of_the_environment_is_not_used(void **state)
{
    static const char *const names[] = { "http_proxy", "https_proxy",
                                         "HTTPS_PROXY", "ALL_PROXY" };
    static const char *const answers[] = { "127.0.0.9", NULL };
    struct names where = { .answers = answers };
    struct egress_policy policy = open_policy;
    unsigned before = server.connections;
    scoped_egress answer = { 0 };
    char proxy[64];
    struct error err;

    (void)state;
    spell("http://127.0.0.1:%P", proxy, sizeof(proxy));
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        assert_int_equal(setenv(names[i], proxy, 1), 0);
    policy.resolve = resolve;
    policy.data = &where;
    /* Nobody listens on port 1 + 1024 of 127.0.0.9. */
    assert_int_equal(
        fetch(&policy, "http://sso.example:1025/plain", &answer, &err), -1);
    assert_int_equal(err.code, ERROR_BUSY);
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        (void)unsetenv(names[i]);
    assert_int_equal(server.connections, before);
}

static void
the_operators_leave_opens_loopback(void **state)
{
    static const char *const urls[] = { "http://127.0.0.1:%P/plain",
                                        "http://localhost:%P/plain" };

    (void)state;
    for (size_t i = 0; i < sizeof(urls) / sizeof(*urls); i++) {
        scoped_egress answer = { 0 };
        struct error err;

        assert_int_equal(fetch(&open_policy, urls[i], &answer, &err), 0);
        assert_string_equal(buffer_text(&answer.body), "hello");
        assert_null(strstr(server.request, "Cookie"));
        assert_null(strstr(server.request, "Accept-Encoding"));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_but_public_https_gets_a_connection),
        cmocka_unit_test(
            what_is_never_asked_stays_so_when_all_networks_are_open),
        cmocka_unit_test(
            a_private_network_that_the_operator_names_may_be_asked),
        cmocka_unit_test(only_hosts_of_the_list_are_asked),
        cmocka_unit_test(a_name_is_judged_by_the_address_that_is_connected_to),
        cmocka_unit_test(a_name_that_moves_is_asked_once_for_each_hop),
        cmocka_unit_test(a_name_that_moves_between_hops_is_judged_anew),
        cmocka_unit_test(plain_http_never_leaves_loopback),
        cmocka_unit_test(redirects_are_judged_like_the_first_url),
        cmocka_unit_test(three_redirects_are_followed),
        cmocka_unit_test(a_post_is_not_redirected),
        cmocka_unit_test(an_answer_without_end_is_cut_off),
        cmocka_unit_test(a_slow_answer_ends_with_the_time),
        cmocka_unit_test(a_proxy_of_the_environment_is_not_used),
        cmocka_unit_test(the_operators_leave_opens_loopback),
    };

    (void)signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, start, stop);
}
