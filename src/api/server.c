/* SPDX-License-Identifier: Apache-2.0 */
#include "api/server.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <microhttpd.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "api/dispatch.h"
#include "api/exchange.h"
#include "api/state.h"
#include "base/address.h"
#include "base/clock.h"
#include "base/id.h"
#include "base/log.h"
#include "base/sign.h"

#define CONNECTION_MEMORY ((size_t)32 * 1024)
#define BODY_TIME_MS 60000
#define ANSWER_TIME_MS 120000
#define HEADER_MAX 2048

enum stage { STAGE_HEAD, STAGE_BODY, STAGE_WAIT, STAGE_SENT };

static void
name_source(struct MHD_Connection *connection, char source[64])
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(
        connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    const struct sockaddr *address = info == NULL ? NULL : info->client_addr;
    const void *bytes = NULL;
    source[0] = '\0';
    if (address != NULL && address->sa_family == AF_INET)
        bytes = &((const struct sockaddr_in *)(const void *)address)->sin_addr;
    else if (address != NULL && address->sa_family == AF_INET6)
        bytes =
            &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
    if (bytes != NULL)
        (void)inet_ntop(address->sa_family, bytes, source, 64);
}

/* Called when the request line is there; its result is the state that MHD
 * hands to on_request. */
static void *
on_target(void *data, const char *target, struct MHD_Connection *connection)
{
    struct api *api = data;
    struct arena *arena = arena_new();
    struct exchange *exchange = arena_alloc(arena, sizeof *exchange);
    struct id id;
    random_bytes(&id, sizeof id);
    id_format("rq", id, exchange->id);
    exchange->api = api;
    exchange->arena = arena;
    exchange->connection = connection;
    exchange->start_us = clock_mono_us();
    exchange->start_ms = clock_mono_ms();
    exchange->target = arena_strndup(
        arena, target, strnlen(target, (size_t)URL_SIZE_MAX + 1));
    name_source(connection, exchange->source);
    return exchange;
}

static void
on_completed(void *data, struct MHD_Connection *connection, void **state,
             enum MHD_RequestTerminationCode code)
{
    (void)data;
    (void)code;
    struct exchange *exchange = *state;
    if (exchange == NULL)
        return;
    peers_expect_head(connection);
    *state = NULL;
    state_forget(exchange);
    json_decref(exchange->body);
    buffer_release(&exchange->raw);
    answer_release(&exchange->answer);
    arena_free(exchange->arena);
}

/* --- reading the head --- */

struct head {
    struct exchange *exchange;
    struct error *err;
    const char *forwarded; /* the last one: that of the nearest proxy */
    bool failed;
};

static enum MHD_Result
take_header(void *data, enum MHD_ValueKind kind, const char *name,
            const char *value)
{
    (void)kind;
    struct head *head = data;
    struct exchange *exchange = head->exchange;
    if (strcasecmp(name, "X-Forwarded-For") == 0)
        head->forwarded = value;
    const struct {
        const char *name;
        const char **place;
    } known[] = {
        {"Authorization", &exchange->authorization},
        {"Content-Type", &exchange->content_type},
        {"If-Match", &exchange->if_match},
        {"Idempotency-Key", &exchange->key},
        {"Ask-Approval", &exchange->ask},
        {"Approval", &exchange->approval},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcasecmp(known[i].name, name) != 0)
            continue;
        if (*known[i].place != NULL || value == NULL ||
            strlen(value) > HEADER_MAX) {
            head->failed = true;
            error_set(head->err, ERROR_INVALID,
                      "the header %s is there twice, empty or too long",
                      known[i].name);
            return MHD_NO;
        }
        *known[i].place = value;
    }
    return MHD_YES;
}

/* What a configured proxy says is recorded and decides nothing; what others
 * say there is nothing.  Its own word is the last one. */
static void
read_forwarded(struct exchange *exchange, const char *list)
{
    const char *proxies = exchange->api->options.proxies;
    struct address peer, client;
    if (list == NULL || proxies == NULL ||
        !address_parse(exchange->source, &peer) ||
        !address_in(proxies, &peer))
        return;
    const char *last = strrchr(list, ',');
    last = last == NULL ? list : last + 1;
    last += strspn(last, " \t");
    if (address_parse(last, &client))
        exchange->forwarded = arena_strdup(exchange->arena, last);
}

static int
read_headers(struct exchange *exchange, struct error *err)
{
    struct head head = {.exchange = exchange, .err = err};
    (void)MHD_get_connection_values(exchange->connection, MHD_HEADER_KIND,
                                    take_header, &head);
    if (head.failed)
        return -1;
    read_forwarded(exchange, head.forwarded);
    const char *agent = MHD_lookup_connection_value(
        exchange->connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_USER_AGENT);
    if (agent != NULL) {
        struct digest digest;
        digest_of(agent, strlen(agent), &digest);
        digest_format(&digest, exchange->agent_digest);
    }
    return 0;
}

static int
check_length(struct exchange *exchange, struct error *err)
{
    const char *text =
        MHD_lookup_connection_value(exchange->connection, MHD_HEADER_KIND,
                                    MHD_HTTP_HEADER_CONTENT_LENGTH);
    if (text == NULL)
        return 0;
    unsigned long long length = strtoull(text, NULL, 10);
    if (length > EXCHANGE_BODY_MAX)
        return error_set(err, ERROR_TOO_LARGE,
                         "the body has %llu bytes, the limit is %zu", length,
                         EXCHANGE_BODY_MAX);
    return 0;
}

static enum MHD_Result send_answer(struct exchange *exchange);

static enum MHD_Result
refuse(struct exchange *exchange)
{
    exchange_fail(exchange);
    return send_answer(exchange);
}

static enum MHD_Result
take_head(struct exchange *exchange, const char *method)
{
    struct error *err = &exchange->error;
    exchange->method = arena_strdup(exchange->arena, method);
    peers_expect_nothing(exchange->connection);
    if (read_headers(exchange, err) != 0 ||
        url_parse(exchange->arena, exchange->target, &exchange->url, err) !=
            0 ||
        dispatch_route(exchange, err) != 0 ||
        check_length(exchange, err) != 0)
        return refuse(exchange);
    if (exchange->answer.status != 0)
        return send_answer(exchange);
    exchange->stage = STAGE_BODY;
    return MHD_YES;
}

/* --- reading the body --- */

/* A body over the limit is read a little further, so that a client that
 * sends it all sees why; then the connection ends. */
static enum MHD_Result
take_body(struct exchange *exchange, const char *bytes, size_t *size)
{
    size_t room = EXCHANGE_BODY_MAX - exchange->raw.size;
    if (clock_mono_ms() - exchange->start_ms > BODY_TIME_MS)
        return MHD_NO;
    if (!exchange->decline && *size <= room) {
        buffer_add(&exchange->raw, bytes, *size);
    } else if (!exchange->decline) {
        exchange->decline = true;
        buffer_clear(&exchange->raw);
        error_set(&exchange->error, ERROR_TOO_LARGE,
                  "the body has more than %zu bytes", EXCHANGE_BODY_MAX);
    } else if (*size > room) {
        return MHD_NO;
    } else {
        buffer_add(&exchange->raw, bytes, *size);
    }
    *size = 0;
    return MHD_YES;
}

static enum MHD_Result
finish_body(struct exchange *exchange)
{
    if (exchange->decline)
        return refuse(exchange);
    if (dispatch_body(exchange, &exchange->error) != 0 ||
        state_admit(exchange, &exchange->error) != 0)
        return refuse(exchange);
    if (exchange->route->form == ROUTE_OPEN) {
        if (exchange->route->handle.open(exchange, &exchange->error) != 0)
            exchange_fail(exchange);
        return send_answer(exchange);
    }
    exchange->stage = STAGE_WAIT;
    MHD_suspend_connection(exchange->connection);
    dispatch_start(exchange);
    return MHD_YES;
}

/* --- answering --- */

static void
add_headers(struct MHD_Response *response, const struct exchange *exchange)
{
    const struct answer *answer = &exchange->answer;
    char next[24] = "", retry[16] = "1";
    if (answer->log_next > 0 || answer->log_complete)
        (void)snprintf(next, sizeof next, "%lld",
                       (long long)answer->log_next);
    if (answer->retry_s > 0)
        (void)snprintf(retry, sizeof retry, "%u", answer->retry_s);
    const struct {
        const char *name;
        const char *value;
    } headers[] = {
        {"Content-Type", answer->type},
        {"X-Request-Id", exchange->id},
        {"Cache-Control", "no-store"},
        {"X-Content-Type-Options", "nosniff"},
        {"ETag", answer->etag},
        {"Location", answer->location},
        {"Allow", answer->allow},
        {"X-Bulkhead-Signature", answer->signature},
        {"X-Log-Next", next},
        {"X-Log-Complete", answer->log_complete ? "true" : NULL},
        {"Idempotency-Replayed", answer->replayed ? "true" : NULL},
        {"Dry-Run", answer->dry_run ? "true" : NULL},
        {"WWW-Authenticate", answer->status == 401 ? "Bearer" : NULL},
        {"Retry-After",
         answer->status == 429 || answer->status == 503 ? retry : NULL},
    };
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        if (headers[i].value != NULL && headers[i].value[0] != '\0')
            (void)MHD_add_response_header(response, headers[i].name,
                                          headers[i].value);
}

/* The response owns the file from then on. */
static struct MHD_Response *
file_response(struct answer *answer)
{
    struct stat status;
    if (fstat(answer->file, &status) != 0)
        return NULL;
    struct MHD_Response *response = MHD_create_response_from_fd64(
        (uint64_t)status.st_size, answer->file);
    if (response != NULL)
        answer->file = 0;
    return response;
}

static struct MHD_Response *
make_response(struct exchange *exchange)
{
    if (exchange->stream != NULL)
        return stream_response(exchange->stream);
    if (exchange->answer.file > 0)
        return file_response(&exchange->answer);
    size_t size = exchange->answer.body.size;
    if (size == 0)
        return MHD_create_response_from_buffer(0, NULL,
                                               MHD_RESPMEM_PERSISTENT);
    return MHD_create_response_from_buffer(
        size, buffer_take(&exchange->answer.body), MHD_RESPMEM_MUST_FREE);
}

static enum MHD_Result
send_answer(struct exchange *exchange)
{
    struct answer *answer = &exchange->answer;
    assert(answer->status != 0);
    exchange->stage = STAGE_SENT;
    state_count(exchange);
    if (exchange->error.code == ERROR_INTERNAL ||
        exchange->error.code == ERROR_UNKNOWN)
        log_write(LOG_ERROR, exchange->id, "%s %s: %d %s: %s",
                  exchange->method,
                  exchange->route == NULL ? "?" : exchange->route->path,
                  answer->status, error_code_text(exchange->error.code),
                  exchange->error.text);
    bool is_file = answer->file > 0;
    struct MHD_Response *response = make_response(exchange);
    if (response == NULL)
        return MHD_NO;
    add_headers(response, exchange);
    if (exchange->stream == NULL && !is_file)
        peers_expect_within(exchange->connection, ANSWER_TIME_MS);
    enum MHD_Result result = MHD_queue_response(
        exchange->connection, (unsigned)answer->status, response);
    MHD_destroy_response(response);
    return result;
}

void
exchange_finish(struct exchange *exchange)
{
    MHD_resume_connection(exchange->connection);
}

static enum MHD_Result
on_request(void *data, struct MHD_Connection *connection, const char *url,
           const char *method, const char *version, const char *upload,
           size_t *upload_size, void **state)
{
    (void)data;
    (void)connection;
    (void)url;
    (void)version;
    struct exchange *exchange = *state;
    switch ((enum stage)exchange->stage) {
    case STAGE_HEAD:
        return take_head(exchange, method);
    case STAGE_BODY:
        if (*upload_size > 0)
            return take_body(exchange, upload, upload_size);
        return finish_body(exchange);
    case STAGE_WAIT:
        return send_answer(exchange);
    case STAGE_SENT:
        return MHD_YES;
    }
    return MHD_NO;
}

/* --- listening --- */

static int
listen_unix(const char *path, struct error *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path)
        return error_set(err, ERROR_INVALID, "the socket path is too long");
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)unlink(path);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
        chmod(path, 0666) == 0 && listen(fd, 512) == 0)
        return fd;
    error_set(err, ERROR_BUSY, "cannot listen on the Unix socket: %s",
              strerror(errno));
    if (fd >= 0)
        (void)close(fd);
    return -1;
}

static int
parse_address(const struct api_options *options,
              struct sockaddr_storage *out, socklen_t *size_out)
{
    struct sockaddr_in *four = (void *)out;
    struct sockaddr_in6 *six = (void *)out;
    memset(out, 0, sizeof *out);
    if (inet_pton(AF_INET, options->address, &four->sin_addr) == 1) {
        four->sin_family = AF_INET;
        four->sin_port = htons(options->port);
        *size_out = sizeof *four;
        return 0;
    }
    if (inet_pton(AF_INET6, options->address, &six->sin6_addr) == 1) {
        six->sin6_family = AF_INET6;
        six->sin6_port = htons(options->port);
        *size_out = sizeof *six;
        return 0;
    }
    return -1;
}

static int
listen_tcp(const struct api_options *options, struct error *err)
{
    struct sockaddr_storage address;
    socklen_t size;
    const int one = 1;
    if (parse_address(options, &address, &size) != 0)
        return error_set(err, ERROR_INVALID,
                         "the address to listen on is no IP address");
    int fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 &&
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) == 0 &&
        bind(fd, (struct sockaddr *)&address, size) == 0 &&
        listen(fd, 512) == 0)
        return fd;
    error_set(err, ERROR_BUSY, "cannot listen on %s port %u: %s",
              options->address, (unsigned)options->port, strerror(errno));
    if (fd >= 0)
        (void)close(fd);
    return -1;
}

static void log_daemon(void *data, const char *fmt, va_list args)
    __attribute__((format(printf, 2, 0)));

static void
log_daemon(void *data, const char *fmt, va_list args)
{
    (void)data;
    char text[256];
    (void)vsnprintf(text, sizeof text, fmt, args);
    log_debug("http: %s", text);
}

/* path: of a Unix socket, else NULL. */
static int
start_daemon(struct api *api, int fd, const char *path, struct error *err)
{
    const struct api_options *options = &api->options;
    if (fd < 0)
        return -1;
    struct MHD_Daemon *daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_USE_INTERNAL_POLLING_THREAD |
            MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG,
        0, NULL, NULL, on_request, api, MHD_OPTION_EXTERNAL_LOGGER,
        log_daemon, NULL, MHD_OPTION_LISTEN_SOCKET, fd,
        MHD_OPTION_CONNECTION_LIMIT, options->connections_max,
        MHD_OPTION_CONNECTION_TIMEOUT, options->timeout_s,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_MEMORY,
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_URI_LOG_CALLBACK,
        on_target, api, MHD_OPTION_NOTIFY_COMPLETED, on_completed, api,
        MHD_OPTION_NOTIFY_CONNECTION, peers_notify, api->peers,
        MHD_OPTION_END);
    if (daemon == NULL) {
        (void)close(fd);
        return error_set(err, ERROR_INTERNAL,
                         "the HTTP server did not start");
    }
    api->sockets[api->daemon_count] = -1;
    api->paths[api->daemon_count] = path;
    api->daemons[api->daemon_count++] = daemon;
    return 0;
}

static void
read_port(struct api *api, int fd)
{
    union {
        struct sockaddr any;
        struct sockaddr_in four;
        struct sockaddr_in6 six;
    } address = {.six = {0}};
    socklen_t size = sizeof address;
    if (fd < 0 || getsockname(fd, &address.any, &size) != 0)
        return;
    api->port = ntohs(address.any.sa_family == AF_INET6
                          ? address.six.sin6_port
                          : address.four.sin_port);
}

static int
start_all(struct api *api, struct error *err)
{
    const struct api_options *options = &api->options;
    if (options->unix_path != NULL &&
        start_daemon(api, listen_unix(options->unix_path, err),
                     options->unix_path, err) != 0)
        return -1;
    if (options->stream_path != NULL &&
        start_daemon(api, listen_unix(options->stream_path, err),
                     options->stream_path, err) != 0)
        return -1;
    if (options->address == NULL)
        return 0;
    int fd = listen_tcp(options, err);
    read_port(api, fd);
    return start_daemon(api, fd, NULL, err);
}

/* --- sockets that somebody removed --- */

static bool
is_gone(const char *path)
{
    struct stat status;
    return path != NULL && stat(path, &status) != 0 && errno == ENOENT;
}

/* The connections of the old daemon go on; nobody new would reach it. */
static void
listen_again(struct api *api, size_t old)
{
    const char *path = api->paths[old];
    struct error err;
    if (api->daemon_count == API_DAEMONS_MAX ||
        start_daemon(api, listen_unix(path, &err), path, &err) != 0) {
        log_error("the socket %s was removed and cannot be made again", path);
        return;
    }
    api->paths[old] = NULL;
    api->sockets[old] = MHD_quiesce_daemon(api->daemons[old]);
    log_warn("the socket %s was removed; it is there again", path);
}

void
server_mend(struct api *api)
{
    (void)pthread_mutex_lock(&api->lock);
    size_t count = api->stopping ? 0 : api->daemon_count;
    for (size_t i = 0; i < count; i++)
        if (is_gone(api->paths[i]))
            listen_again(api, i);
    (void)pthread_mutex_unlock(&api->lock);
}

int
api_start(struct loop *loop, const struct api_options *options,
          struct api **api_out, struct error *err)
{
    struct api *api = state_new(loop, options);
    *api_out = api;
    return start_all(api, err);
}

/* No connection may be suspended when MHD stops, so first everything that is
 * in flight is answered. */
void
api_stop(struct api *api)
{
    if (api == NULL)
        return;
    (void)pthread_mutex_lock(&api->lock);
    api->stopping = true;
    (void)pthread_mutex_unlock(&api->lock);
    for (size_t i = 0; i < api->daemon_count; i++)
        if (api->sockets[i] < 0)
            api->sockets[i] = MHD_quiesce_daemon(api->daemons[i]);
    state_drain(api);
    for (size_t i = 0; i < api->daemon_count; i++) {
        MHD_stop_daemon(api->daemons[i]);
        if (api->sockets[i] >= 0)
            (void)close(api->sockets[i]);
    }
}

void
api_free(struct api *api)
{
    if (api != NULL)
        state_free(api);
}

uint16_t
api_port(const struct api *api)
{
    return api->port;
}
