/* SPDX-License-Identifier: Apache-2.0 */
/* The commands that work on an exported directory of audit logs or on a proof,
 * without a server. */
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "cli/audit_keys.h"
#include "cli/audit_proof.h"
#include "cli/audit_verify.h"
#include "cli/command.h"
#include "cli/output.h"

int
audit_keys_option(const struct cli *cli,
                  struct checkpoint_key keys[AUDIT_KEYS_MAX],
                  size_t *count_out, struct error *err)
{
    const char *key = cli_option(cli, "key");
    int count;

    if (key == NULL)
        return error_set(err, ERROR_INVALID,
                         "--key is needed: without it anybody could have "
                         "signed");
    count = audit_verify_keys(key, keys, AUDIT_KEYS_MAX - KEYCHAIN_MAX, err);
    if (count < 0)
        return -1;
    *count_out = (size_t)count;
    return 0;
}

static json_t *
prunings_json(const struct audit_count *count)
{
    json_t *list = json_array();

    for (size_t i = 0; i < count->pruning_count && i < AUDIT_PRUNED_MAX;
         i++) {
        const struct audit_pruned *pruned = &count->prunings[i];
        char recorded[CLOCK_TEXT_MAX];

        clock_format(pruned->recorded_ms, recorded);
        (void)json_array_append_new(
            list, json_pack("{s:s, s:I, s:I, s:I, s:I, s:s, s:I, s:b}", "log",
                            pruned->log, "from", (json_int_t)pruned->from,
                            "to", (json_int_t)pruned->to, "records",
                            (json_int_t)pruned->records, "keep_days",
                            (json_int_t)(pruned->keep_ms / RETENTION_DAY_MS),
                            "recorded", recorded, "record",
                            (json_int_t)pruned->index, "by_platform",
                            pruned->elsewhere));
    }
    return list;
}

static void
print_pruned(const struct audit_count *count)
{
    for (size_t i = 0; i < count->pruning_count && i < AUDIT_PRUNED_MAX;
         i++) {
        const struct audit_pruned *pruned = &count->prunings[i];
        char recorded[CLOCK_TEXT_MAX];

        clock_format(pruned->recorded_ms, recorded);
        output_line("%s: %" PRIu64 " entries from %" PRIu64 " to %" PRIu64
                    " were pruned by policy (kept for %" PRId64 " days), "
                    "recorded at %s in entry %" PRIu64 "%s",
                    pruned->log, pruned->records, pruned->from,
                    pruned->to - 1, pruned->keep_ms / RETENTION_DAY_MS,
                    recorded, pruned->index,
                    pruned->elsewhere ? " of the platform's log" : "");
    }
    if (count->pruning_count > AUDIT_PRUNED_MAX)
        output_line("%" PRIu64 " entries of %zu logs were pruned by policy in "
                    "all",
                    count->pruned, count->pruning_count);
}

static json_t *
report_json(const struct audit_report *report, bool intact)
{
    const struct audit_finding *finding = &report->finding;

    return json_pack(
        "{s:b, s:I, s:I, s:I, s:I, s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:I, "
        "s:s, s:s, s:I, s:s, s:I, s:o}",
        "intact", intact, "logs", (json_int_t)report->logs, "records",
        (json_int_t)report->count.records, "checkpoints",
        (json_int_t)report->checkpoints, "heads", (json_int_t)report->heads,
        "platform", report->platform, "uncovered",
        (json_int_t)report->uncovered, "unwitnessed",
        (json_int_t)report->unwitnessed, "rotations",
        (json_int_t)report->rotations, "stops", (json_int_t)report->stops,
        "longest_stop_ms", (json_int_t)report->longest_stop_ms, "erased",
        (json_int_t)report->count.erased, "open",
        (json_int_t)report->count.open, "lie", audit_lie_text(finding->lie),
        "log", finding->log, "index", (json_int_t)finding->index, "text",
        finding->text, "pruned", (json_int_t)report->count.pruned, "prunings",
        prunings_json(&report->count));
}

static void
print_intact(const struct audit_report *report)
{
    output_line("intact: %" PRIu64 " logs, %" PRIu64 " records, %" PRIu64
                " checkpoints, %" PRIu64 " committed heads",
                report->logs, report->count.records, report->checkpoints,
                report->heads);
    if (report->uncovered > 0)
        output_line("%" PRIu64 " records are newer than the last checkpoint "
                    "of their log",
                    report->uncovered);
    if (report->unwitnessed > 0)
        output_line("%" PRIu64 " records are newer than what the witness "
                    "cosigned",
                    report->unwitnessed);
    if (report->stops > 0)
        output_line("the platform stood still %" PRIu64 " times before a "
                    "start, at most %" PRId64 " s",
                    report->stops, report->longest_stop_ms / 1000);
    if (report->rotations > 0)
        output_line("the signer's key changed %" PRIu64 " times since the one "
                    "that was given",
                    report->rotations);
    if (report->count.open > 0)
        output_line("%" PRIu64 " actions have not ended yet",
                    report->count.open);
    if (report->count.erased > 0)
        output_line("%" PRIu64 " records are without their personal part: it "
                    "was erased, or not given to who exported",
                    report->count.erased);
    print_pruned(&report->count);
    if (!report->platform)
        output_line("the platform's log is not here: a tail that was dropped "
                    "together with its checkpoints would not show");
}

static int
verify(struct cli *cli, struct error *err)
{
    struct checkpoint_key keys[AUDIT_KEYS_MAX], witness;
    struct audit_verify_options options = {
        .keys = keys,
        .tenant = cli_option(cli, "tenant"),
        .grace_ms = cli_has(cli, "strict") ? 0 : AUDIT_VERIFY_GRACE_MS,
        .seen = cli_option(cli, "seen"),
    };
    const char *cosigner = cli_option(cli, "witness");
    struct audit_report report;
    int result;

    if (audit_keys_option(cli, keys, &options.key_count, err) != 0 ||
        (cosigner != NULL && audit_verify_keys(cosigner, &witness, 1, err) < 0))
        return -1;
    options.witness = cosigner == NULL ? NULL : &witness;
    result = audit_verify(cli->words[0], &options, &report, err);
    if (cli->form == OUTPUT_JSON || cli->form == OUTPUT_YAML) {
        scoped_json json = report_json(&report, result == 0);

        output_print(cli, NULL, json);
    } else if (result == 0 && !cli->quiet) {
        print_intact(&report);
    }
    return result;
}

const struct command command_audit_verify = {
    .verb = "audit",
    .noun = "verify",
    .words = "DIR",
    .help = "Check exported audit logs, without a server.",
    .more = "Checks every hash, signature and sequence, that the platform's "
            "log committed\nevery other log's head, that time runs forwards "
            "and that every intent has\nan outcome. Exit code 0 intact, 9 "
            "not: then the kind of lie and the first\nbad entry are said.",
    .options =
        (const struct command_option[]){
            { "key", 'k', "KEY", AUDIT_KEYS_HELP },
            { "witness", 0, "KEY", "demand this witness's cosignature" },
            { "seen", 0, "DIR", "and hold it against what a witness has seen: "
                                "its directory" },
            { "strict", 0, NULL, "no grace for actions of the last 15 min" },
            { 0 },
        },
    .words_min = 1,
    .words_max = 1,
    .run = verify,
};

static int
prove(struct cli *cli, struct error *err)
{
    const char *out = cli_option(cli, "file");
    scoped_buffer proof = { 0 };
    int64_t index;
    char *end;

    index = strtoll(cli->words[2], &end, 10);
    if (*end != '\0' || end == cli->words[2] || index < 0)
        return error_field(err, "INDEX", "%s is not the number of an entry",
                           cli->words[2]);
    if (audit_proof_make(cli->words[0], cli->words[1], (uint64_t)index, &proof,
                         err) != 0)
        return -1;
    if (out != NULL)
        return file_write(out, proof.bytes, proof.size, 0644, err);
    (void)fwrite(proof.bytes, 1, proof.size, stdout);
    return 0;
}

const struct command command_audit_prove = {
    .verb = "audit",
    .noun = "prove",
    .words = "DIR LOG INDEX",
    .help = "Write a proof that an entry is in an exported log.",
    .more = "LOG is the log's origin, as in its checkpoint. The proof is a "
            "tlog-proof\nfile; bulkhead audit check-proof needs nothing "
            "else.",
    .options =
        (const struct command_option[]){
            { "file", 'f', "FILE", "write there instead of the screen" },
            { 0 },
        },
    .words_min = 3,
    .words_max = 3,
    .run = prove,
};

static int
check_proof(struct cli *cli, struct error *err)
{
    scoped_buffer text = { 0 }, line = { 0 };
    struct checkpoint_key keys[AUDIT_KEYS_MAX];
    struct audit_proof proof;
    size_t count = 0;
    int result = -1;

    if (audit_keys_option(cli, keys, &count, err) != 0 ||
        file_read(cli->words[0], AUDIT_PROOF_MAX, &text, err) != 0)
        return -1;
    for (size_t i = 0; result != 0 && i < count; i++)
        result = audit_proof_check(buffer_text(&text), text.size,
                                   keys[i].public_key, &proof, err);
    if (result != 0)
        return -1;
    record_add_json(&line, &proof.record);
    if (!cli->quiet)
        output_line("%.*s", (int)line.size - 1, line.bytes);
    buffer_release(&proof.entry);
    return 0;
}

const struct command command_audit_check_proof = {
    .verb = "audit",
    .noun = "check-proof",
    .words = "FILE",
    .help = "Check a proof and print the entry that it proves.",
    .options =
        (const struct command_option[]){
            { "key", 'k', "KEY", AUDIT_KEYS_HELP },
            { 0 },
        },
    .words_min = 1,
    .words_max = 1,
    .run = check_proof,
};
