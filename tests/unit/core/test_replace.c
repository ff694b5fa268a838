/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/core/scene.h"

/* A card fails under work that runs: what is given back stays its own until it
 * has ended as a whole, then it goes first. */

struct stage {
    struct scene scene;
    struct ref n1, n2, one, blue, green, quota, gang, other;
};

/* Node n1 with 4 cards, all of them a gang's; n2 with `spare`. */
static void
stage_setup(struct stage *s, int spare, int64_t blue_limit)
{
    struct ref pool, blue, green;

    memset(s, 0, sizeof(*s));
    scene_setup(&s->scene);
    pool = scene_pool(&s->scene, "a");
    s->n1 = scene_node(&s->scene, pool, "n1", 4, "h100");
    s->one = scene_class(&s->scene, "h100.1", "h100", 1);
    blue = scene_tenant(&s->scene, "blue");
    green = scene_tenant(&s->scene, "green");
    s->blue = scene_project(&s->scene, blue, "p");
    s->green = scene_project(&s->scene, green, "p");
    s->quota = scene_quota(&s->scene, blue, DIMENSION_CARDS, 0, blue_limit);
    (void)scene_quota(&s->scene, green, DIMENSION_CARDS, 0, CARDS(8));
    s->gang = scene_running(&s->scene, (struct job){ .project = s->blue,
                                                     .class = s->one,
                                                     .instances = 4 });
    if (spare > 0)
        s->n2 = scene_node(&s->scene, pool, "n2", spare, "h100");
}

static struct ref
submit(struct stage *s, struct ref project, int64_t instances)
{
    return scene_submit(&s->scene, (struct job){ .project = project,
                                                 .class = s->one,
                                                 .instances = instances });
}

static void
set_health(struct stage *s, int number, int health, bool missing)
{
    struct ref ref = scene_card_of(&s->scene, s->n1, number);
    struct changes *changes = scene_begin(&s->scene);
    struct card *card = change_update(changes, ref);

    card->health = health;
    card->missing = missing;
    if (health == HEALTH_FAILED || missing)
        lifecycle_card_failed(changes, ref);
    scene_apply(&s->scene, changes);
}

/* The gang's instance on this card of n1. */
static struct ref
member_on(const struct stage *s, int number)
{
    struct ref card = scene_card_of(&s->scene, s->n1, number);

    world_each_index(s->scene.world, KIND_BINDING, 0, card, ref)
        if (ref_equal(world_binding(s->scene.world, ref)->workload, s->gang) &&
            world_binding(s->scene.world, ref)->object.parent.kind ==
                KIND_INSTANCE)
            return world_parent(s->scene.world, ref);
    fail();
    return (struct ref){ 0 };
}

static void
exit_on(struct stage *s, int number)
{
    struct changes *changes = scene_begin(&s->scene);

    lifecycle_exited(changes, member_on(s, number), 1, false);
    scene_apply(&s->scene, changes);
}

static void
release_on(struct stage *s, int number)
{
    struct changes *changes = scene_begin(&s->scene);

    lifecycle_exited(changes, member_on(s, number), 143, false);
    lifecycle_released(changes, member_on(s, number));
    scene_apply(&s->scene, changes);
}

static void
forget_all(struct stage *s)
{
    scheduler_free(s->scene.scheduler);
    s->scene.scheduler = scheduler_new();
}

static const struct workload *
gang_of(const struct stage *s)
{
    return scene_workload(&s->scene, s->gang);
}

/* The card of member 0 fails, it ends, and member 1 is gone first. */
static void
fail_and_give_back_one(struct stage *s)
{
    set_health(s, 0, HEALTH_FAILED, false);
    assert_int_equal(gang_of(s)->state, WORKLOAD_RUNNING);
    exit_on(s, 0);
    release_on(s, 1);
    scene_scrub(&s->scene);
}

static void
give_back_the_rest(struct stage *s)
{
    release_on(s, 0);
    release_on(s, 2);
    release_on(s, 3);
    scene_scrub(&s->scene);
}

/* Another tenant's work waits for a card: the gang's first one is idle for a
 * while, and stays the gang's, after a restart too. */
static void
what_a_broken_gang_gives_back_stays_its_own(void **state)
{
    struct stage s;
    struct ref later;

    (void)state;
    stage_setup(&s, 0, CARDS(8));
    later = submit(&s, s.green, 1);
    scene_run(&s.scene);
    fail_and_give_back_one(&s);
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, later), WORKLOAD_QUEUED);
    assert_int_equal(scene_workload(&s.scene, later)->reason, REASON_PRIORITY);
    forget_all(&s);
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, later), WORKLOAD_QUEUED);
    scene_teardown(&s.scene);
}

/* A quota that is new meanwhile counts it too: scene_run compares with a new
 * scheduler. */
static void
what_stays_its_own_counts_in_a_new_quota(void **state)
{
    struct stage s;

    (void)state;
    stage_setup(&s, 0, CARDS(8));
    fail_and_give_back_one(&s);
    scene_wait(&s.scene, 1000000); /* the rest is overdue: it gives back nothing */
    scene_run(&s.scene);
    (void)scene_quota(&s.scene,
                      world_scope(s.scene.world, gang_of(&s)->object.self),
                      DIMENSION_INSTANCES, 0, 100);
    scene_run(&s.scene);
    assert_int_equal(gang_of(&s)->state, WORKLOAD_RUNNING);
    scene_teardown(&s.scene);
}

/* Four cards are healthy then, three of its own and a spare one: it starts,
 * though work of a higher priority that waits for longer would fit as well. */
static void
a_broken_gang_starts_again_before_others(void **state)
{
    struct stage s;
    struct ref high, work;

    (void)state;
    stage_setup(&s, 1, CARDS(8));
    high = scene_priority(&s.scene, "high", 900);
    work = scene_submit(&s.scene, (struct job){ .project = s.green,
                                                .class = s.one,
                                                .priority = high,
                                                .instances = 4 });
    scene_run(&s.scene);
    fail_and_give_back_one(&s);
    scene_run(&s.scene);
    give_back_the_rest(&s);
    assert_int_equal(gang_of(&s)->state, WORKLOAD_QUEUED);
    assert_int_equal(gang_of(&s)->failures, 0);
    assert_int_not_equal(gang_of(&s)->replacing_ms, 0);
    forget_all(&s);
    scene_run(&s.scene);
    assert_int_equal(gang_of(&s)->state, WORKLOAD_ASSIGNED);
    assert_int_equal(gang_of(&s)->attempt, 2);
    assert_int_equal(gang_of(&s)->replacing_ms, 0);
    assert_int_equal(scene_state(&s.scene, work), WORKLOAD_QUEUED);
    world_each_index(s.scene.world, KIND_BINDING, 0,
                     scene_card_of(&s.scene, s.n1, 0), ref)
        assert_int_not_equal(world_binding(s.scene.world, ref)->to_ms, 0);
    scene_teardown(&s.scene);
}

/* Its tenant's limit is 4: what it gave back of it is nobody else's. */
static void
a_broken_gang_keeps_its_quota(void **state)
{
    struct stage s;
    struct ref kin;

    (void)state;
    stage_setup(&s, 2, CARDS(4));
    kin = submit(&s, s.blue, 1);
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, kin), WORKLOAD_GATED);
    fail_and_give_back_one(&s);
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, kin), WORKLOAD_GATED);
    give_back_the_rest(&s);
    scene_run(&s.scene);
    assert_int_equal(gang_of(&s)->state, WORKLOAD_ASSIGNED);
    assert_int_equal(scene_state(&s.scene, kin), WORKLOAD_GATED);
    scene_teardown(&s.scene);
}

/* No card is left for the fourth: it waits with the reason, and when the card is
 * well again it starts before work that waits for longer. */
static void
without_a_spare_card_it_waits_first(void **state)
{
    struct stage s;
    struct ref older;

    (void)state;
    stage_setup(&s, 0, CARDS(8));
    older = submit(&s, s.green, 4);
    fail_and_give_back_one(&s);
    give_back_the_rest(&s);
    scene_run(&s.scene);
    assert_int_equal(gang_of(&s)->state, WORKLOAD_QUEUED);
    assert_int_equal(gang_of(&s)->reason, REASON_HEALTH);
    assert_non_null(strstr(gang_of(&s)->reason_text, "not healthy"));
    forget_all(&s);
    scene_wait(&s.scene, 120000);
    scene_run(&s.scene);
    assert_int_not_equal(gang_of(&s)->replacing_ms, 0);
    set_health(&s, 0, HEALTH_HEALTHY, false);
    scene_run(&s.scene);
    assert_int_equal(gang_of(&s)->state, WORKLOAD_ASSIGNED);
    assert_int_equal(scene_state(&s.scene, older), WORKLOAD_QUEUED);
    scene_teardown(&s.scene);
}

/* The spare card is being given back by others: it is held for the gang, with
 * its own three, though nobody has a guarantee. */
static void
what_it_can_have_soon_is_held_for_it(void **state)
{
    struct stage s;
    struct ref leaver, later;
    struct changes *changes;
    int64_t holds = 0;

    (void)state;
    stage_setup(&s, 1, CARDS(8));
    leaver = scene_running(&s.scene, (struct job){ .project = s.green,
                                                   .class = s.one });
    fail_and_give_back_one(&s);
    give_back_the_rest(&s);
    changes = scene_begin(&s.scene);
    lifecycle_stop(changes, leaver, WORKLOAD_CANCELLING, "cancelled", NULL);
    scene_apply(&s.scene, changes);
    later = submit(&s, s.green, 1);
    scene_run(&s.scene);
    assert_int_equal(gang_of(&s)->state, WORKLOAD_QUEUED);
    world_each_child(s.scene.world, KIND_HOLD, s.gang, ref)
        holds++;
    assert_int_equal(holds, 4);
    assert_int_equal(scene_state(&s.scene, later), WORKLOAD_QUEUED);
    scene_exit(&s.scene, leaver, 0);
    scene_release(&s.scene, leaver);
    scene_scrub(&s.scene);
    forget_all(&s);
    scene_run(&s.scene);
    assert_int_equal(gang_of(&s)->state, WORKLOAD_ASSIGNED);
    scene_teardown(&s.scene);
}

/* The same over two nodes: all of the second one is given back, and nothing
 * there changes by itself when the gang is cancelled. */
static void
who_is_cancelled_keeps_nothing_elsewhere_either(void **state)
{
    struct stage s;
    struct ref wide, later;
    struct changes *changes;

    (void)state;
    stage_setup(&s, 2, CARDS(8));
    scene_finish(&s.scene, s.gang, 0);
    wide = scene_running(&s.scene, (struct job){ .project = s.blue,
                                                 .class = s.one,
                                                 .instances = 6 });
    s.gang = wide;
    later = submit(&s, s.green, 1);
    scene_run(&s.scene);
    set_health(&s, 0, HEALTH_FAILED, false);
    changes = scene_begin(&s.scene);
    world_each_child(s.scene.world, KIND_INSTANCE, wide, ref) {
        bool first = ref_equal(ref, world_first_child(s.scene.world,
                                                      KIND_INSTANCE, wide));

        if (first || ref_equal(world_instance(s.scene.world, ref)->node, s.n2))
            lifecycle_exited(changes, ref, 1, false);
    }
    world_each_child(s.scene.world, KIND_INSTANCE, wide, ref)
        if (ref_equal(world_instance(s.scene.world, ref)->node, s.n2))
            lifecycle_released(changes, ref);
    scene_apply(&s.scene, changes);
    scene_scrub(&s.scene);
    scene_run(&s.scene);
    assert_int_not_equal(gang_of(&s)->replacing_ms, 0);
    assert_int_equal(scene_state(&s.scene, later), WORKLOAD_QUEUED);
    changes = scene_begin(&s.scene);
    lifecycle_stop(changes, wide, WORKLOAD_CANCELLING, "cancelled", NULL);
    scene_apply(&s.scene, changes);
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, later), WORKLOAD_ASSIGNED);
    scene_teardown(&s.scene);
}

/* A guarantee takes its cards while it ends: then it is one of many. */
static void
who_is_preempted_meanwhile_has_lost_its_turn(void **state)
{
    struct stage s;
    struct changes *changes;

    (void)state;
    stage_setup(&s, 0, CARDS(8));
    fail_and_give_back_one(&s);
    changes = scene_begin(&s.scene);
    lifecycle_stop(changes, s.gang, WORKLOAD_PREEMPTING, "preempted", NULL);
    scene_apply(&s.scene, changes);
    give_back_the_rest(&s);
    assert_int_equal(gang_of(&s)->state, WORKLOAD_QUEUED);
    assert_int_equal(gang_of(&s)->replacing_ms, 0);
    scene_teardown(&s.scene);
}

/* A member on a healthy card hears of it first and ends with an error. */
static void
the_first_to_end_need_not_be_on_the_failed_card(void **state)
{
    struct stage s;

    (void)state;
    stage_setup(&s, 1, CARDS(8));
    exit_on(&s, 2);
    set_health(&s, 0, HEALTH_FAILED, false);
    assert_int_not_equal(gang_of(&s)->replacing_ms, 0);
    for (int i = 0; i < 4; i++)
        release_on(&s, i);
    scene_scrub(&s.scene);
    assert_int_equal(gang_of(&s)->failures, 0);
    scene_run(&s.scene);
    assert_int_equal(gang_of(&s)->state, WORKLOAD_ASSIGNED);
    scene_teardown(&s.scene);
}

static void
a_card_that_fell_off_the_bus_has_failed(void **state)
{
    struct stage s;

    (void)state;
    stage_setup(&s, 1, CARDS(8));
    set_health(&s, 0, HEALTH_HEALTHY, true);
    exit_on(&s, 0);
    for (int i = 0; i < 4; i++)
        release_on(&s, i);
    scene_scrub(&s.scene);
    assert_int_equal(gang_of(&s)->failures, 0);
    assert_int_not_equal(gang_of(&s)->replacing_ms, 0);
    scene_teardown(&s.scene);
}

/* It ended 30 s before its card was known to have failed, or 61 s. */
static void
a_late_report_forgives_the_last_minute(void **state)
{
    (void)state;
    for (int late = 0; late < 2; late++) {
        struct stage s;
        struct ref later;

        stage_setup(&s, 1, CARDS(8));
        scene_edit(&s.scene, changes, workload, s.gang);
        workload->restarts = 1;
        scene_apply(&s.scene, changes);
        exit_on(&s, 0);
        for (int i = 0; i < 4; i++)
            release_on(&s, i);
        scene_scrub(&s.scene);
        assert_int_equal(gang_of(&s)->reason, REASON_BACKOFF);
        assert_int_equal(gang_of(&s)->failures, 1);
        assert_int_equal(gang_of(&s)->replacing_ms, 0);
        scene_wait(&s.scene, late == 1 ? 61000 : 3000);
        set_health(&s, 0, HEALTH_FAILED, false);
        assert_int_equal(gang_of(&s)->failures, late);
        assert_int_equal(gang_of(&s)->replacing_ms != 0, late == 0);
        later = submit(&s, s.green, 4);
        scene_run(&s.scene);
        if (late == 0)
            assert_int_equal(scene_state(&s.scene, later), WORKLOAD_QUEUED);
        scene_teardown(&s.scene);
    }
}

/* A gang that ends for a reason of its own keeps nothing. */
static void
without_a_failed_card_nothing_is_kept(void **state)
{
    struct stage s;
    struct ref later;

    (void)state;
    stage_setup(&s, 0, CARDS(8));
    later = submit(&s, s.green, 1);
    scene_run(&s.scene);
    exit_on(&s, 0);
    release_on(&s, 1);
    scene_scrub(&s.scene);
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, later), WORKLOAD_ASSIGNED);
    scene_teardown(&s.scene);
}

/* Its owner cancels it while it ends: what it kept is everybody's at once. */
static void
who_is_cancelled_keeps_nothing(void **state)
{
    struct stage s;
    struct ref later;
    struct changes *changes;

    (void)state;
    stage_setup(&s, 0, CARDS(8));
    later = submit(&s, s.green, 1);
    scene_run(&s.scene);
    fail_and_give_back_one(&s);
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, later), WORKLOAD_QUEUED);
    changes = scene_begin(&s.scene);
    lifecycle_stop(changes, s.gang, WORKLOAD_CANCELLING, "cancelled", NULL);
    scene_apply(&s.scene, changes);
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, later), WORKLOAD_ASSIGNED);
    scene_teardown(&s.scene);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_broken_gang_gives_back_stays_its_own),
        cmocka_unit_test(what_stays_its_own_counts_in_a_new_quota),
        cmocka_unit_test(a_broken_gang_starts_again_before_others),
        cmocka_unit_test(a_broken_gang_keeps_its_quota),
        cmocka_unit_test(without_a_spare_card_it_waits_first),
        cmocka_unit_test(what_it_can_have_soon_is_held_for_it),
        cmocka_unit_test(who_is_preempted_meanwhile_has_lost_its_turn),
        cmocka_unit_test(the_first_to_end_need_not_be_on_the_failed_card),
        cmocka_unit_test(a_card_that_fell_off_the_bus_has_failed),
        cmocka_unit_test(a_late_report_forgives_the_last_minute),
        cmocka_unit_test(without_a_failed_card_nothing_is_kept),
        cmocka_unit_test(who_is_cancelled_keeps_nothing),
        cmocka_unit_test(who_is_cancelled_keeps_nothing_elsewhere_either),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
