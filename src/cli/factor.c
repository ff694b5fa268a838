/* SPDX-License-Identifier: Apache-2.0 */
#include <qrencode.h>
#include <unistd.h>

#include "cli/client.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/place.h"
#include "cli/session.h"

/* Second factors: enrol, confirm, renew, drop; reset somebody else's. */

/* Two modules a line, dark on light as devices expect it. */
static void
print_row(const QRcode *code, int y)
{
    static const char *const halves[] = { "█", "▀", "▄", " " };
    char line[4 * 200 + 1];
    size_t used = 0;

    for (int x = -2; x < code->width + 2; x++) {
        bool inside = x >= 0 && x < code->width;
        bool upper = inside && y >= 0 && y < code->width &&
                     (code->data[y * code->width + x] & 1) != 0;
        bool lower = inside && y + 1 >= 0 && y + 1 < code->width &&
                     (code->data[(y + 1) * code->width + x] & 1) != 0;
        const char *half = halves[(lower ? 1 : 0) + (upper ? 2 : 0)];

        if (used + 4 < sizeof(line))
            used += (size_t)snprintf(line + used, sizeof(line) - used, "%s",
                                     half);
    }
    line[used] = '\0';
    (void)printf("%s\n", line);
}

static void
print_qr(const char *uri)
{
    QRcode *code =
        QRcode_encodeString(uri, 0, QR_ECLEVEL_L, QR_MODE_8, 1);

    if (code == NULL)
        return;
    for (int y = -2; y < code->width + 2; y += 2)
        print_row(code, y);
    QRcode_free(code);
}

static int
send_factor(struct cli *cli, const char *method, const char *path,
            json_t *body, json_t **answer, struct error *err)
{
    struct client_call call = { .method = method, .path = path,
                                .body = body };

    return client_send(cli, &call, answer, err);
}

static void
print_codes(const json_t *answer)
{
    const json_t *codes = json_object_get(answer, "recovery");
    json_t *code;
    size_t i;

    json_array_foreach(codes, i, code)
        output_line("%s", json_string_value(code));
    (void)fprintf(stderr, "These recovery codes are shown once; each opens "
                          "once. Keep them apart from the device.\n");
}

static int
confirm_code(struct cli *cli, struct error *err)
{
    scoped_json body = json_object();
    scoped_json answer = NULL;
    char code[SESSION_SECRET_MAX];

    if (cli_secret(cli, "code-file", "code", code, sizeof(code), err) != 0)
        return -1;
    (void)json_object_set_new(body, "code", json_string(code));
    if (send_factor(cli, "POST", "/api/v1/factor/confirm", body, &answer,
                    err) != 0)
        return -1;
    print_codes(answer);
    return 0;
}

static int
enrol(struct cli *cli, struct error *err)
{
    scoped_json body = json_object();
    scoped_json answer = NULL;
    const char *uri;

    if (send_factor(cli, "POST", "/api/v1/factor", body, &answer, err) != 0)
        return -1;
    uri = json_string_value(json_object_get(answer, "uri"));
    if (uri == NULL) {
        output_line("a second factor would be begun (dry run)");
        return 0;
    }
    output_line("%s", uri);
    if (isatty(STDOUT_FILENO) == 1 && !cli->quiet)
        print_qr(uri);
    if (isatty(STDIN_FILENO) == 1 && !cli_has(cli, "later")) {
        (void)fprintf(stderr, "Put this into the device, then give the code "
                              "that it shows.\n");
        return confirm_code(cli, err);
    }
    (void)fprintf(stderr, "It counts once a code has confirmed it: `bulkhead "
                          "confirm factor`.\n");
    return 0;
}

static int
renew(struct cli *cli, struct error *err)
{
    scoped_json body = json_object();
    scoped_json answer = NULL;

    if (send_factor(cli, "POST", "/api/v1/factor/recovery", body, &answer,
                    err) != 0)
        return -1;
    print_codes(answer);
    return 0;
}

static int
drop(struct cli *cli, struct error *err)
{
    scoped_json answer = NULL;

    if (send_factor(cli, "DELETE", "/api/v1/factor", NULL, &answer, err) != 0)
        return -1;
    output_done(cli, "factor", "second factor", "taken off", answer);
    return 0;
}

static int
reset(struct cli *cli, struct error *err)
{
    scoped_json body = json_object();
    scoped_json answer = NULL;
    const char *path;

    if (place_object(cli, KIND_USER, cli->words[0], &path, err) != 0 ||
        send_factor(cli, "POST",
                    arena_printf(cli->arena, "%s/factor-reset", path), body,
                    &answer, err) != 0)
        return -1;
    output_done(cli, "user", cli->words[0],
                "has no second factor any more, and no session", answer);
    return 0;
}

/* What a tenant asks of its own people, beside the platform's policy. */
static int
require(struct cli *cli, struct error *err)
{
    scoped_json body = json_pack("{s:s}", "second_factor", cli->words[0]);
    scoped_json answer = NULL;
    const char *path;

    if (cli->tenant == NULL) {
        (void)error_set(err, ERROR_INVALID, "which tenant's people?");
        return error_help(err, "--tenant NAME; for all: `bulkhead set "
                               "platform second_factor=%s`",
                          cli->words[0]);
    }
    if (place_object(cli, KIND_TENANT, cli->tenant, &path, err) != 0 ||
        send_factor(cli, "POST",
                    arena_printf(cli->arena, "%s/second-factor", path), body,
                    &answer, err) != 0)
        return -1;
    output_done(cli, "tenant", cli->tenant,
                arena_printf(cli->arena, "asks for second factors: %s",
                             cli->words[0]),
                answer);
    return 0;
}

static const struct command_option enrol_options[] = {
    { "later", 0, NULL, "do not ask for the code now" },
    { "code-file", 0, "FILE", "file with the code" },
    { 0 },
};
static const struct command_option confirm_options[] = {
    { "code-file", 0, "FILE",
      "file with the code; else standard input is asked" },
    { 0 },
};
static const struct command_option reset_options[] = {
    PLACE_NODE_OPTIONS,
    { 0 },
};

const struct command command_enrol_factor = {
    .verb = "enrol",
    .noun = "factor",
    .help = "Begin a second factor of your own (time-based codes).",
    .more = "Prints an otpauth address, on a terminal also as a picture that "
            "devices read, once.\nNeeds a fresh proof of identity (`bulkhead "
            "stepup`).",
    .options = enrol_options,
    .run = enrol,
};
const struct command command_confirm_factor = {
    .verb = "confirm",
    .noun = "factor",
    .help = "Confirm the second factor with the code that the device shows.",
    .more = "From then on `bulkhead stepup` asks for a code. Ten recovery "
            "codes are printed, once.",
    .options = confirm_options,
    .run = confirm_code,
};
const struct command command_renew_recovery = {
    .verb = "renew",
    .noun = "recovery",
    .help = "Print ten new recovery codes; those before open nothing more.",
    .run = renew,
};
const struct command command_drop_factor = {
    .verb = "drop",
    .noun = "factor",
    .help = "Take off your own second factor.",
    .more = "Needs a step-up with a code of it, or with a recovery code.",
    .run = drop,
};
const struct command command_reset_factor = {
    .verb = "reset",
    .noun = "factor",
    .words = "USER",
    .help = "Take off somebody's second factor, who has lost it.",
    .more = "Ends their sessions. Only for users whose rights are yours to "
            "hand out.",
    .options = reset_options,
    .words_min = 1,
    .words_max = 1,
    .run = reset,
};
const struct command command_require_factor = {
    .verb = "require",
    .noun = "factor",
    .words = "off|step-up|login",
    .help = "Say when a tenant's people have to show a second factor.",
    .more = "step-up: for guarded commands. login: before anything else. The "
            "platform's policy\n(`bulkhead set platform second_factor=...`) "
            "counts where it asks for more.",
    .words_min = 1,
    .words_max = 1,
    .run = require,
};
