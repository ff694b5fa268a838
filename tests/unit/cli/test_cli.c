/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- options --- */

static void
the_last_of_an_option_holds(void **state)
{
    struct cli cli = { .options = { { "cpu", "1" }, { "cpu", "2" },
                                    { "watch", "" } },
                       .option_count = 3 };

    (void)state;
    assert_string_equal(cli_option(&cli, "cpu"), "2");
    assert_string_equal(cli_option(&cli, "watch"), "");
    assert_null(cli_option(&cli, "cp"));
    assert_true(cli_has(&cli, "watch"));
    assert_false(cli_has(&cli, "wait"));
}

static int
number(const char *text, int64_t *out)
{
    struct cli cli = { .options = { { "n", text } },
                       .option_count = text != NULL };
    struct error err = { 0 };

    return cli_option_int(&cli, "n", -5, 100, 7, out, &err);
}

static void
a_number_is_whole_and_within_its_bounds(void **state)
{
    static const char *const bad[] = { "",    "x",  "5x", "101", "-6",
                                       "1.0", "1 ", "99999999999999999999" };
    int64_t value;

    (void)state;
    assert_int_equal(number(NULL, &value), 0);
    assert_int_equal(value, 7);
    assert_int_equal(number("-5", &value), 0);
    assert_int_equal(value, -5);
    assert_int_equal(number("100", &value), 0);
    assert_int_equal(value, 100);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (number(bad[i], &value) == 0)
            fail_msg("\"%s\" was taken", bad[i]);
}

/* --- secrets --- */

static int
secret_of(const char *bytes, size_t size, char *secret, size_t room)
{
    char path[] = "/tmp/bulkhead-secret-XXXXXX";
    struct cli cli = { .options = { { "password-file", path } },
                       .option_count = 1 };
    struct error err = { 0 };
    int fd = mkstemp(path), result;

    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), size);
    (void)close(fd);
    result = cli_secret(&cli, "password-file", "password", secret, room,
                        &err);
    (void)unlink(path);
    return result;
}

static void
a_secret_is_the_first_line_of_a_file_and_never_cut(void **state)
{
    char secret[9];

    (void)state;
    assert_int_equal(secret_of("abc\r\nd", 6, secret, sizeof(secret)), 0);
    assert_string_equal(secret, "abc");
    assert_int_equal(secret_of("abcdefg\n", 8, secret, sizeof(secret)), 0);
    assert_string_equal(secret, "abcdefg");
    assert_int_equal(secret_of("abcdefghi", 9, secret, sizeof(secret)), -1);
    assert_int_equal(secret_of("", 0, secret, sizeof(secret)), -1);
    assert_int_equal(secret_of("\nabc", 4, secret, sizeof(secret)), -1);
}

/* --- the program --- */

/* Exit code of the words, with standard output and error in text. */
static int
says(char *text, size_t room, const char *const *words)
{
    FILE *file = tmpfile();
    int out = dup(STDOUT_FILENO), errors = dup(STDERR_FILENO), code;
    char *argv[8] = { 0 };
    size_t size;
    int argc = 0;

    for (; words[argc] != NULL; argc++)
        argv[argc] = strdup(words[argc]);
    (void)fflush(stdout);
    (void)dup2(fileno(file), STDOUT_FILENO);
    (void)dup2(fileno(file), STDERR_FILENO);
    code = cli_main(argc, argv);
    (void)fflush(stdout);
    (void)dup2(out, STDOUT_FILENO);
    (void)dup2(errors, STDERR_FILENO);
    (void)close(out);
    (void)close(errors);
    rewind(file);
    size = fread(text, 1, room - 1, file);
    text[size] = '\0';
    (void)fclose(file);
    for (int i = 0; i < argc; i++)
        free(argv[i]);
    return code;
}

#define WORDS(...) ((const char *const[]){ "bulkhead", __VA_ARGS__, NULL })

static void
the_first_words_choose_the_command(void **state)
{
    char text[8192];

    (void)state;
    assert_int_equal(says(text, sizeof(text), WORDS("wait", "--help")), 0);
    assert_non_null(strstr(text, "bulkhead wait WORKLOAD"));
    assert_int_equal(
        says(text, sizeof(text), WORDS("set", "quota", "--help")), 0);
    assert_non_null(strstr(text, "bulkhead set quota DIMENSION"));
    assert_int_equal(says(text, sizeof(text), WORDS("set", "--help")), 0);
    assert_non_null(strstr(text, "bulkhead set NOUN"));
    assert_int_equal(
        says(text, sizeof(text), WORDS("-o", "json", "audit", "-h")), 0);
    assert_non_null(strstr(text, "bulkhead audit verify"));
}

static void
wrong_words_end_with_two_and_a_way_out(void **state)
{
    char text[8192];

    (void)state;
    assert_int_equal(says(text, sizeof(text), WORDS("frobnicate")), 2);
    assert_non_null(strstr(text, "frobnicate"));
    assert_int_equal(says(text, sizeof(text), WORDS("audit")), 2);
    assert_non_null(strstr(text, "tail, search, export"));
    assert_int_equal(says(text, sizeof(text), WORDS("wait")), 2);
    assert_non_null(strstr(text, "bulkhead wait WORKLOAD"));
    assert_int_equal(
        says(text, sizeof(text), WORDS("wait", "w", "--timeout")), 2);
    assert_non_null(strstr(text, "--timeout needs a value"));
    assert_int_equal(
        says(text, sizeof(text), WORDS("logs", "w", "--follow=x")), 2);
    assert_non_null(strstr(text, "takes no value"));
}

static void
what_the_user_typed_is_not_played_back_to_the_terminal(void **state)
{
    char text[8192];

    (void)state;
    assert_int_equal(
        says(text, sizeof(text), WORDS("get", "\033[2J\xc2\x9b" "1m")), 2);
    assert_null(strchr(text, '\033'));
    assert_null(strstr(text, "\xc2\x9b"));
    assert_non_null(strstr(text, "?[2J?1m"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_of_an_option_holds),
        cmocka_unit_test(a_number_is_whole_and_within_its_bounds),
        cmocka_unit_test(a_secret_is_the_first_line_of_a_file_and_never_cut),
        cmocka_unit_test(the_first_words_choose_the_command),
        cmocka_unit_test(wrong_words_end_with_two_and_a_way_out),
        cmocka_unit_test(
            what_the_user_typed_is_not_played_back_to_the_terminal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
