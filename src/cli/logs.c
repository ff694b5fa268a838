/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <unistd.h>

#include "cli/client.h"
#include "cli/command.h"
#include "cli/place.h"
#include "cli/screen.h"

struct reader {
    bool terminal;
    struct screen_stream stream;
};

/* The bytes are the workload's own; a terminal gets no control codes. */
static bool
take(const char *bytes, size_t size, void *data)
{
    struct reader *reader = data;
    scoped_buffer safe = { 0 };

    if (reader->terminal) {
        screen_pass(&reader->stream, bytes, size, &safe);
        bytes = buffer_text(&safe);
        size = safe.size;
    }
    (void)fwrite(bytes, 1, size, stdout);
    return fflush(stdout) == 0 && !cli_interrupted();
}

static int
logs(struct cli *cli, struct error *err)
{
    struct reader reader = { .terminal = isatty(STDOUT_FILENO) == 1 };
    const char *instance = cli_option(cli, "instance");
    scoped_buffer path = { 0 };
    const char *workload;
    int64_t offset;

    if (cli_option_int(cli, "offset", 0, INT64_MAX / 2, 0, &offset, err) !=
            0 ||
        place_object(cli, KIND_WORKLOAD, cli->words[0], &workload, err) != 0)
        return -1;
    buffer_printf(&path, "%s/log?offset=%lld", workload, (long long)offset);
    if (instance != NULL) {
        buffer_add_text(&path, "&instance=");
        http_encode(&path, instance);
    }
    if (cli_has(cli, "follow"))
        buffer_add_text(&path, "&follow=1");
    if (client_stream(cli, path.bytes, take, &reader, err) != 0)
        return -1;
    return cli_interrupted()
               ? error_set(err, ERROR_INTERRUPTED, "interrupted")
               : 0;
}

static const struct command_option options[] = {
    { "follow", 'f', NULL, "go on until the instance has ended" },
    { "instance", 0, "ID", "of this instance; else the newest first one" },
    { "offset", 0, "BYTES", "begin here" },
    { 0 },
};

const struct command command_logs = {
    .verb = "logs",
    .words = "WORKLOAD",
    .help = "Print what a workload wrote.",
    .options = options,
    .words_min = 1,
    .words_max = 1,
    .run = logs,
};
