/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "core/classify.h"

struct scene {
    struct arena *arena;
    struct world *world;
    struct id_source ids;
    struct ref platform;
};

static struct changes *
begin(struct scene *scene)
{
    return change_begin(scene->arena, scene->world,
                        (struct context){ 1000, &scene->ids });
}

static int
scene_open(void **state)
{
    static const struct hash_key key = { 5, 6 };
    struct scene *scene = memory_new(1, sizeof(*scene));
    struct changes *changes;

    scene->arena = arena_new();
    scene->world = world_new(&key);
    scene->ids.key = key;
    changes = begin(scene);
    scene->platform = ((struct object *)change_create(
                           changes, KIND_PLATFORM, (struct ref){ 0 },
                           "platform"))
                          ->self;
    world_apply(scene->world, changes);
    *state = scene;
    return 0;
}

static int
scene_close(void **state)
{
    struct scene *scene = *state;

    world_free(scene->world);
    arena_free(scene->arena);
    free(scene);
    return 0;
}

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
has(const struct scene *scene, const char *name)
{
    return !ref_is_none(world_find_name(scene->world, KIND_CLASS,
                                        scene->platform, name));
}

static void
a_model_brings_classes_up_to_what_one_node_has(void **state)
{
    struct scene *scene = *state;
    struct changes *changes = begin(scene);

    classify_model(changes, "nvidia", "H100-80GB", 81559, 5);
    world_apply(scene->world, changes);
    assert_true(has(scene, "h100-80g.1"));
    assert_true(has(scene, "h100-80g.4"));
    assert_false(has(scene, "h100-80g.8"));
    assert_true(has(scene, "h100-80g.half"));
}

static void
a_model_that_has_a_class_brings_none(void **state)
{
    struct scene *scene = *state;
    struct changes *changes = begin(scene);
    struct class *class =
        change_create(changes, KIND_CLASS, scene->platform, "mine");

    (void)snprintf(class->model, sizeof(class->model), "H100-80GB");
    world_apply(scene->world, changes);
    changes = begin(scene);
    classify_model(changes, "nvidia", "H100-80GB", 81559, 8);
    assert_true(change_is_empty(changes));
}

static void
a_model_is_classified_once_in_one_set(void **state)
{
    struct scene *scene = *state;
    struct changes *changes = begin(scene);
    size_t count;

    classify_model(changes, "nvidia", "H100-80GB", 81559, 1);
    count = changes->count;
    classify_model(changes, "nvidia", "H100-80GB", 81559, 1);
    assert_int_equal(changes->count, count);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_open, scene_close)

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
