/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/api/many.h"

/*
 * Two people by the API: ann asks, ben approves; both are platform admins
 * that root made.  rita is of the tenant red.
 */

static struct place place;
static char *ann, *ben, *rita;

static int
set_up(void **state)
{
    (void)state;
    place_open(&place);
    tell(&place, place.root, "POST", "/tenants", "{\"name\":\"red\"}", 201);
    ann = join(&place, NULL, "ann", "", "platform-admin");
    ben = join(&place, NULL, "ben", "", "platform-admin");
    rita = join(&place, "red", "rita", "/tenants/red", "tenant-admin");
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    free(ann);
    free(ben);
    free(rita);
    place_close(&place);
    return 0;
}

/* Asks for an operation; the approval's path. */
static char *
asked(const char *token, const char *method, const char *path,
      const char *body)
{
    place.headers[0] = "Ask-Approval: it has to be";
    char *id = ask_text(&place, token, method, path, body, 202, "id");
    char *at = NULL;
    assert_true(asprintf(&at, "/approvals/%s", id) > 0);
    free(id);
    return at;
}

static void
step(const char *token, const char *at, const char *what, const char *body,
     long status)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/%s", at, what);
    tell(&place, token, "POST", path, body, status);
}

static void
using(const char *at)
{
    static char header[96];
    (void)snprintf(header, sizeof header, "Approval: %s",
                   strrchr(at, '/') + 1);
    place.headers[0] = header;
}

static const char *
last(const char *member)
{
    static char text[256];
    scoped_json body = client_json(&place);
    const char *value = json_string_value(json_object_get(body, member));
    (void)snprintf(text, sizeof text, "%s", value == NULL ? "" : value);
    return text;
}

static void
two_people_do_what_one_may_not(void **state)
{
    (void)state;
    tell(&place, ann, "DELETE", "/tenants/red", NULL, 403);
    assert_string_equal(last("code"), "approval");
    assert_non_null(strstr(last("help"), "Ask-Approval"));
    char *at = asked(ann, "DELETE", "/tenants/red", NULL);
    assert_string_equal(last("state"), "open");
    assert_string_equal(last("verb"), "tenant.delete");
    tell(&place, ann, "GET", "/tenants/red", NULL, 200); /* nothing is done */
    using(at);
    tell(&place, ann, "DELETE", "/tenants/red", NULL, 403);
    assert_string_equal(last("detail"), "the approval is not approved yet");
    step(ann, at, "approve", "{}", 403);        /* nobody's own */
    step(place.root, at, "approve", "{}", 403); /* root made ann */
    step(ben, at, "deny", "{}", 400);           /* without a reason */
    step(ben, at, "approve", "{\"note\":\"yes\"}", 200);
    assert_string_equal(last("state"), "approved");
    using(at);
    place.headers[1] = "Idempotency-Key: once";
    tell(&place, ann, "DELETE", "/tenants/red", NULL, 204);
    tell(&place, ann, "GET", at, NULL, 200);
    assert_string_equal(last("state"), "used");
    using(at);
    tell(&place, ann, "DELETE", "/tenants/red", NULL, 403);
    using(at); /* the same request again: the same answer */
    place.headers[1] = "Idempotency-Key: once";
    tell(&place, ann, "DELETE", "/tenants/red", NULL, 204);
    free(at);
}

/* Records of the platform's log: how many by her about this tenant, and who
 * approved the last of them. */
static size_t
platform_records(const char *verb, const char *tenant, char approver[64])
{
    char path[160];
    (void)snprintf(path, sizeof path, "/audit?verb=%s&actor=ann&object=%s",
                   verb, tenant);
    scoped_json page = ask(&place, place.root, "GET", path, NULL, 200);
    const json_t *items = json_object_get(page, "items");
    size_t count = json_array_size(items);
    const json_t *last_one = count > 0 ? json_array_get(items, count - 1)
                                       : NULL;
    const char *name = json_string_value(json_object_get(
        json_object_get(last_one, "approval"), "approvers"));
    (void)snprintf(approver, 64, "%s", name == NULL ? "" : name);
    return count;
}

/* The tenant's own log cannot be read when it is gone. */
static void
the_platforms_log_has_what_is_done_with_a_tenant_itself(void **state)
{
    char id[64], approver[64];
    (void)state;
    tell(&place, ann, "POST", "/tenants", "{\"name\":\"green\"}", 201);
    (void)snprintf(id, sizeof id, "%s", last("id"));
    place.headers[0] = "If-Match: \"1\"";
    tell(&place, ann, "PATCH", "/tenants/green", "{\"state\":\"suspended\"}",
         200);
    char *at = asked(ann, "DELETE", "/tenants/green", NULL);
    step(ben, at, "approve", "{}", 200);
    using(at);
    tell(&place, ann, "DELETE", "/tenants/green", NULL, 204);
    assert_int_equal(platform_records("tenant.create", id, approver), 1);
    assert_int_equal(platform_records("tenant.update", id, approver), 1);
    assert_string_equal(approver, "");
    assert_int_equal(platform_records("tenant.delete", id, approver), 1);
    scoped_json page = ask(&place, place.root, "GET", "/users/ben", NULL, 200);
    assert_string_equal(
        approver, json_string_value(json_object_get(page, "id")));
    free(at);
}

/* The length for which a log is kept is the platform's, and of two people. */
static void
what_a_log_keeps_is_set_by_two_people_of_the_platform(void **state)
{
    static const char *const wrong[] = {
        "{\"keep_days\":89}", "{\"keep_days\":36501}", "{\"keep_days\":-1}",
        "{\"keep_days\":\"90\"}", "{\"hold\":1}", "{}",
        "{\"keep_days\":90,\"as_platform\":true}", "{\"keep\":90}",
        "{\"keep_days\":9223372036854775807}",
    };
    char *sec = join(&place, NULL, "sec", "", "security-admin");
    (void)state;
    scoped_json before = ask(&place, rita, "GET",
                             "/tenants/red/audit/retention", NULL, 200);
    assert_int_equal(
        json_integer_value(json_object_get(before, "keep_days")), 0);
    assert_true(json_is_null(json_object_get(before, "own_keep_days")));
    tell(&place, rita, "POST", "/tenants/red/audit/retention",
         "{\"keep_days\":90}", 403); /* nobody's own log */
    assert_string_equal(last("code"), "denied");
    tell(&place, rita, "GET", "/audit/retention", NULL, 403);
    tell(&place, ann, "POST", "/audit/retention", "{\"keep_days\":90}", 403);
    assert_string_equal(last("code"), "denied"); /* no role has all rights */
    tell(&place, sec, "POST", "/audit/retention", "{\"keep_days\":90}", 403);
    assert_string_equal(last("code"), "approval");
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        place.headers[0] = "Ask-Approval: it would fail";
        tell(&place, sec, "POST", "/tenants/red/audit/retention", wrong[i],
             400);
    }
    place.headers[0] = "Ask-Approval: there is none above";
    tell(&place, sec, "POST", "/audit/retention", "{\"as_platform\":true}",
         400);
    char *at = asked(sec, "POST", "/tenants/red/audit/retention",
                     "{\"keep_days\":400,\"hold\":true}");
    step(ben, at, "approve", "{}", 200);
    using(at);
    tell(&place, sec, "POST", "/tenants/red/audit/retention",
         "{\"keep_days\":400,\"hold\":true}", 200);
    scoped_json after = ask(&place, rita, "GET",
                            "/tenants/red/audit/retention", NULL, 200);
    assert_int_equal(json_integer_value(json_object_get(after, "keep_days")),
                     400);
    assert_true(json_is_true(json_object_get(after, "hold")));
    scoped_json log = ask(&place, rita, "GET",
                          "/tenants/red/audit?verb=audit.keep", NULL, 200);
    const json_t *items = json_object_get(log, "items");
    assert_int_equal(json_array_size(items), 1);
    assert_string_equal(
        json_string_value(json_object_get(json_array_get(items, 0), "facts")),
        "keep 34560000000 hold 1\n");
    free(at);
    free(sec);
}

static void
another_operation_is_not_approved_by_it(void **state)
{
    (void)state;
    tell(&place, place.root, "POST", "/tenants", "{\"name\":\"blue\"}", 201);
    tell(&place, ann, "POST", "/guards",
         "{\"name\":\"pool.create\",\"approvers\":1}", 201);
    char *at = asked(ann, "POST", "/pools", "{\"name\":\"a\"}");
    step(ben, at, "approve", "{}", 200);
    using(at);
    tell(&place, ann, "POST", "/pools", "{\"name\":\"b\"}", 409);
    assert_string_equal(last("code"), "condition");
    assert_non_null(strstr(last("detail"), "the body differs"));
    using(at);
    tell(&place, ann, "DELETE", "/tenants/blue", NULL, 409);
    using(at);
    tell(&place, ben, "POST", "/pools", "{\"name\":\"a\"}", 404);
    using(at); /* a trial uses nothing up */
    tell(&place, ann, "POST", "/pools?dry_run=1", "{\"name\":\"a\"}", 200);
    using(at); /* spaces make no other body */
    tell(&place, ann, "POST", "/pools", " { \"name\" : \"a\" } ", 201);
    free(at);
}

static void
what_needs_no_approval_or_can_never_be_is_not_asked_for(void **state)
{
    (void)state;
    place.headers[0] = "Ask-Approval: why not";
    tell(&place, ann, "POST", "/pools", "{\"name\":\"c\"}", 409);
    place.headers[0] = "Ask-Approval: she may not at all";
    tell(&place, rita, "DELETE", "/tenants/red", NULL, 403);
    assert_string_equal(last("code"), "denied");
    place.headers[0] = "Ask-Approval: it would fail";
    tell(&place, ann, "DELETE", "/tenants/none", NULL, 404);
    place.headers[0] = "Ask-Approval: both";
    place.headers[1] = "Approval: ap_00000000000000000000000000";
    tell(&place, ann, "DELETE", "/tenants/red", NULL, 400);
    place.headers[0] = "Approval: nonsense";
    tell(&place, ann, "DELETE", "/tenants/red", NULL, 404);
}

/* The body of an answer without its request id. */
static void
keep(char out[1024])
{
    scoped_json body = client_json(&place);
    (void)json_object_del(body, "request_id");
    char *text = json_dumps(body, JSON_SORT_KEYS);
    (void)snprintf(out, 1024, "%s", text);
    free(text);
}

static void
to_others_an_approval_is_a_random_id(void **state)
{
    (void)state;
    char there[1024], never[1024];
    char *at = asked(ann, "DELETE", "/tenants/red", NULL);
    static const char *const steps[] = {"approve", "deny", "drop"};
    tell(&place, rita, "GET", at, NULL, 404);
    keep(there);
    tell(&place, rita, "GET", "/approvals/ap_aaaaaaaaaaaaaaaaaaaaaaaaaa",
         NULL, 404);
    keep(never);
    assert_string_equal(there, never);
    for (size_t i = 0; i < 3; i++) {
        step(rita, at, steps[i], "{\"note\":\"x\"}", 404);
        keep(there);
        step(rita, "/approvals/ap_aaaaaaaaaaaaaaaaaaaaaaaaaa", steps[i],
             "{\"note\":\"x\"}", 404);
        keep(never);
        assert_string_equal(there, never);
    }
    scoped_json list = ask(&place, rita, "GET", "/approvals", NULL, 200);
    assert_int_equal(json_array_size(json_object_get(list, "items")), 0);
    scoped_json all = ask(&place, ben, "GET", "/approvals", NULL, 200);
    assert_int_equal(json_array_size(json_object_get(all, "items")), 1);
    free(at);
}

#define CLIENTS 64

struct client {
    pthread_t thread;
    const char *header;
    long status;
};

static void *
use_once(void *data)
{
    struct client *client = data;
    scoped_reply reply = call(&place, ann, "POST", "/prices",
                              "{\"meter\":\"card_hour\",\"nano\":5}",
                              client->header);
    client->status = reply.status;
    return NULL;
}

static void
of_64_clients_one_uses_an_approval(void **state)
{
    struct client clients[CLIENTS];
    char header[96];
    int done = 0, refused = 0;
    (void)state;
    tell(&place, ann, "POST", "/guards",
         "{\"name\":\"price.create\",\"approvers\":1}", 201);
    char *at = asked(ann, "POST", "/prices",
                     "{\"meter\":\"card_hour\",\"nano\":5}");
    step(ben, at, "approve", "{}", 200);
    (void)snprintf(header, sizeof header, "Approval: %s",
                   strrchr(at, '/') + 1);
    for (size_t i = 0; i < CLIENTS; i++) {
        clients[i] = (struct client){.header = header};
        assert_int_equal(
            pthread_create(&clients[i].thread, NULL, use_once, &clients[i]), 0);
    }
    for (size_t i = 0; i < CLIENTS; i++) {
        (void)pthread_join(clients[i].thread, NULL);
        done += clients[i].status == 201;
        refused += clients[i].status == 403;
    }
    assert_int_equal(done, 1);
    assert_int_equal(refused, CLIENTS - 1);
    scoped_json list = ask(&place, ann, "GET", "/prices", NULL, 200);
    assert_int_equal(json_array_size(json_object_get(list, "items")), 1);
    free(at);
}

static void
restart(void)
{
    struct api *before = place.api;
    api_stop(before);
    harness_restart(&place.harness);
    api_free(before);
}

static void
an_approval_outlives_a_restart_and_stays_used(void **state)
{
    (void)state;
    char *at = asked(ann, "DELETE", "/tenants/red", NULL);
    step(ben, at, "approve", "{}", 200);
    restart();
    using(at);
    tell(&place, ann, "DELETE", "/tenants/red", NULL, 204);
    restart();
    using(at);
    tell(&place, ann, "DELETE", "/tenants/red", NULL, 403);
    free(at);
}

/* --- break-glass --- */

/* How many alarms with that code an operator sees that were not cleared. */
static int
standing(const char *code)
{
    scoped_json list = ask(&place, ben, "GET", "/alarms", NULL, 200);
    const json_t *item;
    int count = 0;
    size_t i;
    json_array_foreach(json_object_get(list, "items"), i, item)
        count += json_is_null(json_object_get(item, "cleared_ms")) &&
                 strcmp(json_string_value(json_object_get(item, "code")),
                        code) == 0;
    return count;
}

static void
who_breaks_the_glass_goes_alone_and_is_reviewed_by_another(void **state)
{
    (void)state;
    tell(&place, rita, "POST", "/breakglasses", "{\"reason\":\"me too\"}",
         403);
    tell(&place, ann, "POST", "/breakglasses", "{\"reason\":\"\"}", 400);
    char *id = ask_text(&place, ann, "POST", "/breakglasses",
                        "{\"reason\":\"the building burns\"}", 201, "id");
    char at[96];
    (void)snprintf(at, sizeof at, "/breakglasses/%s", id);
    tell(&place, ann, "POST", "/breakglasses", "{\"reason\":\"again\"}", 409);
    tell(&place, ben, "DELETE", "/tenants/red", NULL, 403); /* hers alone */
    char *grant = ask_text(&place, rita, "GET", "/tenants/red", NULL, 200,
                           "id");
    tell(&place, ann, "PATCH", "/platform", "{\"restart_max\":11}", 428);
    tell(&place, ann, "POST", "/pools", "{\"name\":\"shelter\"}", 201);
    step(ben, at, "review", "{\"note\":\"fine\"}", 409); /* in force */
    restart();
    assert_int_equal(standing("glass.broken"), 1);
    tell(&place, ann, "DELETE", "/tenants/red", NULL, 204);
    step(ann, at, "end", "{}", 200);
    tell(&place, ann, "GET", at, NULL, 200);
    scoped_json glass = client_json(&place);
    assert_int_equal(json_integer_value(json_object_get(glass, "count")), 2);
    step(ann, at, "review", "{\"note\":\"fine\"}", 403);
    step(place.root, at, "review", "{\"note\":\"fine\"}", 403);
    step(ben, at, "review", "{\"note\":\"\"}", 400);
    step(ben, at, "review", "{\"note\":\"it burnt\"}", 200);
    assert_int_equal(standing("glass.broken"), 0);
    step(ben, at, "review", "{\"note\":\"twice\"}", 409);
    free(grant);
    free(id);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
#define PAGE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
        PAGE(two_people_do_what_one_may_not),
        PAGE(the_platforms_log_has_what_is_done_with_a_tenant_itself),
        PAGE(what_a_log_keeps_is_set_by_two_people_of_the_platform),
        PAGE(another_operation_is_not_approved_by_it),
        PAGE(what_needs_no_approval_or_can_never_be_is_not_asked_for),
        PAGE(to_others_an_approval_is_a_random_id),
        PAGE(of_64_clients_one_uses_an_approval),
        PAGE(an_approval_outlives_a_restart_and_stays_used),
        PAGE(who_breaks_the_glass_goes_alone_and_is_reviewed_by_another),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
