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
    bool ok;

    if (client_send(cli, &call, &answer, err) != 0)
        return -1;
    ok = json_is_true(json_object_get(answer, "clean"));
    if (cli->form == OUTPUT_JSON || cli->form == OUTPUT_YAML) {
        output_print(cli, columns, answer);
    } else if (!ok) {
        output_print(cli, columns, answer);
    } else if (!cli->quiet) {
        output_line("clean: every counter equals what the bindings give");
    }
    return ok ? 0
              : error_set(err, ERROR_VERIFY,
                          "counters or invariants do not hold");
}

const struct command command_check = {
    .verb = "check",
    .help = "Recompute every counter and invariant and compare.",
    .more = "Exit code 9 when something does not hold.",
    .run = check,
};
