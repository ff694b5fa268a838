/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/runner_message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/json.h"

static void
pair(int fds[2])
{
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
}

static void
a_message_arrives_as_it_was_sent(void **state)
{
    scoped_json sent = json_pack("{s:s, s:i}", "op", "node", "n", 7);
    scoped_buffer got = { 0 };
    struct error err = { 0 };
    int fds[2];

    (void)state;
    pair(fds);
    assert_int_equal(runner_message_send(fds[0], sent, 1000, &err), 0);
    assert_int_equal(runner_message_receive(fds[1], 1000, &got, &err), 1);
    assert_string_equal(got.bytes, "{\"n\":7,\"op\":\"node\"}");
    (void)close(fds[0]);
    assert_int_equal(runner_message_receive(fds[1], 1000, &got, &err), 0);
    (void)close(fds[1]);
}

static void
lengths_that_lie_or_are_too_large_are_refused(void **state)
{
    static const struct {
        const char *bytes;
        size_t size;
        enum error_code code;
    } cases[] = {
        { "\xFF\xFF\xFF\xFF", 4, ERROR_TOO_LARGE },
        { "\0\0\0\0", 4, ERROR_TOO_LARGE },
        { "\0\0\0\x65", 4, ERROR_TOO_LARGE },
        { "\0\0", 2, ERROR_BUSY },
        { "\0\0\0\4{}", 6, ERROR_BUSY },
        { "\0\0\0\4", 4, ERROR_BUSY },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        scoped_buffer got = { 0 };
        struct error err = { 0 };
        int fds[2];

        pair(fds);
        assert_int_equal(write(fds[0], cases[i].bytes, cases[i].size),
                         cases[i].size);
        (void)close(fds[0]);
        assert_int_equal(runner_message_receive(fds[1], 100, &got, &err), -1);
        assert_int_equal(err.code, cases[i].code);
        assert_int_equal(got.size, 0);
        (void)close(fds[1]);
    }
}

static void
an_answer_above_its_size_is_not_sent(void **state)
{
    scoped_json message = json_pack("{s:s}", "text", "0123456789");
    struct error err = { 0 };
    int fds[2];
    char byte;

    (void)state;
    pair(fds);
    assert_int_equal(runner_message_send(fds[0], message, 10, &err), -1);
    assert_int_equal(err.code, ERROR_TOO_LARGE);
    assert_int_equal(recv(fds[1], &byte, 1, MSG_DONTWAIT), -1);
    (void)close(fds[0]);
    (void)close(fds[1]);
}

static void
a_failure_answer_becomes_the_callers_error(void **state)
{
    struct error said = { .code = ERROR_CONFLICT,
                          .text = "card X is in use",
                          .field = "/cards",
                          .help = "wait" };
    scoped_json answer = runner_message_failure(&said);
    json_t *result = NULL;
    struct error err = { 0 };
    int fds[2];

    (void)state;
    pair(fds);
    assert_int_equal(runner_message_send(fds[1], answer, 1000, &err), 0);
    assert_int_equal(runner_message_call(fds[0], json_pack("{s:s}", "op", "x"),
                                         1000, &result, &err),
                     -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    assert_string_equal(err.text, said.text);
    assert_string_equal(err.field, said.field);
    assert_string_equal(err.help, said.help);
    assert_null(result);
    (void)close(fds[0]);
    (void)close(fds[1]);
}

static void
an_answer_that_does_not_come_in_time_is_busy(void **state)
{
    json_t *result = NULL;
    struct error err = { 0 };
    int fds[2];

    (void)state;
    pair(fds);
    assert_int_equal(runner_message_call(fds[0], json_pack("{s:s}", "op", "x"),
                                         20, &result, &err),
                     -1);
    assert_int_equal(err.code, ERROR_BUSY);
    (void)close(fds[0]);
    (void)close(fds[1]);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_arrives_as_it_was_sent),
        cmocka_unit_test(lengths_that_lie_or_are_too_large_are_refused),
        cmocka_unit_test(an_answer_above_its_size_is_not_sent),
        cmocka_unit_test(a_failure_answer_becomes_the_callers_error),
        cmocka_unit_test(an_answer_that_does_not_come_in_time_is_busy),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
