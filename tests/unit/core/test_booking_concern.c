/* SPDX-License-Identifier: Apache-2.0 */
#include "scene.h"

/* Whom the end of a booking wakes, and who wakes what is booked.  scene_run
 * compares with an evaluation of all that waits. */

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

static bool
is_held(const struct scene *scene, struct ref ref)
{
    return !ref_is_none(world_first_child(scene->world, KIND_HOLD, ref));
}

/* Books a card for a workload, at no time that is known. */
static void
book(struct stage *s, struct ref owner, struct ref card)
{
    struct changes *changes = scene_begin(&s->scene);
    struct booking *booking = change_create(changes, KIND_BOOKING, owner, "");

    booking->pool = s->pool;
    booking->card = card;
    booking->milli = 1000;
    scene_apply(&s->scene, changes);
}

static void
end_bookings(struct stage *s, struct ref owner)
{
    struct changes *changes = scene_begin(&s->scene);

    world_each_child(s->scene.world, KIND_BOOKING, owner, ref)
        change_delete(changes, ref);
    scene_apply(&s->scene, changes);
}

/* Four of b's wait in one pool; each of two has a card booked.  One of those
 * who may not run on the h100 waits for an a100 of another node. */
static void
the_end_of_a_booking_wakes_whom_it_kept_away_alone_S52(void **state)
{
    struct stage s;
    struct scene *scene = &s.scene;
    struct ref waiting[3], a100, fixed;
    struct job job;
    uint64_t looks;

    (void)state;
    stage_setup(&s);
    a100 = scene_class(scene, "a1", "a100", 1);
    (void)scene_node(scene, s.pool, "n2", 1, "a100");
    for (int i = 0; i < 2; i++)
        scene_quota(scene, s.tenants[i], DIMENSION_CARDS, 0, CARDS(5));
    job = job_of(&s, 0);
    for (int i = 0; i < 4; i++)
        (void)scene_running(scene, job);
    job.class = a100;
    (void)scene_running(scene, job);
    job = job_of(&s, 1);
    for (int i = 0; i < 3; i++) {
        job.cpu_milli = 1000 * (i + 1); /* each in a group of its own */
        waiting[i] = scene_submit(scene, job);
    }
    job.project = s.projects[0]; /* the limit of a is reached */
    job.class = a100;
    fixed = scene_submit(scene, job);
    job.project = s.projects[1];
    (void)scene_submit(scene, job);
    scene_run(scene);
    book(&s, waiting[0], scene_card_of(scene, s.node, 0));
    scene_run(scene);
    assert_int_equal(scene_workload(scene, fixed)->reason, REASON_LIMIT);
    end_bookings(&s, waiting[0]);
    looks = schedule_looks(scene->scheduler);
    scene_run(scene);
    /* Whose it was (it is among its equals again), and the two other h100; b's
     * own a100 waits below the same limits. */
    assert_int_equal(schedule_looks(scene->scheduler) - looks, 4);
    scene_teardown(scene);
}

/* b has booked two free cards for what its user holds back; two others of it,
 * within its guarantee, start when that ends. */
static void
the_end_of_a_booking_lets_others_start_S52(void **state)
{
    struct stage s;
    struct scene *scene = &s.scene;
    struct ref held;
    struct job job;

    (void)state;
    stage_setup(&s);
    scene_quota(scene, s.tenants[0], DIMENSION_CARDS, 0, CARDS(2));
    scene_quota(scene, s.tenants[1], DIMENSION_CARDS, CARDS(4), CARDS(4));
    for (int i = 0; i < 2; i++)
        (void)scene_running(scene, job_of(&s, 0));
    held = scene_submit(scene, job_of(&s, 1));
    {
        scene_edit(scene, changes, workload, held);
        workload->state = WORKLOAD_HELD;
        scene_apply(scene, changes);
    }
    for (int i = 0; i < 4; i++)
        if (world_card(scene->world, scene_card_of(scene, s.node, i))
                ->used_milli == 0)
            book(&s, held, scene_card_of(scene, s.node, i));
    job = job_of(&s, 1);
    job.priority = scene_priority(scene, "none", 0);
    for (int i = 0; i < 2; i++) {
        job.cpu_milli = 1000 * (i + 1);
        job.fixed = true;
        (void)scene_submit(scene, job);
    }
    scene_run(scene);
    assert_int_equal(scene->assigned, 0);
    end_bookings(&s, held);
    scene_run(scene);
    assert_int_equal(scene->assigned, 2);
    scene_teardown(scene);
}

/* a has a booking at no known time on two cards of pool p: one is lent to b,
 * whose guarantee spares it as soon as b has no other card; the other becomes
 * free.  When b starts in pool q, the loan can be called in. */
static void
a_loan_is_called_in_when_the_borrower_uses_more_elsewhere(void **state)
{
    struct stage s;
    struct scene *scene = &s.scene;
    struct ref booked, endless, other, loan, pool;
    struct job job;

    (void)state;
    stage_setup(&s);
    scene_quota(scene, s.tenants[0], DIMENSION_CARDS, 0, CARDS(8));
    scene_quota(scene, s.tenants[1], DIMENSION_CARDS, CARDS(1), CARDS(8));
    pool = scene_pool(scene, "q");
    scene_node(scene, pool, "n2", 2, "h100");
    job = job_of(&s, 1);
    job.pool = pool;
    other = scene_running(scene, job);
    job = job_of(&s, 0);
    job.pool = s.pool;
    for (int i = 0; i < 2; i++)
        (void)scene_running(scene, job);
    endless = scene_running(scene, job);
    job.class = scene_class(scene, "x2", "h100", 2);
    booked = scene_submit(scene, job);
    for (int i = 2; i < 4; i++)
        book(&s, booked, scene_card_of(scene, s.node, i));
    scene_run(scene);
    job = job_of(&s, 1);
    job.pool = s.pool;
    loan = scene_running(scene, job);
    scene_finish(scene, other, 0);
    scene_finish(scene, endless, 0);
    scene_run(scene);
    assert_int_equal(scene_state(scene, loan), WORKLOAD_RUNNING);
    assert_int_equal(scene_state(scene, booked), WORKLOAD_QUEUED);
    job.pool = pool;
    (void)scene_submit(scene, job);
    scene_run(scene);
    assert_int_equal(scene_state(scene, loan), WORKLOAD_PREEMPTING);
    assert_true(is_held(scene, booked));
    scene_teardown(scene);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            the_end_of_a_booking_wakes_whom_it_kept_away_alone_S52),
        cmocka_unit_test(the_end_of_a_booking_lets_others_start_S52),
        cmocka_unit_test(
            a_loan_is_called_in_when_the_borrower_uses_more_elsewhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
