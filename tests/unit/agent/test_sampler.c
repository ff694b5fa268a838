/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/sampler.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* A look at one instance: CPU time, waiting, disk KiB, network KiB, card. */
static void
look(struct sampler *sampler, int64_t time_ms, int64_t cpu_us,
     int64_t wait_us, int64_t io_kib, int64_t card)
{
    const struct engine_sample sample = { .instance = "in_a",
                                          .incarnation = 1,
                                          .cpu_us = cpu_us,
                                          .wait_us = wait_us,
                                          .io_bytes = io_kib * 1024,
                                          .network_bytes = io_kib * 2048,
                                          .card_permille = card };

    sampler_take(sampler, &(struct engine_samples){ time_ms, &sample, 1 });
}

/* What a report of the instance says; *number_out: the window. */
static struct report_use
told(const struct sampler *sampler, int64_t *number_out)
{
    static const struct report_instance facts[] = {
        { .instance = "in_b", .incarnation = 1 },
        { .instance = "in_a", .incarnation = 1 },
    };
    scoped_arena arena = arena_new();
    struct report report = { .instances = facts, .instance_count = 2 };

    *number_out = sampler_tell(sampler, arena, &report);
    assert_int_equal(report.instances[0].use.ms, 0);
    return report.instances[1].use;
}

static void
a_window_is_what_was_used_in_ten_seconds(void **state)
{
    struct sampler *sampler = sampler_new();
    struct report_use use;
    int64_t number;

    (void)state;
    look(sampler, 1000, 500, 100, 10, 300);
    look(sampler, 6000, 900, 250, 20, 500);
    use = told(sampler, &number);
    assert_int_equal(number, 0);
    assert_int_equal(use.ms, 0);
    look(sampler, 11000, 2500, 400, 110, -1);
    use = told(sampler, &number);
    assert_int_equal(number, 1);
    assert_int_equal(use.ms, 10000);
    assert_int_equal(use.cpu_us, 2000);
    assert_int_equal(use.wait_us, 300);
    assert_int_equal(use.io_kib, 100);
    assert_int_equal(use.network_kib, 200);
    assert_int_equal(use.card_permille, 400);
    sampler_free(sampler);
}

static void
a_window_is_told_until_it_has_arrived(void **state)
{
    struct sampler *sampler = sampler_new();
    int64_t number;

    (void)state;
    look(sampler, 1000, 0, 0, 0, -1);
    look(sampler, 11000, 7000, 0, 0, -1);
    (void)told(sampler, &number);
    assert_int_equal(told(sampler, &number).cpu_us, 7000);
    sampler_told(sampler, number);
    assert_int_equal(told(sampler, &number).ms, 0);
    look(sampler, 21000, 7500, 0, 0, -1);
    assert_int_equal(told(sampler, &number).cpu_us, 500);
    assert_int_equal(number, 2);
    sampler_free(sampler);
}

static void
what_an_ended_task_waited_is_not_taken_back(void **state)
{
    struct sampler *sampler = sampler_new();
    int64_t number;

    (void)state;
    look(sampler, 1000, 0, 5000, 0, -1);
    look(sampler, 3000, 0, 6000, 0, -1);
    look(sampler, 6000, 0, 200, 0, -1); /* the task is gone */
    look(sampler, 11000, 0, 700, 0, -1);
    assert_int_equal(told(sampler, &number).wait_us, 1500);
    sampler_free(sampler);
}

static void
what_has_ended_is_forgotten_and_what_came_late_is_left_out(void **state)
{
    struct sampler *sampler = sampler_new();
    struct engine_samples none = { 5000, NULL, 0 };
    int64_t number;

    (void)state;
    look(sampler, 1000, 0, 0, 0, -1);
    sampler_take(sampler, &none);
    look(sampler, 8000, 90, 0, 0, -1); /* anew */
    look(sampler, 11000, 100, 0, 0, -1);
    assert_int_equal(told(sampler, &number).ms, 0); /* 3 s of it only */
    look(sampler, 21000, 150, 0, 0, -1);
    assert_int_equal(told(sampler, &number).cpu_us, 50);
    sampler_free(sampler);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_window_is_what_was_used_in_ten_seconds),
        cmocka_unit_test(a_window_is_told_until_it_has_arrived),
        cmocka_unit_test(what_an_ended_task_waited_is_not_taken_back),
        cmocka_unit_test(
            what_has_ended_is_forgotten_and_what_came_late_is_left_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
