/* SPDX-License-Identifier: Apache-2.0 */
#include "scene.h"

/* Gangs that grow into what is free and shrink when somebody has a right. */

struct stage {
    struct scene scene;
    struct ref pool, blue, green, project, other, one, quota;
    struct ref node;
};

/* One node of cards; blue may use `limit` of them, green is guaranteed 4. */
static void
stage_setup(struct stage *s, int cards, int64_t limit)
{
    scene_setup(&s->scene);
    s->pool = scene_pool(&s->scene, "a");
    s->node = scene_node(&s->scene, s->pool, "n1", cards, "h100");
    s->blue = scene_tenant(&s->scene, "blue");
    s->green = scene_tenant(&s->scene, "green");
    s->project = scene_project(&s->scene, s->blue, "p");
    s->other = scene_project(&s->scene, s->green, "p");
    s->quota = scene_quota(&s->scene, s->blue, DIMENSION_CARDS, 0, limit);
    (void)scene_quota(&s->scene, s->green, DIMENSION_CARDS, CARDS(4),
                      CARDS(8));
    s->one = scene_class(&s->scene, "h100.1", "h100", 1);
}

static struct job
elastic(const struct stage *s, int64_t least, int64_t most)
{
    return (struct job){ .project = s->project,
                         .class = s->one,
                         .instances = least,
                         .instances_max = most };
}

static struct job
green_job(const struct stage *s, int64_t instances)
{
    return (struct job){ .project = s->other,
                         .class = s->one,
                         .instances = instances };
}

static int64_t
size_of(const struct stage *s, struct ref work)
{
    return scene_workload(&s->scene, work)->instances_now;
}

static int64_t
used(const struct stage *s)
{
    return world_quota(s->scene.world, s->quota)->used;
}

static bool
proves(const struct stage *s, struct ref work, const char *text)
{
    const struct blob *proof = scene_workload(&s->scene, work)->proof;

    return proof != NULL && strstr(proof->bytes, text) != NULL;
}

/* Runs, and starts what was added, until nothing is added any more. */
static void
settle(struct stage *s, struct ref work)
{
    scene_run(&s->scene);
    scene_start(&s->scene, work);
    scene_run(&s->scene);
}

/* Those that were told to leave do, and their cards are cleaned. */
static void
let_go(struct stage *s, struct ref work)
{
    struct changes *changes = scene_begin(&s->scene);

    world_each_child(s->scene.world, KIND_INSTANCE, work, ref) {
        const struct instance *instance =
            world_instance(s->scene.world, ref);

        if (instance->want == WANT_RUN ||
            instance->state == INSTANCE_RELEASED)
            continue;
        lifecycle_exited(changes, ref, 143, false);
        lifecycle_released(changes, ref);
    }
    scene_apply(&s->scene, changes);
    scene_scrub(&s->scene);
}

/* [S6] A gang of 2 to 6 with quota for 4 has 2, then 3, then 4 cards: each is
 * charged once, and what it was before is not charged beside it. */
static void
a_gang_grows_to_its_limit_and_is_charged_exactly(void **state)
{
    struct stage s;
    struct ref work;

    (void)state;
    stage_setup(&s, 8, CARDS(4));
    work = scene_running(&s.scene, elastic(&s, 2, 6));
    assert_int_equal(size_of(&s, work), 2);
    assert_int_equal(used(&s), CARDS(2));
    settle(&s, work);
    assert_int_equal(size_of(&s, work), 4);
    assert_int_equal(used(&s), CARDS(4));
    assert_int_equal(scene_state(&s.scene, work), WORKLOAD_RUNNING);
    assert_true(proves(&s, work, "\"rule\":\"growth\""));
    scene_change_quota(&s.scene, s.quota, 0, CARDS(8));
    settle(&s, work);
    assert_int_equal(size_of(&s, work), 6); /* its most */
    assert_int_equal(used(&s), CARDS(6));
    scene_finish(&s.scene, work, 0);
    assert_int_equal(scene_state(&s.scene, work), WORKLOAD_SUCCEEDED);
    assert_int_equal(used(&s), 0);
    scene_teardown(&s.scene);
}

static void
it_starts_only_when_its_least_fits(void **state)
{
    struct stage s;
    struct ref work;

    (void)state;
    stage_setup(&s, 2, CARDS(8));
    work = scene_submit(&s.scene, elastic(&s, 3, 6));
    scene_run(&s.scene);
    assert_true(lifecycle_is_waiting(scene_state(&s.scene, work)));
    assert_int_equal(used(&s), 0);
    scene_teardown(&s.scene);
}

/* Green is guaranteed 4: the surplus goes, newest first, the gang stays. */
static void
surplus_goes_before_whole_workloads(void **state)
{
    struct stage s;
    struct ref work, batch, green;
    int instances = 0;

    (void)state;
    stage_setup(&s, 6, CARDS(6));
    batch = scene_running(&s.scene, (struct job){ .project = s.project,
                                                  .class = s.one });
    work = scene_running(&s.scene, elastic(&s, 2, 5));
    settle(&s, work);
    assert_int_equal(size_of(&s, work), 5);
    green = scene_submit(&s.scene, green_job(&s, 2));
    scene_run(&s.scene);
    assert_int_equal(scene_workload(&s.scene, green)->reason,
                     REASON_RECLAIMING);
    assert_int_equal(scene_state(&s.scene, batch), WORKLOAD_RUNNING);
    assert_int_equal(scene_state(&s.scene, work), WORKLOAD_RUNNING);
    assert_int_equal(size_of(&s, work), 3);
    assert_true(proves(&s, work, "\"rule\":\"guarantee\""));
    assert_int_equal(scene_workload(&s.scene, work)->preemptions, 0);
    /* Until it is confirmed the cards are charged, and nobody's else. */
    assert_int_equal(used(&s), CARDS(6));
    let_go(&s, work);
    assert_int_equal(used(&s), CARDS(4));
    scene_run(&s.scene);
    scene_start(&s.scene, green);
    assert_int_equal(scene_state(&s.scene, green), WORKLOAD_RUNNING);
    /* What green gives back, the gang takes again under the same numbers. */
    scene_finish(&s.scene, green, 0);
    settle(&s, work);
    assert_int_equal(size_of(&s, work), 5);
    /* Who had a number before is history. */
    world_each_child(s.scene.world, KIND_INSTANCE, work, ref)
        instances++;
    assert_int_equal(instances, 5);
    scene_teardown(&s.scene);
}

/* How those ended that were told to leave is not how the gang ended. */
static void
a_gang_that_shrank_ends_as_its_members_do(void **state)
{
    struct stage s;
    struct ref work;

    (void)state;
    stage_setup(&s, 4, CARDS(4));
    work = scene_running(&s.scene, elastic(&s, 2, 4));
    settle(&s, work);
    (void)scene_submit(&s.scene, green_job(&s, 1));
    scene_run(&s.scene);
    let_go(&s, work); /* with 143 */
    scene_run(&s.scene);
    assert_int_equal(size_of(&s, work), 3);
    scene_exit(&s.scene, work, 0);
    scene_release(&s.scene, work);
    assert_int_equal(scene_state(&s.scene, work), WORKLOAD_SUCCEEDED);
    scene_teardown(&s.scene);
}

static void
below_its_least_it_is_preempted_as_a_whole(void **state)
{
    struct stage s;
    struct ref work, green;

    (void)state;
    stage_setup(&s, 4, CARDS(4));
    work = scene_running(&s.scene, elastic(&s, 2, 4));
    settle(&s, work);
    assert_int_equal(size_of(&s, work), 4);
    green = scene_submit(&s.scene, green_job(&s, 3));
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, work), WORKLOAD_PREEMPTING);
    assert_int_equal(scene_workload(&s.scene, work)->preemptions, 1);
    let_go(&s, work);
    scene_run(&s.scene);
    scene_start(&s.scene, green);
    assert_int_equal(scene_state(&s.scene, green), WORKLOAD_RUNNING);
    assert_true(lifecycle_is_waiting(scene_state(&s.scene, work)));
    assert_int_equal(used(&s), 0);
    scene_teardown(&s.scene);
}

/* It takes nothing from work that waits, in its pool or for its limit. */
static void
it_does_not_grow_while_others_wait(void **state)
{
    struct stage s;
    struct ref work, large;

    (void)state;
    stage_setup(&s, 4, CARDS(8));
    work = scene_running(&s.scene, elastic(&s, 1, 4));
    settle(&s, work);
    assert_int_equal(size_of(&s, work), 4);
    scene_finish(&s.scene, work, 0);
    work = scene_submit(&s.scene, elastic(&s, 1, 4));
    scene_run(&s.scene);
    large = scene_submit(&s.scene, (struct job){ .project = s.project,
                                                 .class = s.one,
                                                 .instances = 4 });
    settle(&s, work);
    assert_int_equal(size_of(&s, work), 1);
    {
        scene_edit(&s.scene, changes, workload, large);

        workload->state = WORKLOAD_HELD; /* by its user */
        workload->reason = REASON_HELD_BY_USER;
        scene_apply(&s.scene, changes);
    }
    settle(&s, work);
    assert_int_equal(size_of(&s, work), 4);
    scene_teardown(&s.scene);
}

/* A surplus instance that cannot be started does the gang no harm. */
static void
a_growth_that_fails_is_tried_later(void **state)
{
    struct stage s;
    struct ref work, last;

    (void)state;
    stage_setup(&s, 2, CARDS(2));
    work = scene_running(&s.scene, elastic(&s, 1, 2));
    scene_run(&s.scene);
    assert_int_equal(size_of(&s, work), 2);
    last = scene_instance(&s.scene, work);
    {
        struct changes *changes = scene_begin(&s.scene);

        lifecycle_start_failed(changes, last, "no image");
        lifecycle_released(changes, last);
        scene_apply(&s.scene, changes);
    }
    scene_scrub(&s.scene);
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, work), WORKLOAD_RUNNING);
    assert_int_equal(size_of(&s, work), 1);
    assert_int_equal(scene_workload(&s.scene, work)->failures, 0);
    scene_wait(&s.scene, 60000);
    settle(&s, work);
    assert_int_equal(size_of(&s, work), 2);
    scene_teardown(&s.scene);
}

static void
a_lost_surplus_leaves_the_gang_running(void **state)
{
    struct stage s;
    struct ref work, far;

    (void)state;
    stage_setup(&s, 1, CARDS(2));
    work = scene_running(&s.scene, elastic(&s, 1, 2));
    far = scene_node(&s.scene, s.pool, "n2", 1, "h100");
    settle(&s, work);
    assert_int_equal(size_of(&s, work), 2);
    {
        struct changes *changes = scene_begin(&s.scene);

        ((struct node *)change_update(changes, far))->state = NODE_LOST;
        lifecycle_lost(changes, far);
        scene_apply(&s.scene, changes);
    }
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, work), WORKLOAD_RUNNING);
    assert_int_equal(size_of(&s, work), 1);
    assert_int_equal(used(&s), CARDS(2)); /* its card is not back */
    scene_exit(&s.scene, work, 0);
    scene_teardown(&s.scene);
}

/* The one on the failed card leaves, and another takes its number elsewhere; one
 * that dies with its card takes nobody along. */
static void
surplus_on_a_failed_card_is_replaced(void **state)
{
    struct stage s;
    struct ref work, card;

    (void)state;
    stage_setup(&s, 4, CARDS(2));
    work = scene_running(&s.scene, elastic(&s, 1, 2));
    settle(&s, work);
    assert_int_equal(size_of(&s, work), 2);
    card = world_binding(s.scene.world,
                         world_first_child(s.scene.world, KIND_BINDING,
                                           scene_instance(&s.scene, work)))
               ->card;
    {
        struct changes *changes = scene_begin(&s.scene);

        ((struct card *)change_update(changes, card))->health = HEALTH_FAILED;
        lifecycle_card_failed(changes, card);
        scene_apply(&s.scene, changes);
    }
    assert_int_equal(size_of(&s, work), 1);
    assert_true(proves(&s, work, "card-failed"));
    let_go(&s, work);
    settle(&s, work);
    assert_int_equal(size_of(&s, work), 2);
    card = world_binding(s.scene.world,
                         world_first_child(s.scene.world, KIND_BINDING,
                                           scene_instance(&s.scene, work)))
               ->card;
    {
        struct changes *changes = scene_begin(&s.scene);
        struct ref last = scene_instance(&s.scene, work);

        ((struct card *)change_update(changes, card))->health = HEALTH_FAILED;
        lifecycle_exited(changes, last, 139, false);
        lifecycle_released(changes, last);
        scene_apply(&s.scene, changes);
    }
    assert_int_equal(scene_state(&s.scene, work), WORKLOAD_RUNNING);
    assert_int_equal(size_of(&s, work), 1);
    settle(&s, work);
    assert_int_equal(size_of(&s, work), 2);
    assert_int_equal(scene_workload(&s.scene, work)->failures, 0);
    scene_teardown(&s.scene);
}

/* One of its surplus was told to leave before a member failed: it counts no
 * more, whatever the rest is told. */
static void
what_has_left_a_gang_that_fails_is_not_of_it(void **state)
{
    struct stage s;
    struct ref work, first;

    (void)state;
    stage_setup(&s, 4, CARDS(4));
    work = scene_running(&s.scene, elastic(&s, 1, 3));
    settle(&s, work);
    assert_int_equal(size_of(&s, work), 3);
    first = world_first_child(s.scene.world, KIND_INSTANCE, work);
    {
        struct changes *changes = scene_begin(&s.scene);

        lifecycle_shrink(changes, scene_instance(&s.scene, work), NULL);
        scene_apply(&s.scene, changes);
    }
    assert_int_equal(size_of(&s, work), 2);
    {
        struct changes *changes = scene_begin(&s.scene);

        lifecycle_exited(changes, first, 1, false);
        scene_apply(&s.scene, changes);
    }
    assert_int_equal(size_of(&s, work), 2);
    assert_int_equal(world_instance(s.scene.world, scene_instance(&s.scene, work))
                         ->want,
                     WANT_NOTICE);
    scene_exit(&s.scene, work, 143);
    scene_release(&s.scene, work);
    assert_int_equal(scene_workload(&s.scene, work)->failures, 1);
    assert_int_equal(used(&s), 0);
    scene_teardown(&s.scene);
}

/* Replay: a scheduler that starts anew decides the same. */
static void
a_restart_changes_nothing(void **state)
{
    struct stage s;
    struct ref work;

    (void)state;
    stage_setup(&s, 8, CARDS(4));
    work = scene_running(&s.scene, elastic(&s, 2, 6));
    scheduler_free(s.scene.scheduler);
    s.scene.scheduler = scheduler_new();
    settle(&s, work);
    assert_int_equal(size_of(&s, work), 4);
    scheduler_free(s.scene.scheduler);
    s.scene.scheduler = scheduler_new();
    scene_run(&s.scene);
    assert_int_equal(s.scene.steps, 0);
    scene_teardown(&s.scene);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gang_grows_to_its_limit_and_is_charged_exactly),
        cmocka_unit_test(it_starts_only_when_its_least_fits),
        cmocka_unit_test(surplus_goes_before_whole_workloads),
        cmocka_unit_test(a_gang_that_shrank_ends_as_its_members_do),
        cmocka_unit_test(below_its_least_it_is_preempted_as_a_whole),
        cmocka_unit_test(it_does_not_grow_while_others_wait),
        cmocka_unit_test(a_growth_that_fails_is_tried_later),
        cmocka_unit_test(a_lost_surplus_leaves_the_gang_running),
        cmocka_unit_test(surplus_on_a_failed_card_is_replaced),
        cmocka_unit_test(what_has_left_a_gang_that_fails_is_not_of_it),
        cmocka_unit_test(a_restart_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
