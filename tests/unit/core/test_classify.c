/* SPDX-License-Identifier: Apache-2.0 */
#include "core/classify.h"

#include "tests/unit/core/small.h"

static void
names(const char *model, const char *expected)
{
    char name[NAME_MAX_SIZE];

    classify_name(model, name);
    assert_string_equal(name, expected);
}

static void
names_are_short_and_without_the_vendor(void **state)
{
    char long_model[200];
    char name[NAME_MAX_SIZE];

    (void)state;
    names("NVIDIA H100 80GB HBM3", "h100-80g-hbm3");
    names("H100-80GB", "h100-80g");
    names("AMD Instinct MI300X", "mi300x");
    names("Tesla T4", "t4");
    names("910B3", "910b3");
    names("", "card");
    names("///", "card");
    memset(long_model, 'x', sizeof(long_model));
    long_model[199] = '\0';
    long_model[40] = ' ';
    classify_name(long_model, name);
    assert_int_equal(strlen(name), 40);
}

static bool
has(const struct small *small, const char *name)
{
    return !ref_is_none(
        world_find_name(small->world, KIND_CLASS, small->platform, name));
}

static void
a_model_brings_classes_up_to_what_one_node_has(void **state)
{
    struct small *small = *state;
    struct changes *changes = small_begin(small);

    classify_model(changes, "nvidia", "H100-80GB", 81559, 5);
    world_apply(small->world, changes);
    assert_true(has(small, "h100-80g.1"));
    assert_true(has(small, "h100-80g.4"));
    assert_false(has(small, "h100-80g.8"));
    assert_true(has(small, "h100-80g.half"));
    /* And those of its slices; 7g would be the whole card. */
    assert_true(has(small, "h100-80g.1g10gb"));
    assert_true(has(small, "h100-80g.3g40gb"));
    assert_false(has(small, "h100-80g.7g80gb"));
}

static void
a_model_that_has_a_class_brings_none(void **state)
{
    struct small *small = *state;
    struct changes *changes = small_begin(small);
    struct class *class =
        change_create(changes, KIND_CLASS, small->platform, "mine");

    (void)snprintf(class->model, sizeof(class->model), "H100-80GB");
    world_apply(small->world, changes);
    changes = small_begin(small);
    classify_model(changes, "nvidia", "H100-80GB", 81559, 8);
    assert_true(change_is_empty(changes));
}

static void
a_model_is_classified_once_in_one_set(void **state)
{
    struct small *small = *state;
    struct changes *changes = small_begin(small);
    size_t count;

    classify_model(changes, "nvidia", "H100-80GB", 81559, 1);
    count = changes->count;
    classify_model(changes, "nvidia", "H100-80GB", 81559, 1);
    assert_int_equal(changes->count, count);
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, small_open, small_close)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(names_are_short_and_without_the_vendor),
        TEST(a_model_brings_classes_up_to_what_one_node_has),
        TEST(a_model_that_has_a_class_brings_none),
        TEST(a_model_is_classified_once_in_one_set),
    };

    return cmocka_run_group_tests_name("classify", tests, NULL, NULL);
}
