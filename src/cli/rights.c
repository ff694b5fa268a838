/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/client.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/place.h"

static int
rights(struct cli *cli, struct error *err)
{
    static const struct column columns[] = {
        { "ROLE", "role", 's', false },       { "AT", "at", 's', false },
        { "GROUP", "group_name", 's', false }, { "TO", "to", 't', false },
        { "GRANT", "grant", 's', true },      { 0 },
    };
    bool account = cli_has(cli, "account");
    scoped_json answer = NULL;
    const char *path;

    if (place_object(cli, account ? KIND_SERVICEACCOUNT : KIND_USER,
                     cli->words[0], &path, err) != 0 ||
        client_get(cli, arena_printf(cli->arena, "%s/rights", path), &answer,
                   err) != 0)
        return -1;
    output_print(cli, columns, answer);
    return 0;
}

static const struct command_option options[] = {
    { "account", 0, NULL, "a service account of the project, not a user" },
    PLACE_NODE_OPTIONS,
    { 0 },
};

const struct command command_rights = {
    .verb = "rights",
    .words = "USER",
    .help = "Show every grant that a subject has, and by which group.",
    .more = "A grant of a group counts for its members while they are "
            "members. Your own are in\n`bulkhead whoami`. For example: "
            "bulkhead rights alice -t research",
    .options = options,
    .words_min = 1,
    .words_max = 1,
    .run = rights,
};
