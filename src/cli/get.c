/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/client.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/place.h"

#define ITEMS_MAX 100000

struct watcher {
    const struct cli *cli;
    struct buffer line;
};

/* Prints each event of a watch as one JSON line. */
static bool
take_events(const char *bytes, size_t size, void *data)
{
    struct watcher *watcher = data;

    for (size_t i = 0; i < size; i++) {
        if (bytes[i] != '\n') {
            buffer_add_byte(&watcher->line, (unsigned char)bytes[i]);
            continue;
        }
        if (strncmp(buffer_text(&watcher->line), "data:", 5) == 0) {
            const char *text = buffer_text(&watcher->line) + 5;

            output_json_line(text + strspn(text, " "));
        }
        buffer_clear(&watcher->line);
    }
    return !cli_interrupted() && fflush(stdout) == 0;
}

static int
watch(const struct cli *cli, const char *path, const json_t *list,
      struct error *err)
{
    struct watcher watcher = { .cli = cli };
    const char *stream = arena_printf(
        cli->arena, "%s?watch=1&since=%lld", path,
        (long long)json_integer_value(json_object_get(list, "revision")));
    int result = client_stream(cli, stream, take_events, &watcher, err);

    buffer_release(&watcher.line);
    if (cli_interrupted())
        return error_set(err, ERROR_INTERRUPTED, "interrupted");
    return result;
}

static int
get(struct cli *cli, struct error *err)
{
    scoped_json answer = NULL;
    const char *path;
    enum kind kind;

    if (place_kind(cli->words[0], &kind, err) != 0)
        return -1;
    if (cli->word_count > 1 || kind == KIND_PLATFORM) {
        if (place_object(cli, kind, cli->words[cli->word_count - 1], &path,
                         err) != 0)
            return -1;
        if (cli->form != OUTPUT_JSON && cli->form != OUTPUT_YAML &&
            kind != KIND_PLATFORM)
            path = arena_printf(cli->arena, "%s?names=1", path);
        if (client_get(cli, path, &answer, err) != 0)
            return -1;
        output_print(cli, output_columns(schema_get(kind)->name), answer);
        return 0;
    }
    if (place_collection(cli, kind, &path, err) != 0 ||
        client_list(cli, path, ITEMS_MAX, &answer, err) != 0)
        return -1;
    output_print(cli, output_columns(schema_get(kind)->name), answer);
    return cli_has(cli, "watch") ? watch(cli, path, answer, err) : 0;
}

static const struct command_option options[] = {
    { "watch", 'W', NULL, "then print each change as a JSON line" },
    PLACE_OPTIONS,
    { 0 },
};

const struct command command_get = {
    .verb = "get",
    .words = "NOUN [NAME]",
    .help = "Show objects, or one of them.",
    .more = "For example: bulkhead get workloads -t research -p language -o "
            "wide\n\n"
            "Nouns: pools, nodes, cards, jointokens, classes, priorities, "
            "prices, tenants,\nunits, projects, users, serviceaccounts, "
            "apikeys, sessions, roles, grants, groups,\nmembers, invitations, ceilings, denies, quotas, reservations, "
            "workloads, instances, volumes, alarms, requests,\nidentityproviders, identities. Singular works too;\n"
            "`bulkhead nouns` says what they are.",
    .options = options,
    .words_min = 1,
    .words_max = 2,
    .run = get,
};

const struct command command_list_of = {
    .verb = "list",
    .words = "NOUN",
    .help = "Show objects: get without a name.",
    .options = options,
    .words_min = 1,
    .words_max = 1,
    .run = get,
};
