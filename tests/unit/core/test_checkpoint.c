/* SPDX-License-Identifier: Apache-2.0 */
#include "core/checkpoint.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The example of the signed-note documentation (Go's sumdb/note package): a
 * public verifier key and a text that it signed. */
static const char peter[] =
    "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";

static struct sign_key key, other;
static const struct checkpoint sample = { "example.org/tn_a", 20852163,
                                          { { 0xab, 0xcd } } };

static int
setup(void **state)
{
    char directory[] = "/tmp/checkpoint-XXXXXX";
    scoped_buffer path = { 0 };
    struct error err;

    (void)state;
    assert_non_null(mkdtemp(directory));
    for (int i = 0; i < 2; i++) {
        buffer_clear(&path);
        buffer_printf(&path, "%s/key", directory);
        assert_int_equal(
            sign_key_open(path.bytes, i == 0 ? &key : &other, &err), 0);
        assert_int_equal(unlink(path.bytes), 0);
    }
    return rmdir(directory);
}

static void
a_signed_checkpoint_verifies_by_its_key_only(void **state)
{
    scoped_buffer note = { 0 };
    struct checkpoint read;
    struct error err;
    size_t used;

    (void)state;
    checkpoint_sign(&note, &sample, &key);
    assert_int_equal(checkpoint_check(note.bytes, note.size, key.public_key,
                                      &read, &used, &err),
                     0);
    assert_int_equal(used, note.size);
    assert_string_equal(read.origin, sample.origin);
    assert_true(read.size == sample.size);
    assert_int_equal(digest_compare(&read.root, &sample.root), 0);
    assert_int_equal(checkpoint_check(note.bytes, note.size, other.public_key,
                                      &read, &used, &err),
                     -1);
    assert_int_equal(err.code, ERROR_VERIFY);
}

static void
the_text_is_the_one_of_tlog_checkpoint(void **state)
{
    static const char expected[] =
        "example.org/tn_a\n20852163\n"
        "q80AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n\n"
        "\xe2\x80\x94 example.org/tn_a ";
    scoped_buffer note = { 0 };

    (void)state;
    checkpoint_sign(&note, &sample, &key);
    assert_memory_equal(note.bytes, expected, sizeof(expected) - 1);
    assert_int_equal(note.bytes[note.size - 1], '\n');
}

static void
any_flipped_bit_is_refused(void **state)
{
    scoped_buffer note = { 0 };
    struct checkpoint read;
    struct error err;
    size_t used;

    (void)state;
    checkpoint_sign(&note, &sample, &key);
    for (size_t i = 0; i < note.size; i++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            note.bytes[i] = (char)(note.bytes[i] ^ (1 << bit));
            assert_int_equal(checkpoint_check(note.bytes, note.size,
                                              key.public_key, &read, &used,
                                              &err),
                             -1);
            note.bytes[i] = (char)(note.bytes[i] ^ (1 << bit));
        }
        assert_int_equal(checkpoint_check(note.bytes, i, key.public_key, &read,
                                          &used, &err),
                         -1);
    }
}

static void
notes_stand_behind_each_other(void **state)
{
    struct checkpoint next = sample, read;
    scoped_buffer notes = { 0 };
    struct error err;
    size_t first, second;

    (void)state;
    next.size++;
    checkpoint_sign(&notes, &sample, &key);
    checkpoint_sign(&notes, &next, &key);
    assert_int_equal(
        checkpoint_parse(notes.bytes, notes.size, &read, &first, &err), 0);
    assert_true(read.size == sample.size);
    assert_int_equal(checkpoint_check(notes.bytes + first, notes.size - first,
                                      key.public_key, &read, &second, &err),
                     0);
    assert_true(read.size == next.size);
    assert_int_equal(first + second, notes.size);
}

static void
other_spellings_of_a_checkpoint_are_refused(void **state)
{
    static const char *const bad[] = {
        "",
        "a\n",
        "a\n1\n",
        "a\n01\nq80AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n\n"
        "\xe2\x80\x94 a AA==\n",
        "a\n+1\nq80AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n\n"
        "\xe2\x80\x94 a AA==\n",
        "a b\n1\nq80AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n\n"
        "\xe2\x80\x94 a AA==\n",
        "a\n1 q80AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n\n\n"
        "\xe2\x80\x94 a AA==\n",
        "a\n1\nq80AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\nmore\n\n"
        "\xe2\x80\x94 a AA==\n",
        "a\n1\nq80AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n\n",
        "a\n1\nq80AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n\n- a AA==\n",
        "a\n1\nq80AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB=\n\n"
        "\xe2\x80\x94 a AA==\n",
    };
    struct checkpoint read;
    struct error err;
    size_t used;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(
            checkpoint_parse(bad[i], strlen(bad[i]), &read, &used, &err), -1);
        assert_int_equal(err.code, ERROR_INVALID);
    }
}

static void
a_witness_cosigns_with_its_time(void **state)
{
    struct checkpoint_key witness = { "w.example", { 0 }, true };
    struct checkpoint read;
    scoped_buffer note = { 0 };
    struct error err;
    uint64_t time_s = 0;
    size_t used;

    (void)state;
    memcpy(witness.public_key, other.public_key, SIGN_PUBLIC_SIZE);
    checkpoint_sign(&note, &sample, &key);
    assert_int_equal(checkpoint_check_cosignature(note.bytes, note.size,
                                                  &witness, &time_s),
                     -1);
    checkpoint_cosign(&note, &sample, witness.name, &other, 1700000000);
    assert_int_equal(checkpoint_check_cosignature(note.bytes, note.size,
                                                  &witness, &time_s),
                     0);
    assert_int_equal(time_s, 1700000000);
    assert_int_equal(checkpoint_check(note.bytes, note.size, key.public_key,
                                      &read, &used, &err),
                     0);
    assert_int_equal(used, note.size);
    memcpy(witness.public_key, key.public_key, SIGN_PUBLIC_SIZE);
    assert_int_equal(checkpoint_check_cosignature(note.bytes, note.size,
                                                  &witness, &time_s),
                     -1);
}

static void
a_verifier_key_reads_back_and_its_hash_is_checked(void **state)
{
    struct checkpoint_key read;
    scoped_buffer text = { 0 };
    struct error err;

    (void)state;
    assert_int_equal(checkpoint_parse_key(peter, &read, &err), 0);
    assert_string_equal(read.name, "PeterNeumann");
    assert_false(read.witness);
    checkpoint_add_key(&text, &read);
    assert_string_equal(text.bytes, peter);
    buffer_add_text(&text, "\n");
    assert_int_equal(checkpoint_parse_key(text.bytes, &read, &err), 0);
    text.bytes[0] = 'X';
    assert_int_equal(checkpoint_parse_key(text.bytes, &read, &err), -1);
    assert_int_equal(checkpoint_parse_key("a", &read, &err), -1);
    assert_int_equal(checkpoint_parse_key("", &read, &err), -1);
    assert_int_equal(checkpoint_parse_key("a+00000000+", &read, &err), -1);
}

static void
origins_are_printable_and_bounded(void **state)
{
    char name[RECORD_ORIGIN_MAX + 1] = { 0 };

    (void)state;
    memset(name, 'a', RECORD_ORIGIN_MAX);
    assert_false(checkpoint_origin_valid(name));
    name[RECORD_ORIGIN_MAX - 1] = '\0';
    assert_true(checkpoint_origin_valid(name));
    assert_false(checkpoint_origin_valid(""));
    assert_false(checkpoint_origin_valid("a b"));
    assert_false(checkpoint_origin_valid("a+b"));
    assert_false(checkpoint_origin_valid("a\nb"));
    assert_true(checkpoint_is_platform("e/platform"));
    assert_false(checkpoint_is_platform("e/platform2"));
    assert_false(checkpoint_is_platform("platform/tn_a"));
}

static void
an_origin_becomes_one_safe_file_name(void **state)
{
    scoped_buffer name = { 0 };

    (void)state;
    checkpoint_add_file_name(&name, "../e.org/tn_a");
    assert_string_equal(name.bytes, "%2E.%2Fe.org%2Ftn_a");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_signed_checkpoint_verifies_by_its_key_only),
        cmocka_unit_test(the_text_is_the_one_of_tlog_checkpoint),
        cmocka_unit_test(any_flipped_bit_is_refused),
        cmocka_unit_test(notes_stand_behind_each_other),
        cmocka_unit_test(other_spellings_of_a_checkpoint_are_refused),
        cmocka_unit_test(a_witness_cosigns_with_its_time),
        cmocka_unit_test(a_verifier_key_reads_back_and_its_hash_is_checked),
        cmocka_unit_test(origins_are_printable_and_bounded),
        cmocka_unit_test(an_origin_becomes_one_safe_file_name),
    };

    return cmocka_run_group_tests(tests, setup, NULL);
}
