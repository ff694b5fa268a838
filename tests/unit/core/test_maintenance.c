/* SPDX-License-Identifier: Apache-2.0 */
#include "scene.h"

#include "core/alarm.h"
#include "core/booking.h"
#include "core/maintenance.h"
#include "core/reservation.h"

#define MINUTE INT64_C(60000)
#define HOUR (60 * MINUTE)
/* Grace of batch work (2 min) and the minute for its release. */
#define TAIL (3 * MINUTE)
/* Ten minutes, the longest grace, and two. */
#define LEAD (12 * MINUTE)

struct stage {
    struct scene scene;
    struct ref pool, n1, n2, one, four, tenant, project;
};

/* Two nodes of four cards. */
static void
setup(struct stage *s)
{
    memset(s, 0, sizeof(*s));
    scene_setup(&s->scene);
    s->pool = scene_pool(&s->scene, "p");
    s->n1 = scene_node(&s->scene, s->pool, "n1", 4, "h100");
    s->n2 = scene_node(&s->scene, s->pool, "n2", 4, "h100");
    s->one = scene_class(&s->scene, "x1", "h100", 1);
    s->four = scene_class(&s->scene, "x4", "h100", 4);
    s->tenant = scene_tenant(&s->scene, "a");
    s->project = scene_project(&s->scene, s->tenant, "pa");
    (void)scene_quota(&s->scene, s->tenant, DIMENSION_CARDS, CARDS(8),
                      CARDS(16));
}

struct plan {
    int64_t in_ms, length_ms;
    int policy, every;
    int64_t until_ms;
    bool lend;
};

static struct ref
plan(struct stage *s, struct ref parent, struct plan wish)
{
    struct changes *changes = scene_begin(&s->scene);
    struct maintenance *made =
        change_create(changes, KIND_MAINTENANCE, parent, "m");
    struct ref ref = made->object.self;
    struct error err;

    made->from_ms = s->scene.now_ms + wish.in_ms;
    made->to_ms = made->from_ms + wish.length_ms;
    made->policy = wish.policy;
    made->every = wish.every;
    made->until_ms = wish.until_ms;
    made->lend = wish.lend;
    assert_int_equal(maintenance_check(changes, made, s->scene.now_ms, &err),
                     0);
    maintenance_arm(made, s->scene.now_ms);
    scene_apply(&s->scene, changes);
    return ref;
}

static struct job
job(const struct stage *s, struct ref class, int64_t max_run_ms)
{
    return (struct job){ .project = s->project,
                         .class = class,
                         .max_run_ms = max_run_ms };
}

static int
state_of(const struct stage *s, struct ref node)
{
    return world_node(s->scene.world, node)->state;
}

static const struct maintenance *
at(const struct stage *s, struct ref ref)
{
    return world_maintenance(s->scene.world, ref);
}

static struct ref
node_of(const struct stage *s, struct ref work)
{
    return world_instance(s->scene.world, scene_instance(&s->scene, work))
        ->node;
}

/* To the millisecond: run, grace and release end with the begin. */
static void
work_is_put_where_it_ends_before_the_window(void **state)
{
    struct stage s;
    struct ref fits, late, open;

    (void)state;
    setup(&s);
    (void)plan(&s, s.n1, (struct plan){ .in_ms = 2 * HOUR,
                                        .length_ms = HOUR });
    late = scene_submit(&s.scene, job(&s, s.four, 2 * HOUR - TAIL + 1));
    scene_run(&s.scene);
    fits = scene_submit(&s.scene, job(&s, s.four, 2 * HOUR - TAIL));
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, late), WORKLOAD_ASSIGNED);
    assert_true(ref_equal(node_of(&s, late), s.n2));
    assert_int_equal(scene_state(&s.scene, fits), WORKLOAD_ASSIGNED);
    assert_true(ref_equal(node_of(&s, fits), s.n1));
    open = scene_submit(&s.scene, job(&s, s.one, 0));
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, open), WORKLOAD_QUEUED);
    scene_teardown(&s.scene);
}

static void
work_that_waits_for_it_says_so_and_starts_afterwards(void **state)
{
    struct stage s;
    struct ref work, window;

    (void)state;
    setup(&s);
    window = plan(&s, s.pool, (struct plan){ .in_ms = 2 * HOUR,
                                             .length_ms = HOUR });
    work = scene_submit(&s.scene, job(&s, s.one, 3 * HOUR));
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, work), WORKLOAD_QUEUED);
    assert_int_equal(scene_workload(&s.scene, work)->reason,
                     REASON_MAINTENANCE);
    assert_non_null(strstr(scene_workload(&s.scene, work)->reason_text,
                           "planned maintenance"));
    scene_wait(&s.scene, 2 * HOUR);
    scene_run(&s.scene);
    assert_int_equal(at(&s, window)->state, MAINTENANCE_OPEN);
    assert_int_equal(state_of(&s, s.n1), NODE_MAINTENANCE);
    assert_int_equal(state_of(&s, s.n2), NODE_MAINTENANCE);
    scene_wait(&s.scene, HOUR);
    scene_run(&s.scene);
    assert_int_equal(at(&s, window)->state, MAINTENANCE_OVER);
    assert_int_equal(state_of(&s, s.n1), NODE_SCHEDULABLE);
    assert_int_equal(scene_state(&s.scene, work), WORKLOAD_ASSIGNED);
    scene_teardown(&s.scene);
}

/* It runs when the window is planned; it gets its notice so that it is gone
 * at the begin, and starts again on the other node. */
static void
preemptible_work_in_its_way_gets_notice_in_time(void **state)
{
    struct stage s;
    struct ref work, ends, fixed, window;

    (void)state;
    setup(&s);
    work = scene_running(&s.scene, job(&s, s.one, 0));
    ends = scene_running(&s.scene, job(&s, s.one, HOUR));
    {
        struct job steady = job(&s, s.one, 0);

        steady.fixed = true;
        fixed = scene_running(&s.scene, steady);
    }
    window = plan(&s, node_of(&s, work).index == s.n1.index ? s.n1 : s.n2,
                  (struct plan){ .in_ms = 2 * HOUR, .length_ms = HOUR });
    scene_wait(&s.scene, 2 * HOUR - TAIL - 1);
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, work), WORKLOAD_RUNNING);
    scene_wait(&s.scene, 1);
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, work), WORKLOAD_PREEMPTING);
    assert_non_null(strstr(scene_workload(&s.scene, work)->proof->bytes,
                           "\"rule\":\"maintenance\""));
    assert_int_equal(scene_state(&s.scene, fixed), WORKLOAD_RUNNING);
    assert_int_not_equal(scene_state(&s.scene, ends), WORKLOAD_PREEMPTING);
    scene_exit(&s.scene, work, 75);
    scene_release(&s.scene, work);
    scene_scrub(&s.scene);
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, work), WORKLOAD_ASSIGNED);
    assert_false(ref_equal(node_of(&s, work), at(&s, window)->object.parent));
    scene_wait(&s.scene, TAIL);
    scene_run(&s.scene);
    /* What cannot be told to go runs on, and somebody is told. */
    assert_int_equal(scene_state(&s.scene, fixed), WORKLOAD_RUNNING);
    {
        struct changes *changes = scene_begin(&s.scene);

        assert_true(alarm_stands(changes, at(&s, window)->object.parent,
                                 "maintenance.busy"));
        arena_free(s.scene.arena);
        s.scene.arena = NULL;
    }
    scene_teardown(&s.scene);
}

static void
with_finish_nothing_is_told_to_go(void **state)
{
    struct stage s;
    struct ref work;

    (void)state;
    setup(&s);
    work = scene_running(&s.scene, job(&s, s.one, 0));
    (void)plan(&s, s.pool, (struct plan){ .in_ms = HOUR,
                                          .length_ms = HOUR,
                                          .policy = MAINTENANCE_FINISH });
    scene_wait(&s.scene, HOUR);
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, work), WORKLOAD_RUNNING);
    assert_int_equal(state_of(&s, s.n1), NODE_MAINTENANCE);
    scene_teardown(&s.scene);
}

/* With lend preemptible work starts as long as it can run a minute before its
 * notice (2 min) and release (1 min); other work does not. */
static void
a_window_that_lends_lets_preemptible_work_begin(void **state)
{
    struct stage s;
    struct job steady;
    struct ref work, fixed, late;

    (void)state;
    setup(&s);
    (void)plan(&s, s.pool, (struct plan){ .in_ms = HOUR,
                                          .length_ms = HOUR,
                                          .lend = true });
    work = scene_submit(&s.scene, job(&s, s.one, 0));
    steady = job(&s, s.one, 0);
    steady.fixed = true;
    fixed = scene_submit(&s.scene, steady);
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, work), WORKLOAD_ASSIGNED);
    assert_int_equal(scene_state(&s.scene, fixed), WORKLOAD_QUEUED);
    scene_wait(&s.scene, HOUR - TAIL - MINUTE + 1);
    late = scene_submit(&s.scene, job(&s, s.one, 0));
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, late), WORKLOAD_QUEUED);
    assert_int_equal(scene_workload(&s.scene, late)->reason,
                     REASON_MAINTENANCE);
    scene_teardown(&s.scene);
}

/* Each day an hour; what takes the day between starts after it. */
static void
windows_come_again(void **state)
{
    struct stage s;
    struct ref window, work;

    (void)state;
    setup(&s);
    window = plan(&s, s.pool,
                  (struct plan){ .in_ms = HOUR,
                                 .length_ms = HOUR,
                                 .every = RESERVATION_DAY,
                                 .until_ms = SCENE_NOW + 30 * HOUR });
    scene_wait(&s.scene, HOUR);
    scene_run(&s.scene);
    assert_int_equal(at(&s, window)->state, MAINTENANCE_OPEN);
    scene_wait(&s.scene, HOUR);
    work = scene_submit(&s.scene, job(&s, s.one, 23 * HOUR - TAIL));
    scene_run(&s.scene);
    assert_int_equal(at(&s, window)->state, MAINTENANCE_SCHEDULED);
    assert_int_equal(at(&s, window)->opens_ms, SCENE_NOW + 25 * HOUR);
    assert_int_equal(scene_state(&s.scene, work), WORKLOAD_ASSIGNED);
    scene_finish(&s.scene, work, 0);
    scene_wait(&s.scene, 23 * HOUR);
    scene_run(&s.scene);
    assert_int_equal(at(&s, window)->state, MAINTENANCE_OPEN);
    scene_wait(&s.scene, HOUR);
    scene_run(&s.scene);
    assert_int_equal(at(&s, window)->state, MAINTENANCE_OVER);
    scene_teardown(&s.scene);
}

/* A node that was cordoned is so again, and a new scheduler ends the window
 * as the old one would. */
static void
a_node_gets_back_the_state_that_it_had(void **state)
{
    struct stage s;
    struct ref window;

    (void)state;
    setup(&s);
    {
        scene_edit(&s.scene, changes, node, s.n1);

        node->state = NODE_CORDONED;
        scene_apply(&s.scene, changes);
    }
    window = plan(&s, s.n1, (struct plan){ .in_ms = HOUR,
                                           .length_ms = HOUR });
    scene_wait(&s.scene, HOUR);
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, s.n1), NODE_MAINTENANCE);
    scheduler_free(s.scene.scheduler);
    s.scene.scheduler = scheduler_new();
    scene_wait(&s.scene, HOUR);
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, s.n1), NODE_CORDONED);
    assert_int_equal(at(&s, window)->state, MAINTENANCE_OVER);
    scene_teardown(&s.scene);
}

/* A start that is booked for later ends before the window, or is booked on
 * another node. */
static void
booked_starts_keep_clear_of_it(void **state)
{
    struct stage s;
    struct ref here, there, work;
    struct ref on[4];
    int count = 0;

    (void)state;
    setup(&s);
    {
        scene_edit(&s.scene, changes, platform, s.scene.platform);

        platform->bypass_ms = MINUTE;
        scene_apply(&s.scene, changes);
    }
    here = scene_running(&s.scene, job(&s, s.four, HOUR));
    there = scene_running(&s.scene, job(&s, s.four, 3 * HOUR));
    /* Where work ends first a window is planned two hours later. */
    (void)plan(&s, node_of(&s, here),
               (struct plan){ .in_ms = 3 * HOUR, .length_ms = HOUR });
    work = scene_submit(&s.scene, job(&s, s.four, 2 * HOUR));
    scene_run(&s.scene);
    scene_wait(&s.scene, 2 * MINUTE);
    scene_run(&s.scene);
    world_each_child(s.scene.world, KIND_BOOKING, work, ref)
        on[count++] = world_parent(
            s.scene.world, world_booking(s.scene.world, ref)->card);
    assert_int_equal(count, 4);
    for (int i = 0; i < 4; i++)
        assert_true(ref_equal(on[i], node_of(&s, there)));
    scene_teardown(&s.scene);
}

static void
it_leaves_the_cards_that_are_reserved(void **state)
{
    struct stage s;
    struct changes *changes;
    struct maintenance *wish;
    struct reservation *made;
    struct error err;

    (void)state;
    setup(&s);
    changes = scene_begin(&s.scene);
    made = change_create(changes, KIND_RESERVATION, s.tenant, "r");
    made->pool = s.pool;
    made->cards = 5;
    made->from_ms = s.scene.now_ms + HOUR;
    made->to_ms = s.scene.now_ms + 2 * HOUR;
    scene_apply(&s.scene, changes);
    changes = scene_begin(&s.scene);
    wish = change_create(changes, KIND_MAINTENANCE, s.n1, "m");
    wish->from_ms = s.scene.now_ms + HOUR;
    wish->to_ms = s.scene.now_ms + 2 * HOUR;
    assert_int_equal(maintenance_check(changes, wish, s.scene.now_ms, &err),
                     -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    assert_non_null(strstr(err.text, "5 cards"));
    assert_non_null(strstr(err.text, "4 healthy"));
    wish->from_ms = s.scene.now_ms + 2 * HOUR;
    wish->to_ms = s.scene.now_ms + 3 * HOUR;
    assert_int_equal(maintenance_check(changes, wish, s.scene.now_ms, &err),
                     0);
    arena_free(s.scene.arena);
    s.scene.arena = NULL;
    scene_teardown(&s.scene);
}

/* And a reservation leaves the nodes that are to be maintained. */
static void
a_reservation_counts_without_nodes_in_maintenance(void **state)
{
    struct stage s;
    struct changes *changes;
    struct reservation wish;
    struct error err;

    (void)state;
    setup(&s);
    world_each(s.scene.world, KIND_QUOTA, ref)
        scene_change_quota(&s.scene, ref, 0, CARDS(8));
    (void)plan(&s, s.n1, (struct plan){ .in_ms = 2 * HOUR,
                                        .length_ms = HOUR });
    wish = (struct reservation){ .object.parent = s.tenant,
                                 .pool = s.pool,
                                 .cards = 5,
                                 .from_ms = s.scene.now_ms + HOUR,
                                 .to_ms = s.scene.now_ms + 2 * HOUR + 1 };
    changes = scene_begin(&s.scene);
    assert_int_equal(reservation_check(changes, &wish, s.scene.now_ms, &err),
                     -1);
    assert_non_null(strstr(err.text, "4 of them in planned maintenance"));
    wish.to_ms--;
    assert_int_equal(reservation_check(changes, &wish, s.scene.now_ms, &err),
                     0);
    arena_free(s.scene.arena);
    s.scene.arena = NULL;
    scene_teardown(&s.scene);
}

/* Nobody knows how long work without a longest run is there.  It starts where
 * the window is a day (and its grace and release) away, or as far as the
 * platform says. */
static void
work_without_a_longest_run_starts_far_ahead_of_a_window(void **state)
{
    struct stage s;
    struct ref early, late, sooner;

    (void)state;
    setup(&s);
    (void)plan(&s, s.pool, (struct plan){ .in_ms = 24 * HOUR + TAIL,
                                          .length_ms = HOUR });
    early = scene_submit(&s.scene, job(&s, s.one, 0));
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, early), WORKLOAD_ASSIGNED);
    scene_wait(&s.scene, 1);
    late = scene_submit(&s.scene, job(&s, s.one, 0));
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, late), WORKLOAD_QUEUED);
    assert_int_equal(scene_workload(&s.scene, late)->reason,
                     REASON_MAINTENANCE);
    {
        scene_edit(&s.scene, changes, platform, s.scene.platform);

        platform->maintenance_horizon_ms = HOUR;
        scene_apply(&s.scene, changes);
    }
    sooner = scene_submit(&s.scene, job(&s, s.one, 0));
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, sooner), WORKLOAD_ASSIGNED);
    scene_teardown(&s.scene);
}

static const char *
told(const struct stage *s, struct ref work)
{
    world_each_child(s->scene.world, KIND_ALARM, work, ref) {
        const struct alarm *alarm = world_alarm(s->scene.world, ref);

        if (alarm->cleared_ms == 0 &&
            strcmp(alarm->code, MAINTENANCE_TOLD) == 0)
            return alarm->text;
    }
    return "";
}

/* A day ahead, each by what becomes of it; what ends before is not bothered,
 * and nothing stands when the window is over. */
static void
owners_of_work_there_are_told_in_time(void **state)
{
    struct stage s;
    struct job steady;
    struct ref open, fixed, ends;

    (void)state;
    setup(&s);
    open = scene_running(&s.scene, job(&s, s.one, 0));
    steady = job(&s, s.one, 0);
    steady.fixed = true;
    fixed = scene_running(&s.scene, steady);
    ends = scene_running(&s.scene, job(&s, s.one, 20 * HOUR));
    (void)plan(&s, s.pool, (struct plan){ .in_ms = 25 * HOUR,
                                          .length_ms = HOUR });
    scene_run(&s.scene);
    assert_string_equal(told(&s, open), "");
    scene_wait(&s.scene, HOUR);
    scene_run(&s.scene);
    assert_non_null(strstr(told(&s, open), "gets notice and grace in time"));
    assert_non_null(strstr(told(&s, fixed), "may not be preempted"));
    assert_string_equal(told(&s, ends), "");
    scene_finish(&s.scene, ends, 0);
    scene_wait(&s.scene, 24 * HOUR);
    scene_run(&s.scene);
    scene_exit(&s.scene, open, 75);
    scene_release(&s.scene, open);
    scene_wait(&s.scene, HOUR);
    scene_run(&s.scene);
    assert_string_equal(told(&s, open), "");
    assert_string_equal(told(&s, fixed), "");
    scene_teardown(&s.scene);
}

/* The digests differ exactly when a driver or firmware does. */
static void
drivers_and_firmware_are_noted_before_and_after(void **state)
{
    struct stage s;
    struct ref window;
    struct ref at_card;
    char digest[65];
    const char *before, *after;

    (void)state;
    setup(&s);
    at_card = world_first_child(s.scene.world, KIND_CARD, s.n1);
    {
        scene_edit(&s.scene, changes, card, at_card);

        (void)snprintf(card->firmware, sizeof(card->firmware),
                       "96.00.74");
        scene_apply(&s.scene, changes);
    }
    window = plan(&s, s.n1, (struct plan){ .in_ms = HOUR,
                                           .length_ms = HOUR });
    scene_wait(&s.scene, HOUR);
    scene_run(&s.scene);
    assert_int_equal(at(&s, window)->state, MAINTENANCE_OPEN);
    before = at(&s, window)->firmware_before->bytes;
    assert_non_null(strstr(before, "96.00.74"));
    assert_null(at(&s, window)->firmware_after);
    (void)snprintf(digest, sizeof(digest), "%.64s",
                   strstr(before, "\"digest\":\"") + 10);
    {
        scene_edit(&s.scene, changes, card, at_card);

        (void)snprintf(card->firmware, sizeof(card->firmware),
                       "96.00.99");
        scene_apply(&s.scene, changes);
    }
    scene_wait(&s.scene, HOUR);
    scene_run(&s.scene);
    after = at(&s, window)->firmware_after->bytes;
    assert_non_null(strstr(after, "96.00.99"));
    assert_null(strstr(after, digest));
    assert_non_null(strstr(at(&s, window)->firmware_before->bytes, digest));
    scene_teardown(&s.scene);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_is_put_where_it_ends_before_the_window),
        cmocka_unit_test(work_that_waits_for_it_says_so_and_starts_afterwards),
        cmocka_unit_test(preemptible_work_in_its_way_gets_notice_in_time),
        cmocka_unit_test(with_finish_nothing_is_told_to_go),
        cmocka_unit_test(a_window_that_lends_lets_preemptible_work_begin),
        cmocka_unit_test(windows_come_again),
        cmocka_unit_test(a_node_gets_back_the_state_that_it_had),
        cmocka_unit_test(booked_starts_keep_clear_of_it),
        cmocka_unit_test(it_leaves_the_cards_that_are_reserved),
        cmocka_unit_test(a_reservation_counts_without_nodes_in_maintenance),
        cmocka_unit_test(work_without_a_longest_run_starts_far_ahead_of_a_window),
        cmocka_unit_test(owners_of_work_there_are_told_in_time),
        cmocka_unit_test(drivers_and_firmware_are_noted_before_and_after),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
