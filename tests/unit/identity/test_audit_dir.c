/* SPDX-License-Identifier: Apache-2.0 */
#include "identity/audit_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "core/checkpoint.h"
#include "tests/unit/scratch.h"

#define ORIGIN "e.org/tn_a"
/* The name of the log in a format. */
#define LOG "e.org%%2Ftn_a"
#define ENTRIES 1000

struct fixture {
    char directory[SCRATCH_MAX];
    struct sign_key key;
    struct buffer bytes;
    struct audit_entry entry[ENTRIES];
    struct merkle tree[ENTRIES + 1];
};

static void
make_entries(struct fixture *f)
{
    static char text[ENTRIES][2][16];

    for (size_t i = 0; i < ENTRIES; i++) {
        struct digest leaf;

        (void)snprintf(text[i][0], 16, "entry %zu", i);
        (void)snprintf(text[i][1], 16, "person %zu", i);
        f->entry[i] = (struct audit_entry){ text[i][0], strlen(text[i][0]),
                                            text[i][1], strlen(text[i][1]), NULL };
        record_leaf(f->entry[i].entry, f->entry[i].size, &leaf);
        f->tree[i + 1] = f->tree[i];
        merkle_append(&f->tree[i + 1], &leaf);
    }
}

static int
setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    scoped_buffer key = { 0 };
    struct error err;

    assert_non_null(f);
    scratch_make(f->directory, "audit-dir");
    buffer_printf(&key, "%s/key", f->directory);
    assert_int_equal(sign_key_open(key.bytes, &f->key, &err), 0);
    make_entries(f);
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

static struct audit_dir
open_log(const struct fixture *f)
{
    struct audit_dir log;
    struct error err = { 0 };

    if (audit_dir_open(&log, f->directory, ORIGIN, &err) != 0)
        fail_msg("%s", err.text);
    return log;
}

static void
append(const struct fixture *f, struct audit_dir *log, size_t from, size_t to)
{
    struct error err = { 0 };

    if (audit_dir_append(log, from, f->entry + from, to - from, &err) != 0)
        fail_msg("%s", err.text);
    assert_int_equal(log->tree.size, to);
}

static void
assert_root(const struct fixture *f, const struct audit_dir *log)
{
    struct digest root, expected;

    merkle_root(&log->tree, &root);
    merkle_root(&f->tree[log->tree.size], &expected);
    assert_int_equal(digest_compare(&root, &expected), 0);
}

static void
read_log_file(const struct fixture *f, const char *name, struct buffer *out)
{
    scoped_buffer path = { 0 };
    struct error err = { 0 };

    buffer_printf(&path, "%s/" LOG "/%s", f->directory, name);
    if (file_read(path.bytes, (size_t)1 << 24, out, &err) != 0)
        fail_msg("%s: %s", name, err.text);
}

static void
write_log_file(const struct fixture *f, const char *name, const void *bytes,
               size_t size)
{
    scoped_buffer path = { 0 };
    struct error err;

    buffer_printf(&path, "%s/" LOG "/%s", f->directory, name);
    assert_int_equal(file_write(path.bytes, bytes, size, 0640, &err), 0);
}

static bool
log_file_exists(const struct fixture *f, const char *name)
{
    scoped_buffer path = { 0 };
    struct stat status;

    buffer_printf(&path, "%s/" LOG "/%s", f->directory, name);
    return stat(path.bytes, &status) == 0;
}

static void
any_steps_of_growth_give_the_same_log(void **state)
{
    static const size_t steps[] = { 1, 3, 255, 256, 257, 511, 512, 900, 1000 };
    struct fixture *f = *state;
    size_t from = 0;

    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        struct audit_dir log = open_log(f);

        assert_int_equal(log.tree.size, from);
        append(f, &log, from, steps[i]);
        assert_root(f, &log);
        audit_dir_close(&log);
        log = open_log(f);
        assert_root(f, &log);
        audit_dir_close(&log);
        from = steps[i];
    }
    assert_true(log_file_exists(f, "tile/entries/000"));
    assert_true(log_file_exists(f, "tile/entries/003.p/232"));
    assert_true(log_file_exists(f, "personal/003.p/232"));
    assert_true(log_file_exists(f, "tile/1/000.p/3"));
    assert_false(log_file_exists(f, "tile/entries/000.p"));
    assert_false(log_file_exists(f, "tile/entries/003.p/132"));
    assert_false(log_file_exists(f, "tile/0/003.p/132"));
    assert_false(log_file_exists(f, "personal/003.p/132"));
    assert_false(log_file_exists(f, "tile/1/000.p/2"));
}

static void
entries_stand_in_bundles_with_big_endian_lengths(void **state)
{
    struct fixture *f = *state;
    struct audit_dir log = open_log(f);
    scoped_buffer bundle = { 0 };

    append(f, &log, 0, 2);
    read_log_file(f, "tile/entries/000.p/2", &bundle);
    assert_int_equal(bundle.size, 18);
    assert_memory_equal(bundle.bytes, "\0\7entry 0\0\7entry 1", 18);
    audit_dir_close(&log);
}

static void
stored_nodes_give_proofs_that_verify(void **state)
{
    struct fixture *f = *state;
    struct audit_dir log = open_log(f);
    struct merkle_proof proof;
    struct digest root, leaf, old_root;
    struct error err;

    append(f, &log, 0, ENTRIES);
    merkle_root(&log.tree, &root);
    for (size_t i = 0; i < ENTRIES; i += 37) {
        record_leaf(f->entry[i].entry, f->entry[i].size, &leaf);
        assert_int_equal(merkle_prove_inclusion(audit_dir_read_node, &log, i,
                                                ENTRIES, &proof, &err),
                         0);
        assert_true(merkle_check_inclusion(i, ENTRIES, &leaf, proof.hash,
                                           proof.count, &root));
        merkle_root(&f->tree[i], &old_root);
        assert_int_equal(merkle_prove_consistency(audit_dir_read_node, &log, i,
                                                  ENTRIES, &proof, &err),
                         0);
        assert_true(merkle_check_consistency(i, &old_root, ENTRIES, &root,
                                             proof.hash, proof.count));
    }
    audit_dir_close(&log);
}

static void
a_repeated_append_changes_nothing_and_a_different_one_is_refused(void **state)
{
    struct fixture *f = *state;
    struct audit_dir log = open_log(f);
    struct audit_entry changed[2] = { f->entry[5], f->entry[6] };
    struct error err;

    append(f, &log, 0, 10);
    append(f, &log, 0, 10);
    append(f, &log, 4, 12);
    assert_root(f, &log);
    changed[1].size--;
    assert_int_equal(audit_dir_append(&log, 5, changed, 2, &err), -1);
    assert_int_equal(err.code, ERROR_VERIFY);
    assert_int_equal(audit_dir_append(&log, 13, f->entry + 13, 1, &err), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    assert_int_equal(log.tree.size, 12);
    audit_dir_close(&log);
}

/* The head is written last: with the old head back, everything that a crash
 * could leave of the new tiles is there, cut. */
static void
a_crash_before_the_head_leaves_the_old_log_whole(void **state)
{
    struct fixture *f = *state;
    struct audit_dir log = open_log(f);
    scoped_buffer head = { 0 }, entries = { 0 }, personal = { 0 }, tile = { 0 };

    append(f, &log, 0, 200);
    read_log_file(f, "head", &head);
    read_log_file(f, "tile/entries/000.p/200", &entries);
    read_log_file(f, "personal/000.p/200", &personal);
    read_log_file(f, "tile/0/000.p/200", &tile);
    append(f, &log, 200, 700);
    audit_dir_close(&log);
    write_log_file(f, "tile/entries/000", "cut", 3);
    write_log_file(f, "tile/entries/001", "", 0);
    write_log_file(f, "head", head.bytes, head.size);
    {
        scoped_buffer path = { 0 };
        struct error err;

        buffer_printf(&path, "%s/" LOG "/tile/entries/000.p", f->directory);
        assert_int_equal(file_make_directory(path.bytes, 0750, &err), 0);
        buffer_clear(&path);
        buffer_printf(&path, "%s/" LOG "/personal/000.p", f->directory);
        assert_int_equal(file_make_directory(path.bytes, 0750, &err), 0);
        buffer_clear(&path);
        buffer_printf(&path, "%s/" LOG "/tile/0/000.p", f->directory);
        assert_int_equal(file_make_directory(path.bytes, 0750, &err), 0);
    }
    write_log_file(f, "tile/entries/000.p/200", entries.bytes, entries.size);
    write_log_file(f, "personal/000.p/200", personal.bytes, personal.size);
    write_log_file(f, "tile/0/000.p/200", tile.bytes, tile.size);
    log = open_log(f);
    assert_int_equal(log.tree.size, 200);
    append(f, &log, 200, 700);
    assert_root(f, &log);
    buffer_clear(&entries);
    read_log_file(f, "tile/entries/000", &entries);
    assert_true(entries.size > 2000);
    audit_dir_close(&log);
}

static void
a_damaged_tile_is_found_at_opening(void **state)
{
    struct fixture *f = *state;
    struct audit_dir log = open_log(f);
    scoped_buffer tile = { 0 };
    struct error err;

    append(f, &log, 0, 10);
    audit_dir_close(&log);
    read_log_file(f, "tile/0/000.p/10", &tile);
    tile.bytes[100] = (char)(tile.bytes[100] ^ 1);
    write_log_file(f, "tile/0/000.p/10", tile.bytes, tile.size);
    assert_int_equal(audit_dir_open(&log, f->directory, ORIGIN, &err), -1);
    assert_int_equal(err.code, ERROR_VERIFY);
}

static void
add_note(struct buffer *out, const struct fixture *f, size_t size)
{
    struct checkpoint head = { ORIGIN, size, { { 0 } } };

    merkle_root(&f->tree[size], &head.root);
    checkpoint_sign(out, &head, &f->key);
}

static void
checkpoints_are_kept_in_order_and_a_cut_one_is_dropped(void **state)
{
    struct fixture *f = *state;
    struct audit_dir log = open_log(f);
    scoped_buffer first = { 0 }, second = { 0 }, both = { 0 }, read = { 0 };
    struct error err;

    append(f, &log, 0, 20);
    add_note(&first, f, 10);
    add_note(&second, f, 20);
    buffer_printf(&both, "%s%s", first.bytes, second.bytes);
    for (int again = 0; again < 2; again++)
        assert_int_equal(
            audit_dir_add_checkpoint(&log, first.bytes, first.size, &err), 0);
    for (size_t cut = 0; cut < second.size; cut++) {
        write_log_file(f, "checkpoints", both.bytes, first.size + cut);
        write_log_file(f, "checkpoint", first.bytes, first.size);
        assert_int_equal(
            audit_dir_add_checkpoint(&log, second.bytes, second.size, &err),
            0);
        buffer_clear(&read);
        read_log_file(f, "checkpoints", &read);
        assert_string_equal(read.bytes, both.bytes);
    }
    buffer_clear(&read);
    read_log_file(f, "checkpoint", &read);
    assert_string_equal(read.bytes, second.bytes);
    /* What was cut may be longer than what comes next. */
    buffer_clear(&read);
    buffer_printf(&read, "%s%0*d", first.bytes, (int)second.size + 100, 0);
    write_log_file(f, "checkpoints", read.bytes, read.size);
    write_log_file(f, "checkpoint", first.bytes, first.size);
    assert_int_equal(
        audit_dir_add_checkpoint(&log, second.bytes, second.size, &err), 0);
    buffer_clear(&read);
    read_log_file(f, "checkpoints", &read);
    assert_string_equal(read.bytes, both.bytes);
    audit_dir_close(&log);
}

static void
a_checkpoint_of_other_entries_is_refused(void **state)
{
    struct fixture *f = *state;
    struct audit_dir log = open_log(f);
    struct checkpoint forged = { ORIGIN, 5, { { 1 } } };
    scoped_buffer note = { 0 }, early = { 0 };
    struct error err;

    append(f, &log, 0, 10);
    checkpoint_sign(&note, &forged, &f->key);
    assert_int_equal(
        audit_dir_add_checkpoint(&log, note.bytes, note.size, &err), -1);
    assert_int_equal(err.code, ERROR_VERIFY);
    add_note(&early, f, 11);
    assert_int_equal(
        audit_dir_add_checkpoint(&log, early.bytes, early.size, &err), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    audit_dir_close(&log);
}

static void
erasing_a_person_leaves_neighbours_and_the_root(void **state)
{
    struct fixture *f = *state;
    struct audit_dir log = open_log(f);
    scoped_buffer bundle = { 0 };
    struct error err;

    append(f, &log, 0, 300);
    for (int again = 0; again < 2; again++)
        assert_int_equal(audit_dir_erase(&log, 250, &err), 0);
    read_log_file(f, "personal/000", &bundle);
    assert_null(memmem(bundle.bytes, bundle.size, "person 250", 10));
    assert_non_null(memmem(bundle.bytes, bundle.size, "person 249", 10));
    assert_non_null(memmem(bundle.bytes, bundle.size, "person 251", 10));
    assert_int_equal(audit_dir_erase(&log, 300, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    audit_dir_close(&log);
    log = open_log(f);
    assert_root(f, &log);
    audit_dir_close(&log);
}

static void
keys_are_added_once(void **state)
{
    struct fixture *f = *state;
    struct checkpoint_key key = { "e.org/platform", { 0 }, false };
    scoped_buffer text = { 0 }, path = { 0 }, read = { 0 };
    struct error err;

    memcpy(key.public_key, f->key.public_key, SIGN_PUBLIC_SIZE);
    checkpoint_add_key(&text, &key);
    for (int again = 0; again < 2; again++)
        assert_int_equal(audit_dir_add_key(f->directory, text.bytes, &err),
                         0);
    assert_int_equal(audit_dir_add_key(f->directory, "x", &err), -1);
    buffer_printf(&path, "%s/keys", f->directory);
    assert_int_equal(file_read(path.bytes, 4096, &read, &err), 0);
    buffer_add_byte(&text, '\n');
    assert_string_equal(read.bytes, text.bytes);
}

#define DIR_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        DIR_TEST(any_steps_of_growth_give_the_same_log),
        DIR_TEST(entries_stand_in_bundles_with_big_endian_lengths),
        DIR_TEST(stored_nodes_give_proofs_that_verify),
        DIR_TEST(
            a_repeated_append_changes_nothing_and_a_different_one_is_refused),
        DIR_TEST(a_crash_before_the_head_leaves_the_old_log_whole),
        DIR_TEST(a_damaged_tile_is_found_at_opening),
        DIR_TEST(checkpoints_are_kept_in_order_and_a_cut_one_is_dropped),
        DIR_TEST(a_checkpoint_of_other_entries_is_refused),
        DIR_TEST(erasing_a_person_leaves_neighbours_and_the_root),
        DIR_TEST(keys_are_added_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
