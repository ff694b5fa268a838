/* SPDX-License-Identifier: Apache-2.0 */
/* Hard slices of NVIDIA's cards, and the device nodes of both. */
#include "tests/unit/accel/nvml_bed.h"

static void
slices_are_made_where_they_are_wanted(void **state)
{
    struct accel accel = opened();
    struct accel_slice list[ACCEL_SLICES_MAX];
    struct error err = { 0 };
    size_t count = 0;

    (void)state;
    assert_int_equal(accel_slice_create(&accel, U0 "/3g.20gb@4", &err), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    assert_int_equal(accel_cut(&accel, U0, true, &err), 0);
    assert_int_equal(accel_slice_create(&accel, U0 "/3g.20gb@4", &err), 0);
    assert_int_equal(accel_slice_create(&accel, U0 "/1g.5gb@2", &err), 0);
    assert_int_equal(accel_slice_create(&accel, U0 "/2g.10gb@4", &err), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    assert_int_equal(accel_slice_create(&accel, U0 "/2g.10gb@1", &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    assert_int_equal(accel_slice_create(&accel, U0 "/5g.20gb@0", &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    assert_int_equal(accel_slices(&accel, U0, list, &count, &err), 0);
    assert_int_equal(count, 2);
    assert_string_equal(list[0].name, "1g.5gb@2");
    assert_int_equal(list[0].memory_mib, 4864);
    assert_int_equal(list[0].compute_units, 14);
    assert_string_equal(list[1].name, "3g.20gb@4");
    assert_string_equal(list[1].uuid, "MIG-00000000-0000-0000-0000-"
                                      "000000000001");
    assert_true(health_of(&accel, U0).sliced);
    assert_int_equal(accel_slices(&accel, U1, list, &count, &err), -1);
    assert_int_equal(err.code, ERROR_UNSUPPORTED);
    accel_close(&accel);
}

/* [N39] */
static void
a_slice_goes_while_its_neighbour_works(void **state)
{
    struct accel accel = opened();
    struct accel_process list[ACCEL_PROCESSES_MAX];
    struct error err = { 0 };
    size_t count = 0;

    (void)state;
    assert_int_equal(accel_cut(&accel, U0, true, &err), 0);
    assert_int_equal(accel_slice_create(&accel, U0 "/3g.20gb@0", &err), 0);
    assert_int_equal(accel_slice_create(&accel, U0 "/3g.20gb@4", &err), 0);
    add_process(0, 77, 5, 1, 0);
    assert_int_equal(accel_processes(&accel, U0 "/3g.20gb@0", list, &count,
                                     &err), 0);
    assert_int_equal(count, 1);
    assert_int_equal(accel_processes(&accel, U0 "/3g.20gb@4", list, &count,
                                     &err), 0);
    assert_int_equal(count, 0);
    assert_int_equal(accel_slice_destroy(&accel, U0 "/3g.20gb@4", &err), 0);
    assert_int_equal(accel_slice_create(&accel, U0 "/1g.5gb@6", &err), 0);
    assert_int_equal(accel_slice_destroy(&accel, U0 "/3g.20gb@0", &err), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    /* The mode wants all of them gone. */
    assert_int_equal(accel_cut(&accel, U0, false, &err), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    assert_int_equal(accel_slice_destroy(&accel, U0 "/9g@0", &err), 0);
    accel_close(&accel);
}

/* [N38] */
static void
a_card_that_was_left_cut_says_so(void **state)
{
    struct accel accel = opened();
    struct error err = { 0 };
    struct accel_slice list[ACCEL_SLICES_MAX];
    size_t count = 0;

    (void)state;
    assert_int_equal(accel_cut(&accel, U1, true, &err), 0);
    assert_int_equal(accel_slice_create(&accel, U1 "/7g.40gb@0", &err), 0);
    accel_close(&accel);
    accel = opened();
    assert_true(health_of(&accel, U1).sliced);
    assert_int_equal(accel_slices(&accel, U1, list, &count, &err), 0);
    assert_int_equal(count, 1);
    assert_string_equal(list[0].name, "7g.40gb@0");
    accel_close(&accel);
}

static void
half_a_slice_is_undone(void **state)
{
    struct accel accel = opened();
    struct accel_slice list[ACCEL_SLICES_MAX];
    struct error err = { 0 };
    size_t count = 9;

    (void)state;
    assert_int_equal(accel_cut(&accel, U0, true, &err), 0);
    stub_fault(world, "nvmlGpuInstanceCreateComputeInstance", 0,
               NVML_INSUFFICIENT_RESOURCES);
    assert_int_equal(accel_slice_create(&accel, U0 "/2g.10gb@0", &err), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    assert_int_equal(accel_slices(&accel, U0, list, &count, &err), 0);
    assert_int_equal(count, 0);
    accel_close(&accel);
}

/* An older library has no names of profiles: they follow from the sizes. */
static void
profiles_have_the_same_names_without_the_library_s_own(void **state)
{
    struct accel accel = opened();
    struct accel_slice list[ACCEL_SLICES_MAX];
    struct error err = { 0 };
    size_t count = 0;

    (void)state;
    world->profile_words = 0;
    assert_int_equal(accel_cut(&accel, U0, true, &err), 0);
    assert_int_equal(accel_slice_create(&accel, U0 "/1g.5gb+me@0", &err), 0);
    assert_int_equal(accel_slice_create(&accel, U0 "/1g.10gb@2", &err), 0);
    assert_int_equal(accel_slices(&accel, U0, list, &count, &err), 0);
    assert_int_equal(count, 2);
    accel_close(&accel);
}

static void
a_slice_has_nodes_of_its_own(void **state)
{
    struct accel accel = opened();
    struct accel_node nodes[ACCEL_NODES_MAX];
    struct error err = { 0 };
    size_t count = 0;

    (void)state;
    assert_int_equal(accel_nodes(&accel, U1, nodes, &count, &err), 0);
    assert_int_equal(count, 4);
    assert_string_equal(nodes[0].name, "nvidia1");
    assert_true(nodes[0].plain);
    assert_int_equal(nodes[0].major, 195);
    assert_int_equal(nodes[0].minor, 1);
    assert_false(nodes[0].shared);
    /* Of the driver's libraries this machine has one. */
    assert_int_equal(nodes[3].kind, ACCEL_LIBRARY);
    assert_string_equal(nodes[3].name, "libnvidia-ml.so.1");
    assert_true(nodes[3].manage);
    assert_int_equal(nodes[1].minor, 255);
    assert_true(nodes[1].shared);
    assert_int_equal(nodes[2].major, 509);
    assert_int_equal(accel_cut(&accel, U0, true, &err), 0);
    assert_int_equal(accel_slice_create(&accel, U0 "/1g.5gb@0", &err), 0);
    assert_int_equal(accel_nodes(&accel, U0 "/1g.5gb@0", nodes, &count, &err),
                     0);
    assert_int_equal(count, 6);
    assert_string_equal(nodes[3].name, "nvidia-caps/nvidia-cap30");
    assert_int_equal(nodes[3].major, 235);
    assert_int_equal(nodes[3].minor, 30);
    assert_string_equal(nodes[4].name, "nvidia-caps/nvidia-cap31");
    assert_int_equal(nodes[4].minor, 31);
    accel_close(&accel);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(slices_are_made_where_they_are_wanted, fresh),
        cmocka_unit_test_setup(a_slice_goes_while_its_neighbour_works, fresh),
        cmocka_unit_test_setup(a_card_that_was_left_cut_says_so, fresh),
        cmocka_unit_test_setup(half_a_slice_is_undone, fresh),
        cmocka_unit_test_setup(
            profiles_have_the_same_names_without_the_library_s_own, fresh),
        cmocka_unit_test_setup(a_slice_has_nodes_of_its_own, fresh),
    };

    return cmocka_run_group_tests(tests, make, drop);
}
