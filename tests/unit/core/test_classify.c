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

static void
classify(struct changes *changes, int64_t count, int64_t linked)
{
    const struct classify found = { "nvidia", "H100-80GB", 81559, count,
                                    linked, false };

    classify_model(changes, &found);
}

static bool
has(const struct small *small, const char *name)
{
    return !ref_is_none(
        world_find_name(small->world, KIND_CLASS, small->platform, name));
}

static void
a_model_that_cannot_be_cut_here_brings_no_slices(void **state)
{
    const struct classify found = { "amd", "MI300X", 196608, 1, 0, true };
    struct small *small = *state;
    struct changes *changes = small_begin(small);

    classify_model(changes, &found);
    world_apply(small->world, changes);
    assert_true(has(small, "mi300x.1"));
    assert_false(has(small, "mi300x.cpx"));
}

static void
a_model_brings_classes_up_to_what_one_node_has(void **state)
{
    struct small *small = *state;
    struct changes *changes = small_begin(small);

    classify(changes, 5, 0);
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
    classify(changes, 8, 0);
    assert_true(change_is_empty(changes));
}

static void
a_model_is_classified_once_in_one_set(void **state)
{
    struct small *small = *state;
    struct changes *changes = small_begin(small);
    size_t count;

    classify(changes, 1, 0);
    count = changes->count;
    classify(changes, 1, 0);
    assert_int_equal(changes->count, count);
}

static const struct class *
get(const struct small *small, const char *name)
{
    return world_class(small->world,
                       world_find_name(small->world, KIND_CLASS,
                                       small->platform, name));
}

static void
linked_cards_bring_classes_of_linked_cards(void **state)
{
    struct small *small = *state;
    struct changes *changes = small_begin(small);

    classify(changes, 8, 5);
    world_apply(small->world, changes);
    assert_int_equal(get(small, "h100-80g.4-linked")->count, 4);
    assert_int_equal(get(small, "h100-80g.4-linked")->interconnect,
                     INTERCONNECT_ISLAND);
    assert_int_equal(get(small, "h100-80g.8")->interconnect,
                     INTERCONNECT_ANY);
    assert_false(has(small, "h100-80g.1-linked"));
    assert_false(has(small, "h100-80g.8-linked"));
    assert_int_equal(get(small, "h100-80g.8")->origin, CLASS_DERIVED);
}

/* A node of the world with so many cards, as earlier reports made it. */
static void
add_cards(struct small *small, const char *name, int count)
{
    struct changes *changes = small_begin(small);
    struct ref pool =
        ((struct pool *)change_create(changes, KIND_POOL, small->platform,
                                      name))
            ->object.self;
    struct ref node =
        ((struct node *)change_create(changes, KIND_NODE, pool, name))
            ->object.self;

    for (int i = 0; i < count; i++) {
        char text[16];
        struct card *card;

        (void)snprintf(text, sizeof(text), "card%d", i);
        card = change_create(changes, KIND_CARD, node, text);
        (void)snprintf(card->model, sizeof(card->model), "H100-80GB");
        (void)snprintf(card->uuid, sizeof(card->uuid), "%s-%d", name, i);
    }
    world_apply(small->world, changes);
}

/* Two were known; a node with eight brings 4 and 8, not what somebody threw
 * away, and leaves what somebody changed. */
static void
a_larger_node_brings_the_sizes_that_are_new(void **state)
{
    struct small *small = *state;
    struct changes *changes = small_begin(small);

    classify(changes, 2, 0);
    world_apply(small->world, changes);
    add_cards(small, "n1", 2);
    changes = small_begin(small);
    change_delete(changes, world_find_name(small->world, KIND_CLASS,
                                           small->platform, "h100-80g.1"));
    ((struct class *)change_update(
         changes, world_find_name(small->world, KIND_CLASS, small->platform,
                                  "h100-80g.2")))
        ->min_memory_mib = 7;
    world_apply(small->world, changes);
    changes = small_begin(small);
    classify(changes, 8, 0);
    world_apply(small->world, changes);
    assert_true(has(small, "h100-80g.4"));
    assert_true(has(small, "h100-80g.8"));
    assert_false(has(small, "h100-80g.1"));
    assert_int_equal(get(small, "h100-80g.2")->min_memory_mib, 7);
}

/* All of them are deleted: the same node does not bring them back. */
static void
what_was_deleted_does_not_come_back(void **state)
{
    struct small *small = *state;
    struct changes *changes;

    add_cards(small, "n1", 4);
    changes = small_begin(small);
    classify(changes, 4, 0);
    assert_true(change_is_empty(changes));
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
        TEST(a_model_that_cannot_be_cut_here_brings_no_slices),
        TEST(a_model_is_classified_once_in_one_set),
        TEST(linked_cards_bring_classes_of_linked_cards),
        TEST(a_larger_node_brings_the_sizes_that_are_new),
        TEST(what_was_deleted_does_not_come_back),
    };

    return cmocka_run_group_tests_name("classify", tests, NULL, NULL);
}
