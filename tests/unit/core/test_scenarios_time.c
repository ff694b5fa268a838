/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simulate/kin.h"

#include "core/booking.h"
#include "core/month.h"
#include "core/reservation.h"
#include "core/usage.h"

/*
 * What users of other schedulers met: edits, limits and time.  Each number is
 * counted by hand.  A node of cards, tenants a, b and c.
 */

#define MINUTE INT64_C(60000)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)

static int64_t
used(const struct stage *s, struct ref quota)
{
    return world_quota(s->scene.world, quota)->used;
}

/* --- edits --- */

/* A limit of 4 is lowered to 2 while 3 run: they run on, and the next starts
 * when only one is left. */
static void
a_limit_below_use_admits_nothing_and_takes_nothing(void **state)
{
    struct stage s;
    struct ref quota, runs[3], next;

    (void)state;
    stage_setup(&s, 8);
    quota = cards_of(&s, s.a, 0, CARDS(4));
    for (int i = 0; i < 3; i++)
        runs[i] = scene_running(&s.scene, job_in(&s, s.pa, 1));
    scene_change_quota(&s.scene, quota, 0, CARDS(2));
    next = scene_submit(&s.scene, job_in(&s, s.pa, 1));
    for (int i = 0; i < 2; i++) {
        scene_run(&s.scene);
        assert_int_equal(s.scene.victims, 0);
        assert_int_equal(state_of(&s, next), WORKLOAD_GATED);
        scene_finish(&s.scene, runs[i], 0);
    }
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, next), WORKLOAD_ASSIGNED);
    assert_int_equal(used(&s, quota), CARDS(2));
    scene_teardown(&s.scene);
}

/* A quota of a class counts it by whatever name. */
static void
a_class_that_is_renamed_is_counted_as_before(void **state)
{
    struct stage s;
    struct ref quota, next;

    (void)state;
    stage_setup(&s, 8);
    (void)cards_of(&s, s.a, 0, CARDS(8));
    {
        struct changes *changes = scene_begin(&s.scene);
        struct quota *image = change_create(changes, KIND_QUOTA, s.a, "");

        quota = image->object.self;
        image->dimension = DIMENSION_CARDS;
        image->class = s.one;
        image->limit = CARDS(1);
        scene_apply(&s.scene, changes);
    }
    (void)scene_running(&s.scene, job_in(&s, s.pa, 1));
    {
        scene_edit(&s.scene, changes, class, s.one);
        (void)snprintf(class->object.name, sizeof(class->object.name),
                       "single");
        scene_apply(&s.scene, changes);
    }
    next = scene_submit(&s.scene, job_in(&s, s.pa, 1));
    scene_run(&s.scene);
    assert_int_equal(used(&s, quota), CARDS(1));
    assert_int_equal(reason_of(&s, next), REASON_LIMIT);
    scene_teardown(&s.scene);
}

/* What waits is told, what runs gives back all that it has. */
static void
a_class_that_is_gone_leaves_no_use_behind(void **state)
{
    struct stage s;
    struct ref quota, run, waiting;

    (void)state;
    stage_setup(&s, 1);
    quota = cards_of(&s, s.a, 0, CARDS(2));
    run = scene_running(&s.scene, job_in(&s, s.pa, 1));
    waiting = scene_submit(&s.scene, job_in(&s, s.pa, 1));
    scene_run(&s.scene);
    {
        struct changes *changes = scene_begin(&s.scene);

        change_delete(changes, s.one);
        scene_apply(&s.scene, changes);
    }
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, waiting), WORKLOAD_GATED);
    assert_int_equal(reason_of(&s, waiting), REASON_POLICY);
    assert_int_equal(state_of(&s, run), WORKLOAD_RUNNING);
    scene_finish(&s.scene, run, 0);
    assert_int_equal(used(&s, quota), 0);
    scene_run(&s.scene);
    assert_int_equal(reason_of(&s, waiting), REASON_POLICY);
    scene_teardown(&s.scene);
}

/* Two wait for one card; the class of the later becomes the higher one. */
static void
another_value_of_a_priority_counts_for_what_waits(void **state)
{
    struct stage s;
    struct ref run, first, second;
    struct job job;

    (void)state;
    stage_setup(&s, 1);
    (void)cards_of(&s, s.a, 0, CARDS(2));
    job = job_in(&s, s.pa, 1);
    job.priority = s.high;
    run = scene_running(&s.scene, job);
    first = scene_submit(&s.scene, job);
    job.priority = s.low;
    second = scene_submit(&s.scene, job);
    scene_run(&s.scene);
    {
        scene_edit(&s.scene, changes, priority, s.high);
        priority->value = 10;
        scene_apply(&s.scene, changes);
    }
    {
        scene_edit(&s.scene, changes, priority, s.low);
        priority->value = 11;
        priority->preempt_across = false;
        scene_apply(&s.scene, changes);
    }
    scene_run(&s.scene);
    /* It may even take the card of the lower one now. */
    give_way(&s, run);
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, second), WORKLOAD_ASSIGNED);
    assert_int_equal(state_of(&s, first), WORKLOAD_QUEUED);
    scene_teardown(&s.scene);
}

/* A limit of the pool is full: the other pool has room. */
static void
a_full_pool_quota_sends_work_to_the_other_pool(void **state)
{
    struct stage s;
    struct ref other, work;

    (void)state;
    stage_setup(&s, 4);
    other = scene_pool(&s.scene, "b");
    (void)scene_node(&s.scene, other, "n2", 1, "h100");
    (void)cards_of(&s, s.a, 0, CARDS(4));
    {
        struct changes *changes = scene_begin(&s.scene);
        struct quota *image = change_create(changes, KIND_QUOTA, s.a, "");

        image->dimension = DIMENSION_CARDS;
        image->pool = s.pool;
        image->limit = CARDS(1);
        scene_apply(&s.scene, changes);
    }
    for (int i = 0; i < 3; i++)
        work = scene_submit(&s.scene, job_in(&s, s.pa, 1));
    scene_run(&s.scene);
    assert_int_equal(count_in(&s, WORKLOAD_ASSIGNED), 2);
    assert_int_equal(state_of(&s, work), WORKLOAD_QUEUED);
    scene_teardown(&s.scene);
}

/* --- counted once --- */

/* It fails to start: card and quota are free meanwhile, and others start. */
static void
a_failed_start_leaks_neither_card_nor_quota(void **state)
{
    struct stage s;
    struct ref quota, unlucky, next;

    (void)state;
    stage_setup(&s, 1);
    quota = cards_of(&s, s.a, 0, CARDS(1));
    unlucky = scene_submit(&s.scene, job_in(&s, s.pa, 1));
    scene_run(&s.scene);
    {
        struct changes *changes = scene_begin(&s.scene);

        lifecycle_start_failed(changes, scene_instance(&s.scene, unlucky),
                               "no luck");
        scene_apply(&s.scene, changes);
    }
    scene_release(&s.scene, unlucky);
    scene_scrub(&s.scene);
    assert_int_equal(used(&s, quota), 0);
    next = scene_submit(&s.scene, job_in(&s, s.pa, 1));
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, next), WORKLOAD_ASSIGNED);
    assert_true(lifecycle_is_waiting(state_of(&s, unlucky)));
    assert_int_equal(used(&s, quota), CARDS(1));
    scene_teardown(&s.scene);
}

/* It is one workload, however often it is tried again. */
static void
a_retry_counts_as_the_same_workload(void **state)
{
    struct stage s;
    struct ref quota, work;
    struct job job;

    (void)state;
    stage_setup(&s, 2);
    (void)cards_of(&s, s.a, 0, CARDS(2));
    quota = scene_quota(&s.scene, s.a, DIMENSION_WORKLOADS, 0, 1);
    job = job_in(&s, s.pa, 1);
    job.restarts = 2;
    work = scene_running(&s.scene, job);
    for (int i = 0; i < 2; i++) {
        scene_exit(&s.scene, work, 1);
        scene_release(&s.scene, work);
        scene_scrub(&s.scene);
        assert_int_equal(used(&s, quota), 0);
        scene_wait(&s.scene, HOUR);
        scene_run(&s.scene);
        scene_start(&s.scene, work);
        assert_int_equal(state_of(&s, work), WORKLOAD_RUNNING);
        assert_int_equal(used(&s, quota), 1);
    }
    scene_teardown(&s.scene);
}

/* n1 is lost, the work goes on elsewhere; then n1 is back and reports that the
 * old attempt is over, twice. */
static void
a_late_end_of_an_old_attempt_frees_nothing_of_the_new(void **state)
{
    struct stage s;
    struct ref quota, work, old;
    struct job job;

    (void)state;
    stage_setup(&s, 1);
    quota = cards_of(&s, s.a, 0, CARDS(2));
    job = job_in(&s, s.pa, 1);
    job.recovery = RECOVERY_ANY;
    work = scene_running(&s.scene, job);
    old = scene_instance(&s.scene, work);
    (void)scene_node(&s.scene, s.pool, "n2", 1, "h100");
    {
        struct changes *changes = scene_begin(&s.scene);

        usage_cut_node(changes, s.node);
        ((struct node *)change_update(changes, s.node))->state = NODE_LOST;
        lifecycle_lost(changes, s.node);
        scene_apply(&s.scene, changes);
    }
    scene_run(&s.scene);
    scene_start(&s.scene, work);
    assert_int_equal(state_of(&s, work), WORKLOAD_RUNNING);
    assert_int_equal(used(&s, quota), CARDS(2)); /* the lost one is bound */
    for (int i = 0; i < 2; i++) {
        struct changes *changes = scene_begin(&s.scene);

        lifecycle_back(changes, old);
        lifecycle_exited(changes, old, 0, false);
        lifecycle_released(changes, old);
        scene_apply(&s.scene, changes);
        assert_int_equal(state_of(&s, work), WORKLOAD_RUNNING);
        assert_int_equal(used(&s, quota), CARDS(1));
    }
    scene_teardown(&s.scene);
}

/* Ten tenths of a card, thirty times: not a thousandth is left over, and
 * the eleventh waits each time. */
static void
tenths_of_a_card_add_up_to_it_for_ever(void **state)
{
    struct stage s;
    struct ref quota, share, work[11];
    struct job job;

    (void)state;
    stage_setup(&s, 1);
    s.scene.sample = 1000;
    quota = cards_of(&s, s.a, CARDS(1), CARDS(1));
    share = scene_share(&s.scene, "tenth", 100, 1000);
    job = job_in(&s, s.pa, 1);
    job.class = share;
    for (int round = 0; round < 30; round++) {
        for (int i = 0; i < 11; i++)
            work[i] = scene_submit(&s.scene, job);
        scene_run(&s.scene);
        assert_int_equal(s.scene.assigned, 10);
        assert_int_equal(used(&s, quota), CARDS(1));
        for (int i = 0; i < 11; i++)
            if (state_of(&s, work[i]) == WORKLOAD_ASSIGNED) {
                scene_start(&s.scene, work[i]);
                scene_exit(&s.scene, work[i], 0);
                scene_release(&s.scene, work[i]);
            } else {
                struct changes *changes = scene_begin(&s.scene);
                struct workload *workload = change_update(changes, work[i]);

                reason_clear(workload);
                workload->state = WORKLOAD_CANCELLED;
                workload->ended_ms = s.scene.now_ms;
                scene_apply(&s.scene, changes);
            }
        assert_int_equal(used(&s, quota), 0);
        scene_scrub(&s.scene);
    }
    scene_teardown(&s.scene);
}

/* Four of four cards are used when two of them get sick: one that is given
 * back is one that is free. */
static void
cards_that_get_sick_under_work_do_not_count_against_free_ones(void **state)
{
    struct stage s;
    struct ref runs[4], next[2];
    int sick = 0;

    (void)state;
    stage_setup(&s, 4);
    (void)cards_of(&s, s.a, 0, CARDS(8));
    for (int i = 0; i < 4; i++)
        runs[i] = scene_running(&s.scene, job_in(&s, s.pa, 1));
    world_each(s.scene.world, KIND_BINDING, ref) {
        const struct binding *binding = world_binding(s.scene.world, ref);
        struct ref card = binding->card;

        if (!ref_equal(binding->workload, runs[0]) &&
            !ref_equal(binding->workload, runs[1]))
            continue;
        {
            struct changes *changes = scene_begin(&s.scene);

            usage_cut(changes, card);
            ((struct card *)change_update(changes, card))->health =
                HEALTH_SUSPECT;
            scene_apply(&s.scene, changes);
        }
        sick++;
    }
    assert_int_equal(sick, 2);
    for (int i = 0; i < 2; i++)
        next[i] = scene_submit(&s.scene, job_in(&s, s.pa, 1));
    scene_run(&s.scene);
    scene_finish(&s.scene, runs[2], 0);
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, next[0]), WORKLOAD_ASSIGNED);
    assert_int_equal(state_of(&s, next[1]), WORKLOAD_QUEUED);
    scene_finish(&s.scene, runs[0], 0); /* on a sick one */
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, next[1]), WORKLOAD_QUEUED);
    scene_teardown(&s.scene);
}

/* --- people of one project --- */

static struct ref
person(struct stage *s, const char *name)
{
    return scene_put(&s->scene, KIND_USER, s->a, name);
}

/* ada may have one card: her ten do not stand in the way of bob's two. */
static void
one_users_cap_blocks_nobody_else_in_the_project(void **state)
{
    struct stage s;
    struct ref ada, bob;
    struct job job;

    (void)state;
    stage_setup(&s, 4);
    (void)cards_of(&s, s.a, 0, CARDS(4));
    ada = person(&s, "ada");
    bob = person(&s, "bob");
    {
        struct changes *changes = scene_begin(&s.scene);
        struct quota *image = change_create(changes, KIND_QUOTA, s.pa, "");

        image->dimension = DIMENSION_CARDS;
        image->user = ada;
        image->limit = CARDS(1);
        scene_apply(&s.scene, changes);
    }
    job = job_in(&s, s.pa, 1);
    job.user = ada;
    for (int i = 0; i < 10; i++)
        (void)scene_submit(&s.scene, job);
    job.user = bob;
    for (int i = 0; i < 2; i++)
        (void)scene_submit(&s.scene, job);
    scene_run(&s.scene);
    assert_int_equal(s.scene.assigned, 3);
    assert_int_equal(count_in(&s, WORKLOAD_GATED), 9);
    scene_teardown(&s.scene);
}

/* ada has had the only card for an hour; both wait for it, she came first. */
static void
who_had_less_lately_goes_first_in_the_project(void **state)
{
    struct stage s;
    struct ref ada, bob, run, again, first;
    struct job job;

    (void)state;
    stage_setup(&s, 1);
    {
        scene_edit(&s.scene, changes, platform, s.scene.platform);
        platform->share_half_life_ms = 7 * DAY;
        scene_apply(&s.scene, changes);
    }
    (void)cards_of(&s, s.a, 0, CARDS(1));
    ada = person(&s, "ada");
    bob = person(&s, "bob");
    job = job_in(&s, s.pa, 1);
    job.user = ada;
    run = scene_running(&s.scene, job);
    scene_wait(&s.scene, HOUR);
    again = scene_submit(&s.scene, job);
    scene_wait(&s.scene, MINUTE);
    job.user = bob;
    first = scene_submit(&s.scene, job);
    scene_run(&s.scene);
    scene_finish(&s.scene, run, 0);
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, first), WORKLOAD_ASSIGNED);
    assert_int_equal(state_of(&s, again), WORKLOAD_GATED);
    scene_teardown(&s.scene);
}

/* --- time --- */

/* Raised from 2 to 4 for an hour, and 4 run: afterwards they run on, and the
 * next starts when one is left. */
static void
what_began_above_a_limit_runs_on_when_that_ends(void **state)
{
    struct stage s;
    struct ref limit, runs[4], next;

    (void)state;
    stage_setup(&s, 8);
    limit = cards_of(&s, s.a, 0, CARDS(2));
    {
        scene_edit(&s.scene, changes, quota, limit);
        quota->raised_limit = CARDS(4);
        quota->raised_until_ms = s.scene.now_ms + HOUR;
        scene_apply(&s.scene, changes);
    }
    for (int i = 0; i < 4; i++)
        runs[i] = scene_running(&s.scene, job_in(&s, s.pa, 1));
    scene_wait(&s.scene, HOUR);
    next = scene_submit(&s.scene, job_in(&s, s.pa, 1));
    for (int i = 0; i < 3; i++) {
        scene_run(&s.scene);
        assert_int_equal(s.scene.victims, 0);
        assert_int_equal(state_of(&s, next), WORKLOAD_GATED);
        scene_finish(&s.scene, runs[i], 0);
    }
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, next), WORKLOAD_ASSIGNED);
    scene_teardown(&s.scene);
}

/* A start is booked for the end of an hour; then the hour is made ten.  Nobody
 * is stopped for it: it waits, and starts when that has ended. */
static void
a_longer_run_moves_a_booked_start_and_is_not_cut(void **state)
{
    struct stage s;
    struct ref run, booked;
    struct job job;

    (void)state;
    stage_setup(&s, 2);
    {
        scene_edit(&s.scene, changes, platform, s.scene.platform);
        platform->bypass_ms = MINUTE;
        scene_apply(&s.scene, changes);
    }
    (void)cards_of(&s, s.a, 0, CARDS(4));
    job = job_in(&s, s.pa, 2);
    job.max_run_ms = HOUR;
    run = scene_running(&s.scene, job);
    booked = scene_submit(&s.scene, job_in(&s, s.pa, 2));
    scene_run(&s.scene);
    scene_wait(&s.scene, 2 * MINUTE);
    scene_run(&s.scene);
    assert_true(booking_has(s.scene.world, booked));
    {
        scene_edit(&s.scene, changes, workload, run);
        workload->max_run_ms = 10 * HOUR;
        scene_apply(&s.scene, changes);
    }
    for (int i = 0; i < 9; i++) {
        scene_wait(&s.scene, HOUR);
        scene_run(&s.scene);
        assert_int_equal(state_of(&s, run), WORKLOAD_RUNNING);
        assert_true(lifecycle_is_waiting(state_of(&s, booked)));
        assert_int_equal(scene_workload(&s.scene, run)->max_run_ms,
                         10 * HOUR);
    }
    scene_finish(&s.scene, run, 0);
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, booked), WORKLOAD_ASSIGNED);
    scene_teardown(&s.scene);
}

/* Thirds of cards come and go; what needs two whole ones is booked after three
 * were let past, and starts when those before it have ended. */
static void
shares_do_not_keep_whole_cards_away_for_ever(void **state)
{
    struct stage s;
    struct ref third, whole, share[6];
    struct job job;
    int rounds = 0, next = 0;

    (void)state;
    stage_setup(&s, 2);
    {
        scene_edit(&s.scene, changes, platform, s.scene.platform);
        platform->bypass_max = 3;
        scene_apply(&s.scene, changes);
    }
    (void)cards_of(&s, s.a, 0, CARDS(2));
    (void)cards_of(&s, s.b, 0, CARDS(2));
    third = scene_share(&s.scene, "third", 333, 1000);
    job = job_in(&s, s.pb, 1);
    job.class = third;
    job.max_run_ms = HOUR;
    for (int i = 0; i < 6; i++)
        share[i] = scene_running(&s.scene, job);
    whole = scene_submit(&s.scene, job_in(&s, s.pa, 2));
    scene_run(&s.scene);
    while (state_of(&s, whole) != WORKLOAD_ASSIGNED) {
        assert_true(rounds++ < 40);
        scene_wait(&s.scene, 10 * MINUTE);
        if (state_of(&s, share[next]) == WORKLOAD_RUNNING)
            scene_finish(&s.scene, share[next], 0);
        share[next] = scene_submit(&s.scene, job);
        next = (next + 1) % 6;
        scene_run(&s.scene);
        for (int i = 0; i < 6; i++) {
            if (state_of(&s, share[i]) == WORKLOAD_ASSIGNED)
                scene_start(&s.scene, share[i]);
            if (state_of(&s, share[i]) == WORKLOAD_PREEMPTING)
                give_way(&s, share[i]);
        }
    }
    assert_in_range(rounds, 4, 12);
    scene_teardown(&s.scene);
}

/* Each week at 08:00 UTC for an hour: the night when clocks are set forward
 * (28 March 2027 in Europe) moves none of them, and each lasts an hour. */
static void
windows_keep_to_utc_when_clocks_are_set_forward(void **state)
{
    const int64_t first = INT64_C(1805760000000); /* 2027-03-23T00:00:00Z */
    struct reservation week = { .from_ms = first + 8 * HOUR,
                                .to_ms = first + 9 * HOUR,
                                .every = RESERVATION_WEEK,
                                .until_ms = first + 60 * DAY };
    int64_t at_ms = first, from_ms = 0, to_ms = 0;

    (void)state;
    for (int i = 0; i < 4; i++) {
        assert_true(reservation_window(&week, at_ms, &from_ms, &to_ms));
        assert_int_equal(from_ms, first + i * 7 * DAY + 8 * HOUR);
        assert_int_equal(to_ms - from_ms, HOUR);
        at_ms = to_ms;
    }
}

/* Nothing was heard for forty days: the run of an hour is told to stop, and the
 * month that began since has nothing used in it but what still runs. */
static void
a_leap_of_forty_days_ends_what_is_over_and_counts_no_less_than_nothing(
    void **state)
{
    struct stage s;
    struct ref hours, run, next;
    struct job job;

    (void)state;
    stage_setup(&s, 1);
    (void)cards_of(&s, s.a, 0, CARDS(1));
    hours = scene_quota(&s.scene, s.a, DIMENSION_CARD_TIME, 0,
                        INT64_C(100) * 1000 * HOUR);
    job = job_in(&s, s.pa, 1);
    job.max_run_ms = HOUR;
    run = scene_running(&s.scene, job);
    next = scene_submit(&s.scene, job);
    scene_wait(&s.scene, 40 * DAY);
    scene_run(&s.scene);
    assert_int_equal(s.scene.stopped, 1);
    assert_int_equal(state_of(&s, run), WORKLOAD_CANCELLING);
    scene_exit(&s.scene, run, 143);
    scene_release(&s.scene, run);
    scene_scrub(&s.scene);
    assert_true(quota_used(s.scene.world,
                           world_quota(s.scene.world, hours),
                           s.scene.now_ms) >= 0);
    scene_wait(&s.scene, 40 * DAY);
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, next), WORKLOAD_ASSIGNED);
    scene_teardown(&s.scene);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_limit_below_use_admits_nothing_and_takes_nothing),
        cmocka_unit_test(a_class_that_is_renamed_is_counted_as_before),
        cmocka_unit_test(a_class_that_is_gone_leaves_no_use_behind),
        cmocka_unit_test(another_value_of_a_priority_counts_for_what_waits),
        cmocka_unit_test(a_full_pool_quota_sends_work_to_the_other_pool),
        cmocka_unit_test(a_failed_start_leaks_neither_card_nor_quota),
        cmocka_unit_test(a_retry_counts_as_the_same_workload),
        cmocka_unit_test(
            a_late_end_of_an_old_attempt_frees_nothing_of_the_new),
        cmocka_unit_test(tenths_of_a_card_add_up_to_it_for_ever),
        cmocka_unit_test(
            cards_that_get_sick_under_work_do_not_count_against_free_ones),
        cmocka_unit_test(one_users_cap_blocks_nobody_else_in_the_project),
        cmocka_unit_test(who_had_less_lately_goes_first_in_the_project),
        cmocka_unit_test(what_began_above_a_limit_runs_on_when_that_ends),
        cmocka_unit_test(a_longer_run_moves_a_booked_start_and_is_not_cut),
        cmocka_unit_test(shares_do_not_keep_whole_cards_away_for_ever),
        cmocka_unit_test(windows_keep_to_utc_when_clocks_are_set_forward),
        cmocka_unit_test(
            a_leap_of_forty_days_ends_what_is_over_and_counts_no_less_than_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
