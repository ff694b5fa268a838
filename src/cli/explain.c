/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cli/client.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/place.h"

static int
explain(struct cli *cli, struct error *err)
{
    scoped_json answer = NULL;
    const char *path;

    if (place_object(cli, KIND_WORKLOAD, cli->words[0], &path, err) != 0)
        return -1;
    path = arena_printf(cli->arena, "%s/explain", path);
    if (client_get(cli, path, &answer, err) != 0)
        return -1;
    /* The document goes deep: YAML reads well, tables do not. */
    if (cli->form == OUTPUT_TABLE || cli->form == OUTPUT_WIDE)
        cli->form = OUTPUT_YAML;
    output_print(cli, output_columns("workload"), answer);
    return 0;
}

const struct command command_explain = {
    .verb = "explain",
    .words = "WORKLOAD",
    .help = "Say why a workload waits and what would let it start.",
    .words_min = 1,
    .words_max = 1,
    .run = explain,
};
