/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "api/attempt.h"
#include "api/dispatch.h"
#include "api/handlers.h"
#include "api/state.h"
#include "base/clock.h"
#include "base/log.h"
#include "control/intent.h"
#include "control/sso.h"
#include "core/federation.h"
#include "core/object.h"
#include "identity/token.h"

/*
 * A login by an identity provider goes from thread to thread: the world finds
 * the provider, a thread of control/sso.h talks to it, the world makes the
 * session.  What came back from outside is believed after it was checked there,
 * and only as to who the person is; what they may is the world's.
 */

#define CODE_MAX 4096
#define FORM_FIELD "logout_token="

const struct body_field sso_body[] = {
    {"provider", BODY_TEXT, true, "name of the identity provider"},
    {"tenant", BODY_TEXT, false, "its tenant's name; none: the platform's"},
    {"redirect", BODY_TEXT, true,
     "where the browser comes back: http://127.0.0.1:PORT/PATH, or listed"},
    {NULL, BODY_TEXT, false, NULL},
};
const struct body_field sso_stepup_body[] = {
    {"redirect", BODY_TEXT, true,
     "where the browser comes back: http://127.0.0.1:PORT/PATH, or listed"},
    {NULL, BODY_TEXT, false, NULL},
};
const struct body_field sso_callback_body[] = {
    {"attempt", BODY_TEXT, true, "as the start of the login gave it"},
    {"state", BODY_TEXT, true, "of the redirect"},
    {"code", BODY_TEXT, false, "of the redirect"},
    {"error", BODY_TEXT, false, "of the redirect, when it has no code"},
    {"iss", BODY_TEXT, false, "of the redirect, when it has one"},
    {NULL, BODY_TEXT, false, NULL},
};

struct sso_visit {
    struct sso_call call;
    struct exchange *exchange;
    const char *name, *tenant;
    bool step_up;
    void (*then)(struct loop *loop, struct job *job); /* NULL: that was it */
    char token[TOKEN_TEXT_MAX];
    struct digest digest;
    struct federation_person person;
    struct federation_login login;
    size_t ended;
};

static const char *
body_text(const struct exchange *exchange, const char *name)
{
    return json_string_value(json_object_get(exchange->body, name));
}

static void
give_up(struct exchange *exchange)
{
    exchange_fail(exchange);
    exchange_finish(exchange);
}

static struct sso_visit *
visit_new(struct exchange *exchange, enum sso_task task)
{
    struct sso_visit *visit = arena_alloc(exchange->arena, sizeof *visit);
    exchange->data = visit;
    visit->exchange = exchange;
    visit->call.task = task;
    visit->call.data = visit;
    if (exchange->api->sso != NULL)
        return visit;
    error_set(&exchange->error, ERROR_UNSUPPORTED,
              "this server asks no identity providers");
    give_up(exchange);
    return NULL;
}

/* --- to the provider and back --- */

/* On a thread of control/sso.h. */
static void
on_done(struct sso_call *call)
{
    struct sso_visit *visit = call->data;
    struct exchange *exchange = visit->exchange;
    struct loop *loop = exchange->api->loop;
    if (call->error.code != ERROR_NONE && call->detail[0] != '\0')
        log_write(LOG_WARN, exchange->id, "identity provider %s: %s",
                  call->provider.id, call->detail);
    exchange->job.run = visit->then;
    if (loop_post(loop, &exchange->job, &exchange->error) == 0)
        return;
    sso_call_release(call);
    exchange_fail(exchange);
    loop_finish(loop, &exchange->job, NULL);
}

/* On a worker, which has better to do than to wait for others. */
static void
hand_over(struct loop *loop, struct job *job)
{
    struct exchange *exchange = job->data;
    struct sso_visit *visit = exchange->data;
    (void)loop;
    visit->call.done = on_done;
    if (sso_push(exchange->api->sso, &visit->call, &visit->call.error) != 0)
        on_done(&visit->call);
}

/* A code is used up when it is redeemed, whatever becomes of us. */
static void
note_redeeming(struct exchange *exchange, struct ref provider)
{
    const struct sso_visit *visit = exchange->data;
    struct loop *loop = exchange->api->loop;
    const struct world *world = loop_world(loop);
    const struct object *image = world_object(world, provider);
    if (visit->call.task == SSO_REDEEM)
        intent_note(loop, image->scope,
                    visit->step_up ? "session.prove" : "session.create",
                    exchange->id,
                    arena_printf(exchange->arena,
                                 "redeeming a code at identityprovider %s",
                                 image->name));
}

static void
ask(struct exchange *exchange, struct ref provider,
    void (*then)(struct loop *loop, struct job *job))
{
    const struct world *world = loop_world(exchange->api->loop);
    struct sso_visit *visit = exchange->data;
    struct sso_provider *out = &visit->call.provider;
    const struct identityprovider *image =
        world_identityprovider(world, provider);
    object_id_text(world, provider, out->id);
    out->scope = world_object(world, image->object.parent)->id;
    memcpy(out->issuer, image->issuer, sizeof out->issuer);
    memcpy(out->client_id, image->client_id, sizeof out->client_id);
    memcpy(out->scopes, image->scopes, sizeof out->scopes);
    memcpy(out->secret, image->secret, sizeof out->secret);
    out->userinfo = image->userinfo;
    if (image->acr != NULL)
        out->acr = json_loadb(image->acr->bytes, image->acr->size, 0, NULL);
    visit->call.now_ms = exchange->now_ms;
    note_redeeming(exchange, provider);
    visit->then = then;
    exchange->job.work = hand_over;
    exchange->job.to_work = true;
}

/* One text for all that is not there or not open. */
static void
no_provider(struct exchange *exchange)
{
    error_set(&exchange->error, ERROR_NOT_FOUND,
              "there is no such identity provider, or it is closed");
    exchange_fail(exchange);
}

/* What was refused is counted and told, without whom it was about. */
static void
refuse(struct loop *loop, struct exchange *exchange, const char *why)
{
    struct request request = dispatch_request(exchange);
    const struct sso_visit *visit = exchange->data;
    const struct attempt attempt = {
        .place = visit->call.attempt.provider,
    };
    execute_anonymous(loop, &request, "session.create", why);
    /* That a provider does not answer is nobody's attempt. */
    if (exchange->error.code != ERROR_BUSY)
        attempt_failed(exchange, &attempt);
    exchange_fail(exchange);
}

/* --- beginning --- */

static void
show_start(struct loop *loop, struct job *job)
{
    struct exchange *exchange = job->data;
    struct sso_visit *visit = exchange->data;
    struct sso_call *call = &visit->call;
    scoped_buffer sealed = {0};
    if (call->error.code != ERROR_NONE) {
        exchange->error = call->error;
        exchange_fail(exchange);
    } else {
        call->attempt.expires_ms = loop_context(loop).now_ms + SSO_ATTEMPT_MS;
        (void)snprintf(call->attempt.provider, sizeof call->attempt.provider,
                       "%s", call->provider.id);
        sso_seal(exchange->api->sso, &call->attempt, &sealed);
        answer_json(&exchange->answer, 200,
                    json_pack("{s:s, s:s, s:o}", "url",
                              buffer_text(&call->url), "attempt",
                              buffer_text(&sealed), "expires_ms",
                              json_time(call->attempt.expires_ms)));
    }
    sso_call_release(call);
}

static void
find_named(struct loop *loop, struct job *job)
{
    struct exchange *exchange = job->data;
    const struct sso_visit *visit = exchange->data;
    const struct world *world = loop_world(loop);
    struct ref at = world_platform_ref(world);
    exchange->now_ms = loop_context(loop).now_ms;
    if (visit->tenant != NULL)
        at = world_find_name(world, KIND_TENANT, at, visit->tenant);
    if (!ref_is_none(at))
        at = world_find_name(world, KIND_IDENTITYPROVIDER, at, visit->name);
    if (federation_is_open(world, at))
        ask(exchange, at, show_start);
    else
        no_provider(exchange);
}

static bool
take_redirect(struct exchange *exchange, struct sso_visit *visit)
{
    const char *redirect = body_text(exchange, "redirect");
    if (oidc_check_redirect(redirect, exchange->api->options.redirects,
                            &exchange->error) != 0) {
        give_up(exchange);
        return false;
    }
    memcpy(visit->call.attempt.redirect, redirect, strlen(redirect) + 1);
    return true;
}

void
sso_start(struct exchange *exchange)
{
    struct sso_visit *visit = visit_new(exchange, SSO_BEGIN);
    if (visit == NULL || !take_redirect(exchange, visit))
        return;
    visit->name = body_text(exchange, "provider");
    visit->tenant = body_text(exchange, "tenant");
    dispatch_post(exchange, find_named);
}

/* --- coming back --- */

static void
take_person(struct sso_visit *visit)
{
    const json_t *claims = visit->call.claims;
    const json_t *auth = json_object_get(claims, "auth_time");
    const char *name =
        json_string_value(json_object_get(claims, "preferred_username"));
    visit->person = (struct federation_person){
        .subject = json_string_value(json_object_get(claims, "sub")),
        .name = name,
        .display = json_string_value(json_object_get(claims, "name")),
        .sid = json_string_value(json_object_get(claims, "sid")),
        .acr = json_string_value(json_object_get(claims, "acr")),
        .auth_ms = json_is_integer(auth) ? json_integer_value(auth) * 1000 : 0,
        .claims = claims,
    };
}

static int
make_session(struct changes *changes, void *data, struct error *err)
{
    struct sso_visit *visit = data;
    struct ref provider = object_find_text(changes->world,
                                           visit->call.provider.id);
    return federation_log_in(changes, provider, &visit->person,
                             visit->digest.bytes, &visit->login, err);
}

static int
prove_session(struct changes *changes, void *data, struct error *err)
{
    const struct sso_visit *visit = data;
    const struct world *world = changes->world;
    return federation_prove(
        changes, object_find_text(world, visit->call.attempt.session),
        object_find_text(world, visit->call.provider.id), &visit->person,
        err);
}

static void
show_session(struct loop *loop, struct exchange *exchange)
{
    const struct world *world = loop_world(loop);
    const struct sso_visit *visit = exchange->data;
    json_t *body = object_json(
        world, world_session(world, visit->login.session), false);
    struct ref scope = world_scope(world, visit->login.session);
    json_object_set_new(body, "token", json_string(visit->token));
    json_object_set_new(body, "tenant",
                        object_id_json(world, scope.kind == KIND_TENANT
                                                  ? scope
                                                  : (struct ref){0}));
    json_object_set_new(
        body, "user_name",
        json_string(world_object(world, visit->login.user)->name));
    answer_json(&exchange->answer, 201, body);
}

/* The record is about the user when there is one already, else about the
 * provider that brings it. */
static struct ref
deed_object(const struct world *world, const struct sso_visit *visit)
{
    uint8_t digest[32];
    struct ref provider = object_find_text(world, visit->call.provider.id);
    federation_digest(world, provider, visit->person.subject, digest);
    struct ref user = world_parent(
        world, world_find_digest(world, KIND_IDENTITY, digest));
    return ref_is_none(user) ? provider : user;
}

static void
carry_out(struct loop *loop, struct exchange *exchange)
{
    const struct world *world = loop_world(loop);
    struct sso_visit *visit = exchange->data;
    struct ref provider = object_find_text(world, visit->call.provider.id);
    const struct object *image = world_object(world, provider);
    take_person(visit);
    exchange->now_ms = loop_context(loop).now_ms;
    struct deed deed = {
        .verb = visit->step_up ? "session.prove" : "session.create",
        .object = deed_object(world, visit),
        .component = "sso",
        .reason = arena_printf(exchange->arena, "identityprovider %s",
                               image == NULL ? "-" : image->name),
        .decide = visit->step_up ? prove_session : make_session,
        .data = visit,
    };
    if (execute_deed(loop, exchange->arena, &deed, &exchange->error) < 0)
        refuse(loop, exchange, "identity provider");
    else if (visit->step_up)
        exchange->answer.status = 204;
    else
        show_session(loop, exchange);
}

static void
finish(struct loop *loop, struct job *job)
{
    struct exchange *exchange = job->data;
    struct sso_visit *visit = exchange->data;
    intent_end(loop, exchange->id);
    if (visit->call.error.code == ERROR_NONE) {
        carry_out(loop, exchange);
    } else {
        exchange->error = visit->call.error;
        refuse(loop, exchange, "identity provider");
    }
    sso_call_release(&visit->call);
}

static void
find_attempted(struct loop *loop, struct job *job)
{
    struct exchange *exchange = job->data;
    const struct sso_visit *visit = exchange->data;
    const struct world *world = loop_world(loop);
    struct ref at = object_find_text(world, visit->call.attempt.provider);
    exchange->now_ms = loop_context(loop).now_ms;
    if (visit->call.attempt.expires_ms <= exchange->now_ms) {
        error_set(&exchange->error, ERROR_UNAUTHENTICATED,
                  "this login is over");
        error_help(&exchange->error, "begin it again");
        refuse(loop, exchange, "identity provider");
    } else if (at.kind == KIND_IDENTITYPROVIDER &&
               federation_is_open(world, at)) {
        ask(exchange, at, finish);
    } else {
        no_provider(exchange);
    }
}

/* The provider said no; its word is shown as far as it is a word. */
static int
check_redirect(struct exchange *exchange, struct sso_visit *visit)
{
    const char *word = body_text(exchange, "error");
    struct error *err = &exchange->error;
    visit->call.code = body_text(exchange, "code");
    visit->call.issuer = body_text(exchange, "iss");
    if (visit->call.code != NULL && strlen(visit->call.code) <= CODE_MAX)
        return 0;
    if (word == NULL || strlen(word) > 64 ||
        strspn(word, "abcdefghijklmnopqrstuvwxyz_") != strlen(word))
        return error_field(err, "/code", "the redirect has no code");
    return error_set(err, ERROR_UNAUTHENTICATED,
                     "the identity provider refused: %s", word);
}

static void
come_back(struct exchange *exchange, bool step_up)
{
    struct sso_visit *visit = visit_new(exchange, SSO_REDEEM);
    struct error *err = &exchange->error;
    if (visit == NULL)
        return;
    visit->step_up = step_up;
    if (attempt_check(exchange, NULL, err) != 0) {
        give_up(exchange);
        return;
    }
    if (sso_open(exchange->api->sso, body_text(exchange, "attempt"),
                 body_text(exchange, "state"),
                 loop_now(exchange->api->loop), &visit->call.attempt,
                 err) != 0 ||
        check_redirect(exchange, visit) != 0) {
        attempt_failed(exchange, NULL);
        give_up(exchange);
        return;
    }
    const struct attempt attempt = {
        .place = visit->call.attempt.provider,
    };
    if (attempt_check(exchange, &attempt, err) != 0) {
        give_up(exchange);
        return;
    }
    if (step_up != (visit->call.attempt.session[0] != '\0')) {
        error_set(err, ERROR_UNAUTHENTICATED,
                  "a login and a step-up are not each other's");
        give_up(exchange);
        return;
    }
    token_make(TOKEN_SESSION, visit->token);
    token_digest(visit->token, &visit->digest);
    dispatch_post(exchange, find_attempted);
}

void
sso_callback(struct exchange *exchange)
{
    come_back(exchange, false);
}

void
sso_stepup_callback(struct exchange *exchange)
{
    come_back(exchange, true);
}

/* --- step-up --- */

static void
find_session(struct loop *loop, struct job *job)
{
    struct exchange *exchange = job->data;
    struct sso_visit *visit = exchange->data;
    const struct world *world = loop_world(loop);
    struct error *err = &exchange->error;
    struct actor *actor = &exchange->actor;
    struct granted granted;
    exchange->now_ms = loop_context(loop).now_ms;
    if (access_authenticate(world, exchange->token, exchange->source,
                            exchange->now_ms, actor, err) != 0) {
        (void)attempt_token_failed(exchange, err);
        exchange_fail(exchange);
        return;
    }
    if (access_decide(world, actor, VERB_SESSION_CREATE, actor->subject,
                      exchange->now_ms, &granted, err) != 0) {
        exchange_fail(exchange);
        return;
    }
    const struct session *session = world_session(world, actor->credential);
    if (session == NULL || !federation_is_open(world, session->provider)) {
        error_set(err, ERROR_DENIED,
                  "only a session that came by an identity provider can be "
                  "proved there");
        error_help(err, "prove your identity by your password");
        exchange_fail(exchange);
        return;
    }
    object_id_text(world, actor->credential, visit->call.attempt.session);
    ask(exchange, session->provider, show_start);
}

void
sso_stepup(struct exchange *exchange)
{
    struct sso_visit *visit = visit_new(exchange, SSO_BEGIN);
    if (visit == NULL)
        return;
    if (!exchange->has_token) {
        error_set(&exchange->error, ERROR_UNAUTHENTICATED,
                  "this needs a session token in the Authorization header");
        give_up(exchange);
        return;
    }
    if (take_redirect(exchange, visit))
        dispatch_post(exchange, find_session);
}

/* --- back-channel logout --- */

static int
end_sessions(struct changes *changes, void *data, struct error *err)
{
    struct sso_visit *visit = data;
    const json_t *claims = visit->call.claims;
    int64_t iat_ms =
        json_integer_value(json_object_get(claims, "iat")) * 1000;
    (void)err;
    visit->ended = federation_log_out(
        changes, object_find_text(changes->world, visit->call.provider.id),
        json_string_value(json_object_get(claims, "sub")),
        json_string_value(json_object_get(claims, "sid")),
        iat_ms + FEDERATION_LOGOUT_SKEW_MS);
    return 0;
}

static void
finish_logout(struct loop *loop, struct job *job)
{
    struct exchange *exchange = job->data;
    struct sso_visit *visit = exchange->data;
    struct deed deed = {
        .verb = "session.delete",
        .object = object_find_text(loop_world(loop),
                                   visit->call.provider.id),
        .component = "sso",
        .reason = "back-channel logout",
        .decide = end_sessions,
        .data = visit,
    };
    if (visit->call.error.code != ERROR_NONE) {
        struct request request = dispatch_request(exchange);
        execute_anonymous(loop, &request, "session.delete",
                          "identity provider");
        exchange->error = visit->call.error;
        /* The specification's status for each token that does not hold. */
        if (exchange->error.code == ERROR_UNAUTHENTICATED)
            exchange->error.code = ERROR_INVALID;
        exchange_fail(exchange);
    } else if (execute_deed(loop, exchange->arena, &deed,
                            &exchange->error) < 0) {
        exchange_fail(exchange);
    } else {
        answer_json(&exchange->answer, 200,
                    json_pack("{s:I}", "ended", (json_int_t)visit->ended));
    }
    sso_call_release(&visit->call);
}

static void
find_told(struct loop *loop, struct job *job)
{
    struct exchange *exchange = job->data;
    const struct world *world = loop_world(loop);
    const char *text =
        exchange->url.segments[exchange->url.segment_count - 1];
    struct ref at = object_find_text(world, text);
    exchange->now_ms = loop_context(loop).now_ms;
    if (at.kind == KIND_IDENTITYPROVIDER && federation_is_open(world, at))
        ask(exchange, at, finish_logout);
    else
        no_provider(exchange);
}

/* A form with one field whose characters need no encoding. */
void
sso_logout(struct exchange *exchange)
{
    struct sso_visit *visit = visit_new(exchange, SSO_LOGOUT);
    if (visit == NULL)
        return;
    const char *form = buffer_text(&exchange->raw);
    const char *token = strstr(form, FORM_FIELD);
    if (token == NULL || (token != form && token[-1] != '&')) {
        error_set(&exchange->error, ERROR_INVALID,
                  "the form has no logout_token");
        give_up(exchange);
        return;
    }
    token += sizeof FORM_FIELD - 1;
    visit->call.token =
        arena_strndup(exchange->arena, token, strcspn(token, "&"));
    dispatch_post(exchange, find_told);
}
