/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/client.h"
#include "cli/command.h"
#include "cli/output.h"

static const struct column capacity_columns[] = {
    { "POOL", "pool", 's', false },
    { "CLASS", "class", 's', false },
    { "FREE", "free_cards", 's', false },
    { "TOTAL", "total_cards", 's', false },
    { 0 },
};

/* Operators see the cards, everybody else what is free by class. */
static int
cards(struct cli *cli, struct error *err)
{
    scoped_json answer = NULL;

    if (!cli_has(cli, "free")) {
        if (client_list(cli, "/api/v1/cards", 100000, &answer, err) != 0)
            return -1;
        if (json_array_size(json_object_get(answer, "items")) > 0) {
            output_print(cli, output_columns("card"), answer);
            return 0;
        }
        json_decref(answer);
        answer = NULL;
    }
    if (client_get(cli, "/api/v1/capacity", &answer, err) != 0)
        return -1;
    output_print(cli, capacity_columns, answer);
    return 0;
}

static const struct command_option options[] = {
    { "free", 0, NULL, "free and total cards by pool and class" },
    { 0 },
};

const struct command command_cards = {
    .verb = "cards",
    .help = "Show the cards, or how many are free by class.",
    .more = "USED and HELD are in cards (0.5 is half of it). HANDOVER: clean, "
            "or pending while its\nmemory is scrubbed (`bulkhead handover CARD`). -o wide shows the hard "
            "slices of a card: held ones are kept for work\nthat waits, dirty "
            "ones are being scrubbed. LAYOUT is what the node sees on it, "
            "FOREIGN-SLICES what\nthe platform did not make (`bulkhead set card "
            "CARD clear_foreign=true` lets the next scrub\nend them), CHANGE "
            "what is being changed there, LAYOUT-FAILURE why the last change "
            "failed.\nWhoever may not see "
            "cards gets FREE and TOTAL, in cards, by class;\none card may "
            "serve several classes.",
    .options = options,
    .run = cards,
};
