/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_CLI_AUDIT_LOGS_H
#define TESTS_UNIT_CLI_AUDIT_LOGS_H

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cli/audit_verify.h"
#include "core/merkle.h"
#include "identity/audit_dir.h"
#include "tests/unit/scratch.h"

/*
 * The logs of a platform and two tenants, laid down and signed at three
 * heartbeats, and what a liar needs to write them anew:
 *
 *   LOGS_TEST(name)                  one test with logs of its own
 *   verify, assert_lie               what the verifier says
 *   rebuild(f, log)                  all files from memory, hashes right
 */

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
static inline struct record
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

static inline void
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

static inline void
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
static inline void
lay_down(const struct fixture *f, const struct memory_log *log, size_t from)
{
    struct audit_entry entries[ENTRIES_MAX];
    struct audit_dir dir;
    struct error err = { 0 };

    for (size_t i = from; i < log->count; i++)
        entries[i - from] = (struct audit_entry){
            log->entry[i].bytes, log->entry[i].size, log->personal[i].bytes,
            log->personal[i].size, NULL
        };
    assert_int_equal(audit_dir_open(&dir, f->directory, log->origin, &err),
                     0);
    if (audit_dir_append(&dir, from, entries, log->count - from, &err) != 0)
        fail_msg("%s", err.text);
    audit_dir_close(&dir);
}

static inline struct checkpoint
head_of(const struct memory_log *log)
{
    struct checkpoint head = { .size = log->tree.size };

    (void)snprintf(head.origin, sizeof(head.origin), "%s", log->origin);
    merkle_root(&log->tree, &head.root);
    return head;
}

static inline void
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
static inline void
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

static inline int
logs_setup(void **state)
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

static inline int
logs_teardown(void **state)
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

static inline int
verify(const struct fixture *f, struct audit_report *report)
{
    const struct audit_verify_options options = { .keys = &f->verifier,
                                                  .key_count = 1 };
    struct error err = { 0 };
    int result = audit_verify(f->directory, &options, report, &err);

    if (result != 0)
        assert_int_equal(error_exit_code(err.code), 9);
    return result;
}

static inline void
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

static inline void
add_file_path(struct buffer *out, const struct fixture *f, const char *origin,
              const char *name)
{
    buffer_printf(out, "%s/", f->directory);
    checkpoint_add_file_name(out, origin);
    buffer_printf(out, "/%s", name);
}

static inline void
read_file(const struct fixture *f, const char *origin, const char *name,
          struct buffer *out)
{
    scoped_buffer path = { 0 };
    struct error err;

    add_file_path(&path, f, origin, name);
    buffer_clear(out);
    assert_int_equal(file_read(path.bytes, (size_t)1 << 24, out, &err), 0);
}

static inline void
write_file(const struct fixture *f, const char *origin, const char *name,
           const void *bytes, size_t size)
{
    scoped_buffer path = { 0 };
    struct error err;

    add_file_path(&path, f, origin, name);
    assert_int_equal(file_write(path.bytes, bytes, size, 0600, &err), 0);
}

static inline void
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
static inline void
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

static inline void
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

static inline void
swap_entries(struct memory_log *log, size_t a, size_t b)
{
    struct buffer entry = log->entry[a], personal = log->personal[a];

    log->entry[a] = log->entry[b];
    log->personal[a] = log->personal[b];
    log->entry[b] = entry;
    log->personal[b] = personal;
}

#define LOGS_TEST(name)                                                       \
    cmocka_unit_test_setup_teardown(name, logs_setup, logs_teardown)

#endif
