/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/client.h"
#include "cli/command.h"
#include "cli/fields.h"
#include "cli/output.h"
#include "cli/place.h"

/* Options that go into the body as they are. */
static const struct {
    const char *option, *field;
} texts[] = { { "pool", "pool" }, { "class", "class" },
              { "every", "every" }, { "policy", "policy" },
              { "reason", "reason" }, { "workorder", "workorder" } };
static const struct {
    const char *option, *field;
} times[] = { { "from", "from_ms" }, { "to", "to_ms" },
              { "until", "until_ms" } };

static int
read_body(const struct cli *cli, json_t *body, struct error *err)
{
    int64_t cards = 0;

    (void)json_object_set_new(body, "name", json_string(cli->words[0]));
    if (cli_option_int(cli, "cards", 1, 1000000, 0, &cards, err) != 0)
        return -1;
    if (cards > 0)
        (void)json_object_set_new(body, "cards", json_integer(cards));
    if (cli_has(cli, "lend"))
        (void)json_object_set_new(body, "lend", json_true());
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        const char *text = cli_option(cli, texts[i].option);

        /* For a maintenance the pool is where it lies. */
        if (text != NULL &&
            (strcmp(texts[i].option, "pool") != 0 || cli_has(cli, "cards")))
            (void)json_object_set_new(body, texts[i].field,
                                      json_string(text));
    }
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        const char *text = cli_option(cli, times[i].option);
        char time[CLOCK_TEXT_MAX];

        /* Now is when the server gets it. */
        if (text == NULL ||
            (strcmp(text, "now") == 0 && strcmp(times[i].option, "from") == 0))
            continue;
        if (fields_time(text, time, err) != 0)
            return error_prefix(err, "--%s", times[i].option);
        (void)json_object_set_new(body, times[i].field, json_string(time));
    }
    return 0;
}

static int
create(struct cli *cli, enum kind kind, struct error *err)
{
    struct client_call call = { .method = "POST" };
    scoped_json body = json_object();
    scoped_json answer = NULL;

    if (read_body(cli, body, err) != 0 ||
        place_collection(cli, kind, &call.path, err) != 0)
        return -1;
    call.body = body;
    if (client_send(cli, &call, &answer, err) != 0)
        return -1;
    output_done(cli, schema_get(kind)->name, cli->words[0], "created",
                answer);
    return 0;
}

static int
create_reservation(struct cli *cli, struct error *err)
{
    return create(cli, KIND_RESERVATION, err);
}

static int
create_maintenance(struct cli *cli, struct error *err)
{
    if (cli_has(cli, "node") || cli_has(cli, "pool"))
        return create(cli, KIND_MAINTENANCE, err);
    (void)error_set(err, ERROR_INVALID, "--node or --pool is needed");
    return error_help(err, "a maintenance is planned for one node, or for all "
                           "nodes of a pool");
}

static const struct command_option options[] = {
    { "cards", 'n', "COUNT", "whole cards" },
    { "pool", 0, "POOL", "where" },
    { "class", 'c', "CLASS", "cards of this class; default: any" },
    { "from", 0, "TIME", "the window begins; default: now" },
    { "to", 0, "TIME", "and ends, not included" },
    { "every", 0, "day|week", "again each day or week (UTC)" },
    { "until", 0, "TIME", "no window begins from then on" },
    { "lend", 0, NULL, "idle cards go to burst work of others" },
    PLACE_NODE_OPTIONS,
    { 0 },
};

const struct command command_create_reservation = {
    .verb = "create",
    .noun = "reservation",
    .words = "NAME",
    .help = "Promise cards to a tenant or a project for a time.",
    .more = "Times are RFC 3339, now, or +2h from now. For example:\n"
            "  bulkhead create reservation exam -t research -n 4 --pool main "
            "--from 2026-12-01T08:00:00Z --to 2026-12-01T18:00:00Z\n"
            "  bulkhead create reservation nights -t research -n 2 --pool "
            "main --from 2026-12-01T22:00:00Z --to 2026-12-02T06:00:00Z "
            "--every day --until 2026-12-31T00:00:00Z --lend\n"
            "It is refused when guarantees and other reservations leave too "
            "few healthy cards at any instant of its windows.",
    .options = options,
    .words_min = 1,
    .words_max = 1,
    .run = create_reservation,
};

static const struct command_option maintenance_options[] = {
    { "node", 0, "NODE", "of this node" },
    { "pool", 0, "POOL", "or of all nodes of this pool" },
    { "from", 0, "TIME", "the window begins; default: now" },
    { "to", 0, "TIME", "and ends, not included" },
    { "every", 0, "day|week", "again each day or week (UTC)" },
    { "until", 0, "TIME", "no window begins from then on" },
    { "policy", 0, "preempt|finish",
      "preemptible work gets notice (default), or ends by itself" },
    { "lend", 0, NULL, "preemptible work may run into it" },
    { "reason", 'r', "TEXT", "why; tenants with work there read it" },
    { "workorder", 0, "ORDER", "id of the work order that it is for" },
    { 0 },
};

const struct command command_create_maintenance = {
    .verb = "create",
    .noun = "maintenance",
    .words = "NAME",
    .help = "Plan the maintenance of a node or a pool.",
    .more = "Times are RFC 3339, now, or +2h from now. For example:\n"
            "  bulkhead create maintenance firmware --node n1 --from +1d "
            "--to +26h --reason \"new firmware\"\n"
            "No work is put there that would run into the window; `bulkhead "
            "get maintenances` lists\nthem, `bulkhead delete maintenance "
            "NAME --node NODE` ends one.",
    .options = maintenance_options,
    .words_min = 1,
    .words_max = 1,
    .run = create_maintenance,
};
