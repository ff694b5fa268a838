/* SPDX-License-Identifier: Apache-2.0 */
/* Root edits the files of the audit logs; each lie is found and named.  The
 * liar may write any file but has no signing key, except where a test says
 * so. */
#include "cli/audit_verify.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "core/merkle.h"
#include "identity/audit_dir.h"
#include "tests/unit/scratch.h"

#define PLATFORM "e.org/platform"
#define TENANT_A "e.org/tn_a"
#define TENANT_B "e.org/tn_b"
#define ENTRIES_MAX 700
/* Entries of tenant A at its three checkpoints. */
#define FIRST 100
#define SECOND 300
#define LAST 600

struct memory_log {
    const char *origin;
    size_t count;
    struct buffer entry[ENTRIES_MAX];
    struct buffer personal[ENTRIES_MAX];
    struct merkle tree;
};

struct fixture {
    char directory[SCRATCH_MAX];
    struct sign_key key, other;
    struct checkpoint_key verifier;
    struct memory_log platform, a, b;
};

/* Entry `seq` as an honest daemon writes it: every tenth is an intent that the
 * next one closes. */
static struct record
honest(const char *origin, uint64_t seq, char id[32], char parent[32])
{
    struct record record = {
        .log = origin,
        .seq = seq,
        .id = id,
        .wall_ms = 1700000000000 + 1000 * (int64_t)seq,
        .mono_ms = 50 * (int64_t)(seq % 400),
        .boot = seq < 400 ? "boot-1" : "boot-2",
        .actor = { .id = "us_1", .kind = "user", .name = "Ada" },
        .source = { .ip = "192.0.2.1" },
        .action = { "workload.create", "/api/v1/workloads", "POST" },
        .decision = { .allow = true, .reason = "granted" },
        .outcome = { seq % 10 == 3 ? RECORD_PENDING : RECORD_SUCCESS, "ok" },
    };

    (void)snprintf(id, 32, "au_%" PRIu64, seq);
    (void)snprintf(parent, 32, "au_%" PRIu64, seq - 1);
    if (seq % 10 == 4)
        record.links.parent = parent;
    return record;
}

static void
put(struct memory_log *log, size_t at, const struct record *record)
{
    struct record_salts salts = { { 1 }, { 2 } };
    struct error err;

    salts.entry[1] = (uint8_t)at;
    salts.entry[2] = (uint8_t)(at >> 8);
    buffer_clear(&log->entry[at]);
    buffer_clear(&log->personal[at]);
    assert_int_equal(record_encode(record, &salts, &log->entry[at],
                                   &log->personal[at], &err),
                     0);
}

static void
grow(struct memory_log *log, size_t to)
{
    for (; log->count < to; log->count++) {
        char id[32], parent[32];
        struct record record = honest(log->origin, log->count, id, parent);
        struct digest leaf;

        put(log, log->count, &record);
        record_leaf(log->entry[log->count].bytes, log->entry[log->count].size,
                    &leaf);
        merkle_append(&log->tree, &leaf);
    }
}

/* Lays the entries from `from` on down as they are in memory. */
static void
lay_down(const struct fixture *f, const struct memory_log *log, size_t from)
{
    struct audit_entry entries[ENTRIES_MAX];
    struct audit_dir dir;
    struct error err = { 0 };

    for (size_t i = from; i < log->count; i++)
        entries[i - from] = (struct audit_entry){
            log->entry[i].bytes, log->entry[i].size, log->personal[i].bytes,
            log->personal[i].size
        };
    assert_int_equal(audit_dir_open(&dir, f->directory, log->origin, &err),
                     0);
    if (audit_dir_append(&dir, from, entries, log->count - from, &err) != 0)
        fail_msg("%s", err.text);
    audit_dir_close(&dir);
}

static struct checkpoint
head_of(const struct memory_log *log)
{
    struct checkpoint head = { .size = log->tree.size };

    (void)snprintf(head.origin, sizeof(head.origin), "%s", log->origin);
    merkle_root(&log->tree, &head.root);
    return head;
}

static void
sign_head(const struct fixture *f, const struct memory_log *log)
{
    struct checkpoint head = head_of(log);
    scoped_buffer note = { 0 };
    struct audit_dir dir;
    struct error err = { 0 };

    checkpoint_sign(&note, &head, &f->key);
    assert_int_equal(audit_dir_open(&dir, f->directory, log->origin, &err),
                     0);
    if (audit_dir_add_checkpoint(&dir, note.bytes, note.size, &err) != 0)
        fail_msg("%s", err.text);
    audit_dir_close(&dir);
}

/* One heartbeat: the tenants grow, the platform commits their heads, all
 * heads are signed. */
static void
beat(struct fixture *f, size_t a, size_t b)
{
    struct memory_log *logs[] = { &f->a, &f->b };
    const size_t from_a = f->a.count, from_b = f->b.count;
    const size_t from = f->platform.count;
    scoped_buffer facts = { 0 };
    char id[32], parent[32];
    struct record heads;
    struct digest leaf;

    grow(&f->a, a);
    grow(&f->b, b);
    for (size_t i = 0; i < 2; i++) {
        struct checkpoint head = head_of(logs[i]);

        record_add_head(&facts, head.origin, head.size, &head.root);
    }
    heads = honest(PLATFORM, from, id, parent);
    heads.action.verb = RECORD_VERB_HEADS;
    heads.facts = facts.bytes;
    put(&f->platform, from, &heads);
    record_leaf(f->platform.entry[from].bytes, f->platform.entry[from].size,
                &leaf);
    merkle_append(&f->platform.tree, &leaf);
    f->platform.count++;
    lay_down(f, &f->a, from_a);
    lay_down(f, &f->b, from_b);
    lay_down(f, &f->platform, from);
    sign_head(f, &f->platform);
    sign_head(f, &f->a);
    sign_head(f, &f->b);
}

static int
setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    scoped_buffer path = { 0 };
    struct error err;

    assert_non_null(f);
    scratch_make(f->directory, "audit-verify");
    buffer_printf(&path, "%s/key", f->directory);
    assert_int_equal(sign_key_open(path.bytes, &f->key, &err), 0);
    assert_int_equal(unlink(path.bytes), 0);
    assert_int_equal(sign_key_open(path.bytes, &f->other, &err), 0);
    memcpy(f->verifier.public_key, f->key.public_key, SIGN_PUBLIC_SIZE);
    f->platform.origin = PLATFORM;
    f->a.origin = TENANT_A;
    f->b.origin = TENANT_B;
    beat(f, FIRST, 7);
    beat(f, SECOND, 7);
    beat(f, LAST, 50);
    *state = f;
    return 0;
}

static int
teardown(void **state)
{
    struct fixture *f = *state;
    struct memory_log *logs[] = { &f->platform, &f->a, &f->b };

    for (size_t i = 0; i < 3; i++) {
        for (size_t j = 0; j < ENTRIES_MAX; j++) {
            buffer_release(&logs[i]->entry[j]);
            buffer_release(&logs[i]->personal[j]);
        }
    }
    scratch_remove(f->directory);
    free(f);
    return 0;
}

static int
verify(const struct fixture *f, struct audit_report *report)
{
    const struct audit_verify_options options = { &f->verifier, 1, NULL, NULL,
                                                  0 };
    struct error err = { 0 };
    int result = audit_verify(f->directory, &options, report, &err);

    if (result != 0)
        assert_int_equal(error_exit_code(err.code), 9);
    return result;
}

static void
assert_lie(const struct fixture *f, const char *log, enum audit_lie lie,
           uint64_t index)
{
    struct audit_report report;

    assert_int_equal(verify(f, &report), -1);
    assert_string_equal(audit_lie_text(report.finding.lie),
                        audit_lie_text(lie));
    assert_string_equal(report.finding.log, log);
    assert_int_equal(report.finding.index, index);
    assert_true(report.finding.text[0] != '\0');
}

static void
add_file_path(struct buffer *out, const struct fixture *f, const char *origin,
              const char *name)
{
    buffer_printf(out, "%s/", f->directory);
    checkpoint_add_file_name(out, origin);
    buffer_printf(out, "/%s", name);
}

static void
read_file(const struct fixture *f, const char *origin, const char *name,
          struct buffer *out)
{
    scoped_buffer path = { 0 };
    struct error err;

    add_file_path(&path, f, origin, name);
    buffer_clear(out);
    assert_int_equal(file_read(path.bytes, (size_t)1 << 24, out, &err), 0);
}

static void
write_file(const struct fixture *f, const char *origin, const char *name,
           const void *bytes, size_t size)
{
    scoped_buffer path = { 0 };
    struct error err;

    add_file_path(&path, f, origin, name);
    assert_int_equal(file_write(path.bytes, bytes, size, 0600, &err), 0);
}

static void
flip_byte(const struct fixture *f, const char *origin, const char *name,
          size_t at)
{
    scoped_buffer bytes = { 0 };

    read_file(f, origin, name, &bytes);
    assert_true(at < bytes.size);
    bytes.bytes[at] = (char)(bytes.bytes[at] ^ 1);
    write_file(f, origin, name, bytes.bytes, bytes.size);
}

/* The liar writes the log anew from memory, with all hashes right, and puts
 * the old signed checkpoints back. */
static void
rebuild(const struct fixture *f, const struct memory_log *log)
{
    scoped_buffer all = { 0 }, newest = { 0 }, path = { 0 };

    read_file(f, log->origin, "checkpoints", &all);
    read_file(f, log->origin, "checkpoint", &newest);
    add_file_path(&path, f, log->origin, "");
    scratch_remove(path.bytes);
    lay_down(f, log, 0);
    write_file(f, log->origin, "checkpoints", all.bytes, all.size);
    write_file(f, log->origin, "checkpoint", newest.bytes, newest.size);
}

static void
drop_entry(struct memory_log *log, size_t at)
{
    struct buffer entry = log->entry[at], personal = log->personal[at];
    size_t after = log->count - at - 1;

    memmove(&log->entry[at], &log->entry[at + 1], after * sizeof(entry));
    memmove(&log->personal[at], &log->personal[at + 1],
            after * sizeof(entry));
    log->count--;
    log->entry[log->count] = entry;
    log->personal[log->count] = personal;
}

static void
swap_entries(struct memory_log *log, size_t a, size_t b)
{
    struct buffer entry = log->entry[a], personal = log->personal[a];

    log->entry[a] = log->entry[b];
    log->personal[a] = log->personal[b];
    log->entry[b] = entry;
    log->personal[b] = personal;
}

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
    struct audit_verify_options options = { &f->verifier, 1, NULL, NULL,
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
    add_file_path(&path, f, TENANT_A, "tile/entries/001");
    assert_int_equal(unlink(path.bytes), 0);
    assert_lie(f, TENANT_A, AUDIT_DAMAGED, 256);
    write_file(f, TENANT_A, "head", "", 0);
    assert_int_equal(verify(f, &(struct audit_report){ 0 }), -1);
}

static void
one_tenant_is_verified_without_the_others(void **state)
{
    struct fixture *f = *state;
    struct audit_report report;
    struct audit_verify_options options = { &f->verifier, 1, NULL, "tn_a",
                                            0 };
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
    struct audit_verify_options options = { &f->verifier, 1, &witness, NULL,
                                            0 };
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

#define VERIFY_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

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
        VERIFY_TEST(an_honest_directory_is_intact),
        VERIFY_TEST(a_declared_restore_is_intact),
        VERIFY_TEST(an_undeclared_restore_is_found_where_it_begins),
        VERIFY_TEST(a_restore_that_names_another_head_is_found),
        VERIFY_TEST(a_restored_log_keeps_what_the_platform_committed),
        VERIFY_TEST(entries_behind_the_last_checkpoint_are_counted),
        VERIFY_TEST(an_edited_entry_is_found_where_it_is),
        VERIFY_TEST(
            an_edit_with_all_hashes_redone_is_found_by_the_next_checkpoint),
        VERIFY_TEST(an_edited_person_is_found_and_an_erased_one_is_not_a_lie),
        VERIFY_TEST(an_edited_tile_is_found),
        VERIFY_TEST(a_deleted_entry_is_found_where_it_was),
        VERIFY_TEST(a_deleted_entry_with_the_rest_renumbered_is_found),
        VERIFY_TEST(reordered_entries_are_found),
        VERIFY_TEST(a_truncated_log_is_found_by_its_checkpoint),
        VERIFY_TEST(
            a_dropped_tail_with_its_checkpoints_is_found_by_the_platform),
        VERIFY_TEST(a_whole_log_that_is_gone_is_found),
        VERIFY_TEST(a_forged_checkpoint_is_found),
        VERIFY_TEST(a_checkpoint_of_another_log_is_found),
        VERIFY_TEST(an_edited_checkpoint_is_found),
        VERIFY_TEST(a_second_signed_head_of_the_same_size_is_a_fork),
        VERIFY_TEST(a_signed_head_that_never_was_this_logs_is_a_fork),
        VERIFY_TEST(
            a_rewritten_log_without_checkpoints_is_a_fork_of_the_committed_one),
        VERIFY_TEST(
            entries_that_the_platform_does_not_commit_in_time_are_found),
        VERIFY_TEST(a_log_that_grows_meanwhile_is_intact),
        VERIFY_TEST(an_intent_without_outcome_is_found),
        VERIFY_TEST(time_that_runs_backwards_within_a_boot_is_found),
        VERIFY_TEST(an_entry_of_another_log_is_found),
        VERIFY_TEST(missing_and_damaged_files_are_found),
        VERIFY_TEST(one_tenant_is_verified_without_the_others),
        VERIFY_TEST(a_witness_must_have_cosigned),
        VERIFY_TEST(keys_are_read_from_text_or_a_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
