/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/message.h"

static struct sign_key
make_key(void)
{
    char path[] = "/tmp/bulkhead-message-XXXXXX";
    struct sign_key key;
    struct error err;

    assert_non_null(mkdtemp(path));
    {
        char file[64];

        (void)snprintf(file, sizeof(file), "%s/key", path);
        assert_int_equal(sign_key_open(file, &key, &err), 0);
        (void)unlink(file);
    }
    (void)rmdir(path);
    return key;
}

static const struct message_envelope envelope = {
    "nd_aaaaaaaaaaaaaaaaaaaaaaaaaa", "boot", 3, 77
};

static struct message_headers
headers_of(const char *signature)
{
    return (struct message_headers){ envelope.node, "boot", "3", "77",
                                     signature };
}

static int
parse(const struct message_headers *headers)
{
    struct message_envelope out;
    uint8_t signature[SIGN_SIZE];
    struct error err;

    if (message_envelope_parse(headers, &out, signature, &err) == 0)
        return 0;
    assert_int_equal(err.code, ERROR_UNAUTHENTICATED);
    return -1;
}

static void
a_signed_request_is_known_by_its_key(void **state)
{
    struct sign_key key = make_key();
    char text[MESSAGE_SIGNATURE_TEXT];
    struct message_headers headers;
    struct message_envelope out;
    uint8_t signature[SIGN_SIZE];
    struct error err;

    (void)state;
    message_sign_request(&key, MESSAGE_SYNC_PATH, &envelope, "{}", 2, text);
    headers = headers_of(text);
    assert_int_equal(message_envelope_parse(&headers, &out, signature, &err),
                     0);
    assert_int_equal(message_check_request(key.public_key, MESSAGE_SYNC_PATH,
                                           &out, "{}", 2, signature, &err),
                     0);
}

/* Everything that is signed makes a difference. */
static void
a_signature_holds_for_nothing_else(void **state)
{
    struct sign_key key = make_key();
    struct sign_key other = make_key();
    char text[MESSAGE_SIGNATURE_TEXT];
    struct message_envelope changed[] = { envelope, envelope, envelope,
                                          envelope };
    struct message_headers headers;
    struct message_envelope out;
    uint8_t signature[SIGN_SIZE];
    struct error err;

    (void)state;
    message_sign_request(&key, MESSAGE_SYNC_PATH, &envelope, "{}", 2, text);
    headers = headers_of(text);
    assert_int_equal(message_envelope_parse(&headers, &out, signature, &err),
                     0);
    changed[0].node = "nd_baaaaaaaaaaaaaaaaaaaaaaaaa";
    changed[1].boot = "other";
    changed[2].epoch = 4;
    changed[3].sequence = 78;
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(message_check_request(key.public_key,
                                               MESSAGE_SYNC_PATH,
                                               &changed[i], "{}", 2,
                                               signature, &err),
                         -1);
    assert_int_equal(message_check_request(key.public_key, MESSAGE_ENROL_PATH,
                                           &envelope, "{}", 2, signature,
                                           &err),
                     -1);
    assert_int_equal(message_check_request(key.public_key, MESSAGE_SYNC_PATH,
                                           &envelope, "[]", 2, signature,
                                           &err),
                     -1);
    assert_int_equal(message_check_request(other.public_key,
                                           MESSAGE_SYNC_PATH, &envelope, "{}",
                                           2, signature, &err),
                     -1);
}

static void
a_request_is_no_answer_and_an_answer_belongs_to_its_request(void **state)
{
    struct sign_key key = make_key();
    char request[MESSAGE_SIGNATURE_TEXT];
    char answer[MESSAGE_SIGNATURE_TEXT];
    struct message_envelope later = envelope;
    struct error err;

    (void)state;
    later.sequence++;
    message_sign_request(&key, MESSAGE_SYNC_PATH, &envelope, "{}", 2,
                         request);
    message_sign_answer(&key, 200, &envelope, "{}", 2, answer);
    assert_int_equal(message_check_answer(key.public_key, 200, &envelope,
                                          "{}", 2, answer, &err),
                     0);
    assert_int_equal(message_check_answer(key.public_key, 200, &envelope,
                                          "{}", 2, request, &err),
                     -1);
    assert_int_equal(message_check_answer(key.public_key, 200, &later, "{}",
                                          2, answer, &err),
                     -1);
    assert_int_equal(message_check_answer(key.public_key, 409, &envelope,
                                          "{}", 2, answer, &err),
                     -1);
    assert_int_equal(message_check_answer(key.public_key, 200, &envelope,
                                          "{}", 2, "", &err),
                     -1);
    assert_int_equal(err.code, ERROR_VERIFY);
}

static void
bad_headers_are_refused(void **state)
{
    struct sign_key key = make_key();
    char text[MESSAGE_SIGNATURE_TEXT];
    struct message_headers good, bad;

    (void)state;
    message_sign_request(&key, MESSAGE_SYNC_PATH, &envelope, "{}", 2, text);
    good = headers_of(text);
    assert_int_equal(parse(&good), 0);
#define REFUSED(member, value)                                                \
    (bad = good, bad.member = (value), assert_int_equal(parse(&bad), -1))
    REFUSED(boot, NULL);
    REFUSED(boot, "");
    REFUSED(boot, "0123456789012345678901234567890123456789");
    REFUSED(epoch, NULL);
    REFUSED(epoch, "-1");
    REFUSED(epoch, "3x");
    REFUSED(epoch, " 3");
    REFUSED(sequence, "");
    REFUSED(sequence, "99999999999999999999");
    REFUSED(sequence, "9007199254740993");
    REFUSED(signature, NULL);
    REFUSED(signature, "00");
    REFUSED(node, "nd_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
#undef REFUSED
}

static int
read_enrol(const char *text)
{
    struct arena *arena = arena_new();
    struct message_enrol out;
    struct error err;
    int result = message_enrol_parse(arena, text, strlen(text), &out, &err);

    arena_free(arena);
    return result;
}

static void
an_enrolment_is_read_as_it_was_written(void **state)
{
    struct sign_key key = make_key();
    struct message_enrol message = { "token", "n1", { 0 } }, out;
    struct arena *arena = arena_new();
    struct buffer bytes = { 0 };
    struct error err;

    (void)state;
    memcpy(message.public_key, key.public_key, SIGN_PUBLIC_SIZE);
    message_enrol_write(&bytes, &message);
    assert_int_equal(message_enrol_parse(arena, bytes.bytes, bytes.size, &out,
                                         &err),
                     0);
    assert_string_equal(out.token, "token");
    assert_string_equal(out.node, "n1");
    assert_memory_equal(out.public_key, key.public_key, SIGN_PUBLIC_SIZE);
    buffer_release(&bytes);
    arena_free(arena);
}

static void
a_hostile_enrolment_is_refused(void **state)
{
    (void)state;
    assert_int_equal(read_enrol(""), -1);
    assert_int_equal(read_enrol("{}"), -1);
    assert_int_equal(read_enrol("[]"), -1);
    assert_int_equal(
        read_enrol("{\"protocol\":1,\"token\":\"t\",\"node\":\"n\","
                   "\"public_key\":\"00\"}"),
        -1);
    assert_int_equal(
        read_enrol("{\"protocol\":2,\"token\":\"t\",\"node\":\"n\","
                   "\"public_key\":\"0000000000000000000000000000000000000000"
                   "000000000000000000000000\"}"),
        -1);
    assert_int_equal(
        read_enrol("{\"protocol\":1,\"token\":\"t\",\"node\":\"../n\","
                   "\"public_key\":\"0000000000000000000000000000000000000000"
                   "000000000000000000000000\"}"),
        -1);
    assert_int_equal(
        read_enrol("{\"protocol\":1,\"token\":\"t\",\"node\":\"n\",\"x\":1,"
                   "\"public_key\":\"0000000000000000000000000000000000000000"
                   "000000000000000000000000\"}"),
        -1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_signed_request_is_known_by_its_key),
        cmocka_unit_test(a_signature_holds_for_nothing_else),
        cmocka_unit_test(
            a_request_is_no_answer_and_an_answer_belongs_to_its_request),
        cmocka_unit_test(bad_headers_are_refused),
        cmocka_unit_test(an_enrolment_is_read_as_it_was_written),
        cmocka_unit_test(a_hostile_enrolment_is_refused),
    };

    return cmocka_run_group_tests_name("message", tests, NULL, NULL);
}
