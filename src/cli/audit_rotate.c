/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/client.h"
#include "cli/command.h"
#include "cli/output.h"

static int
rotate(struct cli *cli, struct error *err)
{
    struct client_call call = { .method = "POST",
                                .path = "/api/v1/audit/rotate" };
    scoped_json answer = NULL;

    if (client_send(cli, &call, &answer, err) != 0)
        return -1;
    if (cli->form == OUTPUT_JSON || cli->form == OUTPUT_YAML) {
        output_print(cli, NULL, answer);
        return 0;
    }
    if (cli->dry_run) {
        output_line("the signer would change its key (dry run)");
        return 0;
    }
    output_line("%s",
                json_string_value(json_object_get(answer, "key")));
    if (!cli->quiet)
        output_line("the old key vouched for this one: whoever has the old "
                    "one goes on with it.\nIf the old one was stolen, give "
                    "this one to them by another way.");
    return 0;
}

const struct command command_audit_rotate_key = {
    .verb = "audit",
    .noun = "rotate-key",
    .help = "Let the signer change its key, and print the new one.",
    .more = "The old key signs that it hands over to the new one, and nothing "
            "any more after\nthat; verifiers and witnesses follow. The change "
            "is a record of the platform's log.\nNeeds audit.rotate and a "
            "recent proof of identity.",
    .run = rotate,
};
