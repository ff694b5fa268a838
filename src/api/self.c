/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "api/attempt.h"
#include "api/factors.h"
#include "api/handlers.h"
#include "api/rights.h"
#include "api/state.h"
#include "core/credential.h"
#include "core/object.h"
#include "core/proof.h"
#include "core/resource.h"
#include "identity/factor.h"
#include "identity/password.h"

int
self_whoami(const struct granted *granted, struct exchange *exchange,
            struct error *err)
{
    (void)err;
    const struct world *world = granted_world(granted);
    const struct actor *actor = granted_actor(granted);
    const struct object *subject = world_object(world, actor->subject);
    const struct session *session = world_session(world, actor->credential);
    const struct apikey *key = world_apikey(world, actor->credential);
    struct ref scope = world_scope(world, actor->subject);
    json_t *body = json_object();
    json_object_set_new(body, "id", object_id_json(world, actor->subject));
    json_object_set_new(
        body, "kind",
        json_string(schema_get((enum kind)actor->subject.kind)->name));
    json_object_set_new(body, "name", json_string(subject->name));
    json_object_set_new(body, "tenant",
                        object_id_json(world, scope.kind == KIND_TENANT
                                                  ? scope
                                                  : (struct ref){ 0 }));
    json_object_set_new(body, "tenant_name",
                        scope.kind == KIND_TENANT
                            ? json_string(world_object(world, scope)->name)
                            : json_null());
    json_object_set_new(body, "credential",
                        object_id_json(world, actor->credential));
    json_object_set_new(body, "proved", json_time(actor->proved_ms));
    json_object_set_new(body, "expires",
                        json_time(session != NULL ? session->expires_ms
                                  : key != NULL   ? key->expires_ms
                                                  : 0));
    json_object_set_new(body, "limit",
                        json_string(proof_limit_text(
                            proof_limit(world, actor->credential,
                                        granted_now_ms(granted)))));
    json_object_set_new(body, "second_factor",
                        json_boolean(proof_is_enrolled(world,
                                                       actor->subject)));
    json_object_set_new(body, "grants", rights_list(granted, actor->subject));
    answer_json(&exchange->answer, 200, body);
    return 0;
}

/* --- can I --- */

static const char *const check_names[] = {
    [ACCESS_CHECK_ACTOR] = "actor",   [ACCESS_CHECK_NODE] = "node",
    [ACCESS_CHECK_DENY] = "deny",     [ACCESS_CHECK_CEILING] = "ceiling",
    [ACCESS_CHECK_KEY] = "key",       [ACCESS_CHECK_SELF] = "self",
    [ACCESS_CHECK_PUBLIC] = "public", [ACCESS_CHECK_GRANT] = "grant",
    [ACCESS_CHECK_GUARD] = "guard",
};

struct trail {
    const struct world *world;
    json_t *steps;
};

static void
add_step(void *context, enum access_check check, struct ref ref, bool passed,
         const char *why)
{
    struct trail *trail = context;
    json_t *step = json_pack("{s:s, s:b}", "check", check_names[check],
                             "passed", passed);
    json_object_set_new(step, "object", object_id_json(trail->world, ref));
    if (why[0] != '\0')
        json_object_set_new(step, "why", json_string(why));
    json_array_append_new(trail->steps, step);
}

/* The decision that lets the asker look at the object, else not found. */
static int
look_at(const struct granted *granted, struct ref object,
        struct granted *viewer_out, struct error *err)
{
    const struct world *world = granted_world(granted);
    int get = verb_of((enum kind)object.kind, VERB_OP_GET);
    if (get < 0 ||
        access_decide(world, granted_actor(granted), (enum verb)get, object,
                      granted_now_ms(granted), viewer_out, err) != 0)
        return access_not_found(err);
    return 0;
}

int
self_can_i(const struct granted *granted, struct exchange *exchange,
           struct error *err)
{
    const struct world *world = granted_world(granted);
    const char *name = url_get(&exchange->url, "verb");
    const char *text = url_get(&exchange->url, "object");
    int verb = name == NULL ? -1 : verb_parse(name);
    struct granted viewer;
    struct access_verdict verdict;
    if (verb < 0)
        return error_field(err, "verb", "\"%.60s\" is no verb; verbs are a "
                                       "kind and an action: workload.create",
                           name == NULL ? "" : name);
    struct ref object = text == NULL
                            ? granted_actor(granted)->subject
                            : object_find_text(world, text);
    if (ref_is_none(object))
        return access_not_found(err);
    if (look_at(granted, object, &viewer, err) != 0)
        return -1;
    struct trail trail = {.world = world, .steps = json_array()};
    access_explain(&viewer, granted_actor(granted), (enum verb)verb, add_step,
                   &trail, &verdict);
    answer_json(&exchange->answer, 200,
                json_pack("{s:b, s:s, s:s, s:o}", "allowed",
                          verdict.outcome == ACCESS_ALLOWED, "outcome",
                          access_outcome_text(verdict.outcome), "verb", name,
                          "steps", trail.steps));
    return 0;
}

/* --- sessions --- */

int
self_log_out(const struct granted *granted, struct changes *changes,
             struct exchange *exchange, struct error *err)
{
    (void)exchange;
    return resource_delete(granted, changes, granted_object(granted), err);
}

struct proof {
    const char *password, *code, *recovery; /* what was given, or NULL */
    char hash[128];
    bool right; /* the password, if it was given */
    bool done;  /* and all else */
};

static const char *
given(const struct exchange *exchange, const char *name)
{
    return json_string_value(json_object_get(exchange->body, name));
}

/* Who has a second factor proves that one. */
static int
check_given(const struct proof *proof, bool factor, struct error *err)
{
    if (proof->code != NULL && proof->recovery != NULL)
        return error_set(err, ERROR_INVALID,
                         "give a code or a recovery code, not both");
    if (factor && proof->code == NULL && proof->recovery == NULL)
        return error_field(err, "/code",
                           "a code of your second factor is needed");
    if (!factor && proof->password == NULL)
        return error_field(err, "/password", "the password is needed");
    return 0;
}

static int
begin_proof(struct exchange *exchange, const struct user *user,
            struct error *err)
{
    struct proof *proof = arena_alloc(exchange->arena, sizeof *proof);
    proof->password = given(exchange, "password");
    proof->code = given(exchange, "code");
    proof->recovery = given(exchange, "recovery");
    memcpy(proof->hash, user->password, sizeof proof->hash);
    exchange->data = proof;
    return check_given(proof, user->factor_ms != 0, err);
}

/* Password and code may come together; each that is given has to be right. */
static bool
take_proof(const struct granted *granted, struct changes *changes,
           const struct exchange *exchange)
{
    const struct proof *proof = exchange->data;
    const struct actor *actor = granted_actor(granted);
    uint8_t digest[FACTOR_CODE_DIGEST];
    int64_t step;
    if (proof->password != NULL && !proof->right)
        return false;
    if (proof->code != NULL &&
        (!proof_is_enrolled(granted_world(granted), actor->subject) ||
         !factors_check(exchange->api, granted_world(granted),
                        actor->subject, proof->code, granted_now_ms(granted),
                        &step) ||
         !credential_take_step(changes, actor->credential, step)))
        return false;
    if (proof->recovery != NULL &&
        (!factor_code_digest(proof->recovery, digest) ||
         !credential_take_recovery(changes, actor->credential, digest)))
        return false;
    if (proof->password != NULL)
        resource_prove(changes, actor->credential);
    return true;
}

/* First round: takes the hash; second round: the password was checked. */
int
self_step_up(const struct granted *granted, struct changes *changes,
             struct exchange *exchange, struct error *err)
{
    const struct world *world = granted_world(granted);
    const struct actor *actor = granted_actor(granted);
    const struct user *user = world_user(world, actor->subject);
    struct proof *proof = exchange->data;
    if (user == NULL || actor->credential.kind != KIND_SESSION ||
        !access_may_log_in(world, actor->subject, granted_now_ms(granted)))
        return error_set(err, ERROR_DENIED,
                         "only a user in an open session can prove itself");
    if (proof == NULL)
        return begin_proof(exchange, user, err);
    proof->done = take_proof(granted, changes, exchange);
    if (!proof->done)
        resource_log_in_failed(changes, actor->subject);
    return 0;
}

int
self_check_password(struct exchange *exchange, struct error *err)
{
    struct proof *proof = exchange->data;
    char session[2 * DIGEST_SIZE + 1];
    const struct attempt attempt = {.session = session};
    hex_encode(exchange->token, DIGEST_SIZE, session);
    if (attempt_check(exchange, &attempt, err) != 0)
        return -1;
    if (proof->password == NULL)
        return 0;
    proof->right =
        password_verify(proof->hash[0] == '\0' ? NULL : proof->hash,
                        proof->password, exchange->api->options.password_cost);
    if (!proof->right)
        attempt_failed(exchange, &attempt);
    return 0;
}

/* A trial checks nothing, since it could not count the wrong ones: it says
 * what the right one does. */
void
self_done(const struct granted *granted, const struct changes *changes,
          struct exchange *exchange)
{
    const struct proof *proof = exchange->data;
    (void)granted;
    (void)changes;
    if (proof == NULL || proof->done || exchange->dry_run) {
        exchange->answer.status = 204;
        return;
    }
    error_set(&exchange->error, ERROR_UNAUTHENTICATED,
              proof->password != NULL && proof->code == NULL &&
                      proof->recovery == NULL
                  ? "the password is wrong"
                  : "the code is wrong or was used, or the password is "
                    "wrong");
    exchange_fail(exchange);
}
