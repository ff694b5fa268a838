/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/api/client.h"

static void
the_first_admin_is_made_once(void **state)
{
    (void)state;
    struct place place = {0};
    place_open(&place);
    assert_int_equal(access(place.secret, F_OK), -1);
    scoped_json who = ask(&place, place.root, "GET", "/whoami", NULL, 200);
    assert_string_equal(json_string_value(json_object_get(who, "name")),
                        "root");
    assert_true(json_is_null(json_object_get(who, "tenant")));
    tell(&place, NULL, "POST", "/first-admin",
         "{\"secret\":\"guess\",\"name\":\"x\",\"password\":\"" PASSWORD
         "\"}",
         401);
    place_close(&place);
}

static void
objects_are_made_shown_changed_and_deleted(void **state)
{
    (void)state;
    struct place place = {0};
    place_open(&place);
    char *id = ask_text(&place, place.root, "POST", "/tenants",
                        "{\"name\":\"research\",\"display\":\"Research\"}",
                        201, "id");
    char location[256], path[256], etag[64];
    assert_int_equal(
        http_header(&place.last, "Location", location, sizeof location), 0);
    (void)snprintf(path, sizeof path, "/api/v1/tenants/%s", id);
    assert_string_equal(location, path);
    tell(&place, place.root, "GET", "/tenants/research", NULL, 200);
    assert_int_equal(http_header(&place.last, "ETag", etag, sizeof etag), 0);
    assert_string_equal(etag, "\"1\"");
    tell(&place, place.root, "PATCH", "/tenants/research",
         "{\"display\":\"R\"}", 428);
    place.headers[0] = "If-Match: \"9\"";
    tell(&place, place.root, "PATCH", "/tenants/research",
         "{\"display\":\"R\"}", 412);
    place.headers[0] = "If-Match: \"1\"";
    scoped_json changed = ask(&place, place.root, "PATCH",
                              "/tenants/research", "{\"display\":\"R\"}", 200);
    assert_string_equal(
        json_string_value(json_object_get(changed, "display")), "R");
    assert_int_equal(
        json_integer_value(json_object_get(changed, "version")), 2);
    tell(&place, place.root, "POST", "/tenants", "{\"name\":\"research\"}",
         409);
    tell(&place, place.root, "POST", "/pools", "{\"name\":\"p\"}", 201);
    tell(&place, place.root, "DELETE", "/pools/p", NULL, 204);
    tell(&place, place.root, "GET", "/pools/p", NULL, 404);
    free(id);
    place_close(&place);
}

static void
nothing(struct loop *loop, struct arena *arena, void *data)
{
    (void)loop;
    (void)arena;
    (void)data;
}

/* Removed while the server runs: what was connected goes on, and newcomers
 * find their way again. */
static void
a_socket_that_was_removed_is_made_again(void **state)
{
    (void)state;
    struct place place = {0};
    place_open(&place);
    for (int times = 0; times < 3; times++) {
        assert_int_equal(unlink(place.socket), 0);
        for (int i = 0; i < 2000 && access(place.socket, F_OK) != 0; i++) {
            harness_pass(100);
            (void)usleep(5000);
        }
        harness_run(&place.harness, nothing, NULL); /* it listens as well */
        tell(&place, place.root, "GET", "/whoami", NULL, 200);
    }
    place_close(&place);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_admin_is_made_once),
        cmocka_unit_test(objects_are_made_shown_changed_and_deleted),
        cmocka_unit_test(a_socket_that_was_removed_is_made_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
