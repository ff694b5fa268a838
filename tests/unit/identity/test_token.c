/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/sign.h"
#include "identity/token.h"

static const char refusal[] = "the token is not valid";

static void
assert_refused(const char *text)
{
    enum token_type type = TOKEN_TYPE_COUNT;
    struct error err = { 0 };

    assert_int_equal(token_parse(text, &type, &err), -1);
    assert_int_equal(err.code, ERROR_UNAUTHENTICATED);
    assert_string_equal(err.text, refusal);
    assert_int_equal(type, TOKEN_TYPE_COUNT);
}

/* The texts were made with `printf ... | sha256sum` and `base32`. */
static void
a_token_is_prefix_type_bits_and_checksum(void **state)
{
    uint8_t bits[TOKEN_RANDOM_SIZE];
    char text[TOKEN_TEXT_MAX];

    (void)state;
    for (unsigned i = 0; i < sizeof(bits); i++)
        bits[i] = (uint8_t)i;
    token_format(TOKEN_KEY, bits, text);
    assert_string_equal(text,
                        "bh_key_aaaqeayeaudaocajbifqydiob4ibceqtqmlygd47");
    token_format(TOKEN_SESSION, bits, text);
    assert_string_equal(text,
                        "bh_ses_aaaqeayeaudaocajbifqydiob4ibceqtc5axeiza");
}

static void
each_type_is_read_back(void **state)
{
    char text[TOKEN_TEXT_MAX];

    (void)state;
    for (unsigned i = 0; i < TOKEN_TYPE_COUNT; i++) {
        enum token_type type = TOKEN_TYPE_COUNT;
        struct error err = { 0 };

        token_make((enum token_type)i, text);
        assert_int_equal(strlen(text), TOKEN_SIZE);
        assert_int_equal(token_parse(text, &type, &err), 0);
        assert_int_equal(type, i);
        assert_int_equal(err.code, ERROR_NONE);
    }
}

/* [A34] */
static void
every_truncation_and_extension_is_refused(void **state)
{
    char text[TOKEN_TEXT_MAX], other[2 * TOKEN_TEXT_MAX];

    (void)state;
    token_make(TOKEN_KEY, text);
    for (size_t size = 0; size < TOKEN_SIZE; size++) {
        memcpy(other, text, TOKEN_TEXT_MAX);
        other[size] = '\0';
        assert_refused(other);
    }
    for (int c = 1; c < 256; c++) {
        (void)snprintf(other, sizeof(other), "%s%c", text, c);
        assert_refused(other);
        (void)snprintf(other, sizeof(other), "%c%s", c, text);
        assert_refused(other);
    }
    (void)snprintf(other, sizeof(other), "%s%s", text, text);
    assert_refused(other);
}

/* [A34] */
static void
every_change_of_one_character_is_refused(void **state)
{
    char text[TOKEN_TEXT_MAX];
    enum token_type type;
    struct error err;

    (void)state;
    token_make(TOKEN_KEY, text);
    for (size_t i = 0; i < TOKEN_SIZE; i++) {
        char kept = text[i];

        for (int c = 1; c < 256; c++) {
            if ((char)c == kept)
                continue;
            text[i] = (char)c;
            assert_refused(text);
        }
        text[i] = kept;
    }
    assert_int_equal(token_parse(text, &type, &err), 0);
}

static void
exchanged_neighbours_and_inserted_characters_are_refused(void **state)
{
    char text[TOKEN_TEXT_MAX], other[TOKEN_TEXT_MAX + 1];

    (void)state;
    token_make(TOKEN_ENROL, text);
    for (size_t i = 0; i + 1 < TOKEN_SIZE; i++) {
        memcpy(other, text, TOKEN_TEXT_MAX);
        other[i] = text[i + 1];
        other[i + 1] = text[i];
        if (text[i] != text[i + 1])
            assert_refused(other);
        memcpy(other, text, i);
        other[i] = 'a';
        memcpy(other + i + 1, text + i, TOKEN_TEXT_MAX - i);
        assert_refused(other);
    }
}

/* The type is under the checksum: a join token is not a key in disguise. */
static void
a_token_of_one_type_does_not_pass_as_another(void **state)
{
    char text[TOKEN_TEXT_MAX];

    (void)state;
    token_make(TOKEN_ENROL, text);
    memcpy(text + 3, "key", 3);
    assert_refused(text);
    memcpy(text + 3, "abc", 3);
    assert_refused(text);
}

static void
tokens_do_not_repeat(void **state)
{
    char texts[64][TOKEN_TEXT_MAX];

    (void)state;
    for (size_t i = 0; i < 64; i++) {
        token_make(TOKEN_KEY, texts[i]);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(texts[i] + 7, texts[j] + 7);
    }
}

static void
the_digest_is_sha_256_of_the_whole_text(void **state)
{
    char text[TOKEN_TEXT_MAX];
    struct digest given, want;

    (void)state;
    token_make(TOKEN_KEY, text);
    token_digest(text, &given);
    digest_of(text, TOKEN_SIZE, &want);
    assert_memory_equal(given.bytes, want.bytes, DIGEST_SIZE);
    assert_true(token_matches(&want, &given));
    for (size_t i = 0; i < DIGEST_SIZE; i++) {
        given.bytes[i] ^= 1;
        assert_false(token_matches(&want, &given));
        given.bytes[i] ^= 1;
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_token_is_prefix_type_bits_and_checksum),
        cmocka_unit_test(each_type_is_read_back),
        cmocka_unit_test(every_truncation_and_extension_is_refused),
        cmocka_unit_test(every_change_of_one_character_is_refused),
        cmocka_unit_test(
            exchanged_neighbours_and_inserted_characters_are_refused),
        cmocka_unit_test(a_token_of_one_type_does_not_pass_as_another),
        cmocka_unit_test(tokens_do_not_repeat),
        cmocka_unit_test(the_digest_is_sha_256_of_the_whole_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
