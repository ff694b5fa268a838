/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/digest.h"
#include "base/file.h"
#include "base/sign.h"
static char path[] = "/tmp/test_sign.XXXXXX";

static void
put(const char *text, mode_t mode)
{
    struct error err;

    assert_int_equal(file_write(path, text, strlen(text), mode, &err), 0);
}

/* RFC 8032, section 7.1, tests 1 and 2. */
static const struct {
    const char *seed, *public_key, *message, *signature;
} examples[] = {
    { "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
      "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
      "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
      "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b" },
    { "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
      "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "r",
      "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
      "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00" },
};

static void
signatures_are_those_of_the_rfc(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct sign_key key;
        struct error err = { 0 };
        uint8_t signature[SIGN_SIZE], want[SIGN_SIZE], public_key[32];
        size_t size = strlen(examples[i].message);

        put(examples[i].seed, 0600);
        assert_int_equal(sign_key_open(path, &key, &err), 0);
        assert_int_equal(hex_decode(examples[i].public_key, public_key, 32),
                         0);
        assert_memory_equal(key.public_key, public_key, 32);
        sign_bytes(&key, examples[i].message, size, signature);
        assert_int_equal(hex_decode(examples[i].signature, want, SIGN_SIZE),
                         0);
        assert_memory_equal(signature, want, SIGN_SIZE);
        assert_int_equal(sign_check(public_key, examples[i].message, size,
                                    signature),
                         0);
    }
}

static void
a_signature_holds_for_these_bytes_and_this_key_only(void **state)
{
    char text[] = "release card 3";
    struct sign_key key, other;
    struct error err;
    uint8_t signature[SIGN_SIZE];

    (void)state;
    put(examples[0].seed, 0600);
    assert_int_equal(sign_key_open(path, &key, &err), 0);
    put(examples[1].seed, 0600);
    assert_int_equal(sign_key_open(path, &other, &err), 0);
    sign_bytes(&key, text, sizeof(text), signature);
    assert_int_equal(sign_check(other.public_key, text, sizeof(text),
                                signature),
                     -1);
    assert_int_equal(sign_check(key.public_key, text, sizeof(text) - 1,
                                signature),
                     -1);
    for (size_t i = 0; i < sizeof(text); i++) {
        text[i] ^= 1;
        assert_int_equal(sign_check(key.public_key, text, sizeof(text),
                                    signature),
                         -1);
        text[i] ^= 1;
    }
    for (size_t i = 0; i < SIGN_SIZE; i++) {
        signature[i] ^= 1;
        assert_int_equal(sign_check(key.public_key, text, sizeof(text),
                                    signature),
                         -1);
        signature[i] ^= 1;
    }
}

static void
a_key_is_made_once_and_kept_for_its_owner(void **state)
{
    struct sign_key first, second;
    struct error err = { 0 };
    struct stat status;

    (void)state;
    (void)unlink(path);
    assert_int_equal(sign_key_open(path, &first, &err), 0);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
    assert_int_equal(sign_key_open(path, &second, &err), 0);
    assert_memory_equal(&first, &second, sizeof(first));
    (void)unlink(path);
    assert_int_equal(sign_key_open(path, &second, &err), 0);
    assert_memory_not_equal(&first, &second, sizeof(first));
}

static void
a_key_that_others_may_read_or_that_is_none_is_refused(void **state)
{
    static const mode_t modes[] = { 0640, 0604, 0620, 0602, 0610, 0666 };
    static const char *const texts[] = { "", "00", "9d61b19deffd5a60",
                                         "not hexadecimal at all" };
    struct sign_key key;
    struct error err;

    (void)state;
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        put(examples[0].seed, modes[i]);
        assert_int_equal(sign_key_open(path, &key, &err), -1);
        assert_null(strstr(err.text, "9d61"));
    }
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        put(texts[i], 0600);
        assert_int_equal(sign_key_open(path, &key, &err), -1);
    }
    (void)unlink(path);
    assert_int_equal(symlink("/etc/hostname", path), 0);
    assert_int_equal(sign_key_open(path, &key, &err), -1);
    (void)unlink(path);
}

static void
random_bytes_differ_and_secrets_compare_whole(void **state)
{
    uint8_t a[32] = { 0 }, b[32] = { 0 };

    (void)state;
    assert_int_equal(secret_compare(a, b, 32), 0);
    random_bytes(a, 32);
    random_bytes(b, 32);
    assert_int_not_equal(secret_compare(a, b, 32), 0);
    memcpy(b, a, 32);
    for (size_t i = 0; i < 32; i++) {
        b[i] ^= 0x80;
        assert_int_not_equal(secret_compare(a, b, 32), 0);
        b[i] ^= 0x80;
    }
    assert_int_equal(secret_compare(a, b, 32), 0);
    secret_clear(a, 32);
    memset(b, 0, 32);
    assert_memory_equal(a, b, 32);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signatures_are_those_of_the_rfc),
        cmocka_unit_test(a_signature_holds_for_these_bytes_and_this_key_only),
        cmocka_unit_test(a_key_is_made_once_and_kept_for_its_owner),
        cmocka_unit_test(
            a_key_that_others_may_read_or_that_is_none_is_refused),
        cmocka_unit_test(random_bytes_differ_and_secrets_compare_whole),
    };
    int fd = mkstemp(path);

    if (fd < 0 || close(fd) != 0)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
