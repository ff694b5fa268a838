/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/context.h"
#include "cli/output.h"

static int
use(struct cli *cli, struct error *err)
{
    static const char *const keys[] = { "tenant", "project", "url",
                                        "socket" };
    const char *values[] = { cli->tenant, cli->project, cli->target.url,
                             cli->target.unix_path };

    if (cli_has(cli, "operator"))
        values[0] = values[1] = NULL;
    if (context_set(cli, keys, values, 4, err) != 0)
        return -1;
    output_line("tenant %s, project %s, server %s",
                values[0] != NULL ? values[0] : "<none>",
                values[1] != NULL ? values[1] : "<none>",
                values[2] != NULL ? values[2] : values[3]);
    return 0;
}

static const struct command_option options[] = {
    { "operator", 0, NULL, "forget tenant and project" },
    { 0 },
};

const struct command command_use = {
    .verb = "use",
    .help = "Keep --tenant, --project, --url or --socket for later commands.",
    .options = options,
    .run = use,
};
