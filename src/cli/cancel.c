/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/client.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/place.h"

/* cancel, hold and release: one POST below the workload each. */
static int
act(const struct cli *cli, const char *verb, const char *done,
    struct error *err)
{
    struct client_call call = { .method = "POST" };
    scoped_json body = json_object();
    scoped_json answer = NULL;
    const char *path;

    if (place_object(cli, KIND_WORKLOAD, cli->words[0], &path, err) != 0)
        return -1;
    call.body = body;
    call.path = arena_printf(cli->arena, "%s/%s", path, verb);
    if (client_send(cli, &call, &answer, err) != 0)
        return -1;
    output_done(cli, "workload", cli->words[0], done, answer);
    return 0;
}

static int
cancel(struct cli *cli, struct error *err)
{
    return act(cli, "cancel", "cancelled", err);
}

static int
hold(struct cli *cli, struct error *err)
{
    return act(cli, "hold", "held", err);
}

static int
release(struct cli *cli, struct error *err)
{
    return act(cli, "release", "released", err);
}

const struct command command_cancel = {
    .verb = "cancel",
    .words = "WORKLOAD",
    .help = "Cancel a workload; running work gets notice and grace.",
    .words_min = 1,
    .words_max = 1,
    .run = cancel,
};

const struct command command_hold = {
    .verb = "hold",
    .words = "WORKLOAD",
    .help = "Keep a waiting workload from starting.",
    .words_min = 1,
    .words_max = 1,
    .run = hold,
};

const struct command command_release = {
    .verb = "release",
    .words = "WORKLOAD",
    .help = "End a hold.",
    .words_min = 1,
    .words_max = 1,
    .run = release,
};
