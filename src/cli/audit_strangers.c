/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/client.h"
#include "cli/command.h"
#include "cli/output.h"

static const struct column columns[] = {
    { "LAST", "last", 's', false },     { "COUNT", "count", 's', false },
    { "VERB", "verb", 's', false },     { "REASON", "reason", 's', false },
    { "ADDRESS", "ip", 'r', false },    { "FIRST", "first", 's', true },
    { 0 },
};

static int
strangers(struct cli *cli, struct error *err)
{
    scoped_json answer = NULL;
    json_int_t dropped;

    if (client_get(cli, "/api/v1/audit/strangers", &answer, err) != 0)
        return -1;
    output_print(cli, columns, answer);
    dropped = json_integer_value(json_object_get(answer, "dropped"));
    if (dropped > 0 && !cli->quiet && cli->form == OUTPUT_TABLE)
        output_line("%lld more had no place", (long long)dropped);
    return 0;
}

const struct command command_audit_strangers = {
    .verb = "audit",
    .noun = "strangers",
    .help = "Show who failed to prove who he is.",
    .more = "Failures of nobody known have a bounded stream of their own, so "
            "that no flood of them\npushes history out: equal ones of a "
            "minute are one line, and what has no place is\ncounted. The "
            "platform's log tells once a minute how many there were. "
            "Addresses are\nshown to those who may read personal parts.",
    .run = strangers,
};
