/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/client.h"
#include "cli/command.h"
#include "cli/fields.h"
#include "cli/job.h"
#include "cli/output.h"
#include "cli/place.h"
#include "cli/waiting.h"

/* NAME=VALUE */
static int
add_env(const struct cli *cli, const char *text, json_t *env,
        struct error *err)
{
    size_t size = strcspn(text, "=");

    if (size == 0 || text[size] != '=')
        return error_set(err, ERROR_INVALID,
                         "--env is \"%.60s\", must be NAME=VALUE", text);
    (void)json_object_set_new(env, arena_strndup(cli->arena, text, size),
                              json_string(text + size + 1));
    return 0;
}

/* The part of the manifest that says what runs. */
static int
read_spec(const struct cli *cli, json_t *body, struct error *err)
{
    json_t *spec = json_object_get(body, "spec");
    json_t *volumes = json_array(), *env = json_object(), *words;
    int first = cli->dashes == 0 ? 0 : 1; /* a name stands before */

    if (spec == NULL) {
        spec = json_object();
        (void)json_object_set_new(body, "spec", spec);
    }
    for (int i = 0; i < cli->option_count; i++) {
        const struct cli_option *option = &cli->options[i];

        if ((strcmp(option->name, "volume") == 0 &&
             job_volume(option->value, volumes, err) != 0) ||
            (strcmp(option->name, "requires") == 0 &&
             job_requires(option->value, spec, err) != 0) ||
            (strcmp(option->name, "env") == 0 &&
             add_env(cli, option->value, env, err) != 0)) {
            json_decref(volumes);
            json_decref(env);
            return -1;
        }
    }
    if (cli_option(cli, "spread") != NULL)
        (void)job_spread(cli_option(cli, "spread"), spec);
    if (cli_option(cli, "pin") != NULL)
        (void)json_object_set_new(spec, "pinning",
                                  json_string(cli_option(cli, "pin")));
    if (cli_option(cli, "topology") != NULL)
        (void)job_topology(cli_option(cli, "topology"), spec);
    if (json_array_size(volumes) > 0)
        (void)json_object_set(spec, "volumes", volumes);
    if (json_object_size(env) > 0)
        (void)json_object_set(spec, "env", env);
    json_decref(volumes);
    json_decref(env);
    if (cli->word_count > first) {
        words = json_array();
        for (int i = first; i < cli->word_count; i++)
            (void)json_array_append_new(words, json_string(cli->words[i]));
        (void)json_object_set_new(spec, "command", words);
    }
    return 0;
}

enum amount { AMOUNT_TEXT, AMOUNT_COUNT, AMOUNT_MILLI, AMOUNT_MIB,
              AMOUNT_TIME };

static int
read_options(const struct cli *cli, json_t *body, struct error *err)
{
    static const struct {
        const char *option, *field;
        enum amount amount;
    } list[] = {
        { "image", "image", AMOUNT_TEXT },
        { "kind", "kind", AMOUNT_TEXT },
        { "in-pool", "pool", AMOUNT_TEXT },
        { "priority", "priority", AMOUNT_TEXT },
        { "recovery", "recovery", AMOUNT_TEXT },
        { "recovery-limit", "recovery_limit", AMOUNT_COUNT },
        { "restarts", "restarts", AMOUNT_COUNT },
        { "cpu", "cpu_milli", AMOUNT_MILLI },
        { "memory", "memory_mib", AMOUNT_MIB },
        { "accel-memory", "min_accel_memory_mib", AMOUNT_MIB },
        { "max-run", "max_run_ms", AMOUNT_TIME },
        { "grace", "grace_ms", AMOUNT_TIME },
    };

    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        const char *text = cli_option(cli, list[i].option);
        int64_t number = 0;
        int result = 0;

        if (text == NULL)
            continue;
        if (list[i].amount == AMOUNT_COUNT)
            result = cli_option_int(cli, list[i].option, 0, 1000000, 0,
                                    &number, err);
        else if (list[i].amount == AMOUNT_MILLI)
            result = fields_milli(text, &number, err);
        else if (list[i].amount == AMOUNT_MIB)
            result = fields_mib(text, &number, err);
        else if (list[i].amount == AMOUNT_TIME)
            result = fields_duration(text, &number, err);
        if (result != 0)
            return error_prefix(err, "--%s", list[i].option);
        (void)json_object_set_new(body, list[i].field,
                                  list[i].amount == AMOUNT_TEXT
                                      ? json_string(text)
                                      : json_integer(number));
    }
    if (cli_option(cli, "instances") != NULL &&
        job_instances(cli_option(cli, "instances"), body, err) != 0)
        return -1;
    if (cli_option(cli, "class") != NULL)
        (void)job_class(cli_option(cli, "class"), body);
    if (cli_has(cli, "preemptible"))
        (void)json_object_set_new(body, "preemptible", json_true());
    if (cli_has(cli, "no-preemptible"))
        (void)json_object_set_new(body, "preemptible", json_false());
    return 0;
}

static void
print_submitted(const struct cli *cli, const json_t *body,
                const json_t *answer)
{
    const char *name = json_string_value(json_object_get(body, "name"));
    /* A dry run answers with what would be the answer in its body. */
    const json_t *object =
        cli->dry_run ? json_object_get(answer, "body") : answer;
    const char *state = json_string_value(json_object_get(object, "state"));
    const char *why =
        json_string_value(json_object_get(object, "reason_text"));

    output_done(cli, "workload", name != NULL ? name : "-", "submitted",
                answer);
    if (cli->form == OUTPUT_TABLE && !cli->quiet && state != NULL &&
        why != NULL && why[0] != '\0')
        output_line("%s: %s", state, why);
}

/* The words that say what is submitted have to fit together. */
static int
check_words(const struct cli *cli, struct error *err)
{
    if (cli->dashes == 0 && cli_option(cli, "file") == NULL) {
        (void)error_set(err, ERROR_INVALID, "the workload has no name");
        return error_help(err, "bulkhead submit NAME -i IMAGE -c CLASS -- "
                               "COMMAND [ARG...]");
    }
    if (cli->word_count > 1 && cli->dashes != 0 && cli->dashes != 1) {
        (void)error_set(err, ERROR_INVALID,
                        "\"%.60s\" is behind the workload's name",
                        cli->words[1]);
        return error_help(err, "put -- before the command and its arguments");
    }
    return 0;
}

/* What the file says, and over it the options and words. */
static int
read_bodies(const struct cli *cli, json_t **bodies_out, struct error *err)
{
    const char *file = cli_option(cli, "file");
    json_t *body;
    size_t i;

    if (file != NULL && job_read(file, bodies_out, err) != 0)
        return -1;
    if (file == NULL) {
        *bodies_out = json_array();
        (void)json_array_append_new(*bodies_out, json_object());
    }
    if (cli->word_count > 0 && json_array_size(*bodies_out) > 1) {
        (void)error_set(err, ERROR_INVALID,
                        "%s holds %zu manifests, so no name and no command "
                        "can be given",
                        file, json_array_size(*bodies_out));
        return error_help(err, "each manifest has its own");
    }
    json_array_foreach(*bodies_out, i, body) {
        if (cli->word_count > 0 && cli->dashes != 0)
            (void)json_object_set_new(body, "name",
                                      json_string(cli->words[0]));
        if (read_options(cli, body, err) != 0 ||
            read_spec(cli, body, err) != 0)
            return -1;
    }
    return 0;
}

static int
send_all(const struct cli *cli, const char *path, const json_t *bodies,
         bool print, struct error *err)
{
    json_t *body;
    size_t i;

    json_array_foreach(bodies, i, body) {
        struct client_call call = {
            .method = "POST", .path = path, .body = body
        };
        const char *name = json_string_value(json_object_get(body, "name"));
        scoped_json answer = NULL;

        if (client_send(cli, &call, &answer, err) != 0)
            return json_array_size(bodies) == 1
                       ? -1
                       : error_prefix(err, "%s", name != NULL ? name : "-");
        if (print)
            print_submitted(cli, body, answer);
    }
    return 0;
}

/* Of several, all are tried before the first is submitted. */
static int
try_all(const struct cli *cli, const char *path, const json_t *bodies,
        struct error *err)
{
    struct cli trial = *cli;

    if (json_array_size(bodies) == 1 || cli->dry_run)
        return 0;
    trial.dry_run = true;
    return send_all(&trial, path, bodies, false, err) == 0
               ? 0
               : error_prefix(err, "nothing was submitted");
}

static int
submit(struct cli *cli, struct error *err)
{
    scoped_json bodies = NULL;
    const char *path;
    json_t *body;
    size_t i;

    if (check_words(cli, err) != 0 || read_bodies(cli, &bodies, err) != 0 ||
        place_collection(cli, KIND_WORKLOAD, &path, err) != 0)
        return -1;
    if (try_all(cli, path, bodies, err) != 0 ||
        send_all(cli, path, bodies, true, err) != 0)
        return -1;
    if (!cli_has(cli, "wait") || cli->dry_run)
        return 0;
    (void)fflush(stdout);
    json_array_foreach(bodies, i, body)
        if (waiting_for_end(
                cli, json_string_value(json_object_get(body, "name")), err) !=
            0)
            return -1;
    return 0;
}

static const struct command_option options[] = {
    { "file", 'f', "FILE", "manifests, YAML or JSON; options and words win" },
    { "image", 'i', "IMAGE", "name or name@sha256:digest" },
    { "class", 'c', "NAME[,NAME...]",
      "what one instance gets; several: the first that has a place" },
    { "accel-memory", 0, "MIB",
      "or the memory that it needs on one card: 40g, 40GiB" },
    { "instances", 'n', "N[..MOST]",
      "instances, started together; with MOST it grows and shrinks" },
    { "kind", 0, "KIND", "batch (default), service or interactive" },
    { "priority", 0, "NAME", "priority class: `bulkhead get priorities`" },
    { "in-pool", 0, "NAME", "only in this pool" },
    { "topology", 0, "LEVEL[:MODE]",
      "its cards on one island, switch, numa, node or leaf; MODE: required, "
      "preferred" },
    { "spread", 0, "LEVEL[:N][:MODE]",
      "at most N (1) instances on one node or leaf; MODE: as above" },
    { "requires", 0, "FACT=TEXT",
      "what cards must say: driver=550.54, cuda=12.4..13, features=fp8" },
    { "cpu", 0, "CPUS", "CPUs of an instance: 1.5" },
    { "pin", 0, "MODE",
      "its CPUs: near its cards (default), cores of its own, none" },
    { "memory", 'm', "MIB", "memory of an instance: 512, 4g" },
    { "env", 'e', "NAME=VALUE", "environment; may be repeated" },
    { "volume", 'v', "NAME:PATH[:ro]", "volume; may be repeated" },
    { "max-run", 0, "TIME", "longest run: 30m, 2h" },
    { "grace", 0, "TIME", "notice before it is stopped: 30s" },
    { "restarts", 0, "N", "starts after a failed exit" },
    { "recovery", 0, "POLICY", "after a lost node: never, same-pool, any" },
    { "recovery-limit", 0, "N", "how often it recovers at most; 0: 3" },
    { "preemptible", 0, NULL, "may be stopped for others' guarantees" },
    { "no-preemptible", 0, NULL, "may not; then it must fit the guarantee" },
    { "wait", 0, NULL, "wait until it has ended; exit code 8 if it failed" },
    { 0 },
};

const struct command command_submit = {
    .verb = "submit",
    .words = "[NAME] [-- COMMAND [ARG...]]",
    .help = "Submit work that wants cards.",
    .more = "For example:\n"
            "  bulkhead submit train -i demo -c h100-80g.1 --cpu 1 -m 512 "
            "-v data:/data \\\n"
            "      -- /bin/bigram --out /data/model.gguf\n"
            "`bulkhead init` writes a manifest to begin with, docs/manifest.md "
            "says what it may hold.\n"
            "`bulkhead get classes` lists what an instance can get. A service "
            "runs until it is\ncancelled; an interactive workload is a "
            "service for one person. Absent: batch,\n1 instance, 1 CPU, "
            "1024 MiB, preemptible, no longest run.",
    .options = options,
    .words_max = CLI_WORDS_MAX,
    .run = submit,
};
