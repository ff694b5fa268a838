/* SPDX-License-Identifier: Apache-2.0 */
/* A liar who is root on the control plane's host and has the signer's key: all
 * hashes and signatures are right.  What catches him is kept elsewhere: the
 * heads that a witness saw, and the order in which keys handed over. */
#include <dirent.h>

#include "core/keychain.h"
#include "identity/witness_dir.h"
#include "tests/unit/cli/audit_logs.h"

#define NOW_S UINT64_C(1796040000)

struct watched {
    struct fixture *f;
    char seen[SCRATCH_MAX];
    struct witness_dir witness;
    struct audit_verify_options options;
    struct audit_report report;
};

/* What the witness says to a head that it is shown, with a proof from the
 * tiles. */
static int
show(struct watched *w, const struct memory_log *log)
{
    struct checkpoint head = head_of(log), last = { .size = 0 };
    struct merkle_proof proof = { .count = 0 };
    scoped_buffer note = { 0 }, request = { 0 }, answer = { 0 };
    struct audit_dir dir;
    struct error err = { 0 };
    int status;

    assert_int_equal(
        witness_dir_last(&w->witness, log->origin, &last, NULL, &err), 0);
    checkpoint_sign(&note, &head, &w->f->key);
    assert_int_equal(
        audit_dir_find(&dir, w->f->directory, log->origin, &err), 0);
    if (last.size > 0 && last.size <= head.size)
        assert_int_equal(merkle_prove_consistency(audit_dir_read_node, &dir,
                                                  last.size, head.size,
                                                  &proof, &err),
                         0);
    audit_dir_close(&dir);
    witness_add_request(&request, last.size, &proof, note.bytes, note.size);
    status = witness_dir_add(&w->witness, request.bytes, request.size,
                             &w->f->verifier, 1, NOW_S, &answer, &err);
    if (status < 0)
        fail_msg("%s", err.text);
    return status;
}

static void
watch(struct watched *w, struct fixture *f)
{
    struct error err;

    memset(w, 0, sizeof(*w));
    w->f = f;
    scratch_make(w->seen, "witness");
    assert_int_equal(witness_dir_open(&w->witness, w->seen, "w.org", &err),
                     0);
    assert_int_equal(show(w, &f->platform), 200);
    assert_int_equal(show(w, &f->a), 200);
    assert_int_equal(show(w, &f->b), 200);
    w->options = (struct audit_verify_options){ .keys = &f->verifier,
                                                .key_count = 1,
                                                .seen = w->seen };
}

static void
unwatch(struct watched *w)
{
    witness_dir_close(&w->witness);
    scratch_remove(w->seen);
}

static int
verify_watched(struct watched *w)
{
    struct error err = { 0 };

    return audit_verify(w->f->directory, &w->options, &w->report, &err);
}

static void
assert_watched(struct watched *w, const char *log, enum audit_lie lie)
{
    assert_int_equal(verify_watched(w), -1);
    assert_string_equal(audit_lie_text(w->report.finding.lie),
                        audit_lie_text(lie));
    assert_string_equal(w->report.finding.log, log);
}

static int
is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* How many files of evidence the witness has. */
static int
evidence(const struct watched *w)
{
    char path[2 * SCRATCH_MAX];
    struct dirent **entries;
    int count;

    (void)snprintf(path, sizeof(path), "%s/evidence", w->seen);
    count = scandir(path, &entries, is_visible, alphasort);
    assert_true(count >= 0);
    for (int i = 0; i < count; i++)
        free(entries[i]);
    free((void *)entries);
    return count;
}

/* The platform's log forgets all that it said. */
static void
rewrite_platform(struct fixture *f)
{
    f->platform.count = 0;
    memset(&f->platform.tree, 0, sizeof(f->platform.tree));
}

/* All entries of a log laid down and signed anew, at its whole size alone. */
static void
rewrite(struct fixture *f, struct memory_log *log)
{
    scoped_buffer path = { 0 };
    struct digest leaf;

    add_file_path(&path, f, log->origin, "");
    scratch_remove(path.bytes);
    memset(&log->tree, 0, sizeof(log->tree));
    for (size_t i = 0; i < log->count; i++) {
        record_leaf(log->entry[i].bytes, log->entry[i].size, &leaf);
        merkle_append(&log->tree, &leaf);
    }
    lay_down(f, log, 0);
    sign_head(f, log);
}

static void
commit(struct fixture *f)
{
    struct memory_log *logs[] = { &f->a, &f->b };
    const size_t at = f->platform.count;
    scoped_buffer facts = { 0 };
    char id[32], parent[32];
    struct record heads;

    for (size_t i = 0; i < 2; i++) {
        struct checkpoint head = head_of(logs[i]);

        record_add_head(&facts, head.origin, head.size, &head.root);
    }
    heads = honest(PLATFORM, at, id, parent);
    heads.action.verb = RECORD_VERB_HEADS;
    heads.facts = facts.bytes;
    put(&f->platform, at, &heads);
    f->platform.count++;
}

/* A story of his own for all three logs: tenant A as the caller left it in
 * memory. */
static void
rewrite_all(struct fixture *f, size_t platform_size)
{
    rewrite(f, &f->a);
    rewrite(f, &f->b);
    rewrite_platform(f);
    while (f->platform.count < platform_size)
        commit(f);
    rewrite(f, &f->platform);
}

static void
honest_logs_are_cosigned_and_hold_against_what_was_seen(void **state)
{
    struct watched w;

    watch(&w, *state);
    assert_int_equal(verify_watched(&w), 0);
    beat(w.f, LAST + 20, 60);
    beat(w.f, LAST + 30, 60);
    assert_int_equal(verify_watched(&w), 0);
    assert_int_equal(show(&w, &w.f->a), 200);
    assert_int_equal(verify_watched(&w), 0);
    assert_int_equal(evidence(&w), 0);
    unwatch(&w);
}

static void
root_with_the_key_who_edits_an_entry_is_caught_by_the_witness(void **state)
{
    struct fixture *f = *state;
    struct watched w;
    char id[32], parent[32];
    struct record record;
    struct audit_report report;

    watch(&w, f);
    record = honest(TENANT_A, 250, id, parent);
    record.actor.id = "us_2";
    put(&f->a, 250, &record);
    rewrite_all(f, 3);
    /* Nothing on this host is wrong. */
    assert_int_equal(verify(f, &report), 0);
    assert_watched(&w, PLATFORM, AUDIT_FORKED);
    assert_int_equal(show(&w, &f->a), 409);
    assert_int_equal(evidence(&w), 1);
    unwatch(&w);
}

static void
root_with_the_key_who_drops_a_tenants_tail_is_caught_by_the_witness(
    void **state)
{
    struct fixture *f = *state;
    struct watched w;
    struct audit_report report;

    watch(&w, f);
    f->a.count = LAST - 50;
    rewrite_all(f, 3);
    assert_int_equal(verify(f, &report), 0);
    assert_int_equal(verify_watched(&w), -1);
    /* The platform's log told of the tail: it had to be rewritten too. */
    assert_string_equal(w.report.finding.log, PLATFORM);
    /* And the tenant's own head is above what is left. */
    assert_int_equal(show(&w, &f->a), 400);
    assert_int_equal(evidence(&w), 1);
    unwatch(&w);
}

/* The same, seen by a tenant who has nothing but the own log. */
static void
a_tenant_sees_its_dropped_tail_without_the_platforms_log(void **state)
{
    struct fixture *f = *state;
    scoped_buffer path = { 0 };
    struct watched w;

    watch(&w, f);
    f->a.count = LAST - 50;
    rewrite(f, &f->a);
    add_file_path(&path, f, PLATFORM, "");
    scratch_remove(path.bytes);
    w.options.tenant = "tn_a";
    assert_watched(&w, TENANT_A, AUDIT_TRUNCATED);
    assert_int_equal(w.report.finding.index, LAST - 50);
    unwatch(&w);
}

static void
a_fork_that_grew_longer_is_caught_by_the_witness(void **state)
{
    struct fixture *f = *state;
    struct watched w;
    char id[32], parent[32];
    struct record record;

    watch(&w, f);
    record = honest(TENANT_A, 550, id, parent);
    record.actor.id = "us_2";
    put(&f->a, 550, &record);
    grow(&f->a, LAST + 40);
    rewrite_all(f, 9);
    assert_int_equal(show(&w, &f->a), 422);
    assert_int_equal(show(&w, &f->platform), 422);
    assert_int_equal(evidence(&w), 2);
    assert_int_equal(verify_watched(&w), -1);
    unwatch(&w);
}

static void
a_log_that_a_witness_saw_and_that_is_gone_is_missing(void **state)
{
    struct fixture *f = *state;
    scoped_buffer path = { 0 };
    struct watched w;

    watch(&w, f);
    add_file_path(&path, f, PLATFORM, "");
    scratch_remove(path.bytes);
    assert_watched(&w, PLATFORM, AUDIT_MISSING);
    unwatch(&w);
}

static void
a_witness_cosigns_again_what_did_not_change_and_nothing_older(void **state)
{
    struct watched w;
    struct error err;
    struct witness_dir second;

    watch(&w, *state);
    assert_int_equal(show(&w, &w.f->a), 200);
    /* And one directory is one witness's. */
    assert_int_equal(witness_dir_open(&second, w.seen, NULL, &err), -1);
    assert_int_equal(err.code, ERROR_BUSY);
    witness_dir_close(&w.witness);
    assert_int_equal(witness_dir_open(&second, w.seen, "x.org", &err), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    assert_int_equal(witness_dir_open(&w.witness, w.seen, NULL, &err), 0);
    assert_string_equal(w.witness.self.name, "w.org");
    assert_int_equal(show(&w, &w.f->a), 200);
    unwatch(&w);
}

static void
a_witness_whose_memory_is_damaged_cosigns_nothing(void **state)
{
    struct watched w;
    scoped_buffer path = { 0 };
    struct checkpoint last;
    struct error err;

    watch(&w, *state);
    buffer_printf(&path, "%s/logs/e.org%%2Ftn_a", w.seen);
    assert_int_equal(file_write(path.bytes, "x", 1, 0600, &err), 0);
    assert_int_equal(
        witness_dir_last(&w.witness, TENANT_A, &last, NULL, &err), -1);
    unwatch(&w);
}

/* --- the signer's key changes --- */

static void
hand_over(struct fixture *f)
{
    scoped_buffer notes = { 0 };
    struct error err;

    keychain_add(&notes, 1, &f->key, &f->other);
    assert_int_equal(audit_dir_put_rotations(f->directory, &notes, &err), 0);
}

static void
the_verifier_follows_the_key_that_was_handed_over_to(void **state)
{
    struct fixture *f = *state;
    struct audit_report report;
    struct sign_key old = f->key;

    /* Without its rotation the new key is a forger's. */
    f->key = f->other;
    beat(f, LAST + 10, 60);
    beat(f, LAST + 20, 60);
    assert_int_equal(verify(f, &report), -1);
    assert_int_equal(report.finding.lie, AUDIT_FORGED);
    f->key = old;
    hand_over(f);
    assert_int_equal(verify(f, &report), 0);
    assert_int_equal(report.rotations, 1);
}

static void
the_old_key_signs_nothing_after_it_handed_over(void **state)
{
    struct fixture *f = *state;
    struct sign_key old = f->key;

    hand_over(f);
    f->key = f->other;
    beat(f, LAST + 10, 60);
    f->key = old;
    beat(f, LAST + 20, 70);
    assert_lie(f, PLATFORM, AUDIT_FORGED, 4);
}

static void
a_rotation_that_the_old_key_did_not_sign_is_found(void **state)
{
    struct fixture *f = *state;
    struct sign_key liar = f->other;
    scoped_buffer notes = { 0 };
    struct error err;

    memcpy(liar.public_key, f->key.public_key, SIGN_PUBLIC_SIZE);
    keychain_add(&notes, 1, &liar, &f->other);
    assert_int_equal(audit_dir_put_rotations(f->directory, &notes, &err), 0);
    assert_lie(f, "rotations", AUDIT_FORGED, 0);
}

/* --- the heartbeat --- */

/* The platform's next record, so long after the last one. */
static void
later(struct fixture *f, int64_t ms, const char *verb, const char *boot)
{
    const size_t at = f->platform.count;
    char id[32], parent[32];
    struct record record = honest(PLATFORM, at, id, parent);
    struct digest leaf;

    record.wall_ms += ms;
    record.mono_ms += boot == NULL ? ms : 0;
    record.outcome.status = RECORD_SUCCESS;
    record.action.verb = verb;
    record.boot = boot != NULL ? boot : record.boot;
    put(&f->platform, at, &record);
    record_leaf(f->platform.entry[at].bytes, f->platform.entry[at].size,
                &leaf);
    merkle_append(&f->platform.tree, &leaf);
    f->platform.count++;
    lay_down(f, &f->platform, at);
    sign_head(f, &f->platform);
}

static void
a_platform_that_was_silent_and_did_not_start_is_found(void **state)
{
    struct fixture *f = *state;
    struct audit_report report;

    later(f, 170 * 1000, "tenant.create", NULL);
    assert_int_equal(verify(f, &report), 0);
    assert_int_equal(report.stops, 0);
    later(f, 360 * 1000, "tenant.create", NULL);
    assert_lie(f, PLATFORM, AUDIT_SILENT, 4);
}

static void
a_boot_does_not_explain_silence_without_a_start(void **state)
{
    struct fixture *f = *state;

    later(f, 400 * 1000, "tenant.create", "boot-2");
    assert_lie(f, PLATFORM, AUDIT_SILENT, 3);
}

static void
silence_up_to_a_start_is_told_and_no_lie(void **state)
{
    struct fixture *f = *state;
    struct audit_report report;

    later(f, 400 * 1000, RECORD_VERB_START, NULL);
    later(f, 900 * 1000, RECORD_VERB_START, "boot-2");
    assert_int_equal(verify(f, &report), 0);
    assert_int_equal(report.stops, 2);
    /* The records are a second apart besides. */
    assert_int_equal(report.longest_stop_ms, 501 * 1000);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        LOGS_TEST(honest_logs_are_cosigned_and_hold_against_what_was_seen),
        LOGS_TEST(
            root_with_the_key_who_edits_an_entry_is_caught_by_the_witness),
        LOGS_TEST(
            root_with_the_key_who_drops_a_tenants_tail_is_caught_by_the_witness),
        LOGS_TEST(a_tenant_sees_its_dropped_tail_without_the_platforms_log),
        LOGS_TEST(a_fork_that_grew_longer_is_caught_by_the_witness),
        LOGS_TEST(a_log_that_a_witness_saw_and_that_is_gone_is_missing),
        LOGS_TEST(
            a_witness_cosigns_again_what_did_not_change_and_nothing_older),
        LOGS_TEST(a_witness_whose_memory_is_damaged_cosigns_nothing),
        LOGS_TEST(the_verifier_follows_the_key_that_was_handed_over_to),
        LOGS_TEST(the_old_key_signs_nothing_after_it_handed_over),
        LOGS_TEST(a_rotation_that_the_old_key_did_not_sign_is_found),
        LOGS_TEST(a_platform_that_was_silent_and_did_not_start_is_found),
        LOGS_TEST(a_boot_does_not_explain_silence_without_a_start),
        LOGS_TEST(silence_up_to_a_start_is_told_and_no_lie),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
