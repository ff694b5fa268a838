/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
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

static int64_t
number_of(const json_t *object, const char *name)
{
    return json_integer_value(json_object_get(object, name));
}

static void
print_quota(const json_t *quota)
{
    const char *dimension = text_of(quota, "dimension");
    char used[48], need[48], limit[48], guaranteed[48];

    fields_amount(dimension, number_of(quota, "used"), used, sizeof(used));
    fields_amount(dimension, number_of(quota, "need"), need, sizeof(need));
    fields_amount(dimension, number_of(quota, "guaranteed"), guaranteed,
                  sizeof(guaranteed));
    (void)snprintf(limit, sizeof(limit), "none");
    if (json_is_integer(json_object_get(quota, "limit")))
        fields_amount(dimension, number_of(quota, "limit"), limit,
                      sizeof(limit));
    output_line("  quota of %s for %s: %s used, %s needed, limit %s, "
                "guaranteed %s",
                text_of(quota, "node"), dimension, used, need, limit,
                guaranteed);
}

static void
print_pool(const json_t *pool)
{
    const json_t *filters = json_object_get(pool, "filters");
    const json_t *quotas = json_object_get(pool, "quotas");
    json_t *item;
    size_t i;

    output_line("pool %s: %lld of %lld cards free", text_of(pool, "pool"),
                (long long)number_of(pool, "free"),
                (long long)number_of(pool, "cards"));
    json_array_foreach(filters, i, item)
        output_line("  %lld cards left out by %s",
                    (long long)number_of(item, "cards"),
                    text_of(item, "filter"));
    json_array_foreach(quotas, i, item)
        print_quota(item);
}

static void
print_nearest(const json_t *nearest)
{
    json_t *change;
    size_t i;

    if (json_array_size(json_object_get(nearest, "changes")) == 0)
        return;
    output_line("it would start with:");
    json_array_foreach(json_object_get(nearest, "changes"), i, change)
        output_line("  %s", json_string_value(change));
}

/* From the tenant down, as the queue compares. */
static void
print_shares(const json_t *shares)
{
    for (size_t i = json_array_size(shares); i > 0; i--) {
        const json_t *share = json_array_get(shares, i - 1);
        long long used = (long long)number_of(share, "used_permille");

        output_line("fair share of %s %s: %lld.%lld %% of the estate lately, "
                    "weight %lld",
                    text_of(share, "of"), text_of(share, "name"), used / 10,
                    used % 10, (long long)number_of(share, "weight"));
    }
}

/* Asked for by memory: which classes give it, and what the others lack. */
static void
print_considered(const json_t *considered)
{
    json_t *class;
    size_t i;

    json_array_foreach(considered, i, class)
        output_line("class %s %s: %s", text_of(class, "class"),
                    json_is_true(json_object_get(class, "fits"))
                        ? "would do"
                        : "does not",
                    text_of(class, "text"));
}

/* When it starts, as far as anybody knows. */
static void
print_estimate(const json_t *estimate)
{
    const char *at = text_of(estimate, "at");

    if (estimate == NULL)
        return;
    if (at[0] != '\0')
        output_line("expected start: %s (as of %s)", at,
                    text_of(estimate, "as_of"));
    else
        output_line("expected start: not known (%s)",
                    text_of(estimate, "none"));
    output_line("  %s", text_of(estimate, "text"));
}

/* Of a running gang: its size, and why it is not larger. */
static void
print_growth(const json_t *growth)
{
    if (growth != NULL)
        output_line("%lld instances of %lld to %lld: %s",
                    (long long)number_of(growth, "instances"),
                    (long long)number_of(growth, "least"),
                    (long long)number_of(growth, "most"),
                    text_of(growth, "text"));
}

static void
print_text(const char *name, const json_t *answer)
{
    const char *text = text_of(answer, "text");
    const char *reason = text_of(answer, "reason");
    json_t *pool;
    size_t i;

    output_line("%s is %s%s%s%s", name, text_of(answer, "state"),
                text[0] != '\0' ? ": " : "", text,
                text[0] == '\0' && strcmp(reason, "none") == 0
                    ? "; it waits for nothing"
                    : "");
    print_growth(json_object_get(answer, "growth"));
    print_considered(json_object_get(answer, "considered"));
    if (strcmp(reason, "none") == 0)
        return;
    output_line("reason %s; ahead of it in the queue: %lld; waits for %lld s",
                reason, (long long)number_of(answer, "ahead"),
                (long long)(number_of(answer, "waits_ms") / 1000));
    if (text_of(answer, "replacing_ms")[0] != '\0')
        output_line("a card failed under it at %s: it goes first among its "
                    "equals",
                    text_of(answer, "replacing_ms"));
    print_estimate(json_object_get(answer, "estimate"));
    print_shares(json_object_get(answer, "shares"));
    print_nearest(json_object_get(answer, "nearest"));
    json_array_foreach(json_object_get(answer, "pools"), i, pool)
        print_pool(pool);
}

static int
explain(struct cli *cli, struct error *err)
{
    scoped_json answer = NULL;
    const char *path;

    if (place_object(cli, KIND_WORKLOAD, cli->words[0], &path, err) != 0)
        return -1;
    path = arena_printf(cli->arena, "%s/explain", path);
    if (client_get(cli, path, &answer, err) != 0)
        return -1;
    if (cli->form == OUTPUT_TABLE || cli->form == OUTPUT_WIDE)
        print_text(cli->words[0], answer);
    else
        output_print(cli, output_columns("workload"), answer);
    return 0;
}

const struct command command_explain = {
    .verb = "explain",
    .words = "WORKLOAD",
    .help = "Say why a workload waits and what would let it start.",
    .more = "The reasons are listed in docs/concepts.md. -o json and -o yaml "
            "have all numbers in\nthe API's units: milli-cards, MiB, "
            "milli-CPU, milli-card-milliseconds.",
    .words_min = 1,
    .words_max = 1,
    .run = explain,
};
