/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast are audit records made durable, laid down, verified, proven?
 *
 *   audit [RECORDS [MS]]   prints each value with its goal and PASS or FAIL
 *
 * Goals: at least 20,000 durable records a second in process with 256 in
 * flight (and what one fdatasync takes, and how many records share one), at
 * most 100 us CPU a record end to end, verify at least 500,000 records a
 * second a core, a proof at most 2 KB
 * beside the entry that it proves.  Ends with 1 when one is missed.
 */
#include <ftw.h>
#include <inttypes.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "bench/common/crowd.h"
#include "bench/common/durable.h"
#include "cli/audit_proof.h"
#include "cli/audit_verify.h"
#include "core/checkpoint.h"
#include "core/merkle.h"
#include "core/record.h"
#include "identity/audit_dir.h"

#define ORIGIN "bench.example/platform"
#define BATCH 4096
#define DURABLE_GOAL 20000
#define DURABLE_MS 5000
#define IN_FLIGHT 256
#define CPU_GOAL_US 100
#define VERIFY_GOAL 500000
#define PROOF_GOAL 2048

static bool passes = true;

static void
judge(const char *what, double value, const char *unit, int64_t goal,
      bool at_least)
{
    passes &= crowd_judge(what, (int64_t)value, unit, goal, at_least);
}

static void
tell(const char *what, double value, const char *unit)
{
    (void)printf("%-34s %9.2f %s\n", what, value, unit);
}

/* The encoded records of one batch and where each ends. */
struct batch {
    struct buffer entries, personal;
    size_t entry_end[BATCH], personal_end[BATCH];
    struct audit_entry entry[BATCH];
};

static double
cpu_seconds(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static struct record
typical(uint64_t seq, const char *id)
{
    return (struct record){
        .log = ORIGIN,
        .seq = seq,
        .id = id,
        .wall_ms = 1700000000000 + (int64_t)seq,
        .mono_ms = (int64_t)seq,
        .boot = "4b1f3c9e-5d0a-4c8e-9a52-0d3b1f6a7c21",
        .observer = { "bulkheadd", "1.0.0", "control-1" },
        .actor = { .id = "us_mfrggzdfmztwq2lkmfrggzdfmu",
                   .kind = "user",
                   .name = "Ada Lovelace",
                   .tenant = "tn_mfrggzdfmztwq2lkmfrggzdfmu",
                   .session = "se_mfrggzdfmztwq2lkmfrggzdfmu",
                   .credential = "key_mfrggzdfmztwq2lkmfrggzdfmu",
                   .credential_kind = "apikey",
                   .auth_level = "password",
                   .auth_ms = 1700000000000 },
        .source = { "192.0.2.17", NULL, "9f86d081884c7d65" },
        .action = { "workload.create", "/api/v1/workloads", "POST" },
        .object = { "wl_mfrggzdfmztwq2lkmfrggzdfmu", "workload",
                    "tn_mfrggzdfmztwq2lkmfrggzdfmu",
                    "pr_mfrggzdfmztwq2lkmfrggzdfmu", 0, 1 },
        .params = { "9f86d081884c7d659a2feaa0c55ad015"
                    "a3bf4f1b2b0b822cd15d6c15b0f00a08",
                    "{\"class\":\"h100.1\",\"count\":4,\"image\":\"train\"}" },
        .decision = { true, "granted", "gr_mfrggzdfmztwq2lkmfrggzdfmu", NULL,
                      NULL },
        .outcome = { RECORD_SUCCESS, "ok" },
        .links = { "rq_mfrggzdfmztwq2lkmfrggzdfmu", NULL },
    };
}

/* Encodes and appends one batch; the CPU seconds that took. */
static double
make_batch(struct batch *batch, struct merkle *tree, size_t count)
{
    struct record_salts salts;
    struct error err;
    double start;

    buffer_clear(&batch->entries);
    buffer_clear(&batch->personal);
    start = cpu_seconds();
    for (size_t i = 0; i < count; i++) {
        size_t at = batch->entries.size;
        struct record record;
        struct digest leaf;
        char id[32];

        (void)snprintf(id, sizeof(id), "au_%020" PRIu64, tree->size);
        record = typical(tree->size, id);
        random_bytes(&salts, sizeof(salts));
        if (record_encode(&record, &salts, &batch->entries, &batch->personal,
                          &err) != 0)
            abort();
        record_leaf(batch->entries.bytes + at, batch->entries.size - at,
                    &leaf);
        merkle_append(tree, &leaf);
        batch->entry_end[i] = batch->entries.size;
        batch->personal_end[i] = batch->personal.size;
    }
    return cpu_seconds() - start;
}

static int
lay_down(struct audit_dir *log, struct batch *batch, size_t count,
         struct error *err)
{
    size_t entry = 0, personal = 0;

    for (size_t i = 0; i < count; i++) {
        batch->entry[i] = (struct audit_entry){
            batch->entries.bytes + entry, batch->entry_end[i] - entry,
            batch->personal.bytes + personal,
            batch->personal_end[i] - personal, NULL
        };
        entry = batch->entry_end[i];
        personal = batch->personal_end[i];
    }
    return audit_dir_append(log, log->tree.size, batch->entry, count, err);
}

static int
fill(struct audit_dir *log, const struct sign_key *key, uint64_t records,
     struct error *err)
{
    struct batch *batch = memory_new(1, sizeof(*batch));
    struct merkle tree = { 0 };
    struct checkpoint head = { .size = records };
    scoped_buffer note = { 0 };
    double encode = 0, write = 0, bytes = 0;
    int result = 0;

    while (result == 0 && tree.size < records) {
        size_t count = records - tree.size < BATCH
                           ? (size_t)(records - tree.size)
                           : BATCH;
        double start;

        encode += make_batch(batch, &tree, count);
        bytes += (double)batch->entries.size;
        start = cpu_seconds();
        result = lay_down(log, batch, count, err);
        write += cpu_seconds() - start;
    }
    buffer_release(&batch->entries);
    buffer_release(&batch->personal);
    free(batch);
    if (result != 0)
        return -1;
    tell("encode and append, CPU a record", encode / (double)records * 1e6,
         "us");
    tell("lay down as tiles, CPU a record", write / (double)records * 1e6,
         "us");
    tell("an entry", bytes / (double)records, "bytes");
    (void)snprintf(head.origin, sizeof(head.origin), ORIGIN);
    merkle_root(&tree, &head.root);
    checkpoint_sign(&note, &head, key);
    return audit_dir_add_checkpoint(log, note.bytes, note.size, err);
}

static int
verify(const char *directory, const struct sign_key *key, uint64_t records,
       struct error *err)
{
    struct checkpoint_key verifier = { .witness = false };
    struct audit_verify_options options = { .keys = &verifier, .key_count = 1 };
    struct audit_report found;
    double start = cpu_seconds(), seconds;

    memcpy(verifier.public_key, key->public_key, SIGN_PUBLIC_SIZE);
    if (audit_verify(directory, &options, &found, err) != 0)
        return -1;
    seconds = cpu_seconds() - start;
    if (found.count.records != records)
        return error_set(err, ERROR_INTERNAL, "not all records were read");
    judge("verified a second and core", (double)records / seconds, "/s",
          VERIFY_GOAL, true);
    return 0;
}

/* What is there besides the entry, which the file holds as well: its path and
 * the signed head. */
static size_t
without_entry(const struct buffer *proof)
{
    const char *extra = strstr(buffer_text(proof), "\nextra ");

    return extra == NULL ? proof->size
                         : proof->size - strcspn(extra + 1, "\n") - 1;
}

static int
prove(const char *directory, uint64_t records, struct error *err)
{
    const int64_t start = clock_mono_us();
    const uint64_t step = records / 100 + 1;
    size_t largest = 0;
    unsigned count = 0;

    for (uint64_t i = 0; i < records; i += step, count++) {
        scoped_buffer proof = { 0 };

        if (audit_proof_make(directory, ORIGIN, i, &proof, err) != 0)
            return -1;
        if (without_entry(&proof) > largest)
            largest = without_entry(&proof);
    }
    tell("prove one entry", (double)(clock_mono_us() - start) / count, "us");
    judge("largest proof beside its entry", (double)largest, "bytes", PROOF_GOAL, false);
    return 0;
}

static int
make_durable(const char *directory, int64_t ms, struct error *err)
{
    struct record sample = typical(0, NULL);
    scoped_buffer store = { 0 };
    struct durable run = { 0 };

    buffer_printf(&store, "%s/store", directory);
    if (durable_run(store.bytes, IN_FLIGHT, ms, &sample, &run, err) != 0)
        return -1;
    judge("durable records a second", (double)run.records * 1e6 /
                                          (double)run.us,
          "/s", DURABLE_GOAL, true);
    judge("CPU a record, end to end",
          (double)run.cpu_us / (double)run.records, "us", CPU_GOAL_US, false);
    tell("records that share one sync",
         (double)run.records / (double)(run.commits > 0 ? run.commits : 1),
         "");
    tell("until durable, p50", (double)run.p50_us, "us");
    tell("until durable, p99", (double)run.p99_us, "us");
    tell("fdatasync of as many bytes, p50", (double)run.sync_p50_us, "us");
    tell("fdatasync of as many bytes, p99", (double)run.sync_p99_us, "us");
    return 0;
}

static int
remove_one(const char *path, const struct stat *status, int kind,
           struct FTW *where)
{
    (void)status;
    (void)kind;
    (void)where;
    return remove(path);
}

int
main(int argc, char **argv)
{
    const char *base = getenv("TMPDIR");
    long long records = argc > 1 ? strtoll(argv[1], NULL, 10) : 200000;
    long long ms = argc > 2 ? strtoll(argv[2], NULL, 10) : DURABLE_MS;
    scoped_buffer directory = { 0 }, key_path = { 0 }, logs = { 0 };
    struct audit_dir log;
    struct sign_key key;
    struct error err;
    int result;

    if (records < 1 || records > 100000000) {
        (void)fprintf(stderr, "usage: audit [RECORDS [MS]]\n");
        return 2;
    }
    buffer_printf(&directory, "%s/bench-audit-XXXXXX",
                  base == NULL ? "/tmp" : base);
    if (mkdtemp(directory.bytes) == NULL)
        return 1;
    buffer_printf(&key_path, "%s/key", directory.bytes);
    buffer_printf(&logs, "%s/audit", directory.bytes);
    log_open("bench-audit", LOG_INFO);
    result = make_durable(directory.bytes, ms, &err);
    if (result == 0)
        result = sign_key_open(key_path.bytes, &key, &err);
    if (result == 0)
        result = audit_dir_open(&log, logs.bytes, ORIGIN, &err);
    if (result == 0) {
        result = fill(&log, &key, (uint64_t)records, &err);
        if (result == 0)
            result = verify(logs.bytes, &key, (uint64_t)records, &err);
        if (result == 0)
            result = prove(logs.bytes, (uint64_t)records, &err);
        audit_dir_close(&log);
    }
    if (result != 0) {
        log_error("%s", err.text);
        return 1;
    }
    (void)printf("bench-audit: %s\n", passes ? "PASS" : "FAIL");
    (void)fflush(stdout);
    (void)nftw(directory.bytes, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return passes ? 0 : 1;
}
