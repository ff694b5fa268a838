/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simulate/kin.h"

/* What is admitted, and what a guarantee is worth. */

/* [S1] One large victim frees enough for two; a restart in between does not
 * spend it again, and the third ask gets nothing of it. */
static void
what_one_victim_frees_is_spent_once_S1(void **state)
{
    struct stage s;
    struct ref big, first, second, third;

    (void)state;
    stage_setup(&s, 4);
    cards_of(&s, s.a, 0, CARDS(4));
    cards_of(&s, s.b, CARDS(2), CARDS(4));
    cards_of(&s, s.c, CARDS(2), CARDS(4));
    big = scene_running(&s.scene, (struct job){ .project = s.pa,
                                                .class = s.four,
                                                .priority = s.low });
    first = scene_submit(&s.scene, job_in(&s, s.pb, 2));
    scene_run(&s.scene);
    restart(&s);
    second = scene_submit(&s.scene, job_in(&s, s.pc, 2));
    third = scene_submit(&s.scene, job_in(&s, s.pc, 1));
    restart(&s);
    assert_int_equal(state_of(&s, big), WORKLOAD_PREEMPTING);
    give_way(&s, big);
    restart(&s);
    assert_int_equal(state_of(&s, first), WORKLOAD_ASSIGNED);
    assert_int_equal(state_of(&s, second), WORKLOAD_ASSIGNED);
    assert_true(lifecycle_is_waiting(state_of(&s, third)));
    scene_teardown(&s.scene);
}

/* [S1] Two tenants want a half each of the one card that is taken back: the
 * card is never shared by them. */
static void
a_freed_card_is_not_split_between_two_tenants_S1(void **state)
{
    struct stage s;
    struct ref half, full, first, second;

    (void)state;
    stage_setup(&s, 1);
    half = scene_share(&s.scene, "half", 500, 1000);
    cards_of(&s, s.a, 0, CARDS(1));
    cards_of(&s, s.b, 500, CARDS(1));
    cards_of(&s, s.c, 500, CARDS(1));
    full = scene_running(&s.scene, job_in(&s, s.pa, 1));
    first = scene_submit(&s.scene,
                         (struct job){ .project = s.pb, .class = half });
    second = scene_submit(&s.scene,
                          (struct job){ .project = s.pc, .class = half });
    scene_run(&s.scene);
    give_way(&s, full);
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, first), WORKLOAD_ASSIGNED);
    assert_true(lifecycle_is_waiting(state_of(&s, second)));
    scene_teardown(&s.scene);
}

/* [S2] The default limit, a burst by shares, and a limit that was cut below
 * use are caps as well. */
static void
every_limit_counts_the_whole_request_S2(void **state)
{
    struct stage s;
    struct ref share, quota, work, more;

    (void)state;
    stage_setup(&s, 20);
    share = scene_share(&s.scene, "share", 700, 1000);
    quota = cards_of(&s, s.a, CARDS(5), AMOUNT_NONE); /* so 10 */
    work = scene_running(&s.scene, job_in(&s, s.pa, 9));
    more = scene_submit(&s.scene, (struct job){ .project = s.pa,
                                                .class = share,
                                                .instances = 2 });
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, more), WORKLOAD_GATED);
    assert_int_equal(scene_try(&s.scene, job_in(&s, s.pa, 11)).reason,
                     REASON_LIMIT_NEVER);
    scene_change_quota(&s.scene, quota, 0, CARDS(8));
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, work), WORKLOAD_RUNNING);
    assert_int_equal(state_of(&s, more), WORKLOAD_GATED);
    scene_finish(&s.scene, work, 0);
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, more), WORKLOAD_ASSIGNED);
    scene_teardown(&s.scene);
}

/* [S2] Work that was stopped passes the gate again before it comes back. */
static void
what_comes_back_passes_the_gate_again_S2(void **state)
{
    struct stage s;
    struct ref work, quota;
    struct job job;

    (void)state;
    stage_setup(&s, 4);
    quota = cards_of(&s, s.a, 0, CARDS(4));
    job = job_in(&s, s.pa, 3);
    job.restarts = 3;
    work = scene_running(&s.scene, job);
    scene_change_quota(&s.scene, quota, 0, CARDS(2));
    scene_exit(&s.scene, work, 1);
    scene_release(&s.scene, work);
    scene_wait(&s.scene, 60000);
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, work), WORKLOAD_GATED);
    assert_int_equal(reason_of(&s, work), REASON_LIMIT_NEVER);
    scene_teardown(&s.scene);
}

/* [S3] Three units deep, in another dimension, and at the platform. */
static void
each_of_many_ancestors_is_tested_S3(void **state)
{
    static const enum dimension dimensions[] = {
        DIMENSION_CARDS, DIMENSION_ACCEL_MEMORY, DIMENSION_CPU,
        DIMENSION_MEMORY, DIMENSION_INSTANCES, DIMENSION_WORKLOADS,
    };
    static const int64_t limits[] = { CARDS(1), SCENE_CARD_MIB, 1000,
                                      1024, 1, 1 };

    (void)state;
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
        for (int level = 0; level < 5; level++) {
            struct stage s;
            struct ref at[6], first, second, left, right;

            stage_setup(&s, 4);
            cards_of(&s, s.a, 0, CARDS(4));
            at[0] = s.scene.platform;
            at[1] = s.a;
            at[2] = scene_put(&s.scene, KIND_UNIT, s.a, "u1");
            at[3] = scene_put(&s.scene, KIND_UNIT, at[2], "u2");
            at[4] = scene_put(&s.scene, KIND_UNIT, at[3], "u3");
            left = scene_project(&s.scene, at[4], "left");
            right = scene_project(&s.scene, at[4], "right");
            if (level == 1 && dimensions[i] == DIMENSION_CARDS)
                scene_change_quota(&s.scene,
                                   world_first_child(s.scene.world,
                                                     KIND_QUOTA, s.a),
                                   0, limits[i]);
            else
                scene_quota(&s.scene, at[level], dimensions[i], 0, limits[i]);
            first = scene_submit(&s.scene, job_in(&s, left, 1));
            second = scene_submit(&s.scene, job_in(&s, right, 1));
            scene_run(&s.scene);
            assert_int_equal(state_of(&s, first), WORKLOAD_ASSIGNED);
            assert_int_equal(state_of(&s, second), WORKLOAD_GATED);
            scene_finish(&s.scene, first, 0);
            scene_run(&s.scene);
            assert_int_equal(state_of(&s, second), WORKLOAD_ASSIGNED);
            scene_teardown(&s.scene);
        }
}

/* [S4] In every dimension, card time of the month too, a quota that is made
 * anew knows what is and was used; one with another scope as well. */
static void
a_quota_made_anew_counts_in_every_dimension_S4(void **state)
{
    struct stage s;
    struct ref quota[DIMENSION_COUNT], work;
    int64_t used[DIMENSION_COUNT];
    struct changes *changes;

    (void)state;
    stage_setup(&s, 4);
    cards_of(&s, s.a, 0, CARDS(4));
    for (int d = 0; d < DIMENSION_COUNT; d++)
        quota[d] = scene_quota(&s.scene, s.pa, (enum dimension)d, 0,
                               AMOUNT_MAX / 2);
    work = scene_running(&s.scene, job_in(&s, s.pa, 1));
    scene_wait(&s.scene, 60000);
    scene_finish(&s.scene, work, 0);
    (void)scene_running(&s.scene, job_in(&s, s.pa, 2));
    assert_int_equal(
        world_quota(s.scene.world, quota[DIMENSION_CARD_TIME])->used,
        CARDS(1) * 60000);
    changes = scene_begin(&s.scene);
    for (int d = 0; d < DIMENSION_COUNT; d++) {
        used[d] = world_quota(s.scene.world, quota[d])->used;
        change_delete(changes, quota[d]);
    }
    scene_apply(&s.scene, changes);
    for (int d = 0; d < DIMENSION_COUNT; d++) {
        quota[d] = scene_quota(&s.scene, s.pa, (enum dimension)d, 0, 1);
        assert_int_equal(world_quota(s.scene.world, quota[d])->used, used[d]);
    }
    assert_int_equal(used[DIMENSION_INSTANCES], 2);
    changes = scene_begin(&s.scene);
    {
        struct quota *other =
            change_create(changes, KIND_QUOTA, s.a, "");
        struct ref ref = other->object.self;

        other->dimension = DIMENSION_CARDS;
        other->pool = s.pool;
        other->class = s.one;
        other->limit = CARDS(2);
        scene_apply(&s.scene, changes);
        assert_int_equal(world_quota(s.scene.world, ref)->used, CARDS(2));
    }
    scene_teardown(&s.scene);
}

/* [S7] Cards times run time would wrap into next to nothing, or below zero;
 * the largest limit there is does not let it pass either. */
static void
card_time_that_would_wrap_is_refused_S7(void **state)
{
    static const int64_t runs[] = { INT64_C(922337203685478),
                                    INT64_C(500000000000000), AMOUNT_MAX };
    static const int64_t limits[] = { AMOUNT_MAX / 10, AMOUNT_MAX };

    (void)state;
    for (size_t i = 0; i < 3; i++)
        for (size_t k = 0; k < 2; k++) {
            struct stage s;
            struct job job;

            stage_setup(&s, 20);
            cards_of(&s, s.a, 0, CARDS(20));
            scene_quota(&s.scene, s.a, DIMENSION_CARD_TIME, 0, limits[k]);
            job = job_in(&s, s.pa, 20);
            job.max_run_ms = runs[i];
            assert_int_equal(scene_try(&s.scene, job).state,
                             WORKLOAD_REJECTED);
            assert_int_equal(scene_try(&s.scene, job).reason,
                             REASON_LIMIT_NEVER);
            job.max_run_ms = 1000;
            assert_int_equal(scene_try(&s.scene, job).state, WORKLOAD_QUEUED);
            scene_teardown(&s.scene);
        }
}

/* --- guarantees --- */

/* [S15] Work that cannot be stopped leaves a sibling's guarantee alone. */
static void
fixed_work_spares_what_is_guaranteed_to_siblings_S15(void **state)
{
    struct stage s;
    struct ref other, first, second, sibling;
    struct job job;

    (void)state;
    stage_setup(&s, 8);
    other = scene_project(&s.scene, s.a, "pa2");
    cards_of(&s, s.a, CARDS(4), CARDS(8));
    cards_of(&s, other, CARDS(3), CARDS(8));
    job = job_in(&s, s.pa, 1);
    job.fixed = true;
    first = scene_submit(&s.scene, job);
    second = scene_submit(&s.scene, job);
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, first), WORKLOAD_ASSIGNED);
    assert_int_equal(state_of(&s, second), WORKLOAD_GATED);
    job = job_in(&s, other, 3);
    job.fixed = true;
    sibling = scene_submit(&s.scene, job);
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, sibling), WORKLOAD_ASSIGNED);
    assert_int_equal(state_of(&s, second), WORKLOAD_GATED);
    scene_teardown(&s.scene);
}

/* [S15] Thirds, thousandths, memory, and a guarantee two levels up. */
static void
fixed_work_is_counted_to_the_last_unit_S15(void **state)
{
    static const struct {
        int64_t milli, guaranteed;
        int fit;
    } cases[] = { { 333, 1000, 3 }, { 334, 1000, 2 }, { 501, 1001, 1 },
                  { 999, 1997, 1 }, { 999, 1998, 2 } };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct stage s;
        struct ref share, unit, project;

        stage_setup(&s, 4);
        share = scene_share(&s.scene, "share", cases[i].milli, 1000);
        unit = scene_put(&s.scene, KIND_UNIT, s.a, "u");
        project = scene_project(&s.scene, unit, "p");
        cards_of(&s, s.a, cases[i].guaranteed, CARDS(4));
        cards_of(&s, unit, cases[i].guaranteed, CARDS(4));
        for (int k = 0; k < 4; k++)
            (void)scene_submit(&s.scene, (struct job){ .project = project,
                                                       .class = share,
                                                       .fixed = true });
        scene_run(&s.scene);
        assert_int_equal(count_in(&s, WORKLOAD_ASSIGNED), cases[i].fit);
        assert_int_equal(count_in(&s, WORKLOAD_GATED), 4 - cases[i].fit);
        scene_teardown(&s.scene);
    }
}

static int
check_new(struct stage *s, struct ref node, struct ref pool, struct ref class,
          int64_t guaranteed)
{
    struct changes *changes = scene_begin(&s->scene);
    struct quota *quota = change_create(changes, KIND_QUOTA, node, "");
    struct error err = { 0 };
    int result;

    quota->dimension = DIMENSION_CARDS;
    quota->pool = pool;
    quota->class = class;
    quota->guaranteed = guaranteed;
    quota->limit = AMOUNT_NONE;
    result = quota_check(NULL, changes, quota, &err);
    if (result == 0) {
        scene_apply(&s->scene, changes);
    } else {
        assert_int_equal(err.code, ERROR_QUOTA);
        arena_free(s->scene.arena);
        s->scene.arena = NULL;
    }
    return result;
}

/* [S3] Guarantees are not promised twice by quotas of different scopes: of
 * one pool, of one class, of all. */
static void
no_card_is_guaranteed_twice_by_another_scope_S3(void **state)
{
    const struct ref none = { 0 };
    struct stage s;
    struct ref pool, other;

    (void)state;
    stage_setup(&s, 4);
    pool = scene_pool(&s.scene, "b");
    (void)scene_node(&s.scene, pool, "n2", 4, "a100");
    other = scene_class(&s.scene, "a100.1", "a100", 1);
    assert_int_equal(check_new(&s, s.a, none, none, CARDS(3)), 0);
    assert_int_equal(check_new(&s, s.b, s.pool, none, CARDS(5)), -1);
    assert_int_equal(check_new(&s, s.b, s.pool, none, CARDS(3)), 0);
    assert_int_equal(check_new(&s, s.b, none, none, CARDS(6)), -1);
    /* 3 of any, and the 3 of that pool are among these 4. */
    assert_int_equal(check_new(&s, s.b, none, none, CARDS(4)), 0);
    assert_int_equal(check_new(&s, s.c, none, other, CARDS(2)), -1);
    assert_int_equal(check_new(&s, s.c, none, s.four, CARDS(2)), -1);
    assert_int_equal(check_new(&s, s.c, s.pool, s.one, CARDS(2)), -1);
    assert_int_equal(check_new(&s, s.c, s.pool, s.one, CARDS(1)), 0);
    scene_teardown(&s.scene);
}

/* [S3] Nor below a tenant: a project's guarantee in one pool is a part of what
 * the tenant has in all. */
static void
no_part_of_a_guarantee_is_passed_on_twice_S3(void **state)
{
    const struct ref none = { 0 };
    struct stage s;
    struct ref unit, deep, second;

    (void)state;
    stage_setup(&s, 8);
    unit = scene_put(&s.scene, KIND_UNIT, s.a, "u");
    deep = scene_project(&s.scene, unit, "deep");
    second = scene_project(&s.scene, s.a, "second");
    assert_int_equal(check_new(&s, s.a, none, none, CARDS(4)), 0);
    assert_int_equal(check_new(&s, s.a, s.pool, none, CARDS(4)), 0);
    assert_int_equal(check_new(&s, deep, none, none, CARDS(3)), 0);
    assert_int_equal(check_new(&s, second, s.pool, none, CARDS(2)), -1);
    assert_int_equal(check_new(&s, second, s.pool, none, CARDS(1)), 0);
    assert_int_equal(check_new(&s, s.pa, none, none, CARDS(1)), -1);
    scene_teardown(&s.scene);
}

/* [S17] A guarantee that is taken away altogether, of a unit, in one pool. */
static void
a_guarantee_that_goes_leaves_burst_behind_S17(void **state)
{
    struct stage s;
    struct ref unit, project, own, work[4], peer;
    struct changes *changes;

    (void)state;
    stage_setup(&s, 4);
    unit = scene_put(&s.scene, KIND_UNIT, s.a, "u");
    project = scene_project(&s.scene, unit, "p");
    cards_of(&s, s.a, CARDS(4), CARDS(4));
    own = cards_of(&s, unit, CARDS(4), CARDS(4));
    for (int i = 0; i < 4; i++)
        work[i] = scene_running(&s.scene, job_in(&s, project, 1));
    changes = scene_begin(&s.scene);
    change_delete(changes, own);
    scene_apply(&s.scene, changes);
    cards_of(&s, s.pa, CARDS(2), CARDS(4));
    peer = scene_submit(&s.scene, job_in(&s, s.pa, 2));
    scene_run(&s.scene);
    assert_int_equal(count_in(&s, WORKLOAD_PREEMPTING), 2);
    give_way(&s, work[3]);
    give_way(&s, work[2]);
    restart(&s);
    assert_int_equal(state_of(&s, peer), WORKLOAD_ASSIGNED);
    assert_int_equal(count_in(&s, WORKLOAD_RUNNING), 2);
    scene_teardown(&s.scene);
}

/* [S17] What cannot be stopped runs on after the cut. */
static void
fixed_work_runs_on_after_the_cut_S17(void **state)
{
    struct stage s;
    struct ref quota, fixed, burst, peer;
    struct job job;

    (void)state;
    stage_setup(&s, 4);
    quota = cards_of(&s, s.a, CARDS(4), CARDS(4));
    cards_of(&s, s.b, CARDS(2), CARDS(4));
    job = job_in(&s, s.pa, 2);
    job.fixed = true;
    fixed = scene_running(&s.scene, job);
    burst = scene_running(&s.scene, job_in(&s, s.pa, 2));
    scene_change_quota(&s.scene, quota, CARDS(1), CARDS(4));
    peer = scene_submit(&s.scene, job_in(&s, s.pb, 2));
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, fixed), WORKLOAD_RUNNING);
    give_way(&s, burst);
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, peer), WORKLOAD_ASSIGNED);
    scene_teardown(&s.scene);
}

/* [A37] What all others use of the platform's own limit is no part of a
 * tenant's reason. */
static void
the_platforms_limit_tells_no_use_of_others_A37(void **state)
{
    struct stage s;
    struct ref quota, work;

    (void)state;
    stage_setup(&s, 4);
    cards_of(&s, s.a, 0, CARDS(4));
    cards_of(&s, s.b, 0, CARDS(4));
    quota = cards_of(&s, s.scene.platform, 0, CARDS(4));
    (void)scene_running(&s.scene, job_in(&s, s.pa, 3));
    work = scene_submit(&s.scene, job_in(&s, s.pb, 2));
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, work), WORKLOAD_GATED);
    assert_int_equal(scene_workload(&s.scene, work)->have, 0);
    assert_null(strstr(scene_workload(&s.scene, work)->reason_text, "3 "));
    scene_change_quota(&s.scene, quota, 0, CARDS(1));
    scene_run(&s.scene);
    assert_int_equal(reason_of(&s, work), REASON_LIMIT_NEVER);
    assert_int_equal(scene_workload(&s.scene, work)->have, 0);
    scene_teardown(&s.scene);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_one_victim_frees_is_spent_once_S1),
        cmocka_unit_test(a_freed_card_is_not_split_between_two_tenants_S1),
        cmocka_unit_test(every_limit_counts_the_whole_request_S2),
        cmocka_unit_test(what_comes_back_passes_the_gate_again_S2),
        cmocka_unit_test(each_of_many_ancestors_is_tested_S3),
        cmocka_unit_test(a_quota_made_anew_counts_in_every_dimension_S4),
        cmocka_unit_test(card_time_that_would_wrap_is_refused_S7),
        cmocka_unit_test(fixed_work_spares_what_is_guaranteed_to_siblings_S15),
        cmocka_unit_test(fixed_work_is_counted_to_the_last_unit_S15),
        cmocka_unit_test(no_card_is_guaranteed_twice_by_another_scope_S3),
        cmocka_unit_test(no_part_of_a_guarantee_is_passed_on_twice_S3),
        cmocka_unit_test(a_guarantee_that_goes_leaves_burst_behind_S17),
        cmocka_unit_test(fixed_work_runs_on_after_the_cut_S17),
        cmocka_unit_test(the_platforms_limit_tells_no_use_of_others_A37),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
