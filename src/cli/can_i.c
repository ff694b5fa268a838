/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/client.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/place.h"

/* The node that was named (project, tenant), or nothing: the asker. */
static int
default_object(const struct cli *cli, const char **id_out, struct error *err)
{
    scoped_json answer = NULL;
    const char *path;

    *id_out = NULL;
    if (cli->tenant == NULL)
        path = "/api/v1/platform";
    else if (place_node(cli, &path, err) != 0)
        return -1;
    if (client_get(cli, path, &answer, err) != 0)
        return err->code == ERROR_NOT_FOUND || err->code == ERROR_DENIED ? 0
                                                                         : -1;
    *id_out = arena_strdup(
        cli->arena, json_string_value(json_object_get(answer, "id")));
    return 0;
}

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
    const char *object = cli->word_count > 1 ? cli->words[1] : NULL;

    if (object == NULL && default_object(cli, &object, err) != 0)
        return -1;
    buffer_add_text(&path, "/api/v1/can-i?verb=");
    http_encode(&path, cli->words[0]);
    if (object != NULL) {
        buffer_add_text(&path, "&object=");
        http_encode(&path, object);
    }
    if (client_get(cli, path.bytes, &answer, err) != 0)
        return -1;
    output_print(cli, columns, answer);
    if (json_is_true(json_object_get(answer, "allowed")))
        return 0;
    return error_set(err, ERROR_DENIED, "you may not: %s", cli->words[0]);
}

const struct command command_can_i = {
    .verb = "can-i",
    .words = "VERB [OBJECT-ID]",
    .help = "Say whether you may do something, and which step decides.",
    .more = "Asks about the project (-p) or tenant (-t) that is named, else "
            "the platform, or about\nthe object of the id. For example:\n"
            "  bulkhead can-i workload.create -t research -p language\n"
            "  bulkhead can-i tenant.update tn_...\n"
            "-o yaml shows each step of the decision.\n"
            "Exit code 0 yes, 3 no.",
    .words_min = 1,
    .words_max = 2,
    .run = can_i,
};
