/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "api/attempt.h"
#include "api/dispatch.h"
#include "api/handlers.h"
#include "api/objects.h"
#include "api/state.h"
#include "control/execute.h"
#include "core/credential.h"
#include "core/drain.h"
#include "core/object.h"
#include "core/proof.h"
#include "core/resource.h"
#include "identity/password.h"
#include "identity/token.h"

/* --- locks --- */

int
accounts_unlock(const struct granted *granted, struct changes *changes,
                struct exchange *exchange, struct error *err)
{
    (void)exchange;
    (void)err;
    credential_unlock(granted, changes);
    return 0;
}

/* The users of all tenants that the asker sees and whose logins failed. */
int
accounts_locked(const struct granted *granted, struct exchange *exchange,
                struct error *err)
{
    const struct world *world = granted_world(granted);
    struct page page;
    if (page_begin(&page, granted, exchange, err) != 0)
        return -1;
    for (struct ref ref = page_first(&page, KIND_USER, (struct ref){0});
         !ref_is_none(ref) && !page.more; ref = world_next(world, ref))
        if (world_user(world, ref)->failures > 0 && page_takes(&page, ref))
            page_add(&page, ref);
    page_end(&page, (struct ref){0});
    return 0;
}

/* --- invitations --- */

struct acceptance {
    const char *password;
    struct digest digest; /* of the token */
    char hash[PASSWORD_HASH_MAX];
};

static void
refuse_token(struct exchange *exchange)
{
    attempt_failed(exchange, NULL);
    error_set(&exchange->error, ERROR_UNAUTHENTICATED,
              "the invitation is not valid: it was used, withdrawn, or is "
              "over");
    error_help(&exchange->error, "whoever invited you can do so again");
    exchange_fail(exchange);
}

static int
take_invitation(struct changes *changes, void *data, struct error *err)
{
    const struct exchange *exchange = data;
    const struct acceptance *acceptance = exchange->data;
    struct ref invitation =
        credential_invitation(changes->world, acceptance->digest.bytes,
                              changes->context.now_ms);
    return credential_accept(changes, invitation, acceptance->hash, err);
}

static struct ref
invited(struct loop *loop, const struct exchange *exchange)
{
    const struct acceptance *acceptance = exchange->data;
    const struct world *world = loop_world(loop);
    struct ref ref =
        credential_invitation(world, acceptance->digest.bytes,
                              loop_context(loop).now_ms);
    return ref_is_none(ref) ? ref : world_invitation(world, ref)->user;
}

static void
finish_acceptance(struct loop *loop, struct job *job)
{
    struct exchange *exchange = job->data;
    struct ref user = invited(loop, exchange);
    struct deed deed = {.verb = "invitation.accept",
                        .object = user,
                        .component = "login",
                        .reason = "the invited user set a password",
                        .decide = take_invitation,
                        .data = exchange};
    if (ref_is_none(user) ||
        execute_deed(loop, exchange->arena, &deed, &exchange->error) != 1) {
        refuse_token(exchange);
        return;
    }
    const struct world *world = loop_world(loop);
    answer_json(&exchange->answer, 200,
                object_json(world, world_user(world, user), false));
}

static void
hash_first(struct loop *loop, struct job *job)
{
    struct exchange *exchange = job->data;
    struct acceptance *acceptance = exchange->data;
    job->run = finish_acceptance;
    if (password_hash(acceptance->password,
                      exchange->api->options.password_cost, acceptance->hash,
                      &exchange->error) == 0 &&
        loop_post(loop, job, &exchange->error) == 0)
        return;
    exchange_fail(exchange);
    loop_finish(loop, job, NULL);
}

static void
begin_acceptance(struct loop *loop, struct job *job)
{
    struct exchange *exchange = job->data;
    const struct acceptance *acceptance = exchange->data;
    const struct world *world = loop_world(loop);
    struct ref user = invited(loop, exchange);
    if (ref_is_none(user)) {
        struct request request = dispatch_request(exchange);
        execute_anonymous(loop, &request, "invitation.accept",
                          "no such invitation");
        refuse_token(exchange);
        return;
    }
    if (password_check(acceptance->password, world_object(world, user)->name,
                       proof_password_min(world), &exchange->error) != 0) {
        exchange_fail(exchange);
        return;
    }
    job->to_work = true;
}

void
accounts_accept(struct exchange *exchange)
{
    struct error *err = &exchange->error;
    struct acceptance *acceptance =
        arena_alloc(exchange->arena, sizeof *acceptance);
    const char *token =
        json_string_value(json_object_get(exchange->body, "token"));
    enum token_type type;
    exchange->data = acceptance;
    acceptance->password =
        json_string_value(json_object_get(exchange->body, "password"));
    if (attempt_check(exchange, NULL, err) != 0) {
        exchange_fail(exchange);
        exchange_finish(exchange);
        return;
    }
    if (token_parse(token, &type, err) == 0 && type == TOKEN_INVITE)
        token_digest(token, &acceptance->digest);
    exchange->job.work = hash_first;
    dispatch_post(exchange, begin_acceptance);
}

/* --- the end of what somebody had --- */

int
accounts_drain(const struct granted *granted, struct changes *changes,
               struct exchange *exchange, struct error *err)
{
    const struct world *world = granted_world(granted);
    struct ref node = granted_object(granted);
    bool end = json_is_true(json_object_get(exchange->body, "cancel"));
    struct drained *drained = arena_alloc(exchange->arena, sizeof *drained);
    exchange->data = drained;
    if (!end && access_is_alive(world, node)) {
        error_set(err, ERROR_CONFLICT,
                  "it is active: what leaves its cards would start again");
        return error_help(err, "suspend it first, or end the work for good "
                               "(cancel)");
    }
    return drain_node(
        granted, changes, node, end ? DRAIN_END : DRAIN_WAIT,
        json_string_value(json_object_get(exchange->body, "reason")),
        DRAIN_MAX, drained, err);
}

void
accounts_drained(const struct granted *granted, const struct changes *changes,
                 struct exchange *exchange)
{
    const struct drained *drained = exchange->data;
    (void)granted;
    (void)changes;
    answer_json(&exchange->answer, 200,
                json_pack("{s:I, s:I, s:I}", "stopped",
                          (json_int_t)drained->stopped, "left",
                          (json_int_t)drained->left, "leaving",
                          (json_int_t)drained->leaving));
}
