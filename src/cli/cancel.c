/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/client.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/place.h"

/* cancel, hold and release: one POST below the workload each.  What became
 * of it is the state that the answer has. */
static int
act(const struct cli *cli, const char *verb, struct error *err)
{
    struct client_call call = { .method = "POST" };
    scoped_json body = json_object();
    scoped_json answer = NULL;
    const char *path, *state;

    if (place_object(cli, KIND_WORKLOAD, cli->words[0], &path, err) != 0)
        return -1;
    call.body = body;
    call.path = arena_printf(cli->arena, "%s/%s", path, verb);
    if (client_send(cli, &call, &answer, err) != 0)
        return -1;
    state = json_string_value(json_object_get(answer, "state"));
    output_done(cli, "workload", cli->words[0],
                arena_printf(cli->arena, "is %s",
                             state != NULL ? state : "unknown"),
                answer);
    return 0;
}

static int
cancel(struct cli *cli, struct error *err)
{
    return act(cli, "cancel", err);
}

static int
hold(struct cli *cli, struct error *err)
{
    return act(cli, "hold", err);
}

static int
release(struct cli *cli, struct error *err)
{
    return act(cli, "release", err);
}

const struct command command_cancel = {
    .verb = "cancel",
    .words = "WORKLOAD",
    .help = "Cancel a workload; running work gets notice and grace.",
    .more = "Running work is told by SIGTERM and stopped when it has ended or "
            "its grace (submit\n--grace) is over; `bulkhead wait` waits for "
            "that.",
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
    .help = "End a hold: the workload may start again.",
    .words_min = 1,
    .words_max = 1,
    .run = release,
};
