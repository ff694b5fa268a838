/* SPDX-License-Identifier: Apache-2.0 */
#include "core/image.h"
#include "tests/unit/core/scene.h"

/* Whether any node could have an image, by what the nodes say. */

struct stage {
    struct scene scene;
    struct ref pool;
};

static void
stage_setup(struct stage *s)
{
    scene_setup(&s->scene);
    s->pool = scene_pool(&s->scene, "a");
}

static struct ref
add_node(struct stage *s, const char *name, const char *facts)
{
    struct ref ref = scene_node(&s->scene, s->pool, name, 1, "h100");
    scene_edit(&s->scene, changes, node, ref);

    if (facts != NULL)
        change_doc(changes, &node->facts, facts);
    scene_apply(&s->scene, changes);
    return ref;
}

static bool
nowhere(const struct stage *s, const char *image)
{
    return image_is_nowhere(s->scene.world, image);
}

static void
without_nodes_an_image_may_come(void **state)
{
    struct stage s;

    (void)state;
    stage_setup(&s);
    assert_false(nowhere(&s, "base"));
    scene_teardown(&s.scene);
}

static void
a_node_that_does_not_say_may_have_any(void **state)
{
    struct stage s;

    (void)state;
    stage_setup(&s);
    (void)add_node(&s, "n1", "{\"images\":[\"base\"],\"kernel\":\"6\"}");
    assert_true(nowhere(&s, "other"));
    assert_false(nowhere(&s, IMAGE_OPEN));
    (void)add_node(&s, "n2", "{\"kernel\":\"6\"}");
    assert_false(nowhere(&s, "other"));
    scene_teardown(&s.scene);
}

static void
names_are_compared_whole_and_without_the_digest(void **state)
{
    static const char *const there[] = { "base", "demo", "z.1_a-b",
                                         "demo@sha256:00" };
    static const char *const absent[] = { "bas", "bases", "dem", "emo",
                                          "base\",\"demo", "", "kernel",
                                          "bases@sha256:00" };
    struct stage s;

    (void)state;
    stage_setup(&s);
    (void)add_node(&s, "n1",
                   "{\"images\":[\"base\",\"demo\",\"z.1_a-b\"],"
                   "\"kernel\":\"6\"}");
    for (size_t i = 0; i < sizeof(there) / sizeof(there[0]); i++)
        assert_false(nowhere(&s, there[i]));
    for (size_t i = 0; i < sizeof(absent) / sizeof(absent[0]); i++)
        assert_true(nowhere(&s, absent[i]));
    scene_teardown(&s.scene);
}

static void
one_node_that_has_it_is_enough(void **state)
{
    struct stage s;

    (void)state;
    stage_setup(&s);
    (void)add_node(&s, "n1", "{\"images\":[]}");
    (void)add_node(&s, "n2", "{\"images\":[\"base\"]}");
    assert_false(nowhere(&s, "base"));
    assert_true(nowhere(&s, "demo"));
    scene_teardown(&s.scene);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_nodes_an_image_may_come),
        cmocka_unit_test(a_node_that_does_not_say_may_have_any),
        cmocka_unit_test(names_are_compared_whole_and_without_the_digest),
        cmocka_unit_test(one_node_that_has_it_is_enough),
    };

    return cmocka_run_group_tests_name("image", tests, NULL, NULL);
}
