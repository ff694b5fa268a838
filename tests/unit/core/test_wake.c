/* SPDX-License-Identifier: Apache-2.0 */
#include "scene.h"

#include "core/month.h"

/* What wakes waiting work besides places and limits.  scene_run compares with
 * an evaluation of all that waits. */

struct stage {
    struct scene scene;
    struct ref pool, node, class;
    struct ref tenants[2], projects[2];
};

static void
stage_setup(struct stage *s)
{
    struct scene *scene = &s->scene;

    memset(s, 0, sizeof(*s));
    scene_setup(scene);
    s->pool = scene_pool(scene, "p");
    s->node = scene_node(scene, s->pool, "n1", 4, "h100");
    s->class = scene_class(scene, "x1", "h100", 1);
    for (int i = 0; i < 2; i++) {
        s->tenants[i] = scene_tenant(scene, i == 0 ? "a" : "b");
        s->projects[i] =
            scene_project(scene, s->tenants[i], i == 0 ? "pa" : "pb");
    }
}

static struct job
job_of(const struct stage *s, int tenant)
{
    return (struct job){ .project = s->projects[tenant], .class = s->class };
}

/* Its priority class may use 5 card-hours a month, whoever uses them. */
static void
a_month_that_another_tenant_gives_back_lets_work_start(void **state)
{
    struct stage s;
    struct scene *scene = &s.scene;
    struct ref urgent, first, second;
    struct job job;

    (void)state;
    stage_setup(&s);
    for (int i = 0; i < 2; i++)
        scene_quota(scene, s.tenants[i], DIMENSION_CARDS, 0, CARDS(4));
    urgent = scene_priority(scene, "urgent", 900);
    {
        scene_edit(scene, changes, priority, urgent);
        priority->card_time = 5 * 1000 * HOUR_MS;
        scene_apply(scene, changes);
    }
    job = job_of(&s, 0);
    job.priority = urgent;
    job.max_run_ms = 4 * HOUR_MS;
    first = scene_running(scene, job);
    job.project = s.projects[1];
    job.pool = scene_pool(scene, "q");
    scene_node(scene, job.pool, "n2", 4, "h100");
    second = scene_submit(scene, job);
    scene_run(scene);
    assert_int_equal(scene_workload(scene, second)->reason,
                     REASON_GOVERNANCE);
    scene_finish(scene, first, 0);
    scene_run(scene);
    assert_int_equal(scene_state(scene, second), WORKLOAD_ASSIGNED);
    scene_teardown(scene);
}

static void
a_limit_that_was_raised_for_a_time_falls_by_itself(void **state)
{
    struct stage s;
    struct scene *scene = &s.scene;
    struct ref limited, waiting;
    struct job job;

    (void)state;
    stage_setup(&s);
    job = job_of(&s, 0);
    limited = scene_quota(scene, s.tenants[0], DIMENSION_CARDS, 0, CARDS(1));
    {
        scene_edit(scene, changes, quota, limited);
        quota->raised_limit = CARDS(2);
        quota->raised_until_ms = scene->now_ms + HOUR_MS;
        scene_apply(scene, changes);
    }
    (void)scene_running(scene, job);
    job.instances = 2;
    waiting = scene_submit(scene, job);
    scene_run(scene);
    assert_int_equal(scene_workload(scene, waiting)->limit, CARDS(2));
    scene_wait(scene, HOUR_MS - 1000);
    scene_run(scene);
    assert_int_equal(scene_workload(scene, waiting)->limit, CARDS(2));
    assert_true(schedule_due_ms(scene->scheduler) <= scene->now_ms + 1000);
    scene_wait(scene, 1000);
    scene_run(scene);
    assert_int_equal(scene_workload(scene, waiting)->limit, CARDS(1));
    scene_teardown(scene);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            a_month_that_another_tenant_gives_back_lets_work_start),
        cmocka_unit_test(a_limit_that_was_raised_for_a_time_falls_by_itself),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
