/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/client.h"
#include "cli/command.h"
#include "cli/fields.h"
#include "cli/output.h"
#include "cli/place.h"

static const char *
text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));

    return text != NULL ? text : "";
}

/* The list in the question, made when it is not there. */
static json_t *
list_of(json_t *body, const char *name)
{
    json_t *list = json_object_get(body, name);

    if (!json_is_array(list)) {
        list = json_array();
        (void)json_object_set_new(body, name, list);
    }
    return list;
}

/* --level says where the question is asked, not where its words lie. */
static struct cli
without_level(const struct cli *cli)
{
    struct cli plain = *cli;

    plain.option_count = 0;
    for (int i = 0; i < cli->option_count; i++)
        if (strcmp(cli->options[i].name, "level") != 0)
            plain.options[plain.option_count++] = cli->options[i];
    return plain;
}

static int
get_id(const struct cli *cli, enum kind kind, const char *name, char **id_out,
       struct error *err)
{
    const struct cli plain = without_level(cli);
    scoped_json answer = NULL;
    const char *path;

    if (place_object(&plain, kind, name, &path, err) != 0 ||
        client_get(cli, path, &answer, err) != 0)
        return -1;
    *id_out = arena_strdup(cli->arena, text_of(answer, "id"));
    return 0;
}

/* --- the question --- */

/* --class or --accel-memory, and what goes with it: work that is tried. */
static int
add_submit(const struct cli *cli, json_t *body, struct error *err)
{
    const char *class = cli_option(cli, "class");
    const char *memory = cli_option(cli, "accel-memory");
    const char *run = cli_option(cli, "run");
    int64_t count, instances, run_ms = 0, mib = 0;
    json_t *entry, *work;
    char *project;

    if (class == NULL && memory == NULL)
        return 0;
    if (cli->project == NULL)
        return error_set(err, ERROR_INVALID,
                         "--%s asks about new work; name its project: -p",
                         class != NULL ? "class" : "accel-memory");
    if (memory != NULL && fields_mib(memory, &mib, err) != 0)
        return error_prefix(err, "--accel-memory");
    if (cli_option_int(cli, "count", 1, 1000, 1, &count, err) != 0 ||
        cli_option_int(cli, "instances", 1, 100000, 1, &instances, err) != 0 ||
        (run != NULL && fields_duration(run, &run_ms, err) != 0) ||
        get_id(cli, KIND_PROJECT, cli->project, &project, err) != 0)
        return -1;
    work = json_pack("{s:I}", "instances", (json_int_t)instances);
    if (class != NULL)
        (void)json_object_set_new(work, "class", json_string(class));
    if (memory != NULL)
        (void)json_object_set_new(work, "min_accel_memory_mib",
                                  json_integer(mib));
    if (cli_option(cli, "priority") != NULL)
        (void)json_object_set_new(work, "priority",
                                  json_string(cli_option(cli, "priority")));
    entry = json_pack("{s:s, s:I, s:o}", "project", project, "count",
                      (json_int_t)count, "workload", work);
    if (run_ms > 0)
        (void)json_object_set_new(entry, "run_ms", json_integer(run_ms));
    json_array_append_new(list_of(body, "submit"), entry);
    return 0;
}

/* --add-nodes N, with --in-pool, --of-class and --cards. */
static int
add_nodes(const struct cli *cli, json_t *body, struct error *err)
{
    int64_t count, cards;

    if (cli_option_int(cli, "add-nodes", 1, 1000, 0, &count, err) != 0 ||
        cli_option_int(cli, "cards", 1, 16, 8, &cards, err) != 0)
        return -1;
    if (count == 0)
        return 0;
    if (cli_option(cli, "in-pool") == NULL ||
        cli_option(cli, "of-class") == NULL)
        return error_set(err, ERROR_INVALID,
                         "--add-nodes needs --in-pool and --of-class: where, "
                         "and which cards");
    json_array_append_new(
        list_of(body, "change"),
        json_pack("{s:I, s:s, s:s, s:I}", "add_nodes", (json_int_t)count,
                  "pool", cli_option(cli, "in-pool"), "class",
                  cli_option(cli, "of-class"), "cards", (json_int_t)cards));
    return 0;
}

/* The quota of the placed node for a dimension, of all pools and classes. */
static int
find_quota(const struct cli *cli, const char *dimension, char **id_out,
           struct error *err)
{
    scoped_json list = NULL;
    const char *path;
    json_t *item;
    size_t i;

    if (place_collection(cli, KIND_QUOTA, &path, err) != 0 ||
        client_list(cli, path, 10000, &list, err) != 0)
        return -1;
    json_array_foreach(json_object_get(list, "items"), i, item)
        if (strcmp(text_of(item, "dimension"), dimension) == 0 &&
            json_is_null(json_object_get(item, "pool")) &&
            json_is_null(json_object_get(item, "class"))) {
            *id_out = arena_strdup(cli->arena, text_of(item, "id"));
            return 0;
        }
    return error_set(err, ERROR_NOT_FOUND,
                     "there is no quota for %.40s there to change", dimension);
}

/* --quota cards=LIMIT or cards=GUARANTEED:LIMIT, in cards; other dimensions
 * in the API's units. */
static int
add_quota(const struct cli *cli, const char *text, json_t *body,
          struct error *err)
{
    size_t size = strcspn(text, "=");
    const char *dimension = arena_strndup(cli->arena, text, size);
    const char *amounts = text[size] == '=' ? text + size + 1 : "";
    const char *colon = strchr(amounts, ':');
    bool cards = strcmp(dimension, "cards") == 0 ||
                 strcmp(dimension, "cpu") == 0;
    int64_t guaranteed = 0, limit = 0;
    json_t *change;
    char *id = NULL;

    if (size == 0 || amounts[0] == '\0' ||
        fields_milli(colon != NULL ? colon + 1 : amounts, &limit, err) != 0 ||
        (colon != NULL &&
         fields_milli(arena_strndup(cli->arena, amounts,
                                    (size_t)(colon - amounts)),
                      &guaranteed, err) != 0))
        return error_set(err, ERROR_INVALID,
                         "--quota is \"%.60s\", must be DIMENSION=LIMIT or "
                         "DIMENSION=GUARANTEED:LIMIT",
                         text);
    if (find_quota(cli, dimension, &id, err) != 0)
        return -1;
    change = json_pack("{s:s, s:I}", "set_quota", id, "limit",
                       (json_int_t)(cards ? limit : limit / 1000));
    if (colon != NULL)
        (void)json_object_set_new(
            change, "guaranteed",
            json_integer(cards ? guaranteed : guaranteed / 1000));
    json_array_append_new(list_of(body, "change"), change);
    return 0;
}

static int
read_question(const struct cli *cli, json_t *body, struct error *err)
{
    const char *horizon = cli_option(cli, "horizon");
    int64_t horizon_ms;

    for (int i = 0; i < cli->option_count; i++)
        if (strcmp(cli->options[i].name, "quota") == 0 &&
            add_quota(cli, cli->options[i].value, body, err) != 0)
            return -1;
    if (horizon != NULL) {
        if (fields_duration(horizon, &horizon_ms, err) != 0)
            return error_prefix(err, "--horizon");
        (void)json_object_set_new(body, "horizon_ms",
                                  json_integer(horizon_ms));
    }
    for (int i = 0; i < cli->word_count; i++) {
        char *id;

        if (get_id(cli, KIND_WORKLOAD, cli->words[i], &id, err) != 0)
            return -1;
        json_array_append_new(list_of(body, "watch"), json_string(id));
    }
    return add_nodes(cli, body, err) != 0 || add_submit(cli, body, err) != 0
               ? -1
               : 0;
}

/* --- the answer --- */

static void
print_events(const json_t *answer, const char *list, const char *what)
{
    json_t *item;
    size_t i;

    json_array_foreach(json_object_get(answer, list), i, item)
        output_line("%s  %-9s %s%s", text_of(item, "at"), what,
                    text_of(item, "name"),
                    json_is_true(json_object_get(item, "tried"))
                        ? " (tried)"
                        : "");
}

static void
print_answer(const json_t *answer)
{
    json_t *item;
    size_t i;

    print_events(answer, "starts", "starts");
    print_events(answer, "preempted", "preempted");
    print_events(answer, "ended", "ends");
    json_array_foreach(json_object_get(answer, "waiting"), i, item)
        output_line("%s: %s%s%s", text_of(item, "name"),
                    text_of(item, "state"),
                    text_of(item, "text")[0] != '\0' ? ": " : "",
                    text_of(item, "text"));
    json_array_foreach(json_object_get(answer, "refused"), i, item)
        output_line("refused: %s", text_of(item, "text"));
    if (json_is_true(json_object_get(answer, "more")))
        output_line("and more than is shown");
    output_line("until %s (%s), if", text_of(answer, "until"),
                text_of(answer, "end"));
    json_array_foreach(json_object_get(answer, "assumptions"), i, item)
        output_line("  - %s", json_string_value(item));
}

static void
print(const struct cli *cli, const json_t *answer)
{
    if (cli->form == OUTPUT_TABLE || cli->form == OUTPUT_WIDE)
        print_answer(answer);
    else
        output_print(cli, output_columns("workload"), answer);
}

/* What a request that is open stands for. */
static int
ask_about_request(const struct cli *cli, const char *id, struct error *err)
{
    struct client_call call = { .method = "GET", .timeout_ms = 120000 };
    scoped_json answer = NULL;

    call.path = arena_printf(cli->arena, "/api/v1/requests/%s/what-if", id);
    if (client_send(cli, &call, &answer, err) != 0)
        return -1;
    print(cli, answer);
    return 0;
}

static int
what_if(struct cli *cli, struct error *err)
{
    struct client_call call = { .method = "POST", .timeout_ms = 120000 };
    const char *file = cli_option(cli, "file");
    scoped_json body = NULL;
    scoped_json answer = NULL;
    const char *node;

    if (cli_has(cli, "request"))
        return ask_about_request(cli, cli_option(cli, "request"), err);
    if (file == NULL)
        body = json_object();
    else if (cli_read_json(file, &body, err) != 0)
        return -1;
    if (!json_is_object(body))
        return error_set(err, ERROR_INVALID, "%s: not a JSON object", file);
    if (read_question(cli, body, err) != 0 ||
        place_node(cli, &node, err) != 0)
        return -1;
    call.path = arena_printf(cli->arena, "%s/what-if", node);
    call.body = body;
    if (client_send(cli, &call, &answer, err) != 0)
        return -1;
    print(cli, answer);
    return 0;
}

static const struct command_option options[] = {
    { "file", 'f', "FILE", "the question as JSON; options are added to it" },
    { "request", 0, "REQUEST", "or: if this open request were granted" },
    { "horizon", 0, "TIME", "how far to look ahead: 30m, 2h, 7d; a day" },
    { "class", 'c', "NAME", "try new work of this class" },
    { "accel-memory", 0, "MIB", "or with that much memory on one card" },
    { "instances", 'n', "N", "instances of it, started together" },
    { "count", 0, "N", "that many of it" },
    { "run", 0, "TIME", "how long it runs; else for ever" },
    { "priority", 0, "NAME", "its priority class" },
    { "quota", 0, "DIM=[GUARANTEED:]LIMIT", "another quota; may be repeated" },
    { "add-nodes", 0, "N", "that many more nodes" },
    { "in-pool", 0, "NAME", "where they are" },
    { "of-class", 0, "NAME", "of which their cards are" },
    { "cards", 0, "N", "cards of each, 8" },
    PLACE_NODE_OPTIONS,
    { 0 },
};

const struct command command_what_if = {
    .verb = "what-if",
    .words = "[WORKLOAD...]",
    .help = "Say what would start when, and who would be preempted.",
    .more = "The scheduler itself runs on a copy; nothing is changed. "
            "Without options: what happens\nif nothing is changed. For "
            "example:\n"
            "  bulkhead what-if -c h100-80g.1 -n 4 --run 2h\n"
            "  bulkhead what-if train --quota cards=4:8 --level tenant\n"
            "  bulkhead what-if --add-nodes 2 --in-pool a --of-class "
            "h100-80g.1\n"
            "docs/concepts.md tells what is assumed.",
    .options = options,
    .words_max = 20,
    .run = what_if,
};
