/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/client.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/digest.h"
#include "base/sign.h"
#include "cli/output.h"

#define REPEATS 10
#define PAGE 500

int
client_problem(const struct http_answer *answer, struct error *err)
{
    struct error ignored;
    scoped_json body =
        json_read(buffer_text(&answer->body), answer->body.size, &ignored);
    const char *code = NULL, *detail = NULL, *field = "", *help = NULL;
    const char *request = NULL;

    if (body == NULL || !json_is_object(body))
        return error_set(err, ERROR_INTERNAL,
                         "the server answered with status %ld",
                         answer->status);
    (void)json_text(body, "code", false, 64, &code, &ignored);
    (void)json_text(body, "detail", false, 4096, &detail, &ignored);
    (void)json_text(body, "field", false, 256, &field, &ignored);
    (void)json_text(body, "help", false, 4096, &help, &ignored);
    (void)json_text(body, "request_id", false, 64, &request, &ignored);
    (void)error_set(err, code != NULL ? error_code_parse(code)
                                      : ERROR_INTERNAL,
                    "%s", detail != NULL ? detail : "no detail");
    (void)snprintf(err->field, sizeof(err->field), "%s", field);
    if (help != NULL)
        (void)error_help(err, "%s", help);
    else if (err->code == ERROR_INTERNAL && request != NULL)
        (void)error_help(err, "the server's log has it as request %s",
                         request);
    return -1;
}

struct headers {
    char token[256];
    char key[80];
    char match[48];
    char approval[64];
    char ask[512];
};

/* Asking other people for the change, or making it by what they approved. */
static void
add_approval(const struct cli *cli, const struct client_call *call,
             struct headers *headers, const char **place)
{
    const char *id = call->approval != NULL ? call->approval
                                            : cli_option(cli, "approval");
    const char *reason = cli_option(cli, "ask-approval");

    if (id != NULL) {
        (void)snprintf(headers->approval, sizeof(headers->approval),
                       "Approval: %s", id);
        *place++ = headers->approval;
    }
    if (reason != NULL) {
        (void)snprintf(headers->ask, sizeof(headers->ask), "Ask-Approval: %s",
                       reason);
        *place++ = headers->ask;
    }
}

static void
fill_headers(const struct cli *cli, const struct client_call *call,
             struct headers *headers, struct http_request *request)
{
    uint8_t random[16];
    char hex[2 * sizeof(random) + 1];
    int count = 0;

    request->headers[count++] = "Accept: application/json";
    if (cli->token != NULL) {
        (void)snprintf(headers->token, sizeof(headers->token),
                       "Authorization: Bearer %s", cli->token);
        request->headers[count++] = headers->token;
    }
    if (call->body != NULL)
        request->headers[count++] =
            strcmp(call->method, "PATCH") == 0
                ? "Content-Type: application/merge-patch+json"
                : "Content-Type: application/json";
    if (strcmp(call->method, "GET") != 0 && cli->token != NULL) {
        random_bytes(random, sizeof(random));
        hex_encode(random, sizeof(random), hex);
        (void)snprintf(headers->key, sizeof(headers->key),
                       "Idempotency-Key: %s", hex);
        request->headers[count++] = headers->key;
    }
    if (call->version > 0) {
        (void)snprintf(headers->match, sizeof(headers->match),
                       "If-Match: \"%lld\"", (long long)call->version);
        request->headers[count++] = headers->match;
    }
    if (strcmp(call->method, "GET") != 0 && cli->token != NULL)
        add_approval(cli, call, headers, &request->headers[count]);
}

static const char *
with_dry_run(const struct cli *cli, const struct client_call *call)
{
    if (!cli->dry_run || strcmp(call->method, "GET") == 0)
        return call->path;
    return arena_printf(cli->arena, "%s%cdry_run=1", call->path,
                        strchr(call->path, '?') != NULL ? '&' : '?');
}

/* Nothing was done: other people were asked. */
static int
pending(const struct cli *cli, const json_t *approval, struct error *err)
{
    const char *id = json_string_value(json_object_get(approval, "id"));
    int64_t people = json_integer_value(json_object_get(approval, "needed"));

    output_line(cli->quiet ? "%s" : "approval/%s open", id != NULL ? id : "-");
    (void)error_set(err, ERROR_APPROVAL,
                    "nothing was changed: %lld other %s to approve it",
                    (long long)people, people == 1 ? "person has" : "people "
                                                                   "have");
    return error_help(err, "when it is approved: bulkhead execute approval "
                           "%.40s",
                      id != NULL ? id : "-");
}

static int
send_once(const struct cli *cli, const struct http_request *request,
          json_t **out, struct error *err)
{
    scoped_answer answer = { 0 };

    if (http_send(&cli->target, request, &answer, err) != 0) {
        /* Did the command arrive before the connection broke? */
        if (answer.connected && strcmp(request->method, "GET") != 0)
            err->code = ERROR_UNKNOWN;
        return error_help(err, "is bulkheadd running? `bulkhead --help` says "
                               "how the server is named");
    }
    if (answer.status >= 400)
        return client_problem(&answer, err);
    *out = NULL;
    if (answer.body.size == 0)
        return 0;
    /* Lists may be larger than what a request may be. */
    *out = json_loadb(answer.body.bytes, answer.body.size, JSON_DECODE_ANY,
                      NULL);
    if (*out == NULL)
        return error_set(err, ERROR_INTERNAL, "the answer is not JSON");
    return answer.status == 202 ? pending(cli, *out, err) : 0;
}

/* Repeats a request while that can only do good: with its key a command
 * happens once.  While the outcome is unknown the server may be starting
 * again, so that it does not answer is no end. */
static int
send_until_known(const struct cli *cli, const struct http_request *request,
                 bool can_repeat, json_t **out, struct error *err)
{
    bool unknown = false;

    for (int i = 0;; i++) {
        const struct timespec pause = { 0, 200000000L << (i < 2 ? i : 2) };

        if (send_once(cli, request, out, err) == 0)
            return 0;
        unknown = unknown || err->code == ERROR_UNKNOWN;
        if (unknown && err->code == ERROR_BUSY)
            err->code = ERROR_UNKNOWN;
        if (i == REPEATS || cli_interrupted() ||
            (err->code != ERROR_RATE &&
             (err->code != ERROR_UNKNOWN || !can_repeat)))
            return -1;
        (void)nanosleep(&pause, NULL);
    }
}

int
client_send(const struct cli *cli, const struct client_call *call,
            json_t **out, struct error *err)
{
    struct http_request request = {
        .method = call->method,
        .path = with_dry_run(cli, call),
        .timeout_ms = call->timeout_ms > 0 ? call->timeout_ms : 30000,
    };
    scoped_buffer body = { 0 };
    struct headers headers;

    if (call->body != NULL) {
        json_write(&body, call->body);
        request.body = body.bytes;
        request.body_size = body.size;
    }
    fill_headers(cli, call, &headers, &request);
    return send_until_known(cli, &request,
                            strcmp(call->method, "GET") == 0 ||
                                cli->token != NULL,
                            out, err);
}

int
client_get(const struct cli *cli, const char *path, json_t **out,
           struct error *err)
{
    const struct client_call call = { .method = "GET", .path = path };

    return client_send(cli, &call, out, err);
}

int
client_get_text(const struct cli *cli, const char *path,
                struct http_answer *out, struct error *err)
{
    const struct client_call call = { .method = "GET", .path = path };
    struct http_request request = { .method = "GET", .path = path,
                                    .timeout_ms = 30000 };
    struct headers headers;

    fill_headers(cli, &call, &headers, &request);
    if (http_send(&cli->target, &request, out, err) != 0)
        return -1;
    return out->status >= 400 ? client_problem(out, err) : 0;
}

int
client_list(const struct cli *cli, const char *path, size_t max, json_t **out,
            struct error *err)
{
    char join = strchr(path, '?') != NULL ? '&' : '?';
    const char *cursor = NULL;
    scoped_json all = json_object();
    json_t *items = json_array();
    json_t *names = json_object();

    (void)json_object_set_new(all, "items", items);
    (void)json_object_set_new(all, "names", names);
    do {
        size_t left = max - json_array_size(items);
        scoped_buffer page = { 0 };
        scoped_json answer = NULL;

        buffer_printf(&page, "%s%climit=%zu", path, join,
                      left < PAGE ? left : (size_t)PAGE);
        if (cursor != NULL) {
            buffer_add_text(&page, "&cursor=");
            http_encode(&page, cursor);
        }
        if (client_get(cli, page.bytes, &answer, err) != 0)
            return -1;
        (void)json_array_extend(items, json_object_get(answer, "items"));
        (void)json_object_update(names, json_object_get(answer, "names"));
        cursor = json_string_value(json_object_get(answer, "next"));
        if (cursor != NULL)
            cursor = arena_strdup(cli->arena, cursor);
        (void)json_object_set(all, "revision",
                              json_object_get(answer, "revision"));
    } while (cursor != NULL && json_array_size(items) < max);
    *out = json_incref(all);
    return 0;
}

int
client_stream(const struct cli *cli, const char *path,
              bool (*take)(const char *bytes, size_t size, void *data),
              void *data, struct error *err)
{
    const struct client_call call = { .method = "GET", .path = path };
    struct http_request request = { .method = "GET", .path = path };
    scoped_answer answer = { 0 };
    struct headers headers;

    fill_headers(cli, &call, &headers, &request);
    if (http_stream(&cli->target, &request, &answer, take, data, err) != 0)
        return -1;
    return answer.status >= 400 ? client_problem(&answer, err) : 0;
}
