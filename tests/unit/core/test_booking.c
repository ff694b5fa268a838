/* SPDX-License-Identifier: Apache-2.0 */
#include "scene.h"

#include "core/booking.h"
#include "core/timeline.h"

#define MINUTE INT64_C(60000)
#define HOUR (60 * MINUTE)
/* The end of work that starts now and may run for `run`: its grace (2 min)
 * and the slack (1 min) on top.  SCENE_NOW is a whole minute. */
#define END_OF(run) (SCENE_NOW + (run) + 3 * MINUTE)

struct stage {
    struct scene scene;
    struct ref pool, node, a, b, pa, pb;
    struct ref one, two, three, five, seven;
};

/* One node with ten cards, two tenants without guarantees. */
static void
setup(struct stage *s, int64_t bypass_max, int64_t bypass_ms)
{
    scene_setup(&s->scene);
    {
        scene_edit(&s->scene, changes, platform, s->scene.platform);

        platform->bypass_max = bypass_max;
        platform->bypass_ms = bypass_ms;
        platform->min_run_ms = MINUTE;
        scene_apply(&s->scene, changes);
    }
    s->pool = scene_pool(&s->scene, "p");
    s->node = scene_node(&s->scene, s->pool, "n1", 10, "h100");
    s->one = scene_class(&s->scene, "x1", "h100", 1);
    s->two = scene_class(&s->scene, "x2", "h100", 2);
    s->three = scene_class(&s->scene, "x3", "h100", 3);
    s->five = scene_class(&s->scene, "x5", "h100", 5);
    s->seven = scene_class(&s->scene, "x7", "h100", 7);
    s->a = scene_tenant(&s->scene, "a");
    s->b = scene_tenant(&s->scene, "b");
    s->pa = scene_project(&s->scene, s->a, "pa");
    s->pb = scene_project(&s->scene, s->b, "pb");
    (void)scene_quota(&s->scene, s->a, DIMENSION_CARDS, 0, CARDS(10));
    (void)scene_quota(&s->scene, s->b, DIMENSION_CARDS, 0, CARDS(10));
}

static int64_t
booked_from(const struct stage *s, struct ref ref)
{
    struct ref first = world_first_child(s->scene.world, KIND_BOOKING, ref);

    assert_false(ref_is_none(first));
    return world_booking(s->scene.world, first)->from_ms;
}

static size_t
booked_parts(const struct stage *s, struct ref ref)
{
    size_t count = 0;

    world_each_child(s->scene.world, KIND_BOOKING, ref, at)
        count += !ref_is_none(world_booking(s->scene.world, at)->card);
    return count;
}

static void
give_way(struct stage *s, struct ref victim)
{
    assert_int_equal(scene_state(&s->scene, victim), WORKLOAD_PREEMPTING);
    scene_exit(&s->scene, victim, EXIT_CHECKPOINTED);
    scene_release(&s->scene, victim);
    scene_scrub(&s->scene);
}

/* [S21] Two run without an end, one that is larger than the rest waits, and
 * small ones come without an end: it starts soon after what it waits for. */
static void
a_stream_of_small_work_starves_nobody_S21(void **state)
{
    struct stage s;
    struct ref j1, j2, j3, stream[2];
    int rounds = 0;

    (void)state;
    setup(&s, 3, 0);
    j1 = scene_running(&s.scene, (struct job){ s.pa, .class = s.three });
    j2 = scene_running(&s.scene, (struct job){ s.pb, .class = s.three });
    for (int i = 0; i < 2; i++)
        stream[i] =
            scene_running(&s.scene, (struct job){ s.pb, .class = s.two });
    scene_wait(&s.scene, MINUTE);
    j3 = scene_submit(&s.scene, (struct job){ s.pa, .class = s.five });
    scene_run(&s.scene);
    assert_int_equal(scene_workload(&s.scene, j3)->bypassed, 0);
    for (int i = 0; i < 3; i++) {
        scene_wait(&s.scene, MINUTE);
        assert_false(booking_has(s.scene.world, j3));
        scene_finish(&s.scene, stream[i % 2], 0);
        stream[i % 2] =
            scene_running(&s.scene, (struct job){ s.pb, .class = s.two });
        assert_int_equal(scene_workload(&s.scene, j3)->bypassed, i + 1);
    }
    assert_true(booking_has_place(s.scene.world, j3));
    assert_int_equal(booked_from(&s, j3), 0);
    assert_int_equal(booked_parts(&s, j3), 5);
    /* What it keeps is lent meanwhile. */
    scene_wait(&s.scene, MINUTE);
    scene_finish(&s.scene, stream[0], 0);
    stream[0] = scene_running(&s.scene, (struct job){ s.pb, .class = s.two });
    scene_finish(&s.scene, j1, 0);
    for (; scene_state(&s.scene, j3) != WORKLOAD_ASSIGNED; rounds++) {
        assert_true(rounds < 3);
        (void)scene_submit(&s.scene, (struct job){ s.pb, .class = s.two });
        scene_run(&s.scene);
        world_each(s.scene.world, KIND_WORKLOAD, ref)
            if (scene_state(&s.scene, ref) == WORKLOAD_PREEMPTING)
                give_way(&s, ref);
        scene_run(&s.scene);
    }
    assert_int_equal(scene_state(&s.scene, j2), WORKLOAD_RUNNING);
    assert_false(booking_has(s.scene.world, j3));
    scene_teardown(&s.scene);
}

/* [S21] The same when a limit is what is in the way: 10 cards of the tenant's
 * own, in a pool with more. */
static void
a_stream_below_a_limit_starves_nobody_S21(void **state)
{
    struct stage s;
    struct ref j1, j3, small[2];

    (void)state;
    setup(&s, 2, 0);
    (void)scene_node(&s.scene, s.pool, "n2", 10, "h100");
    j1 = scene_running(&s.scene, (struct job){ s.pa, .class = s.five });
    small[0] = scene_running(&s.scene, (struct job){ s.pa, .class = s.two });
    small[1] = scene_running(&s.scene, (struct job){ s.pa, .class = s.two });
    scene_wait(&s.scene, MINUTE);
    j3 = scene_submit(&s.scene, (struct job){ s.pa, .class = s.five });
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, j3), WORKLOAD_GATED);
    for (int i = 0; i < 2; i++) {
        scene_finish(&s.scene, small[i], 0);
        small[i] =
            scene_running(&s.scene, (struct job){ s.pa, .class = s.two });
    }
    /* It books quota and keeps no card from anybody. */
    assert_true(booking_has(s.scene.world, j3));
    assert_false(booking_has_place(s.scene.world, j3));
    scene_finish(&s.scene, j1, 0);
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, j3), WORKLOAD_ASSIGNED);
    scene_teardown(&s.scene);
}

/* A tenant sees versions, revisions and times of change, and the records that
 * they bring: of work that waits for a limit of its own, a start of another
 * tenant's that is counted moves none. */
static void
a_start_that_is_counted_does_not_change_what_waits(void **state)
{
    struct stage s;
    struct ref waiting, tenant;
    struct object before;
    const struct object *after;
    uint64_t revision;

    (void)state;
    setup(&s, 3, 0);
    (void)scene_node(&s.scene, s.pool, "n2", 10, "h100");
    (void)scene_running(&s.scene, (struct job){ s.pa, .class = s.seven });
    waiting = scene_submit(&s.scene, (struct job){ s.pa, .class = s.five });
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, waiting), WORKLOAD_GATED);
    scene_wait(&s.scene, MINUTE);
    before = scene_workload(&s.scene, waiting)->object;
    tenant = before.scope;
    revision = world_revision(s.scene.world, tenant);
    for (int i = 0; i < 2; i++) {
        (void)scene_running(&s.scene, (struct job){ s.pb, .class = s.one });
        assert_int_equal(scene_workload(&s.scene, waiting)->bypassed, i + 1);
    }
    after = &scene_workload(&s.scene, waiting)->object;
    assert_int_equal(after->version, before.version);
    assert_int_equal(after->revision, before.revision);
    assert_int_equal(after->updated_ms, before.updated_ms);
    assert_int_equal(world_revision(s.scene.world, tenant), revision);
    /* The third brings its booked start, which it is told. */
    (void)scene_running(&s.scene, (struct job){ s.pb, .class = s.one });
    assert_true(booking_has(s.scene.world, waiting));
    assert_true(world_revision(s.scene.world, tenant) > revision);
    scene_teardown(&s.scene);
}

/* [S52] A start is booked at the known end of what runs; work that would run
 * past it does not start on those cards, work that ends before does. */
static void
a_booked_start_is_not_delayed_S52(void **state)
{
    struct stage s;
    struct ref first, big, late, early, other;

    (void)state;
    setup(&s, 0, 10 * MINUTE);
    first = scene_running(&s.scene, (struct job){ s.pa, .class = s.five,
                                                  .max_run_ms = HOUR });
    (void)scene_running(&s.scene,
                        (struct job){ s.pa, .class = s.three,
                                      .max_run_ms = 20 * HOUR });
    big = scene_submit(&s.scene, (struct job){ s.pb, .class = s.seven });
    scene_run(&s.scene);
    assert_false(booking_has(s.scene.world, big));
    scene_wait(&s.scene, 10 * MINUTE);
    scene_run(&s.scene);
    assert_int_equal(booked_from(&s, big), END_OF(HOUR));
    assert_int_equal(booked_parts(&s, big), 7);
    assert_int_equal(scene_workload(&s.scene, big)->booked_ms,
                     END_OF(HOUR));
    /* 53 minutes before it: 50 minutes, a grace of 2 and 1 of slack fit. */
    early = scene_submit(&s.scene, (struct job){ s.pa, .class = s.two,
                                                 .max_run_ms = 50 * MINUTE });
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, early), WORKLOAD_ASSIGNED);
    scene_finish(&s.scene, early, 0);
    /* Too near for a loan: 1 min of work, 2 of grace and 1 of slack. */
    scene_wait(&s.scene, END_OF(HOUR) - s.scene.now_ms - 4 * MINUTE + 1);
    late = scene_submit(&s.scene, (struct job){ s.pa, .class = s.one });
    other = scene_submit(&s.scene, (struct job){ s.pa, .class = s.one,
                                                .max_run_ms = 2 * MINUTE });
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, late), WORKLOAD_QUEUED);
    assert_int_equal(scene_state(&s.scene, other), WORKLOAD_QUEUED);
    assert_int_equal(booked_from(&s, big), END_OF(HOUR));
    scene_finish(&s.scene, first, 0);
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, big), WORKLOAD_ASSIGNED);
    assert_int_equal(scene_workload(&s.scene, big)->booked_ms, 0);
    scene_teardown(&s.scene);
}

/* [S52] Two starts of one tenant are booked for the same time and fill its
 * limit of 10 cards, all of which are lent: both are called in at once.  What
 * the first was promised with its nomination is not counted once more for its
 * booking. */
static void
loans_on_two_booked_starts_are_called_in_together_S52(void **state)
{
    struct stage s;
    struct ref booked[2], running[4], loans[4];

    (void)state;
    setup(&s, 0, 10 * MINUTE);
    for (int i = 0; i < 4; i++)
        running[i] = scene_running(
            &s.scene, (struct job){ s.pb, .class = i < 2 ? s.three : s.two,
                                    .max_run_ms = HOUR });
    for (int i = 0; i < 2; i++)
        booked[i] =
            scene_submit(&s.scene, (struct job){ s.pa, .class = s.five });
    scene_run(&s.scene);
    scene_wait(&s.scene, 10 * MINUTE);
    scene_run(&s.scene);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(booked_from(&s, booked[i]), END_OF(HOUR));
        assert_int_equal(booked_parts(&s, booked[i]), 5);
    }
    for (int i = 0; i < 4; i++) {
        scene_finish(&s.scene, running[i], 0);
        loans[i] = scene_running(
            &s.scene,
            (struct job){ s.pb, .class = i < 2 ? s.three : s.two });
    }
    scene_wait(&s.scene, END_OF(HOUR) - s.scene.now_ms - 3 * MINUTE - 1);
    scene_run(&s.scene);
    for (int i = 0; i < 4; i++)
        assert_int_equal(scene_state(&s.scene, loans[i]), WORKLOAD_RUNNING);
    scene_wait(&s.scene, 1);
    scene_run(&s.scene);
    for (int i = 0; i < 4; i++)
        give_way(&s, loans[i]);
    scene_run(&s.scene);
    for (int i = 0; i < 2; i++)
        assert_int_equal(scene_state(&s.scene, booked[i]),
                         WORKLOAD_ASSIGNED);
    scene_teardown(&s.scene);
}

static void
guarantee(struct stage *s, struct ref tenant, int64_t cards)
{
    scene_edit(&s->scene, changes, quota,
               world_first_child(s->scene.world, KIND_QUOTA, tenant));

    quota->guaranteed = CARDS(cards);
    scene_apply(&s->scene, changes);
}

/* Books the cards for a workload, without a time. */
static void
book(struct stage *s, struct ref workload, struct ref pool,
     const struct ref *cards, size_t count)
{
    struct changes *changes = scene_begin(&s->scene);

    for (size_t i = 0; i < count; i++) {
        struct booking *booking =
            change_create(changes, KIND_BOOKING, workload, "");

        booking->pool = pool;
        booking->card = cards[i];
        booking->milli = 1000;
    }
    scene_apply(&s->scene, changes);
}

/* Two of four cards are being cleaned.  One is kept for work of a, whose
 * guarantee is 2; the other is booked by work of b, within its guarantee.
 * Urgent work of a needs two: beside the nominee it would be burst, which may
 * borrow what is booked; in its place it is within the guarantee and may not.
 * So the nomination stays where it is. */
static void
a_nomination_is_not_taken_over_with_another_right(void **state)
{
    struct stage s;
    struct ref pool, node, c, leaves, nominee, booked, urgent, cards[2];
    struct job job = { 0 };

    (void)state;
    setup(&s, 0, 0);
    guarantee(&s, s.a, 2);
    guarantee(&s, s.b, 4);
    pool = scene_pool(&s.scene, "q");
    node = scene_node(&s.scene, pool, "n2", 4, "h100");
    job = (struct job){ .class = s.two, .pool = pool };
    c = scene_tenant(&s.scene, "c");
    (void)scene_quota(&s.scene, c, DIMENSION_CARDS, 0, CARDS(2));
    job.project = scene_project(&s.scene, c, "pc");
    leaves = scene_running(&s.scene, job);
    job.project = s.pb;
    job.fixed = true;
    (void)scene_running(&s.scene, job);
    scene_exit(&s.scene, leaves, 0);
    scene_release(&s.scene, leaves);
    job = (struct job){ s.pa, .class = s.one, .pool = pool };
    job.priority = scene_priority(&s.scene, "low", 1);
    nominee = scene_submit(&s.scene, job);
    scene_run(&s.scene);
    cards[0] = world_hold(s.scene.world,
                          world_first_child(s.scene.world, KIND_HOLD,
                                            nominee))
                   ->card;
    for (int i = 0; i < 4; i++) {
        struct ref card = scene_card_of(&s.scene, node, i);

        if (world_card(s.scene.world, card)->used_milli > 0)
            cards[1] = card;
    }
    for (int i = 0; i < 4; i++) {
        struct ref card = scene_card_of(&s.scene, node, i);

        if (world_card(s.scene.world, card)->used_milli == 0 &&
            !ref_equal(card, cards[0]))
            cards[0] = card;
    }
    booked = scene_submit(
        &s.scene, (struct job){ s.pb, .class = s.two, .pool = pool });
    book(&s, booked, pool, cards, 2);
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, booked), WORKLOAD_QUEUED);
    job.class = s.two;
    job.priority = scene_priority(&s.scene, "urgent", 9);
    urgent = scene_submit(&s.scene, job);
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, urgent), WORKLOAD_QUEUED);
    assert_false(ref_is_none(
        world_first_child(s.scene.world, KIND_HOLD, nominee)));
    assert_true(ref_is_none(
        world_first_child(s.scene.world, KIND_HOLD, urgent)));
    assert_true(booking_has_place(s.scene.world, booked));
    scene_teardown(&s.scene);
}

/* A booking in pool p concerns whoever may run there; all where the platform
 * has quotas. */
static void
bookings_concern_their_pools(void **state)
{
    struct stage s;
    struct ref other, waiting, at;
    uint64_t here, there;

    (void)state;
    setup(&s, 3, 0);
    other = scene_pool(&s.scene, "q");
    here = UINT64_C(1) << (s.pool.index % 64);
    there = UINT64_C(1) << (other.index % 64);
    waiting = scene_submit(&s.scene, (struct job){ s.pa, .class = s.five });
    {
        struct changes *changes = scene_begin(&s.scene);
        struct booking *booking =
            change_create(changes, KIND_BOOKING, waiting, "");

        booking->card = scene_card_of(&s.scene, s.node, 0);
        booking->milli = 1000;
        at = booking->object.self;
        scene_apply(&s.scene, changes);
    }
    assert_int_equal(booking_pools(s.scene.world,
                                   world_booking(s.scene.world, at)),
                     here);
    {
        scene_edit(&s.scene, changes, booking, at);

        booking->pool = other;
        scene_apply(&s.scene, changes);
    }
    assert_int_equal(booking_pools(s.scene.world,
                                   world_booking(s.scene.world, at)),
                     here | there);
    assert_false(booking_concerns_all(s.scene.world));
    (void)scene_quota(&s.scene, s.scene.platform, DIMENSION_CARDS, 0,
                      CARDS(10));
    assert_true(booking_concerns_all(s.scene.world));
    scene_teardown(&s.scene);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stream_of_small_work_starves_nobody_S21),
        cmocka_unit_test(a_stream_below_a_limit_starves_nobody_S21),
        cmocka_unit_test(a_start_that_is_counted_does_not_change_what_waits),
        cmocka_unit_test(a_booked_start_is_not_delayed_S52),
        cmocka_unit_test(
            loans_on_two_booked_starts_are_called_in_together_S52),
        cmocka_unit_test(a_nomination_is_not_taken_over_with_another_right),
        cmocka_unit_test(bookings_concern_their_pools),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
