/* SPDX-License-Identifier: Apache-2.0 */
#include "store/row.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <string.h>

#include "core/verb.h"

struct fixture {
    struct world *world;
    struct arena *arena;
    struct id_source ids;
    struct ref platform;
};

static struct changes *
begin(struct fixture *fixture)
{
    struct context context = { INT64_C(1796040000123), &fixture->ids };

    return change_begin(fixture->arena, fixture->world, context);
}

static int
setup(void **state)
{
    static const struct hash_key key = { 1, 2 };
    struct fixture *fixture = memory_new(1, sizeof(*fixture));
    struct ref none = { 0 };
    struct changes *changes;
    struct platform *platform;

    fixture->world = world_new(&key);
    fixture->arena = arena_new();
    changes = begin(fixture);
    platform = change_create(changes, KIND_PLATFORM, none, "platform");
    fixture->platform = platform->object.self;
    world_apply(fixture->world, changes);
    *state = fixture;
    return 0;
}

static int
teardown(void **state)
{
    struct fixture *fixture = *state;

    world_free(fixture->world);
    arena_free(fixture->arena);
    free(fixture);
    return 0;
}

/* Something in every field, so that no type is left out. */
static void
fill(struct changes *changes, enum kind kind, struct ref some, void *image)
{
    const struct schema *schema = schema_get(kind);

    for (size_t i = 0; i < schema->field_count; i++) {
        const struct field *field = &schema->fields[i];
        void *at = field_of(field, image);

        if (field->type == FIELD_INT || field->type == FIELD_TIME)
            *(int64_t *)at = 1796040000000 + (int64_t)i;
        else if (field->type == FIELD_BOOL)
            *(bool *)at = true;
        else if (field->type == FIELD_TEXT || field->type == FIELD_NAME)
            (void)snprintf(at, field->size, "t%zu", i);
        else if (field->type == FIELD_REF &&
                 (field->flags & FIELD_INDEX) == 0)
            *(struct ref *)at = some;
        else if (field->type == FIELD_DOC)
            change_doc(changes, at, "{\"a\":[1,null]}");
        else if (field->type == FIELD_BYTES)
            memset(at, (int)kind, field->size);
        else if (field->type == FIELD_VERBS)
            verbs_add(at, VERB_TENANT_GET);
    }
}

/* The live object may say more: what is derived from others. */
static void
assert_same(enum kind kind, json_t *live, json_t *row)
{
    const char *key;
    json_t *value;

    json_object_foreach(row, key, value)
        if (!json_equal(value, json_object_get(live, key)))
            fail_msg("%s: %s differs", schema_get(kind)->name, key);
    json_object_foreach(live, key, value)
        if (schema_field(kind, key) != NULL &&
            json_object_get(row, key) == NULL)
            fail_msg("%s: %s is missing", schema_get(kind)->name, key);
}

/* One history row, one live object: one look. */
static void
test_row_looks_like_the_object_in_the_world(void **state)
{
    struct fixture *fixture = *state;

    for (unsigned kind = KIND_POOL; kind < KIND_FACT; kind++) {
        struct changes *changes = begin(fixture);
        struct object *image = change_create(changes, (enum kind)kind,
                                             fixture->platform, "x");
        const struct object *object;
        struct value *values;

        fill(changes, (enum kind)kind, fixture->platform, image);
        world_apply(fixture->world, changes);
        object = world_object(fixture->world, image->self);
        values = object_values(fixture->world, (enum kind)kind, object,
                               fixture->arena);
        for (int platform = 0; platform < 2; platform++) {
            scoped_json live =
                object_json(fixture->world, object, platform == 1);
            scoped_json row =
                row_json((enum kind)kind, values, platform == 1);

            assert_same((enum kind)kind, live, row);
        }
    }
}

/* The platform's revision moves with every tenant's work. */
static void
test_row_shows_the_revision_of_a_tenant_alone(void **state)
{
    struct fixture *fixture = *state;
    struct changes *changes = begin(fixture);
    struct object *tenant =
        change_create(changes, KIND_TENANT, fixture->platform, "t");
    struct object *project =
        change_create(changes, KIND_PROJECT, tenant->self, "p");
    struct object *node =
        change_create(changes, KIND_NODE, fixture->platform, "n");
    const struct ref refs[] = { project->self, node->self };

    world_apply(fixture->world, changes);
    for (size_t i = 0; i < 2; i++) {
        enum kind kind = (enum kind)refs[i].kind;
        struct value *values =
            object_values(fixture->world, kind,
                          world_object(fixture->world, refs[i]),
                          fixture->arena);
        scoped_json own = row_json(kind, values, true);
        scoped_json shown = row_json(kind, values, false);

        assert_non_null(json_object_get(own, "revision"));
        assert_int_equal(json_object_get(shown, "revision") != NULL, i == 0);
    }
}

static void
test_digest_tells_every_column_but_the_order(void **state)
{
    struct fixture *fixture = *state;
    const struct object *object =
        world_object(fixture->world, fixture->platform);
    struct value *values = object_values(fixture->world, KIND_PLATFORM,
                                         object, fixture->arena);
    struct digest before, after;

    row_digest(KIND_PLATFORM, values, &before);
    for (size_t i = 0; i < object_column_count(KIND_PLATFORM); i++) {
        struct value kept = values[i];

        values[i] = (struct value){ VALUE_INT, kept.integer + 1, NULL };
        row_digest(KIND_PLATFORM, values, &after);
        /* The order of creation tells how much others made. */
        assert_int_equal(digest_compare(&before, &after) != 0,
                         i != OBJECT_COLUMN_SEQ);
        values[i] = kept;
    }
    /* null, zero and the empty text differ too */
    values[6] = (struct value){ VALUE_TEXT, 0, "" };
    row_digest(KIND_PLATFORM, values, &after);
    assert_true(digest_compare(&before, &after) != 0);
}

static void
test_rows_are_read_by_name(void **state)
{
    struct fixture *fixture = *state;
    const struct object *object =
        world_object(fixture->world, fixture->platform);
    struct value *values = object_values(fixture->world, KIND_PLATFORM,
                                         object, fixture->arena);

    assert_string_equal(row_text(KIND_PLATFORM, values, "name"), "platform");
    assert_null(row_text(KIND_PLATFORM, values, "parent"));
    assert_int_equal(row_int(KIND_PLATFORM, values, "version"), 1);
    assert_int_equal(row_int(KIND_PLATFORM, values, "name"), 0);
    assert_int_equal(row_column(KIND_PLATFORM, "id"), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            test_row_looks_like_the_object_in_the_world, setup, teardown),
        cmocka_unit_test_setup_teardown(
            test_row_shows_the_revision_of_a_tenant_alone, setup, teardown),
        cmocka_unit_test_setup_teardown(test_digest_tells_every_column_but_the_order, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_rows_are_read_by_name, setup,
                                        teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
