/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "agent/roster.h"

#define NOW 1000000

static const char *const cards[] = { "GPU-1" };

/* One roster, and the order that it is given. */
struct scene {
    struct roster *roster;
    struct order order;
    struct order_instance instances[2];
    struct order_volume volume;
    const char *scrubs[1];
    json_t *start;
    struct arena *arena;
};

static int
scene_open(void **state)
{
    struct scene *scene = memory_new(1, sizeof(*scene));

    scene->roster = roster_new();
    scene->arena = arena_new();
    scene->start = json_pack("{s:[s],s:[{s:s}]}", "cards", "GPU-1",
                             "volumes", "id", "vo_a");
    scene->instances[0] = (struct order_instance){
        "in_a", 1, 7, ORDER_RUN, "", 0, cards, 1, NULL, scene->start,
        { 0, 0, 0 }
    };
    scene->instances[1] = scene->instances[0];
    scene->instances[1].incarnation = 2;
    scene->volume = (struct order_volume){ "vo_a", 7, 64, false };
    scene->scrubs[0] = "GPU-1";
    scene->order = (struct order){ .node = "nd_a",
                                   .now_ms = NOW,
                                   .serial = 1,
                                   .revision = "r1",
                                   .instances = scene->instances,
                                   .volumes = &scene->volume,
                                   .scrubs = scene->scrubs };
    *state = scene;
    return 0;
}

static int
scene_close(void **state)
{
    struct scene *scene = *state;

    roster_free(scene->roster);
    json_decref(scene->start);
    arena_free(scene->arena);
    free(scene);
    return 0;
}

static void
order(struct scene *scene, size_t instances, size_t volumes, size_t scrubs)
{
    scene->order.instance_count = instances;
    scene->order.volume_count = volumes;
    scene->order.scrub_count = scrubs;
    roster_order(scene->roster, &scene->order, NOW);
}

static void
view(struct scene *scene, int64_t incarnation, enum report_state shown)
{
    struct report_instance instance = { .instance = "in_a",
                                        .incarnation = incarnation,
                                        .state = shown,
                                        .failure = "",
                                        .checkpoint_step = -1 };
    struct engine_view seen = { .instances = &instance,
                                .count = incarnation > 0 };

    roster_observe(scene->roster, &seen);
}

/* The next step must be this one, of this kind; it is left open. */
static struct roster_step
expect(struct scene *scene, enum roster_kind kind, enum duty_step step,
       int64_t now_ms)
{
    struct roster_step out;

    assert_true(roster_next(scene->roster, now_ms, &out));
    assert_int_equal(out.kind, kind);
    assert_int_equal(out.step, step);
    return out;
}

static void
expect_nothing(struct scene *scene, int64_t now_ms)
{
    struct roster_step out;

    if (roster_next(scene->roster, now_ms, &out))
        fail_msg("a step %d of kind %d for %s", (int)out.step, (int)out.kind,
                 out.id);
}

static void
finish(struct scene *scene, struct roster_step *step, enum error_code code,
       int64_t now_ms)
{
    struct error err;

    if (code != ERROR_NONE)
        (void)error_set(&err, code, "why");
    roster_result(scene->roster, step, code != ERROR_NONE ? &err : NULL,
                  now_ms);
}

static struct report
report(struct scene *scene)
{
    struct report out = { 0 };

    roster_report(scene->roster, scene->arena, &out);
    return out;
}

static void
nothing_begins_before_the_engine_was_seen(void **state)
{
    struct scene *scene = *state;
    struct roster_step step;

    order(scene, 1, 0, 0);
    expect_nothing(scene, NOW);
    assert_false(report(scene).instances_known);
    view(scene, 0, REPORT_RUNNING);
    step = expect(scene, ROSTER_DUTY, DUTY_START, NOW);
    assert_true(json_equal(step.start, scene->start));
    finish(scene, &step, ERROR_NONE, NOW);
}

static void
what_runs_already_is_adopted(void **state)
{
    struct scene *scene = *state;

    view(scene, 1, REPORT_RUNNING);
    order(scene, 1, 0, 0);
    expect_nothing(scene, NOW);
    assert_int_equal(report(scene).instances[0].state, REPORT_RUNNING);
}

/* Ordered, started, and shown in that state. */
static void
begin(struct scene *scene, enum report_state shown)
{
    struct roster_step step;

    view(scene, 0, REPORT_RUNNING);
    order(scene, 1, 0, 0);
    step = expect(scene, ROSTER_DUTY, DUTY_START, NOW);
    finish(scene, &step, ERROR_NONE, NOW);
    view(scene, 1, shown);
}

static void
what_ran_and_was_taken_away_is_told_and_not_begun_again(void **state)
{
    struct scene *scene = *state;
    struct roster_step step;

    begin(scene, REPORT_RUNNING);
    view(scene, 0, REPORT_RUNNING);
    assert_int_equal(report(scene).instance_count, 1);
    assert_int_equal(report(scene).instances[0].state, REPORT_GONE);
    step = expect(scene, ROSTER_DUTY, DUTY_RELEASE, NOW + 1000);
    finish(scene, &step, ERROR_NONE, NOW + 1000);
    assert_int_equal(report(scene).release_count, 1);
    expect_nothing(scene, NOW + 60000);
}

static void
what_was_being_made_and_is_undone_is_made_again(void **state)
{
    struct scene *scene = *state;
    struct roster_step step;

    begin(scene, REPORT_STARTING);
    view(scene, 0, REPORT_RUNNING);
    assert_int_equal(report(scene).instances[0].state, REPORT_PREPARING);
    step = expect(scene, ROSTER_DUTY, DUTY_START, NOW + 1000);
    finish(scene, &step, ERROR_NONE, NOW + 1000);
}

static void
a_start_waits_for_its_volume(void **state)
{
    struct scene *scene = *state;
    struct roster_step volume, start;

    view(scene, 0, REPORT_RUNNING);
    order(scene, 1, 1, 0);
    volume = expect(scene, ROSTER_VOLUME, DUTY_NOTHING, NOW);
    expect_nothing(scene, NOW);
    finish(scene, &volume, ERROR_NONE, NOW);
    assert_int_equal(report(scene).volumes[0].state, REPORT_VOLUME_READY);
    start = expect(scene, ROSTER_DUTY, DUTY_START, NOW);
    finish(scene, &start, ERROR_NONE, NOW);
}

static void
a_start_waits_for_the_scrub_of_its_card_and_outdates_it(void **state)
{
    struct scene *scene = *state;
    struct roster_step scrub, start;

    view(scene, 0, REPORT_RUNNING);
    order(scene, 0, 0, 1);
    scrub = expect(scene, ROSTER_SCRUB, DUTY_NOTHING, NOW);
    order(scene, 1, 0, 1);
    expect_nothing(scene, NOW);
    finish(scene, &scrub, ERROR_NONE, NOW);
    assert_int_equal(report(scene).scrub_count, 1);
    start = expect(scene, ROSTER_DUTY, DUTY_START, NOW);
    assert_int_equal(report(scene).scrub_count, 0);
    finish(scene, &start, ERROR_NONE, NOW);
}

static void
a_scrub_waits_for_the_instance_on_its_card(void **state)
{
    struct scene *scene = *state;

    view(scene, 1, REPORT_RUNNING);
    order(scene, 1, 0, 1);
    expect_nothing(scene, NOW);
}

static void
a_scrub_that_cannot_be_verified_is_reported(void **state)
{
    struct scene *scene = *state;
    struct roster_step scrub;

    view(scene, 0, REPORT_RUNNING);
    order(scene, 0, 0, 1);
    scrub = expect(scene, ROSTER_SCRUB, DUTY_NOTHING, NOW);
    scrub.scrub.count = 1;
    scrub.scrub.steps[0] =
        (struct engine_step){ "wait", 1000, 1500, false, "somebody is on it" };
    finish(scene, &scrub, ERROR_VERIFY, NOW);
    assert_int_equal(report(scene).scrub_count, 1);
    assert_false(report(scene).scrubs[0].verified);
    assert_int_equal(report(scene).scrubs[0].step_count, 1);
    assert_string_equal(report(scene).scrubs[0].steps[0].text,
                        "somebody is on it");
    assert_int_equal(report(scene).scrubs[0].steps[0].to_ms, 1500);
    expect_nothing(scene, NOW + 60000);
}

static void
a_scrub_of_a_card_in_use_is_tried_again(void **state)
{
    struct scene *scene = *state;
    struct roster_step scrub;

    view(scene, 0, REPORT_RUNNING);
    order(scene, 0, 0, 1);
    for (int i = 0; i < 20; i++) {
        scrub = expect(scene, ROSTER_SCRUB, DUTY_NOTHING, NOW + i * 10000);
        finish(scene, &scrub, ERROR_CONFLICT, NOW + i * 10000);
    }
    assert_int_equal(report(scene).scrub_count, 0);
}

static void
a_scrub_that_is_ordered_again_is_done_again(void **state)
{
    struct scene *scene = *state;
    struct roster_step scrub;

    view(scene, 0, REPORT_RUNNING);
    order(scene, 0, 0, 1);
    scrub = expect(scene, ROSTER_SCRUB, DUTY_NOTHING, NOW);
    finish(scene, &scrub, ERROR_NONE, NOW);
    order(scene, 0, 0, 0);
    order(scene, 0, 0, 1);
    scrub = expect(scene, ROSTER_SCRUB, DUTY_NOTHING, NOW);
    finish(scene, &scrub, ERROR_NONE, NOW);
}

static void
a_volume_order_that_is_turned_round_is_done_both_ways(void **state)
{
    struct scene *scene = *state;
    struct roster_step step;

    order(scene, 0, 1, 0);
    step = expect(scene, ROSTER_VOLUME, DUTY_NOTHING, NOW);
    assert_false(step.remove);
    scene->volume.remove = true;
    order(scene, 0, 1, 0);
    finish(scene, &step, ERROR_NONE, NOW);
    assert_int_equal(report(scene).volume_count, 0);
    step = expect(scene, ROSTER_VOLUME, DUTY_NOTHING, NOW);
    assert_true(step.remove);
    finish(scene, &step, ERROR_NONE, NOW);
    assert_int_equal(report(scene).volumes[0].state, REPORT_VOLUME_REMOVED);
}

/* [S46] */
static void
a_stale_incarnation_goes_before_the_new_one_is_reported(void **state)
{
    struct scene *scene = *state;
    struct roster_step step;

    view(scene, 1, REPORT_RUNNING);
    scene->instances[0] = scene->instances[1];
    order(scene, 1, 0, 0);
    step = expect(scene, ROSTER_DUTY, DUTY_REMOVE, NOW);
    assert_int_equal(step.incarnation, 1);
    finish(scene, &step, ERROR_NONE, NOW);
    step = expect(scene, ROSTER_DUTY, DUTY_START, NOW);
    assert_int_equal(step.incarnation, 2);
    finish(scene, &step, ERROR_NONE, NOW);
}

static void
a_release_names_the_cards_until_the_order_forgets_it(void **state)
{
    struct scene *scene = *state;
    struct roster_step step;
    struct report said;

    view(scene, 1, REPORT_EXITED);
    order(scene, 1, 0, 0);
    expect_nothing(scene, NOW);
    said = report(scene);
    assert_int_equal(said.instances[0].state, REPORT_EXITED);
    roster_acknowledge(scene->roster, &said);
    step = expect(scene, ROSTER_DUTY, DUTY_REMOVE, NOW);
    finish(scene, &step, ERROR_NONE, NOW);
    step = expect(scene, ROSTER_DUTY, DUTY_RELEASE, NOW);
    finish(scene, &step, ERROR_NONE, NOW);
    said = report(scene);
    assert_int_equal(said.release_count, 1);
    assert_string_equal(said.releases[0].cards[0], "GPU-1");
    /* The end is told with it: a control plane that lost it learns both. */
    assert_int_equal(said.instances[0].state, REPORT_EXITED);
    order(scene, 0, 0, 0);
    said = report(scene);
    assert_int_equal(said.release_count + said.instance_count, 0);
}

static void
deadlines_count_from_the_control_planes_time(void **state)
{
    struct scene *scene = *state;
    struct roster_step step;

    view(scene, 1, REPORT_RUNNING);
    scene->instances[0].want = ORDER_NOTICE;
    scene->instances[0].deadline_ms = NOW + 500;
    scene->order.instance_count = 1;
    roster_order(scene->roster, &scene->order, NOW + 30000);
    step = expect(scene, ROSTER_DUTY, DUTY_NOTICE, NOW + 30000);
    assert_int_equal(step.deadline_ms, NOW + 30500);
    finish(scene, &step, ERROR_NONE, NOW + 30000);
    expect_nothing(scene, NOW + 30499);
    step = expect(scene, ROSTER_DUTY, DUTY_TERMINATE, NOW + 30500);
    finish(scene, &step, ERROR_NONE, NOW + 30500);
}

static void
an_order_that_is_the_same_changes_nothing(void **state)
{
    struct scene *scene = *state;

    view(scene, 1, REPORT_RUNNING);
    order(scene, 1, 0, 0);
    scene->order.same = true;
    order(scene, 0, 0, 0);
    assert_int_equal(report(scene).instance_count, 1);
    assert_string_equal(roster_revision(scene->roster), "r1");
    view(scene, 1, REPORT_EXITED);
    assert_int_equal(report(scene).instances[0].state, REPORT_EXITED);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_open, scene_close)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nothing_begins_before_the_engine_was_seen),
        TEST(what_runs_already_is_adopted),
        TEST(what_ran_and_was_taken_away_is_told_and_not_begun_again),
        TEST(what_was_being_made_and_is_undone_is_made_again),
        TEST(a_start_waits_for_its_volume),
        TEST(a_start_waits_for_the_scrub_of_its_card_and_outdates_it),
        TEST(a_scrub_waits_for_the_instance_on_its_card),
        TEST(a_scrub_that_cannot_be_verified_is_reported),
        TEST(a_scrub_of_a_card_in_use_is_tried_again),
        TEST(a_scrub_that_is_ordered_again_is_done_again),
        TEST(a_volume_order_that_is_turned_round_is_done_both_ways),
        TEST(a_stale_incarnation_goes_before_the_new_one_is_reported),
        TEST(a_release_names_the_cards_until_the_order_forgets_it),
        TEST(deadlines_count_from_the_control_planes_time),
        TEST(an_order_that_is_the_same_changes_nothing),
    };

    return cmocka_run_group_tests_name("roster", tests, NULL, NULL);
}
