/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/core/scene.h"

#include "base/clock.h"
#include "core/estimate.h"

#define MINUTE INT64_C(60000)

/* One node of two cards; a tenant that may have both. */
struct stage {
    struct scene scene;
    struct ref tenant, project, class, pool, quota;
};

static void
set_stage(struct stage *stage)
{
    struct scene *scene = &stage->scene;

    scene_setup(scene);
    stage->pool = scene_pool(scene, "a");
    (void)scene_node(scene, stage->pool, "n1", 2, "h100");
    stage->class = scene_class(scene, "h100.2", "h100", 2);
    stage->tenant = scene_tenant(scene, "t");
    stage->quota = scene_quota(scene, stage->tenant, DIMENSION_CARDS, 0,
                               CARDS(2));
    stage->project = scene_project(scene, stage->tenant, "p");
}

static struct ref
submit(struct stage *stage, const char *name, int64_t max_run_ms)
{
    return scene_submit(&stage->scene,
                        (struct job){ .project = stage->project,
                                      .class = stage->class,
                                      .name = name,
                                      .max_run_ms = max_run_ms });
}

static struct estimates *
compute_by(const struct stage *stage, int64_t decisions)
{
    struct estimates *estimates = estimate_new(
        world_clone(stage->scene.world), stage->scene.now_ms, decisions);

    while (estimate_step(estimates)) {
    }
    return estimates;
}

static struct estimates *
compute(const struct stage *stage)
{
    return compute_by(stage, ESTIMATE_DECISIONS_MAX);
}

static void
starts_after(const struct stage *stage, const struct estimates *estimates,
             struct ref ref, int64_t after_ms)
{
    scoped_json json =
        estimate_json(estimates, world_workload(stage->scene.world, ref));
    char text[CLOCK_TEXT_MAX];

    clock_format(SCENE_NOW + after_ms, text);
    assert_string_equal(json_string_value(json_object_get(json, "at")), text);
    assert_true(json_is_null(json_object_get(json, "none")));
    clock_format(SCENE_NOW, text);
    assert_string_equal(json_string_value(json_object_get(json, "as_of")),
                        text);
}

static void
is_unknown(const struct stage *stage, const struct estimates *estimates,
           struct ref ref, const char *why, const char *words)
{
    scoped_json json =
        estimate_json(estimates, world_workload(stage->scene.world, ref));

    assert_true(json_is_null(json_object_get(json, "at")));
    assert_string_equal(json_string_value(json_object_get(json, "none")), why);
    assert_non_null(
        strstr(json_string_value(json_object_get(json, "text")), words));
}

static void
each_waiting_workload_starts_when_those_before_it_have_ended(void **state)
{
    struct stage stage;
    struct estimates *estimates;
    struct ref first, second, third;

    (void)state;
    set_stage(&stage);
    first = submit(&stage, "first", 10 * MINUTE);
    (void)scene_run(&stage.scene);
    second = submit(&stage, "second", 30 * MINUTE);
    third = submit(&stage, "third", 0);
    (void)scene_run(&stage.scene);
    estimates = compute(&stage);
    starts_after(&stage, estimates, second, 10 * MINUTE);
    starts_after(&stage, estimates, third, 40 * MINUTE);
    assert_null(
        estimate_json(estimates, world_workload(stage.scene.world, first)));
    estimate_free(estimates);
    scene_teardown(&stage.scene);
}

static void
behind_work_without_an_end_there_is_none(void **state)
{
    struct stage stage;
    struct estimates *estimates;
    struct ref second;

    (void)state;
    set_stage(&stage);
    (void)submit(&stage, "first", 0);
    (void)scene_run(&stage.scene);
    second = submit(&stage, "second", MINUTE);
    (void)scene_run(&stage.scene);
    estimates = compute(&stage);
    is_unknown(&stage, estimates, second, "endless", "no end is known");
    estimate_free(estimates);
    scene_teardown(&stage.scene);
}

static void
cordon(struct scene *scene)
{
    struct ref first = world_first(scene->world, KIND_NODE);
    scene_edit(scene, changes, node, first);

    node->state = NODE_CORDONED;
    scene_apply(scene, changes);
}

static void
what_only_a_person_can_end_has_none(void **state)
{
    struct stage stage;
    struct estimates *estimates;
    struct ref held, cordoned;

    (void)state;
    set_stage(&stage);
    held = submit(&stage, "held", MINUTE);
    scene_edit(&stage.scene, changes, workload, held);
    workload->state = WORKLOAD_HELD;
    workload->reason = REASON_HELD_BY_USER;
    scene_apply(&stage.scene, changes);
    cordon(&stage.scene);
    cordoned = submit(&stage, "cordoned", MINUTE);
    (void)scene_run(&stage.scene);
    estimates = compute(&stage);
    is_unknown(&stage, estimates, held, "held", "a person");
    is_unknown(&stage, estimates, cordoned, "blocked",
               world_workload(stage.scene.world, cordoned)->reason_text);
    estimate_free(estimates);
    scene_teardown(&stage.scene);
}

/* 7 days are 10,080 minutes: of three that take 4 days each the third begins
 * on the eighth. */
static void
nothing_is_said_about_what_is_further_than_seven_days(void **state)
{
    struct stage stage;
    struct estimates *estimates;
    struct ref second, third;

    (void)state;
    set_stage(&stage);
    (void)submit(&stage, "first", 4 * 24 * 60 * MINUTE);
    (void)scene_run(&stage.scene);
    second = submit(&stage, "second", 4 * 24 * 60 * MINUTE);
    third = submit(&stage, "third", MINUTE);
    (void)scene_run(&stage.scene);
    estimates = compute(&stage);
    starts_after(&stage, estimates, second, 4 * 24 * 60 * MINUTE);
    is_unknown(&stage, estimates, third, "beyond", "7 days");
    estimate_free(estimates);
    scene_teardown(&stage.scene);
}

static void
an_estimate_is_of_the_time_when_it_was_made(void **state)
{
    struct stage stage;
    struct estimates *estimates;
    struct ref first, second, later;

    (void)state;
    set_stage(&stage);
    first = submit(&stage, "first", 10 * MINUTE);
    (void)scene_run(&stage.scene);
    second = submit(&stage, "second", MINUTE);
    (void)scene_run(&stage.scene);
    is_unknown(&stage, NULL, second, "pending", "computed");
    estimates = compute(&stage);
    stage.scene.now_ms += MINUTE;
    later = submit(&stage, "later", MINUTE);
    starts_after(&stage, estimates, second, 10 * MINUTE);
    is_unknown(&stage, estimates, later, "pending", "computed");
    /* It ran meanwhile and waits anew: what was said before is void. */
    scene_edit(&stage.scene, changes, workload, second);
    workload->waiting_ms = stage.scene.now_ms;
    scene_apply(&stage.scene, changes);
    is_unknown(&stage, estimates, second, "pending", "computed");
    assert_int_equal(scene_state(&stage.scene, first), WORKLOAD_ASSIGNED);
    estimate_free(estimates);
    scene_teardown(&stage.scene);
}

/* One at a time, each for a minute: as many as are decided have an estimate,
 * the last of the queue has none. */
static void
a_queue_too_long_to_look_through_says_so(void **state)
{
    struct stage stage;
    struct estimates *estimates;
    struct ref first = { 0 }, last = { 0 };

    (void)state;
    set_stage(&stage);
    for (int i = 0; i < 40; i++) {
        char name[NAME_MAX_SIZE];

        (void)snprintf(name, sizeof(name), "w%d", i);
        last = submit(&stage, name, MINUTE);
        if (i == 0)
            first = last;
    }
    estimates = compute_by(&stage, 30);
    starts_after(&stage, estimates, first, 0);
    is_unknown(&stage, estimates, last, "depth", "30 decisions");
    estimate_free(estimates);
    scene_teardown(&stage.scene);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            each_waiting_workload_starts_when_those_before_it_have_ended),
        cmocka_unit_test(behind_work_without_an_end_there_is_none),
        cmocka_unit_test(what_only_a_person_can_end_has_none),
        cmocka_unit_test(
            nothing_is_said_about_what_is_further_than_seven_days),
        cmocka_unit_test(an_estimate_is_of_the_time_when_it_was_made),
        cmocka_unit_test(a_queue_too_long_to_look_through_says_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
