/* SPDX-License-Identifier: Apache-2.0 */
#include "base/version.h"
#include "cli/client.h"
#include "cli/command.h"
#include "cli/output.h"

static int
version(struct cli *cli, struct error *err)
{
    scoped_json answer = NULL;
    const char *text;

    output_line("bulkhead %s", VERSION);
    if (client_get(cli, "/api/v1/version", &answer, err) != 0) {
        output_line("server not reached: %s", err->text);
        return 0;
    }
    text = json_string_value(json_object_get(answer, "version"));
    output_line("bulkheadd %s", text != NULL ? text : "-");
    return 0;
}

const struct command command_version = {
    .verb = "version",
    .help = "Print the versions of this program and of the server.",
    .run = version,
};
