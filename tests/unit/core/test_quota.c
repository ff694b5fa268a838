/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/core/scene.h"

#include "core/quota.h"

/* Quotas: what is counted, what fits, and what a change may say. */

struct stage {
    struct scene scene;
    struct ref pool, node, class, tenant, project;
};

static void
stage_setup(struct stage *stage, int cards)
{
    scene_setup(&stage->scene);
    stage->pool = scene_pool(&stage->scene, "a");
    stage->node = scene_node(&stage->scene, stage->pool, "n1", cards, "h100");
    stage->class = scene_class(&stage->scene, "h100.1", "h100", 1);
    stage->tenant = scene_tenant(&stage->scene, "vision");
    stage->project = scene_project(&stage->scene, stage->tenant, "p1");
}

static struct job
job_of(const struct stage *stage, int64_t instances)
{
    return (struct job){ .project = stage->project,
                         .class = stage->class,
                         .instances = instances };
}

/* [S2] Cap 10, used 9, submit 10: denied, not "9 is below the cap". */
static void
request_counts_in_full_against_the_limit_S2(void **state)
{
    struct stage s;
    struct ref big;

    (void)state;
    stage_setup(&s, 20);
    scene_quota(&s.scene, s.tenant, DIMENSION_CARDS, 0, CARDS(10));
    (void)scene_running(&s.scene, job_of(&s, 9));
    big = scene_submit(&s.scene, job_of(&s, 10));
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, big), WORKLOAD_GATED);
    assert_int_equal(scene_workload(&s.scene, big)->reason, REASON_LIMIT);
    assert_int_equal(scene_workload(&s.scene, big)->need, CARDS(10));
    assert_int_equal(scene_workload(&s.scene, big)->have, CARDS(9));
    assert_int_equal(scene_workload(&s.scene, big)->limit, CARDS(10));
    assert_non_null(strstr(scene_workload(&s.scene, big)->reason_text,
                           "tenant vision"));
    scene_teardown(&s.scene);
}

/* [S3] Every ancestor is tested, not the leaf alone. */
static void
every_ancestor_is_tested_S3(void **state)
{
    struct stage s;
    struct ref other, first, second;

    (void)state;
    stage_setup(&s, 20);
    other = scene_project(&s.scene, s.tenant, "p2");
    scene_quota(&s.scene, s.tenant, DIMENSION_CARDS, 0, CARDS(10));
    scene_quota(&s.scene, s.project, DIMENSION_CARDS, 0, CARDS(10));
    scene_quota(&s.scene, other, DIMENSION_CARDS, 0, CARDS(10));
    first = scene_submit(&s.scene, job_of(&s, 8));
    second = scene_submit(&s.scene, (struct job){ .project = other,
                                                  .class = s.class,
                                                  .instances = 8 });
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, first), WORKLOAD_ASSIGNED);
    assert_int_equal(scene_state(&s.scene, second), WORKLOAD_GATED);
    scene_finish(&s.scene, first, 0);
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, second), WORKLOAD_ASSIGNED);
    scene_teardown(&s.scene);
}

/* [S3] Units between tenant and project count too. */
static void
units_between_tenant_and_project_count_S3(void **state)
{
    struct stage s;
    struct ref unit, inner, project, job;

    (void)state;
    stage_setup(&s, 8);
    unit = scene_put(&s.scene, KIND_UNIT, s.tenant, "lab");
    inner = scene_put(&s.scene, KIND_UNIT, unit, "group");
    project = scene_project(&s.scene, inner, "deep");
    scene_quota(&s.scene, s.tenant, DIMENSION_CARDS, 0, CARDS(8));
    scene_quota(&s.scene, unit, DIMENSION_CARDS, 0, CARDS(2));
    job = scene_submit(&s.scene, (struct job){ .project = project,
                                               .class = s.class,
                                               .instances = 3 });
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, job), WORKLOAD_GATED);
    assert_int_equal(scene_workload(&s.scene, job)->reason,
                     REASON_LIMIT_NEVER);
    assert_non_null(
        strstr(scene_workload(&s.scene, job)->reason_text, "unit lab"));
    scene_teardown(&s.scene);
}

/* [S4] A quota that is dropped and made again knows the live use. */
static void
new_quota_counts_what_is_live_S4(void **state)
{
    struct stage s;
    struct ref quota, next;
    struct changes *changes;

    (void)state;
    stage_setup(&s, 4);
    scene_quota(&s.scene, s.tenant, DIMENSION_CARDS, 0, CARDS(4));
    quota = scene_quota(&s.scene, s.project, DIMENSION_MEMORY, 0, 1024);
    (void)scene_running(&s.scene, job_of(&s, 1));
    changes = scene_begin(&s.scene);
    change_delete(changes, quota);
    scene_apply(&s.scene, changes);
    quota = scene_quota(&s.scene, s.project, DIMENSION_MEMORY, 0, 1024);
    assert_int_equal(world_quota(s.scene.world, quota)->used, 1024);
    next = scene_submit(&s.scene, job_of(&s, 1));
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, next), WORKLOAD_GATED);
    assert_true(
        ref_equal(scene_workload(&s.scene, next)->reason_quota, quota));
    scene_teardown(&s.scene);
}

/* [S7] A product that would wrap is larger than any limit. */
static void
amounts_that_would_wrap_never_fit_S7(void **state)
{
    struct stage s;
    struct job job;
    struct verdict verdict;

    (void)state;
    stage_setup(&s, 4);
    scene_quota(&s.scene, s.tenant, DIMENSION_CARDS, 0, CARDS(4));
    scene_quota(&s.scene, s.tenant, DIMENSION_MEMORY, 0, 1000000);
    job = job_of(&s, 4096);
    job.memory_mib = INT64_MAX / 4096 + 1;
    verdict = scene_try(&s.scene, job);
    assert_int_equal(verdict.state, WORKLOAD_REJECTED);
    job = job_of(&s, 1);
    job.max_run_ms = INT64_MAX / 1000;
    scene_quota(&s.scene, s.tenant, DIMENSION_CARD_TIME, 0, AMOUNT_MAX / 2);
    verdict = scene_try(&s.scene, job);
    assert_int_equal(verdict.state, WORKLOAD_REJECTED);
    assert_int_equal(verdict.reason, REASON_LIMIT_NEVER);
    job.max_run_ms = 1000;
    assert_int_equal(scene_try(&s.scene, job).state, WORKLOAD_QUEUED);
    scene_teardown(&s.scene);
}

/* [S15] Two non-preemptible shares of 600 do not fit a guarantee of 1. */
static void
fixed_work_stays_within_the_guarantee_in_exact_units_S15(void **state)
{
    struct stage s;
    struct ref share, first, second;
    struct job job;

    (void)state;
    stage_setup(&s, 4);
    share = scene_share(&s.scene, "share.6", 600, 1000);
    scene_quota(&s.scene, s.tenant, DIMENSION_CARDS, CARDS(1), CARDS(4));
    job = (struct job){ .project = s.project, .class = share, .fixed = true };
    first = scene_submit(&s.scene, job);
    second = scene_submit(&s.scene, job);
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, first), WORKLOAD_ASSIGNED);
    assert_int_equal(scene_state(&s.scene, second), WORKLOAD_GATED);
    job.fixed = false; /* burst may go above */
    second = scene_submit(&s.scene, job);
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, second), WORKLOAD_ASSIGNED);
    scene_teardown(&s.scene);
}

/* [S15] The guarantee of each ancestor counts, and one must exist. */
static void
fixed_work_needs_a_guarantee_at_each_ancestor_S15(void **state)
{
    struct stage s;
    struct job job;
    struct verdict verdict;

    (void)state;
    stage_setup(&s, 4);
    scene_quota(&s.scene, s.project, DIMENSION_CARDS, 0, CARDS(4));
    scene_quota(&s.scene, s.tenant, DIMENSION_CARDS, 0, CARDS(4));
    job = job_of(&s, 1);
    job.fixed = true;
    verdict = scene_try(&s.scene, job);
    assert_int_equal(verdict.state, WORKLOAD_REJECTED);
    scene_teardown(&s.scene);
}

/* Another dimension than cards holds as well. */
static void
all_dimensions_are_limits(void **state)
{
    static const struct {
        enum dimension dimension;
        int64_t limit;
    } cases[] = {
        { DIMENSION_CPU, 1999 },       { DIMENSION_MEMORY, 2047 },
        { DIMENSION_INSTANCES, 1 },    { DIMENSION_WORKLOADS, 1 },
        { DIMENSION_ACCEL_MEMORY, 2 * SCENE_CARD_MIB - 1 },
        { DIMENSION_CARDS, 1999 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct stage s;
        struct ref first, second;

        stage_setup(&s, 4);
        if (cases[i].dimension != DIMENSION_CARDS)
            scene_quota(&s.scene, s.tenant, DIMENSION_CARDS, 0, CARDS(4));
        scene_quota(&s.scene, s.tenant, cases[i].dimension, 0,
                    cases[i].limit);
        first = scene_submit(&s.scene, job_of(&s, 1));
        second = scene_submit(&s.scene, job_of(&s, 1));
        scene_run(&s.scene);
        assert_int_equal(scene_state(&s.scene, first), WORKLOAD_ASSIGNED);
        assert_int_equal(scene_state(&s.scene, second), WORKLOAD_GATED);
        scene_teardown(&s.scene);
    }
}

/* Card time: a run time is reserved in full, and given back when unused. */
static void
card_time_is_reserved_and_given_back(void **state)
{
    struct stage s;
    struct ref first, second;
    struct job job;
    int64_t hour = 3600000;

    (void)state;
    stage_setup(&s, 4);
    scene_quota(&s.scene, s.tenant, DIMENSION_CARDS, 0, CARDS(4));
    scene_quota(&s.scene, s.project, DIMENSION_CARD_TIME, 0, 1000 * 3 * hour);
    job = job_of(&s, 1);
    job.max_run_ms = 2 * hour;
    first = scene_running(&s.scene, job);
    second = scene_submit(&s.scene, job);
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, second), WORKLOAD_GATED);
    assert_int_equal(scene_workload(&s.scene, second)->reason,
                     REASON_CARD_TIME);
    scene_wait(&s.scene, hour / 2);
    scene_finish(&s.scene, first, 0);
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, second), WORKLOAD_ASSIGNED);
    scene_teardown(&s.scene);
}

/* Longest run times end work, with notice. */
static void
longest_run_time_is_enforced(void **state)
{
    struct stage s;
    struct ref work;
    struct job job;

    (void)state;
    stage_setup(&s, 1);
    job = job_of(&s, 1);
    job.max_run_ms = 60000;
    work = scene_running(&s.scene, job);
    scene_wait(&s.scene, 60000);
    scene_run(&s.scene);
    assert_int_equal(s.scene.stopped, 1);
    assert_int_equal(scene_state(&s.scene, work), WORKLOAD_CANCELLING);
    scene_exit(&s.scene, work, 143);
    scene_release(&s.scene, work);
    assert_int_equal(scene_state(&s.scene, work), WORKLOAD_FAILED);
    scene_teardown(&s.scene);
}

/* A quota of one pool or class leaves the others alone. */
static void
quota_of_a_pool_counts_there_alone(void **state)
{
    struct stage s;
    struct ref other, here, there;
    struct changes *changes;
    struct quota *quota;
    struct job job;

    (void)state;
    stage_setup(&s, 2);
    other = scene_pool(&s.scene, "b");
    (void)scene_node(&s.scene, other, "n2", 2, "h100");
    scene_quota(&s.scene, s.tenant, DIMENSION_CARDS, 0, CARDS(4));
    changes = scene_begin(&s.scene);
    quota = change_create(changes, KIND_QUOTA, s.project, "");
    quota->dimension = DIMENSION_CARDS;
    quota->pool = other;
    quota->limit = 0;
    scene_apply(&s.scene, changes);
    job = job_of(&s, 1);
    job.pool = s.pool;
    here = scene_submit(&s.scene, job);
    job.pool = other;
    there = scene_submit(&s.scene, job);
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, here), WORKLOAD_ASSIGNED);
    assert_int_equal(scene_state(&s.scene, there), WORKLOAD_GATED);
    scene_teardown(&s.scene);
}

/* A tenant without any quota for cards has the platform's free limit. */
static void
tenant_without_quota_has_the_free_limit(void **state)
{
    struct stage s;
    struct ref first, second;

    (void)state;
    stage_setup(&s, 4);
    assert_int_equal(scene_try(&s.scene, job_of(&s, 2)).state,
                     WORKLOAD_REJECTED);
    first = scene_submit(&s.scene, job_of(&s, 1));
    second = scene_submit(&s.scene, job_of(&s, 1));
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, first), WORKLOAD_ASSIGNED);
    assert_int_equal(scene_state(&s.scene, second), WORKLOAD_GATED);
    scene_teardown(&s.scene);
}

/* Without a limit of its own a guarantee may burst to the platform's factor,
 * never above what one tenant may get. */
static void
default_limit_is_a_multiple_of_the_guarantee(void **state)
{
    struct stage s;
    struct ref ref;

    (void)state;
    stage_setup(&s, 8);
    ref = scene_quota(&s.scene, s.tenant, DIMENSION_CARDS, CARDS(3),
                      AMOUNT_NONE);
    assert_int_equal(quota_limit(s.scene.world,
                                 world_quota(s.scene.world, ref)),
                     CARDS(6));
    scene_change_quota(&s.scene, ref, CARDS(5), AMOUNT_NONE);
    assert_int_equal(quota_limit(s.scene.world,
                                 world_quota(s.scene.world, ref)),
                     CARDS(8));
    scene_teardown(&s.scene);
}

/* --- changes --- */

static int
check_new(struct stage *s, struct ref node, int64_t guaranteed, int64_t limit,
          struct error *err)
{
    struct changes *changes = scene_begin(&s->scene);
    struct quota *quota = change_create(changes, KIND_QUOTA, node, "");
    int result;

    quota->dimension = DIMENSION_CARDS;
    quota->guaranteed = guaranteed;
    quota->limit = limit;
    result = quota_check(NULL, changes, quota, err);
    arena_free(s->scene.arena);
    s->scene.arena = NULL;
    return result;
}

static void
guarantees_below_sum_to_at_most_the_one_above(void **state)
{
    struct stage s;
    struct ref other;
    struct error err = { 0 };

    (void)state;
    stage_setup(&s, 8);
    other = scene_project(&s.scene, s.tenant, "p2");
    assert_int_equal(check_new(&s, s.project, CARDS(1), CARDS(1), &err), -1);
    scene_quota(&s.scene, s.tenant, DIMENSION_CARDS, CARDS(4), CARDS(6));
    assert_int_equal(check_new(&s, s.project, CARDS(5), CARDS(6), &err), -1);
    scene_quota(&s.scene, s.project, DIMENSION_CARDS, CARDS(3), CARDS(6));
    assert_int_equal(check_new(&s, other, CARDS(2), CARDS(6), &err), -1);
    assert_int_equal(err.code, ERROR_QUOTA);
    assert_non_null(strstr(err.text, "5 cards"));
    assert_non_null(strstr(err.text, "4 cards"));
    assert_int_equal(check_new(&s, other, CARDS(1), CARDS(7), &err), -1);
    assert_int_equal(check_new(&s, other, CARDS(1), CARDS(6), &err), 0);
    assert_int_equal(check_new(&s, s.project, CARDS(1), CARDS(6), &err), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    scene_teardown(&s.scene);
}

static void
guarantees_of_tenants_sum_to_at_most_what_is_healthy(void **state)
{
    struct stage s;
    struct ref other;
    struct error err = { 0 };

    (void)state;
    stage_setup(&s, 4);
    other = scene_tenant(&s.scene, "research");
    scene_quota(&s.scene, s.tenant, DIMENSION_CARDS, CARDS(3), CARDS(4));
    assert_int_equal(check_new(&s, other, CARDS(1), CARDS(4), &err), 0);
    {
        scene_edit(&s.scene, changes, card,
                   scene_card_of(&s.scene, s.node, 0));

        card->health = HEALTH_FAILED;
        scene_apply(&s.scene, changes);
    }
    assert_int_equal(check_new(&s, other, CARDS(1), CARDS(4), &err), -1);
    assert_int_equal(check_new(&s, other, 0, CARDS(5), &err), -1);
    scene_teardown(&s.scene);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(request_counts_in_full_against_the_limit_S2),
        cmocka_unit_test(every_ancestor_is_tested_S3),
        cmocka_unit_test(units_between_tenant_and_project_count_S3),
        cmocka_unit_test(new_quota_counts_what_is_live_S4),
        cmocka_unit_test(amounts_that_would_wrap_never_fit_S7),
        cmocka_unit_test(
            fixed_work_stays_within_the_guarantee_in_exact_units_S15),
        cmocka_unit_test(fixed_work_needs_a_guarantee_at_each_ancestor_S15),
        cmocka_unit_test(all_dimensions_are_limits),
        cmocka_unit_test(card_time_is_reserved_and_given_back),
        cmocka_unit_test(longest_run_time_is_enforced),
        cmocka_unit_test(quota_of_a_pool_counts_there_alone),
        cmocka_unit_test(tenant_without_quota_has_the_free_limit),
        cmocka_unit_test(default_limit_is_a_multiple_of_the_guarantee),
        cmocka_unit_test(guarantees_below_sum_to_at_most_the_one_above),
        cmocka_unit_test(guarantees_of_tenants_sum_to_at_most_what_is_healthy),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
