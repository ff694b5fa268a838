/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>

#include "tests/unit/api/client.h"

static struct place place;

static int
set_up(void **state)
{
    (void)state;
    place_open(&place);
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    place_close(&place);
    return 0;
}

static size_t
count_tenants(void)
{
    scoped_json list =
        ask(&place, place.root, "GET", "/tenants?limit=500", NULL, 200);
    return json_array_size(json_object_get(list, "items"));
}

static void
a_repeated_command_gets_the_first_answer_and_changes_nothing(void **state)
{
    (void)state;
    char value[64];
    size_t before = count_tenants();
    place.headers[0] = "Idempotency-Key: one";
    char *first = ask_text(&place, place.root, "POST", "/tenants",
                           "{\"name\":\"once\"}", 201, "id");
    assert_int_equal(http_header(&place.last, "Idempotency-Replayed", value,
                                 sizeof value),
                     -1);
    place.headers[0] = "Idempotency-Key: one";
    char *second = ask_text(&place, place.root, "POST", "/tenants",
                            "{ \"name\" : \"once\" }", 201, "id");
    assert_string_equal(first, second);
    assert_int_equal(http_header(&place.last, "Idempotency-Replayed", value,
                                 sizeof value),
                     0);
    assert_int_equal(
        http_header(&place.last, "Location", value, sizeof value), 0);
    assert_int_equal(count_tenants(), before + 1);
    free(first);
    free(second);
}

static void
a_key_with_another_request_is_refused(void **state)
{
    (void)state;
    place.headers[0] = "Idempotency-Key: two";
    tell(&place, place.root, "POST", "/tenants", "{\"name\":\"a\"}", 201);
    place.headers[0] = "Idempotency-Key: two";
    scoped_json problem = ask(&place, place.root, "POST", "/tenants",
                              "{\"name\":\"b\"}", 409);
    assert_string_equal(
        json_string_value(json_object_get(problem, "code")), "reused_key");
    /* The key belongs to the route. */
    place.headers[0] = "Idempotency-Key: two";
    tell(&place, place.root, "POST", "/pools", "{\"name\":\"b\"}", 201);
}

static void
a_key_belongs_to_its_subject(void **state)
{
    (void)state;
    char *other = join(&place, NULL, "other", "", "platform-admin");
    place.headers[0] = "Idempotency-Key: mine";
    tell(&place, place.root, "POST", "/tenants", "{\"name\":\"mine\"}", 201);
    place.headers[0] = "Idempotency-Key: mine";
    tell(&place, other, "POST", "/tenants", "{\"name\":\"theirs\"}", 201);
    free(other);
}

static void
a_refusal_is_not_kept(void **state)
{
    (void)state;
    place.headers[0] = "Idempotency-Key: later";
    tell(&place, place.root, "POST", "/tenants/not-yet/users",
         "{\"name\":\"u\"}", 404);
    tell(&place, place.root, "POST", "/tenants", "{\"name\":\"not-yet\"}",
         201);
    place.headers[0] = "Idempotency-Key: later";
    tell(&place, place.root, "POST", "/tenants/not-yet/users",
         "{\"name\":\"u\"}", 201);
}

static void
a_repeated_deletion_succeeds_though_the_object_is_gone(void **state)
{
    (void)state;
    char *id = ask_text(&place, place.root, "POST", "/pools",
                        "{\"name\":\"gone\"}", 201, "id");
    char path[128];
    (void)snprintf(path, sizeof path, "/pools/%s", id);
    for (int i = 0; i < 2; i++) {
        place.headers[0] = "Idempotency-Key: del";
        tell(&place, place.root, "DELETE", path, NULL, 204);
    }
    tell(&place, place.root, "DELETE", path, NULL, 404);
    free(id);
}

static void
a_secret_is_not_kept_in_the_receipt(void **state)
{
    (void)state;
    scoped_json who =
        ask(&place, place.root, "GET", "/whoami", NULL, 200);
    char path[128];
    (void)snprintf(path, sizeof path, "/users/%s/apikeys",
                   json_string_value(json_object_get(who, "id")));
    place.headers[0] = "Idempotency-Key: key";
    char *key = ask_text(&place, place.root, "POST", path,
                         "{\"name\":\"k\"}", 201, "key");
    place.headers[0] = "Idempotency-Key: key";
    scoped_json again = ask(&place, place.root, "POST", path,
                            "{\"name\":\"k\"}", 201);
    assert_true(json_is_null(json_object_get(again, "key")));
    tell(&place, key, "GET", "/whoami", NULL, 200);
    free(key);
}

static void
receipts_survive_a_restart(void **state)
{
    (void)state;
    place.headers[0] = "Idempotency-Key: long";
    char *first = ask_text(&place, place.root, "POST", "/tenants",
                           "{\"name\":\"long\"}", 201, "id");
    struct api *before = place.api;
    api_stop(before);
    harness_restart(&place.harness);
    api_free(before);
    place.headers[0] = "Idempotency-Key: long";
    char *second = ask_text(&place, place.root, "POST", "/tenants",
                            "{\"name\":\"long\"}", 201, "id");
    assert_string_equal(first, second);
    harness_pass(25 * 3600 * INT64_C(1000));
    free(place.root);
    place.root = log_in(&place, NULL, "root");
    place.headers[0] = "Idempotency-Key: long";
    tell(&place, place.root, "POST", "/tenants", "{\"name\":\"long\"}", 409);
    free(first);
    free(second);
}

/* --- many at once --- */

#define CROWD 16

struct sender {
    pthread_t thread;
    const char *method;
    const char *path;
    const char *body;
    const char *header;
    long status;
    char id[64];
};

static void *
send_one(void *data)
{
    struct sender *sender = data;
    struct place own = {.target = place.target};
    own.headers[0] = sender->header;
    sender->status = client_send(&own, place.root, sender->method,
                                 sender->path, sender->body);
    scoped_json body = client_json(&own);
    const char *id = json_string_value(json_object_get(body, "id"));
    (void)snprintf(sender->id, sizeof sender->id, "%s", id == NULL ? "" : id);
    http_answer_release(&own.last);
    return NULL;
}

static void
send_all(struct sender senders[CROWD])
{
    for (size_t i = 0; i < CROWD; i++)
        assert_int_equal(pthread_create(&senders[i].thread, NULL, send_one,
                                        &senders[i]),
                         0);
    for (size_t i = 0; i < CROWD; i++)
        (void)pthread_join(senders[i].thread, NULL);
}

/* [A42] [A49] */
static void
one_of_many_repetitions_at_once_makes_the_object(void **state)
{
    (void)state;
    struct sender senders[CROWD];
    size_t before = count_tenants();
    for (size_t i = 0; i < CROWD; i++)
        senders[i] = (struct sender){.method = "POST",
                                     .path = "/tenants",
                                     .body = "{\"name\":\"crowd\"}",
                                     .header = "Idempotency-Key: crowd"};
    send_all(senders);
    for (size_t i = 0; i < CROWD; i++) {
        assert_int_equal(senders[i].status, 201);
        assert_string_equal(senders[i].id, senders[0].id);
    }
    assert_int_equal(count_tenants(), before + 1);
}

static void
one_of_many_changes_of_one_version_wins(void **state)
{
    (void)state;
    struct sender senders[CROWD];
    size_t won = 0, lost = 0;
    tell(&place, place.root, "POST", "/tenants", "{\"name\":\"race\"}", 201);
    for (size_t i = 0; i < CROWD; i++)
        senders[i] = (struct sender){.method = "PATCH",
                                     .path = "/tenants/race",
                                     .body = "{\"display\":\"x\"}",
                                     .header = "If-Match: \"1\""};
    send_all(senders);
    for (size_t i = 0; i < CROWD; i++) {
        won += senders[i].status == 200;
        lost += senders[i].status == 412;
    }
    assert_int_equal(won, 1);
    assert_int_equal(lost, CROWD - 1);
}

/* --- dry runs --- */

static void
a_dry_run_says_what_would_happen_and_changes_nothing(void **state)
{
    (void)state;
    size_t before = count_tenants();
    scoped_json dry = ask(&place, place.root, "POST", "/tenants?dry_run=1",
                          "{\"name\":\"dry\",\"display\":\"D\"}", 200);
    assert_true(json_is_true(json_object_get(dry, "dry_run")));
    assert_int_equal(json_integer_value(json_object_get(dry, "status")), 201);
    assert_int_equal(count_tenants(), before);
    scoped_json real = ask(&place, place.root, "POST", "/tenants",
                           "{\"name\":\"dry\",\"display\":\"D\"}", 201);
    json_t *would = json_object_get(dry, "body");
    static const char *const differ[] = {"id",      "created", "updated",
                                         "version", "revision"};
    for (size_t i = 0; i < sizeof differ / sizeof *differ; i++) {
        (void)json_object_del(would, differ[i]);
        (void)json_object_del(real, differ[i]);
    }
    assert_true(json_equal(would, real));
}

static void
a_dry_run_is_refused_like_the_real_one(void **state)
{
    (void)state;
    tell(&place, place.root, "POST", "/tenants?dry_run=1",
         "{\"name\":\"Not A Name\"}", 400);
    tell(&place, place.root, "POST", "/tenants?dry_run=1", "{}", 400);
    tell(&place, place.root, "POST", "/tenants", "{\"name\":\"twice\"}", 201);
    tell(&place, place.root, "POST", "/tenants?dry_run=1",
         "{\"name\":\"twice\"}", 409);
    tell(&place, place.root, "DELETE", "/pools/nothing?dry_run=1", NULL, 404);
    tell(&place, place.root, "POST", "/tenants?dry_run=yes",
         "{\"name\":\"x\"}", 400);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            a_repeated_command_gets_the_first_answer_and_changes_nothing),
        cmocka_unit_test(a_key_with_another_request_is_refused),
        cmocka_unit_test(a_key_belongs_to_its_subject),
        cmocka_unit_test(a_refusal_is_not_kept),
        cmocka_unit_test(
            a_repeated_deletion_succeeds_though_the_object_is_gone),
        cmocka_unit_test(a_secret_is_not_kept_in_the_receipt),
        cmocka_unit_test(one_of_many_repetitions_at_once_makes_the_object),
        cmocka_unit_test(one_of_many_changes_of_one_version_wins),
        cmocka_unit_test(a_dry_run_says_what_would_happen_and_changes_nothing),
        cmocka_unit_test(a_dry_run_is_refused_like_the_real_one),
        cmocka_unit_test(receipts_survive_a_restart),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
