/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/audit_log.h"
#include "cli/client.h"
#include "cli/command.h"
#include "cli/output.h"

static const struct column columns[] = {
    { "POSITION", "position", 's', false },
    { "TIME", "time", 's', false },
    { "ACTOR", "who", 's', false },
    { "VERB", "action.verb", 's', false },
    { "OBJECT", "object.id", 's', false },
    { "DECISION", "decision.effect", 's', false },
    { "OUTCOME", "came", 's', false },
    { "REQUEST", "links.request", 's', true },
    { 0 },
};

const char *
audit_log_path(const struct cli *cli)
{
    scoped_buffer path = { 0 };

    if (cli->tenant == NULL)
        return "/api/v1/audit";
    buffer_add_text(&path, "/api/v1/tenants/");
    http_encode(&path, cli->tenant);
    buffer_add_text(&path, "/audit");
    return arena_strdup(cli->arena, path.bytes);
}

int
audit_log_page(const struct cli *cli, int64_t from, int64_t limit, bool raw,
               json_t **out, struct error *err)
{
    const char *path = arena_printf(
        cli->arena, "%s?from=%lld&limit=%lld%s", audit_log_path(cli),
        (long long)from, (long long)limit, raw ? "&raw=1" : "");

    return client_get(cli, path, out, err);
}

/* How long the log is: what its signed head says and what came behind. */
static int
find_end(const struct cli *cli, int64_t *end_out, struct error *err)
{
    const char *path = arena_printf(cli->arena, "%s/checkpoint",
                                    audit_log_path(cli));
    scoped_answer answer = { 0 };
    int64_t from = 0;
    bool more = true;

    if (client_get_text(cli, path, &answer, err) == 0) {
        const char *line = strchr(buffer_text(&answer.body), '\n');

        if (line != NULL)
            from = strtoll(line + 1, NULL, 10);
    }
    while (more) {
        scoped_json page = NULL;

        if (audit_log_page(cli, from, AUDIT_LOG_PAGE, false, &page, err) != 0)
            return -1;
        from = json_integer_value(json_object_get(page, "next"));
        more = json_is_true(json_object_get(page, "more"));
    }
    *end_out = from;
    return 0;
}

/* Who and what came of it, in one word each, for the table: the name is
 * there only for those who may read personal parts. */
static void
add_words(const json_t *answer)
{
    json_t *item;
    size_t i;

    json_array_foreach(json_object_get(answer, "items"), i, item) {
        static const char *const members[] = { "name", "id", "kind" };
        const json_t *actor = json_object_get(item, "actor");
        const json_t *outcome = json_object_get(item, "outcome");
        json_t *code = json_object_get(outcome, "code");

        for (size_t j = 0; j < 3; j++)
            if (json_object_get(item, "who") == NULL &&
                json_object_get(actor, members[j]) != NULL)
                (void)json_object_set(item, "who",
                                      json_object_get(actor, members[j]));
        if (code == NULL)
            code = json_object_get(outcome, "status");
        if (code != NULL)
            (void)json_object_set(item, "came", code);
    }
}

void
audit_log_print(const struct cli *cli, json_t *answer)
{
    if (cli->form != OUTPUT_JSON && cli->form != OUTPUT_YAML)
        add_words(answer);
    output_print(cli, columns, answer);
}

static int
tail(struct cli *cli, struct error *err)
{
    int64_t from, limit, end;
    scoped_json answer = NULL;

    if (cli_option_int(cli, "from", 0, INT64_MAX / 4, -1, &from, err) != 0 ||
        cli_option_int(cli, "limit", 1, AUDIT_LOG_PAGE, 20, &limit, err) != 0)
        return -1;
    if (from < 0) {
        if (find_end(cli, &end, err) != 0)
            return -1;
        from = end > limit ? end - limit : 0;
    }
    if (audit_log_page(cli, from, limit, false, &answer, err) != 0)
        return -1;
    audit_log_print(cli, answer);
    return 0;
}

static const struct command_option options[] = {
    { "from", 0, "N", "position to begin at; else the newest records" },
    { "limit", 0, "N", "at most so many records (1 to 500; 20)" },
    { 0 },
};

const struct command command_audit_tail = {
    .verb = "audit",
    .noun = "tail",
    .help = "Show the newest records of the tenant's log, or the platform's.",
    .more = "DECISION is what the access check said, OUTCOME what came of the "
            "command: success,\nor the code of its refusal. ACTOR is a name "
            "for those who may read personal parts\n(audit.personal), else an "
            "id. `audit export` prints whole records.",
    .options = options,
    .run = tail,
};
