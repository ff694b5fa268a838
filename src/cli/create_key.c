/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "cli/client.h"
#include "cli/command.h"
#include "cli/fields.h"
#include "cli/output.h"
#include "cli/place.h"

/* Sets field to now plus the duration of an option. */
static int
add_expiry(const struct cli *cli, json_t *body, struct error *err)
{
    const char *text = cli_option(cli, "for");
    char time[CLOCK_TEXT_MAX];
    int64_t ms;

    if (text == NULL)
        return 0;
    if (fields_duration(text, &ms, err) != 0)
        return error_prefix(err, "--for");
    clock_format(clock_wall_ms() + ms, time);
    (void)json_object_set_new(body, "expires_ms", json_string(time));
    return 0;
}

/* The secret is the only thing on standard output with --quiet. */
static void
print_secret(const struct cli *cli, const char *kind, const char *member,
             const json_t *answer)
{
    const char *secret =
        json_string_value(json_object_get(answer, member));

    if (cli->form == OUTPUT_JSON || cli->form == OUTPUT_YAML) {
        output_print(cli, output_columns(kind), answer);
        return;
    }
    if (cli->dry_run) {
        output_line("%s would be made (dry run)", kind);
        return;
    }
    output_line("%s", secret != NULL ? secret : "-");
    if (!cli->quiet)
        (void)fprintf(stderr, "This secret is shown once; keep it. Programs "
                              "give it as BULKHEAD_TOKEN.\n");
}

static int
mint(struct cli *cli, enum kind kind, json_t *body, struct error *err)
{
    struct client_call call = { .method = "POST", .body = body };
    scoped_json answer = NULL;

    if (add_expiry(cli, body, err) != 0 ||
        place_collection(cli, kind, &call.path, err) != 0 ||
        client_send(cli, &call, &answer, err) != 0)
        return -1;
    print_secret(cli, schema_get(kind)->name,
                 kind == KIND_APIKEY ? "key" : "token", answer);
    return 0;
}

static int
create_key(struct cli *cli, struct error *err)
{
    scoped_json body = json_object();

    (void)json_object_set_new(body, "name", json_string(cli->words[0]));
    if (fields_read(cli, KIND_APIKEY, 1, body, err) != 0)
        return -1;
    return mint(cli, KIND_APIKEY, body, err);
}

static int
create_jointoken(struct cli *cli, struct error *err)
{
    scoped_json body = json_object();

    (void)json_object_set_new(body, "name", json_string(cli->words[0]));
    (void)json_object_set_new(body, "node", json_string(cli->words[0]));
    return mint(cli, KIND_JOINTOKEN, body, err);
}

static const struct command_option options[] = {
    { "for", 0, "TIME", "how long it can be used: 30m, 12h, 90d" },
    PLACE_OPTIONS,
    { 0 },
};

const struct command command_create_key = {
    .verb = "create",
    .noun = "apikey",
    .words = "NAME [FIELD=VALUE...]",
    .help = "Mint an API key of a user or service account.",
    .more = "For example:\n"
            "  bulkhead create apikey ci -t research -p train "
            "--serviceaccount builder \\\n"
            "    --for 90d verbs=workload.create,workload.get",
    .options = options,
    .words_min = 1,
    .words_max = CLI_WORDS_MAX,
    .run = create_key,
};

const struct command command_create_jointoken = {
    .verb = "create",
    .noun = "jointoken",
    .words = "NODE",
    .help = "Make a token with which one node can enrol, once.",
    .options = options,
    .words_min = 1,
    .words_max = 1,
    .run = create_jointoken,
};
