/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/core/scene.h"

#include "core/quota_watch.h"

/* Fewer cards are healthy than are guaranteed: one node with 8, tenants vision
 * (5) and speech (3). */

struct stage {
    struct scene scene;
    struct ref pool, node, one;
    struct ref vision, speech, pv, ps, qv, qs;
};

static void
look(struct stage *s)
{
    struct changes *changes = scene_begin(&s->scene);

    quota_watch(changes);
    scene_apply(&s->scene, changes);
}

static void
stage_setup(struct stage *s)
{
    struct scene *scene = &s->scene;

    memset(s, 0, sizeof(*s));
    scene_setup(scene);
    s->pool = scene_pool(scene, "a");
    s->node = scene_node(scene, s->pool, "n1", 8, "h100");
    s->one = scene_class(scene, "h100.1", "h100", 1);
    s->vision = scene_tenant(scene, "vision");
    s->speech = scene_tenant(scene, "speech");
    s->pv = scene_project(scene, s->vision, "pv");
    s->ps = scene_project(scene, s->speech, "ps");
    s->qv = scene_quota(scene, s->vision, DIMENSION_CARDS, CARDS(5), CARDS(8));
    s->qs = scene_quota(scene, s->speech, DIMENSION_CARDS, CARDS(3), CARDS(8));
    look(s);
}

/* The last cards of the node that nobody is on. */
static void
break_free(struct stage *s, int count)
{
    for (int i = 7; count > 0; i--) {
        struct ref ref = scene_card_of(&s->scene, s->node, i);

        if (world_card(s->scene.world, ref)->used_milli > 0 ||
            world_card(s->scene.world, ref)->health != HEALTH_HEALTHY)
            continue;
        {
            scene_edit(&s->scene, changes, card, ref);

            card->health = HEALTH_FAILED;
            scene_apply(&s->scene, changes);
        }
        count--;
    }
    look(s);
}

static void
mend(struct stage *s)
{
    for (int i = 0; i < 8; i++) {
        scene_edit(&s->scene, changes, card,
                   scene_card_of(&s->scene, s->node, i));

        card->health = HEALTH_HEALTHY;
        scene_apply(&s->scene, changes);
    }
    look(s);
}

static int64_t
unmet(const struct stage *s, struct ref quota)
{
    return world_quota(s->scene.world, quota)->unmet;
}

static struct job
job_in(const struct stage *s, struct ref project)
{
    return (struct job){ .project = project, .class = s->one };
}

static void
run_some(struct stage *s, struct ref project, int count, struct ref *list)
{
    for (int i = 0; i < count; i++)
        list[i] = scene_running(&s->scene, job_in(s, project));
}

static int
reason_of(const struct stage *s, struct ref ref)
{
    return scene_workload(&s->scene, ref)->reason;
}

/* 7 of 8: 4.375 and 2.625; 6: 3.75 and 2.25; 1: 0.625 and 0.375. */
static void
what_is_healthy_is_shared_out_in_whole_cards(void **state)
{
    struct stage s;

    (void)state;
    stage_setup(&s);
    assert_int_equal(unmet(&s, s.qv), 0);
    break_free(&s, 1);
    assert_int_equal(unmet(&s, s.qv), CARDS(1));
    assert_int_equal(unmet(&s, s.qs), 0);
    break_free(&s, 1);
    assert_int_equal(unmet(&s, s.qv), CARDS(1));
    assert_int_equal(unmet(&s, s.qs), CARDS(1));
    break_free(&s, 5);
    assert_int_equal(unmet(&s, s.qv), CARDS(4));
    assert_int_equal(unmet(&s, s.qs), CARDS(3));
    mend(&s);
    assert_int_equal(unmet(&s, s.qv), 0);
    assert_int_equal(unmet(&s, s.qs), 0);
    scene_teardown(&s.scene);
}

/* Four times 2 of 8, 6 are left: 1.5 each; the older two get 2. */
static void
of_equal_rests_the_smaller_and_then_the_older_guarantee_goes_first(
    void **state)
{
    struct stage s;
    struct ref quotas[4];

    (void)state;
    stage_setup(&s);
    scene_change_quota(&s.scene, s.qv, CARDS(2), CARDS(8));
    scene_change_quota(&s.scene, s.qs, CARDS(2), CARDS(8));
    quotas[0] = s.qv;
    quotas[1] = s.qs;
    for (int i = 2; i < 4; i++)
        quotas[i] = scene_quota(&s.scene,
                                scene_tenant(&s.scene, i == 2 ? "c" : "d"),
                                DIMENSION_CARDS, CARDS(2), CARDS(8));
    break_free(&s, 2);
    for (int i = 0; i < 4; i++)
        assert_int_equal(unmet(&s, quotas[i]), i < 2 ? 0 : CARDS(1));
    /* 6, 2 of 8 and 4 left: 3 and 1; with 3 left 2.25 and 0.75. */
    scene_change_quota(&s.scene, quotas[0], CARDS(6), CARDS(8));
    for (int i = 2; i < 4; i++)
        scene_change_quota(&s.scene, quotas[i], 0, CARDS(8));
    break_free(&s, 2);
    assert_int_equal(unmet(&s, quotas[0]), CARDS(3));
    assert_int_equal(unmet(&s, quotas[1]), CARDS(1));
    break_free(&s, 1);
    assert_int_equal(unmet(&s, quotas[0]), CARDS(4));
    assert_int_equal(unmet(&s, quotas[1]), CARDS(1));
    scene_teardown(&s.scene);
}

/* vision runs 5 and may keep them; of the 6 cards that are left speech gets
 * the free one, and its second when one of vision's ends. */
static void
nobody_is_stopped_and_new_work_waits_with_that_reason(void **state)
{
    struct stage s;
    struct ref old[5], new[2], more;

    (void)state;
    stage_setup(&s);
    run_some(&s, s.pv, 5, old);
    break_free(&s, 2);
    for (int i = 0; i < 2; i++)
        new[i] = scene_submit(&s.scene, job_in(&s, s.ps));
    scene_run(&s.scene);
    assert_int_equal(s.scene.victims, 0);
    for (int i = 0; i < 5; i++)
        assert_int_equal(scene_state(&s.scene, old[i]), WORKLOAD_RUNNING);
    assert_int_equal(scene_state(&s.scene, new[0]), WORKLOAD_ASSIGNED);
    assert_int_equal(scene_state(&s.scene, new[1]), WORKLOAD_QUEUED);
    assert_int_equal(reason_of(&s, new[1]), REASON_AT_RISK);
    assert_string_equal(
        scene_workload(&s.scene, new[1])->reason_text,
        "1 card needed, too few cards are healthy for all guarantees: of its "
        "guarantee of 3 cards tenant speech gets 2 cards for now and uses 1 "
        "card; it starts when cards are healthy again or enough is given "
        "back");
    scene_finish(&s.scene, old[0], 0);
    look(&s);
    more = scene_submit(&s.scene, job_in(&s, s.pv));
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, new[1]), WORKLOAD_ASSIGNED);
    assert_int_equal(reason_of(&s, more), REASON_AT_RISK);
    mend(&s);
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, more), WORKLOAD_ASSIGNED);
    scene_teardown(&s.scene);
}

/* vision runs 3 when two cards break, and then 3 more: speech takes back its
 * part of 2, and the third waits, though its guarantee is 3. */
static void
what_began_since_is_given_back_to_the_parts_of_others(void **state)
{
    struct stage s;
    struct ref old[3], late[3], new[3];

    (void)state;
    stage_setup(&s);
    run_some(&s, s.pv, 3, old);
    break_free(&s, 2);
    scene_wait(&s.scene, 60000);
    run_some(&s, s.pv, 3, late);
    for (int i = 0; i < 3; i++)
        new[i] = scene_submit(&s.scene, job_in(&s, s.ps));
    scene_run(&s.scene);
    assert_int_equal(s.scene.victims, 2);
    for (int i = 0; i < 3; i++)
        assert_int_equal(scene_state(&s.scene, old[i]), WORKLOAD_RUNNING);
    for (int i = 0; i < 2; i++)
        assert_int_equal(reason_of(&s, new[i]), REASON_RECLAIMING);
    assert_int_equal(reason_of(&s, new[2]), REASON_AT_RISK);
    scene_teardown(&s.scene);
}

/* All 5 of vision are kept until one ends; what then begins in its place is
 * not. */
static void
what_is_kept_falls_as_old_work_ends(void **state)
{
    struct stage s;
    struct ref old[5], late, new[2];

    (void)state;
    stage_setup(&s);
    run_some(&s, s.pv, 5, old);
    break_free(&s, 2);
    assert_int_equal(world_quota(s.scene.world, s.qv)->unkept, 0);
    scene_finish(&s.scene, old[0], 0);
    look(&s);
    assert_int_equal(world_quota(s.scene.world, s.qv)->unkept, CARDS(1));
    scene_wait(&s.scene, 60000);
    late = scene_running(&s.scene, job_in(&s, s.pv));
    look(&s);
    assert_int_equal(world_quota(s.scene.world, s.qv)->unkept, CARDS(1));
    for (int i = 0; i < 2; i++)
        new[i] = scene_submit(&s.scene, job_in(&s, s.ps));
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, new[0]), WORKLOAD_ASSIGNED);
    assert_int_equal(reason_of(&s, new[1]), REASON_RECLAIMING);
    assert_int_equal(scene_state(&s.scene, late), WORKLOAD_PREEMPTING);
    scene_teardown(&s.scene);
}

/* vision's part is 4. */
static void
fixed_work_is_admitted_within_the_part_alone(void **state)
{
    struct stage s;
    struct ref first, second;
    struct job job;

    (void)state;
    stage_setup(&s);
    break_free(&s, 1);
    job = job_in(&s, s.pv);
    job.fixed = true;
    job.instances = 4;
    first = scene_submit(&s.scene, job);
    job.instances = 1;
    scene_run(&s.scene);
    second = scene_submit(&s.scene, job);
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, first), WORKLOAD_ASSIGNED);
    assert_int_equal(scene_state(&s.scene, second), WORKLOAD_GATED);
    mend(&s);
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, second), WORKLOAD_ASSIGNED);
    scene_teardown(&s.scene);
}

/* 5 and 2 are set, 1 was given to a new tenant: with 7 cards left nothing of
 * it, and all of the rest. */
static void
what_was_given_gives_way_first(void **state)
{
    struct stage s;
    struct ref given;

    (void)state;
    stage_setup(&s);
    scene_change_quota(&s.scene, s.qs, CARDS(2), CARDS(8));
    given = scene_quota(&s.scene, scene_tenant(&s.scene, "new"),
                        DIMENSION_CARDS, CARDS(1), CARDS(2));
    {
        scene_edit(&s.scene, changes, quota, given);

        quota->given = true;
        scene_apply(&s.scene, changes);
    }
    break_free(&s, 1);
    assert_int_equal(unmet(&s, given), CARDS(1));
    assert_int_equal(unmet(&s, s.qv), 0);
    assert_int_equal(unmet(&s, s.qs), 0);
    scene_teardown(&s.scene);
}

/* Of the h100 alone 4 and 4; the a100 are well and many. */
static void
guarantees_of_one_model_are_shared_out_of_its_cards(void **state)
{
    struct stage s;

    (void)state;
    stage_setup(&s);
    (void)scene_node(&s.scene, s.pool, "n2", 8, "a100");
    for (int i = 0; i < 2; i++) {
        scene_edit(&s.scene, changes, quota, i == 0 ? s.qv : s.qs);

        quota->guaranteed = CARDS(4);
        (void)snprintf(quota->model, sizeof(quota->model), "h100");
        scene_apply(&s.scene, changes);
    }
    break_free(&s, 2);
    assert_int_equal(unmet(&s, s.qv), CARDS(1));
    assert_int_equal(unmet(&s, s.qs), CARDS(1));
    scene_teardown(&s.scene);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_healthy_is_shared_out_in_whole_cards),
        cmocka_unit_test(
            of_equal_rests_the_smaller_and_then_the_older_guarantee_goes_first),
        cmocka_unit_test(
            nobody_is_stopped_and_new_work_waits_with_that_reason),
        cmocka_unit_test(
            what_began_since_is_given_back_to_the_parts_of_others),
        cmocka_unit_test(what_is_kept_falls_as_old_work_ends),
        cmocka_unit_test(fixed_work_is_admitted_within_the_part_alone),
        cmocka_unit_test(what_was_given_gives_way_first),
        cmocka_unit_test(guarantees_of_one_model_are_shared_out_of_its_cards),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
