/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "cli/client.h"
#include "cli/command.h"
#include "cli/output.h"

static int
confirm(struct cli *cli, struct error *err)
{
    scoped_json body = json_object();
    scoped_json answer = NULL;
    const json_t *result;
    const struct client_call call = { .method = "POST",
                                      .path = "/api/v1/clock",
                                      .body = body };

    if (client_send(cli, &call, &answer, err) != 0)
        return -1;
    result = cli->dry_run ? json_object_get(answer, "body") : answer;
    if (!cli->quiet)
        output_line("%" JSON_INTEGER_FORMAT " ms %s",
                    json_integer_value(
                        json_object_get(result, "confirmed_ms")),
                    cli->dry_run ? "would be taken over" : "taken over");
    return 0;
}

const struct command command_clock_confirm = {
    .verb = "clock",
    .noun = "confirm",
    .help = "Take over the machine's time after its clock jumped ahead.",
    .more = "A jump of more than a minute is held: nothing expires by it "
            "until somebody says that the\nclock is right. Needs a recent "
            "`bulkhead stepup`.",
    .run = confirm,
};
