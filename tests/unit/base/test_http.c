/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/http.h"

/* A server for one connection: it keeps what it is sent and answers what it
 * is told. */
struct server {
    char path[64];
    int fd;
    const char *answer; /* NULL: waits until the client is gone */
    size_t expect;      /* bytes of the request to wait for */
    char request[4096];
    pthread_t thread;
};

static void *
serve(void *data)
{
    struct server *server = data;
    int fd = accept(server->fd, NULL, NULL);
    size_t used = 0;
    ssize_t size;

    while (fd >= 0 && used < sizeof(server->request) - 1 &&
           (server->answer == NULL || used < server->expect)) {
        size = read(fd, server->request + used,
                    sizeof(server->request) - 1 - used);
        if (size <= 0)
            break;
        used += (size_t)size;
    }
    server->request[used] = '\0';
    if (server->answer != NULL &&
        write(fd, server->answer, strlen(server->answer)) < 0)
        perror("write");
    (void)close(fd);
    return NULL;
}

static struct http_target
server_start(struct server *server, const char *answer, size_t expect)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    struct http_target target = { .unix_path = server->path };

    memset(server->request, 0, sizeof(server->request));
    (void)snprintf(server->path, sizeof(server->path), "/tmp/test_http.%ld",
                   (long)getpid());
    (void)unlink(server->path);
    memcpy(address.sun_path, server->path, strlen(server->path) + 1);
    server->answer = answer;
    server->expect = expect;
    server->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(server->fd >= 0);
    assert_int_equal(bind(server->fd, (struct sockaddr *)&address,
                          sizeof(address)),
                     0);
    assert_int_equal(listen(server->fd, 1), 0);
    assert_int_equal(pthread_create(&server->thread, NULL, serve, server), 0);
    return target;
}

static void
server_stop(struct server *server)
{
    (void)pthread_join(server->thread, NULL);
    (void)close(server->fd);
    (void)unlink(server->path);
}

static const char found[] = "HTTP/1.1 404 Not Found\r\n"
                            "Content-Length: 5\r\n"
                            "ETag:  \"7\" \r\n"
                            "X-Empty:\r\n\r\nhello";

static void
any_status_is_an_answer_with_headers_and_body(void **state)
{
    const struct http_request request = { .method = "GET", .path = "/a?b=c" };
    struct http_target target;
    scoped_answer answer = { 0 };
    struct server server;
    struct error err = { 0 };
    char value[32] = "kept";

    (void)state;
    target = server_start(&server, found, 1);
    assert_int_equal(http_send(&target, &request, &answer, &err), 0);
    server_stop(&server);
    assert_memory_equal(server.request, "GET /a?b=c HTTP/1.1\r\n", 21);
    assert_int_equal(answer.status, 404);
    assert_string_equal(buffer_text(&answer.body), "hello");
    assert_int_equal(http_header(&answer, "X-None", value, 32), -1);
    assert_int_equal(http_header(&answer, "ETa", value, 32), -1);
    assert_string_equal(value, "kept");
    assert_int_equal(http_header(&answer, "etag", value, 32), 0);
    assert_string_equal(value, "\"7\" ");
    assert_int_equal(http_header(&answer, "etag", value, 3), 0);
    assert_string_equal(value, "\"7");
    assert_int_equal(http_header(&answer, "x-empty", value, 32), 0);
    assert_string_equal(value, "");
}

static void
method_headers_and_body_are_sent_as_given(void **state)
{
    const struct http_request request = {
        .method = "PATCH",
        .path = "/x",
        .headers = { "Content-Type: application/json", "If-Match: \"3\"" },
        .body = "{\"a\":1}",
        .body_size = 7,
    };
    struct http_target target;
    scoped_answer answer = { 0 };
    struct server server;
    struct error err = { 0 };

    (void)state;
    target = server_start(&server, "HTTP/1.1 204 No Content\r\n\r\n", 110);
    assert_int_equal(http_send(&target, &request, &answer, &err), 0);
    server_stop(&server);
    assert_int_equal(answer.status, 204);
    assert_memory_equal(server.request, "PATCH /x HTTP/1.1\r\n", 19);
    assert_non_null(strstr(server.request, "\r\nIf-Match: \"3\"\r\n"));
    assert_non_null(strstr(server.request,
                           "\r\nContent-Type: application/json\r\n"));
    assert_non_null(strstr(server.request, "\r\nContent-Length: 7\r\n"));
    assert_null(strstr(server.request, "Expect"));
    assert_non_null(strstr(server.request, "\r\n\r\n{\"a\":1}"));
}

static bool
take_some(const char *bytes, size_t size, void *data)
{
    struct buffer *taken = data;

    buffer_add(taken, bytes, size);
    return taken->size < 5;
}

static void
a_stream_goes_to_the_taker_until_it_has_enough(void **state)
{
    const struct http_request request = { .method = "GET", .path = "/" };
    struct http_target target;
    scoped_answer answer = { 0 };
    scoped_buffer taken = { 0 };
    struct server server;
    struct error err = { 0 };

    (void)state;
    target = server_start(&server, "HTTP/1.1 200 OK\r\n\r\nhello", 1);
    assert_int_equal(http_stream(&target, &request, &answer, take_some,
                                 &taken, &err),
                     0);
    server_stop(&server);
    assert_string_equal(buffer_text(&taken), "hello");
    assert_int_equal(answer.body.size, 0);
}

static void
the_body_of_an_error_is_not_streamed(void **state)
{
    const struct http_request request = { .method = "GET", .path = "/" };
    struct http_target target;
    scoped_answer answer = { 0 };
    scoped_buffer taken = { 0 };
    struct server server;
    struct error err = { 0 };

    (void)state;
    target = server_start(&server, found, 1);
    assert_int_equal(http_stream(&target, &request, &answer, take_some,
                                 &taken, &err),
                     0);
    server_stop(&server);
    assert_int_equal(taken.size, 0);
    assert_string_equal(buffer_text(&answer.body), "hello");
}

static void
redirects_are_not_followed(void **state)
{
    const struct http_request request = { .method = "GET", .path = "/" };
    struct http_target target;
    scoped_answer answer = { 0 };
    struct server server;
    struct error err = { 0 };

    (void)state;
    target = server_start(&server,
                          "HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\n"
                          "Content-Length: 0\r\n\r\n",
                          1);
    assert_int_equal(http_send(&target, &request, &answer, &err), 0);
    server_stop(&server);
    assert_int_equal(answer.status, 302);
}

static void
a_server_that_is_down_silent_or_breaks_off_is_busy(void **state)
{
    const struct http_request request = { .method = "GET",
                                          .path = "/",
                                          .timeout_ms = 200 };
    struct http_target target = { .unix_path = "/tmp/no-such-socket" };
    scoped_answer answer = { 0 };
    struct server server;
    struct error err = { 0 };

    (void)state;
    assert_int_equal(http_send(&target, &request, &answer, &err), -1);
    assert_int_equal(err.code, ERROR_BUSY);
    assert_null(strstr(err.text, "no-such-socket"));
    assert_false(answer.connected);
    err.code = ERROR_NONE;
    target = server_start(&server, NULL, 0);
    assert_int_equal(http_send(&target, &request, &answer, &err), -1);
    server_stop(&server);
    assert_int_equal(err.code, ERROR_BUSY);
    assert_true(answer.connected);
    err.code = ERROR_NONE;
    target = server_start(&server,
                          "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhel",
                          1);
    assert_int_equal(http_send(&target, &request, &answer, &err), -1);
    server_stop(&server);
    assert_int_equal(err.code, ERROR_BUSY);
}

static void
other_schemes_than_http_are_not_spoken(void **state)
{
    const struct http_request request = { .method = "GET", .path = "/passwd" };
    const struct http_target target = { .url = "file:///etc" };
    scoped_answer answer = { 0 };
    struct error err = { 0 };

    (void)state;
    assert_int_equal(http_send(&target, &request, &answer, &err), -1);
    assert_int_equal(answer.body.size, 0);
}

static void
encoding_leaves_only_plain_characters(void **state)
{
    scoped_buffer out = { 0 };

    (void)state;
    http_encode(&out, "aZ09-._~ /?&=%+\xC3\xA9\n");
    assert_string_equal(buffer_text(&out),
                        "aZ09-._~%20%2F%3F%26%3D%25%2B%C3%A9%0A");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_status_is_an_answer_with_headers_and_body),
        cmocka_unit_test(method_headers_and_body_are_sent_as_given),
        cmocka_unit_test(a_stream_goes_to_the_taker_until_it_has_enough),
        cmocka_unit_test(the_body_of_an_error_is_not_streamed),
        cmocka_unit_test(redirects_are_not_followed),
        cmocka_unit_test(a_server_that_is_down_silent_or_breaks_off_is_busy),
        cmocka_unit_test(other_schemes_than_http_are_not_spoken),
        cmocka_unit_test(encoding_leaves_only_plain_characters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
