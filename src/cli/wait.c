/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/command.h"
#include "cli/fields.h"
#include "cli/waiting.h"

static bool
is_running(const char *state)
{
    return strcmp(state, "running") == 0 || strcmp(state, "succeeded") == 0;
}

static bool
is_waiting(const char *state)
{
    return strcmp(state, "queued") == 0 || strcmp(state, "gated") == 0 ||
           strcmp(state, "held") == 0;
}

static bool
is_gated(const char *state)
{
    return strcmp(state, "gated") == 0;
}

static bool
is_preempting(const char *state)
{
    return strcmp(state, "preempting") == 0;
}

static int
wait_for_state(struct cli *cli, struct error *err)
{
    static const struct {
        const char *name;
        bool (*accept)(const char *state);
    } goals[] = { { "running", is_running },
                  { "waiting", is_waiting },
                  { "gated", is_gated },
                  { "preempting", is_preempting },
                  { "ended", waiting_is_terminal } };
    const char *goal = cli_option(cli, "for");
    const char *limit = cli_option(cli, "timeout");
    int64_t timeout_ms = 0;

    if (limit != NULL && fields_duration(limit, &timeout_ms, err) != 0)
        return error_prefix(err, "--timeout");
    if (goal == NULL)
        goal = "ended";
    for (size_t i = 0; i < sizeof(goals) / sizeof(goals[0]); i++)
        if (strcmp(goals[i].name, goal) == 0)
            return waiting_for(cli, cli->words[0], goals[i].accept,
                               timeout_ms, err);
    return error_set(err, ERROR_INVALID,
                     "--for is \"%.40s\", must be running, waiting, gated, "
                     "preempting or ended",
                     goal);
}

static const struct command_option options[] = {
    { "for", 0, "STATE",
      "running, waiting, gated, preempting or ended (default)" },
    { "timeout", 0, "TIME", "give up after this: 30s, 5m (exit code 8)" },
    { 0 },
};

const struct command command_wait = {
    .verb = "wait",
    .words = "WORKLOAD",
    .help = "Wait until a workload is in a state.",
    .options = options,
    .words_min = 1,
    .words_max = 1,
    .run = wait_for_state,
};
