/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/core/scene.h"

#include "core/forecast.h"

#define SECOND INT64_C(1000)

struct sight {
    int count;
    struct forecast_event list[32];
};

static void
note(void *context, const struct world *world,
     const struct forecast_event *event)
{
    struct sight *seen = context;

    assert_non_null(world);
    assert_true(seen->count < 32);
    seen->list[seen->count++] = *event;
}

static void
saw(const struct sight *seen, int at, enum forecast_what what,
    struct ref workload, int64_t after_ms)
{
    assert_true(at < seen->count);
    assert_int_equal(seen->list[at].what, what);
    assert_true(ref_equal(seen->list[at].workload, workload));
    assert_int_equal(seen->list[at].at_ms - SCENE_NOW, after_ms);
}

/* One node of four cards, two projects: p1 is guaranteed 2 cards of 4. */
struct stage {
    struct scene scene;
    struct ref class, p1, p2;
};

static void
set_stage(struct stage *stage)
{
    struct scene *scene = &stage->scene;
    struct ref t1, t2;

    scene_setup(scene);
    (void)scene_node(scene, scene_pool(scene, "a"), "n1", 4, "h100");
    stage->class = scene_class(scene, "h100.2", "h100", 2);
    t1 = scene_tenant(scene, "t1");
    t2 = scene_tenant(scene, "t2");
    (void)scene_quota(scene, t1, DIMENSION_CARDS, CARDS(2), CARDS(4));
    (void)scene_quota(scene, t2, DIMENSION_CARDS, 0, CARDS(4));
    stage->p1 = scene_project(scene, t1, "p1");
    stage->p2 = scene_project(scene, t2, "p2");
}

static struct forecast *
look_ahead(struct stage *stage, struct sight *seen,
           const struct forecast_options *options)
{
    struct forecast *forecast = forecast_new(
        world_clone(stage->scene.world), stage->scene.now_ms, options);

    memset(seen, 0, sizeof(*seen));
    forecast_listen(forecast, note, seen);
    return forecast;
}

static void
waiting_work_starts_when_running_work_ends(void **state)
{
    const struct forecast_options options = { 2 * SECOND, 5 * SECOND, -1 };
    struct stage stage;
    struct sight seen;
    struct forecast *forecast;
    struct ref first, second, third;

    (void)state;
    set_stage(&stage);
    first = scene_submit(&stage.scene, (struct job){ .project = stage.p2,
                                                     .class = stage.class,
                                                     .name = "a",
                                                     .max_run_ms =
                                                         60 * SECOND });
    second = scene_submit(&stage.scene, (struct job){ .project = stage.p2,
                                                      .class = stage.class,
                                                      .name = "b" });
    third = scene_submit(&stage.scene, (struct job){ .project = stage.p2,
                                                     .class = stage.class,
                                                     .name = "c",
                                                     .max_run_ms =
                                                         10 * SECOND });
    forecast = look_ahead(&stage, &seen, &options);
    assert_int_equal(forecast_run(forecast, SCENE_NOW + 3600 * SECOND, 1000),
                     FORECAST_QUIET);
    saw(&seen, 0, FORECAST_START, first, 0);
    saw(&seen, 1, FORECAST_START, second, 0);
    /* Runs from 2 s, for 60 s; its tenant takes the cards before the scrub. */
    saw(&seen, 2, FORECAST_END, first, 62 * SECOND);
    saw(&seen, 3, FORECAST_START, third, 62 * SECOND);
    saw(&seen, 4, FORECAST_END, third, 74 * SECOND);
    assert_int_equal(seen.count, 5);
    /* The world that it was made from has not moved. */
    assert_int_equal(scene_state(&stage.scene, first), WORKLOAD_QUEUED);
    forecast_free(forecast);
    scene_teardown(&stage.scene);
}

static void
a_guarantee_preempts_and_the_scrub_comes_first(void **state)
{
    const struct forecast_options options = { 0, 5 * SECOND, -1 };
    struct stage stage;
    struct sight seen;
    struct forecast *forecast;
    struct ref older, newer, claim;

    (void)state;
    set_stage(&stage);
    older = scene_running(&stage.scene, (struct job){ .project = stage.p2,
                                                      .class = stage.class,
                                                      .name = "a" });
    newer = scene_running(&stage.scene, (struct job){ .project = stage.p2,
                                                      .class = stage.class,
                                                      .name = "b" });
    scene_wait(&stage.scene, 100 * SECOND);
    world_each(stage.scene.world, KIND_NODE, node)
        world_touch_node(stage.scene.world, node, stage.scene.now_ms);
    claim = scene_submit(&stage.scene, (struct job){ .project = stage.p1,
                                                     .class = stage.class,
                                                     .name = "c" });
    forecast = look_ahead(&stage, &seen, &options);
    (void)forecast_run(forecast, SCENE_NOW + 400 * SECOND, 1000);
    saw(&seen, 0, FORECAST_PREEMPT, newer, 100 * SECOND);
    /* The platform's grace is 120 s. */
    saw(&seen, 1, FORECAST_START, claim, 225 * SECOND);
    assert_int_equal(seen.count, 2);
    assert_int_equal(
        world_workload(forecast_world(forecast), older)->state,
        WORKLOAD_RUNNING);
    assert_int_equal(forecast_now_ms(forecast), SCENE_NOW + 400 * SECOND);
    forecast_free(forecast);
    scene_teardown(&stage.scene);
}

static void
a_preempted_run_goes_on_from_its_checkpoint(void **state)
{
    const struct forecast_options options = { 0, 0, 0 };
    struct stage stage;
    struct sight seen;
    struct forecast *forecast;
    struct changes *changes;
    struct ref low, other, claim;

    (void)state;
    set_stage(&stage);
    other = scene_running(&stage.scene, (struct job){ .project = stage.p2,
                                                      .class = stage.class,
                                                      .name = "a" });
    low = scene_submit(&stage.scene, (struct job){ .project = stage.p2,
                                                   .class = stage.class,
                                                   .name = "b" });
    forecast = look_ahead(&stage, &seen, &options);
    forecast_duration(forecast, low, 100 * SECOND, 15 * SECOND);
    forecast_duration(forecast, other, 200 * SECOND, 0);
    (void)forecast_run(forecast, SCENE_NOW + 40 * SECOND, 1000);
    changes = forecast_begin(forecast);
    claim = scene_image(changes, &(struct job){ .project = stage.p1,
                                                .class = stage.class,
                                                .name = "c" })
                ->object.self;
    {
        struct workload *workload = change_update(changes, claim);
        struct verdict verdict;

        verdict_set(&verdict, WORKLOAD_QUEUED, REASON_NOT_EVALUATED,
                    "submitted; not yet evaluated");
        reason_put(workload, &verdict, forecast_now_ms(forecast));
        workload->submitted_ms = forecast_now_ms(forecast);
    }
    forecast_apply(forecast, changes);
    forecast_duration(forecast, claim, 20 * SECOND, 0);
    assert_int_equal(forecast_run(forecast, SCENE_NOW + 3600 * SECOND, 1000),
                     FORECAST_QUIET);
    saw(&seen, 0, FORECAST_START, low, 0);
    saw(&seen, 1, FORECAST_PREEMPT, low, 40 * SECOND);
    saw(&seen, 2, FORECAST_START, claim, 40 * SECOND);
    saw(&seen, 3, FORECAST_END, claim, 60 * SECOND);
    saw(&seen, 4, FORECAST_START, low, 60 * SECOND);
    /* 40 s done, 30 s of them saved: 70 s are left. */
    saw(&seen, 5, FORECAST_END, low, 130 * SECOND);
    saw(&seen, 6, FORECAST_END, other, 200 * SECOND);
    assert_int_equal(seen.count, 7);
    forecast_free(forecast);
    scene_teardown(&stage.scene);
}

static void
a_budget_of_decisions_ends_it(void **state)
{
    const struct forecast_options options = { 0, 0, 0 };
    struct stage stage;
    struct sight seen;
    struct forecast *forecast;

    (void)state;
    set_stage(&stage);
    for (int i = 0; i < 2; i++)
        (void)scene_submit(&stage.scene,
                           (struct job){ .project = stage.p2,
                                         .class = stage.class,
                                         .name = i == 0 ? "a" : "b" });
    forecast = look_ahead(&stage, &seen, &options);
    assert_int_equal(forecast_run(forecast, SCENE_NOW + SECOND, 1),
                     FORECAST_BUDGET);
    assert_int_equal(seen.count, 1);
    forecast_free(forecast);
    scene_teardown(&stage.scene);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waiting_work_starts_when_running_work_ends),
        cmocka_unit_test(a_guarantee_preempts_and_the_scrub_comes_first),
        cmocka_unit_test(a_preempted_run_goes_on_from_its_checkpoint),
        cmocka_unit_test(a_budget_of_decisions_ends_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
