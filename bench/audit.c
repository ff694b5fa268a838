/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast are audit records encoded, appended, laid down, verified, proven?
 *
 *   audit [RECORDS]      one thread; prints each rate and its ratio to the goal
 *
 * Goals: at most 100 us CPU a record end to end (encode and append are a part
 * of it), verify at least 500,000 records a second a core, a proof at most
 * 2 KB.
 */
#include <inttypes.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "cli/audit_verify.h"
#include "core/checkpoint.h"
#include "core/merkle.h"
#include "core/record.h"
#include "identity/audit_dir.h"

#define ORIGIN "bench.example/platform"
#define BATCH 4096
#define VERIFY_GOAL 500000.0
#define ENCODE_GOAL_US 100.0
#define PROOF_GOAL 2048.0

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

static void
report(const char *what, double value, const char *unit, double goal,
       bool at_most)
{
    double ratio = at_most ? goal / value : value / goal;

    printf("%-28s %12.2f %-12s goal %s %10.0f  ratio %6.2f %s\n", what, value,
           unit, at_most ? "<=" : ">=", goal, ratio,
           ratio >= 1 ? "met" : "MISSED");
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
            batch->personal_end[i] - personal
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
    report("encode and append", encode / (double)records * 1e6, "us/record",
           ENCODE_GOAL_US, true);
    report("lay down as tiles", write / (double)records * 1e6, "us/record",
           ENCODE_GOAL_US, true);
    printf("%-28s %12.2f bytes\n", "entry", bytes / (double)records);
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
    report("verify", (double)records / seconds, "records/s", VERIFY_GOAL,
           false);
    return 0;
}

static int
prove(struct audit_dir *log, struct error *err)
{
    struct merkle_proof proof;
    const int64_t start = clock_mono_us();
    size_t largest = 0;
    const uint64_t step = log->tree.size / 100 + 1;
    unsigned count = 0;

    for (uint64_t i = 0; i < log->tree.size; i += step, count++) {
        if (merkle_prove_inclusion(audit_dir_read_node, log, i,
                                   log->tree.size, &proof, err) != 0)
            return -1;
        if (proof.count > largest)
            largest = proof.count;
    }
    printf("%-28s %12.2f us\n", "prove one entry",
           (double)(clock_mono_us() - start) / count);
    report("proof", (double)(largest * DIGEST_SIZE), "bytes", PROOF_GOAL,
           true);
    return 0;
}

static void
remove_tree(const char *path)
{
    execl("/bin/rm", "rm", "-rf", path, (char *)NULL);
    _exit(127);
}

int
main(int argc, char **argv)
{
    const char *base = getenv("TMPDIR");
    long long records = argc > 1 ? strtoll(argv[1], NULL, 10) : 200000;
    scoped_buffer directory = { 0 }, key_path = { 0 };
    struct audit_dir log;
    struct sign_key key;
    struct error err;
    int result;

    if (records < 1 || records > 100000000) {
        (void)fprintf(stderr, "usage: audit [RECORDS]\n");
        return 2;
    }
    buffer_printf(&directory, "%s/bench-audit-XXXXXX",
                  base == NULL ? "/tmp" : base);
    if (mkdtemp(directory.bytes) == NULL)
        return 1;
    buffer_printf(&key_path, "%s/key", directory.bytes);
    log_open("bench-audit", LOG_INFO);
    result = sign_key_open(key_path.bytes, &key, &err);
    if (result == 0)
        result = audit_dir_open(&log, directory.bytes, ORIGIN, &err);
    if (result == 0) {
        result = fill(&log, &key, (uint64_t)records, &err);
        if (result == 0)
            result = verify(directory.bytes, &key, (uint64_t)records, &err);
        if (result == 0)
            result = prove(&log, &err);
        audit_dir_close(&log);
    }
    if (result != 0) {
        log_error("%s", err.text);
        return 1;
    }
    (void)fflush(stdout);
    remove_tree(directory.bytes);
}
