/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/client.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/place.h"

static int
interference(struct cli *cli, struct error *err)
{
    scoped_buffer path = { 0 };
    scoped_json answer = NULL;
    const char *node;

    if (place_node(cli, &node, err) != 0)
        return -1;
    buffer_printf(&path, "%s/interference", node);
    if (client_get(cli, path.bytes, &answer, err) != 0)
        return -1;
    output_print(cli, output_columns("interference"), answer);
    return 0;
}

static const struct command_option options[] = {
    PLACE_NODE_OPTIONS,
    { 0 },
};

const struct command command_interference = {
    .verb = "interference",
    .help = "Show how much slower instances are than alone, and what is held.",
    .more = "INDEX 1.00 is as alone, 2.00 twice as slow. The platform's "
            "people see by whom\n(`-o wide`); everybody else sees their own "
            "work only. What is done about it is the\npool's: `bulkhead set "
            "pool NAME interference=observe|cap|move|isolate`.\n",
    .options = options,
    .run = interference,
};
