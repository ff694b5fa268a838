/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/client.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/session.h"

static int
first_admin(struct cli *cli, struct error *err)
{
    struct client_call call = { .method = "POST",
                                .path = "/api/v1/first-admin" };
    scoped_json body = json_object();
    scoped_json answer = NULL;
    char secret[256], password[SESSION_SECRET_MAX];

    cli->token = cli->tenant = cli->project = NULL;
    if (cli_secret(cli, "secret-file", "one-time secret", secret,
                   sizeof(secret), err) != 0 ||
        cli_secret(cli, "password-file", "new password", password,
                   sizeof(password), err) != 0)
        return -1;
    (void)json_object_set_new(body, "secret", json_string(secret));
    (void)json_object_set_new(body, "name", json_string(cli->words[0]));
    (void)json_object_set_new(body, "password", json_string(password));
    call.body = body;
    if (client_send(cli, &call, &answer, err) != 0 ||
        session_open(cli, cli->words[0], password, NULL, err) != 0)
        return -1;
    output_done(cli, "user", cli->words[0], "created and logged in", answer);
    return 0;
}

static const struct command_option options[] = {
    { "secret-file", 0, "FILE", "the file first-admin in the server's data" },
    { "password-file", 0, "FILE",
      "file with the new password; else standard input is asked" },
    { 0 },
};

const struct command command_first_admin = {
    .verb = "first-admin",
    .words = "NAME",
    .help = "Make the first administrator with the one-time secret.",
    .options = options,
    .words_min = 1,
    .words_max = 1,
    .run = first_admin,
};
