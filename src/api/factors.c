/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "api/factors.h"
#include "api/handlers.h"
#include "api/state.h"
#include "base/sign.h"
#include "core/credential.h"
#include "core/object.h"
#include "identity/factor.h"

/*
 * Second factors: what a person enrols, confirms and shows.  The seed and the
 * recovery codes stand in one answer and are never shown again.
 */

_Static_assert(FACTOR_CODES == CREDENTIAL_CODES &&
                   FACTOR_CODE_DIGEST == CREDENTIAL_CODE_SIZE,
               "identity and core mean the same codes");

struct shown {
    char uri[FACTOR_URI_MAX];
    char codes[FACTOR_CODES][FACTOR_CODE_MAX];
    bool has_uri;
};

static void
label_of(const struct world *world, struct ref user, char out[64])
{
    char id[ID_TEXT_MAX];
    object_id_text(world, user, id);
    (void)snprintf(out, 64, "factor %s", id);
}

static int
open_seed(const struct api *api, const struct world *world, struct ref user,
          struct factor_seed *out, struct error *err)
{
    char label[64];
    label_of(world, user, label);
    if (factor_open(&api->seal_key, label, world_user(world, user)->factor,
                    out, err) == 0)
        return 0;
    error_set(err, ERROR_CONFLICT,
              "the second factor cannot be read any more: the platform has "
              "another key than when it was enrolled");
    return error_help(err, "an administrator resets it: `bulkhead reset "
                           "factor`");
}

bool
factors_check(const struct api *api, const struct world *world,
              struct ref user, const char *code, int64_t now_ms,
              int64_t *step_out)
{
    struct factor_seed seed;
    struct error ignored;
    bool right;
    if (open_seed(api, world, user, &seed, &ignored) != 0)
        return false;
    right = factor_match(&seed, code, now_ms, step_out);
    secret_clear(&seed, sizeof seed);
    return right;
}

/* "tenant/name", as devices show it. */
static void
write_uri(const struct world *world, struct ref user,
          const struct factor_seed *seed, char out[FACTOR_URI_MAX])
{
    char account[2 * NAME_MAX_SIZE + 2];
    const struct object *object = world_object(world, user);
    const struct object *home = world_object(world, object->parent);
    bool of_tenant = object->parent.kind == KIND_TENANT;
    (void)snprintf(account, sizeof account, "%s%s%s",
                   of_tenant ? home->name : "", of_tenant ? "/" : "",
                   object->name);
    factor_uri(seed, account, out);
}

int
factors_enrol(const struct granted *granted, struct changes *changes,
              struct exchange *exchange, struct error *err)
{
    const struct world *world = granted_world(granted);
    struct ref user = granted_object(granted);
    struct shown *shown = arena_alloc(exchange->arena, sizeof *shown);
    char sealed[FACTOR_SEALED_MAX], label[64];
    struct factor_seed seed;
    factor_make(&seed);
    label_of(world, user, label);
    factor_seal(&exchange->api->seal_key, label, &seed, sealed);
    write_uri(world, user, &seed, shown->uri);
    secret_clear(&seed, sizeof seed);
    shown->has_uri = true;
    exchange->data = shown;
    return credential_enrol(granted, changes, sealed, err);
}

int
factors_confirm(const struct granted *granted, struct changes *changes,
                struct exchange *exchange, struct error *err)
{
    const struct world *world = granted_world(granted);
    struct ref ref = granted_object(granted);
    const struct user *user = world_user(world, ref);
    const char *code =
        json_string_value(json_object_get(exchange->body, "code"));
    struct shown *shown = arena_alloc(exchange->arena, sizeof *shown);
    uint8_t digests[FACTOR_CODES][FACTOR_CODE_DIGEST];
    int64_t step = 0;
    if (user != NULL && user->factor[0] != '\0' &&
        !factors_check(exchange->api, world, ref, code,
                       granted_now_ms(granted), &step)) {
        error_field(err, "/code", "the code does not fit");
        return error_help(err, "codes change each half minute: compare the "
                               "clocks, and give the one that is shown now");
    }
    factor_make_codes(shown->codes, digests);
    exchange->data = shown;
    return credential_confirm(granted, changes, step,
                              (const uint8_t(*)[FACTOR_CODE_DIGEST])digests,
                              err);
}

int
factors_renew(const struct granted *granted, struct changes *changes,
              struct exchange *exchange, struct error *err)
{
    struct shown *shown = arena_alloc(exchange->arena, sizeof *shown);
    uint8_t digests[FACTOR_CODES][FACTOR_CODE_DIGEST];
    factor_make_codes(shown->codes, digests);
    exchange->data = shown;
    return credential_renew_codes(
        granted, changes, (const uint8_t(*)[FACTOR_CODE_DIGEST])digests, err);
}

int
factors_drop(const struct granted *granted, struct changes *changes,
             struct exchange *exchange, struct error *err)
{
    (void)exchange;
    return credential_drop_factor(granted, changes, err);
}

int
factors_reset(const struct granted *granted, struct changes *changes,
              struct exchange *exchange, struct error *err)
{
    (void)exchange;
    return credential_reset_factor(granted, changes, err);
}

/* A dry run shows nothing: it would open nothing. */
void
factors_answer(const struct granted *granted, const struct changes *changes,
               struct exchange *exchange)
{
    const struct shown *shown = exchange->data;
    json_t *body = json_object();
    (void)granted;
    (void)changes;
    if (shown->has_uri) {
        json_object_set_new(body, "uri",
                            exchange->dry_run ? json_null()
                                              : json_string(shown->uri));
        exchange->secret = "uri";
    } else {
        json_t *codes = json_array();
        for (size_t i = 0; i < FACTOR_CODES && !exchange->dry_run; i++)
            json_array_append_new(codes, json_string(shown->codes[i]));
        json_object_set_new(body, "recovery", codes);
        exchange->secret = "recovery";
    }
    answer_json(&exchange->answer, 200, body);
}

int
factors_policy(const struct granted *granted, struct changes *changes,
               struct exchange *exchange, struct error *err)
{
    const char *wish =
        json_string_value(json_object_get(exchange->body, "second_factor"));
    const struct field *field = schema_field(KIND_TENANT, "second_factor");
    int policy = schema_enum_parse(field->names, wish);
    struct tenant *tenant;
    if (policy < 0)
        return error_field(err, "/second_factor",
                           "\"%.40s\" is none of off, step-up, login", wish);
    tenant = change_update(changes, granted_object(granted));
    tenant->second_factor = policy;
    return 0;
}
