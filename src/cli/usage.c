/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/client.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/place.h"

static int
fetch(const struct cli *cli, const char *group, json_t **out,
      struct error *err)
{
    static const char *const names[] = { "from", "to" };
    scoped_buffer path = { 0 };
    const char *node;

    if (place_node(cli, &node, err) != 0)
        return -1;
    buffer_printf(&path, "%s/usage?group=", node);
    http_encode(&path, group);
    for (size_t i = 0; i < 2; i++)
        if (cli_has(cli, names[i])) {
            buffer_printf(&path, "&%s=", names[i]);
            http_encode(&path, cli_option(cli, names[i]));
        }
    return client_get(cli, path.bytes, out, err);
}

/* Puts names where the report has ids, and amounts as people read them. */
static void
decorate(json_t *answer)
{
    const json_t *names = json_object_get(answer, "names");
    json_t *items = json_object_get(answer, "items");
    json_t *item, *value;
    const char *key;
    void *next;
    size_t i;

    json_array_foreach(items, i, item) {
        json_object_foreach_safe(item, next, key, value) {
            json_t *name = json_is_string(value)
                               ? json_object_get(names,
                                                 json_string_value(value))
                               : NULL;

            if (name != NULL)
                (void)json_object_set(item, key, name);
        }
        (void)json_object_set(item, "currency",
                              json_object_get(answer, "currency"));
    }
}

static const char *
upper(const struct cli *cli, const char *text)
{
    char *copy = arena_strdup(cli->arena, text);

    for (char *at = copy; *at != '\0'; at++)
        if (*at >= 'a' && *at <= 'z')
            *at = (char)(*at - 'a' + 'A');
    return copy;
}

/* One column a group, then the amounts. */
static const struct column *
make_columns(const struct cli *cli, const char *group, bool cost)
{
    static const struct column amounts[] = {
        { "CLASS-OF-TIME", "usage", 's', false },
        { "METER", "meter", 's', true },
        { "CARD-HOURS", "quantity", 'h', false },
        { "COST", "cost_nano", 'c', false },
        { "CURRENCY", "currency", 's', false },
    };
    struct column *columns =
        arena_alloc(cli->arena, 16 * sizeof(*columns));
    size_t count = 0;

    while (*group != '\0' && count < 8) {
        size_t size = strcspn(group, ",");
        const char *name = arena_strndup(cli->arena, group, size);

        columns[count++] =
            (struct column){ upper(cli, name), name, 's', false };
        group += size;
        group += *group == ',';
    }
    for (size_t i = 0; i < (cost ? 5U : 3U); i++)
        columns[count++] = amounts[i];
    return columns;
}

static int
report(struct cli *cli, bool cost, struct error *err)
{
    const char *group = cli_option(cli, "by");
    scoped_json answer = NULL;

    if (group == NULL)
        group = cli->tenant == NULL ? "tenant" : "project";
    if (fetch(cli, group, &answer, err) != 0)
        return -1;
    if (cli->form != OUTPUT_JSON && cli->form != OUTPUT_YAML)
        decorate(answer);
    output_print(cli, make_columns(cli, group, cost), answer);
    return 0;
}

static int
usage(struct cli *cli, struct error *err)
{
    return report(cli, false, err);
}

static int
cost(struct cli *cli, struct error *err)
{
    return report(cli, true, err);
}

static const struct command_option options[] = {
    { "by", 0, "GROUP,...",
      "tenant, project, user, workload, class, pool, model" },
    { "from", 0, "TIME", "2030-01-31T00:00:00Z; else a day ago" },
    { "to", 0, "TIME", "not including; else now" },
    PLACE_OPTIONS,
    { 0 },
};

const struct command command_usage = {
    .verb = "usage",
    .help = "Report card time by tenant, project, user, class ...",
    .options = options,
    .run = usage,
};

const struct command command_cost = {
    .verb = "cost",
    .help = "The same with what it costs.",
    .options = options,
    .run = cost,
};
