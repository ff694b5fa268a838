/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/client.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/place.h"

/* cancel, hold and release: one POST below the workload each.  What became
 * of it is the state that the answer has. */
static int
act(const struct cli *cli, const char *verb, const char *reason,
    struct error *err)
{
    struct client_call call = { .method = "POST" };
    scoped_json body = json_object();
    scoped_json answer = NULL;
    const char *path, *state;

    if (reason != NULL)
        (void)json_object_set_new(body, "reason", json_string(reason));
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
    return act(cli, "cancel", NULL, err);
}

static int
hold(struct cli *cli, struct error *err)
{
    return act(cli, "hold", NULL, err);
}

static int
release(struct cli *cli, struct error *err)
{
    return act(cli, "release", NULL, err);
}

static int
release_workload(struct cli *cli, struct error *err)
{
    const char *reason = cli_option(cli, "reason");

    if (reason != NULL)
        return act(cli, "take-off", reason, err);
    (void)error_set(err, ERROR_INVALID, "--reason is needed");
    return error_help(err, "its owner is told why: --reason \"fans of n4 "
                           "are failing\"");
}

static const struct command_option release_options[] = {
    { "reason", 'r', "TEXT", "why, for the workload's owner" },
    { 0 },
};

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

const struct command command_release_workload = {
    .verb = "release",
    .noun = "workload",
    .words = "WORKLOAD",
    .help = "Take a running workload off its cards (operators).",
    .more = "It gets notice and grace, is submitted again through the gate, "
            "and its cards are\nscrubbed before another tenant gets them. "
            "Needs a fresh proof of identity\n(`bulkhead stepup`).",
    .options = release_options,
    .words_min = 1,
    .words_max = 1,
    .run = release_workload,
};
