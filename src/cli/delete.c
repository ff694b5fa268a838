/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/client.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/place.h"

static int
delete(struct cli *cli, struct error *err)
{
    struct client_call call = { .method = "DELETE" };
    scoped_json answer = NULL;
    enum kind kind;

    if (place_kind(cli->words[0], &kind, err) != 0 ||
        place_object(cli, kind, cli->words[1], &call.path, err) != 0 ||
        client_send(cli, &call, &answer, err) != 0)
        return -1;
    output_done(cli, schema_get(kind)->name, cli->words[1], "deleted", NULL);
    return 0;
}

static const struct command_option options[] = { PLACE_OPTIONS, { 0 } };

const struct command command_delete = {
    .verb = "delete",
    .words = "NOUN NAME",
    .help = "Delete an object.",
    .options = options,
    .words_min = 2,
    .words_max = 2,
    .run = delete,
};
