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

/* --- who can, what can --- */

static int
put_object(struct cli *cli, const char *object, char join,
           struct buffer *path, struct error *err)
{
    if (object == NULL && default_object(cli, &object, err) != 0)
        return -1;
    if (object != NULL) {
        buffer_printf(path, "%cobject=", join);
        http_encode(path, object);
    }
    return 0;
}

static int
who_can(struct cli *cli, struct error *err)
{
    static const struct column columns[] = {
        { "NAME", "name", 's', false },       { "KIND", "kind", 's', false },
        { "OUTCOME", "outcome", 's', false }, { "GRANT", "grant", 's', true },
        { "ID", "subject", 's', true },       { 0 },
    };
    scoped_buffer path = { 0 };
    scoped_json answer = NULL;

    buffer_add_text(&path, "/api/v1/who-can?verb=");
    http_encode(&path, cli->words[0]);
    if (put_object(cli, cli->word_count > 1 ? cli->words[1] : NULL, '&',
                   &path, err) != 0 ||
        client_get(cli, path.bytes, &answer, err) != 0)
        return -1;
    output_print(cli, columns, answer);
    return 0;
}

static int
what_can(struct cli *cli, struct error *err)
{
    static const struct column columns[] = {
        { "VERB", "verb", 's', false },
        { "OUTCOME", "outcome", 's', false },
        { "GRANT", "grant", 's', true },
        { 0 },
    };
    const char *name = cli_option(cli, "of"), *id;
    scoped_buffer path = { 0 };
    scoped_json answer = NULL;

    buffer_add_text(&path, "/api/v1/what-can");
    if (name != NULL) {
        if (place_subject(cli, name, &id, err) != 0)
            return -1;
        buffer_add_text(&path, "?subject=");
        http_encode(&path, id);
    }
    if (put_object(cli, cli->word_count > 0 ? cli->words[0] : NULL,
                   name != NULL ? '&' : '?', &path, err) != 0)
        return -1;
    if (client_get(cli, path.bytes, &answer, err) != 0)
        return -1;
    output_print(cli, columns, answer);
    return 0;
}

const struct command command_who_can = {
    .verb = "who-can",
    .words = "VERB [OBJECT-ID]",
    .help = "Say who may do something, as far as you may see.",
    .more = "Asks as if everybody were there with a fresh proof of identity; "
            "\"approval\": with a\nsecond person. Object as in `bulkhead "
            "can-i`. For example:\n"
            "  bulkhead who-can workload.create -t research -p language\n"
            "It takes grant.get there.",
    .words_min = 1,
    .words_max = 2,
    .run = who_can,
};

static const struct command_option what_options[] = {
    { "of", 0, "SUBJECT", "somebody else: NAME, KIND/NAME or id" },
    { 0 },
};

const struct command command_what_can = {
    .verb = "what-can",
    .words = "[OBJECT-ID]",
    .help = "Say what you, or somebody else, may do with something.",
    .more = "\"step-up\" and \"approval\" stand for what is missing at "
            "most. About somebody else it\ntakes grant.get there. For "
            "example:\n"
            "  bulkhead what-can -t research -p language --of alice",
    .options = what_options,
    .words_max = 1,
    .run = what_can,
};

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
