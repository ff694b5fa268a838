/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/client.h"
#include "cli/command.h"
#include "cli/context.h"
#include "cli/output.h"

static int
logout(struct cli *cli, struct error *err)
{
    static const char *const keys[] = { "token", "user" };
    static const char *const values[] = { NULL, NULL };
    struct client_call call = { .method = "POST", .path = "/api/v1/logout" };
    scoped_json body = json_object();
    scoped_json answer = NULL;

    call.body = body;
    /* A session that is already dead is as good as ended. */
    if (client_send(cli, &call, &answer, err) != 0 &&
        err->code != ERROR_UNAUTHENTICATED)
        return -1;
    if (context_set(cli, keys, values, 2, err) != 0)
        return -1;
    if (!cli->quiet)
        output_line("logged out");
    return 0;
}

const struct command command_logout = {
    .verb = "logout",
    .help = "End the session, here and on the server.",
    .run = logout,
};
