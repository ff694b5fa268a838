/* SPDX-License-Identifier: Apache-2.0 */
#include "api/dispatch.h"

#include <string.h>

#include "api/approvals.h"
#include "api/attempt.h"
#include "api/receipt.h"
#include "api/redact.h"
#include "api/resolve.h"
#include "api/state.h"
#include "base/clock.h"
#include "base/sign.h"
#include "control/uses.h"
#include "identity/token.h"

/* --- on the server's thread --- */

static int
read_flag(const struct exchange *exchange, const char *name, bool *out,
          struct error *err)
{
    const char *text = url_get(&exchange->url, name);
    if (text != NULL && strcmp(text, "1") != 0 && strcmp(text, "0") != 0)
        return error_field(err, name, "%s is 0 or 1", name);
    *out = text != NULL && text[0] == '1';
    return 0;
}

static int
check_parameters(struct exchange *exchange, struct error *err)
{
    bool watch;
    for (size_t i = 0; i < exchange->url.parameter_count; i++) {
        const struct url_parameter *parameter = &exchange->url.parameters[i];
        if (!route_takes(exchange->route, parameter->name))
            return error_field(err, parameter->name,
                               "\"%.60s\" is no query parameter here",
                               parameter->name);
    }
    if (read_flag(exchange, "dry_run", &exchange->dry_run, err) != 0 ||
        read_flag(exchange, "watch", &watch, err) != 0)
        return -1;
    if (!watch && url_get(&exchange->url, "since") != NULL)
        return error_field(err, "since", "since goes with watch=1");
    return 0;
}

/* A token that is malformed goes on as one that nobody has, so that all
 * wrong tokens cost and answer the same. */
static void
read_token(struct exchange *exchange)
{
    static const char scheme[] = "Bearer ";
    const char *header = exchange->authorization;
    struct error ignored;
    enum token_type type;
    if (header == NULL)
        return;
    exchange->has_token = true;
    const char *token = header + sizeof scheme - 1;
    struct digest digest;
    if (strncasecmp(header, scheme, sizeof scheme - 1) != 0 ||
        token_parse(token, &type, &ignored) != 0 ||
        (type != TOKEN_KEY && type != TOKEN_SESSION &&
         type != TOKEN_INFERENCE)) {
        random_bytes(exchange->token, sizeof exchange->token);
        return;
    }
    token_digest(token, &digest);
    memcpy(exchange->token, digest.bytes, sizeof exchange->token);
}

static int
check_key(const struct exchange *exchange, struct error *err)
{
    const char *key = exchange->key;
    if (key == NULL)
        return 0;
    size_t size = strlen(key);
    if (size == 0 || size > EXCHANGE_KEY_MAX)
        return error_set(err, ERROR_INVALID,
                         "Idempotency-Key has 1 to %d characters",
                         EXCHANGE_KEY_MAX);
    return 0;
}

static int
no_route(struct exchange *exchange, struct error *err)
{
    if (exchange->answer.allow[0] == '\0')
        return error_set(err, ERROR_NOT_FOUND, "no such route");
    if (strcmp(exchange->method, "OPTIONS") == 0) {
        exchange->answer.status = 204;
        return 0;
    }
    return error_set(err, ERROR_METHOD, "%.16s is not taken here, but %s",
                     exchange->method, exchange->answer.allow);
}

int
dispatch_route(struct exchange *exchange, struct error *err)
{
    exchange->route = route_match(exchange->method, &exchange->url,
                                  exchange->answer.allow);
    if (exchange->route == NULL)
        return no_route(exchange, err);
    exchange->answer.allow[0] = '\0';
    read_token(exchange);
    if (check_parameters(exchange, err) != 0 || check_key(exchange, err) != 0)
        return -1;
    if (exchange->route->verb != VERB_COUNT && !exchange->has_token)
        return error_set(err, ERROR_UNAUTHENTICATED,
                         "this needs a session token or an API key in the "
                         "Authorization header");
    return 0;
}

static int
check_media(const struct exchange *exchange, struct error *err)
{
    static const char *const taken[] = {"application/json",
                                        "application/merge-patch+json"};
    const char *type = exchange->content_type;
    size_t size = type == NULL ? 0 : strcspn(type, "; \t");
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        if (strlen(taken[i]) == size &&
            strncasecmp(taken[i], type, size) == 0)
            return 0;
    return error_set(err, ERROR_MEDIA,
                     "a body is application/json, for PATCH also "
                     "application/merge-patch+json");
}

static bool
has_type(const json_t *value, enum body_type type)
{
    switch (type) {
    case BODY_TEXT:
        return json_is_string(value);
    case BODY_INT:
        return json_is_integer(value);
    case BODY_BOOL:
        return json_is_boolean(value);
    case BODY_OBJECT:
        return json_is_object(value);
    case BODY_LIST:
        return json_is_array(value);
    }
    return false;
}

static const struct body_field *
find_field(const struct body_field *fields, const char *name)
{
    for (; fields != NULL && fields->name != NULL; fields++)
        if (strcmp(fields->name, name) == 0)
            return fields;
    return NULL;
}

/* Bodies that no schema describes: exactly the route's fields. */
static int
check_fields(const struct exchange *exchange, struct error *err)
{
    const struct body_field *fields = exchange->route->body;
    const char *name;
    json_t *value;
    char pointer[ERROR_FIELD_MAX];
    json_object_foreach (exchange->body, name, value) {
        const struct body_field *field = find_field(fields, name);
        (void)snprintf(pointer, sizeof pointer, "/%s", name);
        if (field == NULL)
            return error_field(err, pointer, "\"%.60s\" is no field here",
                               name);
        if (!json_is_null(value) && !has_type(value, field->type))
            return error_field(err, pointer, "%s has the wrong type", name);
    }
    for (; fields != NULL && fields->name != NULL; fields++) {
        (void)snprintf(pointer, sizeof pointer, "/%s", fields->name);
        json_t *member = json_object_get(exchange->body, fields->name);
        if (fields->required && (member == NULL || json_is_null(member)))
            return error_field(err, pointer, "%s is missing", fields->name);
    }
    return 0;
}

int
dispatch_body(struct exchange *exchange, struct error *err)
{
    const struct route *route = exchange->route;
    bool takes = route->body != NULL || (route->flags & ROUTE_CONTENT);
    if (route->flags & ROUTE_RAW)
        return 0;
    if (exchange->raw.size == 0 && takes)
        return error_set(err, ERROR_INVALID, "the request has no body");
    if (exchange->raw.size == 0)
        return 0;
    if (strcmp(route->method, "GET") == 0)
        return error_set(err, ERROR_INVALID, "GET takes no body");
    if (check_media(exchange, err) != 0)
        return -1;
    exchange->body =
        json_read(exchange->raw.bytes, exchange->raw.size, err);
    if (exchange->body == NULL)
        return -1;
    if (!json_is_object(exchange->body))
        return error_set(err, ERROR_INVALID, "the body is no JSON object");
    if (route->flags & ROUTE_CONTENT)
        return 0;
    return check_fields(exchange, err);
}

/* --- on the world thread --- */

struct request
dispatch_request(const struct exchange *exchange)
{
    return (struct request){
        .id = exchange->id,
        .route = exchange->route->path,
        .method = exchange->route->method,
        .ip = exchange->source[0] == '\0' ? "local" : exchange->source,
        .proxy = exchange->forwarded,
        .agent_digest = exchange->agent_digest[0] == '\0'
                            ? NULL
                            : exchange->agent_digest,
        .params = exchange->params,
    };
}

static int
check_match(const struct granted *granted, struct exchange *exchange,
            struct error *err)
{
    const char *match = exchange->if_match;
    const struct object *object =
        world_object(granted_world(granted), exchange->object);
    if (match == NULL && (exchange->route->flags & ROUTE_MATCH)) {
        error_set(err, ERROR_PRECONDITION,
                  "If-Match is missing; it holds the ETag of the version "
                  "that you change");
        return -1;
    }
    if (match == NULL || strcmp(match, "*") == 0)
        return 0;
    char etag[32];
    (void)snprintf(etag, sizeof etag, "\"%llu\"",
                   (unsigned long long)object->version);
    if (strcmp(match, etag) == 0)
        return 0;
    return error_set(err, ERROR_VERSION,
                     "the object is at version %llu, not at the one that "
                     "If-Match names",
                     (unsigned long long)object->version);
}

static int
decide_read(const struct granted *granted, struct changes *changes,
            void *data, struct error *err)
{
    struct exchange *exchange = data;
    (void)changes;
    exchange->platform = granted_is_platform(granted);
    return exchange->route->handle.read(granted, exchange, err);
}

static int
decide_write(const struct granted *granted, struct changes *changes,
             void *data, struct error *err)
{
    struct exchange *exchange = data;
    exchange->platform = granted_is_platform(granted);
    int found = receipt_find(granted_world(granted), exchange, err);
    if (found != 0)
        return found < 0 ? -1 : 0;
    if (check_match(granted, exchange, err) != 0)
        return -1;
    return exchange->route->handle.write(granted, changes, exchange, err);
}

static void
wrap_dry_run(struct exchange *exchange, const struct changes *changes)
{
    struct error ignored;
    struct answer *answer = &exchange->answer;
    json_t *body = answer->body.size == 0
                       ? json_null()
                       : json_read(answer->body.bytes, answer->body.size,
                                   &ignored);
    json_t *list = json_array();
    for (size_t i = 0; i < changes->count; i++) {
        const struct change *change = &changes->list[i];
        const char *op = change->created            ? "create"
                         : change->op == CHANGE_PUT ? "update"
                                                    : "delete";
        const struct schema *schema =
            schema_get((enum kind)change->ref.kind);
        if (schema->life == LIFE_OBJECT)
            json_array_append_new(list, json_pack("{s:s, s:s}", "op", op,
                                                  "kind", schema->name));
    }
    json_t *wrapped =
        json_pack("{s:b, s:i, s:o, s:o}", "dry_run", 1, "status",
                  answer->status, "body", body, "changes", list);
    answer_json(answer, 200, wrapped);
    answer->dry_run = true;
    answer->location[0] = answer->etag[0] = '\0';
}

static void
answer_write(const struct granted *granted, const struct changes *changes,
             void *data)
{
    struct exchange *exchange = data;
    if (exchange->answer.replayed)
        return;
    exchange->route->answer(granted, changes, exchange);
    if (exchange->dry_run)
        wrap_dry_run(exchange, changes);
}

static enum verb
verb_for(const struct exchange *exchange)
{
    const struct route *route = exchange->route;
    if ((route->flags & ROUTE_SELF) && route->verb == VERB_USER_GET &&
        exchange->actor.kind == ACTOR_SERVICEACCOUNT)
        return VERB_SERVICEACCOUNT_GET;
    return route->verb;
}

static void
find_object(const struct world *world, struct exchange *exchange)
{
    const struct route *route = exchange->route;
    if (!(route->flags & ROUTE_SELF))
        exchange->object = resolve_path(world, route->path, &exchange->url);
    else if (route->verb == VERB_SESSION_DELETE)
        exchange->object = exchange->actor.credential;
    else
        exchange->object = exchange->actor.subject;
}

static int
authenticate(struct loop *loop, struct exchange *exchange, struct error *err)
{
    const struct world *world = loop_world(loop);
    exchange->now_ms = loop_context(loop).now_ms;
    if (access_authenticate(world, exchange->token, exchange->source,
                            exchange->now_ms, &exchange->actor, err) != 0) {
        struct request request = dispatch_request(exchange);
        execute_anonymous(loop, &request, verb_name(exchange->route->verb),
                          "unknown credential");
        return attempt_token_failed(exchange, err);
    }
    const struct object *subject =
        world_object(world, exchange->actor.subject);
    uses_note(loop, exchange->actor.credential, exchange->source);
    state_learn(exchange, subject->id);
    return 0;
}

static struct command
command_of(struct exchange *exchange, const struct request *request,
           bool trial)
{
    bool writes = route_changes(exchange->route);
    return (struct command){
        .actor = &exchange->actor,
        .request = request,
        .verb = verb_for(exchange),
        .object = exchange->object,
        .dry_run = trial || exchange->dry_run,
        .decide = writes ? decide_write : decide_read,
        .answer = writes && !trial ? answer_write : NULL,
        .data = exchange,
        .read_only = !writes,
        .intent = exchange->intent[0] != '\0' ? exchange->intent : NULL,
    };
}

static int
command(struct loop *loop, struct exchange *exchange, bool trial,
        struct error *err)
{
    struct request request = dispatch_request(exchange);
    struct command command = command_of(exchange, &request, trial);
    if (execute(loop, exchange->arena, &command, err) != 0)
        return -1;
    if (!trial)
        exchange->intent[0] = '\0';
    return 0;
}

/* --- effects that no transaction holds --- */

static void
begin_effect(struct loop *loop, struct exchange *exchange)
{
    struct request request = dispatch_request(exchange);
    struct command command = command_of(exchange, &request, false);
    if (exchange->route->flags & ROUTE_EFFECT)
        execute_intent(loop, exchange->arena, &command, exchange->intent);
}

static void
end_effect(struct loop *loop, struct exchange *exchange,
           enum record_outcome outcome)
{
    struct request request = dispatch_request(exchange);
    struct command command = command_of(exchange, &request, false);
    if (command.intent == NULL)
        return;
    execute_outcome(loop, exchange->arena, &command, outcome,
                    error_code_text(exchange->error.code));
    exchange->intent[0] = '\0';
}

static int
try(struct loop *loop, struct exchange *exchange, struct error *err)
{
    return command(loop, exchange, true, err);
}

/* An approval is used up by what it was for; asked for again with its key, the
 * receipt alone may answer. */
static bool
is_repeated_use(struct loop *loop, struct exchange *exchange)
{
    struct error ignored;
    return exchange->approval != NULL && route_changes(exchange->route) &&
           receipt_find(loop_world(loop), exchange, &ignored) == 1;
}

/* Nothing is changed but an approval made. */
static int
ask(struct loop *loop, struct exchange *exchange, struct error *err)
{
    int found = receipt_find(loop_world(loop), exchange, err);
    if (found != 0)
        return found < 0 ? -1 : 0;
    if (approvals_ask(loop, exchange, try, err) != 0)
        return -1;
    if (exchange->key != NULL)
        receipt_keep(loop, exchange);
    return 0;
}

/* A deletion that is repeated finds its object gone; the answer to that has
 * no body, so the receipt alone may give it. */
static bool
is_repeated_delete(struct loop *loop, struct exchange *exchange)
{
    struct error ignored;
    return ref_is_none(exchange->object) &&
           strcmp(exchange->route->method, "DELETE") == 0 &&
           receipt_find(loop_world(loop), exchange, &ignored) == 1;
}

/* The tenant of who asks, or the platform. */
static struct id
home_of(const struct world *world, const struct exchange *exchange)
{
    return world_object(world,
                        world_scope(world, exchange->actor.subject))->id;
}

static int
run(struct loop *loop, struct exchange *exchange, struct error *err)
{
    if (authenticate(loop, exchange, err) != 0)
        return -1;
    find_object(loop_world(loop), exchange);
    if (state_think(exchange, home_of(loop_world(loop), exchange), err) != 0)
        return -1;
    if (is_repeated_delete(loop, exchange) ||
        is_repeated_use(loop, exchange))
        return 0;
    if (approvals_present(loop_world(loop), exchange, err) != 0)
        return -1;
    if (exchange->ask != NULL && !exchange->dry_run &&
        route_changes(exchange->route))
        return ask(loop, exchange, err);
    bool trial = exchange->route->work != NULL && !exchange->worked &&
                 !exchange->dry_run;
    if (command(loop, exchange, trial, err) != 0)
        return -1;
    if (trial && !exchange->answer.replayed) {
        begin_effect(loop, exchange);
        exchange->job.to_work = true;
        return 0;
    }
    if (exchange->key != NULL && route_changes(exchange->route) &&
        !exchange->dry_run && !exchange->answer.replayed)
        receipt_keep(loop, exchange);
    return 0;
}

static void
run_job(struct loop *loop, struct job *job)
{
    struct exchange *exchange = job->data;
    int64_t start_us = clock_mono_us();
    if (run(loop, exchange, &exchange->error) != 0) {
        job->read = NULL;
        end_effect(loop, exchange, RECORD_PARTIAL);
        exchange_fail(exchange);
    }
    exchange->thought_us += clock_mono_us() - start_us;
}

static void
run_failure(struct loop *loop, struct job *job)
{
    end_effect(loop, job->data, RECORD_FAILURE);
}

/* When its record cannot be queued, the next start makes one. */
static void
fail_work(struct loop *loop, struct exchange *exchange)
{
    struct error ignored;
    exchange_fail(exchange);
    exchange->job.run = run_failure;
    if (exchange->intent[0] == '\0' ||
        loop_post(loop, &exchange->job, &ignored) != 0)
        loop_finish(loop, &exchange->job, NULL);
}

static void
work_job(struct loop *loop, struct job *job)
{
    struct exchange *exchange = job->data;
    struct error *err = &exchange->error;
    exchange->worked = true;
    if (exchange->route->work(exchange, err) != 0) {
        fail_work(loop, exchange);
    } else if (loop_post(loop, job, err) != 0) {
        exchange_fail(exchange);
        loop_finish(loop, job, NULL);
    }
}

static void
read_job(struct job *job, struct store_reader *reader)
{
    struct exchange *exchange = job->data;
    int64_t start_us = clock_mono_us();
    if (exchange->route->history(exchange, reader, &exchange->error) != 0)
        exchange_fail(exchange);
    exchange->thought_us += clock_mono_us() - start_us;
}

static void
end_job(struct job *job)
{
    struct exchange *exchange = job->data;
    if (job->failed) {
        exchange->error = job->error;
        exchange_fail(exchange);
    }
    exchange_finish(exchange);
}

void
dispatch_post(struct exchange *exchange,
              void (*run_it)(struct loop *loop, struct job *job))
{
    struct job *job = &exchange->job;
    job->run = run_it;
    job->arena = exchange->arena;
    job->data = exchange;
    job->done = end_job;
    if (loop_post(exchange->api->loop, job, &exchange->error) != 0) {
        exchange_fail(exchange);
        exchange_finish(exchange);
    }
}

/* The body as the record keeps it. */
static void
redact(struct exchange *exchange)
{
    if (exchange->body == NULL)
        return;
    scoped_buffer text = {0};
    redact_body(exchange->route, exchange->body, &text);
    if (text.size > 0 && text.size <= EXCHANGE_PARAMS_MAX)
        exchange->params = arena_strdup(exchange->arena, buffer_text(&text));
}

void
dispatch_start(struct exchange *exchange)
{
    const struct route *route = exchange->route;
    redact(exchange);
    if (route->form == ROUTE_START) {
        route->handle.start(exchange);
        return;
    }
    exchange->job.read = route->history == NULL ? NULL : read_job;
    exchange->job.work = route->work == NULL ? NULL : work_job;
    dispatch_post(exchange, run_job);
}
