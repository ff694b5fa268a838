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

/* Each line says its currency. */
static void
add_currency(const json_t *answer)
{
    json_t *item;
    size_t i;

    json_array_foreach(json_object_get(answer, "items"), i, item)
        (void)json_object_set(item, "currency",
                              json_object_get(answer, "currency"));
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
        { "UNIT", "unit", 's', true },
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
    for (size_t i = 0; i < (cost ? 6U : 4U); i++)
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
        add_currency(answer);
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

#define EXPLAIN                                                               \
    "For example: bulkhead cost --by tenant,user,class --from "               \
    "2030-01-01T00:00:00Z\n\n"                                                \
    "CLASS-OF-TIME: bound is held by a workload; what is left of a card is "  \
    "idle, reserved\n(kept for a workload), scrub, maintenance, unhealthy "   \
    "or unknown. One card for one hour\nis 1 card-hour, half a card 0.5. "    \
    "Only bound time costs. Of a tenant with commitments committed is what "  \
    "it pays for them,\nused or not, and covered is use that they pay for: it "\
    "is taken back. CSV and JSON give quantity\nin "                  \
    "milli-card-milliseconds (3600000000 are one card-hour) and cost in "     \
    "billionths\nof the currency."

static const struct command_option options[] = {
    { "by", 0, "GROUP,...",
      "tenant, project, user, workload, class, pool, model, form" },
    { "from", 0, "TIME", "2030-01-31T00:00:00Z; else a day ago" },
    { "to", 0, "TIME", "not including; else now" },
    PLACE_NODE_OPTIONS,
    { 0 },
};

const struct command command_usage = {
    .verb = "usage",
    .help = "Report card time by tenant, project, user, class ...",
    .more = EXPLAIN,
    .options = options,
    .run = usage,
};

const struct command command_cost = {
    .verb = "cost",
    .help = "Report card time with what it costs.",
    .more = EXPLAIN,
    .options = options,
    .run = cost,
};
