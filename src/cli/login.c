/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/command.h"
#include "cli/output.h"
#include "cli/session.h"
#include "cli/sso.h"

static int
by_password(struct cli *cli, const char **user_out, const char **limit_out,
            struct error *err)
{
    char password[SESSION_SECRET_MAX];

    if (cli->word_count == 0) {
        (void)error_set(err, ERROR_INVALID, "USER is needed");
        return error_help(err, "or --sso PROVIDER");
    }
    *user_out = cli->words[0];
    return cli_secret(cli, "password-file", "password", password,
                      sizeof(password), err) != 0
               ? -1
               : session_open(cli, cli->words[0], password, limit_out, err);
}

/* What the session lacks, and how to mend it; a code is asked for at once. */
static int
mend(struct cli *cli, const char *limit, struct error *err)
{
    if (strcmp(limit, "code") == 0)
        return session_prove(cli, true, err);
    if (cli->quiet)
        return 0;
    if (strcmp(limit, "password") == 0)
        (void)fprintf(stderr, "The password has to be changed first: "
                              "`bulkhead passwd %s`.\n",
                      cli->words[0]);
    if (strcmp(limit, "enrol") == 0)
        (void)fprintf(stderr, "A second factor is required here: `bulkhead "
                              "enrol factor`.\n");
    return 0;
}

static int
login(struct cli *cli, struct error *err)
{
    const char *provider = cli_option(cli, "sso"), *user, *limit = "none";

    if (cli_has(cli, "operator") || cli_option(cli, "workorder") != NULL)
        cli->tenant = cli->project = NULL;
    if (provider != NULL && cli->word_count > 0)
        return error_set(err, ERROR_INVALID,
                         "with --sso the identity provider says who you are: "
                         "no USER");
    if (provider != NULL ? sso_log_in(cli, provider, &user, err) != 0
                         : by_password(cli, &user, &limit, err) != 0)
        return -1;
    if (mend(cli, limit, err) != 0)
        return -1;
    if (!cli->quiet)
        output_line("logged in as %s%s%s", user,
                    cli->tenant != NULL ? " of " : "",
                    cli->tenant != NULL ? cli->tenant : "");
    return 0;
}

static const struct command_option options[] = {
    { "password-file", 0, "FILE",
      "file with the password; else standard input is asked" },
    { "sso", 0, "PROVIDER", "by this identity provider, in a browser" },
    { "paste", 0, NULL, "the browser is on another machine" },
    { "code-file", 0, "FILE", "file with the code, where one is asked for" },
    { "operator", 0, NULL, "a user of the platform, not of a tenant" },
    { "workorder", 0, "ID", "the vendor of this work order" },
    { 0 },
};

const struct command command_login = {
    .verb = "login",
    .words = "[USER]",
    .help = "Trade a password, or an identity provider's word, for a session.",
    .more = "The session is kept in the context file, with the tenant "
            "(--tenant) and project.\n"
            "With --sso the address of the identity provider is printed "
            "(and given to $BROWSER);\nits answer comes to a listener on "
            "127.0.0.1. For example:\n"
            "  bulkhead login --sso corp -t research",
    .options = options,
    .words_max = 1,
    .run = login,
};
