/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "api/handlers.h"
#include "api/state.h"
#include "core/credential.h"
#include "core/proof.h"
#include "core/resource.h"
#include "identity/password.h"
#include "identity/token.h"

/*
 * Secrets are made here, shown in one answer, and kept as a digest or an
 * Argon2id string only.
 */

struct secret {
    const char *member; /* of the answer */
    char token[TOKEN_TEXT_MAX];
};

static int
make(const struct granted *granted, struct changes *changes,
     struct exchange *exchange, enum token_type type, const char *member,
     struct error *err)
{
    struct digest digest;
    struct secret *secret = arena_alloc(exchange->arena, sizeof *secret);
    if (resource_create(granted, changes, exchange->route->kind,
                        granted_object(granted), exchange->body,
                        &exchange->created, err) != 0)
        return -1;
    token_make(type, secret->token);
    token_digest(secret->token, &digest);
    resource_set_digest(changes, exchange->created, digest.bytes);
    secret->member = member;
    exchange->data = secret;
    return 0;
}

int
secrets_make_key(const struct granted *granted, struct changes *changes,
                 struct exchange *exchange, struct error *err)
{
    const char *sort =
        json_string_value(json_object_get(exchange->body, "sort"));
    bool inference = sort != NULL && strcmp(sort, "inference") == 0;
    return make(granted, changes, exchange,
                inference ? TOKEN_INFERENCE : TOKEN_KEY, "key", err);
}

int
secrets_make_invitation(const struct granted *granted,
                        struct changes *changes, struct exchange *exchange,
                        struct error *err)
{
    return make(granted, changes, exchange, TOKEN_INVITE, "token", err);
}

/* The key stays what it is, with another secret. */
int
secrets_rotate_key(const struct granted *granted, struct changes *changes,
                   struct exchange *exchange, struct error *err)
{
    const json_t *wish = json_object_get(exchange->body, "overlap_ms");
    const struct apikey *key =
        world_apikey(granted_world(granted), granted_object(granted));
    struct secret *secret = arena_alloc(exchange->arena, sizeof *secret);
    struct digest digest;
    token_make(key->sort == APIKEY_INFERENCE ? TOKEN_INFERENCE : TOKEN_KEY,
               secret->token);
    token_digest(secret->token, &digest);
    secret->member = "key";
    exchange->data = secret;
    return credential_rotate(granted, changes,
                             json_is_integer(wish) ? json_integer_value(wish)
                                                   : CREDENTIAL_OVERLAP_MS,
                             digest.bytes, err);
}

int
secrets_make_join(const struct granted *granted, struct changes *changes,
                  struct exchange *exchange, struct error *err)
{
    return make(granted, changes, exchange, TOKEN_ENROL, "token", err);
}

/* A dry run shows no secret: it would open nothing. */
void
secrets_answer(const struct granted *granted, const struct changes *changes,
               struct exchange *exchange)
{
    const struct secret *secret = exchange->data;
    struct error ignored;
    objects_answer(granted, changes, exchange);
    json_t *body = json_read(exchange->answer.body.bytes,
                             exchange->answer.body.size, &ignored);
    json_object_set_new(body, secret->member,
                        exchange->dry_run ? json_null()
                                          : json_string(secret->token));
    answer_json(&exchange->answer, exchange->answer.status, body);
    exchange->secret = secret->member;
}

/* --- passwords --- */

/* The first round has no hash yet: it decides and checks, nothing more. */
int
secrets_set_password(const struct granted *granted, struct changes *changes,
                     struct exchange *exchange, struct error *err)
{
    const struct object *user =
        world_object(granted_world(granted), granted_object(granted));
    const char *password =
        json_string_value(json_object_get(exchange->body, "password"));
    const char *hash = exchange->data == NULL ? "-" : exchange->data;
    if (password_check(password, user->name,
                       proof_password_min(granted_world(granted)),
                       err) != 0)
        return -1;
    if (resource_set_password(granted, changes, hash, err) != 0)
        return -1;
    if (json_is_false(json_object_get(exchange->body, "temporary")))
        resource_keep_password(changes, granted_object(granted));
    return 0;
}

int
secrets_hash_password(struct exchange *exchange, struct error *err)
{
    char *hash = arena_alloc(exchange->arena, PASSWORD_HASH_MAX);
    const char *password =
        json_string_value(json_object_get(exchange->body, "password"));
    exchange->data = hash;
    return password_hash(password, exchange->api->options.password_cost, hash,
                         err);
}

void
secrets_done(const struct granted *granted, const struct changes *changes,
             struct exchange *exchange)
{
    (void)granted;
    (void)changes;
    exchange->answer.status = 204;
}
