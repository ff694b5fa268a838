/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/part.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>

static void
a_part_is_a_card_or_a_slice_of_it(void **state)
{
    (void)state;
    assert_true(part_is_valid("GPU-1"));
    assert_true(part_is_valid("GPU-1/1g.10gb+me@6"));
    assert_true(part_is_valid("GPU-1/sliced"));
    assert_true(part_is_slice("GPU-1/1g.10gb@6"));
    assert_false(part_is_slice("GPU-1/sliced"));
    assert_false(part_is_slice("GPU-1/cleared"));
    assert_false(part_is_slice("GPU-1"));
    assert_true(part_is_cleared("GPU-1/cleared"));
    assert_string_equal(part_slice("GPU-1/3g.40gb@4"), "3g.40gb@4");
    assert_string_equal(part_slice("GPU-1"), "");
}

static void
a_name_that_could_lead_a_path_astray_is_refused(void **state)
{
    static const char *const bad[] = { "",        "/",         "GPU-1/",
                                       "/1g@0",   "GPU-1/..",  "GPU-1/.x@0",
                                       "-1",      "GPU/1g/@0", "GPU 1",
                                       "GPU-1/-", "GPU_1",
                                       ("GPU-1/1g.0123456789012345678901234567"
                                        "8901234567890@0") };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(part_is_valid(bad[i]));
}

static void
a_card_overlaps_its_slices_and_slices_only_themselves(void **state)
{
    (void)state;
    assert_true(part_overlap("A", "A"));
    assert_true(part_overlap("A", "A/1g.5gb@0"));
    assert_true(part_overlap("A/sliced", "A/1g.5gb@0"));
    assert_true(part_overlap("A/cleared", "A/1g.5gb@0"));
    assert_true(part_overlap("A/1g.5gb@0", "A/1g.5gb@0"));
    assert_false(part_overlap("A/1g.5gb@0", "A/1g.5gb@1"));
    assert_false(part_overlap("A", "AB"));
    assert_false(part_overlap("A/sliced", "B/sliced"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_part_is_a_card_or_a_slice_of_it),
        cmocka_unit_test(a_name_that_could_lead_a_path_astray_is_refused),
        cmocka_unit_test(
            a_card_overlaps_its_slices_and_slices_only_themselves),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
