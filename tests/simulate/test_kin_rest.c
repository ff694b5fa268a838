/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simulate/kin.h"

/* Restarts in the middle of an end, many at once, and edits in a pass. */

static int64_t
used_of(const struct stage *s, struct ref quota)
{
    return world_quota(s->scene.world, quota)->used;
}

/* [S12d] The scheduler is new while work ends: what it had is given back once,
 * when its release is confirmed, and a late repetition changes nothing. */
static void
a_restart_while_work_ends_gives_back_once_S12d(void **state)
{
    struct stage s;
    struct ref quota, gone, stays;

    (void)state;
    stage_setup(&s, 4);
    quota = cards_of(&s, s.a, 0, CARDS(4));
    gone = scene_running(&s.scene, job_in(&s, s.pa, 1));
    stays = scene_running(&s.scene, job_in(&s, s.pa, 2));
    scene_exit(&s.scene, gone, 0);
    restart(&s);
    assert_int_equal(used_of(&s, quota), CARDS(3)); /* not confirmed yet */
    scene_release(&s.scene, gone);
    restart(&s);
    assert_int_equal(used_of(&s, quota), CARDS(2));
    scene_release(&s.scene, gone);
    scene_exit(&s.scene, gone, 0);
    restart(&s);
    assert_int_equal(used_of(&s, quota), CARDS(2));
    assert_int_equal(state_of(&s, stays), WORKLOAD_RUNNING);
    assert_int_equal(state_of(&s, gone), WORKLOAD_SUCCEEDED);
    scene_teardown(&s.scene);
}

/* [S14b] A tenant above its guarantee and below its fair share takes nothing
 * back by force; but what becomes free is its own before the other's, although
 * the other has waited for longer. */
static void
burst_evens_out_as_cards_become_free_S14b(void **state)
{
    struct stage s;
    struct ref rich[4], poor, next;

    (void)state;
    stage_setup(&s, 4);
    {
        scene_edit(&s.scene, changes, platform, s.scene.platform);
        platform->share_half_life_ms = INT64_C(7) * 24 * 3600000;
        scene_apply(&s.scene, changes);
    }
    cards_of(&s, s.a, 0, CARDS(4));
    cards_of(&s, s.b, 0, CARDS(4));
    for (int i = 0; i < 4; i++)
        rich[i] = scene_running(&s.scene, job_in(&s, s.pa, 1));
    scene_wait(&s.scene, 3600000);
    next = scene_submit(&s.scene, job_in(&s, s.pa, 1));
    scene_run(&s.scene);
    scene_wait(&s.scene, 60000);
    poor = scene_submit(&s.scene, job_in(&s, s.pb, 1));
    scene_run(&s.scene);
    assert_int_equal(s.scene.victims, 0);
    assert_int_equal(state_of(&s, poor), WORKLOAD_QUEUED);
    scene_finish(&s.scene, rich[0], 0);
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, poor), WORKLOAD_ASSIGNED);
    assert_int_equal(state_of(&s, next), WORKLOAD_QUEUED);
    scene_teardown(&s.scene);
}

/* [S26e] Many wait in one queue and many cards are free: all that fits starts
 * at once, not one head after the other. */
static void
all_that_fits_starts_in_one_pass_S26e(void **state)
{
    struct stage s;

    (void)state;
    stage_setup(&s, 8);
    for (int i = 2; i <= 20; i++) {
        char name[16];

        (void)snprintf(name, sizeof(name), "n%d", i);
        (void)scene_node(&s.scene, s.pool, name, 8, "h100");
    }
    cards_of(&s, s.a, 0, CARDS(160));
    for (int i = 0; i < 180; i++)
        (void)scene_submit(&s.scene, job_in(&s, s.pa, 1));
    scene_run(&s.scene);
    assert_int_equal(s.scene.assigned, 160);
    assert_int_equal(count_in(&s, WORKLOAD_ASSIGNED), 160);
    assert_int_equal(count_in(&s, WORKLOAD_GATED), 20);
    scene_teardown(&s.scene);
}

/* [S34c] Nearly full cards and many shares at once: no card gets more than
 * its memory.  81,920 MiB hold two shares of 40,000, not three, although
 * their tenths of compute would fit. */
static void
many_shares_at_once_keep_within_a_cards_memory_S34c(void **state)
{
    struct stage s;
    struct ref share;

    (void)state;
    stage_setup(&s, 4);
    share = scene_share(&s.scene, "share", 100, 40000);
    cards_of(&s, s.a, 0, CARDS(4));
    for (int i = 0; i < 16; i++) {
        struct job job = job_in(&s, s.pa, 1);

        job.class = share;
        (void)scene_submit(&s.scene, job);
    }
    scene_run(&s.scene);
    assert_int_equal(count_in(&s, WORKLOAD_ASSIGNED), 8);
    world_each(s.scene.world, KIND_CARD, ref)
        assert_int_equal(world_card(s.scene.world, ref)->used_memory_mib,
                         80000);
    scene_teardown(&s.scene);
}

/* [S55] What a user changes while the scheduler is at work stays changed: its
 * next decisions are made from it, and nothing old is written back. */
static void
an_edit_in_a_pass_is_not_written_back_S55(void **state)
{
    struct stage s;
    struct ref work[6];

    (void)state;
    stage_setup(&s, 2);
    cards_of(&s, s.a, 0, CARDS(2));
    for (int i = 0; i < 6; i++)
        work[i] = scene_submit(&s.scene, job_in(&s, s.pa, 1));
    for (int i = 0; i < 2; i++) { /* two decisions of a pass */
        struct changes *changes = scene_begin(&s.scene);

        assert_true(schedule_step(s.scene.scheduler, changes));
        scene_apply(&s.scene, changes);
    }
    {
        scene_edit(&s.scene, changes, workload, work[5]);
        workload->priority = s.high;
        workload->max_run_ms = 7777;
        scene_apply(&s.scene, changes);
    }
    scene_run(&s.scene);
    restart(&s);
    assert_int_equal(scene_workload(&s.scene, work[5])->max_run_ms, 7777);
    assert_true(ref_equal(scene_workload(&s.scene, work[5])->priority,
                          s.high));
    scene_teardown(&s.scene);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_restart_while_work_ends_gives_back_once_S12d),
        cmocka_unit_test(burst_evens_out_as_cards_become_free_S14b),
        cmocka_unit_test(all_that_fits_starts_in_one_pass_S26e),
        cmocka_unit_test(many_shares_at_once_keep_within_a_cards_memory_S34c),
        cmocka_unit_test(an_edit_in_a_pass_is_not_written_back_S55),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
