/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
static void
assert_time(const char *text, int64_t want_ms)
{
    int64_t wall_ms = -7;

    assert_int_equal(clock_parse(text, &wall_ms), 0);
    assert_true(wall_ms == want_ms);
}

static void
assert_no_time(const char *text)
{
    int64_t wall_ms = -7;

    assert_int_equal(clock_parse(text, &wall_ms), -1);
    assert_true(wall_ms == -7);
}

static void
known_instants_are_read(void **state)
{
    (void)state;
    assert_time("1970-01-01T00:00:00Z", 0);
    assert_time("1970-01-01T00:00:00.001Z", 1);
    assert_time("2026-11-30T10:15:30.123Z", 1796033730123);
    assert_time("2024-02-29T23:59:59Z", 1709251199000);
    assert_time("2000-02-29T00:00:00Z", 951782400000);
    assert_time("2038-01-19T03:14:08Z", 2147483648000);
    assert_time("9999-12-31T23:59:59.999Z", 253402300799999);
}

static void
offsets_lead_to_utc(void **state)
{
    (void)state;
    assert_time("1970-01-01T01:00:00+01:00", 0);
    assert_time("1969-12-31T23:30:00-00:30", 0);
    assert_time("2026-11-30T15:45:30.123+05:30", 1796033730123);
    assert_time("2026-11-30T00:15:30.123-10:00", 1796033730123);
}

static void
fractions_are_cut_at_milliseconds(void **state)
{
    (void)state;
    assert_time("1970-01-01T00:00:00.5Z", 500);
    assert_time("1970-01-01T00:00:00.05Z", 50);
    assert_time("1970-01-01T00:00:00.1239999999999999999999Z", 123);
    assert_no_time("1970-01-01T00:00:00.Z");
}

static void
what_is_no_instant_is_refused(void **state)
{
    static const char *const wrong[] = {
        "",
        "now",
        "2026-11-30",
        "2026-11-30T10:15:30",
        "2026-11-30 10:15:30Z",
        "2026-11-30T10:15Z",
        "2026-11-30T10:15:30ZZ",
        "2026-11-30T10:15:30Z ",
        " 2026-11-30T10:15:30Z",
        "2026-11-30T10:15:30+0100",
        "2026-11-30T10:15:30+01",
        "2026-11-30T10:15:30+24:00",
        "2026-11-30T10:15:30+01:60",
        "2026-1-30T10:15:30Z",
        "+026-11-30T10:15:30Z",
        "12026-11-30T10:15:30Z",
        "2026-00-10T00:00:00Z",
        "2026-13-10T00:00:00Z",
        "2026-04-31T00:00:00Z",
        "2026-04-00T00:00:00Z",
        "2026-02-29T00:00:00Z",
        "2100-02-29T00:00:00Z",
        "2026-04-30T24:00:00Z",
        "2026-04-30T23:60:00Z",
        "2026-04-30T23:59:60Z",
        "2026-04-30T23:59:61Z",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_no_time(wrong[i]);
}

static void
only_the_years_1970_to_9999_count(void **state)
{
    (void)state;
    assert_no_time("1969-12-31T23:59:59Z");
    assert_no_time("1970-01-01T00:00:00+00:01");
    assert_no_time("9999-12-31T23:59:59-00:01");
    assert_no_time("0000-01-01T00:00:00Z");
    assert_time("9999-12-31T23:59:59+23:59", 253402214459000);
}

static void
what_is_formatted_is_read_back(void **state)
{
    char text[CLOCK_TEXT_MAX];

    (void)state;
    clock_format(1796033730123, text);
    assert_string_equal(text, "2026-11-30T10:15:30.123Z");
    clock_format(1796033730007, text);
    assert_string_equal(text, "2026-11-30T10:15:30.007Z");
    for (int64_t ms = 0; ms < 253402300800000; ms += 2534023007999) {
        clock_format(ms, text);
        assert_time(text, ms);
    }
}

static void
every_day_of_the_calendar_is_as_the_c_library_has_it(void **state)
{
    const int64_t day_ms = 86400000;

    (void)state;
    for (int64_t day = 0; day < 2932897; day++) { /* up to 9999-12-31 */
        time_t seconds = (time_t)(day * 86400 + day % 86400);
        struct tm parts;
        char text[CLOCK_TEXT_MAX], expected[CLOCK_TEXT_MAX];

        (void)gmtime_r(&seconds, &parts);
        (void)strftime(expected, sizeof(expected), "%Y-%m-%dT%H:%M:%S.000Z",
                       &parts);
        clock_format(day * day_ms + day % 86400 * 1000, text);
        assert_string_equal(text, expected);
    }
}

static void
time_since_boot_does_not_go_back(void **state)
{
    int64_t last = clock_mono_us();

    (void)state;
    for (int i = 0; i < 1000; i++) {
        int64_t now = clock_mono_us();

        assert_true(now >= last);
        last = now;
    }
    assert_true(clock_mono_ms() >= last / 1000);
    assert_int_equal(strlen(clock_boot_id()), 36);
}

static void
set_offset(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* The first call of the process has read the environment already. */
static void
a_file_moves_the_wall_clock_and_nothing_else(void **state)
{
    const char *path = getenv("BULKHEAD_CLOCK_FILE");
    int64_t before, mono = clock_mono_ms();

    (void)state;
    before = clock_wall_ms();
    assert_true(before - (int64_t)time(NULL) * 1000 < 5000);
    set_offset(path, "86400000\n");
    assert_true(clock_wall_ms() - before >= 86400000);
    assert_true(clock_wall_ms() - before < 86405000);
    assert_true(clock_mono_ms() - mono < 5000);
    set_offset(path, "-3600000");
    assert_true(clock_wall_ms() - before < -3595000);
    assert_int_equal(unlink(path), 0);
    assert_true(clock_wall_ms() - before >= 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_instants_are_read),
        cmocka_unit_test(offsets_lead_to_utc),
        cmocka_unit_test(fractions_are_cut_at_milliseconds),
        cmocka_unit_test(what_is_no_instant_is_refused),
        cmocka_unit_test(only_the_years_1970_to_9999_count),
        cmocka_unit_test(what_is_formatted_is_read_back),
        cmocka_unit_test(every_day_of_the_calendar_is_as_the_c_library_has_it),
        cmocka_unit_test(time_since_boot_does_not_go_back),
        cmocka_unit_test(a_file_moves_the_wall_clock_and_nothing_else),
    };
    char path[] = "/tmp/test_clock.XXXXXX";
    int fd = mkstemp(path);

    if (fd < 0 || close(fd) != 0 ||
        setenv("BULKHEAD_CLOCK_FILE", path, 1) != 0)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
