/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "cli/audit_keys.h"
#include "cli/audit_walk.h"
#include "cli/client.h"
#include "cli/command.h"
#include "cli/output.h"
#include "identity/witness_dir.h"

/*
 * A witness asks the control plane for the heads of its logs, holds them
 * against what it saw before, and leaves its cosignature.  The control plane
 * needs no way to the witness's host.
 */

#define NOTES_MAX 500 /* in one request */
#define SILENT_MS (3 * 60 * 1000)

struct pass {
    struct cli *cli;
    struct witness_dir *witness;
    struct checkpoint_key keys[AUDIT_KEYS_MAX];
    size_t key_count;
    json_t *heads; /* of the server */
    json_t *notes; /* cosigned now */
    json_t *told;  /* one object a log */
    uint64_t records;
    struct audit_finding finding; /* the first lie */
    uint64_t *platform_size;      /* newest, across passes */
    int64_t *grown_ms;
};

/* Keeps the first lie for the exit code; each is told. */
static void
find(struct pass *pass, const char *origin, enum audit_lie lie,
     uint64_t index, const char *text)
{
    struct audit_finding finding;
    struct error err;

    (void)audit_finding_set(&finding, origin, lie, index, &err, "%s", text);
    (void)json_array_append_new(
        pass->told, json_pack("{s:s, s:s, s:I, s:s}", "origin", origin, "lie",
                              audit_lie_text(lie), "index",
                              (json_int_t)index, "text", text));
    (void)fprintf(stderr, "bulkhead: witness: %s\n", err.text);
    if (pass->finding.lie == AUDIT_NONE)
        pass->finding = finding;
}

/* --- what the server says --- */

static int
follow_keys(struct pass *pass, struct error *err)
{
    scoped_answer answer = { 0 };

    if (audit_keys_option(pass->cli, pass->keys, &pass->key_count, err) != 0 ||
        client_get_text(pass->cli, "/api/v1/audit/keys", &answer, err) != 0)
        return -1;
    if (keychain_follow(buffer_text(&answer.body), answer.body.size,
                        pass->keys, &pass->key_count, AUDIT_KEYS_MAX, err) !=
        0) {
        find(pass, "rotations", AUDIT_FORGED, 0, err->text);
        return -1;
    }
    return 0;
}

/* The request that tlog-witness describes, for the head that the log has now;
 * 1 when its head is smaller than what was witnessed. */
static int
ask(struct pass *pass, const char *origin, uint64_t old_size,
    struct http_answer *answer, struct error *err)
{
    scoped_buffer path = { 0 };
    int result;

    buffer_add_text(&path, "/api/v1/audit/witness?origin=");
    http_encode(&path, origin);
    buffer_printf(&path, "&old=%" PRIu64, old_size);
    result = client_get_text(pass->cli, path.bytes, answer, err);
    return result != 0 && err->code == ERROR_CONFLICT ? 1 : result;
}

/* --- one log --- */

/* The smaller head, as it was signed, is kept as evidence. */
static int
tell_truncated(struct pass *pass, const struct checkpoint *last,
               uint64_t size, struct error *err)
{
    scoped_answer answer = { 0 };
    scoped_buffer said = { 0 };
    char text[160];

    if (ask(pass, last->origin, 0, &answer, err) == 0)
        (void)witness_dir_add(pass->witness, buffer_text(&answer.body),
                              answer.body.size, pass->keys, pass->key_count,
                              0, &said, err);
    (void)snprintf(text, sizeof(text),
                   "%" PRIu64 " entries were witnessed, the server signed "
                   "%" PRIu64 " now",
                   last->size, size);
    find(pass, last->origin, AUDIT_TRUNCATED, size, text);
    return 0;
}

static void
tell_refusal(struct pass *pass, const struct checkpoint *last, int status)
{
    const char *origin = last->origin;

    if (status == WITNESS_UNSIGNED)
        find(pass, origin, AUDIT_FORGED, last->size,
             "the head is not signed by the key, nor by one that it handed "
             "over to");
    else if (status == WITNESS_CONFLICT)
        find(pass, origin, AUDIT_FORKED, last->size,
             "another root of the size that was witnessed is signed");
    else if (status == WITNESS_INCONSISTENT)
        find(pass, origin, AUDIT_FORKED, last->size,
             "the log does not extend what was witnessed: it was rewritten");
    else
        find(pass, origin, AUDIT_DAMAGED, last->size,
             "the server's answer is no head with a proof");
}

static int
cosigned(struct pass *pass, const char *origin, struct error *err)
{
    struct checkpoint head;
    scoped_buffer note = { 0 };

    if (witness_dir_last(pass->witness, origin, &head, &note, err) != 0)
        return -1;
    (void)json_array_append_new(
        pass->notes, json_stringn(buffer_text(&note), note.size));
    (void)json_array_append_new(pass->told,
                                json_pack("{s:s, s:I}", "origin", origin,
                                          "size", (json_int_t)head.size));
    pass->records += head.size;
    if (checkpoint_is_platform(origin) && head.size > *pass->platform_size) {
        *pass->platform_size = head.size;
        *pass->grown_ms = clock_mono_ms();
    }
    return 0;
}

static int
examine(struct pass *pass, const char *origin, uint64_t size,
        struct error *err)
{
    scoped_answer answer = { 0 };
    scoped_buffer said = { 0 };
    struct checkpoint last;
    int status;

    if (!checkpoint_origin_valid(origin))
        return error_set(err, ERROR_INTERNAL,
                         "the server names a log that cannot be");
    if (witness_dir_last(pass->witness, origin, &last, NULL, err) != 0)
        return -1;
    if (size < last.size)
        return tell_truncated(pass, &last, size, err);
    status = ask(pass, origin, last.size, &answer, err);
    if (status != 0)
        return status > 0 ? tell_truncated(pass, &last, size, err) : -1;
    status = witness_dir_add(pass->witness, buffer_text(&answer.body),
                             answer.body.size, pass->keys, pass->key_count,
                             (uint64_t)(clock_wall_ms() / 1000), &said, err);
    if (status < 0)
        return -1;
    if (status == WITNESS_COSIGN)
        return cosigned(pass, origin, err);
    tell_refusal(pass, &last, status);
    return 0;
}

/* --- all logs --- */

/* A log that was witnessed and is not shown any more; a restore that was
 * declared goes on under the name of a later epoch. */
static int
check_shown(void *context, const struct checkpoint *seen,
            const struct buffer *note, struct error *err)
{
    struct pass *pass = context;
    json_t *item;
    size_t i;

    (void)note;
    (void)err;
    json_array_foreach(pass->heads, i, item) {
        const char *origin =
            json_string_value(json_object_get(item, "origin"));

        if (origin == NULL)
            continue;
        if (strcmp(origin, seen->origin) == 0)
            return 0;
        if (checkpoint_same_log(origin, seen->origin) &&
            checkpoint_epoch(origin) > checkpoint_epoch(seen->origin)) {
            if (!pass->cli->quiet)
                output_line("%s: %" PRIu64 " entries were witnessed; it was "
                            "restored and goes on as %s",
                            seen->origin, seen->size, origin);
            return 0;
        }
    }
    find(pass, seen->origin, AUDIT_MISSING, 0,
         "the log was witnessed, and the server does not show it any more");
    return 0;
}

static void
check_silence(struct pass *pass)
{
    char text[96];

    if (*pass->grown_ms == 0 ||
        clock_mono_ms() - *pass->grown_ms <= SILENT_MS)
        return;
    (void)snprintf(text, sizeof(text), "nothing new is signed since %" PRId64
                                       " s, not even a heartbeat",
                   (clock_mono_ms() - *pass->grown_ms) / 1000);
    find(pass, CHECKPOINT_PLATFORM, AUDIT_SILENT, *pass->platform_size, text);
}

static int
leave_notes(struct pass *pass, struct error *err)
{
    scoped_buffer key = { 0 };

    checkpoint_add_key(&key, &pass->witness->self);
    for (size_t from = 0; from < json_array_size(pass->notes);
         from += NOTES_MAX) {
        scoped_json body = NULL;
        scoped_json answer = NULL;
        json_t *some = json_array();
        struct client_call call = { .method = "POST",
                                    .path = "/api/v1/audit/cosignatures" };

        for (size_t i = from;
             i < from + NOTES_MAX && i < json_array_size(pass->notes); i++)
            (void)json_array_append(some, json_array_get(pass->notes, i));
        body = json_pack("{s:s, s:o}", "key", buffer_text(&key), "notes",
                         some);
        call.body = body;
        if (client_send(pass->cli, &call, &answer, err) != 0)
            return error_prefix(err, "leaving cosignatures");
    }
    return 0;
}

static int
examine_all(struct pass *pass, struct error *err)
{
    scoped_json answer = NULL;
    json_t *item;
    size_t i;

    if (follow_keys(pass, err) != 0 ||
        client_get(pass->cli, "/api/v1/audit/heads", &answer, err) != 0)
        return -1;
    pass->heads = json_object_get(answer, "items");
    json_array_foreach(pass->heads, i, item) {
        const char *origin =
            json_string_value(json_object_get(item, "origin"));
        json_int_t size = json_integer_value(json_object_get(item, "size"));

        if (origin == NULL || size < 0 ||
            examine(pass, origin, (uint64_t)size, err) != 0)
            return -1;
    }
    if (witness_dir_each(pass->witness->path, check_shown, pass, err) != 0)
        return -1;
    check_silence(pass);
    pass->heads = NULL;
    return leave_notes(pass, err);
}

static void
tell(const struct pass *pass)
{
    char now[CLOCK_TEXT_MAX];

    clock_format(clock_wall_ms(), now);
    if (pass->cli->form == OUTPUT_JSON || pass->cli->form == OUTPUT_YAML) {
        scoped_json json = json_pack("{s:s, s:I, s:I, s:O}", "time", now,
                                     "cosigned",
                                     (json_int_t)json_array_size(pass->notes),
                                     "records", (json_int_t)pass->records,
                                     "logs", pass->told);

        output_print(pass->cli, NULL, json);
    } else if (!pass->cli->quiet) {
        output_line("%s: cosigned %zu logs, %" PRIu64 " records", now,
                    json_array_size(pass->notes), pass->records);
    }
}

/* Honest logs are cosigned also when another one lies: their tenants have done
 * nothing. */
static int
run_pass(struct cli *cli, struct witness_dir *witness, uint64_t *size,
         int64_t *grown_ms, struct error *err)
{
    struct pass *pass = arena_alloc(cli->arena, sizeof(*pass));
    int result;

    memset(pass, 0, sizeof(*pass));
    pass->cli = cli;
    pass->witness = witness;
    pass->platform_size = size;
    pass->grown_ms = grown_ms;
    pass->notes = json_array();
    pass->told = json_array();
    result = examine_all(pass, err);
    if (result == 0)
        tell(pass);
    if (pass->finding.lie != AUDIT_NONE)
        result = error_set(err, ERROR_VERIFY, "%s: %s: %s; what it was shown "
                           "is in %s/evidence",
                           pass->finding.log,
                           audit_lie_text(pass->finding.lie),
                           pass->finding.text, witness->path);
    json_decref(pass->notes);
    json_decref(pass->told);
    return result;
}

/* --- over and over --- */

static bool
can_wait(const struct error *err)
{
    return err->code == ERROR_BUSY || err->code == ERROR_UNKNOWN ||
           err->code == ERROR_RATE;
}

static int
run_on(struct cli *cli, struct witness_dir *witness, int64_t every_s,
       struct error *err)
{
    uint64_t size = 0;
    int64_t grown_ms = 0;

    for (;;) {
        scoped_arena arena = arena_new();
        struct arena *outer = cli->arena;
        int result;

        cli->arena = arena;
        result = run_pass(cli, witness, &size, &grown_ms, err);
        cli->arena = outer;
        if (result != 0 && (cli_has(cli, "once") || !can_wait(err)))
            return -1;
        if (result != 0)
            (void)fprintf(stderr, "bulkhead: witness: %s\n", err->text);
        if (cli_has(cli, "once"))
            return 0;
        (void)fflush(stdout);
        for (int64_t i = 0; i < every_s * 5 && !cli_interrupted(); i++) {
            const struct timespec pause = { 0, 200000000 };

            (void)nanosleep(&pause, NULL);
        }
        if (cli_interrupted())
            return error_set(err, ERROR_INTERRUPTED, "interrupted");
    }
}

static int
print_key(const struct witness_dir *witness)
{
    scoped_buffer key = { 0 };

    checkpoint_add_key(&key, &witness->self);
    output_line("%s", buffer_text(&key));
    return 0;
}

static int
witness(struct cli *cli, struct error *err)
{
    struct witness_dir dir;
    int64_t every_s;
    int result;

    if (cli_option_int(cli, "every", 1, 86400, 60, &every_s, err) != 0)
        return -1;
    if (cli_option(cli, "key") == NULL && !cli_has(cli, "public-key"))
        return error_set(err, ERROR_INVALID,
                         "--key is needed: a witness has to know whom the "
                         "logs are signed by");
    if (witness_dir_open(&dir, cli->words[0], cli_option(cli, "name"), err) !=
        0)
        return -1;
    result = cli_has(cli, "public-key") ? print_key(&dir)
                                        : run_on(cli, &dir, every_s, err);
    witness_dir_close(&dir);
    return result;
}

static const struct command_option options[] = {
    { "key", 'k', "KEY", AUDIT_KEYS_HELP },
    { "name", 0, "NAME", "the witness's name, at first: a name like a URL" },
    { "every", 0, "SECONDS", "how often it looks (60)" },
    { "once", 0, NULL, "look once and end" },
    { "public-key", 0, NULL, "print the witness's own key and end" },
    { 0 },
};

const struct command command_audit_witness = {
    .verb = "audit",
    .noun = "witness",
    .words = "DIR",
    .help = "Watch all logs from another host and cosign what only grew.",
    .more =
        "DIR is the witness's memory: its key, and the newest head that it "
        "cosigned of each\nlog. It belongs on a host that the control plane's "
        "root cannot write. A head that\ndoes not extend what was seen is not "
        "cosigned: the lie is named, both heads are kept\nin DIR/evidence, "
        "and the witness ends with exit code 9. It needs the rights\n"
        "audit.read and audit.witness on the platform.",
    .options = options,
    .words_min = 1,
    .words_max = 1,
    .run = witness,
};
