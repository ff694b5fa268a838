/* SPDX-License-Identifier: Apache-2.0 */
/* Root edits the files of the audit logs; each lie is found and named.  The
 * liar may write any file but has no signing key, except where a test says
 * so. */
#include "tests/unit/cli/audit_logs.h"

static void
an_honest_directory_is_intact(void **state)
{
    struct fixture *f = *state;
    struct audit_report report;

    assert_int_equal(verify(f, &report), 0);
    assert_int_equal(report.finding.lie, AUDIT_NONE);
    assert_int_equal(report.logs, 3);
    assert_int_equal(report.count.records, LAST + 50 + 3);
    assert_int_equal(report.checkpoints, 8);
    assert_int_equal(report.heads, 6);
    assert_true(report.platform);
    assert_int_equal(report.uncovered, 0);
}

static void
entries_behind_the_last_checkpoint_are_counted(void **state)
{
    struct fixture *f = *state;
    struct audit_report report;

    grow(&f->a, LAST + 9);
    lay_down(f, &f->a, LAST);
    assert_int_equal(verify(f, &report), 0);
    assert_int_equal(report.uncovered, 9);
}

static void
an_edited_entry_is_found_where_it_is(void **state)
{
    struct fixture *f = *state;
    scoped_buffer bundle = { 0 };
    const char *ada;

    read_file(f, TENANT_A, "tile/entries/001", &bundle);
    ada = memmem(bundle.bytes, bundle.size, "au_300", 6);
    assert_non_null(ada);
    flip_byte(f, TENANT_A, "tile/entries/001", (size_t)(ada - bundle.bytes));
    assert_lie(f, TENANT_A, AUDIT_EDITED, 300);
}

static void
an_edit_with_all_hashes_redone_is_found_by_the_next_checkpoint(void **state)
{
    struct fixture *f = *state;
    char id[32], parent[32];
    struct record record = honest(TENANT_A, 250, id, parent);

    record.actor.id = "us_2";
    put(&f->a, 250, &record);
    rebuild(f, &f->a);
    assert_lie(f, TENANT_A, AUDIT_EDITED, FIRST);
}

static void
an_edited_person_is_found_and_an_erased_one_is_not_a_lie(void **state)
{
    struct fixture *f = *state;
    struct audit_report report;
    struct audit_dir dir;
    struct error err;

    assert_int_equal(audit_dir_open(&dir, f->directory, TENANT_A, &err), 0);
    assert_int_equal(audit_dir_erase(&dir, 500, &err), 0);
    audit_dir_close(&dir);
    assert_int_equal(verify(f, &report), 0);
    assert_int_equal(report.count.erased, 1);
    flip_byte(f, TENANT_A, "personal/000", 2 + RECORD_SALT_SIZE + 4);
    assert_lie(f, TENANT_A, AUDIT_EDITED, 0);
}

static void
an_edited_tile_is_found(void **state)
{
    struct fixture *f = *state;

    flip_byte(f, TENANT_A, "tile/1/000.p/2", 40);
    assert_lie(f, TENANT_A, AUDIT_EDITED, 0);
}

static void
a_deleted_entry_is_found_where_it_was(void **state)
{
    struct fixture *f = *state;

    drop_entry(&f->a, 271);
    rebuild(f, &f->a);
    assert_lie(f, TENANT_A, AUDIT_DELETED, 271);
}

static void
a_deleted_entry_with_the_rest_renumbered_is_found(void **state)
{
    struct fixture *f = *state;

    drop_entry(&f->a, 500);
    for (size_t i = 500; i < f->a.count; i++) {
        char id[32], parent[32];
        struct record record = honest(TENANT_A, i, id, parent);

        record.wall_ms += 1000;
        put(&f->a, i, &record);
    }
    rebuild(f, &f->a);
    assert_lie(f, TENANT_A, AUDIT_TRUNCATED, LAST - 1);
}

static void
reordered_entries_are_found(void **state)
{
    struct fixture *f = *state;

    swap_entries(&f->a, 120, 125);
    rebuild(f, &f->a);
    assert_lie(f, TENANT_A, AUDIT_REORDERED, 120);
}

static void
a_truncated_log_is_found_by_its_checkpoint(void **state)
{
    struct fixture *f = *state;

    f->a.count = 420;
    rebuild(f, &f->a);
    assert_lie(f, TENANT_A, AUDIT_TRUNCATED, 420);
}

/* Tail and newest checkpoint are gone: the tenant's own log is a true older
 * state, and only the platform's log knows more. */
static void
a_dropped_tail_with_its_checkpoints_is_found_by_the_platform(void **state)
{
    struct fixture *f = *state;
    scoped_buffer all = { 0 };
    struct checkpoint checkpoint;
    struct error err;
    size_t first, second;

    f->a.count = SECOND;
    rebuild(f, &f->a);
    read_file(f, TENANT_A, "checkpoints", &all);
    assert_int_equal(
        checkpoint_parse(all.bytes, all.size, &checkpoint, &first, &err), 0);
    assert_int_equal(checkpoint_parse(all.bytes + first, all.size - first,
                                      &checkpoint, &second, &err),
                     0);
    write_file(f, TENANT_A, "checkpoints", all.bytes, first + second);
    write_file(f, TENANT_A, "checkpoint", all.bytes + first, second);
    assert_lie(f, TENANT_A, AUDIT_MISSING, SECOND);
}

static void
a_whole_log_that_is_gone_is_found(void **state)
{
    struct fixture *f = *state;
    scoped_buffer path = { 0 };

    add_file_path(&path, f, TENANT_B, "");
    scratch_remove(path.bytes);
    assert_lie(f, TENANT_B, AUDIT_MISSING, 0);
}

static void
append_note(const struct fixture *f, const char *origin, uint64_t size,
            uint8_t root, const struct sign_key *key)
{
    struct checkpoint head = { .size = size, .root = { { root } } };
    scoped_buffer all = { 0 };

    (void)snprintf(head.origin, sizeof(head.origin), "%s", origin);
    read_file(f, origin, "checkpoints", &all);
    checkpoint_sign(&all, &head, key);
    write_file(f, origin, "checkpoints", all.bytes, all.size);
}

static void
a_forged_checkpoint_is_found(void **state)
{
    struct fixture *f = *state;

    append_note(f, TENANT_A, LAST, 1, &f->other);
    assert_lie(f, TENANT_A, AUDIT_FORGED, LAST);
}

static void
a_checkpoint_of_another_log_is_found(void **state)
{
    struct fixture *f = *state;
    scoped_buffer note = { 0 };

    read_file(f, TENANT_B, "checkpoint", &note);
    write_file(f, TENANT_A, "checkpoint", note.bytes, note.size);
    assert_lie(f, TENANT_A, AUDIT_FORGED, 0);
}

static void
an_edited_checkpoint_is_found(void **state)
{
    struct fixture *f = *state;

    flip_byte(f, TENANT_A, "checkpoint", sizeof(TENANT_A) + 1);
    assert_lie(f, TENANT_A, AUDIT_FORGED, 0);
}

/* Here the liar has the signer's key. */
static void
a_second_signed_head_of_the_same_size_is_a_fork(void **state)
{
    struct fixture *f = *state;

    append_note(f, TENANT_A, SECOND, 1, &f->key);
    assert_lie(f, TENANT_A, AUDIT_FORKED, SECOND);
}

static void
a_signed_head_that_never_was_this_logs_is_a_fork(void **state)
{
    struct fixture *f = *state;

    append_note(f, TENANT_A, 450, 1, &f->key);
    assert_lie(f, TENANT_A, AUDIT_FORKED, SECOND);
}

static void
a_rewritten_log_without_checkpoints_is_a_fork_of_the_committed_one(void **state)
{
    struct fixture *f = *state;
    char id[32], parent[32];
    struct record record = honest(TENANT_B, 20, id, parent);
    scoped_buffer path = { 0 };

    record.actor.id = "us_2";
    put(&f->b, 20, &record);
    add_file_path(&path, f, TENANT_B, "");
    scratch_remove(path.bytes);
    lay_down(f, &f->b, 0);
    assert_lie(f, TENANT_B, AUDIT_FORKED, 7);
}

static void
entries_that_the_platform_does_not_commit_in_time_are_found(void **state)
{
    struct fixture *f = *state;
    struct audit_report report;
    char id[32], parent[32];
    struct record late = honest(PLATFORM, f->platform.count, id, parent);

    grow(&f->b, 60);
    lay_down(f, &f->b, 50);
    sign_head(f, &f->b);
    assert_int_equal(verify(f, &report), 0);
    /* Entry 50 is 1 s younger than entry 49, and so on. */
    late.outcome.status = RECORD_SUCCESS;
    late.wall_ms = 1700000000000 + 50 * 1000 + AUDIT_VERIFY_COMMIT_MS;
    put(&f->platform, f->platform.count++, &late);
    lay_down(f, &f->platform, f->platform.count - 1);
    assert_int_equal(verify(f, &report), 0);
    late.seq++;
    late.wall_ms++;
    put(&f->platform, f->platform.count++, &late);
    lay_down(f, &f->platform, f->platform.count - 1);
    assert_lie(f, TENANT_B, AUDIT_UNCOMMITTED, 50);
}

/* Files as a reader finds them who read the head before the log grew. */
static void
a_log_that_grows_meanwhile_is_intact(void **state)
{
    struct fixture *f = *state;
    scoped_buffer head = { 0 };
    struct audit_report report;

    read_file(f, TENANT_A, "head", &head);
    grow(&f->a, LAST + 20);
    lay_down(f, &f->a, LAST);
    write_file(f, TENANT_A, "head", head.bytes, head.size);
    assert_int_equal(verify(f, &report), 0);
    assert_int_equal(report.count.records, LAST + 50 + 3);
    read_file(f, TENANT_B, "head", &head);
    grow(&f->b, 300);
    lay_down(f, &f->b, 50);
    write_file(f, TENANT_B, "head", head.bytes, head.size);
    assert_int_equal(verify(f, &report), 0);
}

static void
an_intent_without_outcome_is_found(void **state)
{
    struct fixture *f = *state;
    struct audit_report report;
    struct audit_verify_options options = { .keys = &f->verifier,
                                            .key_count = 1,
                                            .grace_ms =
                                                AUDIT_VERIFY_GRACE_MS };
    struct error err;

    /* Entry 603 is an intent, and nothing that follows closes it. */
    grow(&f->a, 604);
    f->a.count = 604;
    lay_down(f, &f->a, LAST);
    assert_lie(f, TENANT_A, AUDIT_OPEN, 603);
    assert_int_equal(audit_verify(f->directory, &options, &report, &err), 0);
    assert_int_equal(report.count.open, 1);
}

static void
time_that_runs_backwards_within_a_boot_is_found(void **state)
{
    struct fixture *f = *state;
    char id[32], parent[32];
    struct record record = honest(TENANT_A, LAST, id, parent);

    record.mono_ms -= 1000;
    put(&f->a, LAST, &record);
    f->a.count = LAST + 1;
    lay_down(f, &f->a, LAST);
    assert_lie(f, TENANT_A, AUDIT_TIME, LAST);
}

static void
an_entry_of_another_log_is_found(void **state)
{
    struct fixture *f = *state;
    char id[32], parent[32];
    struct record record = honest(TENANT_B, LAST, id, parent);

    put(&f->a, LAST, &record);
    f->a.count = LAST + 1;
    lay_down(f, &f->a, LAST);
    assert_lie(f, TENANT_A, AUDIT_EDITED, LAST);
}

static void
missing_and_damaged_files_are_found(void **state)
{
    struct fixture *f = *state;
    scoped_buffer path = { 0 }, bundle = { 0 };

    read_file(f, TENANT_A, "tile/entries/001", &bundle);
    write_file(f, TENANT_A, "tile/entries/001", bundle.bytes,
               bundle.size - 1);
    assert_lie(f, TENANT_A, AUDIT_TRUNCATED, 511);
    write_file(f, TENANT_A, "tile/entries/001", bundle.bytes, bundle.size);
    add_file_path(&path, f, TENANT_A, "personal/001");
    assert_int_equal(unlink(path.bytes), 0);
    assert_lie(f, TENANT_A, AUDIT_DAMAGED, 256);
    buffer_clear(&path);
    add_file_path(&path, f, TENANT_A, "tile/entries/001");
    assert_int_equal(unlink(path.bytes), 0);
    assert_lie(f, TENANT_A, AUDIT_DELETED, 256);
    write_file(f, TENANT_A, "head", "", 0);
    assert_int_equal(verify(f, &(struct audit_report){ 0 }), -1);
}

static void
one_tenant_is_verified_without_the_others(void **state)
{
    struct fixture *f = *state;
    struct audit_report report;
    struct audit_verify_options options = { .keys = &f->verifier,
                                            .key_count = 1,
                                            .tenant = "tn_a" };
    scoped_buffer path = { 0 };
    struct error err;

    add_file_path(&path, f, TENANT_B, "");
    scratch_remove(path.bytes);
    assert_int_equal(audit_verify(f->directory, &options, &report, &err), 0);
    assert_int_equal(report.logs, 2);
    assert_int_equal(report.heads, 3);
    buffer_clear(&path);
    add_file_path(&path, f, PLATFORM, "");
    scratch_remove(path.bytes);
    assert_int_equal(audit_verify(f->directory, &options, &report, &err), 0);
    assert_false(report.platform);
    options.tenant = "tn_none";
    assert_int_equal(audit_verify(f->directory, &options, &report, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
}

static void
a_witness_must_have_cosigned(void **state)
{
    struct fixture *f = *state;
    const struct memory_log *logs[] = { &f->platform, &f->a, &f->b };
    struct checkpoint_key witness = { "w.org", { 0 }, true };
    struct audit_verify_options options = { .keys = &f->verifier,
                                            .key_count = 1,
                                            .witness = &witness };
    struct audit_report report;
    struct error err;

    memcpy(witness.public_key, f->other.public_key, SIGN_PUBLIC_SIZE);
    assert_int_equal(audit_verify(f->directory, &options, &report, &err), -1);
    assert_int_equal(report.finding.lie, AUDIT_UNWITNESSED);
    for (size_t i = 0; i < 3; i++) {
        struct checkpoint head = head_of(logs[i]);
        scoped_buffer note = { 0 };

        read_file(f, logs[i]->origin, "checkpoint", &note);
        checkpoint_cosign(&note, &head, witness.name, &f->other, 1700000000);
        write_file(f, logs[i]->origin, "checkpoint", note.bytes, note.size);
    }
    assert_int_equal(audit_verify(f->directory, &options, &report, &err), 0);
}

static void
keys_are_read_from_text_or_a_file(void **state)
{
    struct fixture *f = *state;
    struct checkpoint_key keys[2];
    scoped_buffer text = { 0 }, path = { 0 }, two = { 0 };
    struct error err;

    (void)snprintf(f->verifier.name, sizeof(f->verifier.name), PLATFORM);
    checkpoint_add_key(&text, &f->verifier);
    assert_int_equal(audit_verify_keys(text.bytes, keys, 2, &err), 1);
    assert_string_equal(keys[0].name, PLATFORM);
    buffer_printf(&path, "%s/signers", f->directory);
    buffer_printf(&two, "%s\n\n%s\n", text.bytes, text.bytes);
    assert_int_equal(file_write(path.bytes, two.bytes, two.size, 0600, &err),
                     0);
    assert_int_equal(audit_verify_keys(path.bytes, keys, 2, &err), 2);
    assert_int_equal(audit_verify_keys(path.bytes, keys, 1, &err), -1);
    assert_int_equal(file_write(path.bytes, "x\n", 2, 0600, &err), 0);
    assert_int_equal(audit_verify_keys(path.bytes, keys, 2, &err), -1);
    assert_int_equal(file_write(path.bytes, "\n", 1, 0600, &err), 0);
    assert_int_equal(audit_verify_keys(path.bytes, keys, 2, &err), -1);
    assert_int_equal(audit_verify_keys("/nowhere", keys, 2, &err), -1);
}

/* --- restores --- */

#define AGAIN "e.org~1800/tn_b"
#define RESTORED 30

/* Tenant B as it is after a restore to its first 30 entries: entries that say
 * so (or not), under the name of the new epoch. */
static void
restore(struct fixture *f, bool declared, bool true_head)
{
    struct memory_log *b = &f->b;
    struct digest root;
    scoped_buffer facts = { 0 };
    char id[32], parent[32];
    struct record record;
    struct digest leaf;

    b->count = RESTORED;
    memset(&b->tree, 0, sizeof(b->tree));
    for (size_t i = 0; i < RESTORED; i++) {
        record_leaf(b->entry[i].bytes, b->entry[i].size, &leaf);
        merkle_append(&b->tree, &leaf);
    }
    merkle_root(&b->tree, &root);
    root.bytes[5] ^= true_head ? 0 : 1;
    record_add_head(&facts, TENANT_B, RESTORED, &root);
    b->origin = AGAIN;
    record = honest(AGAIN, RESTORED, id, parent);
    if (declared) {
        record.action.verb = RECORD_VERB_EPOCH;
        record.facts = facts.bytes;
    }
    put(b, RESTORED, &record);
    record_leaf(b->entry[RESTORED].bytes, b->entry[RESTORED].size, &leaf);
    merkle_append(&b->tree, &leaf);
    b->count++;
    grow(b, 40);
    lay_down(f, b, 0);
    sign_head(f, b);
}

/* The directory of the epoch before lies with what was moved aside. */
static void
move_aside(const struct fixture *f, const char *origin)
{
    scoped_buffer path = { 0 };

    add_file_path(&path, f, origin, "");
    scratch_remove(path.bytes);
}

static void
a_declared_restore_is_intact(void **state)
{
    struct fixture *f = *state;
    struct audit_report report;

    restore(f, true, true);
    assert_int_equal(verify(f, &report), 0);
}

static void
an_undeclared_restore_is_found_where_it_begins(void **state)
{
    struct fixture *f = *state;

    restore(f, false, true);
    assert_lie(f, AGAIN, AUDIT_UNDECLARED, RESTORED);
}

static void
a_restore_that_names_another_head_is_found(void **state)
{
    struct fixture *f = *state;

    restore(f, true, false);
    assert_lie(f, AGAIN, AUDIT_UNDECLARED, RESTORED);
}

/* The platform committed to 50 entries of the epoch before; 40 of the new one
 * are there, so somebody has to show the old log. */
static void
a_restored_log_keeps_what_the_platform_committed(void **state)
{
    struct fixture *f = *state;

    restore(f, true, true);
    move_aside(f, TENANT_B);
    assert_lie(f, AGAIN, AUDIT_MISSING, 40);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        LOGS_TEST(an_honest_directory_is_intact),
        LOGS_TEST(a_declared_restore_is_intact),
        LOGS_TEST(an_undeclared_restore_is_found_where_it_begins),
        LOGS_TEST(a_restore_that_names_another_head_is_found),
        LOGS_TEST(a_restored_log_keeps_what_the_platform_committed),
        LOGS_TEST(entries_behind_the_last_checkpoint_are_counted),
        LOGS_TEST(an_edited_entry_is_found_where_it_is),
        LOGS_TEST(
            an_edit_with_all_hashes_redone_is_found_by_the_next_checkpoint),
        LOGS_TEST(an_edited_person_is_found_and_an_erased_one_is_not_a_lie),
        LOGS_TEST(an_edited_tile_is_found),
        LOGS_TEST(a_deleted_entry_is_found_where_it_was),
        LOGS_TEST(a_deleted_entry_with_the_rest_renumbered_is_found),
        LOGS_TEST(reordered_entries_are_found),
        LOGS_TEST(a_truncated_log_is_found_by_its_checkpoint),
        LOGS_TEST(
            a_dropped_tail_with_its_checkpoints_is_found_by_the_platform),
        LOGS_TEST(a_whole_log_that_is_gone_is_found),
        LOGS_TEST(a_forged_checkpoint_is_found),
        LOGS_TEST(a_checkpoint_of_another_log_is_found),
        LOGS_TEST(an_edited_checkpoint_is_found),
        LOGS_TEST(a_second_signed_head_of_the_same_size_is_a_fork),
        LOGS_TEST(a_signed_head_that_never_was_this_logs_is_a_fork),
        LOGS_TEST(
            a_rewritten_log_without_checkpoints_is_a_fork_of_the_committed_one),
        LOGS_TEST(
            entries_that_the_platform_does_not_commit_in_time_are_found),
        LOGS_TEST(a_log_that_grows_meanwhile_is_intact),
        LOGS_TEST(an_intent_without_outcome_is_found),
        LOGS_TEST(time_that_runs_backwards_within_a_boot_is_found),
        LOGS_TEST(an_entry_of_another_log_is_found),
        LOGS_TEST(missing_and_damaged_files_are_found),
        LOGS_TEST(one_tenant_is_verified_without_the_others),
        LOGS_TEST(a_witness_must_have_cosigned),
        LOGS_TEST(keys_are_read_from_text_or_a_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
