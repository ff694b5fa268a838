/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/client.h"
#include "cli/command.h"
#include "cli/fields.h"
#include "cli/output.h"
#include "cli/place.h"

static int
read_body(const struct cli *cli, json_t *body, struct error *err)
{
    static const char *const amounts[] = { "guaranteed", "limit", "soft" };
    const char *dimension = cli->words[0];
    const char *action = cli_option(cli, "action");
    const char *reclaim = cli_option(cli, "reclaim");

    if (action != NULL)
        (void)json_object_set_new(body, "action", json_string(action));
    if (reclaim != NULL)
        (void)json_object_set_new(body, "reclaim",
                                  json_boolean(strcmp(reclaim, "no") != 0));
    for (size_t i = 0; i < 3; i++) {
        const char *text = cli_option(cli, amounts[i]);
        int64_t amount;

        if (text == NULL)
            continue;
        if (fields_quota(dimension, text, &amount, err) != 0)
            return error_prefix(err, "--%s", amounts[i]);
        (void)json_object_set_new(body, amounts[i], json_integer(amount));
    }
    return 0;
}

static bool
same(const json_t *item, const char *field, const char *wish)
{
    const char *value = json_string_value(json_object_get(item, field));

    return wish == NULL ? value == NULL || value[0] == '\0'
                        : value != NULL && strcmp(value, wish) == 0;
}

/* The id of the pool or class that an option names, or NULL. */
static int
resolve(const struct cli *cli, enum kind kind, const char *option,
        const char **id_out, struct error *err)
{
    const char *name = cli_option(cli, option);
    scoped_json answer = NULL;
    scoped_buffer path = { 0 };

    *id_out = NULL;
    if (name == NULL)
        return 0;
    buffer_printf(&path, "/api/v1/%s/", schema_get(kind)->plural);
    http_encode(&path, name);
    if (client_get(cli, path.bytes, &answer, err) != 0)
        return error_prefix(err, "--%s", option);
    *id_out = arena_strdup(
        cli->arena, json_string_value(json_object_get(answer, "id")));
    return 0;
}

/* What narrows the quota, in the order of `narrowed`. */
struct narrow {
    const char *values[5];
};
static const char *const narrowed[] = { "pool", "class", "user", "vendor",
                                        "model" };
#define NARROWED (sizeof(narrowed) / sizeof(narrowed[0]))

static int
read_narrow(const struct cli *cli, struct narrow *narrow, struct error *err)
{
    const char *user = cli_option(cli, "of-user");

    *narrow = (struct narrow){ { NULL, NULL, NULL,
                                 cli_option(cli, "of-vendor"),
                                 cli_option(cli, "of-model") } };
    if (resolve(cli, KIND_POOL, "in-pool", &narrow->values[0], err) != 0 ||
        resolve(cli, KIND_CLASS, "of-class", &narrow->values[1], err) != 0)
        return -1;
    return user == NULL ? 0
                        : place_subject(cli, user, &narrow->values[2], err);
}

/* The quota of that node that is about the same amount; NULL when none. */
static const json_t *
find_existing(const json_t *list, const char *dimension,
              const struct narrow *narrow)
{
    const json_t *items = json_object_get(list, "items");

    for (size_t i = 0; i < json_array_size(items); i++) {
        const json_t *item = json_array_get(items, i);
        bool found = same(item, "dimension", dimension);

        for (size_t k = 0; found && k < NARROWED; k++)
            found = same(item, narrowed[k], narrow->values[k]);
        if (found)
            return item;
    }
    return NULL;
}

static int
set_quota(struct cli *cli, struct error *err)
{
    struct client_call call = { .method = "POST" };
    scoped_json body = json_object();
    scoped_json list = NULL;
    scoped_json answer = NULL;
    struct narrow narrow;
    const char *collection;
    const json_t *existing;

    if (read_body(cli, body, err) != 0 ||
        read_narrow(cli, &narrow, err) != 0 ||
        place_collection(cli, KIND_QUOTA, &collection, err) != 0 ||
        client_list(cli, collection, 10000, &list, err) != 0)
        return -1;
    existing = find_existing(list, cli->words[0], &narrow);
    call.path = collection;
    call.body = body;
    if (existing != NULL) {
        call.method = "PATCH";
        call.version =
            json_integer_value(json_object_get(existing, "version"));
        call.path = arena_printf(
            cli->arena, "%s/%s", collection,
            json_string_value(json_object_get(existing, "id")));
    } else {
        (void)json_object_set_new(body, "dimension",
                                  json_string(cli->words[0]));
        for (size_t i = 0; i < NARROWED; i++)
            if (narrow.values[i] != NULL)
                (void)json_object_set_new(body, narrowed[i],
                                          json_string(narrow.values[i]));
    }
    if (client_send(cli, &call, &answer, err) != 0)
        return -1;
    output_done(cli, "quota", cli->words[0],
                existing != NULL ? "changed" : "created", answer);
    return 0;
}

static const struct command_option options[] = {
    { "guaranteed", 'g', "AMOUNT", "always available" },
    { "limit", 'l', "AMOUNT", "most at a time, burst included; none" },
    { "in-pool", 0, "NAME", "only in this pool" },
    { "of-class", 0, "NAME", "only of this class" },
    { "of-vendor", 0, "NAME", "only cards of this vendor" },
    { "of-model", 0, "NAME", "only cards of this model" },
    { "of-user", 0, "NAME", "only this user's or service account's work in "
                            "the project" },
    { "soft", 0, "AMOUNT", "an alarm from here on; 0: none" },
    { "action", 0, "WORD", "a used up month: stop-admitting or stop" },
    { "reclaim", 0, "YES|NO", "stop preemptible work above the limit" },
    PLACE_OPTIONS,
    { 0 },
};

const struct command command_set_quota = {
    .verb = "set",
    .noun = "quota",
    .words = "DIMENSION",
    .help = "Set a guarantee and a limit.",
    .more = "Dimensions and the unit of AMOUNT: cards (0.5 is half a card), "
            "accel_memory\n(MiB, 40g), cpu (1.5), memory (MiB, 4g), storage "
            "(MiB), workloads,\ninstances, card_time (card-hours a month).\n"
            "For example: bulkhead set quota cards -t research -g 4 -l 6",
    .options = options,
    .words_min = 1,
    .words_max = 1,
    .run = set_quota,
};

/* --- a limit for a time --- */

static int
raise_quota(struct cli *cli, struct error *err)
{
    struct client_call call = { .method = "POST" };
    scoped_json body = json_object();
    scoped_json list = NULL;
    scoped_json answer = NULL;
    const char *limit = cli_option(cli, "limit"), *time = cli_option(cli, "for");
    const char *reason = cli_option(cli, "reason"), *collection;
    struct narrow narrow;
    const json_t *existing;
    int64_t amount, for_ms;

    if (limit == NULL || time == NULL || reason == NULL)
        return error_set(err, ERROR_INVALID,
                         "--limit, --for and --reason are needed");
    if (fields_quota(cli->words[0], limit, &amount, err) != 0 ||
        fields_duration(time, &for_ms, err) != 0 ||
        read_narrow(cli, &narrow, err) != 0 ||
        place_collection(cli, KIND_QUOTA, &collection, err) != 0 ||
        client_list(cli, collection, 10000, &list, err) != 0)
        return -1;
    existing = find_existing(list, cli->words[0], &narrow);
    if (existing == NULL)
        return error_set(err, ERROR_NOT_FOUND,
                         "there is no quota for %.40s there to raise",
                         cli->words[0]);
    (void)json_object_set_new(body, "limit", json_integer(amount));
    (void)json_object_set_new(body, "for_ms", json_integer(for_ms));
    (void)json_object_set_new(body, "reason", json_string(reason));
    call.body = body;
    call.path =
        arena_printf(cli->arena, "%s/%s/raise", collection,
                     json_string_value(json_object_get(existing, "id")));
    if (client_send(cli, &call, &answer, err) != 0)
        return -1;
    output_done(cli, "quota", cli->words[0], "raised", answer);
    return 0;
}

static const struct command_option raise_options[] = {
    { "limit", 'l', "AMOUNT", "limit for that time" },
    { "for", 0, "TIME", "how long: 90m, 2h, at most 7d; 0s: end it now" },
    { "reason", 'r', "TEXT", "why; it shows to the node's people" },
    { "in-pool", 0, "NAME", "only in this pool" },
    { "of-class", 0, "NAME", "only of this class" },
    { "of-vendor", 0, "NAME", "only cards of this vendor" },
    { "of-model", 0, "NAME", "only cards of this model" },
    { "of-user", 0, "NAME", "only this subject's work in the project" },
    PLACE_OPTIONS,
    { 0 },
};

const struct command command_raise_quota = {
    .verb = "raise",
    .noun = "quota",
    .words = "DIMENSION",
    .help = "Raise a limit for a time, above what quota allows (hero right).",
    .more = "Needs a fresh proof of identity and a second person "
            "(--ask-approval). Each level has its own limit: raise "
            "the project's and the tenant's.",
    .options = raise_options,
    .words_min = 1,
    .words_max = 1,
    .run = raise_quota,
};
