/* SPDX-License-Identifier: Apache-2.0 */
#include "core/keychain.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <string.h>

#include "tests/unit/scratch.h"

#define KEYS 4
static struct sign_key keys[KEYS];

static int
setup(void **state)
{
    char directory[SCRATCH_MAX];
    struct error err;

    (void)state;
    scratch_make(directory, "keychain");
    for (int i = 0; i < KEYS; i++) {
        scoped_buffer path = { 0 };

        buffer_printf(&path, "%s/%d", directory, i);
        assert_int_equal(sign_key_open(path.bytes, &keys[i], &err), 0);
    }
    scratch_remove(directory);
    return 0;
}

static struct checkpoint_key
trusted(int i)
{
    struct checkpoint_key key = { .name = "e.org/platform" };

    memcpy(key.public_key, keys[i].public_key, SIGN_PUBLIC_SIZE);
    return key;
}

/* How many keys are trusted in the end; -1 when the chain does not hold. */
static int
follow(const struct buffer *notes, int from, struct checkpoint_key *list)
{
    struct error err;
    size_t count = 1;

    list[0] = trusted(from);
    if (keychain_follow(buffer_text(notes), notes->size, list, &count, KEYS,
                        &err) != 0) {
        assert_int_equal(err.code, ERROR_VERIFY);
        return -1;
    }
    return (int)count;
}

static bool
is_key(const struct checkpoint_key *key, int i)
{
    return memcmp(key->public_key, keys[i].public_key, SIGN_PUBLIC_SIZE) == 0;
}

static void
whom_a_trusted_key_hands_over_to_is_trusted(void **state)
{
    struct checkpoint_key list[KEYS];
    scoped_buffer notes = { 0 };

    (void)state;
    keychain_add(&notes, 1, &keys[0], &keys[1]);
    keychain_add(&notes, 2, &keys[1], &keys[2]);
    assert_int_equal(follow(&notes, 0, list), 3);
    assert_true(is_key(&list[1], 1) && is_key(&list[2], 2));
    /* Trust that begins in the middle does not reach back. */
    assert_int_equal(follow(&notes, 1, list), 2);
    assert_true(is_key(&list[1], 2));
    assert_int_equal(follow(&notes, 2, list), 1);
    /* Nor does it spring up from nothing. */
    assert_int_equal(follow(&notes, 3, list), 1);
}

static void
a_key_that_the_old_one_did_not_sign_is_not_trusted(void **state)
{
    struct checkpoint_key list[KEYS];
    scoped_buffer forged = { 0 };
    struct sign_key liar = keys[3];

    (void)state;
    /* The liar names the old key, but can sign with his own alone. */
    memcpy(liar.public_key, keys[0].public_key, SIGN_PUBLIC_SIZE);
    keychain_add(&forged, 1, &liar, &keys[3]);
    assert_int_equal(follow(&forged, 0, list), -1);
    /* Nor does a key become one that nobody showed to have. */
    liar = keys[0];
    memcpy(liar.public_key, keys[2].public_key, SIGN_PUBLIC_SIZE);
    buffer_clear(&forged);
    keychain_add(&forged, 1, &keys[0], &liar);
    assert_int_equal(follow(&forged, 0, list), -1);
}

static void
a_key_hands_over_once_and_in_order(void **state)
{
    struct checkpoint_key list[KEYS];
    scoped_buffer twice = { 0 }, gap = { 0 }, number = { 0 };

    (void)state;
    keychain_add(&twice, 1, &keys[0], &keys[1]);
    keychain_add(&twice, 2, &keys[0], &keys[3]);
    assert_int_equal(follow(&twice, 0, list), -1);
    keychain_add(&gap, 1, &keys[0], &keys[1]);
    keychain_add(&gap, 2, &keys[2], &keys[3]);
    assert_int_equal(follow(&gap, 0, list), -1);
    keychain_add(&number, 2, &keys[0], &keys[1]);
    assert_int_equal(follow(&number, 0, list), -1);
}

static void
any_flipped_bit_or_cut_breaks_the_chain(void **state)
{
    struct checkpoint_key list[KEYS];
    scoped_buffer notes = { 0 };

    (void)state;
    keychain_add(&notes, 1, &keys[0], &keys[1]);
    for (size_t i = 0; i < notes.size; i++) {
        struct buffer cut = notes;

        notes.bytes[i] = (char)(notes.bytes[i] ^ 1);
        assert_int_equal(follow(&notes, 0, list), -1);
        notes.bytes[i] = (char)(notes.bytes[i] ^ 1);
        cut.size = i;
        assert_int_equal(follow(&cut, 0, list), i == 0 ? 1 : -1);
    }
}

static void
a_rotation_is_no_checkpoint(void **state)
{
    scoped_buffer notes = { 0 };
    struct checkpoint read;
    struct error err;
    size_t used;

    (void)state;
    keychain_add(&notes, 1, &keys[0], &keys[1]);
    assert_int_equal(
        checkpoint_parse(notes.bytes, notes.size, &read, &used, &err), -1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whom_a_trusted_key_hands_over_to_is_trusted),
        cmocka_unit_test(a_key_that_the_old_one_did_not_sign_is_not_trusted),
        cmocka_unit_test(a_key_hands_over_once_and_in_order),
        cmocka_unit_test(any_flipped_bit_or_cut_breaks_the_chain),
        cmocka_unit_test(a_rotation_is_no_checkpoint),
    };

    return cmocka_run_group_tests(tests, setup, NULL);
}
