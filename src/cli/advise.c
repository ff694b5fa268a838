/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/client.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/place.h"

static const char *
text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));

    return text != NULL ? text : "";
}

static const json_t *
find_advice(const json_t *list, const char *id)
{
    json_t *item;
    size_t i;

    json_array_foreach(json_object_get(list, "items"), i, item)
        if (strcmp(text_of(item, "id"), id) == 0)
            return item;
    return NULL;
}

/* The change that an advice names, as anybody would make it. */
static int
apply(const struct cli *cli, const json_t *list, const char *id,
      struct error *err)
{
    const json_t *item = find_advice(list, id);
    const json_t *change = json_object_get(item, "apply");
    struct client_call call = { 0 };
    scoped_json answer = NULL;

    if (item == NULL) {
        (void)error_set(err, ERROR_NOT_FOUND,
                        "there is no advice \"%.80s\" any more", id);
        return error_help(err, "`bulkhead advise` lists what there is now");
    }
    if (!json_is_object(change))
        return error_set(err, ERROR_CONDITION,
                         "nothing can be applied by itself: %s",
                         text_of(item, "text"));
    call.method = text_of(change, "method");
    call.path = text_of(change, "path");
    call.body = json_object_get(change, "body");
    call.version = json_integer_value(json_object_get(change, "version"));
    if (client_send(cli, &call, &answer, err) != 0)
        return -1;
    output_done(cli, "advice", id, "applied", answer);
    return 0;
}

static int
advise(struct cli *cli, struct error *err)
{
    static const struct column columns[] = {
        { "ADVICE", "id", 's', false },
        { "SENTENCE", "text", 's', false },
        { 0 },
    };
    scoped_json list = NULL;
    const char *node;

    if (place_node(cli, &node, err) != 0 ||
        client_get(cli, arena_printf(cli->arena, "%s/advice", node), &list,
                   err) != 0)
        return -1;
    if (cli_has(cli, "apply"))
        return apply(cli, list, cli_option(cli, "apply"), err);
    output_print(cli, columns, list);
    return 0;
}

static const struct command_option options[] = {
    { "apply", 0, "ADVICE", "make the change that it names" },
    PLACE_NODE_OPTIONS,
    { 0 },
};

const struct command command_advise = {
    .verb = "advise",
    .help = "Say which guarantees do not fit what was used.",
    .more = "Measured over up to 90 days, and at least 7 since a quota was "
            "changed last. Review it,\nperhaps with `bulkhead what-if`, then "
            "`bulkhead advise --apply ADVICE` makes the change\nby the "
            "ordinary way: your rights and all checks apply. Operators also "
            "see pools whose\nfree cards lie too far apart.",
    .options = options,
    .run = advise,
};

/* --- moves that would make room --- */

static int
print_plan(const struct cli *cli, const json_t *plan)
{
    static const struct column columns[] = {
        { "WORKLOAD", "name", 's', false },
        { "ID", "workload", 's', true },
        { "CARDS", "cards", 's', false },
        { "LOST-CARD-HOURS", "lost_milli_card_ms", 'h', false },
        { 0 },
    };
    scoped_json list = json_pack("{s:O}", "items",
                                 json_object_get(plan, "moves"));

    if (cli->form != OUTPUT_TABLE && cli->form != OUTPUT_WIDE) {
        output_print(cli, columns, plan);
        return 0;
    }
    output_line("%s", text_of(plan, "text"));
    if (json_array_size(json_object_get(plan, "moves")) > 0)
        output_print(cli, columns, list);
    return 0;
}

static int
carry_out(const struct cli *cli, const json_t *plan, struct error *err)
{
    struct client_call call = { .method = "POST" };
    scoped_json body = json_object();
    scoped_json answer = NULL;
    json_t *moves = json_array(), *move;
    size_t i;

    (void)json_object_set_new(body, "moves", moves);
    json_array_foreach(json_object_get(plan, "moves"), i, move)
        (void)json_array_append(moves, json_object_get(move, "workload"));
    if (json_array_size(moves) == 0)
        return error_set(err, ERROR_CONDITION, "nothing is to be moved: %s",
                         text_of(plan, "text"));
    call.path = arena_printf(cli->arena, "/api/v1/pools/%s/defragment",
                             cli->words[0]);
    call.body = body;
    if (client_send(cli, &call, &answer, err) != 0)
        return -1;
    output_done(cli, "pool", cli->words[0], "is being defragmented", answer);
    return 0;
}

static int
advise_defragment(struct cli *cli, struct error *err)
{
    struct client_call call = { .method = "GET", .timeout_ms = 120000 };
    scoped_json plan = NULL;

    call.path = arena_printf(cli->arena, "/api/v1/pools/%s/defragment",
                             cli->words[0]);
    if (client_send(cli, &call, &plan, err) != 0)
        return -1;
    return cli_has(cli, "apply") ? carry_out(cli, plan, err)
                                 : print_plan(cli, plan);
}

static const struct command_option defragment_options[] = {
    { "apply", 0, NULL, "carry the plan out" },
    { 0 },
};

const struct command command_advise_defragment = {
    .verb = "advise",
    .noun = "defragment",
    .words = "POOL",
    .help = "Say which work would have to move for the largest class.",
    .more = "Only preemptible work is moved, and of the nodes where that is "
            "enough the one whose work\nloses least. The plan is proven on a "
            "copy of the platform. `--apply` carries out what is\nfound then: "
            "notice, grace, and a new start elsewhere. Nothing moves by "
            "itself.",
    .options = defragment_options,
    .words_min = 1,
    .words_max = 1,
    .run = advise_defragment,
};
