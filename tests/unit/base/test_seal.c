/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/seal.h"

static const struct seal_key key = { { 1, 2, 3 } };
static const struct seal_key other = { { 1, 2, 4 } };

static void
what_was_sealed_opens_with_the_key_and_the_label(void **state)
{
    scoped_buffer sealed = { 0 }, open = { 0 };
    struct error err;

    (void)state;
    seal_text(&key, "idp_1", "hunter2 hunter2", 15, &sealed);
    assert_null(strstr(buffer_text(&sealed), "hunter2"));
    assert_true(sealed.size < SEAL_TEXT_MAX(15));
    assert_int_equal(seal_open(&key, "idp_1", buffer_text(&sealed), &open,
                               &err),
                     0);
    assert_string_equal(buffer_text(&open), "hunter2 hunter2");
}

static void
the_same_secret_is_sealed_anew_each_time(void **state)
{
    scoped_buffer one = { 0 }, two = { 0 };

    (void)state;
    seal_text(&key, "l", "s", 1, &one);
    seal_text(&key, "l", "s", 1, &two);
    assert_string_not_equal(buffer_text(&one), buffer_text(&two));
}

static void
another_key_label_or_byte_opens_nothing(void **state)
{
    scoped_buffer sealed = { 0 }, open = { 0 };
    struct error err;

    (void)state;
    seal_text(&key, "idp_1", "secret", 6, &sealed);
    assert_int_equal(
        seal_open(&other, "idp_1", buffer_text(&sealed), &open, &err), -1);
    assert_int_equal(
        seal_open(&key, "idp_2", buffer_text(&sealed), &open, &err), -1);
    for (size_t i = 0; i < sealed.size; i++) {
        char was = sealed.bytes[i];

        sealed.bytes[i] = was == 'A' ? 'B' : 'A';
        assert_int_equal(
            seal_open(&key, "idp_1", buffer_text(&sealed), &open, &err), -1);
        sealed.bytes[i] = was;
    }
    assert_int_equal(seal_open(&key, "idp_1", "", &open, &err), -1);
    assert_int_equal(seal_open(&key, "idp_1", "AAAA", &open, &err), -1);
    assert_int_equal(open.size, 0);
}

static void
a_key_is_made_once_and_read_by_its_owner_alone(void **state)
{
    char path[64];
    struct seal_key first, second;
    struct stat status;
    struct error err;

    (void)state;
    (void)snprintf(path, sizeof(path), "/tmp/test_seal.%ld", (long)getpid());
    (void)unlink(path);
    assert_int_equal(seal_key_open(path, &first, &err), 0);
    assert_int_equal(seal_key_open(path, &second, &err), 0);
    assert_memory_equal(&first, &second, sizeof(first));
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_int_equal(chmod(path, 0644), 0);
    assert_int_equal(seal_key_open(path, &second, &err), -1);
    (void)unlink(path);
}

/* RFC 4648 10, with the padding left out; "-" and "_" for the last two. */
static void
base64url_is_strict(void **state)
{
    static const struct {
        const char *plain, *text;
    } pairs[] = { { "", "" },           { "f", "Zg" },
                  { "fo", "Zm8" },      { "foo", "Zm9v" },
                  { "foob", "Zm9vYg" }, { "\xfb\xff\xfe", "-__-" } };
    static const char *const wrong[] = { "Z",    "Zh",   "Zg==", "Zm9v=",
                                         "+__-", "Zm9\n", "Zm 8", "Zm9" };
    uint8_t bytes[16];

    (void)state;
    for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
        scoped_buffer text = { 0 };

        base64url_encode(&text, pairs[i].plain, strlen(pairs[i].plain));
        assert_string_equal(buffer_text(&text), pairs[i].text);
        assert_int_equal(base64url_decode(pairs[i].text,
                                          strlen(pairs[i].text), bytes, 16),
                         strlen(pairs[i].plain));
        assert_memory_equal(bytes, pairs[i].plain, strlen(pairs[i].plain));
    }
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        assert_int_equal(
            base64url_decode(wrong[i], strlen(wrong[i]), bytes, 16), -1);
    assert_int_equal(base64url_decode("Zm9v", 4, bytes, 2), -1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_sealed_opens_with_the_key_and_the_label),
        cmocka_unit_test(the_same_secret_is_sealed_anew_each_time),
        cmocka_unit_test(another_key_label_or_byte_opens_nothing),
        cmocka_unit_test(a_key_is_made_once_and_read_by_its_owner_alone),
        cmocka_unit_test(base64url_is_strict),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
