/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/client.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/place.h"

/* How cards are, and whose work is hurt. */

static const struct column state_columns[] = {
    { "CARD", "name", 's', false },    { "HEALTH", "health", 's', false },
    { "SINCE", "since", 't', false },  { "LOOKED", "looked", 't', false },
    { "WORK", "takes_work", 'b', false },
    { "CLEAN", "clean", 's', false },  { "OF", "probes", 's', false },
    { "STALE", "stale", 'b', false },  { "LINKS-BAD", "links_bad", 'b', true },
    { "TEMP-C", "readings.temperature_c", 's', false },
    { "POWER-MW", "readings.power_mw", 's', true },
    { "ECC-CORRECTED", "readings.ecc_corrected", 's', true },
    { "ECC-UNCORRECTED", "readings.ecc_uncorrected", 's', true },
    { "REASON", "reason", 's', false }, { 0 },
};
static const struct column event_columns[] = {
    { "XID", "xid", 's', false },     { "PID", "pid", 's', false },
    { "SLICE", "slice", 's', false }, { "COUNT", "count", 's', false },
    { "FIRST", "first", 't', false }, { "LAST", "last", 't', false },
    { "MEANING", "meaning", 's', false }, { 0 },
};
static const struct column past_columns[] = {
    { "AT", "at", 't', false },
    { "HEALTH", "health", 's', false },
    { "REASON", "reason", 's', false },
    { 0 },
};
static const struct column impact_columns[] = {
    { "WORKLOAD", "workload_name", 's', false },
    { "HEALTH", "health", 's', false },  { "SINCE", "since", 't', false },
    { "SLICE", "slice", 's', false },    { "MODEL", "model", 's', false },
    { "CARD", "card", 's', true },       { "NODE", "node", 's', true },
    { "TENANT", "tenant", 's', true },   { "PROJECT", "project", 's', true },
    { "INSTANCE", "instance", 's', true },
    { "REASON", "reason", 's', false },  { 0 },
};

static const char *
path_of(struct cli *cli, struct buffer *path)
{
    buffer_add_text(path, "/api/v1/cards/");
    http_encode(path, cli->words[0]);
    buffer_add_text(path, "/health");
    return path->bytes;
}

static void
print_list(const struct cli *cli, const struct column *columns,
           const json_t *list)
{
    scoped_json page = json_pack("{s:O}", "items", list);

    if (json_array_size(list) == 0)
        return;
    output_line("%s", "");
    output_print(cli, columns, page);
}

static int
cards_health(struct cli *cli, struct error *err)
{
    scoped_buffer path = { 0 };
    scoped_json answer = NULL;
    const char *form = cli_option(cli, "output");

    if (client_get(cli, path_of(cli, &path), &answer, err) != 0)
        return -1;
    output_print(cli, state_columns, answer);
    if (form != NULL && strcmp(form, "table") != 0 &&
        strcmp(form, "wide") != 0)
        return 0;
    print_list(cli, past_columns, json_object_get(answer, "past"));
    print_list(cli, event_columns, json_object_get(answer, "events"));
    return 0;
}

static int
say(struct cli *cli, const char *health, const char *what, struct error *err)
{
    const char *reason = cli_option(cli, "reason");
    scoped_buffer path = { 0 };
    scoped_json answer = NULL;
    scoped_json body = json_pack("{s:s, s:s}", "health", health, "reason",
                                 reason != NULL ? reason : "");
    struct client_call call = { .method = "POST", .body = body };

    if (reason == NULL)
        return error_set(err, ERROR_INVALID, "say why: --reason TEXT");
    call.path = path_of(cli, &path);
    if (client_send(cli, &call, &answer, err) != 0)
        return -1;
    output_done(cli, "card", cli->words[0], what, answer);
    return 0;
}

static int
cards_set(struct cli *cli, struct error *err)
{
    return say(cli, cli->words[1], "set", err);
}

static int
cards_clear(struct cli *cli, struct error *err)
{
    return say(cli, "healthy", "cleared", err);
}

static int
impact(struct cli *cli, struct error *err)
{
    scoped_buffer path = { 0 };
    scoped_json answer = NULL;
    const char *node;

    if (place_node(cli, &node, err) != 0)
        return -1;
    buffer_printf(&path, "%s/impact", node);
    if (client_get(cli, path.bytes, &answer, err) != 0)
        return -1;
    output_print(cli, impact_columns, answer);
    return 0;
}

static const struct command_option reason_options[] = {
    { "reason", 0, "TEXT", "why, for whoever looks next" },
    { 0 },
};

static const struct command_option impact_options[] = { PLACE_NODE_OPTIONS,
                                                        { 0 } };

const struct command command_cards_health = {
    .verb = "cards",
    .noun = "health",
    .words = "CARD",
    .help = "Show how a card is, how it was, and what was heard of it.",
    .more = "CARD is an id (`bulkhead cards -o wide`). CLEAN counts looks "
            "without fault, one after the\nother; OF so many a card that was "
            "not well is healthy again. STALE: nobody has told of\nits health "
            "for two leases, and it takes no work until somebody does.",
    .words_min = 1,
    .words_max = 1,
    .run = cards_health,
};

const struct command command_cards_set = {
    .verb = "cards",
    .noun = "set",
    .words = "CARD HEALTH",
    .help = "Say that a card is suspect, degraded or failed.",
    .more = "It stays so until `bulkhead cards clear`, whatever the node says "
            "meanwhile; when the\ncard itself says worse, that counts.",
    .options = reason_options,
    .words_min = 2,
    .words_max = 2,
    .run = cards_set,
};

const struct command command_cards_clear = {
    .verb = "cards",
    .noun = "clear",
    .words = "CARD",
    .help = "Take back what people said of a card, and settle what was heard.",
    .more = "What the card itself says (memory beyond repair, a reset that it "
            "asks for) is not\nsettled by words: then this fails and says "
            "so.",
    .options = reason_options,
    .words_min = 1,
    .words_max = 1,
    .run = cards_clear,
};

const struct command command_impact = {
    .verb = "impact",
    .help = "Show whose work is on cards that are not well.",
    .more = "Everybody sees the work that they may see; cards and nodes are "
            "shown to the platform's\npeople (-o wide).",
    .options = impact_options,
    .run = impact,
};
