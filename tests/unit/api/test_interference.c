/* SPDX-License-Identifier: Apache-2.0 */
#include "core/interference.h"

#include "control/execute.h"
#include "tests/unit/api/estate.h"

/* Who is told how much slower what is, and by whom. */

#define WORK "/tenants/research/projects/work"

static struct estate estate;

static int
set_up(void **state)
{
    (void)state;
    estate_open(&estate);
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    estate_close(&estate);
    return 0;
}

/* research's instance is slowed by vision's, which is capped. */
static int
disturb(struct changes *changes, void *data, struct error *err)
{
    const struct world *world = changes->world;
    struct instance *victim = change_update(
        changes, estate_ref(world, &estate.research, KIND_INSTANCE));
    struct instance *cause = change_update(
        changes, estate_ref(world, &estate.vision, KIND_INSTANCE));
    scoped_buffer text = {0};

    (void)data;
    (void)err;
    buffer_printf(&text,
                  "{\"cpu\":{\"base\":950,\"quiet\":4,\"pace\":475,"
                  "\"index_milli\":2000,\"slowed\":true,\"since_ms\":%lld,"
                  "\"cause\":\"%s\"}}",
                  (long long)changes->context.now_ms,
                  estate.vision.ids[KIND_INSTANCE]);
    victim->state = cause->state = INSTANCE_RUNNING;
    change_doc(changes, &victim->interference, buffer_text(&text));
    change_doc(changes, &cause->interference,
               "{\"io\":{\"base\":9,\"quiet\":1,\"pace\":9}}");
    cause->cap_cpu_milli = 500;
    cause->caps = 2;
    cause->cap_until_ms = changes->context.now_ms + 60000;
    return 0;
}

static void
disturb_step(struct loop *loop, struct arena *arena, void *data)
{
    struct error err;
    struct deed deed = {.verb = "test.disturb",
                        .component = "test",
                        .decide = disturb,
                        .data = data};
    assert_int_equal(execute_deed(loop, arena, &deed, &err), 1);
}

static json_t *
rows(const char *token, const char *path)
{
    scoped_json list = ask(&estate.place, token, "GET", path, NULL, 200);
    return json_incref(json_object_get(list, "items"));
}

static const char *
text_of(const json_t *row, const char *key)
{
    const char *text = json_string_value(json_object_get(row, key));
    return text != NULL ? text : "";
}

static void
owners_see_their_own_and_operators_see_both(void **state)
{
    json_t *list;
    const json_t *row;
    (void)state;
    harness_run(&estate.place.harness, disturb_step, NULL);

    list = rows(estate.research.admin, "/tenants/research/interference");
    assert_int_equal(json_array_size(list), 1);
    row = json_array_get(list, 0);
    assert_string_equal(text_of(row, "resource"), "cpu");
    assert_string_equal(text_of(row, "state"), "slowed");
    assert_string_equal(text_of(row, "instance"),
                        estate.research.ids[KIND_INSTANCE]);
    assert_int_equal(
        json_integer_value(json_object_get(row, "index_milli")), 2000);
    assert_null(json_object_get(row, "cause"));
    assert_null(json_object_get(row, "node"));
    assert_true(json_is_null(json_object_get(row, "cap")));
    json_decref(list);

    list = rows(estate.vision.admin, "/tenants/vision/interference");
    assert_int_equal(json_array_size(list), 1);
    row = json_array_get(list, 0);
    assert_string_equal(text_of(row, "state"), "learning");
    assert_int_equal(
        json_integer_value(json_object_get(json_object_get(row, "cap"),
                                           "cpu_milli")),
        500);
    json_decref(list);

    list = rows(estate.place.root, "/interference");
    assert_int_equal(json_array_size(list), 2);
    for (size_t i = 0; i < 2; i++) {
        row = json_array_get(list, i);
        if (strcmp(text_of(row, "state"), "slowed") == 0)
            assert_string_equal(text_of(row, "cause"),
                                estate.vision.ids[KIND_INSTANCE]);
        assert_true(text_of(row, "node")[0] != '\0');
    }
    json_decref(list);
}

static void
nobody_sees_another_tenant_s(void **state)
{
    (void)state;
    assert_int_equal(client_send(&estate.place, estate.research.admin, "GET",
                          "/tenants/vision/interference", NULL),
                     404);
    assert_true(client_send(&estate.place, estate.research.admin, "GET", "/interference", NULL) >=
                403);
    assert_int_equal(client_send(&estate.place, NULL, "GET", "/interference", NULL), 401);
}

/* What others' doings wrote is in no object that its owner is shown. */
static void
the_object_does_not_tell_what_is_kept(void **state)
{
    char path[200];
    const json_t *object;
    json_t *list;
    (void)state;
    harness_run(&estate.place.harness, disturb_step, NULL);
    (void)snprintf(path, sizeof path, WORK "/workloads/%s/instances",
                   estate.research.ids[KIND_WORKLOAD]);
    list = rows(estate.research.admin, path);
    object = json_array_get(list, 0);
    assert_non_null(object);
    assert_null(json_object_get(object, "interference"));
    assert_non_null(json_object_get(object, "cap_cpu_milli"));
    json_decref(list);
}

static void
a_pool_s_policy_is_one_of_four_and_in_bounds(void **state)
{
    (void)state;
    tell(&estate.place, estate.place.root, "POST", "/pools",
         "{\"name\":\"a\",\"interference\":\"cap\","
         "\"interference_milli\":1500,\"interference_fair\":250}",
         201);
    tell(&estate.place, estate.place.root, "POST", "/pools",
         "{\"name\":\"b\",\"interference\":\"punish\"}", 400);
    tell(&estate.place, estate.place.root, "POST", "/pools",
         "{\"name\":\"b\",\"interference_fair\":951}", 400);
    tell(&estate.place, estate.place.root, "POST", "/pools",
         "{\"name\":\"b\",\"interference_milli\":1049}", 400);
    assert_non_null(strstr(buffer_text(&estate.place.last.body),
                           "1050 or more"));
    assert_true(client_send(&estate.place, estate.research.admin, "POST",
                            "/pools", "{\"name\":\"c\"}") >= 403);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            owners_see_their_own_and_operators_see_both, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nobody_sees_another_tenant_s, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_object_does_not_tell_what_is_kept,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            a_pool_s_policy_is_one_of_four_and_in_bounds, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
