/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/waiting.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/client.h"
#include "cli/output.h"
#include "cli/place.h"
#include "cli/screen.h"

#define POLL_NS 250000000L

bool
waiting_is_terminal(const char *state)
{
    return strcmp(state, "succeeded") == 0 || strcmp(state, "failed") == 0 ||
           strcmp(state, "cancelled") == 0 || strcmp(state, "rejected") == 0;
}

static void
show_progress(const char *state, const json_t *workload, char *last,
              size_t room)
{
    const char *why =
        json_string_value(json_object_get(workload, "reason_text"));
    scoped_buffer line = { 0 };

    screen_clean(&line, state);
    if (why != NULL && why[0] != '\0') {
        buffer_add_text(&line, ": ");
        screen_clean(&line, why);
    }
    if (strncmp(buffer_text(&line), last, room - 1) == 0 ||
        isatty(STDERR_FILENO) != 1)
        return;
    (void)snprintf(last, room, "%s", buffer_text(&line));
    (void)fprintf(stderr, "%s\n", buffer_text(&line));
}

int
waiting_for(const struct cli *cli, const char *workload,
            bool (*accept)(const char *state), int64_t timeout_ms,
            struct error *err)
{
    const struct timespec pause = { 0, POLL_NS };
    int64_t start_ms = clock_mono_ms();
    char last[512] = "";
    const char *path;

    if (place_object(cli, KIND_WORKLOAD, workload, &path, err) != 0)
        return -1;
    for (;;) {
        scoped_json answer = NULL;
        const char *state;

        if (client_get(cli, path, &answer, err) != 0 &&
            err->code != ERROR_BUSY)
            return -1;
        state = json_string_value(json_object_get(answer, "state"));
        if (state != NULL) {
            show_progress(state, answer, last, sizeof(last));
            if (accept(state))
                return 0;
            if (waiting_is_terminal(state))
                return error_set(err, ERROR_CONDITION,
                                 "workload %s has %s (exit code %lld)",
                                 workload, state,
                                 (long long)json_integer_value(
                                     json_object_get(answer, "exit_code")));
        }
        if (cli_interrupted())
            return error_set(err, ERROR_INTERRUPTED, "interrupted");
        if (timeout_ms > 0 && clock_mono_ms() - start_ms >= timeout_ms)
            return error_set(err, ERROR_CONDITION, "workload %s is still %s",
                             workload, state != NULL ? state : "unknown");
        (void)nanosleep(&pause, NULL);
    }
}

static bool
is_success(const char *state)
{
    return strcmp(state, "succeeded") == 0;
}

int
waiting_for_end(const struct cli *cli, const char *workload,
                struct error *err)
{
    return waiting_for(cli, workload, is_success, 0, err);
}
