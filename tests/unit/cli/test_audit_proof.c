/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/audit_proof.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "identity/audit_dir.h"
#include "tests/unit/scratch.h"

#define ORIGIN "e.org/tn_a"
#define ENTRIES 300
#define COVERED 290

struct fixture {
    char directory[SCRATCH_MAX];
    struct sign_key key, other;
};

static void
fill(struct fixture *f)
{
    struct buffer entry[ENTRIES] = { { 0 } }, personal[ENTRIES] = { { 0 } };
    struct record_salts salts = { { 1 }, { 2 } };
    struct audit_entry entries[ENTRIES];
    struct checkpoint head = { ORIGIN, COVERED, { { 0 } } };
    struct merkle tree = { 0 };
    scoped_buffer note = { 0 };
    struct audit_dir log;
    struct error err;

    for (size_t i = 0; i < ENTRIES; i++) {
        struct record record = { .log = ORIGIN,
                                 .seq = i,
                                 .id = "au_1",
                                 .action = { .verb = "user.create" } };
        struct digest leaf;

        assert_int_equal(
            record_encode(&record, &salts, &entry[i], &personal[i], &err), 0);
        entries[i] = (struct audit_entry){ entry[i].bytes, entry[i].size,
                                           personal[i].bytes,
                                           personal[i].size, NULL };
        record_leaf(entry[i].bytes, entry[i].size, &leaf);
        if (i < COVERED)
            merkle_append(&tree, &leaf);
    }
    merkle_root(&tree, &head.root);
    checkpoint_sign(&note, &head, &f->key);
    assert_int_equal(audit_dir_open(&log, f->directory, ORIGIN, &err), 0);
    assert_int_equal(audit_dir_append(&log, 0, entries, ENTRIES, &err), 0);
    assert_int_equal(
        audit_dir_add_checkpoint(&log, note.bytes, note.size, &err), 0);
    audit_dir_close(&log);
    for (size_t i = 0; i < ENTRIES; i++) {
        buffer_release(&entry[i]);
        buffer_release(&personal[i]);
    }
}

static int
setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    scoped_buffer path = { 0 };
    struct error err;

    assert_non_null(f);
    scratch_make(f->directory, "audit-proof");
    buffer_printf(&path, "%s/key", f->directory);
    assert_int_equal(sign_key_open(path.bytes, &f->key, &err), 0);
    assert_int_equal(unlink(path.bytes), 0);
    assert_int_equal(sign_key_open(path.bytes, &f->other, &err), 0);
    fill(f);
    *state = f;
    return 0;
}

static int
teardown(void **state)
{
    struct fixture *f = *state;

    scratch_remove(f->directory);
    free(f);
    return 0;
}

static void
every_covered_entry_proves_itself(void **state)
{
    struct fixture *f = *state;
    struct audit_proof proof;
    struct error err = { 0 };

    for (uint64_t i = 0; i < COVERED; i++) {
        scoped_buffer text = { 0 };

        if (audit_proof_make(f->directory, ORIGIN, i, &text, &err) != 0 ||
            audit_proof_check(text.bytes, text.size, f->key.public_key, &proof,
                              &err) != 0)
            fail_msg("entry %d: %s", (int)i, err.text);
        assert_int_equal(proof.index, i);
        assert_string_equal(proof.checkpoint.origin, ORIGIN);
        assert_string_equal(proof.record.action.verb, "user.create");
        assert_true(text.size <= 2048);
        buffer_release(&proof.entry);
    }
}

static void
any_flipped_bit_or_cut_of_a_proof_is_refused(void **state)
{
    struct fixture *f = *state;
    scoped_buffer text = { 0 };
    struct audit_proof proof;
    struct error err;

    assert_int_equal(audit_proof_make(f->directory, ORIGIN, 137, &text, &err),
                     0);
    for (size_t i = 0; i < text.size; i++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            text.bytes[i] = (char)(text.bytes[i] ^ (1 << bit));
            assert_int_equal(audit_proof_check(text.bytes, text.size,
                                               f->key.public_key, &proof,
                                               &err),
                             -1);
            text.bytes[i] = (char)(text.bytes[i] ^ (1 << bit));
        }
        assert_int_equal(audit_proof_check(text.bytes, i, f->key.public_key,
                                           &proof, &err),
                         -1);
    }
    buffer_add_text(&text, "x");
    assert_int_equal(audit_proof_check(text.bytes, text.size,
                                       f->key.public_key, &proof, &err),
                     -1);
    text.size--;
    assert_int_equal(audit_proof_check(text.bytes, text.size,
                                       f->other.public_key, &proof, &err),
                     -1);
    assert_int_equal(err.code, ERROR_VERIFY);
}

static void
what_is_not_covered_or_not_there_is_said(void **state)
{
    struct fixture *f = *state;
    scoped_buffer text = { 0 };
    struct error err;

    assert_int_equal(
        audit_proof_make(f->directory, ORIGIN, COVERED, &text, &err), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    assert_int_equal(
        audit_proof_make(f->directory, ORIGIN, ENTRIES, &text, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    assert_int_equal(
        audit_proof_make(f->directory, "e.org/none", 0, &text, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    assert_int_equal(text.size, 0);
}

#define PROOF_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        PROOF_TEST(every_covered_entry_proves_itself),
        PROOF_TEST(any_flipped_bit_or_cut_of_a_proof_is_refused),
        PROOF_TEST(what_is_not_covered_or_not_there_is_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
