/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/client.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/place.h"
#include "cli/session.h"

static int
set_clientsecret(struct cli *cli, struct error *err)
{
    struct client_call call = { .method = "POST" };
    scoped_json body = json_object();
    scoped_json answer = NULL;
    char secret[SESSION_SECRET_MAX];
    const char *path;

    if (place_object(cli, KIND_IDENTITYPROVIDER, cli->words[0], &path, err) !=
            0 ||
        cli_secret(cli, "secret-file", "client secret", secret,
                   sizeof(secret), err) != 0)
        return -1;
    (void)json_object_set_new(body, "client_secret", json_string(secret));
    call.body = body;
    call.path = arena_printf(cli->arena, "%s/secret", path);
    if (client_send(cli, &call, &answer, err) != 0)
        return -1;
    output_done(cli, "identityprovider", cli->words[0], "has a new secret",
                NULL);
    return 0;
}

static const struct command_option options[] = {
    { "secret-file", 0, "FILE",
      "file with the secret; else standard input is asked" },
    PLACE_NODE_OPTIONS,
    { 0 },
};

const struct command command_set_clientsecret = {
    .verb = "set",
    .noun = "clientsecret",
    .words = "PROVIDER",
    .help = "Set the secret that the platform shows to an identity provider.",
    .more = "It is kept encrypted and never shown again.",
    .options = options,
    .words_min = 1,
    .words_max = 1,
    .run = set_clientsecret,
};
