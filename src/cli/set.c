/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/client.h"
#include "cli/command.h"
#include "cli/fields.h"
#include "cli/output.h"
#include "cli/place.h"

/* There is one platform: it needs no name. */
static const char *
name_of(const struct cli *cli, enum kind kind, int *fields_out)
{
    bool named = kind != KIND_PLATFORM || strchr(cli->words[1], '=') == NULL;

    *fields_out = named ? 2 : 1;
    return named ? cli->words[1] : "platform";
}

static int
set(struct cli *cli, struct error *err)
{
    struct client_call call = { .method = "PATCH" };
    scoped_json body = json_object();
    scoped_json before = NULL;
    scoped_json answer = NULL;
    enum kind kind;
    const char *name;
    int fields;

    if (place_kind(cli->words[0], &kind, err) != 0)
        return -1;
    name = name_of(cli, kind, &fields);
    if (cli->word_count <= fields) {
        (void)error_set(err, ERROR_INVALID, "too few words");
        return error_help(err, "bulkhead set NOUN NAME FIELD=VALUE...");
    }
    if (fields_read(cli, kind, fields, body, err) != 0 ||
        place_object(cli, kind, name, &call.path, err) != 0 ||
        client_get(cli, call.path, &before, err) != 0)
        return -1;
    call.body = body;
    call.version = json_integer_value(json_object_get(before, "version"));
    if (client_send(cli, &call, &answer, err) != 0)
        return -1;
    output_done(cli, schema_get(kind)->name, name, "changed", answer);
    return 0;
}

static const struct command_option options[] = { PLACE_OPTIONS, { 0 } };

const struct command command_set = {
    .verb = "set",
    .words = "NOUN NAME FIELD=VALUE...",
    .help = "Change fields of an object.",
    .more = "For example:\n"
            "  bulkhead set node n1 state=draining\n"
            "  bulkhead set tenant research state=suspended\n"
            "  bulkhead set platform lease_ms=60000\n"
            "`bulkhead nouns NOUN` lists the fields that can be changed. "
            "null empties one.\n"
            "Fails with exit code 7 when somebody else changed it meanwhile.",
    .options = options,
    .words_min = 2,
    .words_max = CLI_WORDS_MAX,
    .run = set,
};
