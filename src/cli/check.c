/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/client.h"
#include "cli/command.h"
#include "cli/output.h"

static int
check(struct cli *cli, struct error *err)
{
    static const struct column columns[] = {
        { "RULE", "rule", 's', false },
        { "OBJECT", "object", 's', false },
        { "TEXT", "text", 's', false },
        { 0 },
    };
    const struct client_call call = { .method = "GET",
                                      .path = "/api/v1/check",
                                      .timeout_ms = 300000 };
    scoped_json answer = NULL;

    if (client_send(cli, &call, &answer, err) != 0)
        return -1;
    if (cli->form == OUTPUT_JSON || cli->form == OUTPUT_YAML ||
        !json_is_true(json_object_get(answer, "clean")))
        output_print(cli, columns, answer);
    if (!json_is_true(json_object_get(answer, "clean")))
        return error_set(err, ERROR_VERIFY,
                         "counters or invariants do not hold");
    if (cli->form == OUTPUT_TABLE && !cli->quiet)
        output_line("clean: every counter equals what the bindings give");
    return 0;
}

const struct command command_check = {
    .verb = "check",
    .help = "Recompute every counter and invariant and compare.",
    .more = "Exit code 9 when something does not hold.",
    .run = check,
};
