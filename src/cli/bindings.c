/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/client.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/place.h"

static int
bindings(struct cli *cli, struct error *err)
{
    static const char *const names[] = { "from", "to", "at", "card",
                                         "instance" };
    scoped_buffer path = { 0 };
    scoped_json answer = NULL;
    const char *node, *workload = cli_option(cli, "workload");
    char join = '?';

    if (workload != NULL) {
        if (place_object(cli, KIND_WORKLOAD, workload, &node, err) != 0)
            return -1;
    } else if (place_node(cli, &node, err) != 0) {
        return -1;
    }
    buffer_printf(&path, "%s/bindings", node);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (cli_has(cli, names[i])) {
            buffer_printf(&path, "%c%s=", join, names[i]);
            http_encode(&path, cli_option(cli, names[i]));
            join = '&';
        }
    if (client_get(cli, path.bytes, &answer, err) != 0)
        return -1;
    output_print(cli, output_columns("binding"), answer);
    return 0;
}

static const struct command_option options[] = {
    { "from", 0, "TIME", "2030-01-31T00:00:00Z; else a day ago" },
    { "to", 0, "TIME", "not including; else now" },
    { "at", 0, "TIME", "at this instant instead" },
    { "card", 0, "ID", "of this card" },
    { "instance", 0, "ID", "of this instance" },
    PLACE_NODE_OPTIONS,
    { "workload", 'w', "NAME", "of this workload" },
    { 0 },
};

const struct command command_bindings = {
    .verb = "bindings",
    .help = "Show which instance held which card when.",
    .options = options,
    .run = bindings,
};
