/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/logfile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"

static char path[] = "/tmp/bulkhead-logfile.XXXXXX";

static void
fill(const char *text)
{
    struct error err = { 0 };

    assert_int_equal(file_write(path, text, strlen(text), 0600, &err), 0);
}

static int
make(void **state)
{
    int fd = mkstemp(path);

    (void)state;
    return fd < 0 || close(fd) != 0;
}

static int
drop(void **state)
{
    (void)state;
    return unlink(path);
}

static void
lines_come_back_as_they_were_written(void **state)
{
    scoped_buffer out = { 0 };
    struct error err = { 0 };
    int64_t next = -1;
    bool end = false;

    (void)state;
    fill("T1 stdout F one two\nT2 stderr P par\nT3 stderr F tial\n"
         "T4 stdout F \nT5 stdout P rest\n");
    assert_int_equal(logfile_read(path, 0, 1000, &out, &next, &end, &err), 0);
    assert_string_equal(out.bytes, "one two\npartial\n\nrest");
    assert_true(end);
    assert_int_equal(next, logfile_size(path));
}

static void
reading_in_pieces_gives_the_same_text(void **state)
{
    scoped_buffer out = { 0 };
    struct error err = { 0 };
    int64_t at = 0;
    bool end = false;
    int rounds = 0;

    (void)state;
    fill("T stdout F aaaa\nT stdout F bbbb\nT stdout F cccc\n");
    while (!end && rounds++ < 10)
        assert_int_equal(logfile_read(path, at, 5, &out, &at, &end, &err), 0);
    assert_string_equal(out.bytes, "aaaa\nbbbb\ncccc\n");
    assert_int_equal(rounds, 3);
}

static void
a_line_that_is_being_written_is_left_for_later(void **state)
{
    scoped_buffer out = { 0 };
    struct error err = { 0 };
    int64_t next = -1;
    bool end = true;

    (void)state;
    fill("T stdout F whole\nT stdout F ha");
    assert_int_equal(logfile_read(path, 0, 1000, &out, &next, &end, &err), 0);
    assert_string_equal(out.bytes, "whole\n");
    assert_int_equal(next, 17);
    assert_false(end);
}

static void
an_offset_inside_a_line_or_behind_the_end_is_refused(void **state)
{
    scoped_buffer out = { 0 };
    int64_t next = -1;
    bool end = false;

    (void)state;
    fill("T stdout F whole\n");
    for (int64_t at = 1; at < 40; at++) {
        struct error err = { 0 };

        if (at == 17)
            continue;
        assert_int_equal(logfile_read(path, at, 10, &out, &next, &end, &err),
                         -1);
        assert_int_equal(err.code, ERROR_INVALID);
    }
}

static void
a_log_that_is_not_there_is_empty(void **state)
{
    scoped_buffer out = { 0 };
    struct error err = { 0 };
    int64_t next = -1;
    bool end = false;

    (void)state;
    assert_int_equal(
        logfile_read("/nonexistent/log", 0, 10, &out, &next, &end, &err), 0);
    assert_int_equal(next, 0);
    assert_true(end);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_come_back_as_they_were_written),
        cmocka_unit_test(reading_in_pieces_gives_the_same_text),
        cmocka_unit_test(a_line_that_is_being_written_is_left_for_later),
        cmocka_unit_test(an_offset_inside_a_line_or_behind_the_end_is_refused),
        cmocka_unit_test(a_log_that_is_not_there_is_empty),
    };

    return cmocka_run_group_tests(tests, make, drop);
}
