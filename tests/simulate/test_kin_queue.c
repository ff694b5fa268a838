/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simulate/kin.h"

/* Who waits for whom, who makes room, and that it ends. */

/* One round of the world: what was assigned runs, what is preempted leaves. */
static int
turn(struct stage *s)
{
    int victims;

    scene_run(&s->scene);
    victims = s->scene.victims;
    world_each(s->scene.world, KIND_WORKLOAD, ref) {
        if (state_of(s, ref) == WORKLOAD_ASSIGNED)
            scene_start(&s->scene, ref);
        if (state_of(s, ref) == WORKLOAD_PREEMPTING)
            give_way(s, ref);
    }
    scene_wait(&s->scene, 60000);
    return victims;
}

/* [S11] A gang that no node can hold now charges nothing while it waits. */
static void
waiting_work_charges_nothing_S11(void **state)
{
    struct stage s;
    struct ref quota, gang, small;

    (void)state;
    stage_setup(&s, 4);
    (void)scene_node(&s.scene, s.pool, "n2", 4, "h100");
    quota = cards_of(&s, s.a, 0, CARDS(8));
    cards_of(&s, s.b, 0, CARDS(8));
    (void)scene_running(&s.scene, job_in(&s, s.pb, 1));
    gang = scene_submit(&s.scene, job_in(&s, s.pa, 8));
    for (int i = 0; i < 3; i++)
        (void)turn(&s);
    assert_int_equal(state_of(&s, gang), WORKLOAD_QUEUED);
    assert_int_equal(world_quota(s.scene.world, quota)->used, 0);
    small = scene_submit(&s.scene, job_in(&s, s.pa, 4));
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, small), WORKLOAD_ASSIGNED);
    scene_teardown(&s.scene);
}

/* [S19] Equal guarantees, twice the work: each gets its own and nobody is
 * stopped again and again. */
static void
equal_tenants_do_not_displace_each_other_S19(void **state)
{
    struct stage s;
    int victims = 0;

    (void)state;
    stage_setup(&s, 12);
    cards_of(&s, s.a, CARDS(6), CARDS(12));
    cards_of(&s, s.b, CARDS(6), CARDS(12));
    for (int i = 0; i < 12; i++)
        (void)scene_submit(&s.scene, job_in(&s, s.pa, 1));
    victims += turn(&s);
    for (int i = 0; i < 12; i++)
        (void)scene_submit(&s.scene, job_in(&s, s.pb, 1));
    for (int i = 0; i < 30; i++)
        victims += turn(&s);
    assert_int_equal(victims, 6);
    assert_int_equal(count_in(&s, WORKLOAD_RUNNING), 12);
    scene_teardown(&s.scene);
}

/* [S20b] What a guarantee leaves idle is lent, and taken back when its head
 * can start as a whole. */
static void
idle_guarantee_is_lent_and_taken_back_S20b(void **state)
{
    struct stage s;
    struct ref own, head, lent;

    (void)state;
    stage_setup(&s, 4);
    cards_of(&s, s.a, CARDS(4), CARDS(8));
    cards_of(&s, s.b, 0, CARDS(4));
    own = scene_running(&s.scene, job_in(&s, s.pa, 2));
    head = scene_submit(&s.scene, job_in(&s, s.pa, 4)); /* beyond: waits */
    lent = scene_submit(&s.scene, job_in(&s, s.pb, 2));
    (void)turn(&s);
    assert_int_equal(state_of(&s, lent), WORKLOAD_RUNNING);
    assert_int_equal(state_of(&s, head), WORKLOAD_QUEUED);
    scene_finish(&s.scene, own, 0);
    for (int i = 0; i < 3; i++)
        (void)turn(&s);
    assert_int_equal(state_of(&s, head), WORKLOAD_RUNNING);
    assert_true(lifecycle_is_waiting(state_of(&s, lent)));
    scene_teardown(&s.scene);
}

/* [S22] The freed part is the preemptor's: a victim with the smaller use, a
 * higher priority or an earlier submission does not get it back. */
static void
a_victim_does_not_get_its_place_back_S22(void **state)
{
    struct stage s;
    struct ref victim, claimant;
    int victims = 0;

    (void)state;
    stage_setup(&s, 2);
    cards_of(&s, s.a, CARDS(2), CARDS(2));
    cards_of(&s, s.b, 0, CARDS(2));
    (void)scene_running(&s.scene, job_in(&s, s.pa, 1));
    victim = scene_running(&s.scene, (struct job){ .project = s.pb,
                                                   .class = s.one,
                                                   .priority = s.high });
    claimant = scene_submit(&s.scene, job_in(&s, s.pa, 1));
    for (int i = 0; i < 10; i++)
        victims += turn(&s);
    assert_int_equal(victims, 1);
    assert_int_equal(state_of(&s, claimant), WORKLOAD_RUNNING);
    assert_true(lifecycle_is_waiting(state_of(&s, victim)));
    scene_teardown(&s.scene);
}

/* [S25] One that needs many victims gets them, though others come in
 * between. */
static void
the_one_that_needs_many_gets_them_S25(void **state)
{
    struct stage s;
    struct ref hero;

    (void)state;
    stage_setup(&s, 8);
    cards_of(&s, s.a, CARDS(6), CARDS(8));
    cards_of(&s, s.b, 0, CARDS(8));
    cards_of(&s, s.c, CARDS(2), CARDS(8));
    for (int i = 0; i < 8; i++)
        (void)scene_running(&s.scene, job_in(&s, s.pb, 1));
    hero = scene_submit(&s.scene, job_in(&s, s.pa, 6));
    for (int i = 0; i < 6; i++) {
        (void)scene_submit(&s.scene, job_in(&s, s.pc, 1));
        (void)scene_submit(&s.scene, job_in(&s, s.pb, 1));
        (void)turn(&s);
    }
    assert_int_equal(state_of(&s, hero), WORKLOAD_RUNNING);
    scene_teardown(&s.scene);
}

/* [S26b] A head that waits for one kind of card holds up nobody who wants
 * another, nor in another pool. */
static void
a_head_for_one_class_holds_up_no_other_S26b(void **state)
{
    struct stage s;
    struct ref other, pool, head, next[2];

    (void)state;
    stage_setup(&s, 1);
    (void)scene_node(&s.scene, s.pool, "n2", 1, "a100");
    pool = scene_pool(&s.scene, "b");
    (void)scene_node(&s.scene, pool, "n3", 1, "h100");
    other = scene_class(&s.scene, "a100.1", "a100", 1);
    cards_of(&s, s.a, 0, CARDS(8));
    (void)scene_running(&s.scene, (struct job){ .project = s.pa,
                                                .class = s.one,
                                                .pool = s.pool });
    head = scene_submit(&s.scene, (struct job){ .project = s.pa,
                                                .class = s.one,
                                                .pool = s.pool,
                                                .priority = s.high });
    next[0] = scene_submit(&s.scene,
                           (struct job){ .project = s.pa, .class = other });
    next[1] = scene_submit(&s.scene, (struct job){ .project = s.pa,
                                                   .class = s.one,
                                                   .pool = pool });
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, head), WORKLOAD_QUEUED);
    assert_int_equal(state_of(&s, next[0]), WORKLOAD_ASSIGNED);
    assert_int_equal(state_of(&s, next[1]), WORKLOAD_ASSIGNED);
    scene_teardown(&s.scene);
}

/* [S27] Idle nodes hold a large gang at once, whatever was seen before. */
static void
a_large_gang_starts_on_idle_nodes_at_once_S27(void **state)
{
    struct stage s;
    struct ref gang, before;

    (void)state;
    stage_setup(&s, 4);
    for (int i = 0; i < 8; i++) {
        char name[16];

        (void)snprintf(name, sizeof(name), "m%d", i);
        (void)scene_node(&s.scene, s.pool, name, 4, "h100");
    }
    cards_of(&s, s.a, 0, CARDS(64));
    before = scene_running(&s.scene, job_in(&s, s.pa, 30));
    gang = scene_submit(&s.scene, (struct job){ .project = s.pa,
                                                .class = s.four,
                                                .instances = 8 });
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, gang), WORKLOAD_QUEUED);
    scene_finish(&s.scene, before, 0);
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, gang), WORKLOAD_ASSIGNED);
    scene_teardown(&s.scene);
}

/* [S30] [S33] Nobody is stopped for a place that would not be one: too little
 * CPU, an unhealthy card beside, another tenant's share on the card. */
static void
nobody_is_stopped_for_a_place_that_is_none_S33(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct stage s;
        struct ref victim, share, claimant;
        struct job job;

        stage_setup(&s, 2);
        share = scene_share(&s.scene, "share", 500, 1000);
        cards_of(&s, s.a, 0, CARDS(2));
        cards_of(&s, s.b, CARDS(2), CARDS(2));
        cards_of(&s, s.c, 500, CARDS(1));
        job = (struct job){ .project = s.pc, .class = share, .fixed = true };
        if (i == 0)
            job.cpu_milli = 100000;
        if (i != 1)
            (void)scene_running(&s.scene, job);
        victim = scene_running(&s.scene, job_in(&s, s.pa, 1));
        if (i == 1) {
            struct ref used = world_binding(
                s.scene.world,
                world_first(s.scene.world, KIND_BINDING))->card;

            world_each(s.scene.world, KIND_CARD, ref)
                if (!ref_equal(ref, used)) {
                    scene_edit(&s.scene, changes, card, ref);
                    card->health = HEALTH_FAILED;
                    scene_apply(&s.scene, changes);
                }
        }
        job = (struct job){ .project = s.pb, .class = s.one,
                            .instances = i == 0 ? 1 : 2,
                            .cpu_milli = i == 0 ? 64000 : 1000 };
        claimant = scene_submit(&s.scene, job);
        for (int k = 0; k < 3; k++)
            (void)turn(&s);
        assert_int_equal(state_of(&s, victim), WORKLOAD_RUNNING);
        assert_int_equal(state_of(&s, claimant), WORKLOAD_QUEUED);
        scene_teardown(&s.scene);
    }
}

/* [S57] Two pools with limits of their own: each never fits, and that is one
 * plain verdict about one of them. */
static void
two_pools_give_one_plain_verdict_S57(void **state)
{
    struct stage s;
    struct ref pool, at[2];
    struct verdict verdict;

    (void)state;
    stage_setup(&s, 16);
    pool = scene_pool(&s.scene, "b");
    (void)scene_node(&s.scene, pool, "n2", 16, "h100");
    cards_of(&s, s.a, 0, CARDS(32));
    at[0] = s.pool, at[1] = pool;
    for (int i = 0; i < 2; i++) {
        struct changes *changes = scene_begin(&s.scene);
        struct quota *quota = change_create(changes, KIND_QUOTA, s.pa, "");

        quota->dimension = DIMENSION_CARDS;
        quota->pool = at[i];
        quota->limit = CARDS(i == 0 ? 8 : 16);
        scene_apply(&s.scene, changes);
    }
    verdict = scene_try(&s.scene, job_in(&s, s.pa, 24));
    assert_int_equal(verdict.state, WORKLOAD_REJECTED);
    assert_int_equal(scene_try(&s.scene, job_in(&s, s.pa, 12)).state,
                     WORKLOAD_QUEUED);
    assert_int_equal(scene_try(&s.scene, job_in(&s, s.pa, 17)).state,
                     WORKLOAD_REJECTED);
    scene_teardown(&s.scene);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waiting_work_charges_nothing_S11),
        cmocka_unit_test(equal_tenants_do_not_displace_each_other_S19),
        cmocka_unit_test(idle_guarantee_is_lent_and_taken_back_S20b),
        cmocka_unit_test(a_victim_does_not_get_its_place_back_S22),
        cmocka_unit_test(the_one_that_needs_many_gets_them_S25),
        cmocka_unit_test(a_head_for_one_class_holds_up_no_other_S26b),
        cmocka_unit_test(a_large_gang_starts_on_idle_nodes_at_once_S27),
        cmocka_unit_test(nobody_is_stopped_for_a_place_that_is_none_S33),
        cmocka_unit_test(two_pools_give_one_plain_verdict_S57),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
