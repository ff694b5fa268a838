/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/client.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/place.h"

static const struct column columns[] = {
    { "STEP", "step", 's', false },  { "FROM", "from_ms", 't', false },
    { "TO", "to_ms", 't', false },   { "MS", "ms", 's', false },
    { "GOOD", "good", 'b', false },  { "TEXT", "text", 'r', false },
    { 0 },
};

/* Each step with how long it took. */
static json_t *
rows_of(const json_t *cleaning)
{
    json_t *rows = json_array();
    json_t *step;
    size_t i;

    json_array_foreach(json_object_get(cleaning, "steps"), i, step)
    {
        json_t *row = json_deep_copy(step);

        (void)json_object_set_new(
            row, "ms",
            json_integer(
                json_integer_value(json_object_get(step, "to_ms")) -
                json_integer_value(json_object_get(step, "from_ms"))));
        (void)json_array_append_new(rows, row);
    }
    return json_pack("{s:o}", "items", rows);
}

static int
handover(struct cli *cli, struct error *err)
{
    scoped_json card = NULL;
    scoped_json rows = NULL;
    const json_t *cleaning;
    const char *path;

    if (place_object(cli, KIND_CARD, cli->words[0], &path, err) != 0 ||
        client_get(cli, path, &card, err) != 0)
        return -1;
    cleaning = json_object_get(card, "cleaning");
    if (!json_is_object(cleaning)) {
        (void)error_set(err, ERROR_NOT_FOUND,
                        "the card was not handed over yet");
        return error_help(err, "Its node does that when it is first seen, and "
                               "after each release.");
    }
    rows = rows_of(cleaning);
    output_print(cli, columns, rows);
    return 0;
}

const struct command command_handover = {
    .verb = "handover",
    .words = "CARD",
    .help = "Show what was done to a card since it was last given back.",
    .more = "CARD is its id. The first step that is not good is the last: the "
            "card is quarantined\nthen. `bulkhead clear card CARD` begins "
            "anew. What was done after a certain instance is in\nits binding "
            "(`bulkhead bindings -o json`, cleaning), which its tenant sees "
            "too.",
    .words_min = 1,
    .words_max = 1,
    .run = handover,
};
