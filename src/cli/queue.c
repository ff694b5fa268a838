/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/client.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/place.h"

static int
queue(struct cli *cli, struct error *err)
{
    static const struct column columns[] = {
        { "NAME", "name", 's', false },
        { "STATE", "state", 's', false },
        { "INSTANCES", "instances", 's', false },
        { "PROJECT", "parent", 's', true },
        { "REASON", "reason", 'r', false },
        { "SENTENCE", "reason_text", 's', false },
        { "ID", "id", 's', true },
        { "AGE", "submitted_ms", 'a', false },
        { 0 },
    };
    scoped_json answer = NULL;
    const char *path = "/api/v1/queue";

    if (cli->tenant != NULL) {
        scoped_buffer text = { 0 };

        buffer_add_text(&text, "/api/v1/tenants/");
        http_encode(&text, cli->tenant);
        buffer_add_text(&text, "/queue");
        path = arena_strdup(cli->arena, text.bytes);
    }
    if (client_list(cli, path, 100000, &answer, err) != 0)
        return -1;
    output_print(cli, columns, answer);
    return 0;
}

const struct command command_queue = {
    .verb = "queue",
    .help = "Show what waits and why.",
    .more = "gated: a quota or a rule stops it before it competes for cards. "
            "queued: it competes.\nheld: `bulkhead hold`. `bulkhead explain "
            "WORKLOAD` has the numbers.",
    .run = queue,
};
