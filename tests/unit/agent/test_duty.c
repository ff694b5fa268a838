/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "agent/duty.h"

#define NOW 1000000

static struct duty
ordered(enum order_want want)
{
    return (struct duty){ .instance = "in_a",
                          .incarnation = 1,
                          .ordered = true,
                          .want = want,
                          .order_deadline_ms = NOW + 1000,
                          .deadline_ms = NOW + 1000,
                          .start = json_null(),
                          .checkpoint_step = -1 };
}

static void
show(struct duty *duty, enum report_state state)
{
    struct report_instance shown = { .instance = "in_a",
                                     .incarnation = 1,
                                     .state = state,
                                     .failure = "",
                                     .checkpoint_step = -1 };

    duty_observe(duty, &shown);
}

static void
done(struct duty *duty, enum duty_step step, int64_t now_ms)
{
    assert_int_equal(duty_next(duty, now_ms), step);
    duty->busy = true;
    assert_int_equal(duty_next(duty, now_ms), DUTY_NOTHING);
    duty_result(duty, step, NULL, now_ms);
}

static void
failed(struct duty *duty, enum duty_step step, enum error_code code,
       int64_t now_ms)
{
    struct error err;

    (void)error_set(&err, code, "why");
    duty->busy = true;
    duty_result(duty, step, &err, now_ms);
}

static void
a_run_goes_from_start_to_release(void **state)
{
    struct duty duty = ordered(ORDER_RUN);

    (void)state;
    done(&duty, DUTY_START, NOW);
    show(&duty, REPORT_RUNNING);
    assert_int_equal(duty_next(&duty, NOW + 100), DUTY_NOTHING);
    show(&duty, REPORT_EXITED);
    duty.acknowledged = true;
    done(&duty, DUTY_REMOVE, NOW + 200);
    done(&duty, DUTY_RELEASE, NOW + 300);
    assert_int_equal(duty_next(&duty, NOW + 400), DUTY_NOTHING);
    assert_true(duty.released);
}

static void
show_cap(struct duty *duty, int64_t cpu_milli)
{
    struct report_instance shown = { .instance = "in_a",
                                     .incarnation = 1,
                                     .state = REPORT_RUNNING,
                                     .failure = "",
                                     .cap = { .cpu_milli = cpu_milli },
                                     .checkpoint_step = -1 };

    duty_observe(duty, &shown);
}

static void
a_cap_is_set_and_lifted_and_set_again_where_it_was_lost(void **state)
{
    struct duty duty = ordered(ORDER_RUN);

    (void)state;
    show(&duty, REPORT_RUNNING);
    duty.cap.cpu_milli = 100;
    assert_int_equal(duty_next(&duty, NOW), DUTY_CAP);
    assert_int_equal(duty_cap(&duty).cpu_milli, 100);
    done(&duty, DUTY_CAP, NOW);
    assert_int_equal(duty_next(&duty, NOW + 1), DUTY_NOTHING);
    show_cap(&duty, 100);
    assert_int_equal(duty_next(&duty, NOW + 2), DUTY_NOTHING);
    /* A runner that lost it. */
    show_cap(&duty, 0);
    assert_int_equal(duty_next(&duty, NOW + 3), DUTY_CAP);
    show_cap(&duty, 100);
    duty.cap.cpu_milli = 0;
    assert_int_equal(duty_next(&duty, NOW + 4), DUTY_CAP);
    assert_int_equal(duty_cap(&duty).cpu_milli, 0);
    done(&duty, DUTY_CAP, NOW + 4);
    assert_int_equal(duty_next(&duty, NOW + 5), DUTY_NOTHING);
    /* An agent that only began finds one that is not ordered. */
    show_cap(&duty, 50);
    assert_int_equal(duty_next(&duty, NOW + 6), DUTY_CAP);
}

static void
a_cap_that_the_machine_refuses_is_not_asked_for_again(void **state)
{
    struct duty duty = ordered(ORDER_RUN);

    (void)state;
    show(&duty, REPORT_RUNNING);
    duty.cap.cpu_milli = 1;
    (void)duty_cap(&duty);
    failed(&duty, DUTY_CAP, ERROR_QUOTA, NOW);
    assert_int_equal(duty_next(&duty, NOW + 60000), DUTY_NOTHING);
    duty.cap.cpu_milli = 50;
    assert_int_equal(duty_next(&duty, NOW + 60000), DUTY_CAP);
    (void)duty_cap(&duty);
    failed(&duty, DUTY_CAP, ERROR_BUSY, NOW + 60000);
    assert_int_equal(duty_next(&duty, NOW + 120000), DUTY_CAP);
}

static void
an_end_stays_until_the_control_plane_has_taken_it(void **state)
{
    struct duty duty = ordered(ORDER_STOP);
    struct report_instance fact;

    (void)state;
    show(&duty, REPORT_EXITED);
    assert_int_equal(duty_next(&duty, NOW), DUTY_NOTHING);
    assert_true(duty_report(&duty, &fact));
    assert_int_equal(fact.state, REPORT_EXITED);
    duty.acknowledged = true;
    assert_int_equal(duty_next(&duty, NOW), DUTY_REMOVE);
}

static void
a_notice_is_given_once_and_ends_at_its_deadline(void **state)
{
    struct duty duty = ordered(ORDER_NOTICE);

    (void)state;
    show(&duty, REPORT_RUNNING);
    done(&duty, DUTY_NOTICE, NOW);
    assert_int_equal(duty_next(&duty, NOW + 999), DUTY_NOTHING);
    done(&duty, DUTY_TERMINATE, NOW + 1000);
    assert_int_equal(duty_next(&duty, NOW + 1000 + DUTY_TERM_MS - 1),
                     DUTY_NOTHING);
    assert_int_equal(duty_next(&duty, NOW + 1000 + DUTY_TERM_MS), DUTY_KILL);
}

/* The size that it began with, and one that it was told, are not told again;
 * an agent that starts anew tells what it has, and the runner knows it. */
static void
a_gang_that_became_another_is_told_once(void **state)
{
    struct duty duty = ordered(ORDER_RUN);
    json_t *two = json_pack("{s:i}", "instances", 2);
    json_t *three = json_pack("{s:i}", "instances", 3);
    json_t *told;

    (void)state;
    duty.gang = two;
    duty.told = json_incref(two);
    done(&duty, DUTY_START, NOW);
    show(&duty, REPORT_STARTING);
    assert_int_equal(duty_next(&duty, NOW + 100), DUTY_NOTHING);
    show(&duty, REPORT_RUNNING);
    assert_int_equal(duty_next(&duty, NOW + 100), DUTY_NOTHING);
    duty.gang = three;
    assert_int_equal(duty_next(&duty, NOW + 100), DUTY_GANG);
    told = duty_tell(&duty);
    assert_true(json_equal(told, three));
    json_decref(told);
    failed(&duty, DUTY_GANG, ERROR_BUSY, NOW + 100);
    assert_int_equal(duty_next(&duty, NOW + 10000), DUTY_GANG);
    json_decref(duty_tell(&duty));
    done(&duty, DUTY_GANG, NOW + 10000);
    assert_int_equal(duty_next(&duty, NOW + 10100), DUTY_NOTHING);
    duty.want = ORDER_NOTICE; /* then the notice says enough */
    duty.gang = two;
    assert_int_equal(duty_next(&duty, NOW), DUTY_NOTICE);
    json_decref(three);
    duty_release(&duty);
}

static void
a_stop_terminates_and_then_kills(void **state)
{
    struct duty duty = ordered(ORDER_STOP);

    (void)state;
    show(&duty, REPORT_RUNNING);
    done(&duty, DUTY_TERMINATE, NOW);
    assert_int_equal(duty_next(&duty, NOW + DUTY_TERM_MS), DUTY_KILL);
}

static void
what_never_began_is_released_without_a_start(void **state)
{
    struct duty duty = ordered(ORDER_STOP);
    struct report_instance fact;

    (void)state;
    assert_false(duty_report(&duty, &fact));
    done(&duty, DUTY_RELEASE, NOW);
}

static void
a_start_that_can_never_work_is_reported_and_released(void **state)
{
    struct duty duty = ordered(ORDER_RUN);
    struct report_instance fact;

    (void)state;
    failed(&duty, DUTY_START, ERROR_NOT_FOUND, NOW);
    assert_true(duty_report(&duty, &fact));
    assert_int_equal(fact.state, REPORT_START_FAILED);
    assert_string_equal(fact.failure, "why");
    assert_int_equal(duty_next(&duty, NOW), DUTY_RELEASE);
}

static void
a_busy_runner_is_asked_again_later(void **state)
{
    struct duty duty = ordered(ORDER_RUN);
    struct report_instance fact;

    (void)state;
    failed(&duty, DUTY_START, ERROR_BUSY, NOW);
    assert_int_equal(duty_next(&duty, NOW), DUTY_NOTHING);
    assert_true(duty_report(&duty, &fact));
    assert_int_equal(fact.state, REPORT_PREPARING);
    assert_int_equal(duty_next(&duty, NOW + DUTY_RETRY_MAX_MS), DUTY_START);
}

static void
a_conflict_that_does_not_pass_becomes_a_failure(void **state)
{
    struct duty duty = ordered(ORDER_RUN);

    (void)state;
    for (int i = 0; i < DUTY_CONFLICT_TRIES; i++)
        failed(&duty, DUTY_START, ERROR_CONFLICT, NOW);
    assert_false(duty.ended);
    failed(&duty, DUTY_START, ERROR_CONFLICT, NOW);
    assert_true(duty.ended);
    assert_int_equal(duty.state, REPORT_START_FAILED);
}

static void
a_removed_incarnation_is_reported_gone_and_not_started_again(void **state)
{
    struct duty duty = ordered(ORDER_RUN);
    struct report_instance fact;

    (void)state;
    failed(&duty, DUTY_START, ERROR_GONE, NOW);
    assert_true(duty_report(&duty, &fact));
    assert_int_equal(fact.state, REPORT_GONE);
    assert_int_equal(duty_next(&duty, NOW), DUTY_RELEASE);
}

static void
what_should_run_and_is_not_there_is_not_told_as_preparing(void **state)
{
    struct duty duty = ordered(ORDER_RUN);
    struct report_instance fact;

    (void)state;
    duty.start = NULL; /* orders hold no start of what runs */
    assert_false(duty_report(&duty, &fact));
    assert_int_equal(duty_next(&duty, NOW), DUTY_NOTHING);
}

/* [S46] */
static void
a_stale_incarnation_is_removed_without_notice(void **state)
{
    struct duty duty = ordered(ORDER_RUN);
    struct report_instance fact;

    (void)state;
    duty.ordered = false;
    duty.stale = true;
    show(&duty, REPORT_RUNNING);
    assert_false(duty_report(&duty, &fact));
    done(&duty, DUTY_REMOVE, NOW);
    assert_true(duty_is_over(&duty));
}

static void
what_nobody_ordered_is_reported_and_left_alone(void **state)
{
    struct duty duty = { .instance = "in_a", .incarnation = 1 };
    struct report_instance fact;

    (void)state;
    show(&duty, REPORT_RUNNING);
    assert_int_equal(duty_next(&duty, NOW), DUTY_NOTHING);
    assert_true(duty_report(&duty, &fact));
    assert_false(duty_is_over(&duty));
}

static void
processes_left_on_cards_hold_the_release_back(void **state)
{
    struct duty duty = ordered(ORDER_STOP);

    (void)state;
    failed(&duty, DUTY_RELEASE, ERROR_BUSY, NOW);
    assert_false(duty.released);
    assert_int_equal(duty_next(&duty, NOW + DUTY_RETRY_MAX_MS), DUTY_RELEASE);
}

static void
a_view_from_before_the_removal_brings_nothing_back(void **state)
{
    struct duty duty = ordered(ORDER_STOP);

    (void)state;
    show(&duty, REPORT_EXITED);
    duty.acknowledged = true;
    done(&duty, DUTY_REMOVE, NOW);
    show(&duty, REPORT_EXITED);
    assert_int_equal(duty_next(&duty, NOW + 100), DUTY_RELEASE);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            a_cap_is_set_and_lifted_and_set_again_where_it_was_lost),
        cmocka_unit_test(
            a_cap_that_the_machine_refuses_is_not_asked_for_again),
        cmocka_unit_test(a_run_goes_from_start_to_release),
        cmocka_unit_test(an_end_stays_until_the_control_plane_has_taken_it),
        cmocka_unit_test(a_notice_is_given_once_and_ends_at_its_deadline),
        cmocka_unit_test(a_gang_that_became_another_is_told_once),
        cmocka_unit_test(a_stop_terminates_and_then_kills),
        cmocka_unit_test(what_never_began_is_released_without_a_start),
        cmocka_unit_test(
            a_start_that_can_never_work_is_reported_and_released),
        cmocka_unit_test(a_busy_runner_is_asked_again_later),
        cmocka_unit_test(a_conflict_that_does_not_pass_becomes_a_failure),
        cmocka_unit_test(
            a_removed_incarnation_is_reported_gone_and_not_started_again),
        cmocka_unit_test(
            what_should_run_and_is_not_there_is_not_told_as_preparing),
        cmocka_unit_test(a_stale_incarnation_is_removed_without_notice),
        cmocka_unit_test(what_nobody_ordered_is_reported_and_left_alone),
        cmocka_unit_test(processes_left_on_cards_hold_the_release_back),
        cmocka_unit_test(a_view_from_before_the_removal_brings_nothing_back),
    };

    return cmocka_run_group_tests_name("duty", tests, NULL, NULL);
}
