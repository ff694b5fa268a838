/* SPDX-License-Identifier: Apache-2.0 */
/* What was pruned by policy verifies; what was removed otherwise, or pruned
 * beyond the policy, is a lie. */
#include "cli/audit_proof.h"
#include "tests/unit/cli/audit_logs.h"

#define DAYS_90 (90 * RETENTION_DAY_MS)
/* Entry 512 is the first behind two bundles. */
#define BELOW 512
#define BELOW_MS (1700000000000 + 1000 * (int64_t)BELOW)

static void
append(struct memory_log *log, const char *verb, const char *facts,
       int64_t wall_ms)
{
    char id[32], parent[32];
    struct record record = honest(log->origin, log->count, id, parent);
    struct digest leaf;

    record.action.verb = verb;
    record.facts = facts;
    record.wall_ms = wall_ms;
    record.boot = "boot-3";
    record.outcome.status = RECORD_SUCCESS;
    put(log, log->count, &record);
    record_leaf(log->entry[log->count].bytes, log->entry[log->count].size,
                &leaf);
    merkle_append(&log->tree, &leaf);
    log->count++;
}

static void
say_policy(struct memory_log *log, int64_t keep_ms, bool hold,
           int64_t wall_ms)
{
    const struct retention_policy policy = { keep_ms, hold };
    scoped_buffer facts = { 0 };

    retention_add_policy(&facts, &policy);
    append(log, RETENTION_VERB_KEEP, facts.bytes, wall_ms);
}

/* The head of the entries below, from memory. */
static struct digest
root_below(const struct memory_log *log, uint64_t below)
{
    struct merkle tree = { 0 };
    struct digest root;

    for (uint64_t i = 0; i < below; i++) {
        struct digest leaf;

        record_leaf(log->entry[i].bytes, log->entry[i].size, &leaf);
        merkle_append(&tree, &leaf);
    }
    merkle_root(&tree, &root);
    return root;
}

static struct retention_pruning
pruning_of(const struct memory_log *log, uint64_t below, int64_t keep_ms)
{
    struct retention_pruning pruning = { .below = below,
                                         .root = root_below(log, below),
                                         .rule = { keep_ms, false } };

    (void)snprintf(pruning.origin, sizeof(pruning.origin), "%s",
                   log->origin);
    return pruning;
}

static void
say_pruning(struct memory_log *log, const struct retention_pruning *pruning,
            int64_t wall_ms)
{
    scoped_buffer facts = { 0 };

    retention_add_pruning(&facts, pruning);
    append(log, RETENTION_VERB_PRUNE, facts.bytes, wall_ms);
}

/* What is in memory is laid down and signed. */
static void
publish(const struct fixture *f, const struct memory_log *log, size_t from)
{
    lay_down(f, log, from);
    sign_head(f, log);
}

static void
remove_bundle(const struct fixture *f, const char *origin, unsigned number)
{
    static const char *const kinds[] = { "tile/entries", "personal" };

    for (size_t i = 0; i < 2; i++) {
        scoped_buffer path = { 0 };
        char name[64];

        (void)snprintf(name, sizeof(name), "%s/%03u", kinds[i], number);
        add_file_path(&path, f, origin, name);
        assert_int_equal(unlink(path.bytes), 0);
    }
}

/* Tenant A's log says that two bundles are pruned, of a policy of 90 days,
 * when the first entry behind them is just old enough. */
static void
prune(struct fixture *f)
{
    const struct retention_pruning pruning =
        pruning_of(&f->a, BELOW, DAYS_90);

    say_policy(&f->a, DAYS_90, false, BELOW_MS);
    say_pruning(&f->a, &pruning, BELOW_MS + DAYS_90);
    publish(f, &f->a, LAST);
}

static void
what_a_policy_pruned_verifies_and_is_told(void **state)
{
    struct fixture *f = *state;
    struct audit_report report;
    const struct audit_pruned *pruned = report.count.prunings;

    prune(f);
    assert_int_equal(verify(f, &report), 0);
    assert_int_equal(report.count.pruned, 0); /* said, and not done yet */
    remove_bundle(f, TENANT_A, 0);
    assert_int_equal(verify(f, &report), 0);
    assert_int_equal(report.count.pruned, 256);
    remove_bundle(f, TENANT_A, 1);
    if (verify(f, &report) != 0)
        fail_msg("%s", report.finding.text);
    /* 3 of the platform, 602 of A, 50 of B */
    assert_int_equal(report.count.records, 3 + LAST + 2 + 50);
    assert_int_equal(report.count.pruned, 512);
    assert_int_equal(report.count.pruning_count, 1);
    assert_string_equal(pruned->log, TENANT_A);
    assert_int_equal(pruned->from, 0);
    assert_int_equal(pruned->to, 512);
    assert_int_equal(pruned->records, 512);
    assert_int_equal(pruned->index, LAST + 1);
    assert_int_equal(pruned->recorded_ms, BELOW_MS + DAYS_90);
    assert_int_equal(pruned->keep_ms, DAYS_90);
    assert_false(pruned->elsewhere);
}

static void
what_was_removed_and_nobody_says_so_is_deleted(void **state)
{
    struct fixture *f = *state;

    remove_bundle(f, TENANT_A, 0);
    assert_lie(f, TENANT_A, AUDIT_DELETED, 0);
}

static void
what_was_removed_beyond_the_record_is_deleted(void **state)
{
    struct fixture *f = *state;
    const struct retention_pruning pruning = pruning_of(&f->a, 256, DAYS_90);

    say_pruning(&f->a, &pruning, BELOW_MS + DAYS_90);
    publish(f, &f->a, LAST);
    remove_bundle(f, TENANT_A, 0);
    assert_int_equal(verify(f, &(struct audit_report){ 0 }), 0);
    remove_bundle(f, TENANT_A, 1);
    assert_lie(f, TENANT_A, AUDIT_DELETED, 256);
}

static void
what_is_pruned_a_millisecond_too_early_is_told(void **state)
{
    struct fixture *f = *state;
    const struct retention_pruning pruning =
        pruning_of(&f->a, BELOW, DAYS_90);

    say_pruning(&f->a, &pruning, BELOW_MS + DAYS_90 - 1);
    publish(f, &f->a, LAST);
    assert_lie(f, TENANT_A, AUDIT_PRUNED, LAST);
    remove_bundle(f, TENANT_A, 0);
    remove_bundle(f, TENANT_A, 1);
    assert_lie(f, TENANT_A, AUDIT_PRUNED, LAST);
}

static void
no_policy_may_be_below_the_least(void **state)
{
    struct fixture *f = *state;
    const int64_t keep_ms = DAYS_90 - RETENTION_DAY_MS;
    const struct retention_pruning pruning =
        pruning_of(&f->a, BELOW, keep_ms);

    say_policy(&f->a, keep_ms, false, BELOW_MS);
    say_pruning(&f->a, &pruning, BELOW_MS + DAYS_90);
    publish(f, &f->a, LAST);
    assert_lie(f, TENANT_A, AUDIT_PRUNED, LAST + 1);
}

/* The policy is in the log: who prunes by another one is found. */
static void
a_pruning_by_another_policy_than_the_logs_is_told(void **state)
{
    struct fixture *f = *state;
    const struct retention_pruning pruning =
        pruning_of(&f->a, BELOW, DAYS_90);

    say_policy(&f->a, 2 * DAYS_90, false, BELOW_MS);
    say_pruning(&f->a, &pruning, BELOW_MS + 3 * DAYS_90);
    publish(f, &f->a, LAST);
    assert_lie(f, TENANT_A, AUDIT_PRUNED, LAST + 1);
}

static void
a_pruning_under_a_hold_is_told(void **state)
{
    struct fixture *f = *state;
    const struct retention_pruning pruning =
        pruning_of(&f->a, BELOW, DAYS_90);

    say_policy(&f->a, DAYS_90, true, BELOW_MS);
    say_pruning(&f->a, &pruning, BELOW_MS + DAYS_90);
    publish(f, &f->a, LAST);
    assert_lie(f, TENANT_A, AUDIT_PRUNED, LAST + 1);
}

static void
a_pruning_by_a_policy_that_the_platform_did_not_say_is_told(void **state)
{
    struct fixture *f = *state;
    struct retention_pruning pruning = pruning_of(&f->a, BELOW, DAYS_90);
    const int64_t said_ms = 1700000000000 + 1000 * 3;

    pruning.rule.platform = true;
    say_pruning(&f->a, &pruning, BELOW_MS + DAYS_90);
    publish(f, &f->a, LAST);
    assert_int_equal(verify(f, &(struct audit_report){ 0 }), 0);
    say_policy(&f->platform, DAYS_90, false, said_ms);
    publish(f, &f->platform, 3);
    assert_int_equal(verify(f, &(struct audit_report){ 0 }), 0);
    say_policy(&f->platform, 2 * DAYS_90, false, said_ms);
    publish(f, &f->platform, 4);
    assert_lie(f, TENANT_A, AUDIT_PRUNED, LAST);
}

static void
a_pruning_that_names_another_head_is_told(void **state)
{
    struct fixture *f = *state;
    struct retention_pruning pruning = pruning_of(&f->a, BELOW, DAYS_90);

    pruning.root.bytes[0] ^= 1;
    say_pruning(&f->a, &pruning, BELOW_MS + DAYS_90);
    publish(f, &f->a, LAST);
    assert_lie(f, TENANT_A, AUDIT_PRUNED, LAST);
}

static void
a_hash_of_what_is_pruned_cannot_be_edited(void **state)
{
    struct fixture *f = *state;

    prune(f);
    remove_bundle(f, TENANT_A, 0);
    remove_bundle(f, TENANT_A, 1);
    flip_byte(f, TENANT_A, "tile/0/000", 100 * DIGEST_SIZE);
    assert_lie(f, TENANT_A, AUDIT_EDITED, 0);
    flip_byte(f, TENANT_A, "tile/0/000", 100 * DIGEST_SIZE);
    flip_byte(f, TENANT_A, "tile/entries/002.p/90", 500);
    assert_int_equal(verify(f, &(struct audit_report){ 0 }), -1);
}

/* Nobody writes into the log of a tenant that is gone. */
static void
the_platforms_log_tells_of_a_tenant_that_is_gone(void **state)
{
    struct fixture *f = *state;
    struct retention_pruning pruning = pruning_of(&f->a, BELOW, DAYS_90);
    struct audit_report report;

    pruning.rule.platform = true;
    remove_bundle(f, TENANT_A, 0);
    remove_bundle(f, TENANT_A, 1);
    assert_lie(f, TENANT_A, AUDIT_DELETED, 0);
    /* Each is said at once after the silence of its log. */
    append(&f->platform, RECORD_VERB_START, NULL, BELOW_MS + DAYS_90);
    say_policy(&f->platform, DAYS_90, false, BELOW_MS + DAYS_90);
    say_pruning(&f->platform, &pruning, BELOW_MS + DAYS_90);
    publish(f, &f->platform, 3);
    if (verify(f, &report) != 0)
        fail_msg("%s", report.finding.text);
    assert_int_equal(report.count.pruned, 512);
    assert_true(report.count.prunings[0].elsewhere);
    assert_int_equal(report.count.prunings[0].index, 5);
}

static void
the_platforms_log_may_not_allow_too_much_either(void **state)
{
    struct fixture *f = *state;
    struct retention_pruning pruning = pruning_of(&f->a, BELOW, DAYS_90);

    pruning.rule.platform = true;
    remove_bundle(f, TENANT_A, 0);
    append(&f->platform, RECORD_VERB_START, NULL, BELOW_MS + DAYS_90 - 1);
    say_pruning(&f->platform, &pruning, BELOW_MS + DAYS_90 - 1);
    publish(f, &f->platform, 3);
    assert_int_equal(verify(f, &(struct audit_report){ 0 }), -1);
}

static struct audit_dir
open_a(const struct fixture *f)
{
    struct audit_dir log;
    struct error err;

    assert_int_equal(audit_dir_open(&log, f->directory, TENANT_A, &err), 0);
    return log;
}

/* A proof of before holds, what stays is proven anew, later heads are proven
 * to extend the ones that were signed before. */
static void
proofs_hold_over_a_pruning(void **state)
{
    struct fixture *f = *state;
    scoped_buffer before = { 0 }, later = { 0 };
    struct audit_proof proof;
    struct audit_dir log;
    struct merkle_proof path;
    struct merkle old;
    struct digest root, now;
    struct error err;

    assert_int_equal(
        audit_proof_make(f->directory, TENANT_A, 3, &before, &err), 0);
    prune(f);
    remove_bundle(f, TENANT_A, 0);
    remove_bundle(f, TENANT_A, 1);
    assert_int_equal(audit_proof_check(before.bytes, before.size,
                                       f->key.public_key, &proof, &err),
                     0);
    assert_int_equal(proof.record.seq, 3);
    buffer_release(&proof.entry);
    assert_int_equal(
        audit_proof_make(f->directory, TENANT_A, 3, &later, &err), -1);
    assert_int_equal(err.code, ERROR_GONE);
    assert_int_equal(
        audit_proof_make(f->directory, TENANT_A, 520, &later, &err), 0);
    assert_int_equal(audit_proof_check(later.bytes, later.size,
                                       f->key.public_key, &proof, &err),
                     0);
    buffer_release(&proof.entry);
    log = open_a(f);
    assert_int_equal(merkle_prove_consistency(audit_dir_read_node, &log,
                                              FIRST, LAST + 2, &path, &err),
                     0);
    assert_int_equal(
        merkle_load(audit_dir_read_node, &log, FIRST, &old, &err), 0);
    merkle_root(&old, &root);
    merkle_root(&log.tree, &now);
    assert_true(merkle_check_consistency(FIRST, &root, LAST + 2, &now,
                                         path.hash, path.count));
    audit_dir_close(&log);
}

/* As an export has it that begins after the pruning, and one that began
 * before: the bundle in which it stopped cannot be made whole. */
static void
a_copy_is_made_of_hashes_and_what_is_left(void **state)
{
    struct fixture *f = *state;
    static const size_t starts[] = { 0, 100, 256 };

    prune(f);
    for (size_t i = 0; i < 3; i++) {
        struct audit_entry entries[ENTRIES_MAX] = { { 0 } };
        struct digest leaves[ENTRIES_MAX];
        struct audit_dir copy;
        char directory[SCRATCH_MAX];
        struct error err;

        scratch_make(directory, "copy");
        for (size_t j = 0; j < f->a.count; j++) {
            const bool whole = j < starts[i] || j >= BELOW;

            record_leaf(f->a.entry[j].bytes, f->a.entry[j].size, &leaves[j]);
            entries[j].leaf = &leaves[j];
            entries[j].entry = whole ? f->a.entry[j].bytes : NULL;
            entries[j].size = f->a.entry[j].size;
            entries[j].personal = f->a.personal[j].bytes;
            entries[j].personal_size = f->a.personal[j].size;
        }
        assert_int_equal(audit_dir_open(&copy, directory, TENANT_A, &err),
                         0);
        assert_int_equal(
            audit_dir_append(&copy, 0, entries, starts[i], &err), 0);
        /* No end within what is pruned: it could not go on there. */
        assert_int_equal(audit_dir_append(&copy, starts[i],
                                          entries + starts[i],
                                          300 - starts[i], &err),
                         -1);
        assert_int_equal(audit_dir_append(&copy, starts[i],
                                          entries + starts[i],
                                          f->a.count - starts[i], &err),
                         0);
        assert_int_equal(digest_compare(
                             &copy.tree.frontier[9],
                             &f->a.tree.frontier[9]), 0);
        audit_dir_close(&copy);
        scratch_remove(directory);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        LOGS_TEST(what_a_policy_pruned_verifies_and_is_told),
        LOGS_TEST(what_was_removed_and_nobody_says_so_is_deleted),
        LOGS_TEST(what_was_removed_beyond_the_record_is_deleted),
        LOGS_TEST(what_is_pruned_a_millisecond_too_early_is_told),
        LOGS_TEST(no_policy_may_be_below_the_least),
        LOGS_TEST(a_pruning_by_another_policy_than_the_logs_is_told),
        LOGS_TEST(a_pruning_under_a_hold_is_told),
        LOGS_TEST(
            a_pruning_by_a_policy_that_the_platform_did_not_say_is_told),
        LOGS_TEST(a_pruning_that_names_another_head_is_told),
        LOGS_TEST(a_hash_of_what_is_pruned_cannot_be_edited),
        LOGS_TEST(the_platforms_log_tells_of_a_tenant_that_is_gone),
        LOGS_TEST(the_platforms_log_may_not_allow_too_much_either),
        LOGS_TEST(proofs_hold_over_a_pruning),
        LOGS_TEST(a_copy_is_made_of_hashes_and_what_is_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
