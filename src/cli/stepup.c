/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/client.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/session.h"
#include "cli/sso.h"

static int
by_password(struct cli *cli, struct error *err)
{
    struct client_call call = { .method = "POST", .path = "/api/v1/stepup" };
    scoped_json body = json_object();
    scoped_json answer = NULL;
    char password[SESSION_SECRET_MAX];

    if (cli_secret(cli, "password-file", "password", password,
                   sizeof(password), err) != 0)
        return -1;
    (void)json_object_set_new(body, "password", json_string(password));
    call.body = body;
    return client_send(cli, &call, &answer, err);
}

static int
stepup(struct cli *cli, struct error *err)
{
    if (cli_has(cli, "sso") ? sso_step_up(cli, err) != 0
                            : by_password(cli, err) != 0)
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
    { 0 },
};

const struct command command_stepup = {
    .verb = "stepup",
    .help = "Prove your identity again, for guarded commands.",
    .more = "Commands that end with exit code 4 and \"step_up\" need it.",
    .options = options,
    .run = stepup,
};
