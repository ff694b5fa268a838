/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/digest.h"
/* FIPS 180 examples. */
static void
digests_are_sha_256(void **state)
{
    static const struct {
        const char *bytes, *text;
    } examples[] = {
        { "", "e3b0c44298fc1c149afbf4c8996fb924"
              "27ae41e4649b934ca495991b7852b855" },
        { "abc", "ba7816bf8f01cfea414140de5dae2223"
                 "b00361a396177a9cb410ff61f20015ad" },
        { "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
          "248d6a61d20638b8e5c026930c3e6039"
          "a33ce45964ff2167f6ecedd419db06c1" },
    };

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        size_t size = strlen(examples[i].bytes);
        char text[DIGEST_TEXT_MAX];
        struct digest digest, back;

        digest_of(examples[i].bytes, size, &digest);
        digest_format(&digest, text);
        assert_string_equal(text, examples[i].text);
        assert_int_equal(digest_parse(text, &back), 0);
        assert_int_equal(digest_compare(&digest, &back), 0);
        for (size_t cut = 0; cut <= size; cut++) {
            digest_of_two(examples[i].bytes, cut, examples[i].bytes + cut,
                          size - cut, &back);
            assert_int_equal(digest_compare(&digest, &back), 0);
        }
    }
    assert_int_equal(digest_parse("ba78", &(struct digest){ 0 }), -1);
}

static void
hexadecimal_is_lower_case_and_of_exact_length(void **state)
{
    const uint8_t bytes[] = { 0x00, 0x0f, 0xa5, 0xff };
    uint8_t back[4] = { 9, 9, 9, 9 };
    char text[9];

    (void)state;
    hex_encode(bytes, 4, text);
    assert_string_equal(text, "000fa5ff");
    assert_int_equal(hex_decode(text, back, 4), 0);
    assert_memory_equal(back, bytes, 4);
    assert_int_equal(hex_decode("", back, 0), 0);
    assert_int_equal(hex_decode("", back, 4), -1);
    assert_int_equal(hex_decode("000fa5f", back, 4), -1);
    assert_int_equal(hex_decode("000fa5ff0", back, 4), -1);
    assert_int_equal(hex_decode("000fa5ff00", back, 4), -1);
    assert_int_equal(hex_decode("000FA5FF", back, 4), -1);
    assert_int_equal(hex_decode("000fa5fg", back, 4), -1);
    assert_int_equal(hex_decode("0x0fa5ff", back, 4), -1);
    assert_int_equal(hex_decode(" 00fa5ff", back, 4), -1);
}

/* RFC 4648, section 10. */
static const struct {
    const char *bytes, *text;
} base64[] = {
    { "", "" },           { "f", "Zg==" },         { "fo", "Zm8=" },
    { "foo", "Zm9v" },    { "foob", "Zm9vYg==" },  { "fooba", "Zm9vYmE=" },
    { "foobar", "Zm9vYmFy" },
};

static void
base64_agrees_with_the_rfc(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(base64) / sizeof(base64[0]); i++) {
        scoped_buffer text = { 0 };
        char bytes[8] = { 0 };

        base64_encode(&text, base64[i].bytes, strlen(base64[i].bytes));
        assert_string_equal(buffer_text(&text), base64[i].text);
        assert_int_equal(base64_decode(buffer_text(&text), text.size, bytes,
                                       sizeof(bytes)),
                         strlen(base64[i].bytes));
        assert_string_equal(bytes, base64[i].bytes);
    }
}

static void
every_byte_survives_base64_at_every_length(void **state)
{
    uint8_t bytes[256], back[256];

    (void)state;
    for (unsigned i = 0; i < 256; i++)
        bytes[i] = (uint8_t)(255 - i);
    for (size_t size = 0; size <= 256; size++) {
        scoped_buffer text = { 0 };

        base64_encode(&text, bytes, size);
        assert_int_equal(text.size, (size + 2) / 3 * 4);
        assert_int_equal(base64_decode(buffer_text(&text), text.size, back,
                                       size),
                         size);
        assert_memory_equal(back, bytes, size);
        if (size > 0)
            assert_int_equal(base64_decode(text.bytes, text.size, back,
                                           size - 1),
                             -1);
    }
}

static void
base64_has_one_spelling(void **state)
{
    static const char *const wrong[] = {
        "Z",    "Zg",    "Zg=",     "Zg===",   "=",        "====",
        "Z===", "=Zg=",  "Z=g=",    "Zh==",    "Zm9=",     "Zg==Zg==",
        "Zm8=Zm8=", "Zm9v\n", "Zm 9", "Zm9-",  "Zm9_",     "Zm9v====",
        "Zg=A", "Zm9\xC3",
    };
    char bytes[16];

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_int_equal(base64_decode(wrong[i], strlen(wrong[i]), bytes,
                                       sizeof(bytes)),
                         -1);
    assert_int_equal(base64_decode("Zg\0=", 4, bytes, sizeof(bytes)), -1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digests_are_sha_256),
        cmocka_unit_test(hexadecimal_is_lower_case_and_of_exact_length),
        cmocka_unit_test(base64_agrees_with_the_rfc),
        cmocka_unit_test(every_byte_survives_base64_at_every_length),
        cmocka_unit_test(base64_has_one_spelling),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
