/* SPDX-License-Identifier: Apache-2.0 */
#include "identity/factor.h"
#include "identity/token.h"
#include "tests/unit/api/client.h"
#include "tests/unit/api/document.h"
#include "api/openapi.h"

/* People and their credentials by the API: what they do, see and are refused,
 * and that answers are as the OpenAPI document says. */

static struct place place;
static json_t *document;

static int
set_up(void **state)
{
    (void)state;
    place_open(&place);
    document = openapi_document("test");
    tell(&place, place.root, "POST", "/tenants", "{\"name\":\"t\"}", 201);
    tell(&place, place.root, "POST", "/tenants", "{\"name\":\"other\"}", 201);
    tell(&place, place.root, "POST", "/tenants/t/projects",
         "{\"name\":\"p\"}", 201);
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    json_decref(document);
    place_close(&place);
    return 0;
}

/* --- words --- */

static json_t *
described(const char *token, const char *method, const char *path,
          const char *body, long status, const char *operation,
          const char *route)
{
    char number[8];
    scoped_buffer differences = {0};
    json_t *answer = ask(&place, token, method, path, body, status);
    (void)snprintf(number, sizeof number, "%ld", status);
    document_compare(
        document,
        document_content(document_operation(document, operation, route),
                         number, "application/json"),
        answer, "", &differences);
    if (differences.size > 0)
        fail_msg("%s %s: %s", method, path, buffer_text(&differences));
    return answer;
}

static const char *
text_of(const json_t *value, const char *member)
{
    const char *text = json_string_value(json_object_get(value, member));
    assert_non_null(text);
    return text;
}

/* The seed that an otpauth address names. */
static struct factor_seed
seed_of(const char *uri)
{
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    const char *at = strstr(uri, "secret=") + 7;
    struct factor_seed seed = {{0}};
    uint64_t bits = 0;
    unsigned have = 0, used = 0;
    for (; *at != '&'; at++) {
        bits = bits << 5 | (uint64_t)(strchr(alphabet, *at) - alphabet);
        have += 5;
        if (have >= 8) {
            have -= 8;
            seed.bytes[used++] = (uint8_t)(bits >> have);
        }
    }
    assert_int_equal(used, FACTOR_SEED_SIZE);
    return seed;
}

static void
code_body(const struct factor_seed *seed, int64_t steps, char out[64])
{
    char code[FACTOR_DIGITS + 1];
    factor_code(seed, harness_wall + steps * 30000, code);
    (void)snprintf(out, 64, "{\"code\":\"%s\"}", code);
}

static const char *
limit_of(const char *token)
{
    static char text[32];
    scoped_json who = ask(&place, token, "GET", "/whoami", NULL, 200);
    (void)snprintf(text, sizeof text, "%s", text_of(who, "limit"));
    return text;
}

/* --- groups --- */

static void
a_group_gives_its_members_rights_and_says_so(void **state)
{
    (void)state;
    char *ann = join(&place, "t", "ann", "/tenants/t", "tenant-admin");
    char *gus = join(&place, "t", "gus", "/tenants/t", NULL);
    char body[256];
    char *group =
        ask_text(&place, ann, "POST", "/tenants/t/groups",
                 "{\"name\":\"devs\",\"display\":\"Developers\"}", 201, "id");
    char *user =
        ask_text(&place, ann, "GET", "/tenants/t/users/gus", NULL, 200, "id");
    (void)snprintf(body, sizeof body,
                   "{\"subject\":\"%s\",\"role\":\"developer\"}", group);
    tell(&place, ann, "POST", "/tenants/t/projects/p/grants", body, 201);
    tell(&place, gus, "GET", "/tenants/t/projects/p", NULL, 404);
    (void)snprintf(body, sizeof body, "{\"subject\":\"%s\"}", user);
    tell(&place, gus, "POST", "/tenants/t/groups/devs/members", body, 404);
    json_decref(described(ann, "POST", "/tenants/t/groups/devs/members", body,
                          201, "post",
                          "/api/v1/tenants/{tenant}/groups/{group}/members"));
    tell(&place, ann, "POST", "/tenants/t/groups/devs/members", body, 409);
    tell(&place, gus, "GET", "/tenants/t/projects/p", NULL, 200);
    scoped_json rights =
        described(ann, "GET", "/tenants/t/users/gus/rights", NULL, 200, "get",
                  "/api/v1/tenants/{tenant}/users/{user}/rights");
    const json_t *first =
        json_array_get(json_object_get(rights, "items"), 0);
    assert_string_equal(text_of(first, "group_name"), "devs");
    assert_string_equal(text_of(first, "role"), "developer");
    scoped_json who = described(gus, "GET", "/whoami", NULL, 200, "get",
                                "/api/v1/whoami");
    assert_string_equal(
        text_of(json_array_get(json_object_get(who, "grants"), 0),
                "group_name"),
        "devs");
    tell(&place, ann, "DELETE", "/tenants/t/groups/devs/members/gus", NULL,
         204);
    tell(&place, gus, "GET", "/tenants/t/projects/p", NULL, 404);
    free(ann);
    free(gus);
    free(group);
    free(user);
}

/* --- second factors --- */

static void
a_second_factor_is_enrolled_shown_once_and_asked_for(void **state)
{
    (void)state;
    char *ann = join(&place, "t", "fay", "/tenants/t", "tenant-admin");
    char body[64], wrong[64];
    scoped_json begun = described(ann, "POST", "/factor", NULL, 200, "post",
                                  "/api/v1/factor");
    struct factor_seed seed = seed_of(text_of(begun, "uri"));
    assert_non_null(strstr(text_of(begun, "uri"), "Bulkhead:t/fay?"));
    code_body(&seed, 40, wrong);
    tell(&place, ann, "POST", "/factor/confirm", wrong, 400);
    code_body(&seed, 0, body);
    scoped_json done = described(ann, "POST", "/factor/confirm", body, 200,
                                 "post", "/api/v1/factor/confirm");
    const json_t *codes = json_object_get(done, "recovery");
    assert_int_equal(json_array_size(codes), 10);
    tell(&place, ann, "POST", "/factor", NULL, 409);
    scoped_json me =
        ask(&place, ann, "GET", "/tenants/t/users/fay", NULL, 200);
    assert_true(json_is_string(json_object_get(me, "factor_ms")));
    assert_null(json_object_get(me, "factor"));
    assert_null(json_object_get(me, "recovery"));
    /* the code that confirmed it proves nothing a second time */
    char *again = log_in(&place, "t", "fay");
    tell(&place, again, "POST", "/tenants/t/groups/none/members", "{}", 404);
    tell(&place, again, "POST", "/tenants/t/roles",
         "{\"name\":\"r\",\"verbs\":[\"project.get\"]}", 403);
    assert_non_null(strstr(buffer_text(&place.last.body), "step_up"));
    tell(&place, again, "POST", "/stepup", "{\"password\":\"" PASSWORD "\"}",
         400);
    tell(&place, again, "POST", "/stepup", body, 401);
    code_body(&seed, 1, body);
    tell(&place, again, "POST", "/stepup", body, 204);
    tell(&place, again, "POST", "/stepup", body, 401);
    tell(&place, again, "POST", "/tenants/t/roles",
         "{\"name\":\"r\",\"verbs\":[\"project.get\"]}", 201);
    /* a recovery code, once */
    char *third = log_in(&place, "t", "fay");
    char recovery[64];
    (void)snprintf(recovery, sizeof recovery, "{\"recovery\":\"%s\"}",
                   json_string_value(json_array_get(codes, 7)));
    tell(&place, third, "POST", "/stepup", recovery, 204);
    tell(&place, third, "POST", "/stepup", recovery, 401);
    scoped_json more = described(third, "POST", "/factor/recovery", NULL, 200,
                                 "post", "/api/v1/factor/recovery");
    assert_int_equal(
        json_array_size(json_object_get(more, "recovery")), 10);
    tell(&place, third, "DELETE", "/factor", NULL, 204);
    tell(&place, third, "DELETE", "/factor", NULL, 409);
    free(ann);
    free(again);
    free(third);
}

static void
a_tenants_policy_asks_its_people_for_a_factor(void **state)
{
    (void)state;
    char *ann = join(&place, "t", "pol", "/tenants/t", "tenant-admin");
    char *dev = join(&place, "t", "pete", "/tenants/t/projects/p",
                     "developer");
    char body[64];
    tell(&place, dev, "POST", "/tenants/t/second-factor",
         "{\"second_factor\":\"login\"}", 403);
    tell(&place, ann, "POST", "/tenants/t/second-factor",
         "{\"second_factor\":\"always\"}", 400);
    json_decref(described(ann, "POST", "/tenants/t/second-factor",
                          "{\"second_factor\":\"login\"}", 200, "post",
                          "/api/v1/tenants/{tenant}/second-factor"));
    assert_string_equal(limit_of(dev), "enrol");
    tell(&place, dev, "GET", "/tenants/t/projects/p", NULL, 403);
    assert_non_null(strstr(buffer_text(&place.last.body), "enrol"));
    scoped_json begun = ask(&place, dev, "POST", "/factor", NULL, 200);
    struct factor_seed seed = seed_of(text_of(begun, "uri"));
    code_body(&seed, 0, body);
    tell(&place, dev, "POST", "/factor/confirm", body, 200);
    tell(&place, dev, "GET", "/tenants/t/projects/p", NULL, 200);
    char *next = log_in(&place, "t", "pete");
    assert_string_equal(limit_of(next), "code");
    tell(&place, next, "GET", "/tenants/t/projects/p", NULL, 403);
    code_body(&seed, 1, body);
    tell(&place, next, "POST", "/stepup", body, 204);
    assert_string_equal(limit_of(next), "none");
    tell(&place, next, "GET", "/tenants/t/projects/p", NULL, 200);
    /* an administrator of the platform resets it; sessions end */
    char *root = log_in(&place, NULL, "root");
    tell(&place, root, "POST", "/tenants/t/users/pete/factor-reset", NULL,
         204);
    tell(&place, root, "POST", "/tenants/t/users/pete/factor-reset", NULL,
         409);
    tell(&place, next, "GET", "/whoami", NULL, 401);
    tell(&place, root, "POST", "/tenants/t/second-factor",
         "{\"second_factor\":\"off\"}", 200);
    free(ann);
    free(dev);
    free(next);
    free(root);
}

/* --- passwords and locks --- */

static void
what_somebody_else_set_is_changed_before_anything_else(void **state)
{
    (void)state;
    char *root = log_in(&place, NULL, "root");
    char *dev = join(&place, "t", "tom", "/tenants/t/projects/p",
                     "developer");
    free(dev);
    tell(&place, root, "POST", "/tenants/t/users/tom/password",
         "{\"password\":\"" PASSWORD "\"}", 204);
    tell(&place, root, "POST", "/tenants/t/users/tom/password",
         "{\"password\":\"Password2026!\"}", 400);
    assert_non_null(strstr(buffer_text(&place.last.body), "tried first"));
    dev = log_in(&place, "t", "tom");
    assert_string_equal(limit_of(dev), "password");
    tell(&place, dev, "GET", "/tenants/t/projects/p/workloads", NULL, 403);
    assert_non_null(strstr(buffer_text(&place.last.body), "passwd"));
    tell(&place, dev, "GET", "/tenants/other", NULL, 403);
    tell(&place, dev, "POST", "/tenants/t/users/tom/password",
         "{\"password\":\"a sentence of my own\"}", 204);
    tell(&place, dev, "GET", "/tenants/t/projects/p/workloads", NULL, 200);
    free(root);
    free(dev);
}

/* [A40] */
static void
a_lock_is_seen_and_taken_off_by_the_security_admin(void **state)
{
    (void)state;
    char *sec = join(&place, NULL, "sec", "", "security-admin");
    char *ann = join(&place, "t", "lea", "/tenants/t", "tenant-admin");
    char *dev = join(&place, "t", "lou", "/tenants/t/projects/p",
                     "developer");
    for (int i = 0; i < 7; i++)
        tell(&place, NULL, "POST", "/login",
             "{\"name\":\"lou\",\"tenant\":\"t\",\"password\":\"no\"}", 401);
    tell(&place, NULL, "POST", "/login",
         "{\"name\":\"lou\",\"tenant\":\"t\",\"password\":\"" PASSWORD "\"}",
         401);
    scoped_json list =
        described(sec, "GET", "/lockouts", NULL, 200, "get",
                  "/api/v1/lockouts");
    const json_t *items = json_object_get(list, "items");
    size_t seen = 0, index;
    json_t *item;
    json_array_foreach (items, index, item)
        seen += strcmp(text_of(item, "name"), "lou") == 0 &&
                json_integer_value(json_object_get(item, "failures")) == 8;
    assert_int_equal(seen, 1);
    scoped_json none = ask(&place, dev, "GET", "/lockouts", NULL, 200);
    assert_int_equal(json_array_size(json_object_get(none, "items")), 1);
    tell(&place, dev, "POST", "/tenants/t/users/lou/unlock", NULL, 403);
    tell(&place, dev, "POST", "/tenants/t/users/lea/unlock", NULL, 404);
    json_decref(described(sec, "POST", "/tenants/t/users/lou/unlock", NULL,
                          200, "post",
                          "/api/v1/tenants/{tenant}/users/{user}/unlock"));
    free(log_in(&place, "t", "lou"));
    free(sec);
    free(ann);
    free(dev);
}

/* --- keys --- */

static void
a_rotated_key_works_with_both_secrets(void **state)
{
    (void)state;
    char *dev = join(&place, "t", "kim", "/tenants/t/projects/p",
                     "developer");
    char *old = ask_text(&place, dev, "POST", "/tenants/t/users/kim/apikeys",
                         "{\"name\":\"ci\"}", 201, "key");
    scoped_json rotated = described(
        dev, "POST", "/tenants/t/users/kim/apikeys/ci/rotate",
        "{\"overlap_ms\":60000}", 200, "post",
        "/api/v1/tenants/{tenant}/users/{user}/apikeys/{apikey}/rotate");
    const char *new = text_of(rotated, "key");
    assert_string_not_equal(old, new);
    tell(&place, old, "GET", "/whoami", NULL, 200);
    tell(&place, new, "GET", "/whoami", NULL, 200);
    char *newest = ask_text(&place, dev, "POST",
                            "/tenants/t/users/kim/apikeys/ci/rotate",
                            "{\"overlap_ms\":0}", 200, "key");
    tell(&place, old, "GET", "/whoami", NULL, 401);
    tell(&place, new, "GET", "/whoami", NULL, 401);
    tell(&place, newest, "GET", "/whoami", NULL, 200);
    tell(&place, newest, "POST", "/tenants/t/users/kim/apikeys/ci/rotate",
         "{}", 403);
    tell(&place, dev, "POST", "/tenants/other/users/kim/apikeys/ci/rotate",
         "{}", 404);
    char *inference =
        ask_text(&place, dev, "POST", "/tenants/t/users/kim/apikeys",
                 "{\"name\":\"app\",\"sort\":\"inference\"}", 201, "key");
    assert_memory_equal(inference, "bh_inf_", 7);
    tell(&place, inference, "GET", "/tenants/t/projects/p", NULL, 403);
    free(dev);
    free(old);
    free(newest);
    free(inference);
}

/* --- invitations --- */

/* [A5] */
static void
an_invitation_is_accepted_once_and_belongs_to_its_tenant(void **state)
{
    (void)state;
    char *ann = join(&place, "t", "ivy", "/tenants/t", "tenant-admin");
    char *bea = join(&place, "other", "bea", "/tenants/other",
                     "tenant-admin");
    char body[256], path[256];
    scoped_json made = described(ann, "POST", "/tenants/t/invitations",
                                 "{\"name\":\"newton\"}", 201, "post",
                                 "/api/v1/tenants/{tenant}/invitations");
    scoped_json none = ask(&place, bea, "GET", "/tenants/other/invitations",
                           NULL, 200);
    assert_int_equal(json_array_size(json_object_get(none, "items")), 0);
    (void)snprintf(path, sizeof path, "/tenants/other/invitations/%s",
                   text_of(made, "id"));
    tell(&place, bea, "DELETE", path, NULL, 404);
    (void)snprintf(path, sizeof path, "/tenants/t/invitations/%s",
                   text_of(made, "id"));
    tell(&place, bea, "DELETE", path, NULL, 404);
    tell(&place, bea, "GET", path, NULL, 404);
    tell(&place, NULL, "POST", "/login",
         "{\"name\":\"newton\",\"tenant\":\"t\",\"password\":\"\"}", 401);
    (void)snprintf(body, sizeof body,
                   "{\"token\":\"%s\",\"password\":\"newton newton\"}",
                   text_of(made, "token"));
    tell(&place, NULL, "POST", "/invitations/accept", body, 400);
    (void)snprintf(body, sizeof body,
                   "{\"token\":\"%s\",\"password\":\"" PASSWORD "\"}",
                   text_of(made, "token"));
    json_decref(described(NULL, "POST", "/invitations/accept", body, 200,
                          "post", "/api/v1/invitations/accept"));
    tell(&place, NULL, "POST", "/invitations/accept", body, 401);
    tell(&place, NULL, "POST", "/invitations/accept",
         "{\"token\":\"bh_inv_x\",\"password\":\"" PASSWORD "\"}", 401);
    char *newton = log_in(&place, "t", "newton");
    assert_string_equal(limit_of(newton), "none");
    tell(&place, ann, "GET", path, NULL, 404);
    free(newton);
    free(ann);
    free(bea);
}

/* [A4]  A token is the way in of one thing, for its holder: to somebody else
 * it is neither a login nor a key to the object that it belongs to. */
static void
a_capability_does_not_stand_for_tenancy(void **state)
{
    (void)state;
    char *ann = join(&place, "t", "cal", "/tenants/t", "tenant-admin");
    char *bea = join(&place, "other", "bob", "/tenants/other",
                     "tenant-admin");
    char path[256];
    scoped_json invitation = ask(&place, ann, "POST", "/tenants/t/invitations",
                                 "{\"name\":\"pam\"}", 201);
    scoped_json key = ask(&place, ann, "POST",
                          "/tenants/t/users/cal/apikeys",
                          "{\"name\":\"k\"}", 201);
    const char *token = text_of(invitation, "token");
    /* the token is no login, not even for its own invitation */
    (void)snprintf(path, sizeof path, "/tenants/t/invitations/%s",
                   text_of(invitation, "id"));
    tell(&place, token, "GET", path, NULL, 401);
    tell(&place, token, "DELETE", path, NULL, 401);
    /* nor a name of it, and it moves nothing into another tenant */
    (void)snprintf(path, sizeof path, "/tenants/t/invitations/%s", token);
    tell(&place, bea, "DELETE", path, NULL, 404);
    (void)snprintf(path, sizeof path, "/tenants/other/invitations/%s",
                   text_of(invitation, "id"));
    tell(&place, bea, "DELETE", path, NULL, 404);
    /* who knows a key's id, and holds one of their own, changes neither */
    (void)snprintf(path, sizeof path, "/tenants/t/users/cal/apikeys/%s",
                   text_of(key, "id"));
    tell(&place, bea, "DELETE", path, NULL, 404);
    (void)snprintf(path, sizeof path,
                   "/tenants/other/users/bob/apikeys/%s/rotate",
                   text_of(key, "id"));
    tell(&place, bea, "POST", path, "{}", 404);
    tell(&place, text_of(key, "key"), "GET", "/tenants/other", NULL, 404);
    (void)snprintf(path, sizeof path, "/tenants/t/invitations/%s",
                   text_of(invitation, "id"));
    tell(&place, ann, "GET", path, NULL, 200);
    tell(&place, ann, "DELETE", path, NULL, 204);
    free(ann);
    free(bea);
}

/* [A11]  What the platform makes for somebody who asked is made with the right
 * of who decided, and what a tenant has it make lies in the tenant. */
static void
a_wish_that_is_granted_is_made_with_the_deciders_right(void **state)
{
    (void)state;
    char *ann = join(&place, "t", "deb", "/tenants/t", "tenant-admin");
    char *pat = join(&place, "t", "pia", "/tenants/t/projects/p",
                     "project-admin");
    char path[128];
    tell(&place, place.root, "POST", "/classes",
         "{\"name\":\"big\",\"count\":8,\"form\":\"whole\"}", 201);
    place.headers[0] = "If-Match: *";
    tell(&place, place.root, "PATCH", "/tenants/t", "{\"classes\":[]}", 200);
    char *wish = ask_text(&place, pat, "POST",
                          "/tenants/t/projects/p/requests",
                          "{\"sort\":\"class\",\"class\":\"big\",\"reason\":"
                          "\"needed\"}",
                          201, "id");
    /* a tenant's admin may decide about requests, and not change what the
     * tenant is allowed: the controller lends no right of its own */
    (void)snprintf(path, sizeof path, "/requests/%s/grant", wish);
    tell(&place, ann, "POST", path, "{}", 403);
    tell(&place, pat, "POST", path, "{}", 403);
    scoped_json still = ask(&place, ann, "GET", "/tenants/t", NULL, 200);
    assert_int_equal(json_array_size(json_object_get(still, "classes")), 0);
    char *root = log_in(&place, NULL, "root");
    tell(&place, root, "POST", path, "{}", 200);
    place.headers[0] = "If-Match: *";
    tell(&place, root, "PATCH", "/tenants/t", "{\"classes\":null}", 200);
    free(root);
    free(wish);
    free(ann);
    free(pat);
}

/* --- the end of what somebody had --- */

static void
a_drain_says_how_much_and_asks_for_a_reason(void **state)
{
    (void)state;
    char *ann = join(&place, "t", "dan", "/tenants/t", "tenant-admin");
    char *dev = join(&place, "t", "dot", "/tenants/t/projects/p", "end-user");
    tell(&place, dev, "POST", "/tenants/t/projects/p/drain",
         "{\"reason\":\"x\",\"cancel\":true}", 403);
    tell(&place, ann, "POST", "/tenants/t/projects/p/drain", "{}", 400);
    tell(&place, ann, "POST", "/tenants/t/projects/p/drain",
         "{\"reason\":\"it ends\"}", 409);
    assert_non_null(strstr(buffer_text(&place.last.body), "suspend it"));
    scoped_json drained = described(
        ann, "POST", "/tenants/t/projects/p/drain",
        "{\"reason\":\"it ends\",\"cancel\":true}", 200, "post",
        "/api/v1/tenants/{tenant}/projects/{project}/drain");
    assert_int_equal(
        json_integer_value(json_object_get(drained, "stopped")), 0);
    free(ann);
    free(dev);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_group_gives_its_members_rights_and_says_so),
        cmocka_unit_test(
            a_second_factor_is_enrolled_shown_once_and_asked_for),
        cmocka_unit_test(a_tenants_policy_asks_its_people_for_a_factor),
        cmocka_unit_test(
            what_somebody_else_set_is_changed_before_anything_else),
        cmocka_unit_test(a_lock_is_seen_and_taken_off_by_the_security_admin),
        cmocka_unit_test(a_rotated_key_works_with_both_secrets),
        cmocka_unit_test(
            an_invitation_is_accepted_once_and_belongs_to_its_tenant),
        cmocka_unit_test(a_capability_does_not_stand_for_tenancy),
        cmocka_unit_test(
            a_wish_that_is_granted_is_made_with_the_deciders_right),
        cmocka_unit_test(a_drain_says_how_much_and_asks_for_a_reason),
    };
    return cmocka_run_group_tests_name("people", tests, set_up, tear_down);
}
