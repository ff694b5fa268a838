/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/socket.h>
#include <sys/un.h>

#include "tests/unit/api/client.h"

/* What comes in at the door that should not. */

static struct place place;

static int
set_up(void **state)
{
    (void)state;
    place_open(&place);
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    place_close(&place);
    return 0;
}

static long
post(const char *path, const char *body)
{
    return client_send(&place, place.root, "POST", path, body);
}

static void
hostile_bodies_are_refused_with_a_reason(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        "",
        "{",
        "[]",
        "null",
        "\"text\"",
        "{\"name\":\"a\"} x",
        "{\"name\":\"a\",\"name\":\"b\"}",
        "{\"name\":1}",
        "{\"name\":null}",
        "{\"name\":\"\"}",
        "{\"name\":\"A\"}",
        "{\"name\":\"a/b\"}",
        "{\"name\":\"a\\u0000b\"}",
        "{\"name\":\"a\\nb\"}",
        "{\"name\":\"a\",\"unknown\":1}",
        "{\"name\":\"a\",\"number\":7}",
        "{\"name\":\"a\",\"id\":\"tn_aaaaaaaaaaaaaaaaaaaaaaaaaa\"}",
        "{\"name\":\"a\",\"display\":1e999}",
        "{\"name\":\"a\",\"display\":1.5}",
        "{\"name\":\"a\",\"isolation\":\"none\"}",
        "{\"name\":\"a\",\"pools\":{}}",
        "{\"name\":\"\xff\xfe\"}",
        "{\"name\":\"a\",\"display\":\"\xc3\"}",
    };
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        long status = post("/tenants", bodies[i]);
        if (status != 400)
            fail_msg("%s: %ld", bodies[i], status);
        scoped_json problem = client_json(&place);
        assert_non_null(json_object_get(problem, "detail"));
        assert_non_null(json_object_get(problem, "request_id"));
    }
}

static void
a_body_may_not_be_deep_or_large(void **state)
{
    (void)state;
    scoped_buffer body = {0};
    buffer_add_text(&body, "{\"name\":\"a\",\"pools\":");
    for (int i = 0; i < 20; i++)
        buffer_add_byte(&body, '[');
    for (int i = 0; i < 20; i++)
        buffer_add_byte(&body, ']');
    buffer_add_byte(&body, '}');
    assert_int_equal(post("/tenants", buffer_text(&body)), 400);
    buffer_clear(&body);
    buffer_add_text(&body, "{\"name\":\"");
    for (int i = 0; i < 1100000; i++)
        buffer_add_byte(&body, 'a');
    buffer_add_text(&body, "\"}");
    assert_int_equal(post("/tenants", buffer_text(&body)), 413);
    assert_int_equal(client_send(&place, place.root, "GET", "/whoami", NULL),
                     200);
}

static void
what_is_not_taken_is_said(void **state)
{
    (void)state;
    char value[128];
    tell(&place, place.root, "PUT", "/tenants", "{}", 405);
    assert_int_equal(http_header(&place.last, "Allow", value, sizeof value),
                     0);
    assert_string_equal(value, "GET, HEAD, POST");
    tell(&place, place.root, "OPTIONS", "/tenants", NULL, 204);
    tell(&place, place.root, "GET", "/nowhere", NULL, 404);
    tell(&place, place.root, "GET", "=/", NULL, 404);
    tell(&place, place.root, "GET", "=/api/v2/tenants", NULL, 404);
    tell(&place, place.root, "GET", "/tenants?limt=3", NULL, 400);
    tell(&place, place.root, "GET", "/tenants?limit=0", NULL, 400);
    tell(&place, place.root, "GET", "/tenants?limit=501", NULL, 400);
    tell(&place, place.root, "GET", "/tenants?limit=x", NULL, 400);
    tell(&place, place.root, "GET", "/tenants?limit=1&limit=2", NULL, 400);
    tell(&place, place.root, "GET", "/tenants?cursor=zz", NULL, 400);
    tell(&place, place.root, "GET", "/tenants/..%2Fx", NULL, 400);
    tell(&place, place.root, "GET", "/tenants//x", NULL, 400);
}

static void
another_content_type_is_refused(void **state)
{
    (void)state;
    struct error err;
    char authorization[128];
    (void)snprintf(authorization, sizeof authorization,
                   "Authorization: Bearer %s", place.root);
    const char *types[] = {"Content-Type: text/plain",
                           "Content-Type: application/jsonx",
                           "Content-Type: multipart/form-data"};
    for (size_t i = 0; i < 3; i++) {
        scoped_answer answer = {0};
        struct http_request request = {.method = "POST",
                                       .path = "/api/v1/tenants",
                                       .headers = {authorization, types[i]},
                                       .body = "{\"name\":\"a\"}",
                                       .body_size = 12,
                                       .timeout_ms = 5000};
        assert_int_equal(http_send(&place.target, &request, &answer, &err),
                         0);
        assert_int_equal(answer.status, 415);
    }
}

static void
every_answer_names_its_request(void **state)
{
    (void)state;
    static const char *const paths[] = {"=/healthz", "=/readyz", "/version",
                                        "/openapi.json", "/nowhere",
                                        "/whoami"};
    char before[64] = "", value[64];
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        (void)client_send(&place, NULL, "GET", paths[i], NULL);
        assert_int_equal(
            http_header(&place.last, "X-Request-Id", value, sizeof value), 0);
        assert_string_not_equal(before, value);
        memcpy(before, value, sizeof before);
        assert_int_equal(http_header(&place.last, "X-Content-Type-Options",
                                     value, sizeof value),
                         0);
    }
}

/* --- raw bytes --- */

static int
dial(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const struct timeval limit = {.tv_sec = 5};
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%.100s",
                   place.socket);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_true(fd >= 0);
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    assert_int_equal(
        connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

/* The status of the answer to these bytes; 0 when the connection ends. */
static int
exchange_raw(const char *text)
{
    char answer[4096];
    int fd = dial();
    assert_true(send(fd, text, strlen(text), MSG_NOSIGNAL) > 0);
    ssize_t size = recv(fd, answer, sizeof answer - 1, 0);
    (void)close(fd);
    if (size < 12)
        return 0;
    answer[size] = '\0';
    return (int)strtol(answer + 9, NULL, 10);
}

static void
bytes_that_are_no_request_do_no_harm(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "\r\n\r\n",
        "GET\r\n\r\n",
        "\x16\x03\x01\x02\x00\x01",
        "GET /api/v1/tenants HTTP/9.9\r\n\r\n",
        "POST /api/v1/login HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
        ("POST /api/v1/login HTTP/1.1\r\nHost: a\r\nContent-Length: "
         "99999999999999999999\r\n\r\n"),
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int status = exchange_raw(bad[i]);
        assert_true(status == 0 || (status >= 400 && status < 500) ||
                    status == 505);
    }
    assert_int_equal(exchange_raw("GET /api/v1/version HTTP/1.1\r\nHost: "
                                  "a\r\n\r\n"),
                     200);
}

static void
a_header_that_counts_may_not_come_twice(void **state)
{
    (void)state;
    assert_int_equal(
        exchange_raw("GET /api/v1/whoami HTTP/1.1\r\nHost: a\r\n"
                     "Authorization: Bearer a\r\nAuthorization: Bearer "
                     "b\r\n\r\n"),
        400);
}

/* [A14] of the door: what one connection proved, the next request on it does
 * not have. */
static void
a_connection_remembers_no_credential(void **state)
{
    (void)state;
    char text[512], answer[8192];
    int fd = dial();
    (void)snprintf(text, sizeof text,
                   "GET /api/v1/whoami HTTP/1.1\r\nHost: a\r\n"
                   "Authorization: Bearer %s\r\n\r\n",
                   place.root);
    assert_true(send(fd, text, strlen(text), MSG_NOSIGNAL) > 0);
    ssize_t size = recv(fd, answer, sizeof answer - 1, 0);
    assert_true(size > 12);
    assert_memory_equal(answer, "HTTP/1.1 200", 12);
    static const char again[] =
        "GET /api/v1/whoami HTTP/1.1\r\nHost: a\r\n\r\n";
    assert_true(send(fd, again, sizeof again - 1, MSG_NOSIGNAL) > 0);
    size = recv(fd, answer, sizeof answer - 1, 0);
    assert_true(size > 12);
    assert_memory_equal(answer, "HTTP/1.1 401", 12);
    (void)close(fd);
}

static void
a_slow_client_costs_only_itself(void **state)
{
    (void)state;
    static const char part[] = "POST /api/v1/login HTTP/1.1\r\nHost: a\r\n"
                               "Content-Type: application/json\r\n"
                               "Content-Length: 1000\r\n\r\n{";
    int slow[64];
    for (size_t i = 0; i < 64; i++) {
        slow[i] = dial();
        assert_true(send(slow[i], part, sizeof part - 1, MSG_NOSIGNAL) > 0);
    }
    for (int i = 0; i < 20; i++)
        tell(&place, place.root, "GET", "/whoami", NULL, 200);
    for (size_t i = 0; i < 64; i++)
        (void)close(slow[i]);
}

/* --- pages --- */

static void
pages_go_on_where_the_last_one_ended(void **state)
{
    (void)state;
    char path[256], name[32] = "", body[64];
    for (int i = 0; i < 7; i++) {
        (void)snprintf(body, sizeof body, "{\"name\":\"page-%d\"}", i);
        tell(&place, place.root, "POST", "/pools", body, 201);
    }
    int seen = 0, pages = 0;
    (void)snprintf(path, sizeof path, "/pools?limit=3");
    for (;;) {
        scoped_json list = ask(&place, place.root, "GET", path, NULL, 200);
        json_t *items = json_object_get(list, "items"), *item;
        size_t index;
        pages++;
        json_array_foreach (items, index, item) {
            (void)snprintf(name, sizeof name, "%s",
                           json_string_value(json_object_get(item, "name")));
            seen += strncmp(name, "page-", 5) == 0;
        }
        const char *next =
            json_string_value(json_object_get(list, "next"));
        if (next == NULL)
            break;
        (void)snprintf(path, sizeof path, "/pools?limit=3&cursor=%s", next);
        /* An object of the page before goes meanwhile. */
        if (pages == 1) {
            tell(&place, place.root, "DELETE", "/pools/page-0", NULL, 204);
        }
    }
    assert_int_equal(seen, 7);
    assert_int_equal(pages, 3);
    scoped_json one =
        ask(&place, place.root, "GET", "/pools?name=page-3", NULL, 200);
    assert_int_equal(json_array_size(json_object_get(one, "items")), 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hostile_bodies_are_refused_with_a_reason),
        cmocka_unit_test(a_body_may_not_be_deep_or_large),
        cmocka_unit_test(what_is_not_taken_is_said),
        cmocka_unit_test(another_content_type_is_refused),
        cmocka_unit_test(every_answer_names_its_request),
        cmocka_unit_test(bytes_that_are_no_request_do_no_harm),
        cmocka_unit_test(a_header_that_counts_may_not_come_twice),
        cmocka_unit_test(a_connection_remembers_no_credential),
        cmocka_unit_test(a_slow_client_costs_only_itself),
        cmocka_unit_test(pages_go_on_where_the_last_one_ended),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
