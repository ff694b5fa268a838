/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/audit_log.h"
#include "cli/client.h"
#include "cli/command.h"
#include "cli/output.h"

static int64_t
number(const json_t *answer, const char *name)
{
    return json_integer_value(json_object_get(answer, name));
}

static void
print(const json_t *answer)
{
    const int64_t days = number(answer, "keep_days");

    if (json_is_true(json_object_get(answer, "hold")))
        output_line("held: nothing is pruned until the hold is lifted");
    if (days == 0)
        output_line("records are kept for ever");
    else
        output_line("records are kept for %lld days%s", (long long)days,
                    json_is_null(json_object_get(answer, "own_keep_days"))
                        ? ", as the platform's"
                        : "");
    output_line("%lld of %lld records are pruned: their hashes stay",
                (long long)number(answer, "pruned"),
                (long long)number(answer, "records"));
    if (number(answer, "ordered") > number(answer, "pruned"))
        output_line("those below %lld are going",
                    (long long)number(answer, "ordered"));
}

static int
add_keep(const struct cli *cli, json_t *body, struct error *err)
{
    const char *keep = cli_option(cli, "keep");
    int64_t days;

    if (keep == NULL)
        return 0;
    if (strcmp(keep, "platform") == 0) {
        (void)json_object_set_new(body, "as_platform", json_true());
        return 0;
    }
    if (strcmp(keep, "ever") == 0)
        days = 0;
    else if (cli_option_int(cli, "keep", 0, INT32_MAX, 0, &days, err) != 0)
        return error_help(err, "a number of days, ever, or platform");
    (void)json_object_set_new(body, "keep_days", json_integer(days));
    return 0;
}

static int
add_hold(const struct cli *cli, json_t *body, struct error *err)
{
    const char *hold = cli_option(cli, "hold");

    if (hold == NULL)
        return 0;
    if (strcmp(hold, "on") != 0 && strcmp(hold, "off") != 0)
        return error_field(err, "--hold", "\"%.40s\" is not on or off", hold);
    (void)json_object_set_new(body, "hold",
                              json_boolean(strcmp(hold, "on") == 0));
    return 0;
}

static int
retention(struct cli *cli, struct error *err)
{
    scoped_json body = json_object();
    scoped_json answer = NULL;
    struct client_call call = {
        .method = "GET",
        .path = arena_printf(cli->arena, "%s/retention", audit_log_path(cli))
    };

    if (add_keep(cli, body, err) != 0 || add_hold(cli, body, err) != 0)
        return -1;
    if (json_object_size(body) > 0) {
        call.method = "POST";
        call.body = body;
    }
    if (client_send(cli, &call, &answer, err) != 0)
        return -1;
    if (cli->form == OUTPUT_JSON || cli->form == OUTPUT_YAML)
        output_print(cli, NULL, answer);
    else if (!cli->quiet || call.body == NULL)
        print(answer);
    return 0;
}

static const struct command_option options[] = {
    { "keep", 0, "DAYS", "keep records for so long (90 to 36500), ever, or as "
                         "the platform's log" },
    { "hold", 0, "WORD", "on: nothing is pruned until it is off again" },
    { 0 },
};

const struct command command_audit_retention = {
    .verb = "audit",
    .noun = "retention",
    .help = "Show or set how long the log keeps what its records say.",
    .more = "Of the tenant's log, or the platform's where no tenant is given. "
            "Records that are\nolder than DAYS (a number, \"ever\", or "
            "\"platform\": as the platform's log) are\npruned in the "
            "background: what they say goes, their hashes stay, so every "
            "proof,\ncheckpoint and `audit verify` holds. The pruning is a "
            "record. To set it needs\naudit.retention on the platform, a "
            "recent proof of identity and an approval.",
    .options = options,
    .run = retention,
};
