/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/output.h"
#include "trace/study.h"

#define SEED_MAX 1000000
#define SEEDS_MAX 1000

/* --- what was asked for --- */

/* "42-51" or "42". */
static int
parse_seeds(const char *text, struct study_options *options, struct error *err)
{
    char *end;
    long long first = strtoll(text, &end, 10), last = first;

    if (end != text && *end == '-') {
        const char *second = end + 1;

        last = strtoll(second, &end, 10);
        if (end == second)
            last = -1;
    }
    if (end == text || *end != '\0' || first < 0 || last < first ||
        last > SEED_MAX || last - first >= SEEDS_MAX)
        return error_set(err, ERROR_INVALID,
                         "seeds \"%s\" are not A or A-B with 0 <= A <= B <= "
                         "%d and at most %d of them",
                         text, SEED_MAX, SEEDS_MAX);
    options->first_seed = first;
    options->last_seed = last;
    return 0;
}

static int
parse_load(const char *text, double *out, struct error *err)
{
    char *end;

    *out = strtod(text, &end);
    if (end == text || *end != '\0' || !(*out >= 0.1 && *out <= 10))
        return error_set(err, ERROR_INVALID,
                         "load \"%s\" is not a number from 0.1 to 10", text);
    return 0;
}

static int
parse_mix(const char *text, enum study_mix *out, struct error *err)
{
    static const char *const names[] = { "known", "learnt", "cold" };

    for (int i = 0; i < 3; i++)
        if (strcmp(text, names[i]) == 0) {
            *out = (enum study_mix)i;
            return 0;
        }
    return error_set(err, ERROR_INVALID,
                     "mix \"%s\" is none of known, learnt, cold", text);
}

static const char *
find_directory(const struct cli *cli)
{
    const char *given = cli_option(cli, "data");

    if (given != NULL)
        return given;
    return access("data/openb", R_OK) == 0 ? "data/openb"
                                           : "/usr/share/bulkhead/openb";
}

static int
find_names(const struct cli *cli, struct study_options *options,
           struct error *err)
{
    const char *given = cli_option(cli, "traces"), **names;

    if (given == NULL || strcmp(given, "all") == 0) {
        if (openb_list(options->directory, cli->arena, &names,
                       &options->name_count, err) != 0)
            return -1;
        options->names = names;
        return 0;
    }
    names = arena_alloc(cli->arena, (strlen(given) + 1) * sizeof(*names));
    while (*given != '\0') {
        size_t size = strcspn(given, ",");

        names[options->name_count++] =
            arena_strndup(cli->arena, given, size);
        given += size + (given[size] == ',');
    }
    options->names = names;
    return options->name_count > 0
               ? 0
               : error_set(err, ERROR_INVALID, "no trace is named");
}

static int
parse_options(const struct cli *cli, struct study_options *options,
              struct error *err)
{
    const char *seeds = cli_option(cli, "seeds");
    const char *load = cli_option(cli, "arrive"), *mix = cli_option(cli, "mix");
    int64_t threads;

    *options = (struct study_options){ .directory = find_directory(cli),
                                       .load = 1.3,
                                       .replay = cli_has(cli, "replay"),
                                       .profile = &value_default };
    if (options->replay)
        options->profile = &value_turnover;
    if (parse_seeds(seeds != NULL ? seeds : "42-51", options, err) != 0 ||
        (load != NULL && parse_load(load, &options->load, err) != 0) ||
        (mix != NULL && parse_mix(mix, &options->mix, err) != 0) ||
        cli_option_int(cli, "copies", 1, 1000, 1, &options->copies, err) != 0 ||
        cli_option_int(cli, "threads", 1, 64, 2, &threads, err) != 0)
        return -1;
    options->threads = (int)threads;
    return find_names(cli, options, err);
}

/* --- what came out --- */

static json_int_t
milli(double percent)
{
    return (json_int_t)(1000 * percent + 0.5);
}

static void
put(json_t *object, const char *name, double percent)
{
    (void)json_object_set_new(object, name,
                              percent < 0 ? json_null()
                                          : json_integer(milli(percent)));
}

static json_t *
sizes(const double *percents)
{
    static const char *const names[RUN_SIZES] = { "cpu", "share", "one",
                                                  "two", "four",  "eight" };
    json_t *object = json_object();

    for (int i = 0; i < RUN_SIZES; i++)
        put(object, names[i], percents[i]);
    return object;
}

static json_t *
policy(const struct study_policy *policy, bool replay)
{
    json_t *object = json_object();
    char digest[32];

    if (replay) {
        put(object, "placed_milli_percent", policy->placed);
        put(object, "peak_milli_percent", policy->peak);
    } else {
        put(object, "alloc_100_milli_percent", policy->alloc_100);
        put(object, "alloc_130_milli_percent", policy->alloc_130);
        (void)json_object_set_new(object, "first_refusal_milli_percent",
                                  sizes(policy->first_refusal));
    }
    (void)json_object_set_new(object, "accepted_milli_percent",
                              sizes(policy->accepted));
    (void)json_object_set_new(
        object, "decisions_per_s",
        json_integer((json_int_t)policy->decisions_per_s));
    (void)snprintf(digest, sizeof(digest), "%016" PRIx64, policy->digest);
    (void)json_object_set_new(object, "digest", json_string(digest));
    return object;
}

static json_t *
row(const struct study_row *row, bool replay)
{
    json_t *object = json_object();

    (void)json_object_set_new(object, "trace", json_string(row->trace));
    (void)json_object_set_new(object, "policy", policy(&row->value, replay));
    (void)json_object_set_new(object, "fgd", policy(&row->fgd, replay));
    if (!replay)
        put(object, "published_fgd_130_milli_percent", row->published_130);
    return object;
}

static const struct column filled[] = {
    { "TRACE", "trace", 's', false },
    { "ALLOC100", "policy.alloc_100_milli_percent", 'm', false },
    { "ALLOC130", "policy.alloc_130_milli_percent", 'm', false },
    { "FGD100", "fgd.alloc_100_milli_percent", 'm', false },
    { "FGD130", "fgd.alloc_130_milli_percent", 'm', false },
    { "PUBLISHED130", "published_fgd_130_milli_percent", 'm', false },
    { "ACCEPT8", "policy.accepted_milli_percent.eight", 'm', false },
    { "FGD8", "fgd.accepted_milli_percent.eight", 'm', false },
    { "FIRST_REFUSAL_8CARD", "policy.first_refusal_milli_percent.eight", 'm',
      false },
    { "FGD_FIRST8", "fgd.first_refusal_milli_percent.eight", 'm', false },
    { "DECISIONS_PER_S", "policy.decisions_per_s", 's', false },
    { "DIGEST", "policy.digest", 's', true },
    { 0 },
};
static const struct column replayed[] = {
    { "TRACE", "trace", 's', false },
    { "PLACED", "policy.placed_milli_percent", 'm', false },
    { "FGD", "fgd.placed_milli_percent", 'm', false },
    { "PEAK", "policy.peak_milli_percent", 'm', false },
    { "FGD_PEAK", "fgd.peak_milli_percent", 'm', false },
    { "ACCEPT8", "policy.accepted_milli_percent.eight", 'm', false },
    { "FGD8", "fgd.accepted_milli_percent.eight", 'm', false },
    { "DECISIONS_PER_S", "policy.decisions_per_s", 's', false },
    { "DIGEST", "policy.digest", 's', true },
    { 0 },
};

static int
simulate(struct cli *cli, struct error *err)
{
    struct study_options options;
    struct study_row *rows;
    scoped_json answer = json_object();
    json_t *items = json_array();

    (void)json_object_set_new(answer, "items", items);
    if (parse_options(cli, &options, err) != 0)
        return -1;
    if (study_run(&options, cli->arena, &rows, err) != 0)
        return error_help(err, "--data names a folder with the openb files; "
                               "see docs/placement.md");
    for (size_t i = 0; i < options.name_count; i++)
        (void)json_array_append_new(items, row(&rows[i], options.replay));
    if (options.name_count > 1) {
        struct study_row mean = study_mean(rows, options.name_count);

        (void)json_array_append_new(items, row(&mean, options.replay));
    }
    output_print(cli, options.replay ? replayed : filled, answer);
    return 0;
}

static const struct command_option options[] = {
    { "data", 0, "DIR", "folder of the traces (data/openb, else "
                        "/usr/share/bulkhead/openb)" },
    { "traces", 0, "NAME,...", "some of them, or all" },
    { "seeds", 0, "A-B", "seeds of arrivals and of the order of nodes "
                         "(42-51)" },
    { "arrive", 0, "LOAD", "demand that arrives, over capacity (1.3)" },
    { "mix", 0, "MIX", "known, learnt on another seed, or cold" },
    { "replay", 0, NULL, "let pods come and go at their own times" },
    { "copies", 0, "N", "of each pod in a replay (1)" },
    { "threads", 0, "N", "threads (2)" },
    { 0 },
};
const struct command command_simulate_openb = {
    .verb = "simulate",
    .noun = "openb",
    .help = "Measure the placement policy on the openb GPU traces.",
    .more =
        "Pods arrive until their demand is LOAD times the capacity; each is\n"
        "placed whenever a node has room.  ALLOC100 and ALLOC130 are the\n"
        "percentage of all cards in use when 100% and 130% of the capacity\n"
        "has arrived, FGD100 and FGD130 those of fragmentation gradient\n"
        "descent on the same arrivals.  FIRST_REFUSAL_8CARD is the median\n"
        "percentage that had arrived when a request for 8 cards was refused\n"
        "for the first time.  PLACED is the part of the demand, in card time,\n"
        "that found a place.  In a replay the pods of the default trace fill\n"
        "the cluster with 450 copies or more.  Decisions are counted per\n"
        "second of one core.\n"
        "Needs no server.",
    .options = options,
    .run = simulate,
};
