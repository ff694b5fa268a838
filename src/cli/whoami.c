/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/client.h"
#include "cli/command.h"
#include "cli/output.h"

static int
whoami(struct cli *cli, struct error *err)
{
    static const struct column columns[] = {
        { "NAME", "name", 's', false },
        { "TYPE", "kind", 's', false },
        { "TENANT", "tenant", 's', false },
        { "CREDENTIAL", "credential", 's', true },
        { "ID", "id", 's', true },
        { 0 },
    };
    scoped_json answer = NULL;

    if (client_get(cli, "/api/v1/whoami", &answer, err) != 0)
        return -1;
    output_print(cli, columns, answer);
    return 0;
}

const struct command command_whoami = {
    .verb = "whoami",
    .help = "Say who asks, by which credential.",
    .run = whoami,
};
