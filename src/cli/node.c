/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/client.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/place.h"

/* Machines with work on them: drain and fence. */

static const struct column columns[] = {
    { "WORKLOAD", "name", 's', false },
    { "STATE", "state", 's', false },
    { "TEXT", "text", 's', false },
    { "INSTANCE", "instance", 's', false },
    { "TENANT", "tenant", 's', true },
    { "PROJECT", "project", 's', true },
    { 0 },
};

/* What was there, and what becomes of it; a trial says the same. */
static int
post(struct cli *cli, const char *what, const char *done, json_t *body,
     struct error *err)
{
    struct client_call call = { .method = "POST", .body = body };
    const char *reason = cli_option(cli, "reason"), *path;
    scoped_json answer = NULL;
    const json_t *said;

    if (reason == NULL) {
        (void)error_set(err, ERROR_INVALID, "--reason is needed");
        return error_help(err, "it is in the audit record, and the owners of "
                               "the work are told");
    }
    (void)json_object_set_new(body, "reason", json_string(reason));
    if (place_object(cli, KIND_NODE, cli->words[0], &path, err) != 0)
        return -1;
    call.path = arena_printf(cli->arena, "%s/%s", path, what);
    if (client_send(cli, &call, &answer, err) != 0)
        return -1;
    said = cli->dry_run ? json_object_get(answer, "body") : answer;
    output_print(cli, columns, said);
    if (!cli->quiet && cli->form <= OUTPUT_WIDE)
        output_line("%s", cli->dry_run ? "nothing was changed" : done);
    return 0;
}

static int
drain(struct cli *cli, struct error *err)
{
    scoped_json body = json_object();
    const char *policy = cli_option(cli, "policy");

    if (policy != NULL)
        (void)json_object_set_new(body, "policy", json_string(policy));
    return post(cli, "drain", "the node takes no more work", body, err);
}

static int
fence(struct cli *cli, struct error *err)
{
    scoped_json body = json_object();

    return post(cli, "fence", "the node was given up", body, err);
}

static const struct command_option drain_options[] = {
    { "policy", 0, "finish|preempt|move",
      "what runs ends by itself; what is preemptible gets notice (default); "
      "all gets notice" },
    { "reason", 'r', "TEXT", "why, for the owners of the work" },
    { 0 },
};
static const struct command_option fence_options[] = {
    { "reason", 'r', "TEXT", "how it is known that nothing runs there" },
    { 0 },
};

const struct command command_drain_node = {
    .verb = "drain",
    .noun = "node",
    .words = "NODE",
    .help = "Take work off a node, by notice and grace or as it ends.",
    .more = "The node takes no more work. What is told to go is submitted "
            "again through the gate and\nbegins elsewhere. `bulkhead set "
            "node NODE state=schedulable` opens it again. With --dry-run\nit "
            "says what would become of what runs. Needs a recent `bulkhead "
            "stepup`. For example:\n"
            "  bulkhead drain node n1 --policy move --reason \"fan fails\"",
    .options = drain_options,
    .words_min = 1,
    .words_max = 1,
    .run = drain,
};

const struct command command_fence_node = {
    .verb = "fence",
    .noun = "node",
    .words = "NODE",
    .help = "Give up a lost node that is known to be off.",
    .more = "Say so only when it is powered off or cut off from networks and "
            "storage: its work fails,\nor begins elsewhere as its recovery "
            "policy says, and its quota is free. Its cards stay kept\nuntil "
            "its agent has killed what is left; then the node is cordoned. "
            "With --dry-run it says\nwhat would become of what was there. "
            "Needs a recent `bulkhead stepup`. For example:\n"
            "  bulkhead fence node n1 --reason \"power was cut, ticket 17\"",
    .options = fence_options,
    .words_min = 1,
    .words_max = 1,
    .run = fence,
};
