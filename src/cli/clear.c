/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/client.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/place.h"

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

/* What the control plane then orders decides; nobody declares a card clean. */
static int
clear_card(struct cli *cli, struct error *err)
{
    scoped_json body = json_pack("{s:s}", "handover", "pending");
    scoped_json before = NULL;
    scoped_json answer = NULL;
    struct client_call call = { .method = "PATCH", .body = body };

    if (place_object(cli, KIND_CARD, cli->words[0], &call.path, err) != 0 ||
        client_get(cli, call.path, &before, err) != 0)
        return -1;
    call.version = json_integer_value(json_object_get(before, "version"));
    if (client_send(cli, &call, &answer, err) != 0)
        return -1;
    output_done(cli, "card", cli->words[0], "is handed over anew", answer);
    return 0;
}

const struct command command_clear_card = {
    .verb = "clear",
    .noun = "card",
    .words = "CARD",
    .help = "Hand a quarantined card over anew, once it was repaired.",
    .more = "CARD is its id. Its node waits until it is idle, cleans and looks "
            "at it; it is given\nto nobody before that has succeeded. `bulkhead "
            "handover CARD` shows how it went.\nNeeds a recent proof of "
            "identity, and is audited.",
    .words_min = 1,
    .words_max = 1,
    .run = clear_card,
};
