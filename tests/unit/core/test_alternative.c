/* SPDX-License-Identifier: Apache-2.0 */
#include "scene.h"

#include "core/alternative.h"
#include "core/explain.h"

/* Work that takes one class or another: node n1 has 8 old cards, n2 8 new. */

struct stage {
    struct scene scene;
    struct ref pool, old_node, new_node, blue, red, blue_project, red_project;
    struct ref old, new, either[2];
};

static void
stage_setup(struct stage *s)
{
    memset(s, 0, sizeof(*s));
    scene_setup(&s->scene);
    s->pool = scene_pool(&s->scene, "a");
    s->old_node = scene_node(&s->scene, s->pool, "n1", 8, "a100");
    s->new_node = scene_node(&s->scene, s->pool, "n2", 8, "h100");
    s->blue = scene_tenant(&s->scene, "blue");
    s->red = scene_tenant(&s->scene, "red");
    s->blue_project = scene_project(&s->scene, s->blue, "p");
    s->red_project = scene_project(&s->scene, s->red, "q");
    s->old = scene_class(&s->scene, "a100.1", "a100", 1);
    s->new = scene_class(&s->scene, "h100.1", "h100", 1);
    s->either[0] = s->old;
    s->either[1] = s->new;
}

/* Blue may burst, red is guaranteed what it asks. */
static void
give_quotas(struct stage *s)
{
    (void)scene_quota(&s->scene, s->blue, DIMENSION_CARDS, 0, CARDS(64));
    (void)scene_quota(&s->scene, s->red, DIMENSION_CARDS, CARDS(8), CARDS(64));
}

static struct job
any_of(const struct stage *s, struct ref project, int64_t instances)
{
    return (struct job){ .project = project,
                         .classes = s->either,
                         .class_count = 2,
                         .instances = instances };
}

static struct job
only(struct ref class, struct ref project, int64_t instances)
{
    return (struct job){ .project = project,
                         .class = class,
                         .instances = instances };
}

/* All live bindings of a workload are of this class and on this node. */
static void
assert_bound(const struct stage *s, struct ref work, struct ref class,
             struct ref node, int cards)
{
    int count = 0;

    world_each(s->scene.world, KIND_BINDING, ref) {
        const struct binding *binding = world_binding(s->scene.world, ref);

        if (binding->to_ms != 0 || !ref_equal(binding->workload, work))
            continue;
        count++;
        assert_true(ref_equal(binding->class, class));
        assert_true(
            ref_equal(world_parent(s->scene.world, binding->card), node));
    }
    assert_int_equal(count, cards);
    assert_true(ref_equal(scene_workload(&s->scene, work)->class, class));
}

/* [S29] The first class is busy with work that could be stopped. */
static void
a_free_alternative_is_taken_before_anybody_is_stopped_S29(void **state)
{
    struct stage s;
    struct ref burst, work;

    (void)state;
    stage_setup(&s);
    give_quotas(&s);
    burst = scene_running(&s.scene, only(s.old, s.blue_project, 8));
    work = scene_submit(&s.scene, any_of(&s, s.red_project, 8));
    scene_run(&s.scene);
    assert_int_equal(s.scene.victims, 0);
    assert_int_equal(scene_state(&s.scene, burst), WORKLOAD_RUNNING);
    assert_int_equal(scene_state(&s.scene, work), WORKLOAD_ASSIGNED);
    assert_bound(&s, work, s.new, s.new_node, 8);
    scene_teardown(&s.scene);
}

/* [S29] An alternative that is being given back is waited for. */
static void
an_alternative_that_is_soon_free_is_waited_for_S29(void **state)
{
    struct stage s;
    struct ref burst, leaving, work;

    (void)state;
    stage_setup(&s);
    give_quotas(&s);
    burst = scene_running(&s.scene, only(s.old, s.blue_project, 8));
    leaving = scene_running(&s.scene, only(s.new, s.blue_project, 8));
    {
        struct changes *changes = scene_begin(&s.scene);

        lifecycle_stop(changes, leaving, WORKLOAD_CANCELLING, "cancelled",
                       NULL);
        scene_apply(&s.scene, changes);
    }
    work = scene_submit(&s.scene, any_of(&s, s.red_project, 8));
    scene_run(&s.scene);
    assert_int_equal(s.scene.victims, 0);
    assert_int_equal(scene_state(&s.scene, burst), WORKLOAD_RUNNING);
    assert_int_equal(scene_state(&s.scene, work), WORKLOAD_QUEUED);
    scene_release(&s.scene, leaving);
    scene_scrub(&s.scene);
    scene_run(&s.scene);
    assert_bound(&s, work, s.new, s.new_node, 8);
    assert_int_equal(scene_state(&s.scene, burst), WORKLOAD_RUNNING);
    scene_teardown(&s.scene);
}

/* [S29] With no place for any, victims are named for the best one. */
static void
victims_are_named_for_the_best_class_when_none_has_a_place_S29(void **state)
{
    struct stage s;
    struct ref first, second, work;

    (void)state;
    stage_setup(&s);
    give_quotas(&s);
    first = scene_running(&s.scene, only(s.old, s.blue_project, 8));
    second = scene_running(&s.scene, only(s.new, s.blue_project, 8));
    work = scene_submit(&s.scene, (struct job){
                                      .project = s.red_project,
                                      .classes = (struct ref[]){ s.new,
                                                                 s.old },
                                      .class_count = 2,
                                      .instances = 8 });
    scene_run(&s.scene);
    assert_int_equal(s.scene.victims, 1);
    assert_int_equal(scene_state(&s.scene, first), WORKLOAD_RUNNING);
    assert_int_equal(scene_state(&s.scene, second), WORKLOAD_PREEMPTING);
    assert_true(ref_equal(scene_workload(&s.scene, work)->class, s.new));
    scene_release(&s.scene, second);
    scene_scrub(&s.scene);
    scene_run(&s.scene);
    assert_bound(&s, work, s.new, s.new_node, 8);
    scene_teardown(&s.scene);
}

/* Quotas of a class count the class that was given. */
static void
the_class_that_was_given_is_charged(void **state)
{
    struct stage s;
    struct ref quotas[2], work;

    (void)state;
    stage_setup(&s);
    give_quotas(&s);
    for (int i = 0; i < 2; i++) {
        quotas[i] =
            scene_quota(&s.scene, s.blue_project, DIMENSION_CARDS, 0, CARDS(5));
        {
            scene_edit(&s.scene, changes, quota, quotas[i]);

            quota->class = s.either[i];
            scene_apply(&s.scene, changes);
        }
    }
    (void)scene_running(&s.scene, only(s.old, s.blue_project, 3));
    work = scene_submit(&s.scene, any_of(&s, s.blue_project, 4));
    scene_run(&s.scene);
    assert_bound(&s, work, s.new, s.new_node, 4);
    assert_int_equal(world_quota(s.scene.world, quotas[0])->used, CARDS(3));
    assert_int_equal(world_quota(s.scene.world, quotas[1])->used, CARDS(4));
    scene_teardown(&s.scene);
}

static void
set_class_limits(struct stage *s, int64_t old, int64_t new)
{
    const int64_t limits[2] = { old, new };

    for (int i = 0; i < 2; i++) {
        struct ref ref = scene_quota(&s->scene, s->blue, DIMENSION_CARDS, 0,
                                     CARDS(limits[i]));
        scene_edit(&s->scene, changes, quota, ref);

        quota->class = s->either[i];
        scene_apply(&s->scene, changes);
    }
}

/* [S57] 24 cards, and no class may have so many: never, each with its bound. */
static void
never_is_told_with_the_bound_of_each_class_S57(void **state)
{
    struct stage s;
    struct verdict verdict;

    (void)state;
    stage_setup(&s);
    (void)scene_node(&s.scene, s.pool, "n3", 16, "a100");
    (void)scene_node(&s.scene, s.pool, "n4", 16, "h100");
    (void)scene_quota(&s.scene, s.blue, DIMENSION_CARDS, 0, CARDS(64));
    set_class_limits(&s, 8, 16);
    verdict = scene_try(&s.scene, any_of(&s, s.blue_project, 24));
    assert_int_equal(verdict.state, WORKLOAD_REJECTED);
    assert_int_equal(verdict.reason, REASON_LIMIT_NEVER);
    assert_string_equal(
        verdict.text,
        "it can never start with any of its classes: a100.1: 24 cards needed, "
        "at most 8 cards in tenant blue; h100.1: 24 cards needed, at most 16 "
        "cards in tenant blue");
    /* The same with one that fits is no never. */
    verdict = scene_try(&s.scene, any_of(&s, s.blue_project, 16));
    assert_int_equal(verdict.state, WORKLOAD_QUEUED);
    scene_teardown(&s.scene);
}

/* [S57] Never with one class and not now with the other is not now. */
static void
not_now_is_told_with_the_bound_of_each_class_S57(void **state)
{
    struct stage s;
    struct ref work;

    (void)state;
    stage_setup(&s);
    (void)scene_quota(&s.scene, s.blue, DIMENSION_CARDS, 0, CARDS(64));
    set_class_limits(&s, 2, 5);
    (void)scene_running(&s.scene, only(s.new, s.blue_project, 3));
    work = scene_submit(&s.scene, any_of(&s, s.blue_project, 4));
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, work), WORKLOAD_GATED);
    assert_int_equal(scene_workload(&s.scene, work)->reason, REASON_LIMIT);
    assert_string_equal(
        scene_workload(&s.scene, work)->reason_text,
        "none of its classes has room for it now: a100.1: 4 cards needed, at "
        "most 2 cards in tenant blue; h100.1: 4 cards needed, 3 cards used of "
        "5 cards in tenant blue");
    scene_teardown(&s.scene);
}

/* The explanation shows each class, and what would help is tried. */
static void
an_explanation_lists_the_alternatives(void **state)
{
    struct stage s;
    struct arena *arena = arena_new();
    scoped_json json = NULL;
    const json_t *list, *nearest;
    struct ref work;

    (void)state;
    stage_setup(&s);
    (void)scene_quota(&s.scene, s.blue, DIMENSION_CARDS, 0, CARDS(64));
    set_class_limits(&s, 2, 5);
    (void)scene_running(&s.scene, only(s.new, s.blue_project, 3));
    work = scene_submit(&s.scene, any_of(&s, s.blue_project, 4));
    scene_run(&s.scene);
    json = explain_workload(s.scene.world, work, s.scene.now_ms, arena);
    list = json_object_get(json, "alternatives");
    assert_int_equal(json_array_size(list), 2);
    assert_string_equal(json_string_value(json_object_get(
                            json_array_get(list, 0), "class")),
                        "a100.1");
    assert_true(
        json_is_true(json_object_get(json_array_get(list, 0), "never")));
    assert_true(
        json_is_false(json_object_get(json_array_get(list, 1), "never")));
    assert_int_equal(json_integer_value(json_object_get(
                         json_array_get(list, 1), "have")),
                     3000);
    assert_int_equal(json_array_size(json_object_get(json, "pools")), 2);
    nearest = json_object_get(json, "nearest");
    assert_true(json_is_true(json_object_get(nearest, "verified")));
    assert_string_equal(
        json_string_value(
            json_array_get(json_object_get(nearest, "changes"), 0)),
        "the quota for cards of tenant blue raised to 7 cards");
    arena_free(arena);
    scene_teardown(&s.scene);
}

/* [S26b] The head waits for old cards, the next wants new ones. */
static void
a_head_that_waits_for_one_class_blocks_no_other_S26b(void **state)
{
    struct stage s;
    struct ref head, either, other;

    (void)state;
    stage_setup(&s);
    give_quotas(&s);
    (void)scene_running(&s.scene, only(s.old, s.blue_project, 8));
    head = scene_submit(&s.scene, only(s.old, s.blue_project, 8));
    either = scene_submit(&s.scene, any_of(&s, s.blue_project, 2));
    other = scene_submit(&s.scene, only(s.new, s.blue_project, 6));
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, head), WORKLOAD_QUEUED);
    assert_bound(&s, either, s.new, s.new_node, 2);
    assert_bound(&s, other, s.new, s.new_node, 6);
    scene_teardown(&s.scene);
}

/* Requests that differ in their list alone are told different things. */
static void
other_alternatives_are_another_request(void **state)
{
    struct stage s;
    struct ref one, both;

    (void)state;
    stage_setup(&s);
    give_quotas(&s);
    (void)scene_running(&s.scene, only(s.old, s.blue_project, 8));
    one = scene_submit(&s.scene, only(s.old, s.blue_project, 1));
    both = scene_submit(&s.scene, any_of(&s, s.blue_project, 1));
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, one), WORKLOAD_QUEUED);
    assert_bound(&s, both, s.new, s.new_node, 1);
    scene_teardown(&s.scene);
}

/* What came back from a second choice tries the first one again. */
static void
the_best_class_is_tried_first_at_each_start(void **state)
{
    struct stage s;
    struct ref burst, work;

    (void)state;
    stage_setup(&s);
    give_quotas(&s);
    burst = scene_running(&s.scene, only(s.old, s.blue_project, 8));
    {
        struct job job = any_of(&s, s.blue_project, 8);

        job.restarts = 1;
        work = scene_running(&s.scene, job);
    }
    assert_bound(&s, work, s.new, s.new_node, 8);
    scene_finish(&s.scene, burst, 0);
    scene_finish(&s.scene, work, 1);
    scene_wait(&s.scene, 3600000);
    scene_run(&s.scene);
    assert_bound(&s, work, s.old, s.old_node, 8);
    scene_teardown(&s.scene);
}

/* A class that the tenant may not use is passed over, and named so. */
static void
a_class_that_is_not_allowed_is_passed_over(void **state)
{
    struct stage s;
    struct verdict verdict;
    struct ref work;
    char id[ID_TEXT_MAX], list[ID_TEXT_MAX + 8];

    (void)state;
    stage_setup(&s);
    give_quotas(&s);
    object_id_text(s.scene.world, s.new, id);
    (void)snprintf(list, sizeof(list), "[\"%s\"]", id);
    {
        scene_edit(&s.scene, changes, tenant, s.blue);

        change_doc(changes, &tenant->classes, list);
        scene_apply(&s.scene, changes);
    }
    work = scene_submit(&s.scene, any_of(&s, s.blue_project, 1));
    scene_run(&s.scene);
    assert_bound(&s, work, s.new, s.new_node, 1);
    verdict = scene_try(&s.scene, any_of(&s, s.blue_project, 9));
    assert_int_equal(verdict.state, WORKLOAD_REJECTED);
    assert_string_equal(verdict.text,
                        "it can never start with any of its classes: a100.1: "
                        "not allowed; h100.1: 9 needed, 8 possible if all "
                        "were empty");
    scene_teardown(&s.scene);
}

/* Eight long names do not fit into the sentence: the rest is counted. */
static void
a_sentence_that_would_be_too_long_ends_with_a_count(void **state)
{
    struct stage s;
    struct ref classes[ALTERNATIVE_MAX];
    struct verdict verdict;

    (void)state;
    stage_setup(&s);
    give_quotas(&s);
    for (int i = 0; i < ALTERNATIVE_MAX; i++) {
        char name[NAME_MAX_SIZE];

        (void)snprintf(name, sizeof(name),
                       "a-class-with-a-name-of-sixty-letters-to-fill-%d", i);
        classes[i] = scene_class(&s.scene, name, "b200", 1);
    }
    verdict = scene_try(&s.scene, (struct job){ .project = s.blue_project,
                                                .classes = classes,
                                                .class_count =
                                                    ALTERNATIVE_MAX });
    assert_int_equal(verdict.state, WORKLOAD_REJECTED);
    assert_true(strlen(verdict.text) < TEXT_MAX_SIZE);
    assert_non_null(strstr(verdict.text, " more: `explain`"));
    assert_null(strstr(verdict.text, "fill-7"));
    scene_teardown(&s.scene);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            a_free_alternative_is_taken_before_anybody_is_stopped_S29),
        cmocka_unit_test(an_alternative_that_is_soon_free_is_waited_for_S29),
        cmocka_unit_test(
            victims_are_named_for_the_best_class_when_none_has_a_place_S29),
        cmocka_unit_test(the_class_that_was_given_is_charged),
        cmocka_unit_test(never_is_told_with_the_bound_of_each_class_S57),
        cmocka_unit_test(not_now_is_told_with_the_bound_of_each_class_S57),
        cmocka_unit_test(an_explanation_lists_the_alternatives),
        cmocka_unit_test(a_head_that_waits_for_one_class_blocks_no_other_S26b),
        cmocka_unit_test(other_alternatives_are_another_request),
        cmocka_unit_test(the_best_class_is_tried_first_at_each_start),
        cmocka_unit_test(a_class_that_is_not_allowed_is_passed_over),
        cmocka_unit_test(a_sentence_that_would_be_too_long_ends_with_a_count),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
