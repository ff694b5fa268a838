/* SPDX-License-Identifier: Apache-2.0 */
#include "identity/token.h"
#include "tests/unit/api/client.h"

static struct place place;

static int
set_up(void **state)
{
    (void)state;
    place_open(&place);
    tell(&place, place.root, "POST", "/tenants", "{\"name\":\"t\"}", 201);
    tell(&place, place.root, "POST", "/tenants/t/projects",
         "{\"name\":\"p\"}", 201);
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
try_password(const char *name, const char *password)
{
    char body[512];
    (void)snprintf(body, sizeof body,
                   "{\"name\":\"%s\",\"tenant\":\"t\",\"password\":\"%s\"}",
                   name, password);
    return client_send(&place, NULL, "POST", "/login", body);
}

/* The body without the request's id. */
static char *
masked_body(void)
{
    char *text = memory_strdup(buffer_text(&place.last.body));
    char *id = strstr(text, "\"request_id\":\"rq_");
    if (id != NULL)
        memset(id + 17, '-', 26);
    return text;
}

static void
a_password_becomes_a_session(void **state)
{
    (void)state;
    char *token = join(&place, "t", "ann", "/tenants/t", "tenant-admin");
    scoped_json who = ask(&place, token, "GET", "/whoami", NULL, 200);
    assert_string_equal(json_string_value(json_object_get(who, "name")),
                        "ann");
    assert_true(json_is_string(json_object_get(who, "tenant")));
    tell(&place, token, "POST", "/logout", NULL, 204);
    tell(&place, token, "GET", "/whoami", NULL, 401);
    free(token);
}

/* [A40]: one text, and one amount of work. */
static void
a_wrong_name_and_a_wrong_password_answer_alike(void **state)
{
    (void)state;
    free(join(&place, "t", "bob", "/tenants/t", "tenant-admin"));
    assert_int_equal(try_password("bob", "wrong password"), 401);
    char *wrong = masked_body();
    assert_int_equal(try_password("nobody", "wrong password"), 401);
    char *nobody = masked_body();
    assert_string_equal(wrong, nobody);
    assert_int_equal(client_send(&place, NULL, "POST", "/login",
                                 "{\"name\":\"bob\",\"tenant\":\"none\","
                                 "\"password\":\"wrong password\"}"),
                     401);
    char *tenant = masked_body();
    assert_string_equal(wrong, tenant);
    free(wrong);
    free(nobody);
    free(tenant);
}

static void
failures_in_a_row_lock_the_account_for_a_time(void **state)
{
    (void)state;
    free(join(&place, "t", "carl", "/tenants/t", "tenant-admin"));
    for (int i = 0; i < 6; i++)
        assert_int_equal(try_password("carl", "wrong password"), 401);
    assert_int_equal(try_password("carl", PASSWORD), 401);
    harness_pass(60 * 1000);
    assert_int_equal(try_password("carl", PASSWORD), 201);
}

/* Whoever tries passwords changes nothing that an administrator edits. */
static void
failed_logins_leave_the_version_of_the_user_alone(void **state)
{
    (void)state;
    static const char path[] = "/tenants/t/users/edna";
    static char match[64];
    char etag[32];
    free(join(&place, "t", "edna", "/tenants/t", "developer"));
    tell(&place, place.root, "GET", path, NULL, 200);
    assert_int_equal(http_header(&place.last, "ETag", etag, sizeof etag), 0);
    long long revision = 0;
    for (int round = 0; round < 2; round++) {
        scoped_json list =
            ask(&place, place.root, "GET", "/tenants/t/users", NULL, 200);
        long long now =
            json_integer_value(json_object_get(list, "revision"));
        if (round == 1)
            assert_true(now == revision);
        revision = now;
        for (int i = 0; i < 6; i++)
            assert_int_equal(try_password("edna", "wrong password"), 401);
    }
    scoped_json user = ask(&place, place.root, "GET", path, NULL, 200);
    assert_int_equal(json_integer_value(json_object_get(user, "failures")),
                     12);
    assert_true(json_is_string(json_object_get(user, "locked_ms")));
    (void)snprintf(match, sizeof match, "If-Match: %s", etag);
    place.headers[0] = match;
    tell(&place, place.root, "PATCH", path, "{\"display\":\"Edna\"}", 200);
    harness_pass(20 * 60 * 1000);
    free(place.root);
    place.root = log_in(&place, NULL, "root");
    assert_int_equal(try_password("edna", PASSWORD), 201);
    scoped_json good = ask(&place, place.root, "GET", path, NULL, 200);
    assert_int_equal(json_integer_value(json_object_get(good, "failures")),
                     0);
}

/* A key that is worth nothing is told to wait; a valid one beside it is
 * taken at once. */
static void
wrong_keys_are_slowed_and_lock_out_no_valid_one(void **state)
{
    (void)state;
    char *key = log_in(&place, NULL, "root");
    tell(&place, key, "POST", "/logout", NULL, 204);
    long status = 401;
    int count = 0;
    for (; count < 60 && status == 401; count++)
        status = client_send(&place, key, "GET", "/whoami", NULL);
    assert_int_equal(status, 429);
    assert_int_equal(count, 31);
    char value[64];
    assert_int_equal(http_header(&place.last, "Retry-After", value,
                                 sizeof value),
                     0);
    assert_string_equal(value, "2");
    tell(&place, place.root, "GET", "/whoami", NULL, 200);
    free(key);
}

/* [A34]: no part of a token is one, nor is a token with anything more. */
static void
a_cut_or_changed_token_is_worth_nothing(void **state)
{
    (void)state;
    char token[TOKEN_TEXT_MAX + 8];
    (void)snprintf(token, sizeof token, "%s", place.root);
    size_t size = strlen(token);
    char *wrong = NULL;
    for (size_t length = 1; length < size; length += 7) {
        char cut[TOKEN_TEXT_MAX];
        (void)snprintf(cut, sizeof cut, "%.*s", (int)length, token);
        assert_int_equal(client_send(&place, cut, "GET", "/whoami", NULL),
                         401);
        char *text = masked_body();
        if (wrong != NULL)
            assert_string_equal(wrong, text);
        free(wrong);
        wrong = text;
    }
    free(wrong);
    token[size] = 'a';
    token[size + 1] = '\0';
    assert_int_equal(client_send(&place, token, "GET", "/whoami", NULL), 401);
    token[size] = '\0';
    token[size / 2] = token[size / 2] == 'a' ? 'b' : 'a';
    assert_int_equal(client_send(&place, token, "GET", "/whoami", NULL), 401);
    assert_int_equal(client_send(&place, place.root, "GET", "/whoami", NULL),
                     200);
}

/* [A14]: a key carries its own subject and nobody else's. */
static void
a_request_without_a_credential_is_nobodys(void **state)
{
    (void)state;
    tell(&place, place.root, "GET", "/whoami", NULL, 200);
    tell(&place, NULL, "GET", "/whoami", NULL, 401);
    char value[64];
    assert_int_equal(http_header(&place.last, "WWW-Authenticate", value,
                                 sizeof value),
                     0);
    char *id = ask_text(&place, place.root, "POST",
                        "/tenants/t/projects/p/serviceaccounts",
                        "{\"name\":\"robot\"}", 201, "id");
    char path[256];
    (void)snprintf(path, sizeof path,
                   "/tenants/t/projects/p/serviceaccounts/%s/apikeys", id);
    char *key = ask_text(&place, place.root, "POST", path,
                         "{\"name\":\"k\"}", 201, "key");
    scoped_json who = ask(&place, key, "GET", "/whoami", NULL, 200);
    assert_string_equal(json_string_value(json_object_get(who, "id")), id);
    tell(&place, key, "POST", "/tenants", "{\"name\":\"x\"}", 403);
    free(id);
    free(key);
}

/* [A24]: liveness is looked at when a credential is used. */
static void
a_suspended_accounts_key_ends_at_once(void **state)
{
    (void)state;
    tell(&place, place.root, "POST", "/tenants/t/projects/p/serviceaccounts",
         "{\"name\":\"idle\"}", 201);
    char *key =
        ask_text(&place, place.root, "POST",
                 "/tenants/t/projects/p/serviceaccounts/idle/apikeys",
                 "{\"name\":\"k\"}", 201, "key");
    tell(&place, key, "GET", "/whoami", NULL, 200);
    place.headers[0] = "If-Match: *";
    tell(&place, place.root, "PATCH",
         "/tenants/t/projects/p/serviceaccounts/idle",
         "{\"state\":\"suspended\"}", 200);
    tell(&place, key, "GET", "/whoami", NULL, 401);
    free(key);
}

static void
a_guarded_verb_needs_a_recent_proof(void **state)
{
    (void)state;
    char *token = log_in(&place, NULL, "root");
    harness_pass(6 * 60 * 1000);
    scoped_json problem =
        ask(&place, token, "POST", "/tenants/t/grants", "{}", 403);
    assert_string_equal(
        json_string_value(json_object_get(problem, "code")), "step_up");
    tell(&place, token, "POST", "/stepup",
         "{\"password\":\"not the right one\"}", 401);
    tell(&place, token, "POST", "/tenants/t/grants", "{}", 403);
    tell(&place, token, "POST", "/stepup", "{\"password\":\"" PASSWORD "\"}",
         204);
    tell(&place, token, "POST", "/tenants/t/grants", "{}", 400);
    free(place.root);
    place.root = token;
}

static void
a_new_password_ends_the_users_other_sessions(void **state)
{
    (void)state;
    char *token = join(&place, "t", "dora", "/tenants/t", "developer");
    char *root = log_in(&place, NULL, "root");
    tell(&place, root, "POST", "/tenants/t/users/dora/password",
         "{\"password\":\"short\"}", 400);
    tell(&place, root, "POST", "/tenants/t/users/dora/password",
         "{\"password\":\"a much longer sentence\"}", 204);
    tell(&place, token, "GET", "/whoami", NULL, 401);
    assert_int_equal(try_password("dora", PASSWORD), 401);
    assert_int_equal(try_password("dora", "a much longer sentence"), 201);
    free(token);
    free(root);
}

static void
can_i_says_which_step_decides(void **state)
{
    (void)state;
    char *token = join(&place, "t", "eve", "/tenants/t", "tenant-admin");
    char *tenant = ask_text(&place, place.root, "GET", "/tenants/t", NULL,
                            200, "id");
    char path[256];
    (void)snprintf(path, sizeof path, "/can-i?verb=project.create&object=%s",
                   tenant);
    scoped_json yes = ask(&place, token, "GET", path, NULL, 200);
    assert_true(json_is_true(json_object_get(yes, "allowed")));
    (void)snprintf(path, sizeof path, "/can-i?verb=tenant.create&object=%s",
                   tenant);
    scoped_json no = ask(&place, token, "GET", path, NULL, 200);
    assert_true(json_is_false(json_object_get(no, "allowed")));
    assert_true(json_array_size(json_object_get(no, "steps")) > 0);
    tell(&place, token, "GET", "/can-i?verb=fly", NULL, 400);
    tell(&place, token, "GET",
         "/can-i?verb=tenant.get&object=tn_aaaaaaaaaaaaaaaaaaaaaaaaaa", NULL,
         404);
    free(token);
    free(tenant);
}

static void
many_failures_from_one_source_are_slowed(void **state)
{
    (void)state;
    long status = 401;
    for (int i = 0; i < 60 && status == 401; i++)
        status = try_password("nobody", "wrong password");
    assert_int_equal(status, 429);
    /* Others behind the same proxy are not shut out. */
    free(log_in(&place, NULL, "root"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_password_becomes_a_session),
        cmocka_unit_test(a_wrong_name_and_a_wrong_password_answer_alike),
        cmocka_unit_test(failures_in_a_row_lock_the_account_for_a_time),
        cmocka_unit_test(failed_logins_leave_the_version_of_the_user_alone),
        cmocka_unit_test(wrong_keys_are_slowed_and_lock_out_no_valid_one),
        cmocka_unit_test(a_cut_or_changed_token_is_worth_nothing),
        cmocka_unit_test(a_request_without_a_credential_is_nobodys),
        cmocka_unit_test(a_suspended_accounts_key_ends_at_once),
        cmocka_unit_test(a_guarded_verb_needs_a_recent_proof),
        cmocka_unit_test(a_new_password_ends_the_users_other_sessions),
        cmocka_unit_test(can_i_says_which_step_decides),
        cmocka_unit_test(many_failures_from_one_source_are_slowed),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
