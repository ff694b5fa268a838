/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api/attempt.h"
#include "api/dispatch.h"
#include "api/handlers.h"
#include "api/state.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/sign.h"
#include "core/object.h"
#include "core/proof.h"
#include "core/resource.h"
#include "core/role.h"
#include "identity/password.h"
#include "identity/token.h"

/*
 * A login is three steps: find the account, check the password on a worker,
 * make the session.  An account that is not there goes the same way with a
 * hash that no password fits, so time and text do not tell.
 */

#define SECRET_FILE_MAX 256

struct login {
    const char *name;
    const char *tenant; /* NULL: an operator */
    const char *workorder; /* of a vendor's user; NULL: none */
    const char *password;
    char hash[128]; /* "": no such account */
    struct id user;
    bool right;
    struct attempt attempt; /* whose failures are counted */
    char token[TOKEN_TEXT_MAX];
    struct digest digest;
    struct ref session;
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

/* --- login --- */

static struct ref
find_user(const struct world *world, const struct login *login)
{
    struct ref parent = world_platform_ref(world);
    if (login->workorder != NULL) {
        parent = object_find_text(world, login->workorder);
        return parent.kind == KIND_WORKORDER
                   ? world_find_name(world, KIND_USER, parent, login->name)
                   : (struct ref){0};
    }
    if (login->tenant != NULL)
        parent = world_find_name(world, KIND_TENANT, parent, login->tenant);
    if (ref_is_none(parent))
        return parent;
    return world_find_name(world, KIND_USER, parent, login->name);
}

static void
find_account(struct loop *loop, struct job *job)
{
    struct exchange *exchange = job->data;
    struct login *login = exchange->data;
    const struct world *world = loop_world(loop);
    const struct user *user = world_user(world, find_user(world, login));
    if (user != NULL) {
        login->user = user->object.id;
        memcpy(login->hash, user->password, sizeof login->hash);
    }
    job->to_work = true;
}

static int
make_session(struct changes *changes, void *data, struct error *err)
{
    struct exchange *exchange = data;
    struct login *login = exchange->data;
    return resource_log_in(changes, exchange->object, login->digest.bytes,
                           &login->session, err);
}

static int
count_failure(struct changes *changes, void *data, struct error *err)
{
    struct exchange *exchange = data;
    (void)err;
    resource_log_in_failed(changes, exchange->object);
    return 0;
}

static void
show_session(struct loop *loop, struct exchange *exchange)
{
    const struct world *world = loop_world(loop);
    struct login *login = exchange->data;
    const struct session *session = world_session(world, login->session);
    attempt_worked(exchange, &login->attempt);
    json_t *body = object_json(world, session, false);
    char tenant[ID_TEXT_MAX];
    struct ref scope = world_scope(world, login->session);
    object_id_text(world, scope, tenant);
    json_object_set_new(body, "token", json_string(login->token));
    json_object_set_new(body, "tenant",
                        scope.kind == KIND_TENANT ? json_string(tenant)
                                                  : json_null());
    json_object_set_new(body, "limit",
                        json_string(proof_limit_text(proof_limit(
                            world, login->session, exchange->now_ms))));
    answer_json(&exchange->answer, 201, body);
}

/* Each refusal writes something, so that each takes one commit: with an
 * account its count of failures, without one a counter of refusals. */
static void
refuse_login(struct loop *loop, struct exchange *exchange, bool known)
{
    struct error ignored;
    struct request request = dispatch_request(exchange);
    struct deed deed = {.verb = "session.refuse",
                        .object = exchange->object,
                        .component = "login",
                        .decide = count_failure,
                        .data = exchange};
    if (known)
        (void)execute_deed(loop, exchange->arena, &deed, &ignored);
    else
        execute_anonymous(loop, &request, "session.create", "no such account");
    loop_counter(loop, "login.refused_ms", exchange->now_ms, NULL, 0);
    const struct login *login = exchange->data;
    attempt_failed(exchange, &login->attempt);
    error_set(&exchange->error, ERROR_UNAUTHENTICATED,
              "name or password is wrong, or the account is locked");
    exchange_fail(exchange);
}

static void
finish_login(struct loop *loop, struct job *job)
{
    struct exchange *exchange = job->data;
    struct login *login = exchange->data;
    const struct world *world = loop_world(loop);
    exchange->now_ms = loop_context(loop).now_ms;
    exchange->object = world_find(world, KIND_USER, login->user);
    bool known = world_user(world, exchange->object) != NULL;
    struct deed deed = {.verb = "session.create",
                        .object = exchange->object,
                        .component = "login",
                        .decide = make_session,
                        .data = exchange};
    bool open = known && access_may_log_in(world, exchange->object,
                                           exchange->now_ms);
    if (open && login->right &&
        execute_deed(loop, exchange->arena, &deed, &exchange->error) == 1)
        show_session(loop, exchange);
    else
        refuse_login(loop, exchange, known);
}

/* On to the next step on the world thread. */
static void
go_on(struct loop *loop, struct exchange *exchange,
      void (*run)(struct loop *loop, struct job *job))
{
    exchange->job.run = run;
    if (loop_post(loop, &exchange->job, &exchange->error) != 0) {
        exchange_fail(exchange);
        loop_finish(loop, &exchange->job, NULL);
    }
}

static void
check_password(struct loop *loop, struct job *job)
{
    struct exchange *exchange = job->data;
    struct login *login = exchange->data;
    const char *hash = login->hash[0] == '\0' ? NULL : login->hash;
    login->right = password_verify(hash, login->password,
                                   exchange->api->options.password_cost);
    go_on(loop, exchange, finish_login);
}

void
login_start(struct exchange *exchange)
{
    struct login *login = arena_alloc(exchange->arena, sizeof *login);
    exchange->data = login;
    login->name = body_text(exchange, "name");
    login->tenant = body_text(exchange, "tenant");
    login->workorder = body_text(exchange, "workorder");
    login->password = body_text(exchange, "password");
    login->attempt = (struct attempt){
        .place = login->workorder != NULL ? login->workorder : login->tenant,
        .account = login->name,
    };
    if (attempt_check(exchange, &login->attempt, &exchange->error) != 0) {
        give_up(exchange);
        return;
    }
    token_make(TOKEN_SESSION, login->token);
    token_digest(login->token, &login->digest);
    exchange->job.work = check_password;
    dispatch_post(exchange, find_account);
}

/* --- the first administrator --- */

static int
read_secret(const struct exchange *exchange, struct buffer *out,
            struct error *err)
{
    const char *path = exchange->api->options.secret_path;
    if (path == NULL || file_read(path, SECRET_FILE_MAX, out, err) != 0)
        return -1;
    while (out->size > 0 && out->bytes[out->size - 1] == '\n')
        out->bytes[--out->size] = '\0';
    return out->size == 0 ? -1 : 0;
}

static int
check_secret(struct exchange *exchange, struct error *err)
{
    scoped_buffer secret = {0};
    struct error ignored;
    struct digest want, have;
    const char *given = body_text(exchange, "secret");
    if (attempt_check(exchange, NULL, err) != 0)
        return -1;
    int there = read_secret(exchange, &secret, &ignored);
    digest_of(secret.bytes, secret.size, &want);
    digest_of(given, strlen(given), &have);
    if (there == 0 && secret_compare(&want, &have, sizeof want) == 0)
        return 0;
    attempt_failed(exchange, NULL);
    return error_set(err, ERROR_UNAUTHENTICATED,
                     "the secret is wrong or was used");
}

static bool
has_operator(const struct world *world)
{
    return !ref_is_none(
        world_first_child(world, KIND_USER, world_platform_ref(world)));
}

static int
make_admin(struct changes *changes, void *data, struct error *err)
{
    struct exchange *exchange = data;
    const struct login *login = exchange->data;
    struct ref platform = world_platform_ref(changes->world);
    struct ref role = role_find(changes->world, ROLE_PLATFORM_ADMIN);
    if (has_operator(changes->world))
        return error_set(err, ERROR_CONFLICT,
                         "the platform has users already");
    if (ref_is_none(role))
        return error_set(err, ERROR_INTERNAL, "the roles are not installed");
    struct user *user =
        change_create(changes, KIND_USER, platform, login->name);
    exchange->created = user->object.self;
    resource_first_password(changes, exchange->created, login->hash);
    struct grant *grant = change_create(changes, KIND_GRANT, platform, "");
    grant->subject = exchange->created;
    grant->role = role;
    grant->use = role_use(ROLE_PLATFORM_ADMIN);
    grant->give = role_give(ROLE_PLATFORM_ADMIN);
    return 0;
}

/* The change is durable: the secret has done its work. */
static void
remove_secret(struct job *job, struct store_reader *reader)
{
    const struct exchange *exchange = job->data;
    (void)reader;
    if (exchange->answer.status == 201 &&
        unlink(exchange->api->options.secret_path) != 0)
        log_write(LOG_WARN, exchange->id,
                  "the first-admin secret could not be removed");
}

static void
finish_admin(struct loop *loop, struct job *job)
{
    struct exchange *exchange = job->data;
    struct deed deed = {.verb = "user.create",
                        .component = "first-admin",
                        .decide = make_admin,
                        .data = exchange};
    if (execute_deed(loop, exchange->arena, &deed, &exchange->error) != 1) {
        exchange_fail(exchange);
        return;
    }
    const struct world *world = loop_world(loop);
    const struct user *user = world_user(world, exchange->created);
    answer_json(&exchange->answer, 201, object_json(world, user, true));
    job->read = remove_secret;
}

static void
hash_password(struct loop *loop, struct job *job)
{
    struct exchange *exchange = job->data;
    struct login *login = exchange->data;
    if (password_hash(login->password,
                      exchange->api->options.password_cost, login->hash,
                      &exchange->error) != 0) {
        exchange_fail(exchange);
        loop_finish(loop, job, NULL);
        return;
    }
    go_on(loop, exchange, finish_admin);
}

static void
begin_admin(struct loop *loop, struct job *job)
{
    struct exchange *exchange = job->data;
    if (has_operator(loop_world(loop))) {
        error_set(&exchange->error, ERROR_CONFLICT,
                  "the platform has users already");
        exchange_fail(exchange);
        return;
    }
    job->to_work = true;
}

void
login_first_admin(struct exchange *exchange)
{
    struct error *err = &exchange->error;
    struct login *login = arena_alloc(exchange->arena, sizeof *login);
    exchange->data = login;
    login->name = body_text(exchange, "name");
    login->password = body_text(exchange, "password");
    if (schema_check_name("/name", login->name, err) != 0 ||
        password_check(login->password, login->name, 0, err) != 0 ||
        check_secret(exchange, err) != 0) {
        give_up(exchange);
        return;
    }
    exchange->job.work = hash_password;
    dispatch_post(exchange, begin_admin);
}
