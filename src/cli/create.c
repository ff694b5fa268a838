/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/client.h"
#include "cli/command.h"
#include "cli/fields.h"
#include "cli/output.h"
#include "cli/place.h"

/* Kinds that have no name of their own. */
static bool
is_nameless(enum kind kind)
{
    return kind == KIND_GRANT || kind == KIND_QUOTA || kind == KIND_CEILING ||
           kind == KIND_DENY || kind == KIND_PRICE ||
           kind == KIND_MEMBER ||
           kind == KIND_COMMITMENT || kind == KIND_IDENTITY;
}

static int
read_body(const struct cli *cli, enum kind kind, json_t **out,
          struct error *err)
{
    const char *file = cli_option(cli, "file");
    int first = 1;

    if (file != NULL) {
        if (cli_read_json(file, out, err) != 0)
            return -1;
        if (!json_is_object(*out))
            return error_set(err, ERROR_INVALID, "%s: not a JSON object",
                             file);
    } else {
        *out = json_object();
    }
    if (!is_nameless(kind) && cli->word_count > 1 &&
        strchr(cli->words[1], '=') == NULL) {
        (void)json_object_set_new(*out, "name", json_string(cli->words[1]));
        first = 2;
    }
    return fields_read(cli, kind, first, *out, err);
}

/* Names of subjects, as people know them, become ids. */
static int
resolve_subject(const struct cli *cli, json_t *body, struct error *err)
{
    const char *text = json_string_value(json_object_get(body, "subject"));
    const char *id;

    if (text == NULL)
        return 0;
    if (place_subject(cli, text, &id, err) != 0)
        return -1;
    (void)json_object_set_new(body, "subject", json_string(id));
    return 0;
}

/* The same for the identity provider of a link, which lies beside the user. */
static int
resolve_provider(const struct cli *cli, enum kind kind, json_t *body,
                 struct error *err)
{
    const char *text = json_string_value(json_object_get(body, "provider"));
    scoped_json answer = NULL;
    const char *path;

    if (kind != KIND_IDENTITY || text == NULL ||
        strncmp(text, "idp_", 4) == 0)
        return 0;
    if (place_object(cli, KIND_IDENTITYPROVIDER, text, &path, err) != 0 ||
        client_get(cli, path, &answer, err) != 0)
        return error_prefix(err, "provider");
    (void)json_object_set(body, "provider", json_object_get(answer, "id"));
    return 0;
}

static int
create(struct cli *cli, struct error *err)
{
    struct client_call call = { .method = "POST" };
    scoped_json body = NULL;
    scoped_json answer = NULL;
    const char *name;
    enum kind kind;

    if (place_kind(cli->words[0], &kind, err) != 0 ||
        read_body(cli, kind, &body, err) != 0 ||
        resolve_subject(cli, body, err) != 0 ||
        resolve_provider(cli, kind, body, err) != 0 ||
        place_collection(cli, kind, &call.path, err) != 0)
        return -1;
    call.body = body;
    if (client_send(cli, &call, &answer, err) != 0)
        return -1;
    name = json_string_value(json_object_get(body, "name"));
    if (name == NULL || name[0] == '\0')
        name = json_string_value(json_object_get(answer, "id"));
    output_done(cli, schema_get(kind)->name, name != NULL ? name : "-",
                "created", answer);
    return 0;
}

static const struct command_option options[] = {
    { "file", 'f', "FILE", "JSON object with the fields; - is standard "
                           "input" },
    PLACE_OPTIONS,
    { 0 },
};

const struct command command_create = {
    .verb = "create",
    .words = "NOUN [NAME] [FIELD=VALUE...]",
    .help = "Make an object.",
    .more = "For example:\n"
            "  bulkhead create tenant research display=Research\n"
            "  bulkhead create project language -t research class=research\n"
            "  bulkhead create grant -t research --level tenant "
            "subject=alice role=tenant-admin\n"
            "  bulkhead create group developers -t research\n"
            "  bulkhead create member -t research --group developers "
            "subject=alice\n"
            "  bulkhead create volume data -t research -p language "
            "size_mib=64\n"
            "  bulkhead create price meter=card_hour model=H100-80GB "
            "price=3.5\n"
            "`bulkhead nouns NOUN` lists the fields of a noun. Passwords, "
            "keys and quotas have\ncommands of their own: passwd, create "
            "apikey, set quota.",
    .options = options,
    .words_min = 1,
    .words_max = CLI_WORDS_MAX,
    .run = create,
};
