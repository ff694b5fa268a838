/* SPDX-License-Identifier: Apache-2.0 */
#include "core/gate_private.h"
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

/* --- where work goes --- */

#define WITH_BASE "{\"images\":[\"base\"]}"
#define WITH_BOTH "{\"images\":[\"base\",\"demo\"]}"

static struct job
job_with(struct stage *s, const char *image)
{
    static struct ref project, class;

    if (world_first(s->scene.world, KIND_TENANT).kind == KIND_NONE) {
        struct ref tenant = scene_tenant(&s->scene, "t");

        (void)scene_quota(&s->scene, tenant, DIMENSION_CARDS, 0, CARDS(8));
        project = scene_project(&s->scene, tenant, "p");
        class = scene_class(&s->scene, "h100.1", "h100", 1);
    }
    return (struct job){ .project = project, .class = class, .image = image };
}

static void
tell_facts(struct stage *s, struct ref ref, const char *facts)
{
    scene_edit(&s->scene, changes, node, ref);

    change_doc(changes, &node->facts, facts);
    scene_apply(&s->scene, changes);
}

static struct ref
node_of(const struct stage *s, struct ref work)
{
    return world_instance(s->scene.world,
                          world_first_child(s->scene.world, KIND_INSTANCE,
                                            work))
        ->node;
}

static void
work_goes_where_its_image_is(void **state)
{
    struct stage s;
    struct ref n2, work, free;

    (void)state;
    stage_setup(&s);
    (void)add_node(&s, "n1", WITH_BASE);
    n2 = add_node(&s, "n2", WITH_BOTH);
    work = scene_submit(&s.scene, job_with(&s, "demo@sha256:00"));
    scene_run(&s.scene);
    assert_true(ref_equal(node_of(&s, work), n2));
    /* Who names none, or one that is everywhere, takes what is left. */
    free = scene_submit(&s.scene, job_with(&s, "base"));
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, free), WORKLOAD_ASSIGNED);
    scene_teardown(&s.scene);
}

/* More names than the gate keeps, every other one on no node: those that share
 * a place are told apart. */
#define NAMES 130
static void
many_images_are_asked_for_one_after_the_other(void **state)
{
    struct stage s;
    struct changes *changes;
    struct gate gate;
    char facts[1024] = "{\"images\":[\"base\"";
    scoped_arena arena = arena_new();

    (void)state;
    stage_setup(&s);
    for (int i = 0; i < NAMES; i += 2)
        (void)snprintf(facts + strlen(facts), sizeof(facts) - strlen(facts),
                       ",\"i%d\"", i);
    (void)snprintf(facts + strlen(facts), sizeof(facts) - strlen(facts),
                   "]}");
    (void)add_node(&s, "n1", facts);
    (void)job_with(&s, "base");
    changes = scene_begin(&s.scene);
    gate_init(&gate, s.scene.world, NULL, s.scene.now_ms, arena);
    gate_keep_images(&gate);
    for (int i = 0; i < NAMES; i++) {
        char image[16];
        struct need needs[REQUIRE_MAX];
        uint64_t digest;
        struct job job;

        (void)snprintf(image, sizeof(image), "i%d", i);
        job = job_with(&s, image);
        assert_int_equal(gate_needs(&gate, scene_image(changes, &job), needs,
                                    &digest),
                         i % 2);
    }
    arena_free(s.scene.arena);
    s.scene.arena = NULL;
    scene_teardown(&s.scene);
}

/* The card that is free has not the image, the one that has is in use. */
static void
who_waits_for_a_node_with_its_image_is_told_so(void **state)
{
    struct stage s;
    struct ref n1, first, second;
    const struct workload *told;

    (void)state;
    stage_setup(&s);
    n1 = add_node(&s, "n1", WITH_BASE);
    (void)add_node(&s, "n2", WITH_BOTH);
    first = scene_running(&s.scene, job_with(&s, "demo"));
    second = scene_submit(&s.scene, job_with(&s, "demo"));
    scene_run(&s.scene);
    told = scene_workload(&s.scene, second);
    assert_int_equal(told->state, WORKLOAD_QUEUED);
    assert_int_equal(told->reason, REASON_IMAGE);
    assert_non_null(strstr(told->reason_text, "1 more are on nodes that do "
                                              "not have its image"));
    /* The image comes to the other node: it starts there, nothing else has
     * happened. */
    tell_facts(&s, n1, WITH_BOTH);
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, second), WORKLOAD_ASSIGNED);
    assert_true(ref_equal(node_of(&s, second), n1));
    assert_int_equal(scene_state(&s.scene, first), WORKLOAD_RUNNING);
    scene_teardown(&s.scene);
}

/* The last node that had it lost it while the work waited. */
static void
an_image_that_went_gates_until_it_is_back(void **state)
{
    struct stage s;
    struct ref n1, n2, first, second, other;

    (void)state;
    stage_setup(&s);
    n1 = add_node(&s, "n1", WITH_BASE);
    n2 = add_node(&s, "n2", WITH_BOTH);
    first = scene_running(&s.scene, job_with(&s, "demo"));
    second = scene_submit(&s.scene, job_with(&s, "demo"));
    tell_facts(&s, n2, WITH_BASE);
    /* Of equal shape, but for its image: it does not wait with it. */
    other = scene_submit(&s.scene, job_with(&s, "base"));
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, other), WORKLOAD_ASSIGNED);
    assert_int_equal(scene_state(&s.scene, second), WORKLOAD_GATED);
    assert_int_equal(scene_workload(&s.scene, second)->reason, REASON_IMAGE);
    assert_non_null(strstr(scene_workload(&s.scene, second)->reason_text,
                           "the image \"demo\": 2 of the 2 cards"));
    assert_int_equal(scene_state(&s.scene, first), WORKLOAD_RUNNING);
    assert_int_equal(scene_try(&s.scene, job_with(&s, "demo")).state,
                     WORKLOAD_REJECTED);
    tell_facts(&s, n1, WITH_BOTH);
    scene_finish(&s.scene, other, 0);
    scene_scrub(&s.scene);
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, second), WORKLOAD_ASSIGNED);
    scene_teardown(&s.scene);
}

/* Nobody is stopped on a node where the image is not. */
static void
a_guarantee_reclaims_where_its_image_is(void **state)
{
    struct stage s;
    struct job job;
    struct ref other, elsewhere, there, claim;

    (void)state;
    stage_setup(&s);
    (void)add_node(&s, "n1", WITH_BASE);
    (void)add_node(&s, "n2", WITH_BOTH);
    job = job_with(&s, "demo");
    there = scene_running(&s.scene, job);
    elsewhere = scene_running(&s.scene, job_with(&s, "base")); /* newer */
    other = scene_tenant(&s.scene, "t2");
    (void)scene_quota(&s.scene, other, DIMENSION_CARDS, CARDS(1), CARDS(2));
    job.project = scene_project(&s.scene, other, "p2");
    claim = scene_submit(&s.scene, job);
    scene_run(&s.scene);
    assert_int_equal(scene_workload(&s.scene, claim)->reason,
                     REASON_RECLAIMING);
    assert_int_equal(scene_state(&s.scene, there), WORKLOAD_PREEMPTING);
    assert_int_equal(scene_state(&s.scene, elsewhere), WORKLOAD_RUNNING);
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
        cmocka_unit_test(work_goes_where_its_image_is),
        cmocka_unit_test(many_images_are_asked_for_one_after_the_other),
        cmocka_unit_test(who_waits_for_a_node_with_its_image_is_told_so),
        cmocka_unit_test(an_image_that_went_gates_until_it_is_back),
        cmocka_unit_test(a_guarantee_reclaims_where_its_image_is),
    };

    return cmocka_run_group_tests_name("image", tests, NULL, NULL);
}
