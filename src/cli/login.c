/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/output.h"
#include "cli/session.h"

static int
login(struct cli *cli, struct error *err)
{
    char password[SESSION_SECRET_MAX];

    if (cli_has(cli, "operator"))
        cli->tenant = cli->project = NULL;
    if (cli_secret(cli, "password-file", "password", password,
                   sizeof(password), err) != 0 ||
        session_open(cli, cli->words[0], password, err) != 0)
        return -1;
    if (!cli->quiet)
        output_line("logged in as %s%s%s", cli->words[0],
                    cli->tenant != NULL ? " of " : "",
                    cli->tenant != NULL ? cli->tenant : "");
    return 0;
}

static const struct command_option options[] = {
    { "password-file", 0, "FILE",
      "file with the password; else standard input is asked" },
    { "operator", 0, NULL, "a user of the platform, not of a tenant" },
    { 0 },
};

const struct command command_login = {
    .verb = "login",
    .words = "USER",
    .help = "Trade a password for a session.",
    .more = "The session is kept in the context file, with the tenant "
            "(--tenant) and project.",
    .options = options,
    .words_min = 1,
    .words_max = 1,
    .run = login,
};
