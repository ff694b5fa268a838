/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cli/client.h"
#include "cli/command.h"

/* Lines of the server, for a program that reads Prometheus's text. */
static int
metrics(struct cli *cli, struct error *err)
{
    scoped_answer answer = { 0 };

    if (client_get_text(cli, "/api/v1/metrics", &answer, err) != 0)
        return -1;
    (void)fwrite(answer.body.bytes, 1, answer.body.size, stdout);
    return 0;
}

const struct command command_metrics = {
    .verb = "metrics",
    .help = "Print the platform's counters in the Prometheus text format.",
    .run = metrics,
};
