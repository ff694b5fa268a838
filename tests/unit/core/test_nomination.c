/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/core/scene.h"

#include "core/booking.h"

/* Nobody makes room in vain: who is named helps, and who is nominated starts. */

struct stage {
    struct scene scene;
    struct ref pool, node, one, two, low, high;
    struct ref a, b, pa, pb;
};

/* Two tenants with a project each; a node has `cards` cards. */
static void
stage_setup(struct stage *s, int cards)
{
    scene_setup(&s->scene);
    s->pool = scene_pool(&s->scene, "a");
    s->node = scene_node(&s->scene, s->pool, "n1", cards, "h100");
    s->one = scene_class(&s->scene, "h100.1", "h100", 1);
    s->two = scene_class(&s->scene, "h100.2", "h100", 2);
    s->low = scene_priority(&s->scene, "low", 10);
    s->high = scene_priority(&s->scene, "high", 20);
    s->a = scene_tenant(&s->scene, "a");
    s->b = scene_tenant(&s->scene, "b");
    s->pa = scene_project(&s->scene, s->a, "pa");
    s->pb = scene_project(&s->scene, s->b, "pb");
}

static struct job
job(struct ref project, struct ref class, struct ref priority)
{
    return (struct job){ .project = project,
                         .class = class,
                         .priority = priority };
}

/* Its process has ended long ago and its card was never given back: to stop
 * the workload would free nothing. */
static void
what_is_stuck_is_no_victim(void **state)
{
    struct stage s;
    struct ref stuck, claim;

    (void)state;
    stage_setup(&s, 1);
    (void)scene_quota(&s.scene, s.a, DIMENSION_CARDS, 0, CARDS(8));
    stuck = scene_running(&s.scene, job(s.pa, s.one, s.low));
    scene_exit(&s.scene, stuck, 1);
    scene_wait(&s.scene, 300001); /* hold_ms of the scene, and one */
    claim = scene_submit(&s.scene, job(s.pa, s.one, s.high));
    scene_run(&s.scene);
    assert_int_equal(s.scene.nominated, 0);
    assert_int_equal(scene_state(&s.scene, stuck), WORKLOAD_RUNNING);
    assert_true(lifecycle_is_waiting(scene_state(&s.scene, claim)));
    scene_release(&s.scene, stuck);
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, claim), WORKLOAD_ASSIGNED);
    scene_teardown(&s.scene);
}

/* b has 3 of 1 guaranteed: one card on n2, newest, and two on n1.  The one
 * would go first and is of no use to a, which needs two cards on a node; with
 * it gone the two would be b's guarantee. */
static void
a_useless_victim_keeps_nobody_who_helps(void **state)
{
    struct stage s;
    struct ref useful, useless, claim;

    (void)state;
    stage_setup(&s, 2);
    (void)scene_node(&s.scene, s.pool, "n2", 1, "h100");
    (void)scene_quota(&s.scene, s.a, DIMENSION_CARDS, CARDS(2), CARDS(8));
    (void)scene_quota(&s.scene, s.b, DIMENSION_CARDS, CARDS(1), CARDS(8));
    useful = scene_running(&s.scene, job(s.pb, s.two, s.low));
    scene_wait(&s.scene, 60000);
    useless = scene_running(&s.scene, job(s.pb, s.one, s.low));
    claim = scene_submit(&s.scene, job(s.pa, s.two, s.low));
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, useful), WORKLOAD_PREEMPTING);
    assert_int_equal(scene_state(&s.scene, useless), WORKLOAD_RUNNING);
    scene_exit(&s.scene, useful, 75);
    scene_release(&s.scene, useful);
    scene_scrub(&s.scene);
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, claim), WORKLOAD_ASSIGNED);
    scene_teardown(&s.scene);
}

/* Books a card for a workload, without a time. */
static void
book(struct stage *s, struct ref workload, struct ref card, int64_t milli)
{
    struct changes *changes = scene_begin(&s->scene);
    struct booking *booking =
        change_create(changes, KIND_BOOKING, workload, "");

    booking->pool = s->pool;
    booking->card = card;
    booking->milli = milli;
    scene_apply(&s->scene, changes);
}

/* Beside its own low work a's urgent work is burst and could borrow the card
 * that is booked for b.  In its place it would be within the guarantee, to
 * whom nobody lends: the low work would go in vain. */
static void
nobody_goes_for_a_loan_that_ends_with_it(void **state)
{
    struct stage s;
    struct ref low, booked, urgent;

    (void)state;
    stage_setup(&s, 1);
    (void)scene_quota(&s.scene, s.a, DIMENSION_CARDS, CARDS(1), CARDS(8));
    (void)scene_quota(&s.scene, s.b, DIMENSION_CARDS, CARDS(1), CARDS(8));
    low = scene_running(&s.scene, job(s.pa, s.one, s.low));
    booked = scene_submit(&s.scene, job(s.pb, s.one, s.low));
    scene_run(&s.scene);
    book(&s, booked, scene_card_of(&s.scene, s.node, 0), 1000);
    urgent = scene_submit(&s.scene, job(s.pa, s.one, s.high));
    scene_run(&s.scene);
    assert_int_equal(s.scene.nominated, 0);
    assert_int_equal(scene_state(&s.scene, low), WORKLOAD_RUNNING);
    assert_true(lifecycle_is_waiting(scene_state(&s.scene, urgent)));
    scene_teardown(&s.scene);
}

static void
hold(struct stage *s, struct ref workload, struct ref card, int64_t milli)
{
    struct changes *changes = scene_begin(&s->scene);
    struct hold *held = change_create(changes, KIND_HOLD, workload, "");

    held->card = card;
    held->milli = milli;
    held->expires_ms = s->scene.now_ms + 60000;
    scene_apply(&s->scene, changes);
}

/* 300 of the card are booked, then 300 are held for the same workload: it is
 * in the way of others with 300.  Of 500 booked 200 more are. */
static void
what_is_booked_and_held_counts_once(void **state)
{
    struct booking_bars bars = { .count = 1 };
    scoped_arena arena = arena_new();
    struct estate *estate;
    struct stage s;
    struct ref owner, card;
    uint32_t part;

    (void)state;
    stage_setup(&s, 1);
    card = scene_card_of(&s.scene, s.node, 0);
    owner = scene_submit(
        &s.scene, job(s.pa, scene_share(&s.scene, "share", 300, 1000), s.low));
    bars.owners = &owner;
    book(&s, owner, card, 300);
    hold(&s, owner, card, 300);
    estate = estate_new(arena, s.scene.world, s.scene.now_ms);
    part = estate_part(estate, card);
    booking_bar(estate, &bars, 1);
    assert_int_equal(estate->parts[part].own_milli, 0);
    assert_int_equal(estate->sites[estate->parts[part].site].own_cpu, 0);
    booking_bar(estate, &bars, -1);
    book(&s, owner, card, 200);
    estate = estate_new(arena, s.scene.world, s.scene.now_ms);
    booking_bar(estate, &bars, 1);
    assert_int_equal(estate->parts[part].own_milli, -200);
    assert_int_equal(estate->sites[estate->parts[part].site].own_cpu, -1000);
    booking_bar(estate, &bars, -1);
    assert_int_equal(estate->parts[part].own_milli, 0);
    assert_int_equal(estate->sites[estate->parts[part].site].own_cpu, 0);
    scene_teardown(&s.scene);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_stuck_is_no_victim),
        cmocka_unit_test(a_useless_victim_keeps_nobody_who_helps),
        cmocka_unit_test(nobody_goes_for_a_loan_that_ends_with_it),
        cmocka_unit_test(what_is_booked_and_held_counts_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
