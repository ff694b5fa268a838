/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/client.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/place.h"
#include "cli/session.h"

static int
passwd(struct cli *cli, struct error *err)
{
    struct client_call call = { .method = "POST" };
    scoped_json body = json_object();
    scoped_json answer = NULL;
    char password[SESSION_SECRET_MAX];
    const char *path;

    if (place_object(cli, KIND_USER, cli->words[0], &path, err) != 0 ||
        cli_secret(cli, "password-file", "new password", password,
                   sizeof(password), err) != 0)
        return -1;
    (void)json_object_set_new(body, "password", json_string(password));
    if (cli_has(cli, "lasting"))
        (void)json_object_set_new(body, "temporary", json_false());
    call.body = body;
    call.path = arena_printf(cli->arena, "%s/password", path);
    if (client_send(cli, &call, &answer, err) != 0)
        return -1;
    output_done(cli, "user", cli->words[0], "has a new password", NULL);
    return 0;
}

static const struct command_option options[] = {
    { "password-file", 0, "FILE",
      "file with the new password; else standard input is asked" },
    { "lasting", 0, NULL, "somebody else need not change it first" },
    { "workorder", 0, "NAME", "of the vendor of this work order" },
    PLACE_NODE_OPTIONS,
    { 0 },
};

const struct command command_passwd = {
    .verb = "passwd",
    .words = "USER",
    .help = "Set a user's password.",
    .more = "Somebody else has to change it before anything else, and their "
            "sessions end. `bulkhead invite`\nlets a new user set the first "
            "one.",
    .options = options,
    .words_min = 1,
    .words_max = 1,
    .run = passwd,
};
