/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cli/client.h"
#include "cli/command.h"
#include "cli/output.h"

#define PAGE 500

static const struct column columns[] = {
    { "POSITION", "position", 's', false },
    { "TIME", "time", 's', false },
    { "ACTOR", "actor.name", 's', false },
    { "VERB", "action.verb", 's', false },
    { "OBJECT", "object.id", 's', false },
    { "DECISION", "decision.effect", 's', false },
    { "REASON", "decision.reason", 's', true },
    { "REQUEST", "links.request", 's', true },
    { 0 },
};

static const char *
log_path(const struct cli *cli)
{
    scoped_buffer path = { 0 };

    if (cli->tenant == NULL)
        return "/api/v1/audit";
    buffer_add_text(&path, "/api/v1/tenants/");
    http_encode(&path, cli->tenant);
    buffer_add_text(&path, "/audit");
    return arena_strdup(cli->arena, path.bytes);
}

static int
read_page(const struct cli *cli, int64_t from, int64_t limit, json_t **out,
          struct error *err)
{
    const char *path =
        arena_printf(cli->arena, "%s?from=%lld&limit=%lld", log_path(cli),
                     (long long)from, (long long)limit);

    return client_get(cli, path, out, err);
}

static int
tail(struct cli *cli, struct error *err)
{
    int64_t from, limit;
    scoped_json answer = NULL;

    if (cli_option_int(cli, "from", 0, INT64_MAX / 4, 0, &from, err) != 0 ||
        cli_option_int(cli, "limit", 1, PAGE, 100, &limit, err) != 0 ||
        read_page(cli, from, limit, &answer, err) != 0)
        return -1;
    output_print(cli, columns, answer);
    return 0;
}

/* All records, one JSON object a line. */
static int
export_log(struct cli *cli, struct error *err)
{
    int64_t from;
    bool more = true;

    if (cli_option_int(cli, "from", 0, INT64_MAX / 4, 0, &from, err) != 0)
        return -1;
    while (more) {
        scoped_json answer = NULL;
        json_t *item;
        size_t i;

        if (read_page(cli, from, PAGE, &answer, err) != 0)
            return -1;
        json_array_foreach(json_object_get(answer, "items"), i, item) {
            scoped_buffer line = { 0 };

            json_write(&line, item);
            (void)printf("%s\n", line.bytes);
        }
        from = json_integer_value(json_object_get(answer, "next"));
        more = json_is_true(json_object_get(answer, "more"));
        if (cli_interrupted())
            return error_set(err, ERROR_INTERRUPTED, "interrupted");
    }
    return 0;
}

static const struct command_option options[] = {
    { "from", 0, "N", "position to begin at" },
    { "limit", 0, "N", "at most so many records (1 to 500)" },
    { 0 },
};

const struct command command_audit_tail = {
    .verb = "audit",
    .noun = "tail",
    .help = "Show records of the tenant's log, or the platform's.",
    .options = options,
    .run = tail,
};

static const struct command_option export_options[] = {
    { "from", 0, "N", "position to begin at" },
    { 0 },
};

const struct command command_audit_export = {
    .verb = "audit",
    .noun = "export",
    .help = "Print all records of a log, one JSON object a line.",
    .options = export_options,
    .run = export_log,
};
