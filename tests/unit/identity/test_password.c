/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "identity/password.h"

/* The least that Argon2id takes: these tests are about the rest. */
static const struct password_cost cheap = { .passes = 1,
                                            .memory_bytes = 8192 };
static const char good[] = "correct horse battery";

static void
assert_unfit(const char *password, const char *user, const char *words)
{
    struct error err = { 0 };

    assert_int_equal(password_check(password, user, 0, &err), -1);
    assert_int_equal(err.code, ERROR_INVALID);
    assert_string_equal(err.field, "/password");
    assert_non_null(strstr(err.text, words));
    if (strlen(password) > 3)
        assert_null(strstr(err.text, password));
}

static void
assert_fit(const char *password, const char *user)
{
    struct error err = { 0 };

    assert_int_equal(password_check(password, user, 0, &err), 0);
    assert_int_equal(err.code, ERROR_NONE);
}

static void
a_password_needs_twelve_characters_and_at_most_1024_bytes(void **state)
{
    char text[PASSWORD_SIZE_MAX + 2];

    (void)state;
    assert_unfit("", "eve", "fewer than 12 characters");
    assert_unfit("abcdefghijk", "eve", "fewer than 12 characters");
    assert_fit("abcdefghijkl", "eve");
    /* Twelve bytes, six characters. */
    assert_unfit("\xC3\xA5\xC3\xA4\xC3\xB6\xC3\xA9\xC3\xA8\xC3\xBC", "eve",
                 "fewer than 12 characters");
    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = (char)('a' + i % 26);
    text[PASSWORD_SIZE_MAX + 1] = '\0';
    assert_unfit(text, "eve", "more than 1024 bytes");
    text[PASSWORD_SIZE_MAX] = '\0';
    assert_fit(text, "eve");
}

static void
a_password_is_not_a_few_characters_again_and_again(void **state)
{
    (void)state;
    assert_unfit("aaaaaaaaaaaaaaaa", "eve", "fewer than 5");
    assert_unfit("abcdabcdabcdabcd", "eve", "fewer than 5");
    assert_fit("abcdeabcdeabcde", "eve");
}

static void
a_password_is_not_built_on_the_name(void **state)
{
    (void)state;
    assert_unfit("margareta.lind", "margareta.lind", "user's name");
    assert_unfit("Margareta.Lind", "margareta.lind", "user's name");
    assert_unfit("12margareta.lind34", "margareta.lind", "user's name");
    assert_fit("anything but margareta", "margareta");
    assert_fit(good, "");
}

static void
only_the_right_password_is_right(void **state)
{
    char hash[PASSWORD_HASH_MAX], other[sizeof(good)];
    struct error err = { 0 };

    (void)state;
    assert_int_equal(password_hash(good, &cheap, hash, &err), 0);
    assert_true(password_verify(hash, good, &cheap));
    assert_false(password_verify(hash, "", &cheap));
    assert_false(password_verify(hash, "correct horse batter", &cheap));
    assert_false(password_verify(hash, "correct horse battery ", &cheap));
    for (size_t i = 0; i < sizeof(good) - 1; i++) {
        memcpy(other, good, sizeof(good));
        other[i] ^= 1;
        assert_false(password_verify(hash, other, &cheap));
    }
}

static void
a_hash_is_argon2id_with_its_cost_and_a_salt_of_its_own(void **state)
{
    char one[PASSWORD_HASH_MAX], two[PASSWORD_HASH_MAX];
    const struct password_cost cost = { .passes = 2, .memory_bytes = 16384 };
    struct error err = { 0 };

    (void)state;
    assert_int_equal(password_hash(good, &cost, one, &err), 0);
    assert_int_equal(password_hash(good, &cost, two, &err), 0);
    assert_memory_equal(one, "$argon2id$v=19$m=16,t=2,p=1$", 28);
    assert_string_not_equal(one, two);
    assert_null(strstr(one, good));
}

static void
a_hash_made_at_another_cost_is_stale(void **state)
{
    const struct password_cost dearer = { .passes = 2, .memory_bytes = 8192 };
    char hash[PASSWORD_HASH_MAX];
    struct error err = { 0 };

    (void)state;
    assert_int_equal(password_hash(good, &cheap, hash, &err), 0);
    assert_false(password_is_stale(hash, &cheap));
    assert_true(password_is_stale(hash, &dearer));
    assert_true(password_is_stale("rubbish", &cheap));
    /* It still opens the door, at its own cost. */
    assert_true(password_verify(hash, good, &dearer));
}

static void
memory_that_is_not_to_be_had_is_an_error_without_output(void **state)
{
    const struct password_cost huge = { .passes = 1,
                                        .memory_bytes = UINT64_MAX / 4 };
    char hash[PASSWORD_HASH_MAX] = "untouched";
    struct error err = { 0 };

    (void)state;
    assert_int_equal(password_hash(good, &huge, hash, &err), -1);
    assert_int_equal(err.code, ERROR_BUSY);
    assert_string_equal(hash, "untouched");
}

static void
nobody_has_no_password(void **state)
{
    char text[PASSWORD_SIZE_MAX + 2];

    (void)state;
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    assert_false(password_verify(NULL, good, &cheap));
    assert_false(password_verify(NULL, "", &cheap));
    assert_false(password_verify(NULL, text, &cheap));
    assert_false(password_verify(NULL, "no password hashes to this text!",
                                 &cheap));
    assert_false(password_verify("", good, &cheap));
    assert_false(password_verify("$argon2id$v=19$m=8,t=1,p=1$x$y", good,
                                 &cheap));
}

static int64_t
cpu_us(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static int64_t
least_us(const char *hash, const char *password,
         const struct password_cost *cost)
{
    int64_t least = INT64_MAX;

    for (int i = 0; i < 7; i++) {
        int64_t start = cpu_us(), took;

        (void)password_verify(hash, password, cost);
        took = cpu_us() - start;
        least = took < least ? took : least;
    }
    return least;
}

/* [A40] The work for a user who does not exist is that for one who does. */
static void
an_unknown_user_costs_the_same_work_as_a_wrong_password(void **state)
{
    const struct password_cost cost = { .passes = 2,
                                        .memory_bytes = 4 * 1024 * 1024 };
    char hash[PASSWORD_HASH_MAX], text[PASSWORD_SIZE_MAX + 2];
    struct error err = { 0 };
    int64_t known, unknown, long_one;

    (void)state;
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    assert_int_equal(password_hash(good, &cost, hash, &err), 0);
    known = least_us(hash, "a wrong password", &cost);
    unknown = least_us(NULL, "a wrong password", &cost);
    long_one = least_us(hash, text, &cost);
    assert_true(known > 1000);
    assert_true(unknown > known * 2 / 3 && unknown < known * 3 / 2);
    assert_true(long_one > known * 2 / 3 && long_one < known * 3 / 2);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            a_password_needs_twelve_characters_and_at_most_1024_bytes),
        cmocka_unit_test(a_password_is_not_a_few_characters_again_and_again),
        cmocka_unit_test(a_password_is_not_built_on_the_name),
        cmocka_unit_test(only_the_right_password_is_right),
        cmocka_unit_test(
            a_hash_is_argon2id_with_its_cost_and_a_salt_of_its_own),
        cmocka_unit_test(a_hash_made_at_another_cost_is_stale),
        cmocka_unit_test(
            memory_that_is_not_to_be_had_is_an_error_without_output),
        cmocka_unit_test(nobody_has_no_password),
        cmocka_unit_test(
            an_unknown_user_costs_the_same_work_as_a_wrong_password),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
