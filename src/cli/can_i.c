/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/client.h"
#include "cli/command.h"
#include "cli/output.h"

static int
can_i(struct cli *cli, struct error *err)
{
    static const struct column columns[] = {
        { "ALLOWED", "allowed", 'b', false },
        { "VERB", "verb", 's', false },
        { "OUTCOME", "outcome", 's', false },
        { "STEPS", "steps", 's', true },
        { 0 },
    };
    scoped_buffer path = { 0 };
    scoped_json answer = NULL;

    buffer_add_text(&path, "/api/v1/can-i?verb=");
    http_encode(&path, cli->words[0]);
    if (cli->word_count > 1) {
        buffer_add_text(&path, "&object=");
        http_encode(&path, cli->words[1]);
    }
    if (client_get(cli, path.bytes, &answer, err) != 0)
        return -1;
    output_print(cli, columns, answer);
    if (json_is_true(json_object_get(answer, "allowed")))
        return 0;
    return error_set(err, ERROR_DENIED, "no: %s", cli->words[0]);
}

const struct command command_can_i = {
    .verb = "can-i",
    .words = "VERB [OBJECT-ID]",
    .help = "Say whether you may do something, and which step decides.",
    .more = "For example: bulkhead can-i workload.create pj_...\n"
            "Exit code 0 yes, 3 no.",
    .words_min = 1,
    .words_max = 2,
    .run = can_i,
};
