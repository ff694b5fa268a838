/* SPDX-License-Identifier: Apache-2.0 */
#include "core/object.h"

#include "tests/unit/core/small.h"

static void
values_come_back_from_the_store_as_they_went(void **state)
{
    struct small *small = *state;
    struct changes *changes = small_begin(small);
    struct workload *workload = change_update(changes, small->workload);
    const struct value *values;
    struct digest before, after;
    struct error err;
    void *image;

    change_doc(changes, &workload->spec, "{\"command\":[\"true\"]}");
    workload->exit_code = -1;
    workload->state = WORKLOAD_PREEMPTING;
    workload->pool = small->pool;
    world_apply(small->world, changes);
    values =
        object_values(small->world, KIND_WORKLOAD,
                      world_get(small->world, small->workload), small->arena);
    assert_int_equal(object_from_values(small->world, KIND_WORKLOAD, values,
                                        small->arena, &image, &err),
                     0);
    object_digest(small->world, world_get(small->world, small->workload),
                  &before);
    object_digest(small->world, image, &after);
    assert_int_equal(digest_compare(&before, &after), 0);
    assert_int_equal(((struct workload *)image)->state, WORKLOAD_PREEMPTING);
}

/* Reads a body into a new tenant; returns the error's text or "". */
static const char *
read_tenant(struct small *small, const char *body, struct error *err)
{
    scoped_json json = json_read(body, strlen(body), err);
    struct changes *changes = small_begin(small);
    void *image = change_create(changes, KIND_TENANT, small->platform, "");

    assert_non_null(json);
    err->text[0] = err->field[0] = '\0';
    if (object_read_json(changes, KIND_TENANT, json, true, image, err) == 0)
        return "";
    return err->text;
}

static void
bodies_are_read_strictly_and_errors_name_field_rule_and_value(void **state)
{
    struct small *small = *state;
    struct error err;

    assert_string_equal(read_tenant(small, "{\"name\":\"a\"}", &err), "");
    (void)read_tenant(small, "{\"name\":\"A b\"}", &err);
    assert_string_equal(err.field, "/name");
    assert_non_null(strstr(err.text, "\"A b\" is not a name"));
    (void)read_tenant(small, "{\"name\":\"a\",\"extra\":1}", &err);
    assert_string_equal(err.field, "/extra");
    (void)read_tenant(small, "{\"name\":\"a\",\"number\":7}", &err);
    assert_string_equal(err.field, "/number");
    assert_non_null(strstr(err.text, "cannot be set"));
    (void)read_tenant(small, "{\"name\":\"a\",\"isolation\":\"no\"}", &err);
    assert_non_null(strstr(err.text, "namespace, nodepool, cluster"));
    (void)read_tenant(small, "{\"name\":\"a\",\"display\":\"x\\u0007\"}", &err);
    assert_string_equal(err.field, "/display");
}

static void
secrets_and_platform_fields_do_not_show(void **state)
{
    struct small *small = *state;
    struct changes *changes = small_begin(small);
    struct user *user = change_create(changes, KIND_USER, small->tenant, "u");
    scoped_json user_json = NULL;
    scoped_json tenant_json = NULL;
    scoped_json platform_json = NULL;

    memcpy(user->password, "$argon2id$x", 12);
    world_apply(small->world, changes);
    user_json = object_json(small->world, user, true);
    assert_null(json_object_get(user_json, "password"));
    tenant_json = object_json(small->world,
                              world_get(small->world, small->tenant), false);
    assert_null(json_object_get(tenant_json, "number"));
    assert_null(json_object_get(tenant_json, "seq"));
    platform_json =
        object_json(small->world, world_get(small->world, small->tenant), true);
    assert_non_null(json_object_get(platform_json, "number"));
}

static void
an_id_is_text_or_nothing(void **state)
{
    struct small *small = *state;
    const struct ref none = { 0 };
    scoped_json id = object_id_json(small->world, small->tenant);
    scoped_json null = object_id_json(small->world, none);
    char text[ID_TEXT_MAX];

    object_id_text(small->world, small->tenant, text);
    assert_memory_equal(text, "tn_", 3);
    assert_string_equal(json_string_value(id), text);
    assert_string_equal(
        object_id_copy(small->world, small->tenant, small->arena), text);
    assert_true(ref_equal(object_find_text(small->world, text), small->tenant));
    assert_true(json_is_null(null));
    assert_null(object_id_copy(small->world, none, small->arena));
    text[3] = '-';
    assert_true(ref_is_none(object_find_text(small->world, text)));
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, small_open, small_close)
    static const struct CMUnitTest tests[] = {
        T(values_come_back_from_the_store_as_they_went),
        T(bodies_are_read_strictly_and_errors_name_field_rule_and_value),
        T(an_id_is_text_or_nothing),
        T(secrets_and_platform_fields_do_not_show),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
