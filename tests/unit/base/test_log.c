/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/log.h"

static int pipe_ends[2], kept_stderr;

static int
catch_stderr(void **state)
{
    (void)state;
    kept_stderr = dup(STDERR_FILENO);
    return pipe2(pipe_ends, O_NONBLOCK | O_CLOEXEC) != 0 ||
           dup2(pipe_ends[1], STDERR_FILENO) < 0;
}

static int
release_stderr(void **state)
{
    (void)state;
    (void)dup2(kept_stderr, STDERR_FILENO);
    (void)close(kept_stderr);
    (void)close(pipe_ends[0]);
    (void)close(pipe_ends[1]);
    return 0;
}

/* What was written, as text without the line's end; "" when nothing. */
static const char *
caught(void)
{
    static char text[8192];
    ssize_t size = read(pipe_ends[0], text, sizeof(text) - 1);

    text[size > 0 ? size : 0] = '\0';
    if (size > 0) {
        assert_int_equal(text[size - 1], '\n');
        text[size - 1] = '\0';
    }
    return text;
}

static void
a_line_is_one_object_with_its_members(void **state)
{
    const char *line;
    struct error err;
    scoped_json object = NULL;

    (void)state;
    log_open("tester", LOG_INFO);
    log_write(LOG_WARN, "req_1", "card %d", 7);
    line = caught();
    assert_null(strchr(line, '\n'));
    object = json_read(line, strlen(line), &err);
    assert_non_null(object);
    assert_string_equal(json_string_value(json_object_get(object, "level")),
                        "warn");
    assert_string_equal(json_string_value(json_object_get(object, "program")),
                        "tester");
    assert_string_equal(json_string_value(json_object_get(object, "request")),
                        "req_1");
    assert_string_equal(json_string_value(json_object_get(object, "text")),
                        "card 7");
    assert_int_equal(strlen(json_string_value(json_object_get(object,
                                                              "time"))),
                     24);
}

static void
text_cannot_make_a_second_line_or_member(void **state)
{
    const char *line;
    struct error err;
    scoped_json object = NULL;

    (void)state;
    log_open("tester", LOG_INFO);
    log_info("a\n{\"level\":\"error\"}\",\"x\":\"%c\xFF", 27);
    line = caught();
    assert_null(strchr(line, '\n'));
    assert_null(strchr(line, 27));
    object = json_read(line, strlen(line), &err);
    assert_non_null(object);
    assert_int_equal(json_object_size(object), 4);
}

static void
lines_below_the_least_level_are_not_written(void **state)
{
    (void)state;
    log_open("tester", LOG_WARN);
    log_debug("no");
    log_info("no");
    assert_string_equal(caught(), "");
    log_warn("yes");
    assert_true(strlen(caught()) > 0);
    log_error("yes");
    assert_true(strlen(caught()) > 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_line_is_one_object_with_its_members,
                                        catch_stderr, release_stderr),
        cmocka_unit_test_setup_teardown(
            text_cannot_make_a_second_line_or_member, catch_stderr,
            release_stderr),
        cmocka_unit_test_setup_teardown(
            lines_below_the_least_level_are_not_written, catch_stderr,
            release_stderr),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
