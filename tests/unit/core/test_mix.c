/* SPDX-License-Identifier: Apache-2.0 */
#include "core/mix.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static struct shape
share(int64_t milli)
{
    return (struct shape){ 1000, 2000, 1, milli, 1 };
}

static void
equal_shapes_are_counted_together(void **state)
{
    struct mix mix = { 0 };
    struct shape half = share(500), other = share(500);

    (void)state;
    other.kinds = 3;
    mix_count(&mix, &half, 2);
    mix_count(&mix, &other, 1);
    mix_count(&mix, &half, 1);
    assert_int_equal(mix.count, 2);
    assert_int_equal(mix.entries[0].count, 3);
    assert_int_equal(mix.entries[1].count, 1);
    assert_int_equal(mix.total, 4);
    mix_release(&mix);
}

static void
prices_are_due_after_32_arrivals_and_each_doubling(void **state)
{
    struct mix mix = { 0 };
    struct shape half = share(500);
    int due[3] = { 0 }, count = 0;

    (void)state;
    for (int i = 1; i <= 127; i++) {
        mix_count(&mix, &half, 1);
        if (mix_due(&mix))
            due[count++] = i;
    }
    assert_int_equal(count, 2);
    assert_int_equal(due[0], 32);
    assert_int_equal(due[1], 64);
    mix_count(&mix, &half, 1);
    assert_true(mix_due(&mix));
    mix_release(&mix);
}

static void
a_mix_that_was_kept_goes_on_where_it_was(void **state)
{
    struct mix mix = { 0 }, again = { 0 };
    struct shape half = share(500), third = share(330);

    (void)state;
    mix_count(&mix, &half, 40);
    mix_count(&mix, &third, 10);
    assert_true(mix_due(&mix));
    for (size_t i = 0; i < mix.count; i++)
        mix_count(&again, &mix.entries[i].shape, mix.entries[i].count);
    assert_true(mix_due(&again));
    assert_int_equal(again.refresh_at, mix.refresh_at);
    assert_int_equal(again.total, mix.total);
    mix_count(&again, &half, 13);
    assert_false(mix_due(&again));
    mix_count(&again, &half, 1);
    assert_true(mix_due(&again));
    mix_release(&mix);
    mix_release(&again);
}

static void
old_work_fades(void **state)
{
    struct mix mix = { 0 };
    struct shape once = share(100), old = share(500), new = share(250);

    (void)state;
    mix_count(&mix, &once, 1);
    mix_count(&mix, &old, MIX_WINDOW - 2);
    mix_count(&mix, &new, 1);
    /* Halved; what was seen once is gone. */
    assert_int_equal(mix.count, 1);
    assert_int_equal(mix.entries[0].count, MIX_WINDOW / 2 - 1);
    assert_int_equal(mix.total, MIX_WINDOW / 2 - 1);
    assert_true(mix_due(&mix));
    mix_release(&mix);
}

static void
the_rarest_shape_makes_room(void **state)
{
    struct mix mix = { 0 };

    (void)state;
    for (int64_t i = 0; i < MIX_MAX; i++) {
        struct shape shape = share(500);

        shape.cpu_milli = i + 1;
        mix_count(&mix, &shape, i == 7 ? 1 : 2);
    }
    struct shape late = share(100);
    mix_count(&mix, &late, 1);
    assert_int_equal(mix.count, MIX_MAX);
    assert_int_equal(mix.entries[7].shape.cpu_milli, 9);
    assert_true(shape_equal(&mix.entries[MIX_MAX - 1].shape, &late));
    assert_int_equal(mix.total, 2 * MIX_MAX - 1 - 1 + 1);
    mix_release(&mix);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_shapes_are_counted_together),
        cmocka_unit_test(prices_are_due_after_32_arrivals_and_each_doubling),
        cmocka_unit_test(a_mix_that_was_kept_goes_on_where_it_was),
        cmocka_unit_test(old_work_fades),
        cmocka_unit_test(the_rarest_shape_makes_room),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
