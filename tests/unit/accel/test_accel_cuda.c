/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What makes one of NVIDIA's cards clean: patterns planted in the memory of
 * two cards, and looked for after one of them was cleaned.
 */
#include "accel/accel_vendor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "accel/nvml.h"
#include "base/clock.h"
#include "base/file.h"
#include "tests/stub/nvml_stub.h"
#include "tests/unit/scratch.h"

#define U0 "GPU-00000000-aaaa-bbbb-cccc-0123456789ab"
#define U1 "GPU-00000001-aaaa-bbbb-cccc-0123456789ab"
#define MIB 1048576

static char home[SCRATCH_MAX];
static char program[256];
static char libraries[256];
static struct stub_world *world;

static int
make(void **state)
{
    char own[200];
    char path[128];
    ssize_t size = readlink("/proc/self/exe", own, sizeof(own) - 1);

    (void)state;
    if (size < 0)
        return -1;
    own[size] = '\0';
    *strstr(own, "/tests/unit/") = '\0';
    (void)snprintf(program, sizeof(program), "%s/bulkhead-cards", own);
    (void)snprintf(libraries, sizeof(libraries), "%s/tests/stub/nvml", own);
    scratch_make(home, "cuda");
    (void)snprintf(path, sizeof(path), "%s/world", home);
    (void)setenv(STUB_ENV, path, 1);
    world = stub_map(path);
    return world == NULL ? -1 : 0;
}

static int
drop(void **state)
{
    (void)state;
    scratch_remove(home);
    return 0;
}

static int
fresh(void **state)
{
    (void)state;
    stub_fill(world, 2);
    return 0;
}

static struct accel
opened(int clean_ms)
{
    struct accel accel = { 0 };
    struct error err = { 0 };

    if (accel_vendor_open(&accel,
                          &(struct accel_vendor_options){
                              .program = program,
                              .source = libraries,
                              .state_dir = home,
                              .deadline_ms = 10000,
                              .clean_ms = clean_ms },
                          &err) != 0)
        fail_msg("%s", err.text);
    return accel;
}

static void
memory_path(int card, char path[200])
{
    (void)snprintf(path, 200, "%s/world.%s", home, card == 0 ? U0 : U1);
}

/* Something of a tenant's at the beginning, in the middle and at the end of
 * what it can reach. */
static void
plant(int card)
{
    struct error err = { 0 };
    char path[200];
    char *bytes = memory_new((size_t)31 * MIB, 1);

    memcpy(bytes, "secret", 6);
    memcpy(bytes + (size_t)15 * MIB + 5, "secret", 6);
    memcpy(bytes + (size_t)31 * MIB - 6, "secret", 6);
    memory_path(card, path);
    if (file_write(path, bytes, (size_t)31 * MIB, 0600, &err) != 0)
        fail_msg("%s", err.text);
    free(bytes);
}

/* Bytes of the card's memory that are not 0. */
static size_t
left_on(int card)
{
    scoped_buffer bytes = { 0 };
    struct error err = { 0 };
    char path[200];
    size_t count = 0;

    memory_path(card, path);
    if (file_read(path, (size_t)33 * MIB, &bytes, &err) != 0)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < bytes.size; i++)
        count += bytes.bytes[i] != 0;
    return count;
}

static void
nothing_is_left_on_the_card_that_is_meant(void **state)
{
    struct accel accel = opened(0);
    struct accel_scrub done = { 0 };
    struct error err = { 0 };

    (void)state;
    plant(0);
    plant(1);
    if (accel_scrub(&accel, U0, &done, &err) != 0)
        fail_msg("%s", err.text);
    /* 32 MiB, but for the one that the driver keeps. */
    assert_int_equal(done.bytes, 31 * MIB);
    assert_string_equal(done.method,
                        "overwritten through CUDA and read back: A5, 00");
    assert_int_equal(left_on(0), 0);
    assert_int_equal(left_on(1), 18);
    /* Nothing of the one that cleaned is left either. */
    assert_int_equal(world->cards[0].cuda.contexts, 0);
    assert_int_equal(world->cards[0].process_count, 0);
    assert_int_equal(accel_scrub(&accel, U1, &done, &err), 0);
    assert_int_equal(left_on(1), 0);
    accel_close(&accel);
}

static void
another_card_under_the_same_number_is_not_touched(void **state)
{
    struct accel accel = opened(0);
    struct accel_scrub done = { 0 };
    struct error err = { 0 };

    (void)state;
    plant(0);
    world->cards[0].cuda.other = 1;
    assert_int_equal(accel_scrub(&accel, U0, &done, &err), -1);
    assert_int_equal(err.code, ERROR_INTERNAL);
    assert_non_null(strstr(err.text, "where " U0 " is meant"));
    assert_int_equal(left_on(0), 18);
    assert_int_equal(accel_scrub(&accel, "GPU-none", &done, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    accel_close(&accel);
}

static void
memory_that_does_not_hold_what_is_written_is_found(void **state)
{
    struct accel accel = opened(0);
    struct accel_scrub done = { 0 };
    struct error err = { 0 };

    (void)state;
    plant(0);
    world->cards[0].cuda.stuck = 1;
    assert_int_equal(accel_scrub(&accel, U0, &done, &err), -1);
    assert_int_equal(err.code, ERROR_VERIFY);
    accel_close(&accel);
}

/* Of 32 MiB no more than 2 may stay out of reach. */
static void
memory_that_cannot_be_reached_is_not_clean(void **state)
{
    struct accel accel = opened(0);
    struct accel_scrub done = { 0 };
    struct error err = { 0 };

    (void)state;
    world->cards[0].cuda.taken_mib = 1;
    assert_int_equal(accel_scrub(&accel, U0, &done, &err), 0);
    world->cards[0].cuda.taken_mib = 2;
    assert_int_equal(accel_scrub(&accel, U0, &done, &err), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    assert_string_equal(
        err.text, "only 29 of 32 MiB of the card's memory are to be had");
    accel_close(&accel);
}

static void
a_write_that_hangs_is_ended(void **state)
{
    struct accel accel = opened(500);
    struct accel_scrub done = { 0 };
    struct error err = { 0 };
    int64_t before_ms = clock_mono_ms();
    struct accel_state health = { .health = ACCEL_UNKNOWN };

    (void)state;
    world->cards[0].cuda.hang = 1;
    assert_int_equal(accel_scrub(&accel, U0, &done, &err), -1);
    assert_int_equal(err.code, ERROR_BUSY);
    assert_string_equal(err.text, U0 ": cuCtxSynchronize did not come back "
                                     "within 500 ms");
    assert_true(clock_mono_ms() - before_ms < 8000);
    /* NVML is asked as before. */
    assert_int_equal(accel_health(&accel, U0, &health, &err), 0);
    assert_int_equal(health.health, ACCEL_HEALTHY);
    accel_close(&accel);
}

static void
a_reset_finds_nothing_of_ours_on_the_card(void **state)
{
    struct accel accel = opened(0);
    struct accel_state health = { .health = ACCEL_UNKNOWN };
    struct error err = { 0 };

    (void)state;
    world->cards[1].used_mib = 60;
    if (accel_reset(&accel, U1, &err) != 0)
        fail_msg("%s", err.text);
    assert_int_equal(world->cards[1].resets, 1);
    assert_int_equal(world->cards[0].resets, 0);
    assert_int_equal(accel_health(&accel, U1, &health, &err), 0);
    assert_int_equal(health.memory_used_mib, 12);
    world->cards[1].cannot_reset = 1;
    assert_int_equal(accel_reset(&accel, U1, &err), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    accel_close(&accel);
}

static void
a_slice_that_is_gone_is_clean(void **state)
{
    struct accel accel = opened(0);
    struct accel_scrub done = { .bytes = 1 };
    struct error err = { 0 };

    (void)state;
    assert_int_equal(accel_cut(&accel, U0, true, &err), 0);
    assert_int_equal(accel_scrub(&accel, U0 "/1g.5gb@0", &done, &err), 0);
    assert_int_equal(done.bytes, 0);
    assert_string_equal(done.method, "the slice is gone");
    accel_close(&accel);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(nothing_is_left_on_the_card_that_is_meant,
                               fresh),
        cmocka_unit_test_setup(
            another_card_under_the_same_number_is_not_touched, fresh),
        cmocka_unit_test_setup(
            memory_that_does_not_hold_what_is_written_is_found, fresh),
        cmocka_unit_test_setup(memory_that_cannot_be_reached_is_not_clean,
                               fresh),
        cmocka_unit_test_setup(a_write_that_hangs_is_ended, fresh),
        cmocka_unit_test_setup(a_reset_finds_nothing_of_ours_on_the_card,
                               fresh),
        cmocka_unit_test_setup(a_slice_that_is_gone_is_clean, fresh),
    };

    return cmocka_run_group_tests(tests, make, drop);
}
