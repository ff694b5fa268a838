/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/client.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/session.h"
#include "cli/sso.h"

/* Who has a second factor is asked for its code. */
static int
wants_code(const struct cli *cli, bool *out, struct error *err)
{
    scoped_json who = NULL;

    *out = cli_has(cli, "code-file");
    if (*out || cli_has(cli, "password-file") || cli_has(cli, "recovery-file"))
        return 0;
    if (client_get(cli, "/api/v1/whoami", &who, err) != 0)
        return -1;
    *out = json_is_true(json_object_get(who, "second_factor"));
    return 0;
}

static int
by_secret(struct cli *cli, struct error *err)
{
    bool code;

    return wants_code(cli, &code, err) != 0 ? -1
                                            : session_prove(cli, code, err);
}

static int
stepup(struct cli *cli, struct error *err)
{
    if (cli_has(cli, "sso") ? sso_step_up(cli, err) != 0
                            : by_secret(cli, err) != 0)
        return -1;
    if (!cli->quiet)
        output_line("identity proved for five minutes");
    return 0;
}

static const struct command_option options[] = {
    { "password-file", 0, "FILE",
      "file with the password; else standard input is asked" },
    { "sso", 0, NULL, "by the identity provider that the session came by" },
    { "paste", 0, NULL, "the browser is on another machine" },
    { "code-file", 0, "FILE", "file with the code of the second factor" },
    { "recovery-file", 0, "FILE", "file with a recovery code, used up by it" },
    { 0 },
};

const struct command command_stepup = {
    .verb = "stepup",
    .help = "Prove your identity again, for guarded commands.",
    .more = "Commands that end with exit code 4 and \"step_up\" need it. Who "
            "has a second factor gives a\ncode of it, others the password.",
    .options = options,
    .run = stepup,
};
