/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/client.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/place.h"

static const char *
text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));

    return text != NULL ? text : "";
}

static const json_t *
find_advice(const json_t *list, const char *id)
{
    json_t *item;
    size_t i;

    json_array_foreach(json_object_get(list, "items"), i, item)
        if (strcmp(text_of(item, "id"), id) == 0)
            return item;
    return NULL;
}

/* The change that an advice names, as anybody would make it. */
static int
apply(const struct cli *cli, const json_t *list, const char *id,
      struct error *err)
{
    const json_t *item = find_advice(list, id);
    const json_t *change = json_object_get(item, "apply");
    struct client_call call = { 0 };
    scoped_json answer = NULL;

    if (item == NULL) {
        (void)error_set(err, ERROR_NOT_FOUND,
                        "there is no advice \"%.80s\" any more", id);
        return error_help(err, "`bulkhead advise` lists what there is now");
    }
    if (!json_is_object(change))
        return error_set(err, ERROR_CONDITION,
                         "nothing can be applied by itself: %s",
                         text_of(item, "text"));
    call.method = text_of(change, "method");
    call.path = text_of(change, "path");
    call.body = json_object_get(change, "body");
    call.version = json_integer_value(json_object_get(change, "version"));
    if (client_send(cli, &call, &answer, err) != 0)
        return -1;
    output_done(cli, "advice", id, "applied", answer);
    return 0;
}

static int
advise(struct cli *cli, struct error *err)
{
    static const struct column columns[] = {
        { "ADVICE", "id", 's', false },
        { "SENTENCE", "text", 's', false },
        { 0 },
    };
    scoped_json list = NULL;
    const char *node;

    if (place_node(cli, &node, err) != 0 ||
        client_get(cli, arena_printf(cli->arena, "%s/advice", node), &list,
                   err) != 0)
        return -1;
    if (cli_has(cli, "apply"))
        return apply(cli, list, cli_option(cli, "apply"), err);
    output_print(cli, columns, list);
    return 0;
}

static const struct command_option options[] = {
    { "apply", 0, "ADVICE", "make the change that it names" },
    PLACE_NODE_OPTIONS,
    { 0 },
};

const struct command command_advise = {
    .verb = "advise",
    .help = "Say which guarantees do not fit what was used.",
    .more = "Measured over up to 90 days, and at least 7 since a quota was "
            "changed last. Review it,\nperhaps with `bulkhead what-if`, then "
            "`bulkhead advise --apply ADVICE` makes the change\nby the "
            "ordinary way: your rights and all checks apply. Operators also "
            "see pools whose\nfree cards lie too far apart.",
    .options = options,
    .run = advise,
};
