/* SPDX-License-Identifier: Apache-2.0 */
#include "scene.h"

#include "core/booking.h"
#include "core/reservation.h"

#define MINUTE INT64_C(60000)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)
/* Cards are chosen 10 min (the longest grace) + 2 min before a window. */
#define LEAD (12 * MINUTE)

/* --- windows --- */

static void
a_window_begins_and_ends_where_it_says(void **state)
{
    struct reservation once = { .from_ms = 1000, .to_ms = 2000 };
    int64_t from_ms = 0, to_ms = 0;

    (void)state;
    assert_true(reservation_window(&once, 0, &from_ms, &to_ms));
    assert_int_equal(from_ms, 1000);
    assert_int_equal(to_ms, 2000);
    assert_true(reservation_window(&once, 1999, &from_ms, &to_ms));
    assert_false(reservation_window(&once, 2000, &from_ms, &to_ms));
}

/* From 22:00 to 06:00 for three nights: none begins at the fourth. */
static void
windows_come_again_until_they_end(void **state)
{
    struct reservation nights = { .from_ms = 22 * HOUR,
                                  .to_ms = 30 * HOUR,
                                  .every = RESERVATION_DAY,
                                  .until_ms = 3 * DAY };
    struct reservation weeks = { .from_ms = 0,
                                 .to_ms = HOUR,
                                 .every = RESERVATION_WEEK,
                                 .until_ms = 8 * DAY };
    int64_t from_ms = 0, to_ms = 0;

    (void)state;
    assert_true(reservation_window(&nights, 30 * HOUR, &from_ms, &to_ms));
    assert_int_equal(from_ms, DAY + 22 * HOUR);
    assert_true(reservation_window(&nights, DAY + 30 * HOUR - 1, &from_ms,
                                   &to_ms));
    assert_int_equal(from_ms, DAY + 22 * HOUR);
    assert_true(reservation_window(&nights, 3 * DAY, &from_ms, &to_ms));
    assert_int_equal(from_ms, 2 * DAY + 22 * HOUR);
    assert_int_equal(to_ms, 3 * DAY + 6 * HOUR);
    assert_false(reservation_window(&nights, to_ms, &from_ms, &to_ms));
    assert_true(reservation_window(&weeks, HOUR, &from_ms, &to_ms));
    assert_int_equal(from_ms, 7 * DAY);
    assert_false(reservation_window(&weeks, 7 * DAY + HOUR, &from_ms,
                                    &to_ms));
}

/* --- what fits --- */

struct stage {
    struct scene scene;
    struct ref pool, node, one, a, b, pa, pb;
};

/* Eight cards; tenant b is guaranteed five of them. */
static void
setup(struct stage *s)
{
    scene_setup(&s->scene);
    s->pool = scene_pool(&s->scene, "p");
    s->node = scene_node(&s->scene, s->pool, "n1", 8, "h100");
    s->one = scene_class(&s->scene, "x1", "h100", 1);
    s->a = scene_tenant(&s->scene, "a");
    s->b = scene_tenant(&s->scene, "b");
    s->pa = scene_project(&s->scene, s->a, "pa");
    s->pb = scene_project(&s->scene, s->b, "pb");
    (void)scene_quota(&s->scene, s->a, DIMENSION_CARDS, 0, CARDS(8));
    (void)scene_quota(&s->scene, s->b, DIMENSION_CARDS, CARDS(5), CARDS(8));
}

static struct reservation
plan(const struct stage *s, int64_t cards, int64_t in_ms, int64_t length_ms)
{
    return (struct reservation){ .object.parent = s->a,
                                 .pool = s->pool,
                                 .cards = cards,
                                 .from_ms = SCENE_NOW + in_ms,
                                 .to_ms = SCENE_NOW + in_ms + length_ms };
}

static int
check(struct stage *s, struct reservation reservation, struct error *err)
{
    struct changes *changes = scene_begin(&s->scene);
    int rc =
        reservation_check(changes, &reservation, s->scene.now_ms, err);

    arena_free(s->scene.arena);
    s->scene.arena = NULL;
    return rc;
}

static struct ref
reserve(struct stage *s, struct reservation wish)
{
    struct changes *changes = scene_begin(&s->scene);
    struct reservation *made =
        change_create(changes, KIND_RESERVATION, wish.object.parent, "r");
    struct ref ref = made->object.self;
    struct error err;

    made->pool = wish.pool;
    made->class = wish.class;
    made->cards = wish.cards;
    made->from_ms = wish.from_ms;
    made->to_ms = wish.to_ms;
    made->every = wish.every;
    made->until_ms = wish.until_ms;
    made->lend = wish.lend;
    assert_int_equal(reservation_check(changes, made, s->scene.now_ms, &err),
                     0);
    scene_apply(&s->scene, changes);
    return ref;
}

/* Eight healthy, two reserved for tomorrow: tenant b can be guaranteed six, not
 * seven, already today. */
static void
a_guarantee_leaves_what_is_reserved(void **state)
{
    struct stage s;
    struct changes *changes;
    struct quota *quota;
    struct error err;
    struct ref ref;

    (void)state;
    setup(&s);
    (void)reserve(&s, plan(&s, 2, DAY, HOUR));
    ref = world_first_child(s.scene.world, KIND_QUOTA, s.b);
    changes = scene_begin(&s.scene);
    quota = change_update(changes, ref);
    quota->guaranteed = CARDS(6);
    assert_int_equal(quota_check(NULL, changes, quota, &err), 0);
    quota->guaranteed = CARDS(7);
    assert_int_equal(quota_check(NULL, changes, quota, &err), -1);
    assert_int_equal(err.code, ERROR_QUOTA);
    assert_non_null(strstr(err.text, "not reserved"));
    arena_free(s.scene.arena);
    s.scene.arena = NULL;
    scene_teardown(&s.scene);
}

/* [S50] Eight healthy, five guaranteed: three can be reserved at an instant,
 * by all together. */
static void
what_does_not_fit_is_refused_with_the_numbers_S50(void **state)
{
    struct stage s;
    struct error err;

    (void)state;
    setup(&s);
    assert_int_equal(check(&s, plan(&s, 4, DAY, HOUR), &err), -1);
    assert_non_null(strstr(err.text, "8 are healthy"));
    assert_non_null(strstr(err.text, "5 are guaranteed"));
    assert_non_null(strstr(err.text, "3 can be reserved"));
    (void)reserve(&s, plan(&s, 2, DAY, HOUR));
    assert_int_equal(check(&s, plan(&s, 2, DAY + HOUR / 2, HOUR), &err), -1);
    assert_non_null(strstr(err.text, "2 reserved then; 1 can"));
    assert_int_equal(check(&s, plan(&s, 1, DAY + HOUR / 2, HOUR), &err), 0);
    /* Half-open: one that begins where the other ends meets nothing. */
    assert_int_equal(check(&s, plan(&s, 3, DAY + HOUR, HOUR), &err), 0);
    assert_int_equal(check(&s, plan(&s, 3, DAY - HOUR, HOUR), &err), 0);
    scene_teardown(&s.scene);
}

static void
a_window_that_comes_again_is_checked_each_time_S50(void **state)
{
    struct stage s;
    struct reservation daily;
    struct error err;

    (void)state;
    setup(&s);
    (void)reserve(&s, plan(&s, 2, 5 * DAY, HOUR));
    daily = plan(&s, 2, DAY, HOUR);
    daily.every = RESERVATION_DAY;
    daily.until_ms = SCENE_NOW + 5 * DAY;
    assert_int_equal(check(&s, daily, &err), 0);
    daily.until_ms += 1;
    assert_int_equal(check(&s, daily, &err), -1);
    scene_teardown(&s.scene);
}

static void
times_that_make_no_sense_are_refused(void **state)
{
    struct stage s;
    struct reservation wish;
    struct error err;

    (void)state;
    setup(&s);
    assert_int_equal(check(&s, plan(&s, 1, DAY, 0), &err), -1);
    wish = plan(&s, 1, DAY, HOUR);
    wish.until_ms = SCENE_NOW + 9 * DAY;
    assert_int_equal(check(&s, wish, &err), -1);
    wish = plan(&s, 1, DAY, 25 * HOUR);
    wish.every = RESERVATION_DAY;
    wish.until_ms = SCENE_NOW + 9 * DAY;
    assert_int_equal(check(&s, wish, &err), -1);
    wish.to_ms = wish.from_ms + 24 * HOUR;
    assert_int_equal(check(&s, wish, &err), 0);
    wish.until_ms = 0;
    assert_int_equal(check(&s, wish, &err), -1);
    wish.until_ms = SCENE_NOW + 900 * DAY;
    assert_int_equal(check(&s, wish, &err), -1);
    scene_teardown(&s.scene);
}

/* [S50] All cards in use: one for now is refused and says when it could
 * begin; one that is free is given at once. */
static void
a_window_now_needs_cards_that_are_free_S50(void **state)
{
    struct stage s;
    struct ref jobs[8];
    struct error err;

    (void)state;
    setup(&s);
    for (int i = 0; i < 8; i++)
        jobs[i] =
            scene_running(&s.scene, (struct job){ s.pa, .class = s.one });
    assert_int_equal(check(&s, plan(&s, 1, 0, HOUR), &err), -1);
    assert_non_null(strstr(err.text, "0 of the cards are free"));
    assert_int_equal(check(&s, plan(&s, 1, LEAD, HOUR), &err), 0);
    scene_finish(&s.scene, jobs[0], 0);
    assert_int_equal(check(&s, plan(&s, 1, 0, HOUR), &err), 0);
    scene_teardown(&s.scene);
}

/* --- windows that open --- */

static int
state_of(const struct stage *s, struct ref ref)
{
    return world_reservation(s->scene.world, ref)->state;
}

static int
count_in(const struct stage *s, struct ref project, int state)
{
    int count = 0;

    world_each_child(s->scene.world, KIND_WORKLOAD, project, ref)
        count += scene_state(&s->scene, ref) == state;
    return count;
}

static void
release_victims(struct stage *s)
{
    world_each(s->scene.world, KIND_WORKLOAD, ref)
        if (scene_state(&s->scene, ref) == WORKLOAD_PREEMPTING) {
            scene_exit(&s->scene, ref, EXIT_CHECKPOINTED);
            scene_release(&s->scene, ref);
        }
    scene_scrub(&s->scene);
}

static void
wait_until(struct stage *s, int64_t at_ms)
{
    scene_wait(&s->scene, at_ms - s->scene.now_ms);
    scene_run(&s->scene);
}

/* [S51] Others use all cards: before the window as many as it needs are freed
 * with notice, in it they are its own, behind it they are everybody's. */
static void
reserved_cards_are_its_own_in_the_window_S51(void **state)
{
    struct stage s;
    struct ref r, mine, late;
    int64_t from_ms = SCENE_NOW + 2 * HOUR;

    (void)state;
    setup(&s);
    for (int i = 0; i < 8; i++)
        (void)scene_running(&s.scene,
                            (struct job){ s.pb, .class = s.one });
    r = reserve(&s, plan(&s, 2, 2 * HOUR, HOUR));
    wait_until(&s, from_ms - LEAD - 1);
    assert_int_equal(state_of(&s, r), RESERVATION_SCHEDULED);
    assert_int_equal(count_in(&s, s.pb, WORKLOAD_RUNNING), 8);
    wait_until(&s, from_ms - LEAD);
    assert_int_equal(state_of(&s, r), RESERVATION_OPENING);
    assert_int_equal(count_in(&s, s.pb, WORKLOAD_PREEMPTING), 2);
    release_victims(&s);
    scene_run(&s.scene);
    /* The two wait: nothing that could run into the window starts there. */
    assert_int_equal(count_in(&s, s.pb, WORKLOAD_QUEUED), 2);
    late = scene_submit(&s.scene, (struct job){ s.pb, .class = s.one,
                                                .max_run_ms = 10 * MINUTE });
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, late), WORKLOAD_QUEUED);
    /* Its own work may use them before, and in the window. */
    mine = scene_running(&s.scene, (struct job){ s.pa, .class = s.one });
    wait_until(&s, from_ms);
    assert_int_equal(state_of(&s, r), RESERVATION_OPEN);
    assert_int_equal(count_in(&s, s.pb, WORKLOAD_QUEUED), 3);
    scene_finish(&s.scene, mine, 0);
    scene_run(&s.scene);
    assert_int_equal(count_in(&s, s.pb, WORKLOAD_QUEUED), 3);
    wait_until(&s, from_ms + HOUR);
    assert_int_equal(state_of(&s, r), RESERVATION_OVER);
    assert_int_equal(world_count(s.scene.world, KIND_BOOKING), 0);
    /* Its own limit of eight stops the ninth. */
    assert_int_equal(count_in(&s, s.pb, WORKLOAD_ASSIGNED), 2);
    assert_int_equal(count_in(&s, s.pb, WORKLOAD_GATED), 1);
    scene_teardown(&s.scene);
}

/* Short work fills what is reserved until the window opens. */
static void
work_that_ends_before_the_window_fills_it(void **state)
{
    struct stage s;
    struct ref r, fits, too_long;

    (void)state;
    setup(&s);
    r = reserve(&s, plan(&s, 3, LEAD, HOUR));
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, r), RESERVATION_OPENING);
    for (int i = 0; i < 5; i++)
        (void)scene_running(&s.scene,
                            (struct job){ s.pb, .class = s.one });
    /* 12 minutes are left: 9 of work, 2 of grace and 1 of slack. */
    fits = scene_submit(&s.scene, (struct job){ s.pb, .class = s.one,
                                                .max_run_ms = 9 * MINUTE });
    too_long = scene_submit(&s.scene,
                            (struct job){ s.pb, .class = s.one,
                                          .max_run_ms = 9 * MINUTE + 1 });
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, fits), WORKLOAD_ASSIGNED);
    assert_int_equal(scene_state(&s.scene, too_long), WORKLOAD_QUEUED);
    scene_teardown(&s.scene);
}

/* What lends gives idle cards to burst work, and to nothing else. */
static void
a_reservation_that_lends_has_burst_work_on_it(void **state)
{
    struct stage s;
    struct reservation wish;

    (void)state;
    setup(&s);
    wish = plan(&s, 3, 0, HOUR);
    wish.lend = true;
    (void)reserve(&s, wish);
    scene_run(&s.scene);
    scene_run(&s.scene);
    for (int i = 0; i < 8; i++)
        (void)scene_submit(&s.scene, (struct job){ s.pb, .class = s.one });
    scene_run(&s.scene);
    assert_int_equal(count_in(&s, s.pb, WORKLOAD_ASSIGNED), 8);
    scene_teardown(&s.scene);
}

/* The same durable state gives the same decisions, window or not; the next
 * night opens again. */
static void
a_restart_changes_nothing_and_the_next_window_comes(void **state)
{
    struct stage s;
    struct reservation nights;
    struct ref r, other;

    (void)state;
    setup(&s);
    nights = plan(&s, 3, DAY, HOUR);
    nights.every = RESERVATION_DAY;
    nights.until_ms = SCENE_NOW + 3 * DAY;
    r = reserve(&s, nights);
    wait_until(&s, SCENE_NOW + DAY - LEAD);
    scheduler_free(s.scene.scheduler);
    s.scene.scheduler = scheduler_new();
    wait_until(&s, SCENE_NOW + DAY);
    assert_int_equal(state_of(&s, r), RESERVATION_OPEN);
    assert_int_equal(world_count(s.scene.world, KIND_BOOKING), 3);
    for (int i = 0; i < 5; i++)
        (void)scene_running(&s.scene, (struct job){ s.pb, .class = s.one });
    other = scene_submit(&s.scene, (struct job){ s.pb, .class = s.one });
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, other), WORKLOAD_QUEUED);
    wait_until(&s, SCENE_NOW + DAY + HOUR);
    assert_int_equal(state_of(&s, r), RESERVATION_SCHEDULED);
    assert_int_equal(scene_state(&s.scene, other), WORKLOAD_ASSIGNED);
    wait_until(&s, SCENE_NOW + 2 * DAY);
    assert_int_equal(state_of(&s, r), RESERVATION_OPEN);
    assert_int_equal(world_reservation(s.scene.world, r)->opens_ms,
                     SCENE_NOW + 2 * DAY);
    wait_until(&s, SCENE_NOW + 2 * DAY + HOUR);
    assert_int_equal(state_of(&s, r), RESERVATION_OVER);
    scene_teardown(&s.scene);
}

/* In the window it counts for the quotas of its node and above, not for those
 * of others, of other pools or of other dimensions. */
static void
an_open_window_counts_for_the_quotas_above_it(void **state)
{
    struct stage s;
    struct quota own = { .dimension = DIMENSION_CARDS, .limit = AMOUNT_NONE };
    struct quota other = own;
    struct ref r;

    (void)state;
    setup(&s);
    own.object.parent = s.a;
    other.object.parent = s.b;
    r = reserve(&s, plan(&s, 2, DAY, HOUR));
    assert_int_equal(reservation_extra(s.scene.world, &own), 0);
    wait_until(&s, SCENE_NOW + DAY - LEAD);
    assert_int_equal(reservation_extra(s.scene.world, &own), 0);
    wait_until(&s, SCENE_NOW + DAY);
    assert_int_equal(state_of(&s, r), RESERVATION_OPEN);
    assert_int_equal(reservation_extra(s.scene.world, &own), CARDS(2));
    assert_int_equal(reservation_extra(s.scene.world, &other), 0);
    own.pool = s.pool;
    assert_int_equal(reservation_extra(s.scene.world, &own), CARDS(2));
    own.pool = scene_pool(&s.scene, "q");
    assert_int_equal(reservation_extra(s.scene.world, &own), 0);
    own.pool = (struct ref){ 0 };
    own.object.parent = s.pa;
    assert_int_equal(reservation_extra(s.scene.world, &own), 0);
    own.object.parent = s.a;
    own.dimension = DIMENSION_CPU;
    assert_int_equal(reservation_extra(s.scene.world, &own), 0);
    scene_teardown(&s.scene);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_window_begins_and_ends_where_it_says),
        cmocka_unit_test(windows_come_again_until_they_end),
        cmocka_unit_test(a_guarantee_leaves_what_is_reserved),
        cmocka_unit_test(what_does_not_fit_is_refused_with_the_numbers_S50),
        cmocka_unit_test(a_window_that_comes_again_is_checked_each_time_S50),
        cmocka_unit_test(times_that_make_no_sense_are_refused),
        cmocka_unit_test(an_open_window_counts_for_the_quotas_above_it),
        cmocka_unit_test(a_window_now_needs_cards_that_are_free_S50),
        cmocka_unit_test(reserved_cards_are_its_own_in_the_window_S51),
        cmocka_unit_test(work_that_ends_before_the_window_fills_it),
        cmocka_unit_test(a_reservation_that_lends_has_burst_work_on_it),
        cmocka_unit_test(a_restart_changes_nothing_and_the_next_window_comes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
