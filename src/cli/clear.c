/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/client.h"
#include "cli/command.h"
#include "cli/output.h"

static int
clear_alarm(struct cli *cli, struct error *err)
{
    scoped_json body = json_pack("{s:s}", "code", cli->words[1]);
    scoped_json answer = NULL;
    scoped_buffer path = { 0 };
    struct client_call call = { .method = "POST", .body = body };

    buffer_add_text(&path, "/api/v1/nodes/");
    http_encode(&path, cli->words[0]);
    buffer_add_text(&path, "/alarms/clear");
    call.path = path.bytes;
    if (client_send(cli, &call, &answer, err) != 0)
        return -1;
    output_done(cli, "alarm", cli->words[1], "cleared", answer);
    return 0;
}

const struct command command_clear_alarm = {
    .verb = "clear",
    .noun = "alarm",
    .words = "NODE CODE",
    .help = "End an alarm about a node that says what happened.",
    .more = "For report.* and instance.vanished, once somebody has looked "
            "into it; the others end with\ntheir cause. When it happens "
            "again, the alarm comes again.",
    .words_min = 2,
    .words_max = 2,
    .run = clear_alarm,
};
