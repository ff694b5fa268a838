/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/client.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/place.h"

#define HISTORY_DEFAULT 50
#define HISTORY_MAX 10000

static int
history(struct cli *cli, struct error *err)
{
    static const struct column columns[] = {
        { "NAME", "name", 's', false },
        { "STATE", "state", 's', false },
        { "EXIT", "exit_code", 'e', false },
        { "CARD-HOURS", "card_time", 'h', false },
        { "SUBMITTED", "submitted_ms", 't', true },
        { "ENDED", "ended_ms", 't', false },
        { 0 },
    };
    const char *path;
    scoped_json list = NULL;
    int64_t limit;

    if (cli_option_int(cli, "limit", 1, HISTORY_MAX, HISTORY_DEFAULT, &limit,
                       err) != 0 ||
        place_collection(cli, KIND_WORKLOAD, &path, err) != 0)
        return -1;
    path = arena_printf(cli->arena, "%.*s/history",
                        (int)(strlen(path) - strlen("/workloads")), path);
    if (client_list(cli, path, (size_t)limit, &list, err) != 0)
        return -1;
    output_print(cli, columns, list);
    return 0;
}

static const struct command_option options[] = {
    { "limit", 'n', "N", "at most so many, newest first (50)" },
    { 0 },
};

const struct command command_history = {
    .verb = "history",
    .help = "List a project's ended workloads, newest first.",
    .options = options,
    .run = history,
};
