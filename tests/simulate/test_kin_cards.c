/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simulate/kin.h"

/* What stands on cards, and what events and reasons make of work. */

/* [S34] A gang of shares fills cards exactly; another tenant's wait, and
 * whole cards find none. */
static void
a_gang_of_shares_fills_cards_and_no_more_S34(void **state)
{
    struct stage s;
    struct ref half, gang, other, whole;

    (void)state;
    stage_setup(&s, 8);
    half = scene_share(&s.scene, "half", 500, 40960);
    cards_of(&s, s.a, 0, CARDS(64));
    cards_of(&s, s.b, 0, CARDS(64));
    gang = scene_submit(&s.scene, (struct job){ .project = s.pa,
                                                .class = half,
                                                .instances = 15 });
    other = scene_submit(&s.scene,
                         (struct job){ .project = s.pb, .class = half });
    whole = scene_submit(&s.scene,
                         (struct job){ .project = s.pa, .class = s.one });
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, gang), WORKLOAD_ASSIGNED);
    assert_int_equal(state_of(&s, other), WORKLOAD_QUEUED);
    assert_int_equal(state_of(&s, whole), WORKLOAD_QUEUED);
    other = scene_submit(&s.scene,
                         (struct job){ .project = s.pa, .class = half });
    restart(&s);
    assert_int_equal(state_of(&s, other), WORKLOAD_ASSIGNED);
    scene_teardown(&s.scene);
}

/* [S35] Shares of two sizes, and a quota of accelerator memory, in MiB. */
static void
memory_of_cards_is_floored_never_rounded_S35(void **state)
{
    struct stage s;
    struct ref node, small, large;

    (void)state;
    stage_setup(&s, 0);
    node = scene_node(&s.scene, s.pool, "l40", 0, "l40");
    (void)scene_card(&s.scene, node, 0, "l40", 46068);
    (void)scene_card(&s.scene, node, 1, "l40", 46068);
    small = scene_share(&s.scene, "small", 1, 2000);
    large = scene_share(&s.scene, "large", 1, 23035);
    cards_of(&s, s.a, 0, CARDS(2));
    (void)scene_running(&s.scene,
                        (struct job){ .project = s.pa, .class = large });
    for (int i = 0; i < 40; i++)
        (void)scene_submit(&s.scene,
                           (struct job){ .project = s.pa, .class = small });
    scene_run(&s.scene);
    assert_int_equal(count_in(&s, WORKLOAD_ASSIGNED), 11 + 23);
    scene_teardown(&s.scene);
    stage_setup(&s, 2);
    small = scene_share(&s.scene, "small", 1, 2000);
    cards_of(&s, s.a, 0, CARDS(2));
    scene_quota(&s.scene, s.a, DIMENSION_ACCEL_MEMORY, 0, 46068);
    for (int i = 0; i < 40; i++)
        (void)scene_submit(&s.scene,
                           (struct job){ .project = s.pa, .class = small });
    scene_run(&s.scene);
    assert_int_equal(count_in(&s, WORKLOAD_ASSIGNED), 23);
    scene_teardown(&s.scene);
}

/* [S45] A gang gives back as a whole before it is done, each part once; what
 * was stopped before it began is still there until that is confirmed. */
static void
parts_of_a_gang_come_back_one_by_one_S45(void **state)
{
    struct stage s;
    struct ref quota, gang, unborn, next, first;
    struct changes *changes;

    (void)state;
    stage_setup(&s, 3);
    quota = cards_of(&s, s.a, 0, CARDS(3));
    gang = scene_running(&s.scene, job_in(&s, s.pa, 2));
    unborn = scene_submit(&s.scene, job_in(&s, s.pa, 1));
    scene_run(&s.scene);
    next = scene_submit(&s.scene, job_in(&s, s.pa, 2));
    changes = scene_begin(&s.scene);
    lifecycle_stop(changes, gang, WORKLOAD_CANCELLING, "cancelled", NULL);
    lifecycle_stop(changes, unborn, WORKLOAD_CANCELLING, "cancelled", NULL);
    scene_apply(&s.scene, changes);
    scene_run(&s.scene);
    assert_int_equal(world_quota(s.scene.world, quota)->used, CARDS(3));
    scene_exit(&s.scene, gang, 143);
    first = world_first_child(s.scene.world, KIND_INSTANCE, gang);
    for (int i = 0; i < 2; i++) { /* told twice */
        changes = scene_begin(&s.scene);
        lifecycle_released(changes, first);
        scene_apply(&s.scene, changes);
    }
    restart(&s);
    assert_int_equal(world_quota(s.scene.world, quota)->used, CARDS(2));
    assert_int_equal(state_of(&s, gang), WORKLOAD_CANCELLING);
    assert_true(lifecycle_is_waiting(state_of(&s, next)));
    scene_release(&s.scene, gang);
    assert_int_equal(state_of(&s, gang), WORKLOAD_CANCELLED);
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, next), WORKLOAD_ASSIGNED);
    assert_int_equal(state_of(&s, unborn), WORKLOAD_CANCELLING);
    assert_int_equal(world_quota(s.scene.world, quota)->used, CARDS(3));
    scene_teardown(&s.scene);
}

/* [S41] A card that breaks under its holder is neither free nor anybody
 * else's when the holder ends; the healthy ones beside it are. */
static void
health_is_of_each_card_S41(void **state)
{
    struct stage s;
    struct ref work[4], next, all, bad;

    (void)state;
    stage_setup(&s, 4);
    cards_of(&s, s.a, 0, CARDS(8));
    for (int i = 0; i < 4; i++)
        work[i] = scene_running(&s.scene, job_in(&s, s.pa, 1));
    bad = world_binding(s.scene.world,
                        world_first_child(s.scene.world, KIND_BINDING,
                                          scene_instance(&s.scene, work[1])))
              ->card;
    {
        scene_edit(&s.scene, changes, card, bad);
        card->health = HEALTH_FAILED;
        scene_apply(&s.scene, changes);
    }
    all = scene_submit(&s.scene, job_in(&s, s.pa, 4));
    next = scene_submit(&s.scene, job_in(&s, s.pa, 1));
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, next), WORKLOAD_QUEUED);
    scene_finish(&s.scene, work[1], 0);
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, next), WORKLOAD_QUEUED);
    scene_finish(&s.scene, work[0], 0);
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, next), WORKLOAD_ASSIGNED);
    assert_int_equal(state_of(&s, all), WORKLOAD_QUEUED);
    scene_teardown(&s.scene);
}

/* [S48] A gang of which one member cannot start gives all back and does not
 * go to that node first again. */
static void
a_gang_that_cannot_start_goes_elsewhere_S48(void **state)
{
    struct stage s;
    struct ref work, bad;
    struct changes *changes;

    (void)state;
    stage_setup(&s, 2);
    (void)scene_node(&s.scene, s.pool, "n2", 2, "h100");
    cards_of(&s, s.a, 0, CARDS(4));
    work = scene_submit(&s.scene, job_in(&s, s.pa, 2));
    scene_run(&s.scene);
    bad = world_instance(s.scene.world, scene_instance(&s.scene, work))->node;
    changes = scene_begin(&s.scene);
    lifecycle_start_failed(changes, scene_instance(&s.scene, work), "full");
    scene_apply(&s.scene, changes);
    scene_release(&s.scene, work);
    scene_scrub(&s.scene);
    assert_int_equal(reason_of(&s, work), REASON_BACKOFF);
    assert_int_equal(world_count(s.scene.world, KIND_INSTANCE), 2);
    scene_wait(&s.scene, 4000);
    restart(&s);
    assert_int_equal(state_of(&s, work), WORKLOAD_QUEUED);
    scene_wait(&s.scene, 2000);
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, work), WORKLOAD_ASSIGNED);
    assert_false(ref_equal(
        world_instance(s.scene.world, scene_instance(&s.scene, work))->node,
        bad));
    scene_teardown(&s.scene);
}

/* --- states --- */

/* [S10] A service, a restart, a cancelled and a failed workload: no event of
 * an earlier attempt brings them back or charges them. */
static void
no_late_event_brings_work_back_S10(void **state)
{
    static const int ends[] = { WORKLOAD_CANCELLED, WORKLOAD_FAILED,
                                WORKLOAD_SUCCEEDED };

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct stage s;
        struct ref work, quota, instance;
        struct changes *changes;
        struct job job;

        stage_setup(&s, 2);
        quota = cards_of(&s, s.a, 0, CARDS(2));
        job = job_in(&s, s.pa, 2);
        job.kind = i == 0 ? WORKLOAD_SERVICE : WORKLOAD_INTERACTIVE;
        work = scene_running(&s.scene, job);
        instance = scene_instance(&s.scene, work);
        changes = scene_begin(&s.scene);
        if (ends[i] == WORKLOAD_CANCELLED)
            lifecycle_stop(changes, work, WORKLOAD_CANCELLING, "cancelled",
                           NULL);
        scene_apply(&s.scene, changes);
        scene_exit(&s.scene, work, ends[i] == WORKLOAD_SUCCEEDED ? 0 : 1);
        scene_release(&s.scene, work);
        assert_int_equal(state_of(&s, work), ends[i]);
        for (int round = 0; round < 3; round++) {
            changes = scene_begin(&s.scene);
            lifecycle_back(changes, instance);
            lifecycle_starting(changes, instance);
            lifecycle_started(changes, instance);
            lifecycle_start_failed(changes, instance, "late");
            lifecycle_exited(changes, instance, round, round == 1);
            lifecycle_lost(changes, s.node);
            lifecycle_released(changes, instance);
            lifecycle_stop(changes, work, WORKLOAD_CANCELLING, "x", NULL);
            scene_apply(&s.scene, changes);
            scene_wait(&s.scene, 3600000);
            restart(&s);
        }
        assert_int_equal(state_of(&s, work), ends[i]);
        assert_int_equal(world_quota(s.scene.world, quota)->used, 0);
        scene_teardown(&s.scene);
    }
}

/* [S12b] Work that is preempted, then cancelled, then told gone twice. */
static void
a_second_wish_to_stop_releases_nothing_twice_S12b(void **state)
{
    struct stage s;
    struct ref work, other, quota, running;
    struct changes *changes;

    (void)state;
    stage_setup(&s, 2);
    quota = cards_of(&s, s.a, 0, CARDS(2));
    running = scene_quota(&s.scene, s.a, DIMENSION_WORKLOADS, 0, 2);
    work = scene_running(&s.scene, job_in(&s, s.pa, 1));
    other = scene_running(&s.scene, job_in(&s, s.pa, 1));
    changes = scene_begin(&s.scene);
    lifecycle_stop(changes, work, WORKLOAD_PREEMPTING, "preempted", "{}");
    lifecycle_stop(changes, work, WORKLOAD_CANCELLING, "cancelled", NULL);
    lifecycle_stop(changes, work, WORKLOAD_PREEMPTING, "preempted", "{}");
    scene_apply(&s.scene, changes);
    for (int i = 0; i < 3; i++) {
        scene_exit(&s.scene, work, 143);
        scene_release(&s.scene, work);
        restart(&s);
        assert_int_equal(world_quota(s.scene.world, quota)->used, CARDS(1));
        assert_int_equal(world_quota(s.scene.world, running)->used, 1);
    }
    assert_int_equal(state_of(&s, work), WORKLOAD_CANCELLED);
    assert_int_equal(state_of(&s, other), WORKLOAD_RUNNING);
    scene_teardown(&s.scene);
}

/* [S46] Lost while it is being stopped, and back after that: bound all the
 * time, then done as was wished. */
static void
work_lost_while_it_stops_stays_bound_S46(void **state)
{
    struct stage s;
    struct ref work, next, instance, quota;
    struct changes *changes;
    struct job job;

    (void)state;
    stage_setup(&s, 1);
    quota = cards_of(&s, s.a, 0, CARDS(2));
    (void)scene_node(&s.scene, s.pool, "n2", 1, "h100");
    job = job_in(&s, s.pa, 1);
    job.recovery = RECOVERY_ANY;
    work = scene_running(&s.scene, job);
    instance = scene_instance(&s.scene, work);
    changes = scene_begin(&s.scene);
    lifecycle_stop(changes, work, WORKLOAD_CANCELLING, "cancelled", NULL);
    scene_apply(&s.scene, changes);
    changes = scene_begin(&s.scene);
    lifecycle_lost(changes, s.node);
    scene_apply(&s.scene, changes);
    next = scene_submit(&s.scene, job_in(&s, s.pa, 2));
    restart(&s);
    assert_int_equal(state_of(&s, work), WORKLOAD_CANCELLING);
    assert_int_equal(world_quota(s.scene.world, quota)->used, CARDS(1));
    assert_int_equal(state_of(&s, next), WORKLOAD_GATED);
    changes = scene_begin(&s.scene);
    lifecycle_back(changes, instance);
    scene_apply(&s.scene, changes);
    assert_int_not_equal(world_instance(s.scene.world, instance)->want,
                         WANT_RUN);
    scene_exit(&s.scene, work, 143);
    scene_release(&s.scene, work);
    assert_int_equal(state_of(&s, work), WORKLOAD_CANCELLED);
    scene_scrub(&s.scene);
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, next), WORKLOAD_ASSIGNED);
    scene_teardown(&s.scene);
}

/* --- isolation and reasons --- */

/* [S49] What is wrong in one pool, unit or priority stops nobody else. */
static void
what_is_wrong_elsewhere_stops_nobody_S49(void **state)
{
    struct stage s;
    struct ref bad[3], good, empty, pool, gone;
    struct changes *changes;

    (void)state;
    stage_setup(&s, 2);
    empty = scene_pool(&s.scene, "empty");
    pool = scene_pool(&s.scene, "broken");
    gone = scene_node(&s.scene, pool, "n2", 1, "h100");
    cards_of(&s, s.a, 0, CARDS(2));
    cards_of(&s, s.b, 0, CARDS(2));
    bad[0] = scene_submit(&s.scene, (struct job){ .project = s.pb,
                                                  .class = s.one,
                                                  .pool = empty });
    bad[1] = scene_submit(&s.scene, (struct job){ .project = s.pb,
                                                  .class = s.four });
    bad[2] = scene_submit(&s.scene, job_in(&s, s.pb, 1));
    changes = scene_begin(&s.scene);
    ((struct node *)change_update(changes, gone))->cpu_milli = 0;
    ((struct node *)change_update(changes, gone))->memory_mib = 0;
    change_doc(changes, &((struct tenant *)change_update(changes, s.b))->pools,
               "[\"po_nothing\"]");
    change_doc(changes,
               &((struct tenant *)change_update(changes, s.b))->classes,
               "{broken");
    scene_apply(&s.scene, changes);
    good = scene_submit(&s.scene, job_in(&s, s.pa, 1));
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, good), WORKLOAD_ASSIGNED);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(state_of(&s, bad[i]), WORKLOAD_GATED);
        assert_int_not_equal(reason_of(&s, bad[i]), REASON_NOT_EVALUATED);
    }
    scene_teardown(&s.scene);
}

/* [S58] Whatever is suspended above it or asked for it, that is the reason,
 * and its end lets the work start. */
static void
whatever_is_suspended_is_the_reason_S58(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) {
        struct stage s;
        struct ref unit, inner, project, account, user, at[5], work;
        const struct field *field;
        struct changes *changes;
        int suspended = STATE_SUSPENDED, active = STATE_ACTIVE;

        stage_setup(&s, 1);
        cards_of(&s, s.a, 0, CARDS(1));
        unit = scene_put(&s.scene, KIND_UNIT, s.a, "u");
        inner = scene_put(&s.scene, KIND_UNIT, unit, "v");
        project = scene_project(&s.scene, inner, "p");
        account = scene_put(&s.scene, KIND_SERVICEACCOUNT, project, "bot");
        user = scene_put(&s.scene, KIND_USER, s.a, "dev");
        at[0] = s.a, at[1] = unit, at[2] = inner, at[3] = account;
        at[4] = user;
        work = scene_submit(&s.scene, job_in(&s, project, 1));
        changes = scene_begin(&s.scene);
        ((struct workload *)change_update(changes, work))->user =
            i == 4 ? user : account;
        field = schema_field((enum kind)at[i].kind, "state");
        memcpy(field_of(field, change_update(changes, at[i])), &suspended,
               sizeof(suspended));
        scene_apply(&s.scene, changes);
        scene_run(&s.scene);
        assert_int_equal(state_of(&s, work), WORKLOAD_GATED);
        assert_int_equal(reason_of(&s, work), REASON_SUSPENDED);
        changes = scene_begin(&s.scene);
        memcpy(field_of(field, change_update(changes, at[i])), &active,
               sizeof(active));
        scene_apply(&s.scene, changes);
        scene_run(&s.scene);
        assert_int_equal(state_of(&s, work), WORKLOAD_ASSIGNED);
        scene_teardown(&s.scene);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gang_of_shares_fills_cards_and_no_more_S34),
        cmocka_unit_test(memory_of_cards_is_floored_never_rounded_S35),
        cmocka_unit_test(parts_of_a_gang_come_back_one_by_one_S45),
        cmocka_unit_test(health_is_of_each_card_S41),
        cmocka_unit_test(a_gang_that_cannot_start_goes_elsewhere_S48),
        cmocka_unit_test(no_late_event_brings_work_back_S10),
        cmocka_unit_test(a_second_wish_to_stop_releases_nothing_twice_S12b),
        cmocka_unit_test(work_lost_while_it_stops_stays_bound_S46),
        cmocka_unit_test(what_is_wrong_elsewhere_stops_nobody_S49),
        cmocka_unit_test(whatever_is_suspended_is_the_reason_S58),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
