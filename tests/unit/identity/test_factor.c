/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

#include "base/sign.h"
#include "identity/factor.h"

/* RFC 6238, appendix B: SHA-1, the last six of the eight digits. */
static const struct factor_seed rfc = { "12345678901234567890" };
static const struct {
    int64_t time_s;
    const char *code;
} vectors[] = {
    { 59, "287082" },         { 1111111109, "081804" },
    { 1111111111, "050471" }, { 1234567890, "005924" },
    { 2000000000, "279037" }, { INT64_C(20000000000), "353130" },
};

static void
codes_are_those_of_the_standard(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        char code[FACTOR_DIGITS + 1];
        int64_t step = 0;

        factor_code(&rfc, vectors[i].time_s * 1000, code);
        assert_string_equal(code, vectors[i].code);
        assert_true(factor_match(&rfc, code, vectors[i].time_s * 1000,
                                 &step));
        assert_int_equal(step, vectors[i].time_s / 30);
    }
}

static void
a_code_counts_one_step_early_and_late_and_no_more(void **state)
{
    const int64_t now_ms = INT64_C(59000); /* in step 1 */
    int64_t step = -1;

    (void)state;
    assert_true(factor_match(&rfc, "287082", now_ms - 30000, &step));
    assert_int_equal(step, 1);
    assert_true(factor_match(&rfc, "287082", now_ms + 30000, &step));
    assert_int_equal(step, 1);
    assert_false(factor_match(&rfc, "287082", now_ms + 60000, &step));
    assert_true(factor_match(&rfc, "287082", 89999, &step));
    assert_false(factor_match(&rfc, "287082", 90000, &step));
}

static void
only_six_digits_are_a_code(void **state)
{
    int64_t step = -1;

    (void)state;
    assert_false(factor_match(&rfc, "", 59000, &step));
    assert_false(factor_match(&rfc, "28708", 59000, &step));
    assert_false(factor_match(&rfc, "2870820", 59000, &step));
    assert_false(factor_match(&rfc, "94287082", 59000, &step));
    assert_false(factor_match(&rfc, "287083", 59000, &step));
    assert_int_equal(step, -1);
}

static void
a_seed_is_told_as_devices_read_it(void **state)
{
    char uri[FACTOR_URI_MAX];

    (void)state;
    factor_uri(&rfc, "acme/anna", uri);
    assert_string_equal(uri, "otpauth://totp/Bulkhead:acme/anna?secret="
                             "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer="
                             "Bulkhead&algorithm=SHA1&digits=6&period=30");
}

static void
a_sealed_seed_opens_for_its_user_and_key_alone(void **state)
{
    struct seal_key key = { { 1 } }, other = { { 2 } };
    struct factor_seed seed, back;
    char sealed[FACTOR_SEALED_MAX];
    struct error err;

    (void)state;
    factor_make(&seed);
    factor_seal(&key, "factor us_a", &seed, sealed);
    assert_null(memmem(sealed, strlen(sealed), seed.bytes,
                       sizeof(seed.bytes)));
    assert_int_equal(factor_open(&key, "factor us_a", sealed, &back, &err),
                     0);
    assert_memory_equal(&back, &seed, sizeof(seed));
    assert_int_equal(factor_open(&key, "factor us_b", sealed, &back, &err),
                     -1);
    assert_int_equal(factor_open(&other, "factor us_a", sealed, &back, &err),
                     -1);
    sealed[5] = sealed[5] == 'A' ? 'B' : 'A';
    assert_int_equal(factor_open(&key, "factor us_a", sealed, &back, &err),
                     -1);
}

static void
recovery_codes_differ_and_are_read_as_people_write_them(void **state)
{
    char codes[FACTOR_CODES][FACTOR_CODE_MAX];
    uint8_t digests[FACTOR_CODES][FACTOR_CODE_DIGEST];
    uint8_t digest[FACTOR_CODE_DIGEST];
    char typed[32];

    (void)state;
    factor_make_codes(codes, digests);
    for (size_t i = 0; i < FACTOR_CODES; i++) {
        assert_int_equal(strlen(codes[i]), 19);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(codes[i], codes[k]);
        assert_true(factor_code_digest(codes[i], digest));
        assert_memory_equal(digest, digests[i], sizeof(digest));
    }
    (void)snprintf(typed, sizeof(typed), " %.4s%.14s", codes[3],
                   codes[3] + 5);
    for (size_t i = 0; typed[i] != '\0'; i++)
        if (typed[i] >= 'a' && typed[i] <= 'z')
            typed[i] = (char)(typed[i] - 'a' + 'A');
    assert_true(factor_code_digest(typed, digest));
    assert_memory_equal(digest, digests[3], sizeof(digest));
    assert_false(factor_code_digest("", digest));
    assert_false(factor_code_digest("abcd-efgh-abcd-efg", digest));
    assert_false(factor_code_digest("abcd-efgh-abcd-efg1", digest));
    assert_false(factor_code_digest("abcd-efgh-abcd-efgh-a", digest));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codes_are_those_of_the_standard),
        cmocka_unit_test(a_code_counts_one_step_early_and_late_and_no_more),
        cmocka_unit_test(only_six_digits_are_a_code),
        cmocka_unit_test(a_seed_is_told_as_devices_read_it),
        cmocka_unit_test(a_sealed_seed_opens_for_its_user_and_key_alone),
        cmocka_unit_test(
            recovery_codes_differ_and_are_read_as_people_write_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
