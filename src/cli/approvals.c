/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/client.h"
#include "cli/command.h"
#include "cli/fields.h"
#include "cli/output.h"
#include "cli/place.h"

/* Second persons: deciding, and carrying out what was decided. */

static const char *
approval_path(const struct cli *cli, const char *step)
{
    scoped_buffer path = { 0 };

    buffer_add_text(&path, "/api/v1/approvals/");
    http_encode(&path, cli->words[0]);
    buffer_add_text(&path, step);
    return arena_strdup(cli->arena, path.bytes);
}

static int
decide(struct cli *cli, const char *step, const char *done, struct error *err)
{
    struct client_call call = { .method = "POST" };
    const char *note = cli_option(cli, "note"), *state;
    scoped_json body = json_object();
    scoped_json answer = NULL;

    if (note != NULL)
        (void)json_object_set_new(body, "note", json_string(note));
    call.body = body;
    call.path = approval_path(cli, step);
    if (client_send(cli, &call, &answer, err) != 0)
        return -1;
    state = json_string_value(json_object_get(answer, "state"));
    output_done(cli, "approval", cli->words[0],
                state != NULL && strcmp(state, "open") == 0
                    ? "is yours; others have to approve too"
                    : done,
                answer);
    return 0;
}

static int
approve(struct cli *cli, struct error *err)
{
    return decide(cli, "/approve", "approved", err);
}

static int
deny(struct cli *cli, struct error *err)
{
    return decide(cli, "/deny", "denied", err);
}

static int
drop(struct cli *cli, struct error *err)
{
    return decide(cli, "/drop", "dropped", err);
}

static const char *
text_of(const json_t *object, const char *field)
{
    const char *text = json_string_value(json_object_get(object, field));

    return text != NULL ? text : "";
}

/* SHA-256 of nothing: the operation has no body. */
#define NO_BODY                                                               \
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

/* The request is sent as it was approved, in the approval's name. */
static int
execute(struct cli *cli, struct error *err)
{
    struct client_call call = { .approval = cli->words[0] };
    scoped_json approval = NULL;
    scoped_json answer = NULL;

    if (client_get(cli, approval_path(cli, ""), &approval, err) != 0)
        return -1;
    call.method = text_of(approval, "method");
    call.path = text_of(approval, "path");
    call.body = json_object_get(approval, "body");
    if (json_is_null(call.body))
        call.body = NULL;
    if (call.body == NULL &&
        strcmp(text_of(approval, "body_digest"), NO_BODY) != 0) {
        (void)error_set(err, ERROR_CONDITION,
                        "what was approved holds a secret or what people "
                        "wrote, and is not kept");
        return error_help(err, "the same command as before with --approval "
                               "%.40s",
                          cli->words[0]);
    }
    call.version = strcmp(call.method, "PATCH") == 0
                       ? json_integer_value(
                             json_object_get(approval, "target_version"))
                       : 0;
    if (client_send(cli, &call, &answer, err) != 0)
        return -1;
    output_done(cli, "approval", cli->words[0], "carried out", answer);
    return 0;
}

static const struct command_option note_options[] = {
    { "note", 0, "TEXT", "for who asked" },
    { 0 },
};

const struct command command_approve_approval = {
    .verb = "approve",
    .noun = "approval",
    .words = "APPROVAL",
    .help = "Be the second person of a guarded operation.",
    .more = "`bulkhead get approval APPROVAL -o yaml` shows exactly what is "
            "asked for: method, path,\nbody and the version of its object. "
            "Who asked carries it out, once, within the hour.",
    .options = note_options,
    .words_min = 1,
    .words_max = 1,
    .run = approve,
};

const struct command command_deny_approval = {
    .verb = "deny",
    .noun = "approval",
    .words = "APPROVAL",
    .help = "Refuse a guarded operation, with a note for who asked.",
    .options = note_options,
    .words_min = 1,
    .words_max = 1,
    .run = deny,
};

const struct command command_drop_approval = {
    .verb = "drop",
    .noun = "approval",
    .words = "APPROVAL",
    .help = "Give up what you asked for; it cannot be approved any more.",
    .options = note_options,
    .words_min = 1,
    .words_max = 1,
    .run = drop,
};

const struct command command_execute_approval = {
    .verb = "execute",
    .noun = "approval",
    .words = "APPROVAL",
    .help = "Carry out what you asked for and others approved.",
    .more = "Sends exactly the request that was approved; it is good for "
            "once.",
    .words_min = 1,
    .words_max = 1,
    .run = execute,
};

/* --- emergencies --- */

static int
break_glass(struct cli *cli, struct error *err)
{
    struct client_call call = { .method = "POST",
                                .path = "/api/v1/breakglasses" };
    const char *reason = cli_option(cli, "reason");
    const char *until = cli_option(cli, "for");
    char time[CLOCK_TEXT_MAX];
    scoped_json body = json_object();
    scoped_json answer = NULL;

    if (reason == NULL) {
        (void)error_set(err, ERROR_INVALID, "--reason is needed");
        return error_help(err, "it is shown to everybody whom it concerns");
    }
    (void)json_object_set_new(body, "reason", json_string(reason));
    if (until != NULL) {
        if (fields_time(arena_printf(cli->arena, "+%s", until), time, err) !=
            0)
            return error_prefix(err, "--for");
        (void)json_object_set_new(body, "to_ms", json_string(time));
    }
    call.body = body;
    if (client_send(cli, &call, &answer, err) != 0)
        return -1;
    output_done(cli, "breakglass", text_of(answer, "id"),
                "in force; somebody else has to review it", answer);
    return 0;
}

/* POST of a note to /NOUN/ID/STEP. */
static int
tell(struct cli *cli, const char *noun, const char *plural, const char *step,
     const char *done, struct error *err)
{
    struct client_call call = { .method = "POST" };
    const char *note = cli_option(cli, "note");
    scoped_json body = json_object();
    scoped_json answer = NULL;
    scoped_buffer path = { 0 };

    if (note != NULL)
        (void)json_object_set_new(body, "note", json_string(note));
    buffer_printf(&path, "/api/v1/%s/", plural);
    http_encode(&path, cli->words[0]);
    buffer_printf(&path, "/%s", step);
    call.body = body;
    call.path = path.bytes;
    if (client_send(cli, &call, &answer, err) != 0)
        return -1;
    output_done(cli, noun, cli->words[0], done, answer);
    return 0;
}

static int
end_glass(struct cli *cli, struct error *err)
{
    return tell(cli, "breakglass", "breakglasses", "end", "ended", err);
}

static int
review_glass(struct cli *cli, struct error *err)
{
    return tell(cli, "breakglass", "breakglasses", "review", "reviewed", err);
}

static const struct command_option glass_options[] = {
    { "reason", 'r', "TEXT", "why there is no time for an approval" },
    { "for", 0, "TIME", "how long: 20m, 1h; at most the platform's bound" },
    { 0 },
};

const struct command command_break_glass = {
    .verb = "break",
    .noun = "glass",
    .help = "In an emergency: guarded operations without a second person.",
    .more = "An alarm stands and the tenants that are concerned are told; "
            "everything that you change\nmeanwhile is listed, and somebody "
            "else has to review it.",
    .options = glass_options,
    .run = break_glass,
};

const struct command command_end_breakglass = {
    .verb = "end",
    .noun = "breakglass",
    .words = "BREAKGLASS",
    .help = "End an emergency before its time.",
    .words_min = 1,
    .words_max = 1,
    .run = end_glass,
};

static const struct command_option review_options[] = {
    { "note", 0, "TEXT", "what you found" },
    { 0 },
};

const struct command command_review_breakglass = {
    .verb = "review",
    .noun = "breakglass",
    .words = "BREAKGLASS",
    .help = "Say what somebody else's emergency was.",
    .more = "`bulkhead get breakglass BREAKGLASS -o yaml` lists what was "
            "changed meanwhile.",
    .options = review_options,
    .words_min = 1,
    .words_max = 1,
    .run = review_glass,
};

/* --- work orders --- */

static int
close_order(struct cli *cli, struct error *err)
{
    return tell(cli, "workorder", "workorders", "close",
                "ended, and with it its vendor's sessions", err);
}

static int
read_values(const struct cli *cli, json_t *values, struct error *err)
{
    for (int i = 1; i < cli->word_count; i++) {
        const char *word = cli->words[i];
        size_t size = strcspn(word, "=");

        if (word[size] != '=' || size == 0)
            return error_set(err, ERROR_INVALID,
                             "\"%.60s\" is not FIRMWARE=DIGEST", word);
        (void)json_object_set_new(values,
                                  arena_strndup(cli->arena, word, size),
                                  json_string(word + size + 1));
    }
    return 0;
}

static int
report_firmware(struct cli *cli, struct error *err)
{
    struct client_call call = { .method = "POST" };
    json_t *values = json_object();
    scoped_json body = json_pack("{s:b, s:o}", "after",
                                 cli_has(cli, "after"), "values", values);
    scoped_json answer = NULL;
    scoped_buffer path = { 0 };

    if (read_values(cli, values, err) != 0)
        return -1;
    buffer_add_text(&path, "/api/v1/workorders/");
    http_encode(&path, cli->words[0]);
    buffer_add_text(&path, "/firmware");
    call.body = body;
    call.path = path.bytes;
    if (client_send(cli, &call, &answer, err) != 0)
        return -1;
    output_done(cli, "workorder", cli->words[0], "has its firmware", answer);
    return 0;
}

const struct command command_close_workorder = {
    .verb = "close",
    .noun = "workorder",
    .words = "WORKORDER",
    .help = "End a work order; its vendor is out at once.",
    .words_min = 1,
    .words_max = 1,
    .run = close_order,
};

static const struct command_option firmware_options[] = {
    { "after", 0, NULL, "what the work left; else what was there before" },
    { 0 },
};

const struct command command_report_firmware = {
    .verb = "report",
    .noun = "firmware",
    .words = "WORKORDER FIRMWARE=DIGEST...",
    .help = "Report the firmware of a work order's devices.",
    .options = firmware_options,
    .words_min = 2,
    .words_max = CLI_WORDS_MAX,
    .run = report_firmware,
};
